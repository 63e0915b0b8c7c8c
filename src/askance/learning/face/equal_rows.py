"""Rows with equal features: whether they are people of their own, and whether they vary as the model says.

Given the truths of two people their reports are independent, so that these agree with a probability of at most
max sum_o P(o | k) P(o | l) over truths k and l, .68 for Warner's .8, however alike the two are. Copies of a row always
agree. Rows of equal features are matched two by two, at random and each once, so that a binomial tail is exact for
any truths; of features that many people share, such as age in years, nothing but agreement beyond that bound counts.

Reports of people who share their features also have one law: that of the model. Pearson's statistic over the distinct
rows is too large where people come in groups that are alike, of which the model knows nothing, or where the model is
another one. Its mean and variance are exact (Haldane 1937), so that rows which few people share may take part.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaincc

from askance.arrays import Flags, Floats, Integers
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import RecordSource, SourcePartition, concatenate
from askance.learning.face.feature_compliance import Design
from askance.learning.face.named_designs import designs_of, is_assumed
from askance.statistics.base import Records
from askance.statistics.row_hashes import row_hashes

# Rows and numbers that are looked at. Of more, those are taken whose features have the smallest hashes: all that are
# equal, or none, so that copies stay together however far apart they stand.
_MOST_ROWS, _MOST_NUMBERS = 1 << 16, 1 << 23
# P-values below are noted: of copies, whose test is exact and sees few of them; of a model, whose test is a large
# sample's.
_NEVER, _SELDOM = 0.001, 0.005
# Variance of reports against the model's: below, intervals of 95% hold at least 92%, and large samples would be noted
# for any bend of a line.
_NOTED = 1.3
_LEAST_EXPECTED = 1.0  # of each report in a row of features, for Pearson's statistic: moments are no tails


class EqualRows(NamedTuple):
    """Rows whose features, and design, others have as well.

    Parameters
    ----------
    features : array, distinct rows x d
    design : array of int, distinct rows
    counts : array, distinct rows x reports
        How often each report came.
    pairs, agreeing : arrays, designs
        Rows that were matched two by two, and how many of these pairs reported the same.
    """

    features: Floats
    design: Integers
    counts: Floats
    pairs: Integers
    agreeing: Integers


def notes_on_rows(
    source: RecordSource, columns: int, channel: Any, truths: Callable[[Floats], Floats] | None, way: str
) -> tuple[str, ...]:
    """Say what rows with equal features tell.

    Parameters
    ----------
    source : source of records
    columns : int
        How many features they have.
    channel : finite channel, or several designs
    truths : function, optional
        From rows of features to the model's probabilities of the classes; none where Pearson's test is not for it.
    way : str
        How this estimator is told of groups.
    """
    if is_assumed(channel):
        return ()
    designs = [Design(design.matrix, codes) for _, design, codes in designs_of(channel)]
    equal = equal_rows(source, columns, designs)
    # Copies vary more than the model says, too: one note of them is enough.
    note = copies_note(equal, designs) or (dispersion_note(equal, designs, truths, way) if truths else "")
    return (note,) if note else ()


def equal_rows(source: RecordSource, columns: int, designs: Sequence[Design]) -> EqualRows:
    """Find rows with equal features, so many columns of them, in one pass over all rows."""
    share = min(_MOST_ROWS, _MOST_NUMBERS // max(columns, 1)) / max(source.num_rows, 1)
    found = LocalEngine().map([_Choice(part, share) for part in source.partitions()])
    records, hashes = concatenate([one for one, _ in found]), np.concatenate([hashed for _, hashed in found])
    return _matched(records, hashes, designs)


@dataclass(frozen=True)
class _Choice:
    """Rows with a weight of one partition, of these a share by their hashes."""

    part: SourcePartition[Records]
    share: float

    def run(self) -> tuple[Records, NDArray[np.uint64]]:
        records = self.part.load()
        hashes = row_hashes(records.features)
        kept = np.ones(len(records), dtype=bool) if records.weights is None else records.weights > 0
        if self.share < 1:
            kept &= hashes < np.uint64(self.share * 2.0**64)
        if kept.all():
            return Records(records.features, records.codes), hashes
        return Records(records.features[kept], records.codes[kept]), hashes[kept]


def _matched(records: Records, hashes: NDArray[np.uint64], designs: Sequence[Design]) -> EqualRows:
    ends = np.array([design.codes.stop for design in designs])
    asked = np.searchsorted(ends, records.codes, side="right")
    # Which of several equal rows are matched must not hang on their order: a table may be sorted by its reports.
    order = np.random.default_rng(0).permutation(len(hashes))
    order = order[np.lexsort((hashes[order], asked[order]))]
    hashed, of_design, codes = hashes[order], asked[order], records.codes[order]
    same: Flags = (hashed[1:] == hashed[:-1]) & (of_design[1:] == of_design[:-1])
    first = np.flatnonzero(np.concatenate([[True], ~same])) if len(order) else np.empty(0, dtype=np.int64)
    sizes = np.diff(np.append(first, len(order)))
    place = np.arange(len(order)) - np.repeat(first, sizes)
    left = np.flatnonzero((place[1:] % 2 == 1) & same)
    agree = codes[left] == codes[left + 1]
    shared = np.flatnonzero(sizes > 1)
    number = np.full(len(sizes), -1)
    number[shared] = np.arange(len(shared))
    row = np.repeat(number, sizes)
    width = int(ends.max(initial=0))
    counts = np.bincount(row[row >= 0] * width + codes[row >= 0], minlength=len(shared) * width)
    return EqualRows(
        records.features[order[first[shared]]],
        of_design[first[shared]],
        counts.reshape(len(shared), width).astype(np.float64),
        np.bincount(of_design[left], minlength=len(designs)),
        np.bincount(of_design[left][agree], minlength=len(designs)),
    )


def copies_note(equal: EqualRows, designs: Sequence[Design]) -> str:
    """Say that rows with equal features agree more than different people can; empty where they do not.

    Examples
    --------
    >>> from askance.engines.sources import ArraySource
    >>> warner = [Design(np.array([[0.8, 0.2], [0.2, 0.8]]), slice(0, 2))]
    >>> rng = np.random.default_rng(0)
    >>> x, reports = rng.normal(size=(50, 1)), rng.integers(0, 2, 50).astype(np.uint8)
    >>> twice = Records(np.tile(x, (2, 1)), np.tile(reports, 2))
    >>> copies_note(equal_rows(ArraySource(twice), 1, warner), warner)[:70]
    'Rows stand here several times: of 50 pairs of rows with equal features'
    >>> copies_note(equal_rows(ArraySource(Records(x, reports)), 1, warner), warner)
    ''
    """
    bounds = [_most_agreement(design.matrix) for design in designs]
    tails = [_tail(*each) for each in zip(equal.pairs, equal.agreeing, bounds, strict=True)]
    worst = int(np.argmin(tails))
    p = len(tails) * tails[worst]
    if p >= _NEVER:
        return ""
    pairs, share = int(equal.pairs[worst]), equal.agreeing[worst] / equal.pairs[worst]
    return (
        f"Rows stand here several times: of {pairs:,} pairs of rows with equal features {share:.1%} have the same "
        f"report, where at most {bounds[worst]:.1%} of different people can, whatever they are (exact p = {p:.1g}). "
        "An export that was added to itself, or a join that found people twice? Errors are then too small: keep one "
        "row of each person, or give cluster= whose rows they are. (Answers that nobody hid look like this, too.)"
    )


def _most_agreement(matrix: Floats) -> float:
    return float(min((matrix.T @ matrix).max(), 1.0))


def _tail(pairs: int, agreeing: int, bound: float) -> float:
    """The probability of so many pairs that agree, or more."""
    return float(betainc(agreeing, pairs - agreeing + 1, bound)) if agreeing > bound * pairs else 1.0


def dispersion_note(equal: EqualRows, designs: Sequence[Design], truths: Callable[[Floats], Floats], way: str) -> str:
    """Say that reports of people with equal features vary more than a model says; empty where they do not."""
    law = truths(equal.features) if len(equal.features) else np.empty((0, designs[0].matrix.shape[1]))
    statistic, mean, variance, seen = 0.0, 0.0, 0.0, 0
    for number, design in enumerate(designs):
        possible = design.matrix.max(axis=1) > 0
        rows = equal.design == number
        p = law[rows] @ design.matrix[possible].T
        counts = equal.counts[rows][:, design.codes][:, possible]
        size = counts.sum(axis=1)
        enough = (size[:, None] * p).min(axis=1, initial=np.inf) >= _LEAST_EXPECTED
        p, counts, size, k = p[enough], counts[enough], size[enough], int(possible.sum())
        expected = size[:, None] * p
        statistic += float(((counts - expected) ** 2 / expected).sum())
        mean += len(p) * (k - 1)
        variance += float((2 * (k - 1) + ((1 / p).sum(axis=1) - k * k - 2 * k + 2) / size).sum())
        seen += len(p)
    if not mean or variance <= 0 or statistic < _NOTED * mean:
        return ""
    # A gamma law of that mean and variance; what the fit has taken from the statistic makes the test a little shy.
    chance = float(gammaincc(mean**2 / variance, statistic * mean / variance))
    if chance >= _SELDOM:
        return ""
    more = statistic / mean
    return (
        f"Reports vary more between rows of equal features than the model says: {more:.2g} times as much, over "
        f"{seen:,} different rows that several people share (Pearson's test, p = {chance:.1g}). Do people come in "
        f"groups that are alike, or several times? Errors are then too small, about {np.sqrt(more):.2g} times: {way}. "
        "Or do features act in another way than the model says (bends, interactions)? Add such terms."
    )
