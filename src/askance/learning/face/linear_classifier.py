"""Linear classifiers: what decision, prediction and probability mean, once for all of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats, Integers
from askance.errors import NotAvailable
from askance.learning.face.checked_features import checked_features
from askance.learning.face.ordinary_scorers import notice_ordinary_scorer
from askance.learning.face.plain_sklearn import plain_classifier
from askance.learning.face.predicted_intervals import PredictedIntervals
from askance.learning.face.softmax_law import SoftmaxLaw
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import standard_errors
from askance.solvers.softmax import posterior


class LinearClassifier(ClassifierMixin, PredictedIntervals):  # type: ignore[misc]
    """A classifier with ``coef_`` and ``intercept_``, or with a learner of somebody else's in their place.

    Two classes have one row of coefficients, the log-odds of the second; more have a row for each. A fit by a learner
    has no ``coef_``: it predicts by probabilities, and has neither standard errors nor a plain linear counterpart.
    """

    classes_: NDArray[Any]
    coef_: Floats
    intercept_: Floats
    parameters_: Floats
    covariance_: Floats | None

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of the second class (n), or one score for each class (n x K): of the truth."""
        check_is_fitted(self, "classes_")
        self._need_coefficients("decision_function", "predict_proba")
        notice_ordinary_scorer(self)
        scores: Floats = self._rows(X) @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, n x K: of the truth, not of the report."""
        check_is_fitted(self, "classes_")
        notice_ordinary_scorer(self)
        return self._probabilities(self.decision_function(X)) if self._is_linear else self._learner_probabilities(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest true class of each row."""
        chosen = self._chosen(X)
        predicted: NDArray[Any] = self.classes_[chosen]
        return predicted

    def to_sklearn(self) -> Any:
        """Return a plain fitted scikit-learn LogisticRegression that predicts the same, for deployment."""
        check_is_fitted(self, "classes_")
        self._need_coefficients("to_sklearn", "the fitted learner itself")
        return plain_classifier(self)

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return the figure of coefficients with their intervals; none of a fit by a learner, which has no such."""
        check_is_fitted(self, "classes_")
        return super().figures() if self._is_linear else ()

    @property
    def standard_errors_(self) -> Floats:
        """Standard errors of ``parameters_``."""
        check_is_fitted(self, "classes_")
        self._need_coefficients("standard errors", "a linear model")
        if self.covariance_ is None:
            raise NotAvailable(f"standard errors ({self._why_no_errors()})", "a fit that has them")
        return standard_errors(self.covariance_)

    # -- results as people read them ---------------------------------------------------------------------

    def _log_odds_names(self) -> list[str]:
        self._need_log_odds()
        return [name for name in self.parameter_names_ if not name.endswith("Intercept")]

    def _wald_covariance(self) -> Floats:
        check_is_fitted(self, "classes_")
        self._need_log_odds()
        return super()._wald_covariance()

    def _about(self, place: int, name: str) -> str:
        return name.split(": ", 1)[-1] if len(self.classes_) > 2 else name

    def _prediction_law(self) -> SoftmaxLaw:
        """The fitted softmax model with its errors; refused where there is none, or none that may be used so."""
        covariance, rows = self._wald_covariance(), len(self.classes_) - 1
        theta = np.reshape(self.parameters_, (rows, -1))
        intercept = theta.shape[1] > self.coef_.shape[1]
        names = [self._about(place, name) for place, name in enumerate(self.parameter_names_[: theta.shape[1]])]
        return SoftmaxLaw(names[int(intercept) :], theta, covariance, intercept, self._least_degrees())

    def _need_log_odds(self) -> None:
        """Refuse a model whose scores are no log-odds."""
        self._need_coefficients("odds ratios, effects and tests", "predict_proba")

    def scored_probabilities(self, X: Any) -> Floats:
        """Return the probabilities of classes that a scorer compares with reports; see :func:`askance.scorer`."""
        return self.predict_proba(X)

    # -- what a classifier may do otherwise ------------------------------------------------------------

    @property
    def _is_linear(self) -> bool:
        return hasattr(self, "coef_")

    def _rows(self, X: Any) -> Floats:
        """Features as fit took them."""
        return np.asarray(checked_features(self, X, dtype=np.float64, reset=False))

    def _probabilities(self, scores: Floats) -> Floats:
        """What decision_function means as probabilities: softmax."""
        against_first = scores[:, None] if scores.ndim == 1 else scores[:, 1:] - scores[:, :1]
        return posterior(against_first).probabilities

    def _learner_probabilities(self, X: Any) -> Floats:
        """Probabilities by the learner that stands in for a linear model."""
        raise NotImplementedError

    # -- shared ------------------------------------------------------------------------------------------

    def _chosen(self, X: Any) -> Integers:
        """The place of each row's likeliest class."""
        check_is_fitted(self, "classes_")
        if not self._is_linear:
            return np.asarray(self.predict_proba(X).argmax(axis=1))
        scores = self.decision_function(X)
        return np.asarray(scores > 0, dtype=np.int64) if scores.ndim == 1 else np.asarray(scores.argmax(axis=1))

    def _need_coefficients(self, what: str, instead: str) -> None:
        if not self._is_linear:
            raise NotAvailable(f"{what} of a fit by a learner (base_estimator), which has no coefficients", instead)

    def _keep_rows(self, theta: Floats, intercept: bool) -> None:
        """Keep coefficients (rows x features, intercept first if there is one)."""
        self.__dict__.pop("base_estimator_", None)  # of an earlier fit
        self.intercept_ = theta[:, 0].copy() if intercept else np.zeros(len(theta))
        self.coef_ = theta[:, int(intercept) :].copy()

    def _keep_learner(self, learner: Any) -> None:
        """Keep a fitted learner in place of coefficients; those of an earlier fit are forgotten."""
        for name in ("coef_", "intercept_", "parameters_", "parameter_names_", "covariance_"):
            self.__dict__.pop(name, None)
        self.base_estimator_ = learner
