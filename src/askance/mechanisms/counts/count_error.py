"""By how much a noisy count is off: the law of its error, on a grid."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askance.arrays import Floats

FINE = 400.0  # noise wider than so many whole numbers is looked at on a coarser grid: a change below 10^-6
TAIL = 46.0  # weights below exp(-46), which is 10^-20, of the largest are left out: all of them are below a last digit


@dataclass(frozen=True, eq=False)
class CountError:
    """The law of the error of one count, symmetric about zero.

    Parameters
    ----------
    weights : array, 2 reach + 1
        Probabilities of -reach .. reach, in units.
    unit : float
        What one step is, in people.

    Examples
    --------
    >>> coin = CountError(np.array([0.25, 0.5, 0.25]))
    >>> coin.mean_size, coin.variance, coin.margins(0.9), coin.margins(0.7)
    (0.5, 0.5, (1.0, 1.0), (1.0, 0.0))
    """

    weights: Floats
    unit: float = 1.0

    @cached_property
    def _sizes(self) -> Floats:
        reach = len(self.weights) // 2
        return np.abs(np.arange(-reach, reach + 1)) * self.unit

    @property
    def mean_size(self) -> float:
        """The expected absolute error."""
        return float(self._sizes @ self.weights)

    @property
    def variance(self) -> float:
        """The expected squared error."""
        return float(self._sizes**2 @ self.weights)

    def capped_mean_size(self, most: Floats) -> Floats:
        """Return the expected absolute error where larger ones than some count only as much, for each such limit.

        Examples
        --------
        >>> CountError(np.array([0.25, 0.5, 0.25])).capped_mean_size(np.array([0.5, 2.0]))
        array([0.25, 0.5 ])
        """
        reach = len(self.weights) // 2
        sizes, side = self._sizes[reach:], self.weights[reach:] * np.append(1.0, np.full(reach, 2.0))
        within = np.searchsorted(sizes, most, side="right")
        below, mass = np.append(0.0, np.cumsum(sizes * side)), np.append(0.0, np.cumsum(side))
        return np.asarray(below[within] + np.minimum(most, sizes[-1]) * np.maximum(mass[-1] - mass[within], 0.0))

    def margins(self, level: float) -> tuple[float, float]:
        """Return how far to go below and above, so that the truth is within with a probability of at least ``level``.

        As little as possible: where one step less on one side is enough, it is left out above.
        """
        reach = len(self.weights) // 2
        side = self.weights[reach + 1 :]
        within = self.weights[reach] + 2 * np.cumsum(np.append(0.0, side))
        enough = level * (1 - 1e-12)  # sums of probabilities are off by as much
        steps = min(int(np.searchsorted(within, enough)), reach)
        less = steps > 0 and bool(within[steps - 1] + side[steps - 1] >= enough)
        return steps * self.unit, (steps - less) * self.unit


def laplace_weights(scale: float) -> Floats:
    """Return exp(-|z| / scale) for whole numbers z about zero, as far as they count."""
    reach = int(TAIL * scale) + 1
    return np.asarray(np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale))


def gaussian_weights(variance: float, tail: float = TAIL) -> Floats:
    """Return exp(-z^2 / (2 variance)) for whole numbers z about zero, as far as they count."""
    reach = int((2 * tail * variance) ** 0.5) + 1
    return np.asarray(np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * variance)))


def balanced_error(weights: Floats, count: int) -> Floats:
    """Return the law of one of ``count`` numbers with independent weights, given that they sum to zero."""
    reach = len(weights) // 2
    rest = _sum_law(weights, [1] * (count - 1))
    middle = len(rest) // 2
    law = weights * rest[middle - reach : middle + reach + 1]
    return np.asarray(law / law.sum())


def centred_error(weights: Floats, count: int) -> CountError:
    """Return the law of one of ``count`` independent numbers less the mean of all, in steps of 1 / count."""
    law = _sum_law(weights, [count - 1] + [1] * (count - 1))
    return CountError(law / law.sum(), 1 / count)


def _sum_law(weights: Floats, strides: list[int]) -> Floats:
    """Return the law of the sum of stride times number, for independent numbers, by a Fourier transform."""
    from scipy.fft import irfft, next_fast_len, rfft

    reach = len(weights) // 2
    steps = np.arange(-reach, reach + 1)
    # Far out the sum of many is improbable: no further than what counts, and never less than one number goes.
    spread = float(steps.astype(float) ** 2 @ weights / weights.sum()) * sum(stride**2 for stride in strides)
    width = min(reach * sum(strides), max(int(20 * spread**0.5), reach * max(strides)) + reach)
    length = next_fast_len(2 * width + 1, real=True)
    transform = np.ones(length // 2 + 1, dtype=complex)
    for stride in sorted(set(strides)):
        spaced = np.bincount((stride * steps) % length, weights / weights.sum(), length)
        transform *= rfft(spaced) ** strides.count(stride)
    law = np.maximum(irfft(transform, length), 0.0)
    return np.concatenate([law[length - width :], law[: width + 1]])
