"""A number between 0 and 1 reported as one random bit, exactly as private as declared.

Rounding a fraction f to a bit (1 with probability f) and then flipping that bit is a single Bernoulli draw: its
threshold, out of 2^62, lies between ``low`` (f = 0) and ``high`` = 2^62 - low (f = 1). One random byte decides nearly
every draw; the other 54 bits are drawn only where the byte equals that of the threshold.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.compiled import compiled
from askance.entropy.bits import BitSource
from askance.entropy.draws import BinarySampler
from askance.entropy.thresholds import RESOLUTION, RESOLUTION_BITS, log_ratio, shares_within
from askance.errors import Unidentifiable

_FINE_BITS = RESOLUTION_BITS - 8  # what a threshold has beyond its first byte
_FINE = float(1 << _FINE_BITS)  # thresholds over this are on the scale of 0 to 256
# The first comparison is in single precision, on a scale of 0 to 256: its error stays below 1e-4. Whatever is closer
# to the border than this margin is decided by integers.
_MARGIN = np.float32(1e-3)
_STRETCH = 32  # bytes: what one vector instruction compares


@dataclass(frozen=True)
class NoisyBit:
    """P(bit = 1) = (low + f (high - low)) / 2^62 for a fraction f.

    Parameters
    ----------
    low : int
        The threshold of f = 0, at least 1 and below 2^61.

    Examples
    --------
    >>> bit = NoisyBit.within(1.0)
    >>> bit.thresholds([0.0, 1.0]) / 2**62
    array([0.26894142, 0.73105858])
    >>> round(bit.epsilon, 12)
    1.0
    """

    low: int

    @classmethod
    def within(cls, log_odds: float) -> "NoisyBit":
        """Return the bit that is flipped least, with an exact level that is not above ``log_odds``."""
        low = shares_within(log_odds, [1, 1])[0]
        if 2 * low >= RESOLUTION:
            raise Unidentifiable(
                f"epsilon leaves log-odds of {log_odds:g} to a bit, so small that it says nothing",
                "a larger epsilon, or fewer values a row",
            )
        return cls(low)

    @property
    def high(self) -> int:
        """The threshold of f = 1."""
        return RESOLUTION - self.low

    @property
    def span(self) -> int:
        """How far the thresholds of 0 and 1 are apart."""
        return RESOLUTION - 2 * self.low

    @property
    def epsilon(self) -> float:
        """The exact level of one bit, log(high / low)."""
        return log_ratio(self.high, self.low)

    @property
    def unbiased(self) -> tuple[float, float]:
        """The values b(0), b(1) with E[b(bit) | f] = f."""
        return -self.low / self.span, self.high / self.span

    def chance(self, fraction: Floats) -> Floats:
        """Return the probability of a one where the truth is this share of the bound."""
        return np.asarray((self.low + fraction * self.span) / RESOLUTION)

    def second_moment(self, fraction: Floats) -> Floats:
        """Return E[b(bit)^2 | f]. It is linear in f, so that the mean over people needs the mean fraction only."""
        zero, one = (value**2 for value in self.unbiased)
        chance = (self.low + fraction * self.span) / RESOLUTION
        return zero + chance * (one - zero)

    def thresholds(self, fraction: Floats) -> NDArray[np.int64]:
        """Return what a draw compares with: low + round(f (high - low))."""
        given = np.asarray(fraction, dtype=float)
        steps = np.minimum(np.rint(given * float(self.span)).astype(np.int64), self.span)
        # A double may not hold the span: a fraction of 1 has exactly the threshold ``high``.
        return self.low + np.where(given >= 1, np.int64(self.span), steps)

    @cached_property
    def _binary(self) -> BinarySampler:
        return BinarySampler(np.array([self.low, self.high]))

    def flip(self, truths: NDArray[np.uint8], bits: BitSource) -> NDArray[np.uint8]:
        """Draw a bit for each zero or one, as :meth:`draw` does for fractions 0 and 1, only faster."""
        return self._binary.draw(truths.reshape(-1), bits).reshape(truths.shape).astype(np.uint8, copy=False)

    def draw(self, values: Floats, bound: float, bits: BitSource) -> NDArray[np.uint8]:
        """Draw a bit for each fraction ``values / bound``; all values lie in [0, bound]."""
        flat, out = values.reshape(-1), np.empty(values.shape, np.uint8)
        reports, step = out.reshape(-1), BinarySampler.answers_a_block
        for start in range(0, flat.shape[0], step):
            self._draw_block(flat[start : start + step], bound, bits, reports[start : start + step])
        return out

    def _draw_block(self, values: Floats, bound: float, bits: BitSource, reports: NDArray[np.uint8]) -> None:
        random = bits.block()
        base, slope = np.float32(self.low / _FINE), np.float32(self.span / _FINE)
        _compare_first_byte(random, values, bound, base, slope, reports)
        law = (bound, np.int64(self.low), np.int64(self.span))
        words = random[BinarySampler.answers_a_block :].view(np.uint64)
        settled = _settle(random, words, values, *law, reports, 0)
        if settled < len(values):  # next to impossible, but then fresh bits are needed
            random = random.copy()
            while settled < len(values):
                settled = _settle(random, bits.block().view(np.uint64), values, *law, reports, settled)


@compiled
def _compare_first_byte(random, values, bound, base, slope, reports):  # type: ignore[no-untyped-def]
    # 1 or 0 where the byte decides, 2 where it may not. No branch: the compiler uses vector instructions.
    least, most = -_MARGIN, np.float32(1) + _MARGIN
    for i in range(values.shape[0]):
        gap = base + slope * np.float32(values[i] / bound) - np.float32(random[i])
        # What is no number is settled as a zero: it must never decide a bit for certain.
        reports[i] = np.uint8(2) - np.uint8(2) * np.uint8(gap <= least) - np.uint8(gap >= most)


@compiled
def _settle(random, words, values, bound, low, span, reports, start):  # type: ignore[no-untyped-def]
    # Returns where the words ran out. Most stretches have nothing to settle, and are passed over at once.
    used = 0
    fine = (np.int64(1) << _FINE_BITS) - np.int64(1)
    for first in range(start, values.shape[0], _STRETCH):
        stretch = reports[first : first + _STRETCH]
        highest = np.uint8(0)
        for k in range(stretch.shape[0]):
            highest = max(highest, stretch[k])
        if highest < 2:
            continue
        for i in range(first, first + stretch.shape[0]):
            if reports[i] < 2:
                continue
            fraction = values[i] / bound
            steps = np.int64(0)
            if fraction >= 1.0:
                steps = span
            elif fraction > 0.0:
                steps = min(np.int64(np.rint(fraction * np.float64(span))), span)
            threshold = low + steps
            byte, border = np.int64(random[i]), threshold >> _FINE_BITS
            if byte != border:
                reports[i] = byte < border
                continue
            if used == words.shape[0]:
                return i
            reports[i] = np.int64(words[used] >> np.uint64(10)) < (threshold & fine)
            used += 1
    return values.shape[0]
