"""Sentences whose regions were counted: the flat arrays that a tagger learns from.

A :class:`Corpus` is all sentences, word type by word type. :class:`Regions` are windows of them, each with how often it
holds every tag that was asked for. What was not asked for is one class, "other", whose count is what is left of the
window. A labelled token is a region of width one (:func:`labelled`), so that labels and counts mix freely.

Nothing here is checked against the sentences; whoever reads annotations does that. Impossible counts still cannot pass
unseen: a fit raises an error that names the sentence whose counts have probability zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Flags

Ids = NDArray[np.int32]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences as one array of word types.

    Parameters
    ----------
    words : array of int32, tokens
        The word type of every token: its place in the vocabulary.
    starts : array of int64, sentences + 1
        Sentence i holds the tokens from starts[i] to starts[i + 1].
    vocabulary : tuple of str
        The word types.

    Examples
    --------
    >>> corpus = Corpus.of([["a", "fox"], ["a", "dog", "barks"]])
    >>> corpus.words, corpus.starts
    (array([0, 1, 0, 2, 3], dtype=int32), array([0, 2, 5]))
    >>> corpus.vocabulary
    ('a', 'fox', 'dog', 'barks')
    """

    words: Ids
    starts: Places
    vocabulary: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]]) -> "Corpus":
        """Number the word types by their first occurrence."""
        known: dict[str, int] = {}
        words = [known.setdefault(word, len(known)) for sentence in sentences for word in sentence]
        lengths = [len(sentence) for sentence in sentences]
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
        return cls(np.array(words, np.int32), starts, tuple(known))

    @property
    def lengths(self) -> Places:
        return np.diff(self.starts)


@dataclass(frozen=True, eq=False)
class Regions:
    """Windows of sentences, with the counts of the tags that were asked for.

    Parameters
    ----------
    sentence : array of int64, regions
        Which sentence a region lies in.
    start, width : arrays of int64, regions
        Its first token, counted from the sentence's own first token, and how many tokens it has.
    offsets : array of int64, regions + 1
        Region r's counts are the entries from offsets[r] to offsets[r + 1] of ``tag`` and ``count``.
    tag, count : arrays of int32
        Asked tags that occur, and how often; a tag that was asked for and is not listed occurs zero times.
    subset : array of int64, regions
        Which row of ``asked`` holds for the region.
    asked : array of bool, subsets x tags
        Which tags were asked for. The others are one class, whose count is the width less all counts.

    Examples
    --------
    >>> everything = np.ones((1, 3), bool)
    >>> first = count_tags(np.array([0, 2, 2, 1]), np.array([0, 4]), [0], [1], [3], [0], everything)
    >>> first.tag, first.count
    (array([1, 2], dtype=int32), array([1, 2], dtype=int32))
    >>> both = join([first, labelled([0], [0], [0], 3)])
    >>> len(both), both.tags, both.offsets
    (2, 3, array([0, 2, 3]))
    """

    sentence: Places
    start: Places
    width: Places
    offsets: Places
    tag: Ids
    count: Ids
    subset: Places
    asked: Flags

    def __len__(self) -> int:
        return len(self.sentence)

    @property
    def tags(self) -> int:
        """How many tags there are, asked for or not."""
        return int(self.asked.shape[1])

    @property
    def token_offsets(self) -> Places:
        """Where each region's tokens begin in an array of the tokens of all regions, one after the other."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.width)])

    def never_apart(self) -> list[list[int]]:
        """Return groups of tags that occur, and that every region asks for and counts alike.

        Nothing changes if two of them change places in all sentences: no count tells which is which.
        """
        region = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        by_tag: dict[tuple[bytes, ...], list[int]] = {}
        for tag in range(self.tags):
            here = (self.tag == tag) & (self.count > 0)
            if here.any():
                counted = (region[here].tobytes(), self.count[here].tobytes(), self.asked[:, tag].tobytes())
                by_tag.setdefault(counted, []).append(tag)
        return [alike for alike in by_tag.values() if len(alike) > 1]

    def tokens(self, corpus: Corpus) -> Places:
        """Places in ``corpus.words`` of the tokens of all regions, one region after the other."""
        ends = np.cumsum(self.width)
        first = corpus.starts[self.sentence] + self.start
        return np.repeat(first - (ends - self.width), self.width) + np.arange(int(self.width.sum()))

    def dense_counts(self) -> Places:
        """Counts as a table, regions x tags: zero where a tag was not asked for."""
        table = np.zeros((len(self), self.tags), np.int64)
        table[np.repeat(np.arange(len(self)), np.diff(self.offsets)), self.tag] = self.count
        return table


def count_tags(
    labels: NDArray[np.integer],
    starts: Places,
    sentence: Sequence[int] | Places,
    start: Sequence[int] | Places,
    width: Sequence[int] | Places,
    subset: Sequence[int] | Places,
    asked: Flags,
) -> Regions:
    """Count the asked tags of windows whose labels are known: what an annotator does.

    Parameters
    ----------
    labels : array, tokens
        The tag of every token.
    starts : array, sentences + 1
        As of :class:`Corpus`.
    sentence, start, width, subset, asked
        As of :class:`Regions`.
    """
    sentence, start, width, subset = (np.asarray(column, np.int64) for column in (sentence, start, width, subset))
    regions, tags = len(sentence), asked.shape[1]
    blank, nothing = np.zeros(regions + 1, np.int64), np.empty(0, np.int32)
    frame = Regions(sentence, start, width, blank, nothing, nothing, subset, asked)
    tokens = frame.tokens(Corpus(nothing, starts, ()))
    owner = np.repeat(np.arange(regions), width)
    was_asked = asked[subset[owner], labels[tokens]]
    cells, count = np.unique((owner * tags + labels[tokens])[was_asked], return_counts=True)
    offsets = np.searchsorted(cells, np.arange(regions + 1) * tags)
    return replace(frame, offsets=offsets, tag=(cells % tags).astype(np.int32), count=count.astype(np.int32))


def labelled(
    sentence: Sequence[int] | Places, place: Sequence[int] | Places, tag: Sequence[int] | Ids, tags: int
) -> Regions:
    """Regions of width one: tokens whose tag is known."""
    size = len(sentence)
    ones = np.ones(size, np.int64)
    return Regions(
        np.asarray(sentence, np.int64),
        np.asarray(place, np.int64),
        ones,
        np.arange(size + 1, dtype=np.int64),
        np.asarray(tag, np.int32),
        ones.astype(np.int32),
        np.zeros(size, np.int64),
        np.ones((1, tags), bool),
    )


def join(parts: Sequence[Regions]) -> Regions:
    """All regions of several annotations of one corpus, with the same tags."""
    shifts = np.cumsum([0] + [len(part.asked) for part in parts[:-1]])
    entries = np.concatenate([np.diff(part.offsets) for part in parts])
    return Regions(
        np.concatenate([part.sentence for part in parts]),
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.width for part in parts]),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(entries)]),
        np.concatenate([part.tag for part in parts]),
        np.concatenate([part.count for part in parts]),
        np.concatenate([part.subset + shift for part, shift in zip(parts, shifts, strict=True)]),
        np.concatenate([part.asked for part in parts]),
    )


def chosen(regions: Regions, wanted: Flags) -> Regions:
    """Some of the regions, in their order.

    Examples
    --------
    >>> three = labelled([0, 1, 2], [0, 0, 0], [1, 0, 1], 2)
    >>> some = chosen(three, np.array([True, False, True]))
    >>> some.sentence, some.tag, some.offsets
    (array([0, 2]), array([1, 1], dtype=int32), array([0, 1, 2]))
    """
    entries = np.diff(regions.offsets)
    kept = np.repeat(wanted, entries)
    return Regions(
        regions.sentence[wanted],
        regions.start[wanted],
        regions.width[wanted],
        np.concatenate([np.zeros(1, np.int64), np.cumsum(entries[wanted])]),
        regions.tag[kept],
        regions.count[kept],
        regions.subset[wanted],
        regions.asked,
    )
