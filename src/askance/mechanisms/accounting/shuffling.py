"""Local reports in random order: what somebody who does not know whose report is whose can tell."""

import math
from itertools import permutations

import numpy as np

from askance.arrays import Floats
from askance.channels.guarantee import Guarantee, proof_page
from askance.channels.labels.finite import FiniteLaw
from askance.errors import InvalidInput
from askance.mechanisms.accounting.response_loss import treats_answers_alike
from askance.mechanisms.accounting.tail_of_sums import GridLaw, IndependentSum, SumTail

_PER_DEVIATION = 200.0  # steps of the grid within a standard deviation of one term
_MOST_PLACES = float(1 << 18)  # or as many as a window may have that is _WIDE standard deviations of the sum wide
_WIDE = 30.0
_MOST_ANSWERS = 40  # whose 1,560 ordered pairs are looked at one by one
_ROUNDING = 1e-9  # relative: of a few sums
_WORTH = 1e-4  # relative: a gain below it is not worth a delta
_PRECISE = 1e-6  # relative: how precisely epsilon is looked for, from above


def shuffled(channel: FiniteLaw, n: int, delta: float) -> Guarantee:
    """Return the central level of n local reports that are published in random order.

    Every report keeps its own level. Whoever sees all n of them but not whose they are learns less about each person:
    the others' reports are partly drawn whatever their answers are, and hide one person's among them. The bound is that
    of the privacy blanket: with blanket = min over answers of P(report | answer), gamma its sum, and L = (P(report | a)
    - e^epsilon P(report | b)) / (blanket / gamma) for a report drawn from the blanket,

    delta(epsilon) <= E[sum of L]+ / (n gamma), of a number of terms that is binomial (n, gamma).

    It is computed by one Fourier transform for each epsilon, with every rounding upwards, for all answers a and b.

    Parameters
    ----------
    channel : finite channel
        Through which everybody reports; of a finite level.
    n : int
        How many people report honestly. Those who collude, or whose report is known, do not count.
    delta : float
        Above 0.

    Returns
    -------
    Guarantee
        It holds only as long as its conditions do, which it says. The local level holds always: show both.

    Examples
    --------
    >>> import askance as ask
    >>> channel = ask.RandomizedResponse(["a", "b", "c", "d"], epsilon=2.0)
    >>> print(ask.shuffled(channel, 10_000, 1e-6))  # doctest: +ELLIPSIS
    epsilon 0.102..., delta 1e-06, protects one answer among 10,000 reports in random order (...)

    References
    ----------
    Balle, Bell, Gascon & Nissim, The Privacy Blanket of the Shuffle Model (2019), lemma 5.3.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InvalidInput(f"n={n!r}", "how many people report: a whole number of at least 1")
    if not (isinstance(delta, int | float) and 0 < delta < 1):
        raise InvalidInput(f"delta={delta!r}", "a number above 0 and below 1", "Small ones protect: 1e-6, say.")
    local = channel.guarantee.epsilon
    # The public door: the blanket is worked out from the matrix of one finite channel.
    if not isinstance(channel, FiniteLaw) or not math.isfinite(local):
        raise InvalidInput(
            f"{channel!r}"[:200],
            "a finite channel of a finite level",
            "Of several designs, each is a group of its own.",
        )
    level = _least_level(channel, int(n), float(delta), local)
    gained = level < (1 - _WORTH) * local
    return Guarantee(
        epsilon=level if gained else local,
        delta=float(delta) if gained else 0.0,
        protects=f"one answer among {n:,} reports in random order",
        neighbours=(
            "data sets of as many people that differ in one answer; as long as nothing tells whose report is whose (no "
            "order, time, name or covariate), everybody reports once, and nobody tells how chance fell"
        ),
        proof=proof_page("shuffling"),
    )


def _least_level(channel: FiniteLaw, n: int, delta: float, local: float) -> float:
    matrix = channel.matrix
    if treats_answers_alike(matrix):
        pairs = [(0, 1)]
    elif matrix.shape[1] > _MOST_ANSWERS:
        raise InvalidInput(
            f"a channel of {matrix.shape[1]} answers that it treats differently", f"up to {_MOST_ANSWERS}"
        )
    else:
        pairs = list(permutations(range(matrix.shape[1]), 2))
    blanket = matrix.min(axis=1)
    found = 0.0
    for a, b in pairs:

        def private(epsilon: float, one: Floats = matrix[:, a], other: Floats = matrix[:, b]) -> bool:
            return _blanket_delta(one, other, blanket, n, epsilon, delta) <= delta

        if private(found):
            continue
        low, high = found, local
        while high - low > _PRECISE * high:
            middle = (low + high) / 2
            low, high = (low, middle) if private(middle) else (middle, high)
        found = high
    return found


def _blanket_delta(one: Floats, other: Floats, blanket: Floats, n: int, epsilon: float, enough: float) -> float:
    """A bound on delta at epsilon for two answers; any that is enough will do."""
    gamma = float(blanket.sum())
    possible = blanket > 0
    terms = gamma * (one - math.exp(epsilon) * other)[possible] / blanket[possible]
    masses = blanket[possible]
    spread = math.sqrt(float(masses @ terms**2))
    if spread == 0:
        return 0.0
    step = max(spread / _PER_DEVIATION, _WIDE * math.sqrt(n) * spread / _MOST_PLACES)
    places = np.append(terms, 0.0) / step
    weights = np.append(masses, max(1 - gamma, 0.0))
    below = np.floor(places)
    first = int(below.min())
    at = (below - first).astype(int)
    size = int(at.max()) + 2
    # Split between both neighbours so that the mean stays: the mean of the positive part can only grow.
    law = np.bincount(at, weights * (1 - places + below), size) + np.bincount(at + 1, weights * (places - below), size)
    whole = IndependentSum([GridLaw(step, first, np.asarray(law, dtype=np.float64), n)])
    most = n * float(terms.max(initial=0.0))
    rare = whole.exceedance_bound(0.0)
    if rare * most <= enough * n * gamma or not rare:
        return rare * most / (n * gamma)
    return SumTail(whole, rare).mean(lambda number: number, above=0.0, most=most) / (n * gamma) * (1 + _ROUNDING)
