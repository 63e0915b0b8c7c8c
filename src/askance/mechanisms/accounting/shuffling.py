"""Local reports in random order: what somebody who does not know whose report is whose can tell."""

import math
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.channels.given_numbers import as_number, shown
from askance.channels.guarantee import Guarantee, proof_page
from askance.channels.labels.finite import FiniteLaw
from askance.errors import InvalidInput
from askance.mechanisms.accounting.response_loss import treats_answers_alike
from askance.mechanisms.accounting.tail_of_sums import GridLaw, IndependentSum, SumTail

_WIDE = 30.0  # standard deviations of the sum: what a window of the grid holds
_MOST_ANSWERS = 40  # whose 1,560 ordered pairs are looked at one by one
_ROUNDING = 1e-9  # relative: of a few sums
_WORTH = 1e-4  # relative: a gain below it is not worth a delta
# To be shown beside a local level: fewer reports or less gain are not worth a sentence.
_SHOWN_FROM, _SHOWN_GAIN = 500, 0.5
_SHOWN_COVER = 20.0  # people for each e^epsilon: the blanket covers about n e^-epsilon of them
_SHOWN_ANSWERS = 8  # of a channel that treats them differently: 56 pairs take half a second
_SHOWN_DELTA = 1e-6  # and never above a hundredth of a person


class _Grid(NamedTuple):
    """How finely a level is computed. A coarse grid gives a level that is a little higher, never one that is lower.

    Parameters
    ----------
    per_deviation : float
        Steps within a standard deviation of one term.
    most_places : float
        Or as many as a window may have.
    precise : float
        Relative: how precisely epsilon is looked for, from above.
    """

    per_deviation: float
    most_places: float
    precise: float


# Warner's channel and four answers, 10^3 to 10^6 reports: a grid ten times finer gives a level that is lower by 2e-6 to
# 3e-4 of it, in 1.2 to 1.9 s in place of .1 to .3; ten times coarser it is higher by 1e-4 to .06. Ten times more of the
# last number adds 5e-6 of the level, ten times less takes off 6e-7.
_FINE = _Grid(200.0, float(1 << 18), 1e-6)
# At most 1% higher up to 10^5 reports and 4% at 10^6, twenty times as fast: measured for Warner's and four answers.
_COARSE = _Grid(100.0, float(1 << 15), 5e-3)


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
    wanted = "a number above 0 and below 1"
    failing = as_number(delta, "delta", wanted)
    if not 0 < failing < 1:
        raise InvalidInput(f"delta={shown(delta)}", wanted, "Small ones protect: 1e-6, say.")
    local = channel.guarantee.epsilon
    # The public door: the blanket is worked out from the matrix of one finite channel.
    if not isinstance(channel, FiniteLaw) or not math.isfinite(local):
        raise InvalidInput(
            f"{channel!r}"[:200],
            "a finite channel of a finite level",
            "Of several designs, each is a group of its own.",
        )
    return _guarantee(channel, int(n), failing, _FINE)


def level_if_shuffled(channel: Any, n: int) -> Guarantee | None:
    """Return the level of n reports in random order, to be shown beside the local one; None if it is not worth it.

    As :func:`shuffled` at a delta of 10^-6, or a hundredth of a person if that is less, on a coarser grid.

    Examples
    --------
    >>> import askance as ask
    >>> level = level_if_shuffled(ask.Warner(0.8), 10_000)
    >>> round(level.epsilon, 2), level.delta, level_if_shuffled(ask.Warner(0.8), 50)
    (0.07, 1e-06, None)
    """
    # Of other channels there is no blanket to work out; a high level leaves hardly anybody under it.
    if not isinstance(channel, FiniteLaw) or n < _SHOWN_FROM or n < _SHOWN_COVER * math.exp(channel.guarantee.epsilon):
        return None
    if channel.matrix.shape[1] > _SHOWN_ANSWERS and not treats_answers_alike(channel.matrix):
        return None
    level = _guarantee(channel, n, min(_SHOWN_DELTA, 0.01 / n), _COARSE)
    return level if level.epsilon <= _SHOWN_GAIN * channel.guarantee.epsilon else None


def shuffled_in_words(level: Guarantee) -> str:
    """Say what a level of shuffled reports means, and when it holds.

    Examples
    --------
    >>> import askance as ask
    >>> print(shuffled_in_words(ask.shuffled(ask.Warner(0.8), 10_000, 1e-6)))  # doctest: +ELLIPSIS
    epsilon 0.0671, delta 1e-06, would protect one answer among 10,000 reports in random order: only if ...
    """
    return (
        f"epsilon {level.epsilon:.3g}, delta {level.delta:.3g}, would protect {level.protects}: only if somebody who "
        "is trusted publishes the reports alone, in random order, and nobody else ever sees that order, times, names "
        "or covariates. A release of askance keeps the order of its rows, so this is no promise of the release; the "
        "local level holds always."
    )


def _guarantee(channel: FiniteLaw, n: int, delta: float, grid: _Grid) -> Guarantee:
    local = channel.guarantee.epsilon
    level = _least_level(channel, n, delta, local, grid)
    gained = level < (1 - _WORTH) * local
    return Guarantee(
        epsilon=level if gained else local,
        delta=delta if gained else 0.0,
        protects=f"one answer among {n:,} reports in random order",
        neighbours=(
            "data sets of as many people that differ in one answer; as long as nothing tells whose report is whose (no "
            "order, time, name or covariate), everybody reports once, and nobody tells how chance fell"
        ),
        proof=proof_page("shuffling"),
    )


def _least_level(channel: FiniteLaw, n: int, delta: float, local: float, grid: _Grid) -> float:
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
            return _blanket_delta(one, other, blanket, n, epsilon, delta, grid) <= delta

        if private(found):
            continue
        low, high = found, local
        while high - low > grid.precise * high:
            middle = (low + high) / 2
            low, high = (low, middle) if private(middle) else (middle, high)
        found = high
    return found


def _blanket_delta(
    one: Floats, other: Floats, blanket: Floats, n: int, epsilon: float, enough: float, grid: _Grid
) -> float:
    """A bound on delta at epsilon for two answers; any that is enough will do."""
    gamma = float(blanket.sum())
    possible = blanket > 0
    terms = gamma * (one - math.exp(epsilon) * other)[possible] / blanket[possible]
    masses = blanket[possible]
    spread = math.sqrt(float(masses @ terms**2))
    if spread == 0:
        return 0.0
    step = max(spread / grid.per_deviation, _WIDE * math.sqrt(n) * spread / grid.most_places)
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
