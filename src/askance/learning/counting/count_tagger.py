"""A part-of-speech tagger learned from counts of tags in windows."""

import warnings
from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.channels.alphabet import listed
from askance.channels.region_counts import RegionCounts
from askance.engines.base import Engine
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.learning.counting.chain_crf import ChainModel
from askance.learning.counting.chain_features import named
from askance.learning.counting.counted_regions import Corpus
from askance.learning.counting.held_out import judged_by, quality
from askance.learning.counting.miscounts import SUSPECT, listed_suspects
from askance.learning.counting.node_model import NodeModel
from askance.learning.counting.tagger_fit import How, TaggerFit
from askance.learning.counting.tagger_history import PassLog
from askance.learning.counting.tagger_options import check_options, generator_of
from askance.learning.counting.tagger_plots import accuracy_figure, tag_counts_figure
from askance.learning.counting.tagger_progress import FitProgress, Listener
from askance.learning.counting.tagger_reading import as_arrays, opened
from askance.learning.counting.tagger_truth import accuracy_on, compared_counts, tag_chances, watched_accuracy
from askance.learning.counting.token_features import TokenFeatures
from askance.learning.counting.tolerant_fit import TolerantFit
from askance.learning.counting.window_chains import Windows
from askance.learning.face.engine_choice import refuse_engine
from askance.learning.face.estimator import Estimator
from askance.learning.face.scoring import Of, asks_for_truth
from askance.releases.region_release import RegionRelease
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary
from askance.tables.counted_region import checked_sentences

Sentences = Sequence[Sequence[str]]

_STEPS = np.float32(1024)  # weights are kept in steps of its inverse: a saved model is small, and predicts the same


class CountTagger(Estimator):
    """Learn to tag tokens from counts: in this window of the sentence there are two nouns and a verb.

    Parameters
    ----------
    method : {"hybrid", "moments", "marginal"}
        How the node model p(tag | word) is fitted. "moments": the shares of tags by word from a linear system, then a
        convex fit. "marginal": the likelihood of the counts, maximised by passes over the regions. "hybrid": the
        likelihood, from the moment estimate on.
    structure : {"auto", "node", "chain"}
        "node": a tag depends on the word alone. "chain": also on the words around it and on the tags beside it, learned
        from the likelihood of the counts. "auto": whichever of the two gives the counts of windows that it has not seen
        the higher probability; with ``tolerance``, whichever has more of these counts.
    solver : {"features", "table"}
        Of the moments: shares that are linear in features of the word (default), or the paper's table of one share for
        each word and tag, which gets worse as windows grow.
    passes : int, optional
        Over the regions, of the last stage. A number that did well elsewhere if not given: more where regions are few.
    tags : sequence of str, optional
        All tags that there are. Those of the release, or those that occur, if not given.
    tolerance : {"model"}, optional
        "model": a share of the windows was miscounted by one. The share is estimated, and windows that are off with
        odds of two to one or more, by models that have not seen them, are left out (``suspicious``). Every count is
        believed if not given.
    invalid : {"refuse", "list", "drop"}
        What to do about windows that cannot be as they are told, or contradict each other. "refuse": an error that
        names the first of them. "list": an error that names all. "drop": they are left out, with a warning, and
        ``dropped_`` names all.
    features : function, optional
        Your own features of a word, a list of texts, beside ours: ``lambda word: [stem(word)]``.
    random_state : int, Generator or None
        The order of sentences is drawn from it, and which are held out.

    Attributes
    ----------
    classes_ : array of str
        The tags.
    structure_ : str
        "node" or "chain".
    held_out_ : dict, or None
        How good a tagger is that has not seen some of the sentences (one in ten, until the last passes; with
        ``tolerance``, every fold of them in turn), on their windows: ``accuracy``, the share of tokens that are
        expected to be tagged right, given the counts; ``counts``, the share of counts that the predicted tags have too,
        an upper bound of it; ``log_likelihood`` of the counts by token; ``windows`` and ``tokens``, how many these
        were. After "auto" also the log-likelihoods of both structures; with ``tolerance`` the shares of counts, on one
        fold of five. None where too few sentences were annotated.
    miscount_share_ : float, or None
        The share of windows that seem to be miscounted by one: with ``tolerance`` of all, else of those held out.
    miscount_odds_ : array, or None
        With ``tolerance``: the odds of each region that it is miscounted.
    dropped_ : tuple of str
        Why regions were left out, with ``invalid="drop"``.
    history_ : list of dict
        For each pass: ``stage`` ("moments", "marginal", "chain"), ``pass``, ``cpu_seconds`` since the fit began,
        ``log_likelihood`` of the counts where it is known, and ``accuracy`` if ``fit`` was given a validation set.
    counts_explained_ : float
        The share of all counts that the tags predicted for the same windows have too. It says little about new
        sentences, and is nearly one wherever words are rare: see ``held_out_``.
    tag_counts_ : array of 2 x tags, or None
        How often each tag was counted in all windows, and how often it is predicted there. None in a tagger that an
        earlier version saved.
    feature_names_, weights_ : tuple of str, array of features x tags
    transitions_ : array of tags x tags, or None
        Weights from tag to tag, of a chain.
    n_sentences_, n_regions_, n_counted_ : int
        Sentences, regions, and tokens in regions.
    notes_ : tuple of str
        What was warned of: tags that no window tells apart.

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
    held_out_: dict[str, Any] | None
    miscount_share_: float | None
    miscount_odds_: Floats | None

    def __init__(
        self,
        method: str = "hybrid",
        structure: str = "auto",
        solver: str = "features",
        passes: int | None = None,
        *,
        tags: Any = None,
        tolerance: str | None = None,
        invalid: str = "refuse",
        features: Any = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.structure = structure
        self.solver = solver
        self.passes = passes
        self.tags = tags
        self.tolerance = tolerance
        self.invalid = invalid
        self.features = features
        self.random_state = random_state

    def fit(
        self,
        sentences: Any,
        regions: Any = None,
        *,
        validation: tuple[Sentences, Sentences] | None = None,
        progress: Listener | None = None,
    ) -> Self:
        """Learn from annotated regions.

        Parameters
        ----------
        sentences : list of lists of words, or a column of them; or a RegionRelease that has its sentences
            Columns and frames are those of pandas, polars and Arrow.
        regions : RegionRelease, list of mappings, or frame
            ``{"sentence": 0, "start": 2, "width": 3, "counts": {"NN": 2}, "tags": ["NN", "DT"]}``: numbers count from
            0, ``tags`` are those that were asked for, and are left out where all were. ``{"sentence": 1, "labels":
            ["DT", "NN"]}``: a labelled sentence. Any mixture, any number for a sentence.
        validation : pair of sentences and their tags, optional
            To note the accuracy after each pass. Nothing is chosen by it.
        progress : callable, optional
            Called after each pass with how many windows were gone over so far, and how many it will be.

        Raises
        ------
        InvalidInput
            If an annotation cannot be true; the message names the sentence.
        """
        check_options(self)
        if regions is None and isinstance(sentences, RegionRelease):
            sentences, regions = None, sentences
        checked = RegionRelease.of(regions, sentences, self.tags, invalid=self.invalid)
        return self._fit_checked(checked, validation, progress)

    def fit_release(
        self,
        release: Any,
        engine: str | Engine = "local",
        *,
        sentences: Sentences | None = None,
        progress: Listener | None = None,
    ) -> Self:
        """Learn from a release of counted regions.

        Parameters
        ----------
        release : path or RegionRelease
        engine : "local"
            Passes over the regions, each from where the last one ended, are not sums of parts.
        sentences : list of lists of words, optional
            Where the release has regions only.
        progress : callable, optional
            As of :meth:`fit`.
        """
        check_options(self)
        refuse_engine(engine, "the fit of a tagger")
        read = opened(release, self.invalid)
        checked = RegionRelease.of(read, sentences, self.tags, invalid=self.invalid)
        return self._fit_checked(checked, None, progress)

    def _fit_checked(
        self, release: RegionRelease, validation: tuple[Sentences, Sentences] | None, listener: Listener | None
    ) -> Self:
        release = release.consistent(self.invalid)
        corpus, arrays = as_arrays(release)
        self.classes_, self.guarantee_ = np.array(release.tags), release.guarantee
        log = PassLog(watched_accuracy(validation, release.tags))
        how = How(self.method, self.structure, self.solver, self.passes, self.features)
        progress = FitProgress(listener)
        given = (corpus, arrays, generator_of(self.random_state), log, how, progress)
        counted = np.array([number for number, region in enumerate(release.regions) if region.labels is None], int)
        labels = np.arange(len(arrays)) >= len(counted)  # they come last, and are trusted
        done = TaggerFit(*given).trusting() if self.tolerance is None else TolerantFit(*given).tolerant(labels)
        self._keep(done.model)
        self.structure_, self.held_out_, self.miscount_share_ = done.structure, done.held_out, done.share
        self.miscount_odds_ = None
        if done.odds is not None:
            self.miscount_odds_ = np.zeros(len(release.regions))
            self.miscount_odds_[counted] = done.odds[: len(counted)]
            self.window_places_ = np.array(
                [[region.sentence, region.start, region.width] for region in release.regions]
            )
        self.own_features_ = None if self.features is None else named(self.features)
        self.history_, self.dropped_ = log.records, release.dropped
        self.counts_explained_, self.tag_counts_ = compared_counts(self._chances(corpus), corpus, arrays)
        self.n_sentences_, self.n_regions_ = len(corpus.lengths), len(release.regions)
        self.n_counted_ = int(np.unique(arrays.tokens(corpus)).size)
        progress.end()
        self.notes_ = tuple(
            f"No window tells {listed(self.classes_[alike].tolist())} apart: each counts as many of one as of the "
            "other, so which is which was left to chance. Count windows that hold one without the other."
            for alike in arrays.never_apart()
        )
        for note in self.notes_:
            warnings.warn(note, AskanceWarning, stacklevel=3)
        return self

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
        if self.own_features_ is not None and self.features is None:
            raise NotAvailable(
                f"a tagger that was learned with features of your own ({self.own_features_}), and read without them",
                "the function that gives them",
                "Say set_params(features=...) after loading: functions are not saved.",
            )
        found: NodeModel | ChainModel | None = self.__dict__.get("_model")
        if found is None:
            found = (
                NodeModel(TokenFeatures(self.feature_names_, self.features), self.weights_)
                if self.transitions_ is None
                else ChainModel(self.feature_names_, self.weights_, self.transitions_, self.features)
            )
            self._model = found
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_model"}

    def _chances(self, corpus: Corpus) -> NDArray[np.floating]:
        return tag_chances(self._fitted(), corpus)

    def predict_proba(self, sentences: Sentences) -> list[Floats]:
        """Return, for each sentence, the probability of each tag, tokens x tags."""
        check_is_fitted(self, "weights_")
        corpus = Corpus.of(checked_sentences(sentences, blank=True))
        chances = self._chances(corpus).astype(np.float64)
        chances /= chances.sum(axis=1, keepdims=True)
        return [chances[begin:end] for begin, end in pairwise(corpus.starts.tolist())]

    def predict(self, sentences: Sentences) -> list[list[str]]:
        """Return the likeliest tag of each token."""
        check_is_fitted(self, "weights_")
        corpus = Corpus.of(checked_sentences(sentences, blank=True))
        tags = self.classes_[self._chances(corpus).argmax(axis=1)].tolist()
        return [tags[begin:end] for begin, end in pairwise(corpus.starts.tolist())]

    def score(self, sentences: Any, regions: Any, *, of: Of = "reports") -> float:
        """Return an estimate of the accuracy from counts of windows that were not learned from.

        It is the share of tokens that are expected to be tagged right, given the counts, as ``accuracy`` in
        ``held_out_``. Cross-validation takes regions by sentence: ``GridSearchCV(CountTagger(), ...).fit(sentences,
        release.by_sentence())``. With ``of="truth"`` and the tag of every token in place of ``regions``: the share of
        tokens tagged right.
        """
        if asks_for_truth(of):
            model = self._fitted()
            return accuracy_on(sentences, regions, self.classes_.tolist())(model)
        return float(self._quality(sentences, regions)["accuracy"])

    def log_likelihood(self, sentences: Any, regions: Any) -> float:
        """Return the mean of log P(counts) by token: what structures are chosen by.

        Features should not be: those that foresee counts best need not tag best.
        """
        return float(self._quality(sentences, regions)["log_likelihood"])

    def _quality(self, sentences: Any, regions: Any) -> dict[str, Any]:
        model = self._fitted()
        corpus, arrays = as_arrays(RegionRelease.of(regions, sentences, self.classes_.tolist(), invalid=self.invalid))
        windows = Windows.of(corpus, arrays)
        everything = np.arange(len(windows))
        return quality(judged_by(model, corpus, windows, everything), windows, everything)

    def suspicious(self, odds: float = SUSPECT) -> list[dict[str, Any]]:
        """Return the windows that are likelier off than these odds, the likeliest first; by default those left out.

        For each: ``region``, its number among those that were learned from, ``sentence``, ``start``, ``width``,
        ``odds`` and ``probability``. It needs a fit with ``tolerance="model"``.
        """
        check_is_fitted(self, "weights_")
        if self.miscount_odds_ is None:
            raise NotAvailable("suspicious windows of a fit that believes every count", 'tolerance="model"')
        if not isinstance(odds, int | float) or not odds >= 0:
            raise InvalidInput(f"odds={odds!r}", "a number from 0")
        return listed_suspects(self.miscount_odds_, self.window_places_, odds)

    def to_json(self) -> str:
        """Return parameters and fitted attributes as JSON; a function of your own is named in it, not kept."""
        if self.features is None:
            return super().to_json()
        bare = copy(self)
        bare.features = None
        return bare.to_json()

    def summary(self, level: float = 0.95) -> Summary:
        """Return what was learned from what, and how well it fits; a tagger has no standard errors."""
        check_is_fitted(self, "weights_")
        facts = [
            ("sentences", f"{self.n_sentences_:,}"),
            ("regions", f"{self.n_regions_:,} ({self.n_counted_:,} tokens)"),
            ("tags", f"{len(self.classes_)} ({listed(self.classes_.tolist(), 6)})"),
            ("held out", self._held_out_fact()),
        ]
        if self.miscount_odds_ is not None:
            off = int((self.miscount_odds_ > SUSPECT).sum())
            facts.append(("miscounted", f"about {100 * (self.miscount_share_ or 0):.1f}% of windows; {off:,} left out"))
        if self.history_:
            facts.append(("CPU seconds", f"{self.history_[-1]['cpu_seconds']:.1f}"))
        title = f"Tagger from counts: {self.structure_} model by {self.method}"
        return Summary(title, level=level, facts=tuple(facts), notes=self.notes_, privacy=self.privacy_statement_)

    def _held_out_fact(self) -> str:
        if self.held_out_ is None:
            return "nothing: too few sentences were annotated, or an earlier version learned it"
        many, right = self.held_out_["windows"], 100 * self.held_out_["accuracy"]
        return f"about {right:.1f}% of tokens right in {many:,} windows not learned from, by their counts"

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return how often each tag was counted and is predicted, and the accuracy by pass where it was watched."""
        check_is_fitted(self, "weights_")
        watched = bool(self.history_) and "accuracy" in self.history_[0]
        counts = () if self.tag_counts_ is None else (tag_counts_figure(self.tag_counts_, self.classes_.tolist()),)
        return (*counts, *([accuracy_figure(self.history_)] if watched else []))

    def fill_in(self) -> None:
        if not hasattr(self, "guarantee_"):
            self.guarantee_, self.tag_counts_ = RegionCounts(self.classes_.tolist()).guarantee, None
        if not hasattr(self, "structure_"):
            self.structure_, self.held_out_, self.dropped_ = self.structure, None, ()
            self.miscount_share_, self.miscount_odds_, self.own_features_ = None, None, None
        if not hasattr(self, "notes_"):
            self.notes_ = ()
        super().fill_in()

    @classmethod
    def known_parameters(cls, saved: dict[str, Any]) -> dict[str, Any]:
        """Leave out how often earlier versions labelled windows anew."""
        return {name: value for name, value in saved.items() if name not in ("rounds", "folds")}
