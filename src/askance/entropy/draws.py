"""Exact draws from finite distributions, a few bits at a time.

A report is decided by the first 8 (two reports) or 32 random bits; only when these fall exactly on the
border between two outcomes are the remaining bits drawn, so every draw has the full 62-bit resolution
of ``thresholds`` at the price of one byte or one word.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes
from askance.compiled import compiled
from askance.entropy.bits import BLOCK_BYTES, BitSource
from askance.entropy.thresholds import RESOLUTION_BITS
from askance.errors import InvalidInput

_FIRST_BYTE_SHIFT = RESOLUTION_BITS - 8  # what a threshold has beyond its first byte
_TIE_BYTES = BLOCK_BYTES >> 3  # one answer in 256 ties and needs 8 more bytes: a 32nd is needed on average, an 8th kept
_FINE_BITS = RESOLUTION_BITS - 32  # what a threshold has beyond its first word
_LARGEST_CELL_BITS = 24  # a table of 200 MB; a word's other 8 bits still decide within the cell


def code_type(states: int) -> type[np.unsignedinteger] | type[np.signedinteger]:
    """Return the smallest integer type that holds codes 0 .. states-1."""
    if states <= 1 << 8:
        return np.uint8
    return np.uint16 if states <= 1 << 16 else np.int32


class Sampler(ABC):
    """Draws one report code for each truth code."""

    answers_a_block: ClassVar[int]

    @property
    @abstractmethod
    def code_type(self) -> type[np.unsignedinteger] | type[np.signedinteger]:
        """The type of report codes."""

    @abstractmethod
    def _draw_block(self, answers: Codes, bits: BitSource, reports: Codes) -> None:
        """Fill ``reports`` for at most ``answers_a_block`` answers."""

    def draw_blocks(self, truth: Codes, bits: BitSource) -> Iterator[tuple[slice, Codes]]:
        """Yield rows and their report codes, while these are still in the processor's cache.

        The codes are overwritten by the next block.
        """
        buffer = np.empty(self.answers_a_block, dtype=self.code_type)
        for start in range(0, truth.shape[0], self.answers_a_block):
            rows = slice(start, min(start + self.answers_a_block, truth.shape[0]))
            reports = buffer[: rows.stop - start]
            self._draw_block(truth[rows], bits, reports)
            yield rows, reports

    def draw(self, truth: Codes, bits: BitSource) -> Codes:
        """Return the report codes of all answers."""
        out = np.empty(truth.shape[0], dtype=self.code_type)
        for rows, reports in self.draw_blocks(truth, bits):
            out[rows] = reports
        return out


@dataclass(frozen=True)
class BinarySampler(Sampler):
    """Two possible reports: ``limits[t]`` out of 2^62 is the probability of report 1 given truth t."""

    limits: NDArray[np.int64]

    answers_a_block: ClassVar[int] = BLOCK_BYTES - _TIE_BYTES
    code_type: ClassVar[type[np.uint8]] = np.uint8

    @cached_property
    def _coarse(self) -> NDArray[np.int64]:
        return self.limits >> _FIRST_BYTE_SHIFT

    @cached_property
    def _fine(self) -> NDArray[np.int64]:
        return self.limits & ((1 << _FIRST_BYTE_SHIFT) - 1)

    def _draw_block(self, answers: Codes, bits: BitSource, reports: Codes) -> None:
        random = bits.block()
        ties = np.empty(answers.shape[0], dtype=np.uint32)
        if self.limits.shape[0] == 2:
            base, step = np.int16(self._coarse[0]), np.int16(self._coarse[1] - self._coarse[0])
            tied = _compare_first_byte_of_two(random, answers, base, step, reports, ties)
        else:
            tied = _compare_first_byte(random, answers, self._coarse, reports, ties)
        words = random[self.answers_a_block :].view(np.uint64)
        while tied > len(words):  # next to impossible, but then fresh bits are needed
            _settle_bytes(words, answers, self._fine, reports, ties[tied - len(words) : tied])
            tied -= len(words)
            words = bits.block().view(np.uint64)
        _settle_bytes(words, answers, self._fine, reports, ties[:tied])


@compiled
def _compare_first_byte_of_two(random, answers, base, step, reports, ties):  # type: ignore[no-untyped-def]
    # Arithmetic in place of a table look-up lets the compiler use vector instructions.
    for i in range(answers.shape[0]):
        limit = np.int16(base + np.int16(answers[i]) * step)
        reports[i] = np.int16(random[i]) < limit
    tied = 0
    for i in range(answers.shape[0]):
        if np.int16(random[i]) == np.int16(base + np.int16(answers[i]) * step):
            ties[tied] = i
            tied += 1
    return tied


@compiled
def _compare_first_byte(random, answers, coarse, reports, ties):  # type: ignore[no-untyped-def]
    tied = 0
    for i in range(answers.shape[0]):
        byte = np.int64(random[i])
        limit = coarse[answers[i]]
        reports[i] = byte < limit
        if byte == limit:
            ties[tied] = i
            tied += 1
    return tied


@compiled
def _settle_bytes(words, answers, fine, reports, ties):  # type: ignore[no-untyped-def]
    for j in range(ties.shape[0]):
        i = ties[j]
        within = np.int64(words[j] >> np.uint64(10))  # the 54 bits that the first byte left undecided
        reports[i] = within < fine[answers[i]]


@dataclass(frozen=True)
class AliasSampler(Sampler):
    """Any number of reports, one table look-up a draw (Walker's alias method on exact integers).

    The outcomes are laid out in 2^b cells of equal weight. Each cell belongs to the outcome of its own
    number up to a threshold and to another outcome above it.

    Parameters
    ----------
    table : array, tables x cells
        The leading 32 bits of the threshold and the other outcome, packed into one word: a draw
        touches memory once. One table for each truth, or a single one shared by all.
    fine : array, tables x cells
        The trailing 30 bits of the threshold.
    truth_outcome : int
        The outcome that stands for "report the truth"; a number that is no outcome if there is none.
    reports : int
        How many reports there are.
    """

    table: NDArray[np.uint64]
    fine: NDArray[np.uint32]
    truth_outcome: int
    reports: int

    answers_a_block: ClassVar[int] = BLOCK_BYTES // 4

    @property
    def code_type(self) -> type[np.unsignedinteger] | type[np.signedinteger]:
        return code_type(self.reports)

    @classmethod
    def from_counts(cls, counts: NDArray[np.int64], reports: int, truth_outcome: int | None = None) -> "AliasSampler":
        """Build from an outcomes x tables matrix of counts whose columns sum to 2^62."""
        cell_bits = max(1, int(counts.shape[0] - 1).bit_length())
        if cell_bits > _LARGEST_CELL_BITS:
            raise InvalidInput(f"{counts.shape[0]} possible reports", f"at most {1 << _LARGEST_CELL_BITS}")
        cells = 1 << cell_bits
        thresholds = np.zeros((counts.shape[1], cells), dtype=np.int64)
        thresholds[:, : counts.shape[0]] = counts.T
        other = np.zeros(thresholds.shape, dtype=np.uint32)
        _fill_cells(thresholds, other, np.int64(1 << (RESOLUTION_BITS - cell_bits)))
        table = ((thresholds >> _FINE_BITS) << 32).view(np.uint64) | other
        fine = (thresholds & ((1 << _FINE_BITS) - 1)).astype(np.uint32)
        return cls(table, fine, cells if truth_outcome is None else truth_outcome, reports)

    def _draw_block(self, answers: Codes, bits: BitSource, reports: Codes) -> None:
        cells = self.table.shape[1]
        stride = np.uint32(0 if self.table.shape[0] == 1 else cells)
        shift = np.uint32(33 - int(cells).bit_length())
        truth = np.uint32(self.truth_outcome)
        words = bits.block().view(np.uint32)
        if _look_up(words, answers, self.table.ravel(), stride, shift, truth, reports):
            words = words.copy()  # the source may use its buffer again
            fresh = bits.block().view(np.uint32)
            _settle_words(words, fresh, answers, self.table.ravel(), self.fine.ravel(), stride, shift, truth, reports)


@compiled
def _fill_cells(left, other, capacity):  # type: ignore[no-untyped-def]
    # Robin Hood: a cell that is not full is topped up by one that overflows. All weights are
    # integers and add up to cells x capacity, so the very last cell is exactly full.
    tables, cells = left.shape
    needy = np.empty(cells, np.int64)
    rich = np.empty(cells, np.int64)
    for t in range(tables):
        n_needy, n_rich = 0, 0
        for c in range(cells):
            other[t, c] = c
            if left[t, c] < capacity:
                needy[n_needy] = c
                n_needy += 1
            elif left[t, c] > capacity:
                rich[n_rich] = c
                n_rich += 1
        while n_needy > 0 and n_rich > 0:
            n_needy -= 1
            poor, giver = needy[n_needy], rich[n_rich - 1]
            other[t, poor] = giver
            remains = left[t, giver] - (capacity - left[t, poor])
            left[t, giver] = remains
            if remains <= capacity:
                n_rich -= 1
                if remains < capacity:
                    needy[n_needy] = giver
                    n_needy += 1


@compiled
def _look_up(words, answers, table, stride, shift, truth, reports):  # type: ignore[no-untyped-def]
    # No branch depends on a random bit, and every number is 32 bits wide and unsigned: the compiler turns
    # the loop into vector instructions. Whether anything tied at all is remembered, not where.
    mask = np.uint32((np.uint64(1) << np.uint64(shift)) - np.uint64(1))
    tied = np.uint32(0)
    for i in range(answers.shape[0]):
        answer = np.uint32(answers[i])
        cell = np.uint32(words[i] >> shift)
        within = np.uint32(words[i] & mask)
        entry = table[np.uint64(answer) * np.uint64(stride) + np.uint64(cell)]
        limit = np.uint32(entry >> np.uint64(32))
        outcome = cell if within < limit else np.uint32(entry)
        reports[i] = answer if outcome == truth else outcome
        tied |= np.uint32(within == limit)
    return tied


@compiled
def _settle_words(words, fresh, answers, table, fine, stride, shift, truth, reports):  # type: ignore[no-untyped-def]
    mask = np.uint32((np.uint64(1) << np.uint64(shift)) - np.uint64(1))
    for i in range(answers.shape[0]):
        answer = np.uint32(answers[i])
        cell = np.uint32(words[i] >> shift)
        where = np.uint64(answer) * np.uint64(stride) + np.uint64(cell)
        entry = table[where]
        if np.uint32(words[i] & mask) == np.uint32(entry >> np.uint64(32)):
            within = fresh[i] >> np.uint32(2)  # the 30 bits that the first word left undecided
            outcome = cell if within < fine[where] else np.uint32(entry)
            reports[i] = answer if outcome == truth else outcome
