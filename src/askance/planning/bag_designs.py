"""Ways to form bags of labelled rows, and the error of class ratios that each leads to."""

import math
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.errors import Unidentifiable
from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.count_mechanisms import Noise, best_noise
from askance.planning.theory.ratio_error import expected_ratio_error

Membership = Literal["response", "exact", "public"]

_TIMES = (1, 2, 4)  # bags for each class: 6 and 8 were never better, for two and three classes and epsilon 0.5 to 10
# Of epsilon, for membership; and of a class in its own bags, where proportions are exact. The error is flat around its
# minimum: grids ten times as fine found errors 0.3% smaller at most.
_SHARES = tuple(Fraction(k, 20) for k in range(1, 20))
_PURITIES = tuple(0.3 + 0.05 * k for k in range(14))
_RATHER_PURE = 0.02  # above the share 1/K that no bag differs by
_MOST_RESPONSE = Fraction(20)  # at it one person in 5 * 10^8 joins another class's bag: more would tell nothing

WHAT_IS_COVERED: dict[str, str] = {
    "response": "Membership and counts together: everybody's bag is drawn by randomised response of the label, and its "
    "level and that of the counts add up.",
    "exact": "Counts only. Who is in which bag follows from the labels, and publishing that has NO guarantee: with all "
    "labels of a bag but one known, the last one follows. Only for bags whose members stay unknown.",
    "public": "All that is published: these bags do not depend on the labels.",
}


@dataclass(frozen=True)
class BagOption:
    """One way to form the bags, and what it leads to.

    Parameters
    ----------
    membership : {"response", "exact", "public"}
        How people get into bags: by randomised response of the label, with exact proportions, or by a public column.
    bags : int
    skew : float
        The probability of a person to be in a bag of the own class; of public bags the share of their largest classes.
    epsilon_membership, epsilon_counts : float
        How the budget is divided. Membership with exact proportions is infinite.
    mechanism : str
        The mechanism for the counts.
    error, sampling_error, noise_error : float
        The expected L1 error of the ratios of a new group; and what sampling alone, and noise alone, would give.
    """

    membership: Membership
    bags: int
    skew: float
    epsilon_membership: float
    epsilon_counts: float
    mechanism: str
    error: float
    sampling_error: float
    noise_error: float


class Design(NamedTuple):
    """A way to form bags, and the people of each class that are to be expected in each bag."""

    option: BagOption
    people: Floats


class Setting(NamedTuple):
    """What all designs have in common: the budget, how far classes lie apart, and the size of a new group."""

    budget: Budget
    apart: Floats
    new_rows: int


def designs(membership: Literal["response", "exact"], counts: Floats, setting: Setting) -> list[Design]:
    """Return bags for each class, of several numbers and skews."""
    classes = len(counts)
    found = []
    for times in _TIMES:
        if counts.sum() < 2 * times * classes:
            continue
        for level, skew in _skews(membership, setting.budget, classes):
            response = np.full((classes, classes), (1 - skew) / (classes - 1))
            np.fill_diagonal(response, skew)
            people = np.repeat(response * counts / times, times, axis=0)
            with suppress(Unidentifiable):  # bags that differ too little to be of any use
                found.append(worked_out(membership, people, skew, level, setting))
    return found


def worked_out(membership: Membership, people: Floats, skew: float, level: Fraction | None, setting: Setting) -> Design:
    """Return a design with its expected error.

    Parameters
    ----------
    membership : {"response", "exact", "public"}
    people : array, bags x K
    skew : float
    level : Fraction
        What membership costs; None if it has no guarantee, and the counts have all of the budget.
    setting : Setting
    """
    bags, classes = people.shape
    for_counts = setting.budget.epsilon - (level or 0)
    noise = _noise(classes, for_counts, setting.budget.delta)
    sizes = people.sum(axis=1)
    covariances = noise.covariance(np.zeros(classes)) / sizes[:, None, None] ** 2
    found = expected_ratio_error(people / sizes[:, None], sizes, covariances, setting.apart, setting.new_rows)
    for_membership = math.inf if level is None else float(level)
    return Design(BagOption(membership, bags, skew, for_membership, float(for_counts), noise.name, *found), people)


@lru_cache(maxsize=256)
def _noise(classes: int, epsilon: Fraction, delta: Fraction) -> Noise:
    return best_noise(classes, Budget(epsilon, delta))


def _skews(membership: str, budget: Budget, classes: int) -> list[tuple[Fraction | None, float]]:
    """Return what membership costs, and how probable it is to be in a bag of the own class."""
    if membership == "exact":
        return [(None, purity) for purity in _PURITIES if purity > 1 / classes + _RATHER_PURE]
    levels = {min(share * budget.epsilon, _MOST_RESPONSE) for share in _SHARES}
    return [(level, 1 / (1 + (classes - 1) * math.exp(-float(level)))) for level in sorted(levels)]
