"""Panels: a permanent response that is drawn once and kept, and an instantaneous response about it in every wave.

Asking the same person again with fresh coins gives away a little more each time. If the device draws one permanent
response, keeps it, and in every wave reports on that rather than on the truth, then all waves together give away no
more than the permanent response does, however many there are; and a single wave gives away less than that.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes, Floats
from askance.channels.alphabet import Label, listed
from askance.channels.base import Spec
from askance.channels.guarantee import HOWEVER_OFTEN, Guarantee
from askance.channels.labels.channel_matrix import refuse_indistinguishable
from askance.channels.labels.finite import FiniteLaw
from askance.channels.labels.randomized_response import RandomizedResponse
from askance.channels.value import SPEC_VERSION
from askance.entropy.bits import BitSource, GeneratorBits, system_bits
from askance.entropy.thresholds import RESOLUTION, exact_epsilon
from askance.errors import InvalidInput
from askance.frames import like

_MOST_OUTCOMES = 100_000  # of all waves: more are not looked at one by one
_IMPOSSIBLE = -1e200  # in place of the logarithm of 0, which cannot be multiplied by 0
_ROUNDING = 1e-13  # relative: of sums of products


class Waves(NamedTuple):
    """What a device draws for several waves.

    Parameters
    ----------
    permanent : array, n
        The permanent response of each person. The device keeps it, and tells nobody: it is what later waves report on.
    reports : array, n x waves
        What is reported.
    """

    permanent: NDArray[Any]
    reports: NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Memoised(FiniteLaw):
    """A permanent response, kept by the device of each person, and an instantaneous response about it in every wave.

    As a channel it is one wave: its matrix is the product of both. :meth:`privatize` draws both anew, so that it is for
    one wave only. For several, :meth:`privatize_waves` draws the permanent response once and returns it, to be kept;
    :meth:`respond` reports on what was kept.

    Parameters
    ----------
    permanent : finite channel
        From the truth to what is kept.
    instantaneous : finite channel or number
        From what is kept to a report; its classes are the permanent one's reports. A number is the level of randomised
        response between these.

    Examples
    --------
    >>> import askance as ask
    >>> channel = ask.Memoised(ask.RandomizedResponse(["no", "yes"], epsilon=2.0), 1.0)
    >>> [round(channel.guarantee_of_waves(waves).epsilon, 3) for waves in (1, 2, 5, 10)]
    [0.735, 1.325, 1.952, 2.0]
    >>> kept, reports = channel.privatize_waves(["no", "yes", "yes"], waves=4)
    >>> reports.shape, channel.respond(kept).shape
    ((3, 4), (3,))

    References
    ----------
    Erlingsson, Pihur & Korolova, RAPPOR (2014).
    """

    permanent: FiniteLaw
    instantaneous: Any

    kind: ClassVar[str] = "memoised"

    def __post_init__(self) -> None:
        if not isinstance(self.permanent, FiniteLaw):
            raise InvalidInput(f"permanent={self.permanent!r}", "a finite channel, such as Warner(0.8)")
        kept = self.permanent.report_labels
        if isinstance(self.instantaneous, int | float) and not isinstance(self.instantaneous, bool):
            vars(self).update(instantaneous=RandomizedResponse(kept, epsilon=self.instantaneous))
        if not isinstance(self.instantaneous, FiniteLaw):
            raise InvalidInput(f"instantaneous={self.instantaneous!r}", "a finite channel, or a level such as 1.0")
        if self.instantaneous.classes != kept:
            raise InvalidInput(
                f"an instantaneous response about {listed(self.instantaneous.classes)}",
                f"one about the permanent reports {listed(kept)}",
            )
        refuse_indistinguishable(self.matrix, self.classes)

    # -- one wave ------------------------------------------------------------------------------------

    @property
    def classes(self) -> tuple[Label, ...]:  # type: ignore[override]
        return self.permanent.classes

    def declaration(self) -> dict[str, Any]:
        raise InvalidInput(
            "a study file with a memoised channel",
            "a channel that devices need keep nothing for",
            "Draw reports with privatize_waves, and make a release of them with Release.from_table.",
        )

    @property
    def report_labels(self) -> tuple[Label, ...]:
        labels: tuple[Label, ...] = self.instantaneous.report_labels
        return labels

    @cached_property
    def _product(self) -> NDArray[np.object_]:
        """P(report | truth) of both responses, one after the other, in units of 2^-124."""
        product: NDArray[np.object_] = self.instantaneous.counts.astype(object) @ self.permanent.counts.astype(object)
        return product

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """P(report | truth) of one wave in units of 2^-62: the product of both tables, rounded once."""
        product = self._product
        counts: NDArray[np.int64] = ((product + RESOLUTION // 2) // RESOLUTION).astype(np.int64)
        counts[(counts == 0) & (product > 0)] = 1
        counts[np.argmax(counts, axis=0), np.arange(counts.shape[1])] += RESOLUTION - counts.sum(axis=0)
        counts.setflags(write=False)
        return counts

    @cached_property
    def guarantee(self) -> Guarantee:
        """What one wave gives away, however it is drawn: from the rounded table, or one response after the other."""
        level = max(exact_epsilon(self.counts), exact_epsilon(self._product))
        return Guarantee(level, proof=self.proof)

    # -- several waves: the respondent's side --------------------------------------------------------

    def privatize_waves(self, truth: Any, waves: int) -> Waves:
        """Draw permanent responses and the reports of some waves, with the operating system's entropy."""
        return self._waves(truth, waves, system_bits())

    def simulate_waves(self, truth: Any, waves: int, rng: np.random.Generator) -> Waves:
        """Draw both reproducibly, for planning and tests; never for real answers."""
        return self._waves(truth, waves, GeneratorBits(rng))

    def respond(self, permanent: Any) -> Any:
        """Draw the reports of one more wave about the permanent responses that were kept."""
        return self.instantaneous.privatize(permanent)

    def _waves(self, truth: Any, waves: int, bits: BitSource) -> Waves:
        _check_waves(waves)
        kept = self.permanent.draw(self.permanent.prepare(truth).values, bits)
        reports = [self.instantaneous.decode_reports(self.instantaneous.draw(kept, bits)) for _ in range(waves)]
        permanent = like(truth, self.permanent.decode_reports(kept))
        return Waves(permanent, like(truth, np.column_stack(reports)))

    # -- several waves: privacy ----------------------------------------------------------------------

    @property
    def lasting_guarantee(self) -> Guarantee:
        """What all waves together give away at most, however many there are: the level of the permanent response."""
        protects = f"one answer, {HOWEVER_OFTEN}"
        return replace(self.permanent.guarantee, protects=protects, proof=self.proof)

    def guarantee_of_waves(self, waves: int) -> Guarantee:
        """Return what so many waves give away together.

        Reports o give away the largest log of sum_b P(b | x) prod_t Q(o_t | b) over the same for x'. All outcomes are
        looked at, but for their order; if there are more than 100,000, the level is that of the most telling weights
        which the instantaneous response could give to each b: never below, and the same for randomised response.
        """
        _check_waves(waves)
        if waves == 1:
            return self.guarantee
        most = self.permanent.guarantee.epsilon
        outcomes = math.comb(waves + len(self.report_labels) - 1, waves)
        level = self._level(waves) if outcomes <= _MOST_OUTCOMES else self._level_bound(waves)
        protects = f"one answer, reported on {waves} times by a permanent response that is kept"
        return Guarantee(epsilon=min(level * (1 + _ROUNDING), most), protects=protects, proof=self.proof)

    def _level(self, waves: int) -> float:
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(self.instantaneous.matrix), _IMPOSSIBLE)
        weights = _report_counts(waves, len(logs)) @ logs  # outcomes x permanent reports
        likelihood = self._log_mixed(weights[weights.max(axis=1) > _IMPOSSIBLE])
        return float(np.ptp(likelihood, axis=1).max())

    def _level_bound(self, waves: int) -> float:
        growth = waves * self.instantaneous.guarantee.epsilon
        if not math.isfinite(growth):
            return math.inf
        less = math.exp(-growth)  # the weight of all other b, if that of the most telling ones is 1
        worst = 0.0
        for one, other in permutations(self.permanent.matrix.T, 2):
            with np.errstate(divide="ignore", invalid="ignore"):
                order = np.argsort(-(one / other))
            inside = np.cumsum(one[order])[:-1], np.cumsum(other[order])[:-1]
            mine, others = (part + less * (1 - part) for part in inside)
            worst = max(worst, float(np.log(mine / others).max()))
        return worst

    # -- several waves: the learner's side -----------------------------------------------------------

    def _log_likelihood_of_waves(self, codes: Codes) -> Floats:
        """log sum_b P(b | x) prod_t Q(o_t | b): waves are about one permanent response, not drawn afresh from x."""
        with np.errstate(divide="ignore"):
            return self._log_mixed(np.log(self.instantaneous.matrix)[codes].sum(axis=1))

    def _log_mixed(self, log_weights: Floats) -> Floats:
        """log sum_b P(b | x) e^weight_b, rows x classes."""
        largest = np.maximum(log_weights.max(axis=1, keepdims=True), _IMPOSSIBLE)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.exp(log_weights - largest) @ self.permanent.matrix) + largest)

    # -- identity ------------------------------------------------------------------------------------

    def to_spec(self) -> Spec:
        """Return a JSON-able description; :func:`askance.channel_from_spec` reads it."""
        parts = {"permanent": self.permanent.to_spec(), "instantaneous": self.instantaneous.to_spec()}
        return {"channel": self.kind, "version": SPEC_VERSION} | parts

    @property
    def short_name(self) -> str:
        return f"Memoised({self.permanent.short_name}, {self.instantaneous.short_name})"

    def describe(self) -> str:
        return (
            f"Once and for all: {_small(self.permanent.describe())} What comes of it is kept by the respondent's "
            f"device. In every wave, about what was kept: {_small(self.instantaneous.describe())}"
        )


def _small(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _check_waves(waves: int) -> None:
    if isinstance(waves, bool) or not isinstance(waves, int | np.integer) or waves < 1:
        raise InvalidInput(f"waves={waves!r}", "how many waves: a whole number of at least 1")


def _report_counts(waves: int, reports: int) -> NDArray[np.int64]:
    """How often each report can come up in so many waves, outcomes x reports."""
    if reports == 1:
        return np.array([[waves]])
    parts = [_report_counts(waves - first, reports - 1) for first in range(waves + 1)]
    firsts = np.repeat(np.arange(waves + 1), [len(part) for part in parts])
    return np.column_stack([firsts, np.concatenate(parts)])
