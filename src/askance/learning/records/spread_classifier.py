"""A linear classifier learned from records whose features and label were both hidden."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from askance.arrays import Floats
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.learning.face.linear_parameters import parameter_names
from askance.learning.face.plain_sklearn import plain_classifier
from askance.learning.face.requested_ridge import checked_ridge
from askance.learning.face.saving import JsonModel
from askance.learning.records.joint_likelihood import joint_logits
from askance.learning.records.logistic_normal import expected_sigmoid
from askance.learning.records.posterior import FeaturePosterior
from askance.learning.records.reading import SpreadRecords, as_row_channel, read_records
from askance.learning.records.softmax_normal import expected_probabilities
from askance.learning.records.spread_fit import METHODS, SpreadProblem, SpreadResult
from askance.reports.summary import Summary, standard_errors, summarise
from askance.solvers.em import class_probabilities
from askance.solvers.softmax import posterior as softmax


class SpreadClassifier(JsonModel, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic or softmax regression from reports of features *and* labels.

    Maximises the spread likelihood: that of label reports given feature reports, with the truth of both summed out.
    ``predict``, ``predict_proba`` and ``score`` are about **clean** records; for reports see
    :meth:`predict_proba_reports`.

    Parameters
    ----------
    channel : RowChannel, or None
        How the records were hidden. None: not at all.
    method : "auto", "collapsed", "spectral", "sampling" or "enumerate"
        "collapsed" takes the logit given a report for normal, with moments in closed form. "spectral" does so for the
        principal scores of correlated features. "enumerate" is exact, for few attributes with few states. "sampling" is
        the importance sampling of the paper, whose coefficients are shrunk when samples are few. "auto" enumerates
        where there are at most 256 possible records. Otherwise it is "collapsed" where the reports determine all
        parameters well, and else cross-validation on the reports chooses between the first two, or their average where
        neither is far behind. With a ridge that is given it is "collapsed".
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
    parameters_, parameter_names_, prior_, classes_, log_likelihood_, n_iter_, converged_, notes_, privacy_

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
        self.cv = cv
        self.samples = samples
        self.rounds = rounds
        self.base_estimator = base_estimator
        self.max_iter = max_iter
        self.random_state = random_state

    # -- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to reports.

        Parameters
        ----------
        X : n x d
            Reports of features; images are laid out in one row each.
        y : n
            Reports of labels.
        """
        problem = self._problem()
        if y is None:
            validate_data(self, X, y)  # raises scikit-learn's own message
        X = validate_data(self, _laid_out(X), dtype="numeric")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        if as_row_channel(self.channel).label is None:
            check_classification_targets(y)
        records = read_records(self.channel, X, y)
        posterior = problem.posterior(records)
        self._keep_data(records, posterior)
        if self.base_estimator is not None:
            return self._fit_base(problem, records, posterior)
        result = problem.fit(records, posterior)
        for note in result.notes if result.method != "sampling" else ():
            warnings.warn(note, AskanceWarning, stacklevel=2)
        self._keep(result, records)
        return self

    def _problem(self) -> SpreadProblem:
        ridge = checked_ridge(self.ridge)
        if self.method not in METHODS:
            raise InvalidInput(f"method={self.method!r}", " or ".join(map(repr, METHODS)))
        if isinstance(self.prior, str) and self.prior not in ("learned", "flat", "gaussian"):
            raise InvalidInput(f"prior={self.prior!r}", "'learned', 'flat', 'gaussian' or marginals")
        for name, least in (("cv", 2), ("samples", 1), ("rounds", 1), ("max_iter", 1)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise InvalidInput(f"{name}={value!r}", f"a whole number of at least {least}")
        if self.base_estimator is not None:
            if self.method != "sampling":
                raise InvalidInput(
                    f"base_estimator with method={self.method!r}", "method='sampling'", "Others are for linear models."
                )
            if not hasattr(self.base_estimator, "predict_proba") or not has_fit_parameter(
                self.base_estimator, "sample_weight"
            ):
                raise InvalidInput(
                    f"base_estimator={self.base_estimator!r}",
                    "a classifier with predict_proba whose fit takes sample_weight",
                )
        return SpreadProblem(
            self.method,
            self.prior,
            ridge,
            bool(self.fit_intercept),
            int(self.cv),
            int(self.samples),
            int(self.rounds),
            int(self.max_iter),
            self._generator(),
        )

    def _generator(self) -> np.random.Generator | None:
        if self.random_state is None or isinstance(self.random_state, np.random.Generator):
            return self.random_state
        return np.random.default_rng(check_random_state(self.random_state).randint(1 << 31))

    def _fit_base(self, problem: SpreadProblem, records: SpreadRecords, posterior: FeaturePosterior) -> Self:
        from askance.learning.records.posterior_draws import posterior_draw
        from askance.learning.records.sampling_fit import sampling_em_with

        self.base_estimator_ = sampling_em_with(
            self.base_estimator,
            posterior_draw(posterior, records.reports),
            records.label_likelihood,
            rng=np.random.default_rng(problem.rng),
            samples=problem.samples,
            rounds=problem.rounds,
        )
        self.method_, self.n_iter_ = "sampling", problem.rounds
        return self

    def _keep_data(self, records: SpreadRecords, posterior: FeaturePosterior) -> None:
        row = as_row_channel(self.channel).for_width(records.features.width)
        kinds = {type(label) for label in records.label.classes}
        self.classes_ = np.array(records.label.classes, dtype=None if len(kinds) == 1 else object)
        self.n_reports_ = len(records.label_codes)
        self.privacy_ = str(row.guarantee)
        self.prior_ = posterior.priors()

    def _keep(self, result: SpreadResult, records: SpreadRecords) -> None:
        first = 0 if self.fit_intercept else 1
        rows = max(len(result.theta) - 1, 1)
        self.intercept_ = result.theta[:, 0].copy()
        self.coef_ = result.theta[:, 1:].copy()
        self.parameters_ = result.parameters.reshape(rows, -1)[:, first:].ravel()
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.coef_.shape[1])])
        self.parameter_names_ = parameter_names(records.label, [str(name) for name in names], self.fit_intercept)
        self.covariance_ = result.covariance
        self.covariance_note_ = result.covariance_note
        self.method_ = result.method
        self.ridge_ = result.ridge
        self.ridges_ = result.ridges or {result.method: result.ridge}
        self.log_likelihood_ = result.log_likelihood
        self.n_iter_ = result.iterations
        self.converged_ = result.converged
        self.notes_ = result.notes
        self.cv_results_ = result.trials

    # -- using the model -----------------------------------------------------------------------------

    def _clean(self, X: Any) -> Floats:
        check_is_fitted(self, "classes_")
        return np.asarray(validate_data(self, _laid_out(X), dtype=np.float64, reset=False))

    def decision_function(self, X: Any) -> Floats:
        """Return log-odds of the second class (n), or one logit for each class (n x K), of clean records."""
        X = self._clean(X)
        self._refuse_base("decision_function")
        logits: Floats = X @ self.coef_.T + self.intercept_
        return logits[:, 0] if logits.shape[1] == 1 else logits

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each true class of clean records, n x K."""
        if self.base_estimator is not None:
            return class_probabilities(self.base_estimator_, self._clean(X), len(self.classes_))
        logits = self.decision_function(X)
        against_first = logits[:, None] if logits.ndim == 1 else logits[:, 1:] - logits[:, :1]
        return softmax(against_first).probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest true class of clean records."""
        if self.base_estimator is not None:
            chosen = self.predict_proba(X).argmax(axis=1)
        else:
            scores = self.decision_function(X)
            chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[chosen]
        return predicted

    def predict_proba_reports(self, X: Any) -> Floats:
        """Return the probability of each true class of records of which only feature *reports* are known, n x K.

        Attributes are taken for independent given their reports, whatever the method of the fit.
        """
        check_is_fitted(self, "classes_")
        self._refuse_base("predict_proba_reports")
        X = validate_data(self, _laid_out(X), dtype="numeric", reset=False)
        features = as_row_channel(self.channel).features.for_width(X.shape[1])
        moments = FeaturePosterior.restored(features, self.prior_).moments(features.codes_and_numbers(X))
        if len(self.coef_) > 1:
            return expected_probabilities(*joint_logits(*moments, np.column_stack([self.intercept_, self.coef_])))
        mean = moments.mean @ self.coef_[0] + self.intercept_[0]
        second = expected_sigmoid(mean, moments.variance @ self.coef_[0] ** 2).probability
        return np.column_stack([1 - second, second])

    def score_reports(self, X: Any, y: Any) -> float:
        """Return the mean spread log-likelihood of label reports given feature reports: for comparing models."""
        chance = self.predict_proba_reports(X)
        records = read_records(self._channel_with_classes(), _laid_out(X), column_or_1d(y))
        return float(np.log(np.maximum((records.label_likelihood * chance).sum(axis=1), 1e-300)).mean())

    def _channel_with_classes(self) -> Any:
        from askance.channels.attributes.row_channel import RowChannel
        from askance.channels.labels.finite import Identity

        row = as_row_channel(self.channel)
        return row if row.label is not None else RowChannel(row.features, Identity(self.classes_.tolist()), row.columns)

    @property
    def standard_errors_(self) -> Floats:
        """Standard errors of ``parameters_``."""
        check_is_fitted(self, "classes_")
        self._refuse_base("standard errors")
        if self.covariance_ is None:
            raise NotAvailable(f"standard errors ({self.covariance_note_})", "method='collapsed' with ridge=0")
        return standard_errors(self.covariance_)

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates, standard errors, z, p and intervals as a table."""
        check_is_fitted(self, "classes_")
        self._refuse_base("a summary")
        covariance = self.covariance_ if self.covariance_ is not None else np.full((len(self.parameters_),) * 2, np.nan)
        note = (f"No standard errors: {self.covariance_note_}.",) if self.covariance_ is None else ()
        likelihood = [] if self.log_likelihood_ is None else [("log-likelihood", f"{self.log_likelihood_:.4f}")]
        told = ", ".join(f"{ridge:.4g} ({method})" for method, ridge in self.ridges_.items())
        facts = (
            ("reports", f"{self.n_reports_}"),
            ("method", self.method_),
            *likelihood,
            *([("ridge", told)] if self.ridge_ else []),
            ("privacy", self.privacy_),
        )
        labels = self.classes_.tolist()
        title = f"P({labels[1]}) by logistic regression on hidden records"
        if len(labels) > 2:
            title = f"Log-odds against {labels[0]!r} by softmax regression on hidden records"
        notes = (*self.notes_, *note)
        return summarise(title, self.parameter_names_, self.parameters_, covariance, level, facts, notes)

    def to_sklearn(self) -> Any:
        """Return a plain fitted scikit-learn LogisticRegression that predicts the same, for deployment."""
        check_is_fitted(self, "classes_")
        self._refuse_base("to_sklearn")
        return plain_classifier(self)

    def _refuse_base(self, what: str) -> None:
        if self.base_estimator is not None:
            raise NotAvailable(f"{what} of a fit with base_estimator", "base_estimator=None", "Use base_estimator_.")


def _laid_out(X: Any) -> Any:
    """Lay images out in one row each."""
    shape = getattr(X, "shape", ())
    return np.asarray(X).reshape(len(X), -1) if len(shape) > 2 else X
