"""How one number is hidden: in a window of codes, as a coin that leans towards it, or as one of the two by chance.

The window is the piecewise mechanism on whole numbers, the leaning coin that of Duchi, Jordan and Wainwright, and their
mixture the hybrid mechanism of Wang et al. (2019, Collecting and Analyzing Multidimensional Data with Local
Differential Privacy). A report names the mechanism it was drawn by, so the level is the larger of the two.

Two things go beyond the publication. The window has the best width for the wanted level. And it is used with the
probability kappa with which it tells the truth, as the published share is for the published width: the variance of the
window, which grows with z^2, and that of the coin, which falls, then add up to the same for every z,

    window + (1 - kappa) (blank / kappa + C^2),    C = (e^epsilon + 1) / (e^epsilon - 1).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.rows.window_law import Cost, WindowLaw, law_within, least_cost, log_of
from askance.entropy.bernoulli import NoisyBit
from askance.entropy.bits import BitSource
from askance.entropy.thresholds import RESOLUTION
from askance.entropy.windows import coins, report_windows, row_blocks
from askance.errors import InvalidInput

MECHANISMS = ("hybrid", "piecewise", "duchi")

_TOLERATED = 1.01  # a second byte must buy one per cent of variance


@dataclass(frozen=True)
class NumberLaw:
    """The law of the report about one number z in [-1, 1].

    Parameters
    ----------
    window : WindowLaw, optional
        Codes 0 .. T - 1: in a window around z, or anywhere.
    coin : NoisyBit, optional
        The two codes that follow: heads more often the larger z is.
    share : int
        The probability of the window, in units of 2^-62.
    """

    window: WindowLaw | None
    coin: NoisyBit | None
    share: int

    @classmethod
    def within(cls, epsilon: float, mechanism: str) -> "NumberLaw":
        """Return the law of least worst variance whose level is at most epsilon."""
        if mechanism not in MECHANISMS:
            raise InvalidInput(f"mechanism={mechanism!r}", f"one of {', '.join(MECHANISMS)}")
        if mechanism == "piecewise":
            return cls._with_window(epsilon, None, _worst_of_window)
        coin = NoisyBit.within(epsilon)
        alone = cls(None, coin, 0)
        if mechanism == "duchi":
            return alone
        heads = alone.worst_variance

        def of_both(kappa: Floats, window: Floats, blank: Floats) -> Floats:
            return window + (1 - kappa) * (blank / kappa + heads)

        mixed = cls._with_window(epsilon, coin, of_both)
        return mixed if mixed.worst_variance < heads else alone  # below an epsilon of about 0.6 windows do not help

    @classmethod
    def _with_window(cls, epsilon: float, coin: NoisyBit | None, cost: Cost) -> "NumberLaw":
        """Return the law with the best window, in as few bytes as serve."""
        spare = 0 if coin is None else 2
        coarse, fine = (
            law_within(epsilon, codes, least_cost(epsilon, codes, 1, cost)[1], 1)
            for codes in ((1 << 8) - spare, (1 << 16) - spare)
        )
        one_byte, two_bytes = (cls(law, coin, RESOLUTION if coin is None else law.coin) for law in (coarse, fine))
        return one_byte if one_byte.worst_variance <= _TOLERATED * two_bytes.worst_variance else two_bytes

    @cached_property
    def codes(self) -> int:
        """How many different reports there are."""
        return self._window_codes + (0 if self.coin is None else 2)

    @property
    def _window_codes(self) -> int:
        return 0 if self.window is None else self.window.codes

    @property
    def window_share(self) -> float:
        """The probability that a report is a window's."""
        return self.share / RESOLUTION

    @cached_property
    def epsilon(self) -> float:
        """The exact level, rounded once, to the nearest double."""
        levels = [] if self.window is None else [self.window.epsilon]
        if self.coin is not None:
            levels.append(log_of(Fraction(self.coin.high, self.coin.low)))
        return max(levels)

    @property
    def _coin_value(self) -> float:
        """C, where heads stand for C and tails for -C."""
        return 0.0 if self.coin is None else RESOLUTION / self.coin.span

    @cached_property
    def values(self) -> Floats:
        """An unbiased estimate of z for every code."""
        parts = [] if self.window is None else [self.window.values / self.window.kappa]
        if self.coin is not None:
            parts.append(np.array([-self._coin_value, self._coin_value]))
        return np.concatenate(parts)

    @cached_property
    def squares(self) -> Floats | None:
        """An unbiased estimate of z^2 for every code; None where reports do not tell it. A coin's never do."""
        if self.window is None:
            return None
        in_window = (self.window.values**2 - self.window.square_offset) / (self.window.kappa * self.window_share)
        return np.concatenate([in_window, np.zeros(self.codes - len(in_window))])

    def probabilities(self, centred: Floats) -> Floats:
        """Return P(code | z), numbers x codes."""
        parts = []
        if self.window is not None:
            kappa = self.window.kappa
            blank = (1 - kappa) / self.window.codes
            parts.append(self.window_share * (kappa * self.window.inside(centred) + blank))
        if self.coin is not None:
            heads = self.coin.chance((centred + 1) / 2)
            parts.append((1 - self.window_share) * np.column_stack([1 - heads, heads]))
        return np.hstack(parts)

    def variance(self, centred: Floats) -> Floats:
        """Return Var[value of the report | z]."""
        square = centred**2
        total = (1 - self.window_share) * (self._coin_value**2 - square)
        if self.window is not None:
            kappa = self.window.kappa
            total = total + self.window_share * ((square + self.window.square_offset / kappa) / kappa - square)
        return total

    @property
    def worst_variance(self) -> float:
        """The largest variance of any z: it is linear in z^2."""
        return float(self.variance(np.array([0.0, 1.0])).max())

    def draw(self, centred: Floats, bits: BitSource, reports: NDArray[np.unsignedinteger]) -> None:
        """Draw a report for each number into an array of shape (n, 1)."""
        for rows in row_blocks(len(centred), 1):
            part, count = centred[rows], rows.stop - rows.start
            if self.window is not None:
                only = np.zeros((count, 1), dtype=np.uint32)
                in_window = coins(self.window.coin, count, bits)
                law = self.window.codes, self.window.width
                report_windows(part[:, None], only, in_window, *law, bits, reports[rows])
            if self.coin is not None:
                heads = self.coin.draw((part + 1) / 2, 1.0, bits)
                by_coin = ~coins(self.share, count, bits)
                reports[rows, 0][by_coin] = self._window_codes + heads[by_coin].astype(np.uint32)


def _worst_of_window(kappa: Floats, window: Floats, blank: Floats) -> Floats:
    """The variance at z = 1, which is the largest."""
    return (kappa * (1 + window) + (1 - kappa) * blank) / (kappa * kappa)
