"""Coefficients of a logistic regression of the hidden answer: effects that a study is to find.

At covariates x the reports have law q = S p(x), which moves with the logits by J = S (diag p - p p')' ; one respondent
tells J' diag(1/q) J (x) z z' with z = (1, x). Its mean over the covariates, inverted, is the covariance times n.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import Label
from askance.channels.labels.finite import Identity
from askance.errors import InvalidInput
from askance.planning.quantities.base import SEED, Estimate, Quantity, StandardErrors, checked_share, per_respondent
from askance.planning.quantities.covariates import expected_rows
from askance.planning.quantities.designs import answer_designs, check_answer_design
from askance.planning.quantities.grouped_design import GroupedDesign, joint_covariance
from askance.planning.quantities.report_law import ReportLaw
from askance.solvers.softmax import posterior

_FAIR_CHANCE = 2.5  # standard errors from zero: a power of .7
_FEW_TO_MANY = (200, 2000)  # respondents of a drawn study: fewer have no estimate, and more take long to say nothing
# Drawn studies: the share by which errors are wider is then known to .03 (unrelated question) and .08 (anchor, eight
# seeds each), and takes half a second; ten times as many would take longer than a plan may.
_STUDIES = 150


@dataclass(frozen=True, eq=False)
class Coefficients(Quantity):
    """Log odds ratios of the second answer.

    Parameters
    ----------
    effects : mapping from names to numbers
        The expected coefficient of each covariate, by unit of the covariate.
    prevalence : float
        The expected share of the second answer in all.
    covariates : None, mapping from names to laws, or a table
        How the covariates will be distributed: "normal(40, 12)", "uniform(0, 1)", "binary(0.3)", or the rows of a
        pilot. Independent standard normal if not given: effects are then by standard deviation.
    of : str, optional
        The coefficient to plan for; all of them if not given.
    classes : pair of labels

    Examples
    --------
    >>> import askance as ask
    >>> from askance.planning import Coefficients
    >>> age = Coefficients({"age": 0.5}, prevalence=0.2)
    >>> ask.plan([ask.Warner(0.8), ask.Identity(("no", "yes"))], age, power=0.8)["Warner(p=0.8)"].n
    831
    """

    effects: Mapping[str, float]
    prevalence: float
    covariates: Any = None
    of: str | None = None
    classes: tuple[Label, ...] = ("no", "yes")
    are_shares = False
    _rows: Floats = field(init=False, repr=False)
    _theta: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.effects, Mapping) or not self.effects:
            raise InvalidInput(f"effects={self.effects!r}", 'a mapping such as {"age": 0.5}')
        try:
            slopes = np.array([float(effect) for effect in self.effects.values()])
        except (TypeError, ValueError):
            raise InvalidInput(f"effects={dict(self.effects)!r}", "a number for each covariate") from None
        if not np.isfinite(slopes).all():
            raise InvalidInput(f"effects={dict(self.effects)!r}", "finite numbers")
        prevalence = checked_share(self.prevalence, "prevalence", inside=True)
        if len(self.classes) != 2:
            raise InvalidInput(f"{len(self.classes)} answers", "two: a coefficient is one of the odds of the second")
        if self.of is not None and self.of not in self.effects:
            raise InvalidInput(f"of={self.of!r}", f"one of {', '.join(map(str, self.effects))}")
        rows = expected_rows(list(self.effects), self.covariates)
        rows = np.column_stack([np.ones(len(rows)), rows])
        theta = np.concatenate([[intercept_at(rows[:, 1:] @ slopes, prevalence)], slopes])
        vars(self).update(_rows=rows, _theta=theta, classes=tuple(self.classes))

    @property
    def _planned(self) -> list[int]:
        names = list(self.effects)
        return [1 + names.index(name) for name in ([self.of] if self.of else names)]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(name) for name in ([self.of] if self.of else self.effects))

    @property
    def values(self) -> Floats:
        return self._theta[self._planned]

    def assumption(self) -> str:
        effects = ", ".join(f"{name} {effect:+g}" for name, effect in self.effects.items())
        known = "standard normal covariates" if self.covariates is None else "the given covariates"
        return (
            f"if {100 * self.prevalence:.4g}% are {self.classes[1]} and the log odds change by {effects} a unit, with "
            f"{known}"
        )

    def designs_at(self, epsilon: float) -> Mapping[str, Any]:
        return answer_designs(epsilon, self.classes)

    def check_design(self, name: str, design: Any) -> None:
        check_answer_design(design, self.classes)

    def standard_errors(self, design: Any) -> StandardErrors:
        formula = self._formula(design)
        if not isinstance(design, GroupedDesign):
            return formula
        # Beside unknown numbers the law of the estimates is wider than its formula, by a share that falls with n. It is
        # drawn where a test would have a fair chance, which is where studies are planned.
        with np.errstate(divide="ignore"):
            telling = (_FAIR_CHANCE * formula(1.0) / np.abs(self.values)).max() ** 2
        n = int(np.clip(telling, *_FEW_TO_MANY))
        drawn = ReportLaw.of(design, self._rows).widening(self._theta, n, _STUDIES, np.random.default_rng(SEED))
        wider = n * np.maximum(drawn[self._planned] - 1, 0.0)
        return lambda people: formula(people) * (1 + wider / people)

    def _formula(self, design: Any) -> StandardErrors:
        """By the information of all coefficients and unknown numbers."""
        law = ReportLaw.of(design, self._rows)
        covariance = joint_covariance(law.information(law.truth(self._theta)), "coefficients or unknown numbers")
        return per_respondent(np.diag(covariance)[self._planned])

    def shifts(self, design: Any) -> StandardErrors:
        """Halfway between the shift of Wald's test and the root of the expected likelihood ratio, whose square is 2 n
        times how much of its mean the log-likelihood loses without the coefficient.

        The errors of large coefficients are larger: Wald's test rejects from an estimate on whose error is smaller than
        that at the truth, so that it has more power than the latter says; and a ratio takes all errors from zero to the
        truth. Measured with 500 and 1500 studies each, at powers of .70 to .85 by Wald's shift, the simulated powers
        were .02 to .06 above it; they are within .04 of this.
        """
        law, errors = ReportLaw.of(design, self._rows), self._formula(design)
        roots = np.sqrt([law.loss_without(self._theta, place) for place in self._planned])
        return lambda n: (np.abs(self.values - self.null) / errors(n) + math.sqrt(n) * roots) / 2

    def simulate(self, design: Any, n: int, rng: np.random.Generator) -> Estimate:
        from askance.learning.answers.indirect_classifier import IndirectClassifier

        rows = self._rows[rng.integers(len(self._rows), size=n)]
        chance = posterior((rows @ self._theta)[:, None]).probabilities[:, 1]
        truth = np.array(self.classes, dtype=object)[(rng.random(n) < chance).astype(int)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a fit remarks is not of interest: its numbers are
            if isinstance(design, GroupedDesign):
                groups = design.draw_groups(n, rng)
                reports = design.simulate(truth, rng, groups)
                fitted = IndirectClassifier(design.designs).fit(rows[:, 1:], reports, design=groups)
            else:
                channel = Identity(self.classes) if design is None else design
                fitted = IndirectClassifier(channel).fit(rows[:, 1:], channel.simulate(truth, rng))
        table = fitted.summary().values[self._planned]
        return Estimate(table[:, 0], table[:, 1], table[:, 3])


def intercept_at(slopes: Floats, prevalence: float) -> float:
    """The intercept at which the mean probability is the prevalence."""
    from scipy.optimize import brentq

    def excess(intercept: float) -> float:
        return float(posterior((intercept + slopes)[:, None]).probabilities[:, 1].mean()) - prevalence

    far = 40.0 + float(np.abs(slopes).max())  # there every probability is 0 or 1 to the last bit
    found: float = brentq(excess, -far, far, xtol=1e-12)
    return found
