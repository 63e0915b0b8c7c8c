"""A part-of-speech tagger learned from counts of tags in windows."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.channels.alphabet import listed
from askance.channels.region_counts import RegionCounts
from askance.engines.base import Engine
from askance.errors import InvalidInput
from askance.learning.counting.chain_crf import PASSES as CHAIN_PASSES
from askance.learning.counting.chain_crf import ChainModel
from askance.learning.counting.counted_regions import Corpus, Regions
from askance.learning.counting.node_model import NodeModel
from askance.learning.counting.tagger_chain import chain_from_counts
from askance.learning.counting.tagger_history import PassLog
from askance.learning.counting.tagger_node import node_from_counts
from askance.learning.counting.tagger_plots import accuracy_figure, tag_counts_figure
from askance.learning.counting.tagger_reading import as_arrays
from askance.learning.counting.token_features import TokenFeatures
from askance.learning.face.engine_choice import refuse_engine
from askance.learning.face.estimator import Estimator
from askance.learning.face.scoring import Of, asks_for_truth, refuse_score_of_reports
from askance.releases.reading import open_release
from askance.releases.region_release import RegionRelease
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary
from askance.tables.counted_region import checked_sentences

Sentences = Sequence[Sequence[str]]

METHODS = ("hybrid", "moments", "marginal")
STRUCTURES = ("node", "chain")
SOLVERS = ("features", "table")
_NODE_PASSES = 3  # of node models that only label windows for a chain
_STEPS = np.float32(1024)  # weights are kept in steps of its inverse: a saved model is small, and predicts the same


class CountTagger(Estimator):
    """Learn to tag tokens from counts: in this window of the sentence there are two nouns and a verb.

    Parameters
    ----------
    method : {"hybrid", "moments", "marginal"}
        How the node model p(tag | word) is fitted. "moments": the shares of tags by word from a linear system, then a
        convex fit. "marginal": the likelihood of the counts, maximised by passes over the regions. "hybrid": the
        likelihood, from the moment estimate on.
    structure : {"node", "chain"}
        "node": a tag depends on the word alone. "chain": also on the words around it and on the tags beside it, learned
        from labels which node models find for the counted windows. Slower, and far more accurate.
    solver : {"features", "table"}
        Of the moments: shares that are linear in features of the word (default), or the paper's table of one share for
        each word and tag, which gets worse as windows grow.
    passes : int, optional
        Over the regions, of the last stage. A number that did well elsewhere if not given: more where regions are few.
    tags : sequence of str, optional
        All tags that there are. Those of the release, or those that occur, if not given.
    rounds : int
        For the chain: how often the windows are labelled anew by chains that have not seen them.
    folds : int
        For the chain: the parts that sentences are split in for that.
    random_state : int, Generator or None
        The order of sentences is drawn from it.

    Attributes
    ----------
    classes_ : array of str
        The tags.
    history_ : list of dict
        For each pass: ``stage`` ("moments", "marginal"; of a chain "chain" alone), ``pass``, ``cpu_seconds`` since the
        fit began, ``log_likelihood`` of the counts where it is known, and ``accuracy`` if ``fit`` was given a
        validation set.
    counts_explained_ : float
        The share of all counts that the tags predicted for the same windows have too: an upper bound of the accuracy
        there.
    tag_counts_ : array of 2 x tags, or None
        How often each tag was counted in all windows, and how often it is predicted there. None in a tagger that an
        earlier version saved.
    feature_names_, weights_ : tuple of str, array of features x tags
    transitions_ : array of tags x tags, or None
        Weights from tag to tag, of a chain.
    n_sentences_, n_regions_, n_counted_ : int
        Sentences, regions, and tokens in regions.

    Examples
    --------
    >>> import askance as ask
    >>> sentences = [["the", "dog", "barks"], ["a", "dog", "sleeps"], ["the", "cat", "sleeps"]] * 20
    >>> channel = ask.RegionCounts(["DT", "NN", "VB"], width=2)
    >>> regions = channel.simulate([["DT", "NN", "VB"]] * 60, np.random.default_rng(0))
    >>> tagger = ask.CountTagger(random_state=0).fit(sentences, regions)
    >>> tagger.predict([["the", "cat", "barks"]])
    [['DT', 'NN', 'VB']]

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), section 4.
    """

    tag_counts_: NDArray[np.int64] | None

    def __init__(
        self,
        method: str = "hybrid",
        structure: str = "node",
        solver: str = "features",
        passes: int | None = None,
        *,
        tags: Any = None,
        rounds: int = 2,
        folds: int = 2,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.structure = structure
        self.solver = solver
        self.passes = passes
        self.tags = tags
        self.rounds = rounds
        self.folds = folds
        self.random_state = random_state

    def fit(
        self, sentences: Any, regions: Any = None, *, validation: tuple[Sentences, Sentences] | None = None
    ) -> Self:
        """Learn from annotated regions.

        Parameters
        ----------
        sentences : list of lists of words; or a RegionRelease that has its sentences
        regions : RegionRelease, or list of mappings
            ``{"sentence": 0, "start": 2, "width": 3, "counts": {"NN": 2}, "tags": ["NN", "DT"]}``: numbers count from
            0, ``tags`` are those that were asked for, and are left out where all were. ``{"sentence": 1, "labels":
            ["DT", "NN"]}``: a labelled sentence. Any mixture, any number for a sentence.
        validation : pair of sentences and their tags, optional
            To note the accuracy after each pass. Nothing is chosen by it.

        Raises
        ------
        InvalidInput
            If an annotation cannot be true; the message names the sentence.
        """
        self._check_parameters()
        if regions is None and isinstance(sentences, RegionRelease):
            sentences, regions = None, sentences
        return self._fit_checked(RegionRelease.of(regions, sentences, self.tags), validation)

    def fit_release(self, release: Any, engine: str | Engine = "local", *, sentences: Sentences | None = None) -> Self:
        """Learn from a release of counted regions.

        Parameters
        ----------
        release : path or RegionRelease
        engine : "local"
            Passes over the regions, each from where the last one ended, are not sums of parts.
        sentences : list of lists of words, optional
            Where the release has regions only.
        """
        self._check_parameters()
        refuse_engine(engine, "the fit of a tagger")
        return self._fit_checked(RegionRelease.of(open_release(release, RegionRelease), sentences, self.tags), None)

    def _fit_checked(self, release: RegionRelease, validation: tuple[Sentences, Sentences] | None) -> Self:
        corpus, arrays = as_arrays(release)
        rng = _generator(self.random_state)
        self.classes_, self.guarantee_ = np.array(release.tags), release.guarantee
        log = PassLog(None if validation is None else self._accuracy_on(*_pair(validation)))
        model = (self._fit_node if self.structure == "node" else self._fit_chain)(corpus, arrays, rng, log)
        self._keep(model)
        self.history_ = log.records
        self.counts_explained_, self.tag_counts_ = _compared(self._chances(corpus), corpus, arrays)
        self.n_sentences_, self.n_regions_ = len(corpus.lengths), len(release.regions)
        self.n_counted_ = int(np.unique(arrays.tokens(corpus)).size)
        return self

    def _fit_node(self, corpus: Corpus, regions: Regions, rng: np.random.Generator, log: PassLog) -> NodeModel:
        return node_from_counts(
            corpus, regions, rng, method=self.method, solver=self.solver, passes=self.passes, log=log
        )

    def _fit_chain(self, corpus: Corpus, regions: Regions, rng: np.random.Generator, log: PassLog) -> ChainModel:
        def fit_node(some: Regions) -> NodeModel:
            return node_from_counts(
                corpus, some, rng, method=self.method, solver=self.solver, passes=_NODE_PASSES, log=PassLog()
            )

        return chain_from_counts(
            corpus, regions, fit_node, rng, rounds=self.rounds, folds=self.folds, passes=self.passes or CHAIN_PASSES,
            callback=lambda chain: log.note("chain", chain),
        )  # fmt: skip

    def _check_parameters(self) -> None:
        for name, known in (("method", METHODS), ("structure", STRUCTURES), ("solver", SOLVERS)):
            if getattr(self, name) not in known:
                raise InvalidInput(f"{name}={getattr(self, name)!r}", f"one of {', '.join(known)}")
        for name, least in (("passes", 1), ("rounds", 0), ("folds", 2)):
            value = getattr(self, name)
            if name == "passes" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise InvalidInput(f"{name}={value!r}", f"{least} or more")

    def _keep(self, model: NodeModel | ChainModel) -> None:
        """Keep the weights that matter, rounded: no training data."""
        names, weights = (
            (model.features, model.weights) if isinstance(model, ChainModel) else (model.features.names, model.theta)
        )
        rounded = np.rint(weights * _STEPS) / _STEPS
        used = rounded.any(axis=1)
        self.feature_names_ = tuple(name for name, kept in zip(names, used.tolist(), strict=True) if kept)
        self.weights_ = rounded[used]
        self.transitions_ = model.transitions if isinstance(model, ChainModel) else None
        self.__dict__.pop("_model", None)

    def _fitted(self) -> NodeModel | ChainModel:
        check_is_fitted(self, "weights_")
        found: NodeModel | ChainModel | None = self.__dict__.get("_model")
        if found is None:
            found = (
                NodeModel(TokenFeatures(self.feature_names_), self.weights_)
                if self.transitions_ is None
                else ChainModel(self.feature_names_, self.weights_, self.transitions_)
            )
            self._model = found
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_model"}

    def _chances(self, corpus: Corpus) -> NDArray[np.floating]:
        return _chances(self._fitted(), corpus)

    def _accuracy_on(self, sentences: Sentences, tags: Sentences) -> Any:
        corpus, truth = self._with_truth(sentences, tags)
        return lambda model: float(np.mean(_chances(model, corpus).argmax(axis=1) == truth))

    def _with_truth(self, sentences: Sentences, tags: Sentences) -> tuple[Corpus, NDArray[np.int64]]:
        read = checked_sentences(sentences)
        if isinstance(tags, str) or not isinstance(tags, Iterable):
            raise InvalidInput(f"tags={tags!r}", "a list of tags for each sentence")
        tags = [list(its) if isinstance(its, Iterable) else [its] for its in tags]
        if len(tags) != len(read):
            raise InvalidInput(f"tags of {len(tags)} sentences for {len(read)} sentences", "as many")
        for number, (words, its) in enumerate(zip(read, tags, strict=True)):
            if len(words) != len(its):
                raise InvalidInput(f"sentence {number}: {len(its)} tags for {len(words)} words", "one tag a word")
        # A tag that was never heard of is a mistake whatever is predicted.
        codes = {tag: code for code, tag in enumerate(self.classes_.tolist())}
        return Corpus.of(read), np.array([codes.get(tag, -1) for its in tags for tag in its])

    def predict_proba(self, sentences: Sentences) -> list[Floats]:
        """Return, for each sentence, the probability of each tag, tokens x tags."""
        check_is_fitted(self, "weights_")
        corpus = Corpus.of(checked_sentences(sentences))
        chances = self._chances(corpus).astype(np.float64)
        chances /= chances.sum(axis=1, keepdims=True)
        return [chances[begin:end] for begin, end in pairwise(corpus.starts.tolist())]

    def predict(self, sentences: Sentences) -> list[list[str]]:
        """Return the likeliest tag of each token."""
        check_is_fitted(self, "weights_")
        corpus = Corpus.of(checked_sentences(sentences))
        tags = self.classes_[self._chances(corpus).argmax(axis=1)].tolist()
        return [tags[begin:end] for begin, end in pairwise(corpus.starts.tolist())]

    def score(self, sentences: Sentences, tags: Any, *, of: Of = "reports") -> float:
        """Return the share of tokens whose tag is predicted, with ``of="truth"`` and the tag of every token.

        Counted regions are refused: they do not say which token has which tag, so that a tagger may have every count
        right and every tag wrong. ``counts_explained_`` is what they do say, an upper bound of the accuracy.
        """
        if not asks_for_truth(of):
            raise refuse_score_of_reports(
                "a tagger",
                "counts do not say which token has which tag",
                "Label some sentences; what counts alone say is counts_explained_, an upper bound.",
            )
        check_is_fitted(self, "weights_")
        return float(self._accuracy_on(sentences, tags)(self._fitted()))

    def summary(self, level: float = 0.95) -> Summary:
        """Return what was learned from what, and how well it fits; a tagger has no standard errors."""
        check_is_fitted(self, "weights_")
        facts = [
            ("sentences", f"{self.n_sentences_:,}"),
            ("regions", f"{self.n_regions_:,} ({self.n_counted_:,} tokens)"),
            ("tags", f"{len(self.classes_)} ({listed(self.classes_.tolist(), 6)})"),
            ("held-in fit", f"predicted tags have {100 * self.counts_explained_:.1f}% of the counts"),
        ]
        if self.history_:
            facts.append(("CPU seconds", f"{self.history_[-1]['cpu_seconds']:.1f}"))
        title = f"Tagger from counts: {self.structure} model by {self.method}"
        return Summary(title, level=level, facts=tuple(facts), privacy=self.privacy_statement_)

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return how often each tag was counted and is predicted, and the accuracy by pass where it was watched."""
        check_is_fitted(self, "weights_")
        watched = bool(self.history_) and "accuracy" in self.history_[0]
        counts = () if self.tag_counts_ is None else (tag_counts_figure(self.tag_counts_, self.classes_.tolist()),)
        return (*counts, *([accuracy_figure(self.history_)] if watched else []))

    def fill_in(self) -> None:
        if not hasattr(self, "guarantee_"):
            self.guarantee_, self.tag_counts_ = RegionCounts(self.classes_.tolist()).guarantee, None
        super().fill_in()


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidInput(f"random_state={random_state!r}", "a whole number from 0, a Generator or None") from None


def _pair(validation: Any) -> tuple[Sentences, Sentences]:
    try:
        sentences, tags = validation
    except (TypeError, ValueError):
        raise InvalidInput(f"validation={validation!r}", "a pair: sentences, and their tags") from None
    return sentences, tags


def _chances(model: NodeModel | ChainModel, corpus: Corpus) -> NDArray[np.floating]:
    """P(tag) of every token, tokens x tags."""
    if isinstance(model, ChainModel):
        return model.chances(corpus)
    return model.probabilities(corpus.vocabulary)[corpus.words]


def _compared(chances: NDArray[np.floating], corpus: Corpus, regions: Regions) -> tuple[float, NDArray[np.int64]]:
    """Compare the counts of windows with those of the tags that are likeliest there.

    Returns the share of counts, "other" among them, that both have, and how often each asked tag was counted and found.
    """
    owner = np.repeat(np.arange(len(regions)), regions.width)
    predicted = chances[regions.tokens(corpus)].argmax(axis=1)
    was_asked = regions.asked[regions.subset[owner], predicted]
    found = np.zeros((len(regions), regions.tags + 1), np.int64)
    np.add.at(found, (owner, np.where(was_asked, predicted, regions.tags)), 1)
    counts = regions.dense_counts()
    counts = np.column_stack([counts, regions.width - counts.sum(axis=1)])
    shared = float(np.minimum(found, counts).sum() / regions.width.sum())
    return shared, np.stack([counts.sum(axis=0), found.sum(axis=0)])[:, :-1]
