"""Which response to hide a structured truth by: classic response on y, or a response on its features phi(y).

Exact, by enumeration of truths and reports: Sigma_marg = Cov[E[phi | o]]^-1 ([LM] (13)) against Cov[phi]^-1 of true
answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.labels.randomized_response import RandomizedResponse
from askance.channels.rows.coordinate_release import CoordinateRelease
from askance.channels.rows.per_value_flip import PerValueFlip
from askance.errors import InvalidInput

_MOST = 1 << 12  # truths, and outcomes of bits: their table has 2^24 numbers
RESPONSES = ("classic", "per-value", "coordinate")


@dataclass(frozen=True)
class ResponseTable:
    """How many times as many people each response needs as true answers would.

    Parameters
    ----------
    epsilons : tuple of float
    factors : dict from response to tuple of float
        tr Sigma / tr Sigma_clean at each epsilon; infinite where a response does not determine the parameters.

    Examples
    --------
    >>> import askance as ask
    >>> ask.compare_responses([[0, 0], [0, 1], [1, 0], [1, 1]], [1.0, 4.0]).best
    ('coordinate', 'classic')
    """

    epsilons: tuple[float, ...]
    factors: dict[str, tuple[float, ...]]

    @property
    def best(self) -> tuple[str, ...]:
        """The response with the smallest factor at each epsilon."""
        return tuple(
            min(self.factors, key=lambda name: self.factors[name][place]) for place in range(len(self.epsilons))
        )

    def __str__(self) -> str:
        head = f"{'epsilon':>8}" + "".join(f"{name:>12}" for name in self.factors) + "  least"
        rows = [
            f"{epsilon:>8g}" + "".join(f"{values[place]:>12.4g}" for values in self.factors.values()) + f"  {best}"
            for place, (epsilon, best) in enumerate(zip(self.epsilons, self.best, strict=True))
        ]
        return "\n".join([head, *rows])


def compare_responses(features: Any, epsilons: Sequence[float], parameters: Any = None) -> ResponseTable:
    """Compare classic, per-value and coordinate response for a truth with features phi(y) in {0, 1}^d.

    Parameters
    ----------
    features : array, states x d
    epsilons : sequence of float
        Levels to compare at.
    parameters : array, d, optional
        Where the model is believed to be; all zero if not given, which makes all truths equally likely.

    Examples
    --------
    >>> import itertools, askance as ask
    >>> print(ask.compare_responses(list(itertools.product([0, 1], repeat=6)), [1, 4, 8]))
     epsilon     classic   per-value  coordinate  least
           1        1463       144.7        28.1  coordinate
           4       4.814       9.674       6.456  classic
           8       1.043       2.944       6.008  classic

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), Proposition 2 and appendix A.4.
    """
    table = np.asarray(features, dtype=float)
    if table.ndim != 2 or not np.isin(table, (0, 1)).all():
        raise InvalidInput(f"features of shape {table.shape}", "zeros and ones, a row for each state")
    states, width = table.shape
    if states > _MOST or 2**width > _MOST:
        raise InvalidInput(f"{states:,} states of {width} bits", f"at most {_MOST:,} states, and 12 bits")
    theta = np.zeros(width) if parameters is None else np.asarray(parameters, dtype=float)
    if theta.shape != (width,):
        raise InvalidInput(f"parameters of shape {theta.shape}", f"({width},)")
    scores = table @ theta
    law = np.exp(scores - scores.max())
    law /= law.sum()
    centred = table - law @ table
    clean = _trace(centred.T @ (law[:, None] * centred))
    if not np.isfinite(clean):
        raise InvalidInput("features of which some say nothing new", "features that are linearly independent")
    # Bits beyond the largest number of ones never occur: a response may be calibrated to that.
    ones = int(table.sum(axis=1).max())
    outcomes = (np.arange(2**width)[:, None] >> np.arange(width) & 1).astype(np.uint8)
    found: dict[str, list[float]] = {name: [] for name in RESPONSES}
    for epsilon in epsilons:
        classic = RandomizedResponse(tuple(range(states)), epsilon=float(epsilon)).matrix
        bits = PerValueFlip(width, float(epsilon), max_ones=ones).likelihood_of_rows(outcomes, table)
        one = CoordinateRelease(width, float(epsilon)).likelihood_of_rows(np.arange(2 * width, dtype=np.uint32), table)
        for name, matrix in zip(RESPONSES, (classic, bits, one), strict=True):
            found[name].append(_trace(_information(matrix, law, centred)) / clean)
    return ResponseTable(tuple(map(float, epsilons)), {name: tuple(values) for name, values in found.items()})


def _information(matrix: Floats, law: Floats, centred: Floats) -> Floats:
    """Cov[E[phi | o]] of reports by a matrix, reports x states."""
    joint = matrix * law
    chance = joint.sum(axis=1)
    means = (joint @ centred)[chance > 0] / np.sqrt(chance[chance > 0, None])
    return np.asarray(means.T @ means)


def _trace(information: Floats) -> float:
    """tr of the inverse; infinite if there is none."""
    values = np.linalg.eigvalsh(information)
    return float("inf") if values.min() <= 1e-14 * max(values.max(), 1e-300) else float((1 / values).sum())
