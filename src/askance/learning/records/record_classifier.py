"""What a classifier of hidden records says of records whose reports, or true features, it is shown; and how well."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats, Integers
from askance.channels.base import LabelChannel
from askance.channels.labels.finite import Identity
from askance.errors import InvalidInput
from askance.frames import refuse_other_rows
from askance.learning.face.checked_features import checked_features
from askance.learning.face.hidden_truth import Estimate
from askance.learning.face.linear_classifier import LinearClassifier
from askance.learning.face.random_state import random_generator
from askance.learning.face.scoring import Of, accuracy_from_reports, accuracy_on_truth, asks_for_truth
from askance.learning.records.joint_likelihood import joint_logits
from askance.learning.records.latent_reports import true_design
from askance.learning.records.logistic_normal import expected_sigmoid
from askance.learning.records.posterior import FeaturePosterior
from askance.learning.records.posterior_draws import posterior_draw
from askance.learning.records.report_posterior import told_by_joint_prior
from askance.learning.records.softmax_normal import expected_probabilities
from askance.solvers.em import class_probabilities

# Of another learner's probabilities, averaged over what hidden features may have been: a share is then off by a tenth.
_DRAWS = 32


class RecordClassifier(LinearClassifier):
    """Predicts the class of records from their reports, or from true features, and is scored on either."""

    channel_: Any
    prior_: Any
    joint_prior_: dict[str, Any] | None
    nominal_: tuple[bool, ...]
    random_state: Any

    def _rows(self, X: Any) -> Floats:
        rows, nominal = super()._rows(laid_out(X)), getattr(self, "nominal_", ())
        if not any(nominal):
            return rows
        features = self.channel_.features
        return true_design(features, nominal, features.codes_and_numbers(rows))

    def _learner_probabilities(self, X: Any) -> Floats:
        return class_probabilities(self.base_estimator_, self._rows(X), len(self.classes_))

    def _generator(self) -> np.random.Generator | None:
        return None if self.random_state is None else random_generator(self.random_state)

    def predict_proba_reports(self, X: Any) -> Floats:
        """Return the probability of each true class of records of which only feature *reports* are known, n x K.

        By what the fit learned of all attributes together: latent classes of a mixture, the table of an enumeration.
        Other methods take attributes for independent given their reports.
        """
        check_is_fitted(self, "classes_")
        X = checked_features(self, laid_out(X), dtype="numeric", reset=False)
        return self._told(self.channel_.features.codes_and_numbers(X))

    def _told(self, reports: NDArray[Any]) -> Floats:
        """P(true class | feature report), of codes of states and numbers."""
        features = self.channel_.features
        posterior = FeaturePosterior.restored(features, self.prior_)
        if self._is_linear and (self.joint_prior_ is not None or any(self.nominal_)):
            theta = np.column_stack([self.intercept_, self.coef_])
            return told_by_joint_prior(features, self.nominal_, self.joint_prior_, posterior, reports, theta)
        if not self._is_linear:
            draw, rng = posterior_draw(posterior, reports), np.random.default_rng(self._generator())
            average: Floats = np.mean([self._learner_probabilities(draw(rng)) for _ in range(_DRAWS)], axis=0)
            return average
        moments = posterior.moments(reports)
        if len(self.coef_) > 1:
            return expected_probabilities(*joint_logits(*moments, np.column_stack([self.intercept_, self.coef_])))
        mean = moments.mean @ self.coef_[0] + self.intercept_[0]
        second = expected_sigmoid(mean, moments.variance @ self.coef_[0] ** 2).probability
        return np.column_stack([1 - second, second])

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        of: Of = "reports",
        features: Literal["reports", "clean"] | None = None,
    ) -> float:
        """Return an unbiased estimate of the accuracy on true labels, from reports of records that ``fit`` did not see.

        X and y are reports, as in ``fit``. The class of each record is predicted from its feature reports, by
        :meth:`predict_proba_reports`, and the noise of the label reports is undone: the mean of the estimate is the
        share of records whose *true* label is predicted. Model selection needs nothing else. A single estimate may
        leave [0, 1] when reports are few or noisy.

        Parameters
        ----------
        X : n x d
        y : n
        sample_weight : n, optional
        of : "reports" or "truth"
            What y is: label reports, or true labels, on which the accuracy is measured.
        features : "reports" or "clean", optional
            What X is. "clean": true features, classified by ``predict``. Unless given, X is of the same kind as y.
        """
        refuse_other_rows(X=X, y=y, sample_weight=sample_weight)
        if not asks_for_truth(of):
            return self.score_estimate(X, y, sample_weight, features=features or "reports").value
        chosen, _ = self._predicted(X, features or "clean")
        return accuracy_on_truth(self.classes_[chosen], y, self.classes_, sample_weight)

    def score_estimate(
        self, X: Any, y: Any, sample_weight: Any = None, *, features: Literal["reports", "clean"] = "reports"
    ) -> Estimate:
        """Return what :meth:`score` estimates from label reports, with its standard error and interval."""
        refuse_other_rows(X=X, y=y, sample_weight=sample_weight)
        chosen, chance = self._predicted(X, features)
        codes = self.label_channel_.encode_reports(column_or_1d(y))
        return accuracy_from_reports(chosen, chance.max(axis=1), codes, self.label_channel_, sample_weight)

    def _predicted(self, X: Any, features: str) -> tuple[Integers, Floats]:
        """The place of each record's class, and the probability of each class."""
        if features not in ("reports", "clean"):
            raise InvalidInput(f"features={features!r}", "'reports' or 'clean'")
        if features == "clean":
            return self._chosen(X), self.predict_proba(X)
        chance = self.predict_proba_reports(X)
        return np.asarray(chance.argmax(axis=1)), chance

    def score_reports(self, X: Any, y: Any) -> float:
        """Return the mean spread log-likelihood of label reports given feature reports: for comparing models."""
        refuse_other_rows(X=X, y=y)
        chance = self.predict_proba_reports(X)
        likelihood = self.label_channel_.matrix[self.label_channel_.encode_reports(column_or_1d(y))]
        # A report that a model rules out counts as one of probability 1e-300, and not as minus infinity.
        return float(np.log(np.maximum((likelihood * chance).sum(axis=1), 1e-300)).mean())

    @property
    def label_channel_(self) -> LabelChannel:
        """How labels were hidden; those that are told as they are have no channel of their own."""
        check_is_fitted(self, "classes_")
        return self.channel_.label or Identity(self.classes_.tolist())

    def scored_probabilities(self, X: Any) -> Floats:
        """Return the probabilities of classes given reports of the features, as they come in a table of reports."""
        return self.predict_proba_reports(X)


def laid_out(X: Any) -> Any:
    """Lay images out in one row each."""
    shape = getattr(X, "shape", ())
    return np.asarray(X).reshape(len(X), -1) if len(shape) > 2 else X
