"""How well the error of a weighted mean is known: of few rows that count, as badly as that of few rows."""

import math
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats

_ALONE = 1e-12  # what is left of the spread about a mean when one row has nearly all of the weight: rounding


class WeightedSpread(NamedTuple):
    """What the sum of w_i^2 (x_i - mean)^2 is to the variance of the mean.

    Parameters
    ----------
    inflation : float
        How much larger the variance is on average, for rows of one variance; NaN where one row has all the weight.
    degrees : float
        Degrees of freedom of the sum (Satterthwaite), of normal rows.

    Examples
    --------
    >>> WeightedSpread.of(np.full(5, 0.2))  # 5 / 4, and 4
    WeightedSpread(inflation=1.25, degrees=4.0)
    >>> print("{0:.2f} {1:.1f}".format(*WeightedSpread.of(np.array([0.6, 0.1, 0.1, 0.1, 0.1]))))
    3.33 1.7
    """

    inflation: float
    degrees: float

    @classmethod
    def of(cls, shares: Floats) -> "WeightedSpread":
        """Work it out from weights that sum to one.

        The sum is a quadratic form of the rows, with the matrix (I - 1 w')' diag(w^2) (I - 1 w') = B: its mean is tr B,
        and its degrees of freedom are (tr B)^2 / tr B^2. Beside a row with nearly all of the weight both are tiny
        differences of sums near one: so the heaviest row is counted apart, by what others leave it.
        """
        heaviest = int(np.argmax(shares))
        others = np.delete(shares, heaviest)
        most, left, squares = float(shares[heaviest]), float(others.sum()), others * others
        two, three, four = float(squares.sum()), float(squares @ others), float(squares @ squares)
        all_two = most**2 + two
        # Products c_ij of what is left of rows i and j; B has the same traces as w_i w_j c_ij.
        own = left**2 + two
        with_own = two - left * most - others
        trace = most**2 * own + two - 2 * three + all_two * two
        if not trace > _ALONE:
            return cls(math.nan, 0.0)
        square = most**4 * own**2 + 2 * most**2 * float(squares @ with_own**2)
        square += four + 2 * (all_two * four - 2 * float(squares @ (squares * others)))
        square += (all_two * two) ** 2 - 4 * all_two * two * three + 2 * (two * four + three**2)
        return cls(round(all_two / trace, 12), round(trace**2 / square, 9))
