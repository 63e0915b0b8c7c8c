"""How a tagger is fitted: node or chain, whichever foresees counts better."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from askance.arrays import Floats, Singles
from askance.learning.counting.chain_crf import ChainModel
from askance.learning.counting.chain_features import WordNames
from askance.learning.counting.counted_regions import Corpus, Places, Regions, chosen
from askance.learning.counting.held_out import Judged, dealt, judged_by, node_scores, quality
from askance.learning.counting.miscounts import miscount_odds
from askance.learning.counting.node_model import NodeModel
from askance.learning.counting.tagger_chain import EARLY_PASSES, ChainCourse, default_passes
from askance.learning.counting.tagger_history import PassLog
from askance.learning.counting.tagger_node import node_from_counts, node_work
from askance.learning.counting.tagger_progress import FitProgress
from askance.learning.counting.window_chains import ChainLearner, Windows

NODE_PASSES = 3  # of node models that only teach a chain, or are only compared with one
_LATE = 2  # passes of a chain over everything, with what was held out until then


@dataclass(frozen=True)
class How:
    """The choices of a fit, as CountTagger names them."""

    method: str
    structure: str
    solver: str
    passes: int | None
    own: WordNames | None


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, which structure it has, its quality on windows held out, and which windows seem miscounted."""

    model: NodeModel | ChainModel
    structure: str
    held_out: dict[str, Any] | None
    share: float | None = None  # of windows that are off
    odds: Floats | None = None  # of each region, that it is


@dataclass(eq=False)
class TaggerFit:
    """One fit of a tagger to regions of a corpus."""

    corpus: Corpus
    regions: Regions
    rng: np.random.Generator
    log: PassLog
    how: How
    progress: FitProgress = field(default_factory=FitProgress)
    windows: Windows = field(init=False)

    @cached_property
    def course(self) -> ChainCourse:
        """How chains are learned: one table of features for all of them."""
        return ChainCourse(self.corpus, self.windows, self.rng, self.how.own, self.progress)

    def trusting(self) -> Fitted:
        """Every count is as it should be."""
        self.windows = Windows.of(self.corpus, self.regions)
        fold = dealt(self.regions, len(self.corpus.lengths), self.rng)
        if fold is None:
            structure = "node" if self.how.structure == "auto" else self.how.structure
            teacher = self._node_work(len(self.regions), NODE_PASSES) if structure == "chain" else 0
            self.progress.plan(teacher + self._last_work(structure, 0))
            return Fitted(self._whole(structure, np.arange(len(self.windows))), structure, None)
        unseen = fold[self.windows.sentence] == 0
        held, early = np.flatnonzero(unseen), np.flatnonzero(~unseen)
        seen = chosen(self.regions, fold[self.regions.sentence] != 0)
        last = self._last_work("node" if self.how.structure == "node" else "chain", len(held))
        self.progress.plan(self._node_work(len(seen), NODE_PASSES) + last)
        node = self._node(seen, NODE_PASSES)
        by_node = judged_by(node, self.corpus, self.windows, held)
        judged, chain = {"node": by_node}, None
        if self.how.structure != "node":
            learner = self._early_chain(node, early)
            wanted = self.how.passes or default_passes(len(self.windows))
            for _ in range(max(wanted - _LATE, 0)):
                self._go_on(learner, early)
            judged["chain"] = judged_by(learner.model(), self.corpus, self.windows, held)
            structure = self._better(judged, held)
            if structure == "chain":
                for _ in range(min(wanted, _LATE)):
                    self._go_on(learner, np.arange(len(self.windows)))
                chain = learner.model()
        structure = "node" if chain is None else "chain"
        if chain is None:
            self.progress.plan(self._last_work("node", 0))
        model = self._node(self.regions, self.how.passes, self.log) if chain is None else chain
        found = quality(judged[structure], self.windows, held) | self._compared(judged, held)
        counted = self.windows.region[held] >= 0
        share, _ = miscount_odds(judged[structure].law.off[held][counted])
        return Fitted(model, structure, found, share)

    def _last_work(self, structure: str, held: int) -> int:
        """How many windows are gone over after the first node model, all passes together."""
        if structure == "node":
            return self._node_work(len(self.regions), self.how.passes)
        many = len(self.windows)
        wanted = self.how.passes or default_passes(many)
        late = min(wanted, _LATE)
        return (many - held) * (EARLY_PASSES + wanted - late) + many * late

    def _node_work(self, regions: int, passes: int | None) -> int:
        return node_work(regions, self.how.method, passes)

    def _better(self, judged: dict[str, Judged], some: Places) -> str:
        """The structure that was asked for, or the one whose model foresees counts better."""
        if self.how.structure != "auto":
            return self.how.structure
        return max(judged, key=lambda name: judged[name].log_likelihood(some))

    def _compared(self, judged: dict[str, Judged], some: Places) -> dict[str, Any]:
        """What the choice went by, where there was one: log P(counts) by token."""
        if self.how.structure != "auto":
            return {}
        tokens = int((self.windows.ends - self.windows.begins)[some].sum())
        return {f"{name}_log_likelihood": found.log_likelihood(some) / tokens for name, found in judged.items()}

    def _whole(self, structure: str, everything: Places) -> NodeModel | ChainModel:
        """A fit that holds nothing out."""
        if structure == "node":
            return self._node(self.regions, self.how.passes, self.log)
        learner = self._early_chain(self._node(self.regions, NODE_PASSES), everything)
        for _ in range(self.how.passes or default_passes(len(everything))):
            self._go_on(learner, everything)
        return learner.model()

    def _early_chain(self, node: NodeModel, some: Places) -> ChainLearner:
        return self.course.begun(self._first_laws(node, some, some), some)

    def _first_laws(self, node: NodeModel, some: Places, judged: Places) -> Singles | None:
        """Laws of tags that a chain begins with, by a node model and a chain of words which have seen some windows."""
        if (self.windows.region[judged] < 0).all():  # labels leave nothing open
            return None
        return self.course.laws_by_words(node_scores(node, self.corpus), some, judged)

    def _go_on(self, learner: ChainLearner, some: Places) -> None:
        value = self.course.go_on(learner, some)
        self.log.note("chain", learner.model(), value)

    def _node(self, regions: Regions, passes: int | None, log: PassLog | None = None) -> NodeModel:
        how = self.how
        return node_from_counts(
            self.corpus, regions, self.rng, method=how.method, solver=how.solver, passes=passes,
            log=PassLog() if log is None else log, own=how.own, progress=self.progress,
        )  # fmt: skip
