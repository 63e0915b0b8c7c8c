"""From counts to a chain: a node model, a chain that sees words alone, a chain that sees what is around them.

Each of them teaches the next, by its laws of tags given the counts, for one pass. All further passes are steps on the
likelihood of the counts.
"""

import numpy as np

from askance.arrays import Singles
from askance.learning.counting.chain_features import ContextTable, WordNames
from askance.learning.counting.counted_regions import Corpus, Places
from askance.learning.counting.tagger_progress import FitProgress
from askance.learning.counting.window_chains import ChainLearner, Windows, window_laws

# Chosen on the development files of the English and the Turkish treebank (docs/decisions/0011-counting.md).
PASSES = 4  # of the chain over counts, averaged
_OWN_PASSES = 3  # of the chain that sees words alone
EARLY_PASSES = 1 + _OWN_PASSES + 1  # of both, until there is a chain that sees everything
_STEPS, _MOST_PASSES = 2000, 20  # a pass over few windows is few steps: small corpora get more passes


class ChainCourse:
    """How chains are learned from windows of a corpus, as often as they are wanted.

    Parameters
    ----------
    corpus : Corpus
    windows : Windows
    rng : numpy Generator
        Orders the windows, anew for each pass.
    own : function, optional
        The user's own features of a word.
    progress : FitProgress, optional
        Told of every pass.
    """

    def __init__(
        self,
        corpus: Corpus,
        windows: Windows,
        rng: np.random.Generator,
        own: WordNames | None = None,
        progress: FitProgress | None = None,
    ) -> None:
        self._corpus, self._windows, self._rng, self._own = corpus, windows, rng, own
        self._progress = FitProgress() if progress is None else progress
        self._table = windows.useful(ContextTable.of(corpus.vocabulary, own=own), corpus.words)

    def laws_by_words(self, scores: Singles, some: Places, judged: Places) -> Singles:
        """Learn a chain that sees words alone from some windows, and return its laws of tags given counts of others.

        ``scores`` are those of a node model, tokens x tags.
        """
        still = np.zeros((scores.shape[1],) * 2, np.float32)
        laws = window_laws(scores, still, self._windows, some).laws
        learner = ChainLearner(self._corpus, self._windows, self._table.own_words())
        self._pass(learner, some, laws)
        for _ in range(_OWN_PASSES):
            self._pass(learner, some)
        return learner.window_laws(judged).laws

    def begun(self, laws: Singles | None, some: Places) -> ChainLearner:
        """A chain that sees everything, after a first pass over laws of tags; without laws, over the counts."""
        learner = ChainLearner(self._corpus, self._windows, self._table, self._own)
        self._pass(learner, some, laws)
        return learner

    def go_on(self, learner: ChainLearner, some: Places) -> float:
        """A further pass over counts, averaged into the model."""
        return self._pass(learner, some, average=True)

    def _pass(
        self, learner: ChainLearner, some: Places, laws: Singles | None = None, *, average: bool = False
    ) -> float:
        value = learner.learn(self._rng.permutation(some), laws, average=average)
        self._progress.did(len(some))
        return value


def default_passes(windows: int) -> int:
    """How many passes over the counts do well.

    Examples
    --------
    >>> default_passes(10_000), default_passes(200), default_passes(20)
    (4, 10, 20)
    """
    return max(PASSES, min(-(-_STEPS // max(windows, 1)), _MOST_PASSES))
