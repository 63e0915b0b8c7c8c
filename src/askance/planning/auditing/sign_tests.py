"""Tests of independence for signs: exact, at every distance at once.

If signs are independent and even, then so are the products of signs at any distance: s_1 s_2, s_2 s_3, s_3 s_4, ... are
tosses of a fair coin, although neighbours share a sign. So the sum of all products at a distance is binomial, exactly,
and one Fourier transform gives the sums at all distances.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.planning.auditing.audit_questions import Finding, most_striking
from askance.planning.auditing.cell_tests import binomial_p_values

_NEAR = 1024  # distances up to here have half of the error rate: mistakes of samplers are mostly about neighbours
_CANDIDATES = 64  # of the most striking sums, whose exact probability is worked out
# Ranks within a truth are even by construction: the products of two of them have the mean -1 / (n - 1) in place of 0,
# which moves a sum by 1 at most.
_BALANCED = 1.0
Names = Callable[[int], str]


def fair_coin_p(sums: Floats, terms: Floats | NDArray[np.int64]) -> Floats:
    """Return the two-sided probability of a sum of so many fair signs that is at least as far from 0."""
    from scipy.special import betainc

    heads = np.floor((np.abs(sums) - _BALANCED + terms) / 2)
    sure = (terms > 0) & (heads > terms / 2)
    h, n = np.where(sure, heads, 1.0), np.where(sure, terms, 1.0)
    # P(at least h heads of n) = I_{1/2}(h, n - h + 1)
    return np.asarray(np.where(sure, np.minimum(1.0, 2 * betainc(h, n - h + 1, 0.5)), 1.0))


@dataclass(frozen=True, eq=False)
class SignSequence:
    """Signs in a row, of which the Fourier transform is kept: each is compared with several others.

    Parameters
    ----------
    signs : array of -1 and 1
    """

    signs: Floats

    def __len__(self) -> int:
        return len(self.signs)

    @cached_property
    def length(self) -> int:
        """Of the transform: as many zeros behind the signs, so that the end does not meet the beginning."""
        from scipy.fft import next_fast_len

        return int(next_fast_len(2 * len(self.signs), real=True))

    @cached_property
    def spectrum(self) -> NDArray[np.complex64]:
        """The Fourier transform, in single precision: sums of a million signs are off by less than a half."""
        from scipy.fft import rfft

        return np.asarray(rfft(self.signs.astype(np.float32), self.length))


def lag_findings(one: SignSequence, other: SignSequence | None, what: str, own_row: bool = True) -> list[Finding]:
    """Test the products of signs at all distances: within one sequence, or between two of the same length.

    Parameters
    ----------
    one, other : SignSequence
    what : str
        What the sequences are; "at distance 5" is added to it.
    own_row : bool
        Whether two sequences are tested at distance 0 too.
    """
    from scipy.fft import irfft

    n = len(one)
    if n < 2:
        return []
    second = one if other is None else other
    sums = np.rint(irfft(np.conj(one.spectrum) * second.spectrum, one.length)).astype(float)
    distances = np.arange(1, n)
    if other is not None:
        distances = np.concatenate([np.arange(-n + 1, 0), np.arange(0 if own_row else 1, n)])
    near = np.abs(distances) <= _NEAR
    return [
        _striking(sums[part], (n - np.abs(part)).astype(float), part, what)
        for part in (distances[near], distances[~near])
        if len(part)
    ]


def _striking(sums: Floats, terms: Floats, distances: NDArray[np.int64], what: str) -> Finding:
    count = min(_CANDIDATES, len(sums))
    top = np.argpartition(-(sums**2) / terms, count - 1)[:count]
    p_values = fair_coin_p(sums[top], terms[top])

    def name(place: int) -> str:
        chosen = top[place]
        share = sums[chosen] / terms[chosen]
        return f"{what} go together at distance {distances[chosen]}: correlation {share:.2g}"

    return most_striking(p_values, name, len(sums))


def pair_finding(one: Floats, other: Floats, names: Callable[[int, int], str], same: bool) -> Finding:
    """Test the signs of every column of one table with those of every column of another.

    Parameters
    ----------
    one, other : array, n x d, of -1 and 1
    names : function of two columns
    same : bool
        Whether the tables are the same, so that each pair is looked at once.
    """
    rows = len(one)
    sums = one.T @ other
    first, second = np.triu_indices(sums.shape[0], 1) if same else np.nonzero(~np.eye(sums.shape[0], dtype=bool))
    top = np.argsort(-np.abs(sums[first, second]))[:_CANDIDATES]
    p_values = fair_coin_p(sums[first[top], second[top]], np.full(len(top), float(rows)))
    return most_striking(p_values, lambda place: names(int(first[top[place]]), int(second[top[place]])), len(first))


def joint_finding(together: NDArray[np.int64], rows: NDArray[np.int64] | int, chance: Floats, names: Names) -> Finding:
    """Test how often two rare things came together, by exact binomial probabilities."""
    from scipy.special import xlogy

    seen = together.reshape(-1)
    each = np.broadcast_to(np.asarray(rows), together.shape).reshape(-1)
    wanted = np.broadcast_to(chance, together.shape).reshape(-1)
    # By Chernoff's bound the least probable have the largest of these; only they are worked out.
    mean = each * wanted
    exponent = xlogy(seen, np.maximum(seen, 1) / np.maximum(mean, 1e-300)) - (seen - mean)
    top = np.argsort(-exponent)[:_CANDIDATES]
    p_values = binomial_p_values(seen[top], each[top], wanted[top])
    return most_striking(p_values, lambda place: names(int(top[place])), len(seen))
