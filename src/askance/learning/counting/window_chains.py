"""A chain learned from the counts themselves: online steps on log P(counts of a window).

The derivative of log P(counts) is E[features | counts] - E[features], for the features of tokens and for transitions
alike. Both expectations are taken over the window alone: words around it are seen, tags around it are left open.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Flags, Floats, Singles
from askance.learning.counting.chain_crf import ChainModel, Runs
from askance.learning.counting.chain_features import REACH, ContextTable, WordNames
from askance.learning.counting.count_posterior import impossible_counts
from askance.learning.counting.counted_regions import Corpus, Ids, Places, Regions
from askance.learning.counting.window_pass_loops import all_emissions, judged, window_pass

Chances = NDArray[Any]

# Step of Adagrad, and what its sums of squared slopes begin with, so that first steps are short. On 300 made-up
# sentences (6 tags, 5,400 tokens in windows of six) .79 to .82 of other tokens were tagged rightly with a rate of .3
# and sums from .1 to 100, .80 with these; .72 to .83 with .03, and .55 to .79 with 3. The best pair depends on the
# text.
RATE = 0.3
_FIRST_SUM = 1.0
LARGEST_TABLE = 1500  # states of (counts so far, tag): beyond, the surest tokens of a window keep their tag
CERTAIN = 0.995  # tokens that are at least so sure of their tag take no part in the programme
RARE = 2  # a feature of fewer tokens is left out


@dataclass(frozen=True, eq=False)
class Windows:
    """What a chain is learned from, by places in the corpus: counted windows, and runs of tokens whose tag is known.

    Parameters
    ----------
    begins, ends, lows, highs : arrays of int64, windows
        The tokens of a window, and of its sentence.
    offsets, tag, count, subset
        Counts, as of :class:`~askance.learning.counting.counted_regions.Regions`; a run of known tokens has none.
    region : array of int64, windows
        Which region a window is; -1 for runs.
    sentence : array of int64, windows
    known : array of int32, tokens of the corpus
        Tags that are known, else -1. They are known in the windows around them, too.
    regions : Regions
        What windows were made of.
    """

    begins: Places
    ends: Places
    lows: Places
    highs: Places
    offsets: Places
    tag: Ids
    count: Ids
    subset: Places
    region: Places
    sentence: Places
    known: Ids
    regions: Regions

    @classmethod
    def of(cls, corpus: Corpus, regions: Regions, trusted: Flags | None = None) -> "Windows":
        """Sort regions into windows whose tags are open, and runs of tokens whose tags are known.

        Known are the tags of regions of one token; with ``trusted``, of those among these alone.

        Examples
        --------
        >>> from askance.learning.counting.counted_regions import count_tags
        >>> corpus = Corpus.of([["a", "b", "c", "d"]])
        >>> every, starts, widths = np.ones((1, 2), bool), [2, 0, 1], [2, 1, 1]
        >>> counted = count_tags(np.array([0, 0, 0, 1]), corpus.starts, [0] * 3, starts, widths, [0] * 3, every)
        >>> windows = Windows.of(corpus, counted)
        >>> windows.begins, windows.ends, windows.region
        (array([2, 0]), array([4, 2]), array([ 0, -1]))
        """
        entries = np.diff(regions.offsets)
        single = (regions.width == 1) & (entries == 1)
        if trusted is not None:
            single &= trusted
        first = corpus.starts[regions.sentence] + regions.start
        known = np.full(len(corpus.words), -1, np.int32)
        known[first[single]] = regions.tag[regions.offsets[:-1][single]]
        runs, counted = Runs.of(corpus, known), np.flatnonzero(~single)
        sentence, blank = regions.sentence[counted], np.zeros(len(runs.begins), np.int64)
        ends, kept = np.cumsum(entries[counted]), np.repeat(~single, entries)
        return cls(
            np.concatenate([first[counted], runs.begins]),
            np.concatenate([first[counted] + regions.width[counted], runs.ends]),
            np.concatenate([corpus.starts[sentence], runs.lows]),
            np.concatenate([corpus.starts[sentence + 1], runs.highs]),
            np.concatenate([blank[:0], [0], ends, blank + (ends[-1] if len(ends) else 0)]).astype(np.int64),
            regions.tag[kept],
            regions.count[kept],
            np.concatenate([regions.subset[counted], blank]),
            np.concatenate([counted, blank - 1]),
            np.concatenate([sentence, np.searchsorted(corpus.starts, runs.begins, side="right") - 1]),
            known,
            regions,
        )

    def __len__(self) -> int:
        return len(self.begins)

    @property
    def places(self) -> Places:
        """Where each window's tokens begin in an array of the tokens of all windows, one after the other."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.ends - self.begins)])

    def tokens(self) -> Places:
        """Places in the corpus of the tokens of all windows, one window after the other."""
        places = self.places
        return np.repeat(self.begins - places[:-1], np.diff(places)) + np.arange(int(places[-1]))

    def useful(self, table: ContextTable, words: Ids) -> ContextTable:
        """Leave out features of fewer than two tokens in windows, which teach little and fill memory."""
        sizes = self.ends - self.begins
        lows, highs = np.repeat(self.lows, sizes), np.repeat(self.highs, sizes)
        tokens, first = np.unique(self.tokens(), return_index=True)
        return table.only(table.occurrences(words, tokens, lows[first], highs[first]) >= RARE)


@dataclass(frozen=True, eq=False)
class WindowLaws:
    """What a chain thinks of windows: laws of the tags of their tokens, log P(counts), and how far counts seem off."""

    laws: Singles
    log_likelihood: Floats
    off: Floats

    @classmethod
    def of_none(cls, windows: Windows) -> "WindowLaws":
        """Rows for all windows, empty."""
        laws = np.zeros((int(windows.places[-1]), windows.regions.tags), np.float32)
        return cls(laws, np.zeros(len(windows)), np.zeros(len(windows)))

    def with_others(self, others: "WindowLaws") -> "WindowLaws":
        """These, and those of windows that are empty here."""
        return WindowLaws(self.laws + others.laws, self.log_likelihood + others.log_likelihood, self.off + others.off)


class ChainLearner:
    """A chain on its way: weights, and the sums of squared slopes that set their pace."""

    def __init__(self, corpus: Corpus, windows: Windows, table: ContextTable, own: WordNames | None = None) -> None:
        tags = windows.regions.tags
        self._corpus, self._windows, self._table, self._own = corpus, windows, table, own
        self._weights = np.zeros((len(table.names), tags), np.float32)
        self._transitions = np.zeros((tags, tags), np.float32)
        self._sums = np.full_like(self._weights, _FIRST_SUM)
        self._transition_sums = np.full_like(self._transitions, _FIRST_SUM)
        self._averaged = 0
        self._mean = (self._weights, self._transitions)

    def learn(self, order: Places, laws: Singles | None = None, *, average: bool = False) -> float:
        """Go once over some windows, from laws of their tokens or from their counts; return the log-likelihood.

        With ``average`` the weights at the end of the pass are averaged into the model.
        """
        windows = self._windows
        wanted = np.empty((0, 0), np.float32) if laws is None else laws
        value, impossible = window_pass(
            order, windows.begins, windows.ends, windows.lows, windows.highs, windows.offsets, windows.tag,
            windows.count, windows.subset, windows.regions.asked, windows.known, wanted, windows.places,
            self._corpus.words, REACH, self._table.indptr, self._table.indices, self._weights, self._sums,
            self._transitions, self._transition_sums, np.float32(RATE), LARGEST_TABLE, CERTAIN,
        )  # fmt: skip
        if impossible >= 0:
            raise impossible_counts(windows.regions, int(windows.region[impossible]))
        if average:
            self._averaged += 1
            share = np.float32(1 / self._averaged)
            weights, transitions = self._mean
            self._mean = (
                weights + share * (self._weights - weights),
                transitions + share * (self._transitions - transitions),
            )
        return float(value)

    def model(self) -> ChainModel:
        """The chain so far: the average, where there is one."""
        weights, transitions = self._mean if self._averaged else (self._weights.copy(), self._transitions.copy())
        return ChainModel(self._table.names, weights, transitions, self._own)

    def window_laws(self, some: Places | None = None) -> WindowLaws:
        """Judge windows, all or some, by the chain so far."""
        model = self.model()
        return window_laws(token_scores(self._corpus, self._table, model), model.transitions, self._windows, some)


def token_scores(corpus: Corpus, table: ContextTable, model: ChainModel) -> Singles:
    """The sums of weights of every token, tokens x tags."""
    scores = np.empty((len(corpus.words), model.weights.shape[1]), np.float32)
    all_emissions(corpus.words, corpus.starts, REACH, table.indptr, table.indices, model.weights, scores)
    return scores


def window_laws(scores: Singles, transitions: Singles, windows: Windows, some: Places | None = None) -> WindowLaws:
    """Judge windows by scores of tokens and transitions; a node model's scores are logarithms, and transitions zero.

    The answer has rows for all windows; where only ``some`` were judged, those of the others are empty.
    """
    found = WindowLaws.of_none(windows)
    judged(
        np.arange(len(windows)) if some is None else some, windows.begins, windows.ends, windows.offsets, windows.tag,
        windows.count, windows.subset, windows.regions.asked, windows.known, scores, transitions, LARGEST_TABLE,
        CERTAIN, windows.places, found.laws, found.log_likelihood, found.off,
    )  # fmt: skip
    return found
