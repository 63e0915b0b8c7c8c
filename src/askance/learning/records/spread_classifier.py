"""A linear classifier learned from records whose features and label were both hidden."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from askance.channels.alphabet import listed
from askance.channels.attributes.row_channel import RowChannel
from askance.engines.base import Engine, running
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.frames import refuse_other_rows
from askance.learning.face.base_learner import learner_name
from askance.learning.face.checked_features import checked_features
from askance.learning.face.classes import class_array
from askance.learning.face.engine_choice import refuse_engine
from askance.learning.face.estimator import without_errors
from askance.learning.face.linear_parameters import feature_names, parameter_names
from askance.learning.face.sample_weights import checked_weights
from askance.learning.records.latent_reports import design_widths
from askance.learning.records.levels import design_names, nominal_columns
from askance.learning.records.posterior_draws import posterior_draw
from askance.learning.records.reading import (
    SpreadRecords,
    as_row_channel,
    read_records,
    released_records,
)
from askance.learning.records.record_classifier import RecordClassifier, laid_out
from askance.learning.records.record_data import RecordData, RecordsInMemory
from askance.learning.records.report_checks import check_labels, check_reports
from askance.learning.records.sampling_fit import sampling_em_with
from askance.learning.records.spread_figures import coefficients_figure, ridge_figure
from askance.learning.records.spread_fit import fit_spread_problem
from askance.learning.records.spread_options import checked_problem
from askance.learning.records.spread_result import SpreadProblem, SpreadResult
from askance.learning.records.summed_records import RowSource, SummedRecords
from askance.releases.reading import open_release
from askance.releases.release import Release
from askance.releases.row_reports import row_questions
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary, summarise

_ROWS_FOR_EACH = 20  # records of a parameter, from which label reports are held against their channel
_LOOKED_AT = 10_000  # of these: faults that matter are seen in fewer


class SpreadClassifier(RecordClassifier):
    """Logistic or softmax regression from reports of features *and* labels.

    Maximises the spread likelihood: that of label reports given feature reports, with the truth of both summed out.
    ``predict`` and ``predict_proba`` are about **clean** records; for reports see :meth:`predict_proba_reports`.

    Parameters
    ----------
    channel : RowChannel, or None
        How the records were hidden. None: not at all, or as the release says that is fitted.
    method : "auto", "collapsed", "mixture", "spectral", "sampling" or "enumerate"
        "collapsed" takes the logit given a report for normal, with moments in closed form, and attributes for
        independent. "mixture" does so within latent classes of records, for attributes that depend on each other.
        "spectral" does so for the principal scores of many correlated attributes. "enumerate" is exact, for few
        attributes with few states. "sampling" is the importance sampling of the paper, whose coefficients are shrunk
        when samples are few. "auto" enumerates where there are at most 256 possible records, and records enough to
        learn the share of each. Otherwise Akaike's criterion of the feature reports chooses between "collapsed" and
        "mixture". Where the reports do not determine all parameters well, or show a dependence that is not modelled,
        cross-validation on the reports chooses between that and "spectral", or their average where neither is far
        behind; so it does for a ridge that is given.
    prior : "learned", "flat", "gaussian", marginals or mapping
        What is known of every attribute before its report: learned from the reports, nothing, or given: one array of
        probabilities for each attribute. For numbers with noise "learned" is the normal law with the moments that the
        reports imply, which "gaussian" asks for by name; ``{"mean": 0, "variance": 10}`` gives one.
    ridge : "auto" or float
        The penalty ``ridge / 2 * sum (s_j w_j)^2`` on the mean log-likelihood, with s_j^2 the variance of the true
        attribute, so that units do not matter. The logit at the centre of the features is penalised
        like one more direction of typical size. "auto" is 0 where the reports determine all parameters well, and
        otherwise the strongest whose held-out likelihood of reports is within a standard error of the best.
    fit_intercept : bool
    nominal : "all", or columns, optional
        Names or numbers of columns whose states are levels, with a coefficient for each but the first, and not numbers,
        with one slope.
    latent_classes : "auto" or int
        How many classes of records "mixture" has.
    cv : int
        Folds.
    samples, rounds : int
        Of the sampling method.
    base_estimator : classifier, optional
        With method="sampling": any that takes sample weights, in place of the linear model.
    max_iter : int
    random_state : int, generator or None
        Of folds and samples; with None folds are every cv-th row.

    Attributes
    ----------
    coef_, intercept_ : arrays
        Of clean features. Shape (1, d) and (1,) for two classes; (K, d) and (K,) for more, summing to zero.
    covariance_ : array or None
        Of ``parameters_``, by the sandwich; ``covariance_note_`` says why there is none.
    method_, ridge_, ridges_ : what was used
        Of an average, ``ridge_`` belongs to the method that is named first; ``ridges_`` has both.
    cv_results_ : dict of lists, or None
        Method, ridge, held-out log-likelihood of a report, its distance to the best, and the standard error of that.
    channel_ : RowChannel
        How the records were hidden, for as many attributes as there are.
    latent_classes_ : int or None
        Of a mixture.
    joint_prior_ : mapping or None
        What was learned of all attributes together; ``prior_`` has each by itself.
    parameters_, parameter_names_, prior_, classes_, log_likelihood_, n_iter_, converged_, notes_

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 4, size=(20_000, 5))
    >>> y = np.where(rng.random(20_000) < 1 / (1 + np.exp(-(X - 1.5) @ [1, -1, 0.5, 0, 0])), "yes", "no")
    >>> channel = ask.RowChannel(ask.StateFlip(4, 0.2), label=ask.Warner(0.8))
    >>> X_reports, y_reports = channel.simulate((X, y), rng)
    >>> ask.SpreadClassifier(channel).fit(X_reports, y_reports).coef_.round(1)
    array([[ 1. , -1. ,  0.5, -0.1,  0. ]])

    References
    ----------
    Barber (2020), Private Machine Learning via Randomised Response, section 5.
    """

    def __init__(
        self,
        channel: Any = None,
        method: str = "auto",
        prior: Any = "learned",
        ridge: str | float = "auto",
        *,
        fit_intercept: bool = True,
        nominal: Any = None,
        latent_classes: str | int = "auto",
        cv: int = 5,
        samples: int = 2,
        rounds: int = 40,
        base_estimator: Any = None,
        max_iter: int = 500,
        random_state: Any = None,
    ) -> None:
        self.channel = channel
        self.method = method
        self.prior = prior
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.nominal = nominal
        self.latent_classes = latent_classes
        self.cv = cv
        self.samples = samples
        self.rounds = rounds
        self.base_estimator = base_estimator
        self.max_iter = max_iter
        self.random_state = random_state

    # -- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to reports.

        Parameters
        ----------
        X : n x d
            Reports of features; images are laid out in one row each.
        y : n
            Reports of labels.
        sample_weight : n, optional
            What each record stands for; only proportions matter. Standard errors are those of a sample with these
            weights.
        """
        refuse_other_rows(X=X, y=y, sample_weight=sample_weight)
        problem = checked_problem(self, self._generator())
        if y is None:
            validate_data(self, X, y)  # raises scikit-learn's own message
        X = checked_features(self, laid_out(as_row_channel(self.channel).in_order(X)), dtype="numeric")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        if as_row_channel(self.channel).label is None:
            check_classification_targets(y)
        weights = checked_weights(sample_weight, X)
        if weights is not None and self.method == "sampling":
            raise InvalidInput("method='sampling' with sample_weight", "records of equal weight, or another method")
        return self._fit_records(problem, read_records(self.channel, X, y, weights), as_row_channel(self.channel))

    def fit_release(
        self, release: Any, engine: str | Engine = "local", *, features: str | None = None, label: str | None = None
    ) -> Self:
        """Fit to a release, which knows how its records were hidden.

        Parameters
        ----------
        release : path or Release
        engine : "local", "dask", "spark" or an engine
            "local" reads the reports into memory and fits as ``fit`` does. Another engine sums the likelihood where
            the reports are; standard errors are the same, a ridge that cross-validation chooses nearly so. Sampling
            draws every record anew and is for "local" only.
        features, label : str, optional
            The question about features and the question about a label, where there are several of a kind.
        """
        problem = checked_problem(self, self._generator())
        if self.method == "sampling":
            refuse_engine(engine, "sampling")
        opened = open_release(release, Release)
        asked = row_questions(opened, features, label)
        channel = asked.channel
        self._refuse_other_channel(channel)
        self.__dict__.pop("feature_names_in_", None)
        if channel.columns is not None:
            self.feature_names_in_ = np.array(channel.columns, dtype=object)
        self.n_features_in_ = channel.features.width
        if engine == "local":
            reports = asked.reports(opened.to_table(list(asked.columns)))
            return self._fit_records(problem, released_records(reports), channel)
        with running(engine) as where:
            seed = None if problem.rng is None else int(problem.rng.integers(1 << 31))
            original = RowSource(opened, asked, problem.folds, seed)
            source = where.cache(original)
            nominal = nominal_columns(self.nominal, self.method, channel.features, feature_names(self))
            data = SummedRecords.of(asked, where, source, original, problem.folds, self.prior, nominal)
            some = data.sampled.records
            remarks = self._checked(some)
            self._keep_data(data, channel)
            self._keep(fit_spread_problem(problem, data), data)
            return self._remark(remarks, some)

    def _refuse_other_channel(self, channel: RowChannel) -> None:
        if self.channel is None:
            return
        given = as_row_channel(self.channel)
        if given.features.for_width(channel.features.width) != channel.features or given.label != channel.label:
            raise InvalidInput(
                f"this estimator has {self.channel!r}, but the release was made with {channel!r}",
                "the release's own channel",
                "Leave channel=None: a release says how its records were hidden.",
            )

    def _fit_records(self, problem: SpreadProblem, records: SpreadRecords, channel: RowChannel) -> Self:
        data = RecordsInMemory.of(
            records, self.prior, nominal_columns(self.nominal, self.method, records.features, feature_names(self))
        )
        remarks = self._checked(records)
        self._keep_data(data, channel)
        if self.base_estimator is not None:
            return self._fit_base(problem, data)
        self._keep(fit_spread_problem(problem, data), data)
        return self._remark(remarks, records)

    def _checked(self, records: SpreadRecords) -> tuple[str, ...]:
        """Refuse feature reports that their channel cannot have made; remark on those that it hardly can have."""
        remarks = check_reports(records, feature_names(self))
        for remark in remarks:
            warnings.warn(remark, AskanceWarning, stacklevel=4)
        return remarks

    def _remark(self, remarks: tuple[str, ...], records: SpreadRecords) -> Self:
        """The same of label reports, of which a fit tells what they can be; then keep all remarks."""
        if self.n_reports_ >= _ROWS_FOR_EACH * self.parameters_.size:  # else a fit knows its labels by heart
            some = records.thinned(_LOOKED_AT)
            for remark in (of_labels := check_labels(self._told(some.reports), some)):
                warnings.warn(remark, AskanceWarning, stacklevel=4)
            remarks = (*remarks, *of_labels)
        self.notes_: tuple[str, ...] = (*remarks, *self.notes_)
        return self

    def _keep_data(self, data: RecordData, channel: RowChannel) -> None:
        self.channel_ = channel.for_width(data.features.width)
        self.guarantee_ = self.channel_.guarantee
        self.classes_ = class_array(data.label.classes)
        self.n_reports_ = data.rows
        self.prior_ = data.posterior.priors()
        self.joint_prior_: dict[str, Any] | None = None
        self.latent_classes_: int | None = None
        self.nominal_ = data.nominal
        self.design_width_ = sum(design_widths(data.features, data.nominal))

    def _fit_base(self, problem: SpreadProblem, data: RecordsInMemory) -> Self:
        learner = sampling_em_with(
            self.base_estimator,
            posterior_draw(data.posterior, data.records.reports),
            data.records.label_likelihood,
            rng=np.random.default_rng(problem.rng),
            samples=problem.samples,
            rounds=problem.rounds,
        )
        self._keep_learner(learner)
        self.method_, self.n_iter_ = "sampling", problem.rounds
        return self

    def _keep(self, result: SpreadResult, data: RecordData) -> Self:
        for note in result.notes if result.method != "sampling" else ():
            warnings.warn(note, AskanceWarning, stacklevel=4)
        first = 0 if self.fit_intercept else 1
        rows = max(len(result.theta) - 1, 1)
        self._keep_rows(result.theta, intercept=True)
        self.parameters_ = result.parameters.reshape(rows, -1)[:, first:].ravel()
        self.parameter_names_ = parameter_names(
            data.label.classes,
            design_names(feature_names(self), self.channel_.features, self.nominal_),
            self.fit_intercept,
        )
        self.covariance_ = result.covariance
        self.covariance_note_ = result.covariance_note
        if result.untold:
            known = feature_names(self)
            named = listed([known[column] for column in result.untold])
            self.covariance_note_ = f"the reports of {named} vary no more than their noise, and tell of no effect"
        self.method_ = result.method
        self.ridge_ = result.ridge
        self.ridges_ = result.ridges or {result.method: result.ridge}
        self.log_likelihood_ = result.log_likelihood
        self.n_iter_ = result.iterations
        self.converged_ = result.converged
        self.notes_ = (*result.notes, *self._without_errors())
        self.cv_results_ = result.trials
        self.joint_prior_ = result.joint_prior
        if result.joint_prior is not None and "shares" in result.joint_prior:
            self.latent_classes_ = len(result.joint_prior["shares"])
        return self

    def to_sklearn(self) -> Any:
        """Return a plain fitted scikit-learn LogisticRegression that predicts the same, for deployment."""
        check_is_fitted(self, "classes_")
        if any(self.nominal_):
            raise NotAvailable("to_sklearn of a model with nominal columns", "columns of numbers, or save()")
        return super().to_sklearn()

    def _why_no_errors(self) -> str:
        return self.covariance_note_

    def _without_errors(self) -> tuple[str, ...]:
        """What to say of coefficients that have no standard errors: why, and what a ridge did to them."""
        if self.covariance_ is not None:
            return ()
        shrunk = (
            " Coefficients are shrunk towards zero, to predict well: read no effects from them." if self.ridge_ else ""
        )
        return (f"No standard errors: {self.covariance_note_}.{shrunk}",)

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates, standard errors, z, p and intervals as a table; of a fit by a learner the facts alone."""
        check_is_fitted(self, "classes_")
        first, second = self.classes_.tolist()[:2]
        two, facts = len(self.classes_) == 2, [("reports", f"{self.n_reports_}"), ("method", self.method_)]
        if not self._is_linear:
            what = f"P({second})" if two else "Probabilities"
            title = f"{what} by {learner_name(self.base_estimator_)} on hidden records"
            facts.append(("rounds of expectation-maximisation", f"{self.n_iter_}"))
            return Summary(title, level=level, facts=tuple(facts), privacy=self.privacy_statement_)
        title = f"P({second}) by logistic regression on hidden records"
        if not two:
            title = f"Log-odds against {first!r} by softmax regression on hidden records"
        if self.log_likelihood_ is not None:
            facts.append(("log-likelihood", f"{self.log_likelihood_:.4f}"))
        if self.latent_classes_ is not None:
            facts.append(("latent classes", f"{self.latent_classes_}"))
        if self.ridge_:
            facts.append(("ridge", ", ".join(f"{ridge:.4g} ({method})" for method, ridge in self.ridges_.items())))
        covariance = without_errors(self.parameters_) if self.covariance_ is None else self.covariance_
        notes = tuple(dict.fromkeys([*self.notes_, *self._without_errors()]))  # earlier versions kept no word of it
        names, privacy = self.parameter_names_, self.privacy_statement_
        return summarise(title, names, self.parameters_, covariance, level, tuple(facts), notes, privacy)

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return the coefficients, and what each ridge was worth where cross-validation chose one."""
        if not self._is_linear or self.covariance_ is not None:
            return super().figures()
        trials = [] if self.cv_results_ is None else [ridge_figure(self.cv_results_, self.ridges_)]
        return coefficients_figure(self.coef_, self.classes_.tolist()), *trials

    def fill_in(self) -> None:
        if not hasattr(self, "channel_"):
            self.channel_ = as_row_channel(self.channel).for_width(self.n_features_in_)
        if not hasattr(self, "nominal_"):  # of a version that knew neither levels nor attributes that depend on others
            self.joint_prior_, self.latent_classes_ = None, None
            self.nominal_, self.design_width_ = (False,) * self.n_features_in_, self.n_features_in_
        super().fill_in()
