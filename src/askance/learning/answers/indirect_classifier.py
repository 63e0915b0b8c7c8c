"""A classifier learned from labels that a finite channel has hidden."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from askance.arrays import Floats
from askance.channels.base import LabelChannel
from askance.engines.base import Engine
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import ArraySource, RecordSource
from askance.errors import InvalidInput
from askance.frames import refuse_other_rows
from askance.learning.answers.checked_choices import check_choices
from askance.learning.answers.kept_fit import fill_in_fit, fit_table, keep_fit, why_penalised
from askance.learning.answers.learner_fit import check_learner, fit_learner, learner_summary
from askance.learning.answers.read_labels import as_channel, encoded_labels
from askance.learning.answers.replicate_weights import (
    ReplicateMethod,
    Replicates,
    replicated_arrays,
    replicated_release,
)
from askance.learning.answers.softmax_fit import fit_softmax
from askance.learning.answers.softmax_problem import SoftmaxProblem
from askance.learning.answers.unknown_estimators import (
    channel_at_estimate,
    fit_regression,
    forget_unknowns,
    has_unknowns,
    regression_summary,
)
from askance.learning.answers.unknown_features import checked_unknowns, chosen_columns, joined_reader
from askance.learning.answers.unknown_numbers import UnknownNumbers
from askance.learning.answers.unknown_samples import UnknownSample
from askance.learning.face.checked_features import checked_features
from askance.learning.face.classes import class_array
from askance.learning.face.hidden_truth import Estimate
from askance.learning.face.likelihood_results import NO_MOMENTS, NOT_INDEPENDENT, LikelihoodResults
from askance.learning.face.linear_classifier import LinearClassifier
from askance.learning.face.release_records import records_of, refuse_other_channel
from askance.learning.face.release_regression import RegressionTerms, ReleaseRegression
from askance.learning.face.requested_ridge import checked_ridge
from askance.learning.face.sample_weights import checked_weights
from askance.learning.face.sampling_design import SampleColumns, SampledUnits, sampled_arrays
from askance.learning.face.scoring import Of, accuracy_from_reports, accuracy_on_truth, asks_for_truth
from askance.releases.release import Release
from askance.reports.summary import Summary
from askance.solvers.em import class_probabilities
from askance.solvers.softmax import symmetric
from askance.statistics.base import Records


class IndirectClassifier(ReleaseRegression, LikelihoodResults, LinearClassifier):
    """Logistic or softmax regression from reports instead of labels.

    Parameters
    ----------
    channel : finite channel, mapping of named channels, or None
        How the labels were hidden. A mapping (or :class:`~askance.DesignPerRow`) has several designs, and
        ``fit`` then takes the design of each row. None: the labels are as they are.
    method : {"marginal", "moments"}
        "marginal" maximises the likelihood of the reports: efficient. "moments" maximises an unbiased, concave
        estimate of the clean likelihood: cheaper, with larger variance.
    ridge : "auto" or float
        Penalty ``ridge / 2 * sum(coef ** 2)`` on the summed log-likelihood, intercept free, as scikit-learn's
        ``C = 1 / ridge``. A number is kept to, or the fit is refused: 0.0 is exact maximum likelihood. "auto" is
        0, unless ``penalty`` takes its place.
    penalty : {"auto", "log-f"}
        "log-f": the log-F(1,1) penalty about the base rate, on standardised features, which weighs as much as one
        answer for each coefficient and keeps estimates finite. "auto": only where a class is so rare that chance
        alone could have made it, and where no finite maximiser exists.
    intervals : {"auto", "profile", "wald"}
        "profile": intervals and p-values by profile (penalised) likelihood ratio; an end may be open. "wald":
        estimates plus and minus standard errors. "auto": profile wherever Wald is not valid, which is for fits
        with log-F and for parameters along which the likelihood is no parabola. A fit with a ridge gets none. Where
        that would take far longer than the fit, of hundreds of columns, "auto" has Wald intervals where the
        (penalised) likelihood is a parabola, none elsewhere, and says so; "profile" makes all of them.
    fit_intercept : bool
    base_estimator : scikit-learn classifier, optional
        Any classifier with ``predict_proba`` and sample weights stands in for the softmax model, by
        expectation-maximisation. It gives predictions, no coefficients.
    covariance : {"auto", "information", "sandwich"}
        "information": inverse observed information; sample weights then count as numbers of respondents. "sandwich":
        robust to a wrong model and right for sampling weights. "auto": the information for the marginal method without
        sample weights, the sandwich otherwise.
    unknowns : mapping, optional
        For a channel with :class:`~askance.Unknown` numbers: what these depend on, by name, through a logit-linear
        model. A list of features, such as ``{"cheaters": ["age"]}``; for a release also a formula,
        ``{"cheaters": "~ age + C(school)"}``. Those that are not named are the same for everybody.
    max_iter : int
        Most Newton steps, or EM rounds.
    tol : float
        EM stops when the mean log-likelihood gains less. (Newton always goes on to rounding error.)

    Attributes
    ----------
    coef_, intercept_ : arrays
        Shape (1, d) and (1,) for two classes; (K, d) and (K,), summing to zero over classes, for more.
    covariance_ : array
        Of ``parameters_``: intercept first, then coefficients; with more than two classes one such block for every
        class but the first, as log-odds against the first.
    parameters_, parameter_names_, standard_errors_ : in the order of ``covariance_``
    penalty_ : "none", "ridge", "log-f" or "shrunk"
        "shrunk": a ridge towards the base rate, for moments without a finite maximiser, and for very many columns.
    intervals_ : tuple
        "profile", "wald" or "none" for each of ``parameters_``.
    profiles_ : tuple
        The profile likelihood of each, where its interval is made of it.
    degrees_, design_effects_ : tuples
        With clusters: degrees of freedom of each of ``parameters_``; with any design of the sample: how many times its
        variance is that of as many people drawn one by one.
    logit_error_ : float
        The standard error of the logit of a typical person, unless a ridge holds it down: where it is large, reports
        tell little about so many coefficients, and the summary says so.
    classes_, n_iter_, n_reports_, log_likelihood_, ridge_, converged_, notes_
    unknowns_ : dict
        With unknown numbers in the channel: their estimates by name; of those with covariates, at the mean of these.
        ``summary()`` has their intervals and tests.

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 1))
    >>> truth = np.where(rng.random(20_000) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no")
    >>> channel = ask.Warner(0.8)
    >>> reports = channel.simulate(truth, rng)
    >>> ask.IndirectClassifier(channel).fit(X, reports).coef_.round(1)
    array([[2.]])

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), sections 2 and 3.
    """

    _knows_samples = True
    covariance_: Any

    def __init__(
        self,
        channel: LabelChannel | Mapping[str, Any] | None = None,
        method: str = "marginal",
        ridge: str | float = "auto",
        *,
        penalty: str = "auto",
        intervals: str = "auto",
        fit_intercept: bool = True,
        base_estimator: Any = None,
        covariance: str = "auto",
        unknowns: Mapping[str, Any] | None = None,
        max_iter: int = 200,
        tol: float = 1e-8,
    ) -> None:
        self.channel = channel
        self.method = method
        self.ridge = ridge
        self.penalty = penalty
        self.intervals = intervals
        self.fit_intercept = fit_intercept
        self.base_estimator = base_estimator
        self.covariance = covariance
        self.unknowns = unknowns
        self.max_iter = max_iter
        self.tol = tol

    # -- fitting -------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        design: Any = None,
        *,
        strata: Any = None,
        cluster: Any = None,
        fpc: Any = None,
        replicate_weights: Any = None,
        replicate_method: str = "jk1",
        rho: float | None = None,
        rscales: Any = None,
    ) -> Self:
        """Fit to features and reports.

        Parameters
        ----------
        X : n x d
        y : n reports, in the channel's report alphabet
        sample_weight : n, optional
        design : n names, optional
            The design that each row was asked under, when the channel has several.
        strata, cluster : n names or numbers, optional
            The stratum and the primary sampling unit of each row. Standard errors are then linearised, with CR2 and
            Bell and McCaffrey's degrees of freedom for clusters.
        fpc : n numbers, optional
            The population of each row's stratum, in units that are sampled (clusters, or people without clusters), or
            the share of it that is in the sample.
        replicate_weights : n x R, optional
            An agency's replicate weights, beside its sample weights: instead of strata and clusters.
        replicate_method : {"jk1", "jkn", "brr", "fay", "bootstrap"}
            How they were made; "fay" with ``rho``, "jkn" with ``rscales`` (n_h - 1) / n_h.
        """
        self._check_parameters()
        sampled = {"strata": strata, "cluster": cluster, "fpc": fpc, "replicate_weights": replicate_weights}
        refuse_other_rows(X=X, y=y, sample_weight=sample_weight, design=design, **sampled)
        if self.base_estimator is not None:
            if any(value is not None for value in (strata, cluster, fpc, replicate_weights)):
                raise InvalidInput("strata, clusters or fpc with a base_estimator", "base_estimator=None")
            return self._fit_base(X, y, sample_weight, design)
        if y is None:
            validate_data(self, X, y)  # raises scikit-learn's own message
        X = checked_features(self, X, dtype=np.float64, order="C")
        channel, codes = encoded_labels(self.channel, y, design, X.shape[0])
        weights = checked_weights(sample_weight, X)
        records = Records(X, codes, weights)
        source, sample = ArraySource(records), sampled_arrays(records, strata, cluster, fpc)
        scales = None if rscales is None else tuple(map(float, rscales))
        replicates = replicated_arrays(records, replicate_weights, ReplicateMethod(replicate_method, rho, scales))
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(X.shape[1])])
        weighted = weights is not None
        names = list(map(str, names))
        places = chosen_columns(checked_unknowns(self.unknowns, channel), names)
        return self._fit_source(
            source, channel, LocalEngine(), names, self.fit_intercept, weighted, places, sample, replicates
        )

    def _fit_releases(self, releases: Sequence[Release], terms: RegressionTerms, engine: Engine) -> Self:
        (release,) = releases
        asked = terms.asked(release)
        channel = asked.label_channel
        refuse_other_channel(as_channel(self.channel), channel)
        reader = terms.reader(release, engine)
        joined, places = joined_reader(reader, checked_unknowns(self.unknowns, channel), release, engine)
        rows = records_of(release, asked, joined, terms.weight)
        sample = SampleColumns(terms.strata, terms.cluster, terms.fpc).sampled(release, rows, engine)
        scales = None if terms.rscales is None else tuple(map(float, terms.rscales))
        how = ReplicateMethod(terms.replicate_method, terms.rho, scales)
        replicates = replicated_release(release, rows, terms.replicate_weights, how, engine)
        source = engine.cache(rows)
        self.feature_names_in_ = np.array(reader.names, dtype=object)
        self.n_features_in_ = len(reader.names)
        intercept = reader.intercept and self.fit_intercept
        weighted = terms.weight is not None
        return self._fit_source(
            source, channel, engine, list(joined.names), intercept, weighted, places, sample, replicates
        )

    def _fit_source(
        self,
        source: RecordSource,
        channel: LabelChannel,
        engine: Engine,
        names: list[str],
        intercept: bool,
        weighted: bool,
        unknown_columns: Mapping[str, Sequence[int]],
        sample: SampledUnits | None = None,
        replicates: Replicates | None = None,
    ) -> Self:
        forget_unknowns(self)
        self.weighted_ = weighted
        drawn = sample if replicates is None else replicates
        if sample is not None and replicates is not None:
            raise InvalidInput("replicate weights, and strata, clusters or fpc", "one of them")
        if drawn is not None and self.covariance == "information":
            raise InvalidInput("covariance='information' with a complex sample", "'auto' or 'sandwich'")
        if has_unknowns(channel):
            of_sample = UnknownSample(channel, engine, sample, replicates)
            fit_regression(self, source, channel, engine, names, intercept, weighted, unknown_columns, of_sample)
            return self
        method: Any = self.method
        robust = self.covariance == "sandwich" or method == "moments" or drawn is not None
        robust = robust or (self.covariance == "auto" and weighted)
        problem = SoftmaxProblem(
            channel,
            method,
            checked_ridge(self.ridge),
            intercept,
            names,
            self.max_iter,
            self.penalty,
            self.intervals,
            robust,
        )
        fit = fit_softmax(problem, source, engine, sample, replicates)
        self.channel_, self.guarantee_ = channel, channel.guarantee
        self.classes_ = class_array(channel.classes)
        self._keep_rows(fit.theta if len(fit.theta) == 1 else symmetric(fit.theta), problem.intercept)
        keep_fit(self, fit, problem, source, engine)
        if drawn is not None:
            self.covariance_kind_ = "replicate weights"
            self.sample_ = drawn.describe()
        if sample is not None:
            self.covariance_kind_ = "cluster (CR2)" if sample.clustered else "stratified"
        return self

    def _fit_base(self, X: Any, y: Any, sample_weight: Any, design: Any) -> Self:
        validate_data(self, X, skip_check_array=True)
        channel, codes = encoded_labels(self.channel, y, design, X.shape[0] if hasattr(X, "shape") else len(X))
        check_learner(self, channel)
        forget_unknowns(self)
        learner = fit_learner(self, X, channel, codes, sample_weight)
        self.channel_, self.guarantee_ = channel, channel.guarantee
        self.classes_ = class_array(channel.classes)
        self._keep_learner(learner)
        return self

    def _check_parameters(self) -> None:
        check_choices(self)

    # -- using the model -----------------------------------------------------------------------------

    def _learner_probabilities(self, X: Any) -> Floats:
        return class_probabilities(self.base_estimator_, X, len(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None, design: Any = None, *, of: Of = "reports") -> float:
        """Return an estimate of the accuracy on the hidden truth, from reports of people that ``fit`` did not see.

        Its mean is the clean accuracy (about, where there are more reports than classes), so that model selection
        needs no true label; a single estimate may leave [0, 1] when reports are few or noisy.
        With ``of="truth"``, y are true labels, and the accuracy is measured on them.
        """
        if asks_for_truth(of):
            refuse_other_rows(X=X, y=y, sample_weight=sample_weight)
            return accuracy_on_truth(self.predict(X), y, self.classes_, sample_weight)
        return self.score_estimate(X, y, sample_weight, design).value

    def score_estimate(self, X: Any, y: Any, sample_weight: Any = None, design: Any = None) -> Estimate:
        """Return what :meth:`score` estimates from reports, with its standard error and interval."""
        refuse_other_rows(X=X, y=y, sample_weight=sample_weight, design=design)
        chosen, channel = self._chosen(X), self.channel_at_estimate_
        # An estimated channel is off by an error of its own: what it lets be reported is not known so well.
        sureness = self.predict_proba(X).max(axis=1) if channel is self.channel_ else None
        return accuracy_from_reports(chosen, sureness, channel.encode_reports(y, design), channel, sample_weight)

    @property
    def label_channel_(self) -> Any:
        """How the labels were hidden, as far as it is known or estimated."""
        return self.channel_at_estimate_

    @property
    def channel_at_estimate_(self) -> Any:
        """The channel, with the estimates of its unknown numbers in their places if it has some."""
        check_is_fitted(self, "classes_")
        return channel_at_estimate(self)

    @property
    def n_parameters_(self) -> int:
        found: UnknownNumbers | None = getattr(self, "unknown_numbers_", None)
        unknown = 0 if found is None else len(found.numbers) + len(found.coefficients)
        return int(np.isfinite(self.standard_errors_).sum()) + unknown

    def _why_no_maximum(self) -> str:
        if not self._is_linear:
            return "a learner was fitted by expectation-maximisation"
        if self.method != "marginal":
            return NO_MOMENTS
        if self.weighted_ or self.sample_:
            return NOT_INDEPENDENT
        return why_penalised(self)

    def _why_no_wald(self) -> str:
        return why_penalised(self)

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates, standard errors, z, p and intervals as a table; of a fit by a learner the facts alone."""
        check_is_fitted(self, "classes_")
        if hasattr(self, "unknown_numbers_"):
            return regression_summary(self, level)
        first, second = self.classes_.tolist()[:2]
        two = len(self.classes_) == 2
        if not self._is_linear:
            return learner_summary(self, f"P({second})" if two else "Probabilities", level)
        title = f"P({second}) by logistic regression on hidden answers"
        if not two:
            title = f"Log-odds against {first!r} by softmax regression on hidden answers"
        return fit_table(self, title, level)

    def fill_in(self) -> None:
        """Give a model that an earlier version saved what that version did not keep."""
        super().fill_in()
        fill_in_fit(self)
        if not hasattr(self, "weighted_"):  # the sandwich was for weights, or asked for
            self.weighted_ = getattr(self, "covariance_kind_", "") != "information"
