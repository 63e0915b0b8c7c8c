"""What a fitted list experiment predicts about the sensitive item: how likely a yes is, among whom."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.errors import NotAvailable
from askance.learning.face.delta_law import DeltaLaw
from askance.learning.face.predicted_intervals import PredictedIntervals
from askance.learning.face.softmax_law import SoftmaxLaw


class ListPredictions(PredictedIntervals):
    """Probabilities of a yes by logistic regression; by least squares shares, which may leave the unit interval."""

    parameters_: Floats
    feature_names_: tuple[str, ...]
    method_: str

    def predict_proba(self, X: Any) -> Floats:
        """Return P(no), P(yes) to the sensitive item for rows of covariates; of a fit by likelihood."""
        check_is_fitted(self, "parameters_")
        if self.method_ != "likelihood":
            raise NotAvailable("probabilities of a fit without a likelihood", "method='likelihood'")
        intercept, *slopes = self._coefficients()
        yes = expit(self._rows(X) @ np.array(slopes) + intercept)
        return np.column_stack([1 - yes, yes])

    def _coefficients(self) -> Floats:
        """Of the sensitive answer: intercept, then covariates; other parameters are about the other items."""
        return self.parameters_[: 1 + len(self.feature_names_)]

    def _prediction_law(self) -> SoftmaxLaw | DeltaLaw:
        check_is_fitted(self, "parameters_")
        if self.method_ == "difference":
            raise NotAvailable("predictions from a difference in means", "method='likelihood' or 'linear', with X")
        found, covariance = self._coefficients(), self._wald_covariance()
        known, degrees = covariance[: len(found), : len(found)], self._least_degrees()
        if self.method_ == "likelihood":
            return SoftmaxLaw(self.feature_names_, found[None, :], known, True, degrees)

        def line(X: Floats) -> tuple[Floats, Floats]:
            rows = np.column_stack([np.ones(len(X)), X])
            return (rows @ found)[:, None], rows[:, None, :]

        return DeltaLaw(line, known, degrees, shares=False, features=self.feature_names_)

    def _predicted_labels(self) -> Sequence[Any]:
        return ("no", "yes") if self.method_ == "likelihood" else ()

    def _features(self) -> Sequence[str]:
        return self.feature_names_
