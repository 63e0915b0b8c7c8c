"""Labels that are released as noisy totals: coefficients from a mean operator, ratios from the counts of bags."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from askance.arrays import Floats
from askance.channels.guarantee import OTHER_LABEL, Guarantee
from askance.errors import InvalidInput, Unidentifiable
from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.count_mechanisms import best_noise
from askance.mechanisms.sums.label_sums import sum_by_label
from askance.mechanisms.sums.mean_operator_mechanisms import choose_sum_mechanism
from askance.planning.quantities.base import Estimate, Quantity, StandardErrors
from askance.planning.quantities.coefficients import Coefficients, intercept_at
from askance.planning.quantities.designs import checked_level
from askance.planning.theory.ratio_error import equally_apart, expected_ratio_error
from askance.solvers.softmax import posterior

_SUM_MECHANISMS = ("laplace", "knorm", "gaussian")
_END = 1.959963984540054  # standard errors from zero at which a test at the 5% level rejects
_TURNS = 4  # in which the estimate from which a test rejects is found, to two thousandths of its error
_BEYOND = 3.0  # times the truth: an estimate as far as that is rejected by nearly no study
_DELTA = Fraction(1, 10**6)  # of a normal law of noise where none is given: one in a million


@dataclass(frozen=True)
class LabelTotals:
    """Labels released as one noisy mean operator, or as the counts of bags.

    Parameters
    ----------
    epsilon : float
    mechanism : str
        "laplace", "knorm" or "gaussian" for a mean operator; "auto", the least noise, for both.
    delta : float, optional
        For "gaussian" a millionth if not given.
    """

    epsilon: float
    mechanism: str = "auto"
    delta: float = 0.0

    def __post_init__(self) -> None:
        checked_level(self.epsilon)
        if self.mechanism not in ("auto", *_SUM_MECHANISMS):
            raise InvalidInput(f"mechanism={self.mechanism!r}", f"one of auto, {', '.join(_SUM_MECHANISMS)}")
        if self.mechanism == "gaussian" and not self.delta:
            object.__setattr__(self, "delta", float(_DELTA))

    @property
    def short_name(self) -> str:
        """How tables call it."""
        return f"LabelTotals({self.mechanism}, epsilon={self.epsilon:.4g})"

    @property
    def budget(self) -> Budget:
        """The level as the mechanisms take it."""
        return Budget.of(self.epsilon, self.delta)

    @property
    def guarantee(self) -> Guarantee:
        """The level of one label."""
        return Guarantee(self.epsilon, self.delta, protects="one label", neighbours=OTHER_LABEL)

    def to_spec(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return {"design": "label-totals", "epsilon": self.epsilon, "delta": self.delta, "mechanism": self.mechanism}


@dataclass(frozen=True, eq=False)
class TotalsCoefficients(Coefficients):
    """Coefficients of a logistic regression that is learned from a released mean operator.

    The noise of the totals does not grow with the people: beside the variance H^-1 / n of clean labels there is
    H^-1 N H^-1 / 4 with a noise N that falls with the square of n. A fit shrinks what is mostly noise, so these errors
    are upper limits where the second part is the larger.

    Parameters
    ----------
    effects, prevalence, covariates, of, classes
        As for :class:`~askance.planning.Coefficients`. The covariates are public: their largest norm sets the noise.

    Examples
    --------
    >>> import askance as ask
    >>> from askance.planning import TotalsCoefficients
    >>> plan = ask.plan(None, TotalsCoefficients({"age": 0.5}, prevalence=0.3), epsilon=0.5, n=5_000)
    >>> plan.recommended.std_errors[0] < 0.1
    True
    """

    def designs_at(self, epsilon: float) -> Mapping[str, Any]:
        return {name: LabelTotals(checked_level(epsilon), name) for name in _SUM_MECHANISMS}

    def check_design(self, name: str, design: Any) -> None:
        if not isinstance(design, LabelTotals):
            raise InvalidInput(f"the design {design!r}", "LabelTotals(epsilon, mechanism)")

    def standard_errors(self, design: Any) -> StandardErrors:
        noise = self._noise(design)
        return lambda n: self._errors_at(self._theta, n, noise(n))[self._planned]

    def _errors_at(self, theta: Floats, n: float, noise: float) -> Floats:
        """Standard errors of all coefficients, if these are the truth."""
        carriers = posterior((self._rows @ theta)[:, None]).probabilities[:, 1]
        mean = (self._rows * (carriers * (1 - carriers))[:, None]).T @ self._rows / len(self._rows)
        inverse = np.linalg.inv(mean)
        return np.asarray(np.sqrt(np.diag(inverse) / n + np.diag(inverse @ inverse) / 4 * noise))

    def _noise(self, design: LabelTotals | None) -> Callable[[float], float]:
        """The variance of one value of the release, by the number of people: their largest norm sets it."""
        if design is None:
            return lambda n: 0.0
        features, width = self._rows[:, 1:], self._rows.shape[1]
        sums = sum_by_label(features, np.zeros(len(features), dtype=np.int64), 2, True)
        one_norms, squared_norms = 1 + np.abs(features).sum(axis=1), 1 + (features**2).sum(axis=1)

        def variance(n: float) -> float:
            one, squared = math.sqrt(_largest_of(one_norms**2, n)), _largest_of(squared_norms, n)
            seen = replace(
                sums, one_norm=math.ceil(one / sums.step), squared_two_norm=math.ceil(squared / sums.step**2)
            )
            mechanism, _ = choose_sum_mechanism(design.mechanism, seen, design.budget, self.classes)
            return float(mechanism.error(seen) / width * (sums.rows / n) ** 2)

        return variance

    def shifts(self, design: Any) -> StandardErrors:
        """Wald's test rejects from the estimate on that is as many of its own standard errors from zero as it takes.

        Smaller coefficients have smaller errors, so that this estimate is nearer to zero than the errors at the truth
        would have it.
        """
        noise = self._noise(design)

        def shift(n: float) -> Floats:
            variance = noise(n)
            errors = self._errors_at(self._theta, n, variance)
            found = []
            for place in self._planned:
                truth, there = abs(self._theta[place]), self._theta.copy()
                rejected = truth
                for _ in range(_TURNS):
                    rejected = min(_END * self._errors_at(self._balanced(there), n, variance)[place], _BEYOND * truth)
                    there[place] = math.copysign(rejected, self._theta[place])
                found.append(max(_END + (truth - rejected) / errors[place], 0.0))
            return np.array(found)

        return shift

    def _balanced(self, theta: Floats) -> Floats:
        """The same coefficients with the intercept that leaves the prevalence what it is."""
        return np.concatenate([[intercept_at(self._rows[:, 1:] @ theta[1:], self.prevalence)], theta[1:]])

    def simulate(self, design: Any, n: int, rng: np.random.Generator) -> Estimate:
        if design is None:
            return super().simulate(None, n, rng)
        from askance.learning.totals.mean_operator_classifier import MeanOperatorClassifier
        from askance.releases.mean_operator_release import simulate_mean_operator_release

        rows = self._rows[rng.integers(len(self._rows), size=n)]
        chance = posterior((rows @ self._theta)[:, None]).probabilities[:, 1]
        truth = np.array(self.classes, dtype=object)[(rng.random(n) < chance).astype(int)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            released = simulate_mean_operator_release(
                rows[:, 1:],
                truth,
                design.epsilon,
                design.delta,
                design.mechanism,
                rng=rng,
                classes=self.classes,
                shape="none",
            )
            fitted = MeanOperatorClassifier(ridge=0.0).fit(rows[:, 1:], released)
        table = fitted.summary().values[self._planned]
        return Estimate(table[:, 0], table[:, 1], table[:, 3])


def _largest_of(values: Floats, n: float) -> float:
    """The mean of the largest of n values that are drawn from these."""
    ordered = np.sort(values)
    at_most = (np.arange(len(ordered) + 1) / len(ordered)) ** n
    return float(ordered @ np.diff(at_most))


@dataclass(frozen=True, eq=False)
class ClassRatios(Quantity):
    """The class ratios of a new group, learned from bags whose counts are released ([CR] theorem 1, in expectation).

    Parameters
    ----------
    proportions : array, bags x K
        The expected proportions of each bag; bags have the same size.
    separation : float
        How many standard deviations any two classes lie apart.
    new_rows : int
        The size of the new group.

    Examples
    --------
    >>> import askance as ask
    >>> from askance.planning import ClassRatios
    >>> bags = ClassRatios([[0.8, 0.2], [0.4, 0.6]])
    >>> ask.plan(None, bags, epsilon=1.0, margin=0.1).recommended.n
    241
    """

    proportions: Sequence[Sequence[float]]
    separation: float = 2.0
    new_rows: int = 1000

    is_error: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if len({np.size(bag) for bag in self.proportions}) > 1:
            raise InvalidInput("bags with different numbers of proportions", "one for each class, in every bag")
        table = np.asarray(self.proportions, dtype=float)
        if table.ndim != 2 or table.shape[1] < 2 or (table < 0).any() or np.abs(table.sum(axis=1) - 1).max() > 1e-6:
            raise InvalidInput(f"proportions of shape {table.shape}", "bags x classes, each row summing to 1")
        if not 0 < self.separation < np.inf or not self.new_rows >= 2:
            raise InvalidInput(
                f"separation={self.separation!r}, new_rows={self.new_rows!r}",
                "a positive distance, and two rows or more",
            )

    @property
    def names(self) -> tuple[str, ...]:
        return ("L1 error of ratios",)

    @property
    def values(self) -> Floats:
        return np.zeros(1)

    def reach(self, level: float) -> float:
        """One: what is planned is the expected error itself, not an interval."""
        return 1.0

    def assumption(self) -> str:
        bags, classes = np.shape(self.proportions)
        return f"if {bags} bags of {classes} classes that lie {self.separation:g} deviations apart teach them"

    def designs_at(self, epsilon: float) -> Mapping[str, Any]:
        return {"counts of bags": LabelTotals(checked_level(epsilon))}

    def check_design(self, name: str, design: Any) -> None:
        if not isinstance(design, LabelTotals):
            raise InvalidInput(f"the design {design!r}", "LabelTotals(epsilon)")

    def standard_errors(self, design: Any) -> StandardErrors:
        table = np.asarray(self.proportions, dtype=float)
        bags, classes = table.shape
        covariance = np.zeros((classes, classes))
        if design is not None:
            covariance = np.asarray(best_noise(classes, design.budget).covariance(np.zeros(classes)))

        def error(n: float) -> Floats:
            sizes = np.full(bags, max(n / bags, 1.0))
            noise = np.repeat(covariance[None], bags, axis=0) / sizes[:, None, None] ** 2
            apart = equally_apart(classes, self.separation)
            return np.array([expected_ratio_error(table, sizes, noise, apart, self.new_rows).total])

        try:
            error(float(bags))
        except Unidentifiable as problem:
            raise Unidentifiable(f"bags that cannot be planned with: {problem}") from None
        return error

    def simulate(self, design: Any, n: int, rng: np.random.Generator) -> Estimate:
        """Draw normal classes in bags, release their counts, and be wrong about one new group of any ratios."""
        from askance.learning.ratios.ratio_estimator import RatioEstimator
        from askance.releases.counts_release import simulate_counts_release

        table = np.asarray(self.proportions, dtype=float)
        bags, classes = table.shape
        size = max(round(n / bags), 1)
        means = np.eye(classes) * self.separation / math.sqrt(2)

        def drawn(counts: Any) -> Floats:
            rows: Floats = means[np.repeat(np.arange(classes), counts)]
            return rows + rng.normal(size=rows.shape)

        counts = np.array([rng.multinomial(size, shares) for shares in table])
        names = [f"{number}" for number in range(bags)]
        fresh = rng.multinomial(self.new_rows, rng.dirichlet(np.ones(classes)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            published: Any = counts / size
            if design is not None:
                published = simulate_counts_release(
                    counts, design.epsilon, design.delta, rng=rng, classes=tuple(range(classes)), bags=names
                )
            # Normal classes differ in nothing but their means, so that a linear kernel loses nothing; it is also the
            # estimator whose error the formula is of.
            model = RatioEstimator("mmd", kernel="linear", random_state=0)
            model.fit(np.vstack([drawn(one) for one in counts]), np.repeat(names, size), published)
            found = model.predict(drawn(fresh))
        error = np.array([np.abs(found - fresh / self.new_rows).sum()])
        return Estimate(error, np.full(1, np.nan), np.full(1, np.nan))
