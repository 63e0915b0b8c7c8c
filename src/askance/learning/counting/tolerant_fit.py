"""A tagger from windows some of which were miscounted: those that models which have not seen them doubt are left out.

Sentences are dealt to folds, and the windows of each are judged by a model of the others, twice: at first by models
that have learned from miscounted windows too, then by models without those that were doubted. What chains begin with,
laws of tags by words, is learned once for all of them. It has seen the windows that it is used on, and this makes it
the milder judge, while what each chain learns from counts it learns from other sentences.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Flags, Floats, Singles
from askance.errors import InvalidInput
from askance.learning.counting.chain_crf import ChainModel
from askance.learning.counting.counted_regions import Places, Regions, chosen
from askance.learning.counting.held_out import Judged, judged_by, quality
from askance.learning.counting.miscounts import DOUBT, SUSPECT, miscount_odds
from askance.learning.counting.node_model import NodeModel
from askance.learning.counting.tagger_chain import EARLY_PASSES, default_passes
from askance.learning.counting.tagger_fit import NODE_PASSES, Fitted, TaggerFit
from askance.learning.counting.window_chains import WindowLaws, Windows

# Chains of four fifths know more words than chains of one half. Share of miscounted windows among those flagged, and of
# miscounted ones that are flagged, with two halves judged once and with five folds judged twice: .86 and .46 -> .94 and
# .59 on the dev and test files of Turkish, .85 and .48 -> .89 and .66 on the dev file of English (windows of eight, a
# tenth moved by one, draws 501 and 502, by which it was chosen; of other draws see ``SUSPECT``). Node models take most
# of the time of a fit, and are judges in halves.
_FOLDS = {"node": 2, "chain": 5}
_PASSES = (1, 2)  # of the chains that judge at first, and again


@dataclass(eq=False)
class TolerantFit(TaggerFit):
    """One fit of a tagger to regions of a corpus, some of which are off by one."""

    def tolerant(self, trusted: Flags) -> Fitted:
        """Learn from the windows that are not suspected; ``trusted`` are regions of one token that were labelled."""
        self.windows = Windows.of(self.corpus, self.regions, trusted)
        everything = np.ones(len(self.windows), bool)
        fold = self._dealt(_FOLDS["chain"])
        asked = "node" if self.how.structure == "node" else "chain"
        self.progress.plan(self._work_of_choice() + self._work_after(asked))
        structure, compared, laws = self._chosen(fold)
        self.progress.plan(self._work_after(structure))
        if structure == "node":
            fold = self._dealt(_FOLDS["node"])
        first = self._judged(structure, fold, everything, laws, _PASSES[0])
        believed = self._odds(first)[1] <= DOUBT
        laws = None if laws is None else first.law.laws
        again = self._judged(structure, self._dealt(_FOLDS[structure]), believed, laws, _PASSES[1])
        share, odds = self._odds(again)
        kept = _without(odds > SUSPECT, everything)
        left = np.flatnonzero(kept)
        by_region = np.zeros(len(self.regions))
        counted = self.windows.region >= 0
        by_region[self.windows.region[counted]] = odds[counted]
        found = quality(again, self.windows, left) | compared
        if structure == "node":
            model: NodeModel | ChainModel = self._node(self._regions_of(kept), self.how.passes, self.log)
        else:
            learner = self.course.begun(None if laws is None else again.law.laws, left)
            for _ in range(self.how.passes or default_passes(len(self.windows))):
                self._go_on(learner, left)
            model = learner.model()
        return Fitted(model, structure, found, share, by_region)

    def _work_of_choice(self) -> int:
        """How many windows are gone over until a structure is chosen, all passes together."""
        if self.how.structure == "node":
            return 0
        share = 1 - 1 / _FOLDS["chain"]
        passes = EARLY_PASSES - 1 + (1 + _PASSES[-1] if self.how.structure == "auto" else 0)
        return self._node_work(int(share * len(self.regions)), NODE_PASSES) + int(share * len(self.windows)) * passes

    def _work_after(self, structure: str) -> int:
        """How many from then on: twice every fold's others, and the fit itself."""
        folds = _FOLDS[structure]
        if structure == "node":
            others = len(self.regions) * (folds - 1) // folds
            rounds = len(_PASSES) * folds * self._node_work(others, NODE_PASSES)
            return rounds + self._node_work(len(self.regions), self.how.passes)
        many = len(self.windows)
        rounds = (folds - 1) * many * sum(1 + passes for passes in _PASSES)
        return rounds + many * (1 + (self.how.passes or default_passes(many)))

    def _chosen(self, fold: NDArray[np.int64]) -> tuple[str, dict[str, float], Singles | None]:
        """Choose a structure by the windows of one fold, which neither model has seen; and say what chains begin with.

        The one whose tags have more of the counts is chosen: a window that is off costs either of them one count at
        most, where its probability may be anything. Of twelve folds, in all of which the chain tagged better, this
        chose it in twelve, the probability of the windows that neither suspects in eleven (dev and test files of
        Turkish, draws 501, 502 and 504, dev file of English, draw 503; in eight after one pass).
        """
        if self.how.structure == "node":
            return "node", {}, None
        windows, unseen = self.windows, fold[self.windows.sentence] == 0
        mine, others = np.flatnonzero(unseen), np.flatnonzero(~unseen)
        node = self._node(chosen(self.regions, fold[self.regions.sentence] != 0), NODE_PASSES)
        laws = self._first_laws(node, others, np.arange(len(windows)))
        if self.how.structure == "chain":
            return "chain", {}, laws
        models: dict[str, NodeModel | ChainModel] = {"node": node, "chain": self._chain(laws, others, _PASSES[-1])}
        shared = {
            name: quality(judged_by(model, self.corpus, windows, mine), windows, mine)["counts"]
            for name, model in models.items()
        }
        structure = "chain" if shared["chain"] > shared["node"] else "node"
        return structure, {f"{name}_counts": share for name, share in shared.items()}, laws

    def _judged(
        self, structure: str, fold: NDArray[np.int64], believed: Flags, laws: Singles | None, passes: int
    ) -> Judged:
        """Judge the windows of each fold by a model of those in the others that are believed."""
        windows, corpus, own_fold = self.windows, self.corpus, fold[self.windows.sentence]
        fold_of_token = np.repeat(fold, corpus.lengths)
        predicted = np.zeros(len(corpus.words), np.int64)
        total = WindowLaws.of_none(windows)
        for number in range(int(fold.max()) + 1):
            others = _without(~believed, own_fold != number)
            model: NodeModel | ChainModel = (
                self._node(self._regions_of(others), NODE_PASSES)
                if structure == "node"
                else self._chain(laws, np.flatnonzero(others), passes)
            )
            judged = judged_by(model, corpus, windows, np.flatnonzero(own_fold == number))
            total = total.with_others(judged.law)
            predicted[fold_of_token == number] = judged.predicted[fold_of_token == number]
        return Judged(total, predicted)

    def _regions_of(self, wanted: Flags) -> Regions:
        """The regions of some windows; labelled tokens, which are no windows, go with their sentence."""
        windows, counted = self.windows, self.windows.region >= 0
        kept = np.isin(self.regions.sentence, windows.sentence[wanted & ~counted])
        kept[windows.region[counted]] = wanted[counted]
        return chosen(self.regions, kept)

    def _chain(self, laws: Singles | None, some: Places, passes: int) -> ChainModel:
        learner = self.course.begun(laws, some)
        for _ in range(passes):
            self.course.go_on(learner, some)
        return learner.model()

    def _odds(self, judged: Judged) -> tuple[float, Floats]:
        """The share of windows that are off, and the odds of each; none of tokens that were labelled."""
        counted = self.windows.region >= 0
        odds = np.zeros(len(self.windows))
        share, odds[counted] = miscount_odds(judged.law.off[counted])
        return share, odds

    def _dealt(self, folds: int) -> NDArray[np.int64]:
        """Deal annotated sentences to folds, as many in each; -1 of the others."""
        annotated = np.unique(self.regions.sentence)
        if len(annotated) < 2:
            raise InvalidInput(
                'tolerance="model" with regions of one sentence', "two sentences or more: one is judged by the others"
            )
        fold = np.full(len(self.corpus.lengths), -1)
        fold[annotated] = self.rng.permutation(np.arange(len(annotated)) % folds)
        return fold


def _without(doubted: Flags, some: Flags) -> Flags:
    """Some windows without those that are doubted; with them, where no others are left to learn from."""
    left = some & ~doubted
    return left if left.any() else some
