"""How many are there of each answer, and how far do two groups differ?

With report law q = S p, the unbiased proportions R q-hat have covariance R (diag q - q q') R' / n: the formula
that the estimator uses afterwards. A plan therefore cannot promise what the fit does not keep.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import Label, listed
from askance.channels.labels.finite import FiniteLaw, Identity
from askance.errors import InvalidInput, Unidentifiable
from askance.planning.quantities.base import Estimate, Quantity, StandardErrors, checked_share, per_respondent
from askance.planning.quantities.designs import answer_designs, check_answer_design
from askance.planning.quantities.grouped_design import GroupedDesign, joint_covariance
from askance.planning.quantities.list_design import ListDesign

_NEVER = 1e-12  # the probability that stands for that of a report which does not occur
_SUM_TOLERANCE = 1e-6  # of expected proportions, which people write with a few digits


def covariance_per_respondent(channel: FiniteLaw, proportions: Floats) -> Floats:
    """Return the covariance of the estimated proportions, times n, classes x classes.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import Warner
    >>> covariance_per_respondent(Warner(0.8), np.array([0.7, 0.3])).round(4)
    array([[ 0.6544, -0.6544],
           [-0.6544,  0.6544]])
    """
    law = channel.matrix @ proportions
    # A report that never occurs under these proportions has no say in which unbiasing matrix is best.
    unbiasing = channel.unbiasing_matrix(np.maximum(law, _NEVER))
    covariance: Floats = unbiasing @ (np.diag(law) - np.outer(law, law)) @ unbiasing.T
    return covariance


def _grouped_variances(design: GroupedDesign, proportions: Floats) -> Floats:
    """The variances of proportions that are estimated together with unknown numbers, times n."""
    free = np.vstack([-np.ones(len(proportions) - 1), np.eye(len(proportions) - 1)])  # the first takes up the slack
    law = np.maximum(design.matrix @ proportions, np.finfo(float).tiny)
    slopes = np.column_stack([design.matrix @ free, *(moved @ proportions for moved in design.derivatives)])
    covariance = joint_covariance((slopes / law[:, None]).T @ slopes, "proportions or unknown numbers")
    own = covariance[: len(proportions) - 1, : len(proportions) - 1]
    return np.diag(free @ own @ free.T)


class _Shares(Quantity):
    """What proportions and their differences share: the designs they can be asked with."""

    classes: tuple[Label, ...]

    def designs_at(self, epsilon: float) -> Mapping[str, Any]:
        return answer_designs(epsilon, self.classes)

    def check_design(self, name: str, design: Any) -> None:
        # The public door: whatever a user hands in is looked at here, and nowhere else.
        if isinstance(design, ListDesign):
            if len(self.classes) != 2:
                raise InvalidInput(
                    f"the design {name} for {len(self.classes)} answers", "two answers: a list counts one"
                )
            return
        check_answer_design(design, self.classes)

    def _variances(self, design: Any, proportions: Floats) -> Floats:
        if isinstance(design, ListDesign):
            return np.full(2, design.variance(float(proportions[1])))
        if isinstance(design, GroupedDesign):
            return _grouped_variances(design, proportions)
        channel = Identity(self.classes) if design is None else design
        try:
            return np.diag(covariance_per_respondent(channel, proportions))
        except Unidentifiable as error:
            raise Unidentifiable(f"the design {channel.short_name} cannot be planned with: {error}") from None

    def _one_study(self, design: Any, proportions: Floats, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The unbiased proportions of one simulated study, and their variances."""
        if isinstance(design, ListDesign):
            found, variance = design.simulate(float(proportions[1]), n, rng)
            return np.array([1 - found, found]), np.full(2, variance)
        from askance.learning.answers.prevalence import Prevalence

        if isinstance(design, GroupedDesign):
            groups = design.draw_groups(n, rng)
            truth = np.array(self.classes, dtype=object)[rng.choice(len(self.classes), size=n, p=proportions)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = Prevalence(design.designs).fit(design.simulate(truth, rng, groups), design=groups)
            return found.proportions_, found.standard_errors_[: len(self.classes)] ** 2
        channel = Identity(self.classes) if design is None else design
        counts = rng.multinomial(n, channel.matrix @ proportions)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that an estimate left [0, 1] is part of what is measured
            fitted = Prevalence(channel, "moments").fit(
                np.repeat(np.array(channel.report_labels, dtype=object), counts)
            )
        return fitted.unbiased_, np.diag(fitted.covariance_)


@dataclass(frozen=True, eq=False)
class Proportions(_Shares):
    """The proportions of the true answers.

    Parameters
    ----------
    prevalence : float, sequence or mapping, optional
        The expected proportions: that of the second of two answers, or one for each answer. Equal proportions if not
        given, which is cautious.
    classes : sequence of labels
    null : float
        What a test compares with: "more than null".

    Examples
    --------
    >>> import askance as ask
    >>> from askance.planning import Proportions
    >>> Proportions(0.3).standard_errors(ask.Warner(0.8))(1000).round(4)
    array([0.0256, 0.0256])
    """

    prevalence: Any = None
    classes: tuple[Label, ...] = ("no", "yes")
    null: float = 0.0
    has_border = True
    proportions: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        vars(self).update(classes=tuple(self.classes), proportions=_checked(self.prevalence, tuple(self.classes)))
        checked_share(self.null, "null")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(label) for label in self.classes)

    @property
    def values(self) -> Floats:
        return self.proportions

    def assumption(self) -> str:
        pairs = zip(self.names, self.proportions.tolist(), strict=True)
        return "if the truth is " + ", ".join(f"{100 * share:.4g}% {name}" for name, share in pairs)

    def standard_errors(self, design: Any) -> StandardErrors:
        return per_respondent(self._variances(design, self.proportions))

    def simulate(self, design: Any, n: int, rng: np.random.Generator) -> Estimate:
        return _tested(*self._one_study(design, self.proportions, n, rng), self.null)


@dataclass(frozen=True, eq=False)
class Difference(_Shares):
    """By how much the share of the second answer differs between two groups.

    Parameters
    ----------
    first, second : float
        The expected shares in the two groups.
    share : float
        Which share of the respondents is in the first group.
    classes : pair of labels

    Examples
    --------
    >>> import askance as ask
    >>> from askance.planning import Difference
    >>> ask.plan(ask.Warner(0.8), Difference(0.10, 0.20), power=0.8).recommended.n
    1788
    """

    first: float
    second: float
    share: float = 0.5
    classes: tuple[Label, ...] = ("no", "yes")

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            checked_share(getattr(self, name), name)
        checked_share(self.share, "share", inside=True)
        if len(self.classes) != 2:
            raise InvalidInput(f"{len(self.classes)} answers", "two: a difference is one of shares of the second")
        vars(self).update(classes=tuple(self.classes))

    @property
    def names(self) -> tuple[str, ...]:
        return (f"difference in {self.classes[1]}",)

    @property
    def values(self) -> Floats:
        return np.array([self.second - self.first])

    @property
    def _groups(self) -> tuple[tuple[float, float], ...]:
        return (self.first, self.share), (self.second, 1 - self.share)

    def assumption(self) -> str:
        return (
            f"if {100 * self.first:.4g}% of one group ({100 * self.share:.4g}% of the respondents) and "
            f"{100 * self.second:.4g}% of the other are {self.classes[1]}"
        )

    def standard_errors(self, design: Any) -> StandardErrors:
        parts = [self._variances(design, np.array([1 - p, p]))[1] / share for p, share in self._groups]
        return per_respondent(np.array([sum(parts)]))

    def simulate(self, design: Any, n: int, rng: np.random.Generator) -> Estimate:
        sizes = (round(n * self.share), n - round(n * self.share))
        studies = [
            self._one_study(design, np.array([1 - p, p]), max(size, 1), rng)
            for (p, _), size in zip(self._groups, sizes, strict=True)
        ]
        (first, first_variance), (second, second_variance) = studies
        return _tested(second[1:] - first[1:], first_variance[1:] + second_variance[1:], 0.0)


def _tested(values: Floats, variances: Floats, null: float) -> Estimate:
    from scipy.special import ndtr

    errors = np.sqrt(np.maximum(variances, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(values - null) / errors
    return Estimate(values, errors, 2 * ndtr(-np.nan_to_num(z, nan=0.0)))


def _checked(prevalence: Any, classes: tuple[Label, ...]) -> Floats:
    expected = f"proportions of {listed(classes)} that sum to 1" + (
        f", or the proportion of {classes[1]!r} alone" if len(classes) == 2 else ""
    )
    if prevalence is None:
        return np.full(len(classes), 1 / len(classes))
    if isinstance(prevalence, Mapping):
        strange = [label for label in prevalence if label not in classes]
        if strange or len(prevalence) != len(classes):
            raise InvalidInput(f"prevalence={dict(prevalence)!r}", expected)
        prevalence = [prevalence[label] for label in classes]
    try:
        values = np.atleast_1d(np.asarray(prevalence, dtype=float))
    except (TypeError, ValueError):
        raise InvalidInput(f"prevalence={prevalence!r}", expected) from None
    if values.shape == (1,) and len(classes) == 2:
        if 1 < values[0] <= 100:
            expected += f"; {values[0]:g} per cent are {values[0] / 100:g}"
        values = np.array([1 - values[0], values[0]])
    valid = values.shape == (len(classes),) and np.isfinite(values).all() and values.min() >= 0
    if not valid or abs(values.sum() - 1) > _SUM_TOLERANCE:
        raise InvalidInput(f"prevalence={prevalence!r}", expected)
    return values
