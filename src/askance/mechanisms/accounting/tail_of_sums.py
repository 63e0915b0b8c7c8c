"""The upper tail of a sum of independent numbers on a grid, bounded from above.

The sum's law is a product of Fourier transforms. Its tail may be far smaller than the rounding errors of a transform,
so every law is tilted first: multiplied by e^(tilt x) and normalised, which moves the tail into the middle (Chernoff).
Whatever could be lost is added: rounding errors, and what lies above the window. Numbers that are folded into the
window from outside only add to what is there.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput

_FOLDED = 1e-12  # of the tilted law: how much may lie below the window. It is counted all the same, only further up
_BEYOND = 1e-6  # of the tail that is asked for: how much may lie above the window. It is added
_ROUNDING = 16 * 2.0**-52  # of one transform of sum 1, by level of its butterflies; Higham (2002) has about 5
_SLACK = 1e-9  # relative: beyond the rounding errors of logarithms and exponentials
_MOST_TILT = 30.0  # by step: with a larger one, only the largest number would be left
# Where searches for a tilt end. Tests are the same at 1e-10 and 1e-100, and fail at 1e-3: bounds are then loose.
_LEAST_TILT = 1e-30
_NEAR = 0.01  # relative: how much larger than the least a bound may be
_COMMON = 0.5  # events that are more probable are no tail
_LONGEST = 1 << 24  # a window of so many numbers takes a gigabyte
_GOLDEN = (math.sqrt(5) - 1) / 2  # a search by it needs one new value for each step


@dataclass(frozen=True, eq=False)
class GridLaw:
    """Masses of the numbers first, first + 1, ... times a step, and how often such a number occurs in a sum."""

    step: float
    first: int
    masses: Floats
    times: int = 1

    @cached_property
    def _numbers(self) -> Floats:
        return np.arange(self.first, self.first + len(self.masses), dtype=np.float64) * self.step

    @cached_property
    def _log_masses(self) -> Floats:
        with np.errstate(divide="ignore"):
            logarithms: Floats = np.log(self.masses)
        return logarithms

    def log_moment(self, tilt: float) -> float:
        """Return log E[e^(tilt x)]."""
        weights = self._log_masses + tilt * self._numbers
        largest = float(weights.max())
        return largest + math.log(float(np.exp(weights - largest).sum()))

    def tilted(self, tilt: float) -> Floats:
        """Return the masses after multiplication by e^(tilt x), with sum one."""
        weights = self._log_masses + tilt * self._numbers
        masses = np.exp(weights - weights.max())
        return np.asarray(masses / masses.sum())


@dataclass(frozen=True, eq=False)
class IndependentSum:
    """A sum of independent numbers, all on the same grid, and Chernoff's bounds on it.

    Examples
    --------
    >>> heads = IndependentSum([GridLaw(1.0, 0, np.array([0.5, 0.5]), times=100)])
    >>> 74 < heads.quantile_bound(1e-6) < 78, heads.exceedance_bound(74.5) < 1e-5
    (True, True)
    """

    parts: Sequence[GridLaw]

    @property
    def step(self) -> float:
        """The step of the grid."""
        return self.parts[0].step

    @property
    def range(self) -> tuple[int, int]:
        """The least and the largest sum, in steps."""
        ends = [(part.first, part.first + len(part.masses) - 1, part.times) for part in self.parts]
        return sum(low * times for low, _, times in ends), sum(high * times for _, high, times in ends)

    def log_moment(self, tilt: float) -> float:
        """Return log E[e^(tilt sum)]."""
        return math.fsum(part.times * part.log_moment(tilt) for part in self.parts)

    def quantile_bound(self, probability: float) -> float:
        """Return a number that the sum exceeds with at most this probability."""
        bound = self._quantile_bounds(probability)
        return bound(self.least(bound))

    def best_tilt(self, probability: float) -> float:
        """Return the least tilt for which the quantile bound is nearly as small as it can be.

        Without "nearly" it would be infinite for a sum whose largest number is not rare.
        """
        bound = self._quantile_bounds(probability)
        tilt = self.least(bound)
        enough = bound(tilt) + max(_NEAR * abs(bound(tilt)), self.step)
        low, high = tilt / 2, tilt
        while bound(low) < enough and low > _LEAST_TILT:
            low, high = low / 2, low
        for _ in range(5):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if bound(middle) < enough else (middle, high)
        return high

    def _quantile_bounds(self, probability: float) -> Callable[[float], float]:
        wanted = -math.log(probability)
        return lambda tilt: (self.log_moment(tilt) + wanted) / tilt

    def exceedance_bound(self, number: float) -> float:
        """Return a probability with which the sum at most exceeds a number."""
        tilt = self.least(lambda tilt: self.log_moment(tilt) - tilt * number)
        return math.exp(min(self.log_moment(tilt) - tilt * number, 0.0))

    def least(self, function: Callable[[float], float]) -> float:
        """Return about where a function of a tilt with one valley is least: any tilt makes a bound."""
        end = math.log(_MOST_TILT / self.step)
        start = math.log(_LEAST_TILT / self.step)
        place, stride = min(0.0, end), 1.0
        here = function(math.exp(place))
        if function(math.exp(min(place + 0.1, end))) >= here:
            stride = -stride
        while start < place + stride and (stride < 0 or place < end):  # as long as it goes down, ever faster
            there = min(place + stride, end)
            value = function(math.exp(there))
            if value >= here:
                break
            place, here, stride = there, value, stride * 1.6
        low, high = place - abs(stride), min(place + abs(stride), end)
        a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_a, at_b = function(math.exp(a)), function(math.exp(b))
        while high - low > 0.01:
            if at_a < at_b:
                high, b, at_b = b, a, at_a
                a = high - _GOLDEN * (high - low)
                at_a = function(math.exp(a))
            else:
                low, a, at_a = a, b, at_b
                b = low + _GOLDEN * (high - low)
                at_b = function(math.exp(b))
        return math.exp((low + high) / 2)


class SumTail:
    """The law of a sum of independent numbers, for questions about events of about a given small probability.

    Parameters
    ----------
    whole : IndependentSum
    probability : float
        How rare the events are. The bounds hold for all others too, and are less tight there.

    Examples
    --------
    >>> heads = IndependentSum([GridLaw(1.0, 0, np.array([0.5, 0.5]), times=100)])
    >>> tail = SumTail(heads, 1e-6).mean(lambda number: np.ones_like(number), above=74.5, most=1.0)
    >>> f"{tail:.4g}"  # exactly 2.818e-07
    '2.818e-07'
    """

    def __init__(self, whole: IndependentSum, probability: float) -> None:
        rare = min(probability, _COMMON)
        self._tilt = whole.best_tilt(rare)
        self._log_scale = whole.log_moment(self._tilt)
        least, most = whole.range
        first = max(math.floor(self._lower_end(whole) / whole.step), least)
        last = min(math.ceil(whole.quantile_bound(rare * _BEYOND) / whole.step), most)
        self._numbers, self._masses, self._error = self._law(whole, first, last - first + 1)
        self._beyond = 0.0 if last == most else whole.exceedance_bound(float(self._numbers[-1]))

    def _lower_end(self, whole: IndependentSum) -> float:
        """A number that the tilted sum is rarely below."""

        def below(less: float) -> float:
            return (whole.log_moment(self._tilt - less) - self._log_scale - math.log(_FOLDED)) / less

        return -below(whole.least(below))

    def _law(self, whole: IndependentSum, first: int, length: int) -> tuple[Floats, Floats, float]:
        """The numbers of a window, the sum's tilted law there, and a bound on the 1-norm of its rounding errors."""
        from scipy.fft import irfft, next_fast_len, rfft

        size = next_fast_len(length, real=True)
        if size > _LONGEST:
            raise InvalidInput(f"numbers so different that their sum has {size:,} places", f"at most {_LONGEST:,}")
        transform, offset = np.ones(size // 2 + 1, dtype=complex), -first
        for part in whole.parts:
            folded = np.bincount(np.arange(len(part.masses)) % size, part.tilted(self._tilt), size)
            transform *= rfft(folded) ** part.times
            offset += part.first * part.times
        law = np.roll(np.maximum(irfft(transform, size), 0.0), offset % size)
        # |error|_1 <= sqrt(size) |error|_2, which is the 2-norm of the transform's error. That of one factor is at most
        # _ROUNDING log(size), and it is multiplied by all others: at most 1, or for a single law about the result.
        single = len(whole.parts) == 1 and whole.parts[0].times > 1
        others = np.abs(transform) ** (1 - 1 / whole.parts[0].times) if single else np.ones(len(transform))
        times = sum(part.times for part in whole.parts)
        error = (times + 1) * _ROUNDING * math.log2(size + 2) * math.sqrt(2 * float(others @ others))
        return np.arange(first, first + size, dtype=np.float64) * whole.step, law, error

    def mean(self, payoff: Callable[[Floats], Floats], above: float, most: float) -> float:
        """Bound from above the mean of a function of the sum.

        Parameters
        ----------
        payoff : function
            At least 0 above a number; it counts for nothing up to it.
        above : float
        most : float
            The largest payoff there is.
        """
        start = int(np.searchsorted(self._numbers, above, side="right"))
        numbers = self._numbers[start:]
        weighted = np.exp(np.minimum(self._log_scale - self._tilt * numbers, 700.0)) * payoff(numbers)
        rounding = self._error * float(weighted.max(initial=0.0))
        return float(self._masses[start:] @ weighted) * (1 + _SLACK) + rounding + most * self._beyond
