"""The effect of a hidden answer on an open outcome."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit, logit, ndtr
from scipy.stats import norm, poisson

from askance.arrays import Floats
from askance.channels.alphabet import Label
from askance.channels.labels.finite import Identity
from askance.errors import InvalidInput
from askance.planning.quantities.base import Estimate, Quantity, StandardErrors, checked_share, per_respondent
from askance.planning.quantities.designs import answer_designs, check_answer_design
from askance.planning.quantities.grouped_design import joint_covariance
from askance.planning.theory.fisher_information import law_information

_GRID = 801  # points of a continuous outcome over ten deviations to each side: sums are integrals to 1e-12
_FAR = 10.0  # deviations, beyond which a normal law has 1e-23

Outcome = Literal["linear", "logistic", "poisson"]


@dataclass(frozen=True, eq=False)
class PredictorEffect(Quantity):
    """By how much an open outcome differs between those who carry the hidden answer and those who do not.

    Parameters
    ----------
    effect : float
        The expected effect: in units of the outcome's deviation (linear), in log odds (logistic), in log rates
        (poisson).
    prevalence : float
        The expected share of the second answer.
    outcome : {"linear", "logistic", "poisson"}
    base : float, optional
        The share (logistic) or rate (poisson) of those who do not carry it; .5 and 1 if not given.
    classes : pair of labels

    Examples
    --------
    >>> import askance as ask
    >>> from askance.planning import PredictorEffect
    >>> found = ask.plan(ask.Warner(0.8), PredictorEffect(0.5, prevalence=0.2), n=2000).recommended
    >>> round(found.std_errors[0], 2)
    0.11
    """

    effect: float
    prevalence: float
    outcome: Outcome = "linear"
    base: float | None = None
    classes: tuple[Label, ...] = ("no", "yes")
    are_shares = False

    def __post_init__(self) -> None:
        checked_share(self.prevalence, "prevalence", inside=True)
        if self.outcome not in ("linear", "logistic", "poisson"):
            raise InvalidInput(f"outcome={self.outcome!r}", "'linear', 'logistic' or 'poisson'")
        if not np.isfinite(self.effect):
            raise InvalidInput(f"effect={self.effect!r}", "a finite number")
        if len(self.classes) != 2:
            raise InvalidInput(f"{len(self.classes)} answers", "two: an effect is one of the second answer")
        base = {"linear": 0.0, "logistic": 0.5, "poisson": 1.0}[self.outcome] if self.base is None else self.base
        if self.outcome == "logistic":
            checked_share(base, "base", inside=True)
        if self.outcome == "poisson" and not 0 < base < np.inf:
            raise InvalidInput(f"base={base!r}", "a rate above 0")
        vars(self).update(base=float(base), classes=tuple(self.classes))

    @property
    def names(self) -> tuple[str, ...]:
        return (f"effect of {self.classes[1]}",)

    @property
    def values(self) -> Floats:
        return np.array([float(self.effect)])

    def assumption(self) -> str:
        unit = {"linear": "deviations of the outcome", "logistic": "in log odds", "poisson": "in log rates"}
        return (
            f"if {100 * self.prevalence:.4g}% are {self.classes[1]}, which shifts the outcome by {self.effect:+g} "
            f"{unit[self.outcome]}"
        )

    def designs_at(self, epsilon: float) -> Mapping[str, Any]:
        return answer_designs(epsilon, self.classes)

    def check_design(self, name: str, design: Any) -> None:
        check_answer_design(design, self.classes, grouped=False)

    @property
    def _intercept(self) -> float:
        base = float(self.base or 0.0)
        return {"linear": lambda: base, "logistic": lambda: float(logit(base)), "poisson": lambda: float(np.log(base))}[
            self.outcome
        ]()

    def _outcome_law(self) -> Callable[[Floats, float], Floats]:
        """The probability of each outcome (a grid of them) from the linear predictor and the log of the deviation."""
        centre, effect = self._intercept, float(self.effect)
        if self.outcome == "logistic":
            return lambda eta, _: np.column_stack([expit(-eta), expit(eta)])
        if self.outcome == "poisson":
            highest = np.exp(centre + max(effect, 0.0))
            counts = np.arange(int(highest + _FAR * np.sqrt(highest) + 2 * _FAR))
            return lambda eta, _: poisson.pmf(counts, np.exp(eta)[:, None])
        grid = np.linspace(centre - _FAR + min(effect, 0.0), centre + _FAR + max(effect, 0.0), _GRID)
        step = grid[1] - grid[0]
        return lambda eta, spread: norm.pdf(grid, eta[:, None], np.exp(spread)) * step

    def standard_errors(self, design: Any) -> StandardErrors:
        matrix = np.eye(2) if design is None else design.matrix
        outcomes = self._outcome_law()
        linear = self.outcome == "linear"

        def law(parameters: Floats) -> Floats:
            share = expit(parameters[0])
            eta = parameters[1] + parameters[2] * np.array([0.0, 1.0])
            by_truth = outcomes(eta, parameters[3] if linear else 0.0)
            reports = matrix * np.array([1 - share, share])
            return np.asarray(reports @ by_truth)

        at = np.array([logit(self.prevalence), self._intercept, self.effect, *([0.0] if linear else [])])
        information = law_information(law, at)
        return per_respondent(joint_covariance(information, "an effect")[2:3, 2])

    def simulate(self, design: Any, n: int, rng: np.random.Generator) -> Estimate:
        from askance.learning.surveys.hidden_predictor import HiddenPredictor

        channel = Identity(self.classes) if design is None else design
        carries = rng.random(n) < self.prevalence
        eta = self._intercept + self.effect * carries
        drawn: dict[str, Callable[[], Floats]] = {
            "linear": lambda: rng.normal(eta),
            "logistic": lambda: (rng.random(n) < expit(eta)).astype(float),
            "poisson": lambda: rng.poisson(np.exp(eta)).astype(float),
        }
        reports = channel.simulate(np.array(self.classes, dtype=object)[carries.astype(int)], rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a fit remarks is not of interest: its numbers are
            model = HiddenPredictor({"answer": channel}, self.outcome, method="likelihood", intervals="wald")
            fitted = model.fit(np.empty((n, 0)), drawn[self.outcome](), {"answer": reports})
        effect = list(fitted.parameter_names_).index("hidden(answer)")
        found, error = float(fitted.parameters_[effect]), float(fitted.standard_errors_[effect])
        z = abs(found) / max(error, np.finfo(float).tiny)
        return Estimate(np.array([found]), np.array([error]), np.array([2 * ndtr(-z)]))
