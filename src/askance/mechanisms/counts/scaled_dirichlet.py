"""The scaled Dirichlet mechanism of [CR] section 3, as published: for study only, it has no guarantee.

theta ~ Dir(sigma eta), with the largest sigma for which P[theta outside Theta_ij] <= delta for all i, j. This sigma
is a function of the private counts. A neighbour gets another sigma, or an error, and the proof compares two laws with
the same one.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput

Search = Literal["exact", "chebyshev"]

NAME = "scaled-dirichlet-paper"
WHY_NOT = (
    "no guarantee: the scale sigma is chosen from the private counts, so that a neighbour has another sigma or is "
    "refused, and the proof of [CR] section 3 does not cover that. For study only"
)
_GRID = np.geomspace(1e-4, 1e4, 321)  # steps of 6%: fine enough to see where the search of the paper ends


def paper_scale(counts: Sequence[int], epsilon: float, delta: float, search: Search = "exact") -> float:
    """Return the largest sigma that the paper's search accepts.

    Parameters
    ----------
    counts : sequence of int
    epsilon, delta : float
    search : {"exact", "chebyshev"}
        Equation (9), by an incomplete beta function, or the bound (10).

    Raises
    ------
    InvalidInput
        If no sigma is accepted, which itself tells something about the counts.

    Examples
    --------
    >>> round(paper_scale([50, 50, 50, 50, 800], 0.05, 0.05), 5)
    0.00818
    """
    failing = {"exact": outside_probability, "chebyshev": chebyshev_bound}[search]
    accepted = np.array([failing(counts, sigma, epsilon) <= delta for sigma in _GRID])
    if not accepted.any():
        raise InvalidInput(
            f"counts for which the {search} search finds no sigma at epsilon={epsilon:g}, delta={delta:g}",
            "larger counts of every class",
            "The paper's mechanism refuses such counts; that itself is not private. Use a sound mechanism.",
        )
    last = int(np.flatnonzero(accepted)[-1])
    if last == len(_GRID) - 1:
        return float(_GRID[-1])
    low, high = float(_GRID[last]), float(_GRID[last + 1])
    for _ in range(40):  # to the last digit of a double
        middle = math.sqrt(low * high)
        low, high = (middle, high) if failing(counts, middle, epsilon) <= delta else (low, middle)
    return low


def outside_probability(counts: Sequence[int], sigma: float, epsilon: float) -> float:
    """Return the largest P[theta outside Theta_ij], equation (9): theta_i / (theta_i + theta_j) is a beta number."""
    from scipy.special import betainc, log_expit

    def probability(first: Floats, second: Floats, log_ratio: Floats) -> Floats:
        return np.asarray(betainc(sigma * second, sigma * first, np.exp(log_expit(-log_ratio))))

    return _largest(counts, sigma, epsilon, probability)


def chebyshev_bound(counts: Sequence[int], sigma: float, epsilon: float) -> float:
    """Return the bound (10) on the same probability; 1 where it says nothing."""
    total = sum(counts)

    def bound(first: Floats, second: Floats, log_ratio: Floats) -> Floats:
        # Both sides divided by the ratio, which may be beyond all doubles.
        inverse = np.exp(-np.clip(log_ratio, -300.0, 300.0))
        i, j = first / total, second / total
        spread = i * (1 - i) * inverse**2 + j * (1 - j) + 2 * inverse * i * j
        mean = i * inverse - j  # Z must be negative on average for its being positive to be rare
        safe = np.where(mean < 0, mean, 1.0)
        return np.where(mean < 0, np.minimum(spread / ((sigma * total + 1) * safe**2), 1.0), 1.0)

    return _largest(counts, sigma, epsilon, bound)


def _largest(
    counts: Sequence[int], sigma: float, epsilon: float, probability: Callable[[Floats, Floats, Floats], Floats]
) -> float:
    """Return the maximum over all i and j of a probability that depends on eta_i, eta_j and log(Lambda e^epsilon) /
    sigma."""
    from scipy.special import gammaln

    eta = np.asarray(counts, dtype=float)
    if eta.min() < 2:
        return 1.0  # Gamma(0): no ratio is small enough
    up = gammaln(sigma * eta) - gammaln(sigma * (eta - 1))
    down = gammaln(sigma * eta) - gammaln(sigma * (eta + 1))
    i, j = np.nonzero(~np.eye(len(eta), dtype=bool))
    return float(probability(eta[i], eta[j], (up[i] + down[j] + epsilon) / sigma).max())
