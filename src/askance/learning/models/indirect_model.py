"""Any exponential family, learned from what any channel let through: the estimator of [LM] section 2."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Codes, Floats
from askance.channels.alphabet import listed
from askance.channels.channel import Channel
from askance.channels.guarantee import Guarantee
from askance.channels.sequences import Sequences
from askance.engines.base import Engine
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import ArraySource, RecordSource
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.frames import refuse_other_rows
from askance.learning.answers.kept_fit import fill_in_fit, fit_table, keep_fit, why_penalised
from askance.learning.answers.softmax_fit import fit_softmax
from askance.learning.answers.softmax_problem import SoftmaxProblem
from askance.learning.face.checked_features import checked_features
from askance.learning.face.classes import class_array
from askance.learning.face.hidden_truth import Estimate
from askance.learning.face.likelihood_results import NO_MOMENTS, NOT_INDEPENDENT, LikelihoodResults
from askance.learning.face.predicted_intervals import PredictedIntervals
from askance.learning.face.release_records import records_of, refuse_other_channel
from askance.learning.face.release_regression import RegressionTerms, ReleaseRegression
from askance.learning.face.requested_ridge import checked_ridge
from askance.learning.face.sample_weights import checked_weights
from askance.learning.face.scoring import Of, accuracy_from_reports, asks_for_truth, refuse_score_of_reports
from askance.learning.face.softmax_law import SoftmaxLaw
from askance.learning.face.wald_results import free_directions
from askance.learning.models.chain_fit import FittedChain, fit_chain, fit_released_chain
from askance.learning.models.chain_loops import likeliest
from askance.learning.models.chain_problem import ChainProblem, Method
from askance.learning.models.evidence import checked_channel, is_finite, report_law
from askance.learning.models.families import Chain, Family, States
from askance.learning.models.fitted import Fitted
from askance.learning.models.model_facts import chain_facts, own_facts
from askance.learning.models.own_fit import fit_own, own_probabilities
from askance.learning.models.state_fit import state_law, state_probabilities, state_problem
from askance.learning.models.token_features import token_table
from askance.releases.release import Release
from askance.reports.summary import Summary
from askance.statistics.base import Records

_MOST_ROWS = 200  # parameters that a summary lists
_SINGLE = 20_000  # parameters beyond which single precision is kept: as text they would fill megabytes


class IndirectModel(PredictedIntervals, LikelihoodResults, ReleaseRegression):
    """An exponential family p(y | x) ∝ exp(theta . phi(x, y)) from reports instead of truths.

    Parameters
    ----------
    family : States, Chain, or a family of one's own
        What a truth is, and its features. ``States()`` is the softmax model;
        :class:`~askance.learning.models.Family` says what a family of one's own must have.
    channel : channel
        How the truth was hidden: any finite channel, :class:`~askance.Coarsening`, :class:`~askance.CandidateSets`,
        :class:`~askance.Repeated`, a :class:`~askance.DesignPerRow`; a response on the features of the truth
        (:class:`~askance.PerValueFlip`, :class:`~askance.CoordinateRelease`, :class:`~askance.SampledCoordinates`,
        :class:`~askance.WindowRelease`; by moments all that hide rows of numbers); for sequences
        :class:`~askance.PerToken`.
    method : {"marginal", "moments"}
        "marginal" maximises the likelihood of the reports: efficient, always possible. "moments" estimates the
        sufficient statistics by averages and solves a concave problem; refused where reports do not determine them.
    ridge : "auto" or float
        Penalty ``ridge / 2 * sum(theta ** 2)`` on the summed objective; the intercept of States is free. "auto": none
        where the data have a finite estimate without. Of States, log-F or a ridge towards the base rate take its place,
        as in :class:`~askance.IndirectClassifier`; for chains with more features than tokens can tell it is 3, and
        where a chain has no finite estimate 1, by moments the root of the number of tokens, which is said.
    fit_intercept : bool
        Whether States adds a constant to the features of x.
    decode : {"posterior", "viterbi"}
        How a chain predicts: the likeliest tag of each token, or the likeliest sequence.
    max_iter : int

    Attributes
    ----------
    parameters_, parameter_names_, covariance_, standard_errors_
        ``covariance_`` is None for more than a few hundred parameters of a chain.
    penalty_, intervals_, profiles_, design_test_
        Of States, as :class:`~askance.IndirectClassifier` has them: both are the same fit.
    classes_, channel_, ridge_, log_likelihood_, converged_, n_iter_, n_reports_, notes_, guarantee_

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 1))
    >>> truth = np.select([X[:, 0] < rng.normal(-1, 1, 5000), X[:, 0] > rng.normal(1, 1, 5000)], ["dog", "cat"], "owl")
    >>> sets = ask.CandidateSets(["dog", "cat", "owl"], size=2)
    >>> model = ask.IndirectModel(ask.States(), sets).fit(X, sets.simulate(truth, rng))
    >>> model.predict([[2.0], [-2.0]])
    array(['cat', 'dog'], dtype='<U3')

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), sections 2, 3 and 6.
    """

    channel_: Any
    parameters_: Any
    covariance_: Any

    def __init__(
        self,
        family: Any = None,
        channel: Any = None,
        method: str = "marginal",
        ridge: str | float = "auto",
        *,
        fit_intercept: bool = True,
        decode: str = "posterior",
        max_iter: int = 200,
    ) -> None:
        self.family = family
        self.channel = channel
        self.method = method
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.decode = decode
        self.max_iter = max_iter

    # -- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, design: Any = None, sample_weight: Any = None) -> Self:
        """Fit to features and reports.

        Parameters
        ----------
        X : n x d; for a chain n sentences; for a family of one's own whatever that takes
            None: a model of the truth alone.
        y : n reports
        design : n names, optional
            The design that each row was asked under, when the channel has several.
        sample_weight : n, optional
            For States.
        """
        self._check_parameters()
        refuse_other_rows(X=X, y=y, design=design, sample_weight=sample_weight)
        family = self._family()
        if self.channel is None:
            raise InvalidInput("channel=None", "a channel", "For true labels say Identity(classes).")
        method: Method = self.method  # type: ignore[assignment]
        if isinstance(family, Chain):
            _no_weights(sample_weight)
            tokens = token_table(X, family.function)
            ridge = checked_ridge(self.ridge)
            chain = fit_chain(family, tokens, self.channel, y, design, method, ridge, self.max_iter)
            return self._keep_chain(chain, self.channel)
        if not isinstance(family, States) or family.function is not None:
            _no_weights(sample_weight)
            return self._fit_own(family, X, y, design, method)
        if X is None:
            X = np.empty((len(y), 0))
        X = checked_features(self, X, dtype=np.float64, order="C", ensure_min_features=0)
        table, classes = self._truths(family, self.channel)
        channel = checked_channel(self.channel, len(classes), table.shape[1])
        weights = checked_weights(sample_weight, X)
        law, codes = report_law(channel, table, classes, y, design, method)
        _same_length(len(X), len(codes))
        source = ArraySource(Records(X, codes, weights))
        problem = state_problem(self, family, law, self._column_names(), self.fit_intercept, weights is not None)
        return self._fit_states(problem, source, LocalEngine(), table, channel)

    def _fit_releases(self, releases: Sequence[Release], terms: RegressionTerms, engine: Engine) -> Self:
        (release,) = releases
        family, asked = self._family(), terms.asked(release)
        refuse_other_channel(self.channel, asked.channel)
        if isinstance(family, Chain):
            ridge = checked_ridge(self.ridge)
            way: Method = self.method  # type: ignore[assignment]
            found = fit_released_chain(family, release, terms, asked, engine, way, ridge, self.max_iter)
            return self._keep_chain(found, asked.channel)
        if not isinstance(family, States) or family.function is not None:
            raise NotAvailable("fit_release with a family of one's own", "fit(X, reports), or States with a table")
        channel: Any = asked.label_channel
        table, classes = self._truths(family, channel)
        checked_channel(channel, len(classes), table.shape[1])
        reader = terms.reader(release, engine)
        source = engine.cache(records_of(release, asked, reader, terms.weight))
        self.feature_names_in_ = np.array(reader.names, dtype=object)
        self.n_features_in_ = len(reader.names)
        intercept = reader.intercept and self.fit_intercept
        problem = state_problem(self, family, channel, list(reader.names), intercept, terms.weight is not None)
        return self._fit_states(problem, source, engine, table, channel)

    def _fit_states(
        self, problem: SoftmaxProblem, source: RecordSource, engine: Engine, table: Floats, channel: Any
    ) -> Self:
        fit = fit_softmax(problem, source, engine)
        self.channel_, self.guarantee_ = channel, channel.guarantee
        self.classes_ = class_array(tuple(problem.channel.classes))
        self.table_, self.intercept_included_ = table, bool(problem.intercept)
        keep_fit(self, fit, problem, source, engine)
        return self

    def _fit_own(self, family: Any, X: Any, y: Any, design: Any, method: Method) -> Self:
        classes = self._classes(family, self.channel)
        channel = checked_channel(self.channel, len(classes), len(classes))
        ridge = checked_ridge(self.ridge) or 0.0
        found = fit_own(family, classes, channel, X, y, design, method, ridge, self.max_iter)
        if found.width is not None:
            self.n_features_in_ = found.width
        self._keep(found.fitted, channel, classes, found.names, channel.guarantee, found.records)
        return self

    def _keep_chain(self, found: FittedChain, channel: Any) -> Self:
        tags = self._family().tags
        names = [f"{tag}: {name}" for name in found.names for tag in tags]
        names += [f"{one} to {other}" for one in tags for other in tags]
        self.token_names_ = found.names
        self.n_features_in_, self.n_tokens_, self.longest_ = len(found.names), found.tokens, found.longest
        short = tuple(names) if found.fitted.covariance is not None else ()
        self._keep(found.fitted, channel, tags, short, channel.guarantee_of(found.longest), found.sentences)
        return self

    def _keep(
        self, found: Fitted, channel: Channel, classes: Any, names: tuple[str, ...], guarantee: Guarantee, records: int
    ) -> None:
        theta = found.theta
        for name in ("table_", "penalty_", "report_weights_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.channel_ = channel
        self.guarantee_, self.classes_ = guarantee, class_array(tuple(classes))
        self.parameters_ = theta.astype(np.float32) if len(theta) > _SINGLE else theta
        self.parameter_names_ = names
        self.covariance_ = found.covariance
        self.covariance_sandwich_, self.covariance_information_ = found.sandwich, found.information
        self.log_likelihood_ = found.objective if self.method == "marginal" else None
        self.ridge_, self.n_iter_, self.converged_ = found.ridge, found.iterations, found.converged
        self.n_reports_, self.notes_ = records, found.notes
        for note in found.notes:
            warnings.warn(note, AskanceWarning, stacklevel=4)

    @property
    def standard_errors_(self) -> Floats | None:
        """Of :attr:`parameters_`, in their order; None where there are too many parameters for a covariance."""
        check_is_fitted(self, "parameters_")
        return None if self.covariance_ is None else np.sqrt(np.maximum(np.diag(self.covariance_), 0.0))

    # -- what fits to what ---------------------------------------------------------------------------

    def _family(self) -> Any:
        family = States() if self.family is None else self.family
        if not isinstance(family, States | Chain) and not isinstance(family, Family):
            raise InvalidInput(
                f"family={family!r}",
                "States(...), Chain(tags), or an object with classes, size and log_partition(theta, X, likelihood)",
            )
        return family

    def _classes(self, family: Any, channel: Any) -> Any:
        own = getattr(family, "classes", None)
        channel_classes = getattr(channel, "classes", None)
        if own is not None and channel_classes is not None and tuple(own) != tuple(channel_classes):
            raise InvalidInput(
                f"a family of {listed(tuple(own))}", f"the channel's classes, {listed(tuple(channel_classes))}"
            )
        if own is None and channel_classes is None:
            raise InvalidInput("neither a family nor a channel that names the classes", "States(..., classes=[...])")
        return own if channel_classes is None else channel_classes

    def _truths(self, family: States, channel: Any) -> tuple[Floats, Any]:
        """The features of the truths, and their labels."""
        if family.table is None:
            classes = self._classes(family, channel)
            return np.eye(len(classes))[:, 1:], classes
        if family.classes is None and not hasattr(channel, "classes"):
            return family.table, tuple(range(len(family.table)))
        classes = self._classes(family, channel)
        if len(classes) != len(family.table):
            raise InvalidInput(
                f"features of {len(family.table)} states", f"one row for each of {listed(tuple(classes))}"
            )
        return family.table, classes

    def _check_parameters(self) -> None:
        self._family()
        if self.method not in ("marginal", "moments"):
            raise InvalidInput(f"method={self.method!r}", "'marginal' or 'moments'")
        if self.decode not in ("posterior", "viterbi"):
            raise InvalidInput(f"decode={self.decode!r}", "'posterior' or 'viterbi'")
        checked_ridge(self.ridge)
        if isinstance(self.max_iter, bool) or not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise InvalidInput(f"max_iter={self.max_iter!r}", "at least 1")

    # -- using the model -----------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Any:
        """Return P(truth | x), n x classes; of a chain a list with such a table, tokens x tags, for each sentence."""
        check_is_fitted(self, "parameters_")
        if isinstance(self._family(), Chain):
            problem = self._chain_of(X)
            chances = problem.chances(self.parameters_.astype(float))
            return [chances[a:b] for a, b in zip(problem.starts[:-1], problem.starts[1:], strict=True)]
        return self._probabilities(X)

    def _probabilities(self, X: Any) -> Floats:
        family = self._family()
        if isinstance(family, States) and family.function is None:
            return state_probabilities(self.parameters_, self.table_, self._rows(X), self.intercept_included_)
        return own_probabilities(family, X, len(self.classes_), getattr(self, "n_features_in_", None), self.parameters_)

    def _rows(self, X: Any) -> Floats:
        rows: Floats = checked_features(self, X, dtype=np.float64, reset=False, ensure_min_features=0)
        return rows

    def _prediction_law(self) -> SoftmaxLaw:
        if not hasattr(self, "table_"):
            what = "a chain" if isinstance(self._family(), Chain) else "a family of one's own"
            raise NotAvailable(f"intervals of the probabilities of {what}", "States with a table, or predict_proba")
        covariance, names = self._wald_covariance(), self._column_names()
        return state_law(self.parameters_, covariance, self.table_, self.intercept_included_, names)

    def _column_names(self) -> list[str]:
        return list(map(str, getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])))

    def _chain_of(self, X: Any) -> ChainProblem:
        tokens = token_table(X, self._family().function, self.token_names_)
        return ChainProblem(tokens.table, tokens.starts, np.ones((tokens.tokens, len(self.classes_))), "marginal")

    def predict(self, X: Any) -> Any:
        """Return the likeliest truth of each row; of a chain a list of tags for each sentence."""
        check_is_fitted(self, "parameters_")
        if not isinstance(self._family(), Chain):
            return self.classes_[self._probabilities(X).argmax(axis=1)]
        path, problem = self._path(X)
        labels = self.classes_[path]
        return [labels[a:b].tolist() for a, b in zip(problem.starts[:-1], problem.starts[1:], strict=True)]

    def _path(self, X: Any) -> tuple[Codes, ChainProblem]:
        problem, theta = self._chain_of(X), self.parameters_.astype(float)
        if self.decode == "posterior":
            return problem.chances(theta).argmax(axis=1), problem
        weights, transitions = problem.split(theta)
        path = np.zeros(problem.table.shape[0], np.int64)
        likeliest(np.ascontiguousarray(problem.table @ weights), transitions, problem.starts, path)
        return path, problem

    def score(self, X: Any, y: Any, design: Any = None, *, of: Of = "reports") -> float:
        """Return an estimate of the accuracy on the hidden truth, from reports of people that ``fit`` did not see.

        For sequences it is the accuracy of tokens. With ``of="truth"``, y are true labels, and it is measured on them.
        """
        if not asks_for_truth(of):
            return self._scored(X, y, design).value
        refuse_other_rows(X=X, y=y, design=design)
        chosen, chain = self._chosen(X)
        known = np.asarray(Sequences.of(y, "labels").flat if chain else y, dtype=object)
        _same_length(len(chosen), len(known))
        return float(np.mean(self.classes_[chosen].astype(object) == known))

    def score_estimate(self, X: Any, y: Any, design: Any = None) -> Estimate:
        """Return what :meth:`score` estimates from reports, with its standard error and interval."""
        check_is_fitted(self, "parameters_")
        if isinstance(self._family(), Chain):
            what = "a standard error of the accuracy of tokens, which go together in a sentence"
            raise NotAvailable(what, "score for its value, of several sets of sentences")
        return self._scored(X, y, design)

    def _chosen(self, X: Any) -> tuple[Any, bool]:
        """The places of the likeliest truths, and whether they are of tokens."""
        check_is_fitted(self, "parameters_")
        chain = isinstance(self._family(), Chain)
        return (self._path(X)[0] if chain else self._probabilities(X).argmax(axis=1)), chain

    def _scored(self, X: Any, y: Any, design: Any) -> Estimate:
        refuse_other_rows(X=X, y=y, design=design)
        chosen, chain = self._chosen(X)
        channel = self.channel_.device if chain else self.channel_
        if not is_finite(channel):
            raise refuse_score_of_reports(
                "this model", "a report is about features of the truth", "Keep some people whose truth is known."
            )
        codes = self.channel_.encode_reports(y, design)
        places = chosen.astype(np.int64)
        return accuracy_from_reports(places, None, codes.flat if chain else codes, channel)

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates with standard errors and intervals; of a chain of many features the facts alone."""
        check_is_fitted(self, "parameters_")
        if isinstance(self._family(), Chain):
            title, facts = "Parameters of tags of a chain, from hidden sequences", chain_facts(self)
        else:
            title, facts = "Parameters of an exponential family, from hidden answers", own_facts(self)
            if hasattr(self, "penalty_") and len(self.parameters_) <= _MOST_ROWS:
                return fit_table(self, title, level)
        if self.covariance_ is None or len(self.parameters_) > _MOST_ROWS:
            return Summary(title, level=level, facts=facts, notes=self.notes_, privacy=self.privacy_statement_)
        return self._wald_summary(title, level, facts)

    def _about(self, place: int, name: str) -> str:
        family = self._family()
        # What a term is about stands behind its tag, its feature of the truth, or its class where there are several.
        behind = (
            family.table is not None or (family.function is None and len(self.classes_) > 2)
            if isinstance(family, States)
            else isinstance(family, Chain)
        )
        return name.split(": ", 1)[-1] if behind else name

    def _log_odds_names(self) -> list[str]:
        family = self._family()
        if not isinstance(family, States) or family.function is not None or family.table is not None:
            raise NotAvailable("odds ratios of features of one's own, or of a chain", "States() without features")
        return [name for name in self.parameter_names_ if not name.endswith("Intercept")]

    def _why_no_wald(self) -> str:
        if hasattr(self, "penalty_"):
            return why_penalised(self)
        return "a ridge moves it from the maximum" if self.ridge_ else ""

    @property
    def n_parameters_(self) -> int:
        """How many numbers were estimated; what the model leaves open, and columns that the fit left out, are none."""
        return free_directions(self._wald_covariance())

    def _why_no_maximum(self) -> str:
        if self.method != "marginal":
            return NO_MOMENTS
        if hasattr(self, "penalty_") and self.covariance_kind_ != "information":
            return NOT_INDEPENDENT
        return self._why_no_wald() or (self._why_no_errors() if self.covariance_ is None else "")

    def _why_no_errors(self) -> str:
        return f"there are {len(self.parameters_):,} parameters"

    def fill_in(self) -> None:
        """Give a model that an earlier version saved what that version did not keep."""
        super().fill_in()
        if hasattr(self, "table_"):
            if not hasattr(self, "covariance_kind_"):
                self.covariance_kind_ = "information" if self.method == "marginal" else "sandwich"
            fill_in_fit(self)


def _no_weights(sample_weight: Any) -> None:
    if sample_weight is not None:
        raise InvalidInput("sample_weight with this family", "States with a table, or all weights the same")


def _same_length(rows: int, reports: int) -> None:
    if rows != reports:
        raise InvalidInput(f"{rows} rows of features and {reports} reports", "one report for each row")
