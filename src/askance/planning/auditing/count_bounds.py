"""How surprising is a count of events that have different probabilities?"""

import math

import numpy as np

from askance.arrays import Floats

_STEPS = 100  # of bisection: doubles have no more digits
_FAR = 700.0  # exp of more is no double


def count_p_value(came: int, chances: Floats, each: Floats, *, too_many_only: bool = False) -> float:
    """Return a bound for the probability of a count at least as far from its mean, by Chernoff's inequality.

    Independent events, ``each[g]`` of probability ``chances[g]``; their count S has the moment generating function
    prod (1 - p + p e^t)^n, and P(S >= s) <= exp(-t s) E exp(t S) for every t >= 0, however few events there are.

    Parameters
    ----------
    came : int
    chances, each : array
        Probabilities, and how many events have each.
    too_many_only : bool
        Whether only a count above the mean is surprising.

    Examples
    --------
    >>> import numpy as np
    >>> count_p_value(5, np.array([0.5]), np.array([10.0]))
    1.0
    >>> count_p_value(10, np.array([0.5]), np.array([10.0])) == 2 * 0.5**10
    True
    """
    mean = float(chances @ each)
    if came == mean or (too_many_only and came < mean):
        return 1.0
    sides = 1 if too_many_only else 2
    certain, possible = float(each[chances >= 1].sum()), float(each[chances > 0].sum())
    if came < certain or came > possible:
        return 0.0
    if came in (certain, possible):  # everything happened that can, or nothing: the probability itself
        open_ones = (chances > 0) & (chances < 1)
        logs = np.log(chances[open_ones]) if came == possible else np.log1p(-chances[open_ones])
        return min(1.0, sides * math.exp(float(logs @ each[open_ones])))
    low, high = -_FAR, _FAR
    for _ in range(_STEPS):
        t = (low + high) / 2
        odds = chances * math.exp(t)
        low, high = (t, high) if float(each @ (odds / (1 - chances + odds))) < came else (low, t)
    exponent = float(each @ np.log1p(chances * math.expm1(t))) - t * came
    return min(1.0, sides * math.exp(min(exponent, 0.0)))
