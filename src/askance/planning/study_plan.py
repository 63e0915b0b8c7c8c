"""How precise a study will be, before anybody is asked.

With report law q = S p, the unbiased proportions R q-hat have covariance R (diag q - q q') R' / n: the formula
that the estimator uses afterwards. A plan therefore cannot promise what the fit does not keep.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import Label, listed
from askance.channels.labels.finite import FiniteLaw, refuse_other_classes
from askance.errors import InvalidInput, Unidentifiable
from askance.reports.text_table import aligned

_NEVER = 1e-12  # the probability that stands for that of a report which does not occur
_RATHER = 1 + 1e-9  # by how much a design must be better than another: rounding makes equal ones differ by less
_SUM_TOLERANCE = 1e-6  # of expected proportions, which people write with a few digits


def covariance_per_respondent(channel: FiniteLaw, proportions: Floats) -> Floats:
    """Return the covariance of the estimated proportions, times n, classes x classes.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import Warner
    >>> from askance.planning.study_plan import covariance_per_respondent
    >>> covariance_per_respondent(Warner(0.8), np.array([0.7, 0.3])).round(4)
    array([[ 0.6544, -0.6544],
           [-0.6544,  0.6544]])
    """
    law = channel.matrix @ proportions
    # A report that never occurs under these proportions has no say in which unbiasing matrix is best.
    unbiasing = channel.unbiasing_matrix(np.maximum(law, _NEVER))
    covariance: Floats = unbiasing @ (np.diag(law) - np.outer(law, law)) @ unbiasing.T
    return covariance


@dataclass(frozen=True)
class PlannedDesign:
    """What one design gives.

    Parameters
    ----------
    name : str
    channel : finite channel
    n : int
        Respondents.
    std_errors, margins : tuple of float
        Standard error and half-width of the interval, for each class, with n respondents.
    worth : float
        How many directly asked people one respondent is worth (in variance, over all classes).
    beaten_by : str, optional
        A design that is more precise and no less private.
    """

    name: str
    channel: FiniteLaw
    n: int
    std_errors: tuple[float, ...]
    margins: tuple[float, ...]
    worth: float
    beaten_by: str | None = None

    @property
    def epsilon(self) -> float:
        """The exact privacy level."""
        return self.channel.guarantee.epsilon

    @property
    def margin(self) -> float:
        """The widest of the margins."""
        return max(self.margins)

    def to_dict(self, classes: Sequence[Label]) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        names = [str(label) for label in classes]
        return {
            "name": self.name,
            "channel": self.channel.to_spec(),
            "guarantee": self.channel.guarantee.to_dict(),
            "n": self.n,
            "std_errors": dict(zip(names, self.std_errors, strict=True)),
            "margins": dict(zip(names, self.margins, strict=True)),
            "worth": self.worth,
            "beaten_by": self.beaten_by,
        }


@dataclass(frozen=True)
class Plan:
    """Designs compared for one population; print it, or read ``recommended``.

    Parameters
    ----------
    designs : tuple of PlannedDesign
        In the order they were given.
    recommended : PlannedDesign
        The most precise within the privacy budget.
    proportions : tuple of float
        The population that was assumed.
    level : float
        Confidence level of the intervals.
    wanted : str
        What was fixed: the number of respondents or the margin.
    epsilon : float
        The privacy budget: no design with a larger level is recommended.
    """

    designs: tuple[PlannedDesign, ...]
    recommended: PlannedDesign
    proportions: tuple[float, ...]
    level: float
    wanted: str
    epsilon: float

    @property
    def classes(self) -> tuple[Label, ...]:
        """The possible answers."""
        return self.designs[0].channel.classes

    def __getitem__(self, name: str) -> PlannedDesign:
        for design in self.designs:
            if design.name == name:
                return design
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping; an infinite epsilon is written as the string "infinite"."""
        return {
            "classes": list(self.classes),
            "proportions": list(self.proportions),
            "level": self.level,
            "wanted": self.wanted,
            "epsilon": "infinite" if math.isinf(self.epsilon) else self.epsilon,
            "designs": [design.to_dict(self.classes) for design in self.designs],
            "recommended": self.recommended.name,
        }

    def __str__(self) -> str:
        population = ", ".join(
            f"{100 * share:.4g}% {label}" for label, share in zip(self.classes, self.proportions, strict=True)
        )
        heads = ["design", "epsilon", "respondents", "std. error", "margin", "worth"]
        rows = [
            [
                design.name,
                "none" if math.isinf(design.epsilon) else f"{design.epsilon:.4g}",
                f"{design.n:,}",
                f"{max(design.std_errors):.4f}",
                f"±{design.margin:.4f}",
                f"{design.worth:.3f}",
            ]
            for design in self.designs
        ]
        return "\n".join(
            [
                f"Plan for {self.wanted}, {100 * self.level:g}% intervals, if the truth is {population}",
                *aligned(heads, rows),
                'worth: directly asked people that one respondent stands for; epsilon "none": no guarantee.',
                *self._advice(),
            ]
        )

    def _advice(self) -> list[str]:
        if len(self.designs) == 1:
            return [str(self.recommended.channel.guarantee)]
        beaten = [
            f"{design.name} is beaten by {design.beaten_by}: more precise, and no less private."
            for design in self.designs
            if design.beaten_by
        ]
        if math.isinf(self.recommended.epsilon):
            return [*beaten, f"Most precise: {self.recommended.name}; none of these designs gives privacy."]
        return [
            *beaten,
            f"Recommended: {self.recommended.name}, the most precise with epsilon at most {self.epsilon:.4g}.",
        ]


def plan(
    channels: FiniteLaw | Mapping[str, FiniteLaw] | Sequence[FiniteLaw],
    prevalence: float | Sequence[float] | Mapping[Any, float] | None = None,
    *,
    n: int | None = None,
    margin: float | None = None,
    level: float = 0.95,
    epsilon: float | None = None,
) -> Plan:
    """Say how precisely proportions will be known from n reports, or how many reports a precision needs.

    Parameters
    ----------
    channels : finite channel, or several (a list, or a mapping from names)
        The designs to compare; all with the same classes.
    prevalence : float, sequence or mapping, optional
        The expected proportions: that of the second of two classes, or one for each class. Equal
        proportions if not given, which is cautious.
    n : int, optional
        Respondents; gives the margin.
    margin : float, optional
        The wanted half-width of the widest interval; gives n. Give n or margin, not both.
    level : float
        Confidence level.
    epsilon : float, optional
        The privacy budget. The recommended design is the most precise of those within it; if not
        given, of those that give any guarantee.

    Examples
    --------
    >>> import askance as ask
    >>> plan = ask.plan([ask.Warner(0.8), ask.ForcedResponse(1/6, 1/6)], prevalence=0.3, margin=0.03)
    >>> [design.n for design in plan.designs], plan.recommended.name
    ([2794, 2231], 'ForcedResponse(p_no=0.1667, p_yes=0.1667)')
    >>> ask.plan(ask.Warner(0.8), prevalence=0.3, n=2794).recommended.margin <= 0.03
    True
    """
    from scipy.special import ndtri

    named = _named(channels)
    classes = next(iter(named.values())).classes
    proportions = _proportions(prevalence, classes)
    _check_wish(n, margin, level, epsilon)
    reach = float(ndtri(0.5 + level / 2))
    designs = _compared([_planned(name, channel, proportions, n, margin, reach) for name, channel in named.items()])
    budget = _budget(designs, epsilon)
    within = [design for design in designs if design.epsilon <= budget]
    if not within:
        raise InvalidInput(
            f"no design has an epsilon of at most {budget:g}",
            f"a budget of at least {min(design.epsilon for design in designs):.4g}, or more private designs",
        )
    recommended = max(within, key=lambda design: (design.worth, -design.epsilon))
    wanted = f"{n:,} respondents" if n is not None else f"a margin of ±{margin:g}"
    return Plan(
        tuple(designs),
        recommended,
        tuple(proportions.tolist()),
        level,
        wanted,
        budget,
    )


def _planned(
    name: str, channel: FiniteLaw, proportions: Floats, n: int | None, margin: float | None, reach: float
) -> PlannedDesign:
    try:
        variance = np.maximum(np.diag(covariance_per_respondent(channel, proportions)), 0.0)
    except Unidentifiable as error:
        raise Unidentifiable(f"the design {name} cannot be planned with: {error}") from None
    if n is None:
        # With a certain outcome (variance 0) a single respondent would do.
        n = max(1, math.ceil(reach**2 * variance.max() / float(margin or 1) ** 2))
    errors = np.sqrt(variance / n)
    direct = float((proportions * (1 - proportions)).sum())
    worth = min(1.0, direct / variance.sum()) if variance.sum() > 0 else 1.0
    return PlannedDesign(name, channel, n, tuple(errors.tolist()), tuple((reach * errors).tolist()), worth)


def _compared(designs: Sequence[PlannedDesign]) -> list[PlannedDesign]:
    """Mark every design that another one beats: more precise at an equal or smaller epsilon."""
    compared = []
    for design in designs:
        better = [d for d in designs if d.epsilon <= design.epsilon and d.worth > design.worth * _RATHER]
        best = max(better, key=lambda d: d.worth, default=None)
        compared.append(replace(design, beaten_by=best.name if best else None))
    return compared


def _budget(designs: Sequence[PlannedDesign], epsilon: float | None) -> float:
    if epsilon is not None:
        return float(epsilon)
    return max((d.epsilon for d in designs if math.isfinite(d.epsilon)), default=math.inf)


def _named(channels: Any) -> dict[str, FiniteLaw]:
    several = isinstance(channels, Mapping) or (isinstance(channels, Sequence) and not isinstance(channels, str))
    given = list(channels.values() if isinstance(channels, Mapping) else channels) if several else [channels]
    if not given:
        raise InvalidInput("no designs", "at least one channel, such as ask.plan(ask.Warner(0.8), n=1000)")
    for channel in given:
        # The public door: whatever a user hands in is looked at here, and nowhere else.
        if not isinstance(channel, FiniteLaw):
            raise InvalidInput(
                f"the design {channel!r}",
                "a finite channel such as Warner(0.8)",
                "Plan the designs of a DesignPerRow one by one.",
            )
    names = [*map(str, channels)] if isinstance(channels, Mapping) else [channel.short_name for channel in given]
    if len(set(names)) < len(names):
        names = [f"{number}. {name}" for number, name in enumerate(names, start=1)]
    named = dict(zip(names, given, strict=True))
    refuse_other_classes(named)
    return named


def _proportions(prevalence: Any, classes: tuple[Label, ...]) -> Floats:
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
        values = np.array([1 - values[0], values[0]])
    valid = values.shape == (len(classes),) and np.isfinite(values).all() and values.min() >= 0
    if not valid or abs(values.sum() - 1) > _SUM_TOLERANCE:
        raise InvalidInput(f"prevalence={prevalence!r}", expected)
    return values


def _check_wish(n: Any, margin: Any, level: float, epsilon: float | None) -> None:
    if (n is None) == (margin is None):
        raise InvalidInput(
            f"n={n!r} and margin={margin!r}", "exactly one of the two", "For example plan(channel, n=1000)."
        )
    if n is not None and not (isinstance(n, int | np.integer) and n >= 1):
        raise InvalidInput(f"n={n!r}", "a number of respondents, 1 or more")
    if margin is not None and not (isinstance(margin, int | float | np.floating) and 0 < margin < 1):
        raise InvalidInput(f"margin={margin!r}", "a half-width between 0 and 1, such as 0.03")
    if not 0 < level < 1:
        raise InvalidInput(f"level={level!r}", "a confidence level between 0 and 1, such as 0.95")
    if epsilon is not None and not epsilon > 0:
        raise InvalidInput(f"epsilon={epsilon!r}", "a positive privacy budget")
