"""Any exponential family, learned from what any channel let through: the estimator of [LM] section 2."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from askance.arrays import Codes, Floats
from askance.channels.alphabet import listed
from askance.channels.channel import Channel
from askance.channels.guarantee import Guarantee
from askance.channels.sequences import Sequences
from askance.engines.base import Engine
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import ArraySource
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.frames import refuse_other_rows
from askance.learning.face.classes import class_array
from askance.learning.face.linear_parameters import parameter_names
from askance.learning.face.release_records import records_of, refuse_other_channel
from askance.learning.face.release_regression import RegressionTerms, ReleaseRegression
from askance.learning.face.requested_ridge import checked_ridge
from askance.learning.face.sample_weights import checked_weights
from askance.learning.face.scoring import Of, accuracy_from_reports, asks_for_truth, refuse_score_of_reports
from askance.learning.models.chain_fit import FittedChain, fit_chain, fit_released_chain
from askance.learning.models.chain_loops import likeliest
from askance.learning.models.chain_problem import ChainProblem, Method
from askance.learning.models.evidence import (
    checked_channel,
    encoded,
    is_finite,
    likelihood,
    table_for_law,
    unbiased,
)
from askance.learning.models.exchange import refuse_exchangeable
from askance.learning.models.families import Chain, Family, States
from askance.learning.models.fitted import Fitted
from askance.learning.models.gradient_fit import fit_by_gradient
from askance.learning.models.state_fit import StateProblem, fit_states
from askance.learning.models.token_features import token_table
from askance.learning.models.user_problem import FamilyProblem, FeatureProblem, stacked_features
from askance.releases.release import Release
from askance.reports.summary import Summary
from askance.statistics.base import Records
from askance.statistics.frequencies import ReportFrequencies

_MOST_ROWS = 200  # parameters that a summary lists
_SINGLE = 20_000  # parameters beyond which single precision is kept: as text they would fill megabytes


class IndirectModel(ReleaseRegression):
    """An exponential family p(y | x) ∝ exp(theta . phi(x, y)) from reports instead of truths.

    Parameters
    ----------
    family : States, Chain, or a family of one's own
        What a truth is, and its features. ``States()`` is the softmax model;
        :class:`~askance.learning.models.Family` says what a family of one's own must have.
    channel : channel
        How the truth was hidden: any finite channel, :class:`~askance.Coarsening`, :class:`~askance.CandidateSets`,
        :class:`~askance.Repeated`, a :class:`~askance.DesignPerRow`; a response on the features of the truth
        (:class:`~askance.PerValueFlip`, :class:`~askance.CoordinateRelease`, by moments also
        :class:`~askance.SampledCoordinates`); for sequences :class:`~askance.PerToken`.
    method : {"marginal", "moments"}
        "marginal" maximises the likelihood of the reports: efficient, always possible. "moments" estimates the
        sufficient statistics by averages and solves a concave problem; refused where reports do not determine them.
    ridge : "auto" or float
        Penalty ``ridge / 2 * sum(theta ** 2)`` on the summed objective; the intercept of States is free. "auto": none
        where the data have a finite estimate without; for chains with more features than tokens can tell, 3.
    fit_intercept : bool
        Whether States adds a constant to the features of x.
    decode : {"posterior", "viterbi"}
        How a chain predicts: the likeliest tag of each token, or the likeliest sequence.
    max_iter : int

    Attributes
    ----------
    parameters_, parameter_names_, covariance_, standard_errors_
        ``covariance_`` is None for more than a few hundred parameters of a chain.
    classes_, channel_, ridge_, log_likelihood_, converged_, n_iter_, n_reports_, notes_, guarantee_

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 1))
    >>> truth = np.where(rng.random(5000) < 1 / (1 + np.exp(-2 * X[:, 0])), "cat", "dog")
    >>> sets = ask.CandidateSets(["dog", "cat", "owl"], size=2)
    >>> model = ask.IndirectModel(ask.States(), sets, ridge=1.0).fit(X, sets.simulate(truth, rng))
    >>> model.predict([[2.0], [-2.0]])
    array(['cat', 'dog'], dtype='<U3')

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), sections 2, 3 and 6.
    """

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
        if isinstance(family, Chain):
            _no_weights(sample_weight)
            tokens = token_table(X, family.function)
            way: Method = self.method  # type: ignore[assignment]
            ridge = checked_ridge(self.ridge)
            chain = fit_chain(family, tokens, self.channel, y, design, way, ridge, self.max_iter)
            return self._keep_chain(chain, self.channel)
        if not isinstance(family, States) or family.function is not None:
            _no_weights(sample_weight)
            return self._fit_own(family, X, y, design)
        if X is None:
            X = np.empty((len(y), 0))
        X = validate_data(self, X, dtype=np.float64, order="C", ensure_min_features=0)
        table, classes = self._truths(family, self.channel)
        channel = checked_channel(self.channel, len(classes), table.shape[1])
        codes = encoded(channel, y, design)
        weights = checked_weights(sample_weight, X)
        method: Method = self.method  # type: ignore[assignment]
        found = (
            likelihood(channel, table, y, codes)
            if method == "marginal"
            else unbiased(channel, table, y, codes, weights)
        )
        _same_length(len(X), len(found.codes))
        if method == "marginal":
            refuse_exchangeable(found.table[np.unique(found.codes)], table, classes)
        source = ArraySource(Records(X, found.codes, weights))
        names = list(map(str, getattr(self, "feature_names_in_", [f"x{i}" for i in range(X.shape[1])])))
        return self._fit_table(table, classes, found.table, channel, source, LocalEngine(), names, self.fit_intercept)

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
        counts = engine.reduce(ReportFrequencies(len(channel.matrix)), source)
        if self.method == "marginal":
            rows = np.ascontiguousarray(channel.matrix)
            refuse_exchangeable(rows[counts.weight > 0], table, classes)
        else:
            rows = table_for_law(channel, table, counts.weight)
        self.feature_names_in_ = np.array(reader.names, dtype=object)
        self.n_features_in_ = len(reader.names)
        intercept = reader.intercept and self.fit_intercept
        return self._fit_table(table, classes, rows, channel, source, engine, list(reader.names), intercept)

    def _fit_table(
        self, table: Floats, classes: Any, rows: Floats, channel: Any, source: Any, engine: Engine, names: list[str],
        intercept: bool,
    ) -> Self:  # fmt: skip
        family: States = self._family()
        softmax = family.table is None
        method: Method = self.method  # type: ignore[assignment]
        problem = StateProblem(table, softmax, rows, method, intercept, len(names) + intercept)
        found = fit_states(problem, source, engine, checked_ridge(self.ridge), self.max_iter)
        if softmax:
            called = parameter_names(classes, names, intercept)
        else:
            own = family.names or tuple(f"t{j}" for j in range(table.shape[1]))
            columns = [*(["Intercept"] if intercept else []), *names]
            called = tuple(f"{one}: {column}" if column != "Intercept" else one for one in own for column in columns)
        self.table_, self.intercept_included_ = table, bool(intercept)
        self._keep(found, channel, classes, called, channel.guarantee, source.num_rows)
        return self

    def _fit_own(self, family: Any, X: Any, y: Any, design: Any) -> Self:
        classes = self._classes(family, self.channel)
        truths = np.eye(len(classes))
        channel = checked_channel(self.channel, len(classes), len(classes))
        codes = encoded(channel, y, design)
        method: Method = self.method  # type: ignore[assignment]
        said = likelihood(channel, truths, y, codes) if method == "marginal" else unbiased(channel, truths, y, codes)
        evidence = said.rows()
        problem: Any
        if isinstance(family, States):
            features = stacked_features(family.function, X, len(classes))
            _same_length(features.shape[0] // len(classes), len(evidence))
            problem = FeatureProblem(features, evidence, method)
            clean: Any = FeatureProblem(features, truths[evidence.argmax(axis=1)], "moments")
            self.n_features_in_ = int(features.shape[1])
            names = family.names or tuple(f"theta{j}" for j in range(problem.size))
        else:
            if method == "moments" and not hasattr(family, "weighted_features"):
                raise NotAvailable(
                    f"moments of a {type(family).__name__}",
                    "a method weighted_features(X, weights), or method='marginal'",
                )
            problem, clean = FamilyProblem(family, X, evidence, method), FamilyProblem(family, X, None, method)
            names = tuple(getattr(family, "names", None) or (f"theta{j}" for j in range(problem.size)))
        ridge = checked_ridge(self.ridge)
        found = fit_by_gradient(
            problem, clean, len(evidence), ridge or 0.0, max(self.max_iter, 1), marginal=method == "marginal"
        )
        self._keep(found, channel, classes, tuple(names), channel.guarantee, len(evidence))
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
        self.channel_: Any = channel
        self.guarantee_, self.classes_ = guarantee, class_array(tuple(classes))
        self.parameters_: Any = theta.astype(np.float32) if len(theta) > _SINGLE else theta
        self.parameter_names_ = names
        self.covariance_: Any = found.covariance
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
        family, classes = self._family(), len(self.classes_)
        if isinstance(family, States) and family.function is None:
            X = validate_data(self, X, dtype=np.float64, reset=False, ensure_min_features=0)
            rows = np.hstack([np.ones((len(X), 1)), X]) if self.intercept_included_ else X
            scores = rows @ self.parameters_.reshape(self.table_.shape[1], -1).T @ self.table_.T
            power = np.exp(scores - scores.max(axis=1, keepdims=True))
            return np.asarray(power / power.sum(axis=1, keepdims=True))
        problem: Any
        if isinstance(family, States):
            features = stacked_features(family.function, X, classes, self.n_features_in_)
            problem = FeatureProblem(features, np.ones((features.shape[0] // classes, classes)), "marginal")
        else:
            problem = FamilyProblem(family, X, None, "marginal")
        return np.asarray(problem.chances(self.parameters_))

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
        truth = asks_for_truth(of)
        refuse_other_rows(X=X, y=y, design=design)
        check_is_fitted(self, "parameters_")
        chain = isinstance(self._family(), Chain)
        chosen = self._path(X)[0] if chain else self._probabilities(X).argmax(axis=1)
        if truth:
            labels = Sequences.of(y, "labels").flat if chain else y
            known = np.asarray(labels, dtype=object)
            _same_length(len(chosen), len(known))
            return float(np.mean(self.classes_[chosen].astype(object) == known))
        channel = self.channel_.device if chain else self.channel_
        if not is_finite(channel):
            raise refuse_score_of_reports(
                "this model", "a report is about features of the truth", "Keep some people whose truth is known."
            )
        codes = self.channel_.encode_reports(y, design)
        places = chosen.astype(np.int64)
        return accuracy_from_reports(places, None, codes.flat if chain else codes, channel).value

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates with standard errors and intervals; of a chain of many features the facts alone."""
        check_is_fitted(self, "parameters_")
        chain = isinstance(self._family(), Chain)
        facts = [("reports", f"{self.n_reports_}")]
        if chain:
            each = self.channel_.guarantee.epsilon
            facts = [
                ("sentences", f"{self.n_reports_}"),
                ("tokens", f"{self.n_tokens_}"),
                ("features", f"{self.n_features_in_}"),
                ("epsilon of one token", f"{each:.4g}"),
                (f"epsilon of the longest sentence ({self.longest_} tokens)", f"{self.longest_ * each:.4g}"),
            ]
        if self.covariance_ is None:
            facts.append(("standard errors", f"none: there are {len(self.parameters_):,} parameters"))
        kind = "" if self.covariance_ is None else " (information" if self.method == "marginal" else " (sandwich"
        facts.append(("method", f"{self.method}{kind} standard errors)" if kind else self.method))
        if self.log_likelihood_ is not None:
            facts.append(("log-likelihood", f"{self.log_likelihood_:.4f}"))
        if self.ridge_:
            facts.append(("penalty", f"ridge {self.ridge_:.4g}"))
        what = "tags of a chain" if chain else "an exponential family"
        title = f"Parameters of {what}, from hidden {'sequences' if chain else 'answers'}"
        if self.covariance_ is None or len(self.parameters_) > _MOST_ROWS:
            return Summary(title, level=level, facts=tuple(facts), notes=self.notes_, privacy=self.privacy_statement_)
        return self._wald_summary(title, level, facts)


def _no_weights(sample_weight: Any) -> None:
    if sample_weight is not None:
        raise InvalidInput("sample_weight with this family", "States with a table, or all weights the same")


def _same_length(rows: int, reports: int) -> None:
    if rows != reports:
        raise InvalidInput(f"{rows} rows of features and {reports} reports", "one report for each row")
