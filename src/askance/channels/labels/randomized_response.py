"""Classic randomised response: tell the truth with some probability, else draw from a public law.

S = t I + (1 - t) u 1', with truth probability t and base law u ([LM] section 3.1). The exact level is
max_o log(1 + t / ((1 - t) u_o)), reached at the report that u makes rarest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from askance.channels.alphabet import Label, Labels, as_labels
from askance.channels.given_numbers import MOST_LABELS, as_number, shown
from askance.channels.guarantee import Guarantee
from askance.channels.labels.channel_matrix import wanted_features
from askance.channels.labels.finite import FiniteLaw
from askance.channels.probabilities import checked_probabilities
from askance.entropy.draws import AliasSampler, BinarySampler, Sampler
from askance.entropy.thresholds import RESOLUTION, exact_counts, log_ratio, shares_within
from askance.errors import InvalidInput, Unidentifiable

# Beyond it, reports are drawn with counts of a few units out of 2^62, too coarse for the level to be kept.
# It is no loss: at 30, one answer in 10^13 is not the truth.
_LARGEST_EPSILON = 30.0


@dataclass(frozen=True, eq=False, repr=False)
class RandomizedResponse(FiniteLaw):
    """Report the truth with probability t, and a draw from ``base`` otherwise.

    Give either ``epsilon`` or ``truth_probability``.

    Parameters
    ----------
    classes : sequence of labels
        The possible answers.
    epsilon : float, optional
        The wanted privacy level. The level that is really given is never above it: probabilities are
        rounded, in units of 2^-62, towards more privacy.
    truth_probability : float in (0, 1], optional
        The probability t of telling the truth outright. (The report also equals the truth when the
        base law happens to draw it, so P(report = truth) = t + (1 - t) base[truth].)
    base : sequence of float, optional
        The public law that replaces the truth; uniform if not given.

    Examples
    --------
    >>> from askance import RandomizedResponse
    >>> channel = RandomizedResponse(["no", "yes"], epsilon=1.0)
    >>> channel.matrix.round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    >>> round(channel.guarantee.epsilon, 9)
    1.0

    References
    ----------
    Warner (1965); Raghunathan, Frostig, Duchi & Liang (2016), section 3.1.
    """

    classes: tuple[Label, ...]
    epsilon: float | None = None
    truth_probability: float | None = None
    base: tuple[float, ...] | None = None

    kind: ClassVar[str] = "randomized-response"

    if TYPE_CHECKING:  # any sequence of labels will do; what is kept is a tuple

        def __init__(
            self,
            classes: Labels,
            epsilon: float | None = None,
            truth_probability: float | None = None,
            base: Sequence[float] | NDArray[Any] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        classes = as_labels(self.classes, "classes")
        if (self.epsilon is None) == (self.truth_probability is None):
            raise InvalidInput(
                f"epsilon={self.epsilon!r} and truth_probability={self.truth_probability!r}",
                "exactly one of the two",
                "For example RandomizedResponse(classes, epsilon=1.0).",
            )
        base = self.base
        if base is not None:
            base = tuple(checked_probabilities(base, len(classes), "base", "class").tolist())
        vars(self).update(classes=classes, base=base)
        if self.epsilon is not None:
            vars(self).update(epsilon=_checked_epsilon(self.epsilon))
            if base is not None and min(base) == 0:
                raise InvalidInput(
                    f"base={base!r} gives some answer no chance, so that reporting it would reveal the truth",
                    "a base law that is positive everywhere when epsilon is asked for",
                )
        else:
            vars(self).update(truth_probability=_checked_truth(self.truth_probability))
        if self._weights[-1] <= 0:
            raise Unidentifiable(
                f"epsilon={self.epsilon!r} is so small that the truth is never told",
                "an epsilon that leaves the reports some information",
            )

    @cached_property
    def _weights(self) -> NDArray[np.int64]:
        """Integer weights out of 2^62: each report when the base law speaks; last, telling the truth."""
        k = len(self.classes)
        base = np.full(k, 1 / k) if self.base is None else np.array(self.base) / sum(self.base)
        if self.epsilon is None:
            truth = float(self.truth_probability or 0.0)
            return exact_counts(np.append((1 - truth) * base, truth)[:, None])[:, 0]
        if self.base is None:
            weights = shares_within(self.epsilon, [1] * k)
        else:
            weights = shares_within(self.epsilon, exact_counts(base[:, None])[:, 0].tolist())
        return np.array([*weights, RESOLUTION - sum(weights)], dtype=np.int64)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        weights = self._weights
        if len(self.classes) > MOST_LABELS:
            raise InvalidInput(
                f"{len(self.classes):,} classes, whose whole table of probabilities is asked for",
                f"at most {MOST_LABELS:,}",
                "Reports can be drawn from more; audits and fits need the table. Put rare classes together.",
            )
        counts = np.repeat(weights[:-1, None], len(self.classes), axis=1)
        counts[np.diag_indices_from(counts)] += weights[-1]
        counts.setflags(write=False)
        return counts

    @cached_property
    def guarantee(self) -> Guarantee:
        rarest, truth = int(self._weights[:-1].min()), int(self._weights[-1])
        level = math.inf if rarest == 0 else log_ratio(rarest + truth, rarest)
        # The exact level is not above the asked one; its last digit as a double must not be either.
        return Guarantee(level if self.epsilon is None else min(level, self.epsilon), proof=self.proof)

    @cached_property
    def sampler(self) -> Sampler:
        if len(self.classes) == 2:
            return BinarySampler(np.ascontiguousarray(self.counts[1]))
        # One table of k + 1 outcomes serves every truth: the last outcome is "tell the truth".
        k = len(self.classes)
        return AliasSampler.from_counts(self._weights[:, None], reports=k, truth_outcome=k)

    def unbiasing_matrix(
        self, report_law: NDArray[np.float64] | None = None, features: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return R = (I - (1 - t) u 1') / t, the only matrix with R S = I (whatever the report law)."""
        base, truth = self._weights[:-1], float(self._weights[-1])
        wanted = wanted_features(features, self.classes)
        return (wanted * RESOLUTION - (wanted @ base)[:, None]) / truth

    def describe(self) -> str:
        truth = float(self._weights[-1] / RESOLUTION)
        law = "drawn with all answers equally likely" if self.base is None else "drawn from a public law"
        return (
            f"The true answer is reported with probability {truth:.4g}; otherwise the report is {law}, "
            "whatever the truth."
        )


def _checked_epsilon(epsilon: Any) -> float:
    value = as_number(epsilon, "epsilon")
    if not 0 < value <= _LARGEST_EPSILON:
        raise InvalidInput(
            f"epsilon={shown(epsilon)}",
            f"a positive number, at most {_LARGEST_EPSILON:g}",
            "Epsilon 0 would make the reports pure noise; for no protection at all use Identity.",
        )
    return value


def _checked_truth(truth: Any) -> float:
    value = as_number(truth, "truth_probability")
    if not 0 < value <= 1:
        raise InvalidInput(
            f"truth_probability={shown(truth)}", "a number above 0 (else the reports say nothing) and at most 1"
        )
    return value
