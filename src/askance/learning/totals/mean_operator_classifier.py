"""A linear classifier learned from features and a mean operator in place of labels."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from askance.arrays import Floats
from askance.channels.alphabet import as_labels
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.learning.face.plain_sklearn import plain_classifier
from askance.learning.face.requested_ridge import checked_ridge
from askance.learning.face.saving import JsonModel
from askance.learning.totals.losses import Logistic, Loss
from askance.learning.totals.mean_operator_fit import LinearFit, MeanOperatorProblem
from askance.learning.totals.mean_operators import mean_operator
from askance.learning.totals.public_features import PublicFeatures
from askance.learning.totals.user_losses import as_loss
from askance.releases.mean_operator import MeanOperator
from askance.reports.summary import Summary, standard_errors, summarise
from askance.solvers.softmax import posterior


class MeanOperatorClassifier(JsonModel, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear classification by a linear-odd loss, from features and a mean operator.

    Minimises ``(1/m) sum even(theta.x_i) - (a/2) theta.mu + (ridge/2) |theta|^2``. More than two classes are fitted at
    once by the logistic loss (the softmax model), and one against the rest by others.

    Parameters
    ----------
    loss : str, Loss or function
        "logistic", "square", "matsushita", "unhinged", "rho", a :class:`~askance.learning.totals.Loss`, or a function
        of the margin, which is checked to be linear-odd; see :func:`~askance.learning.totals.as_loss`.
    ridge : "auto" or float
        The penalty on the mean risk; scikit-learn's ``C = 1 / (m ridge)``. The intercept is free unless the mean
        operator is noisy; then the score at the mean of the features is penalised too. "auto" is 0 for a mean operator
        without noise. For a noisy one it is a penalty by direction that follows from the noise's variance and the
        features, both public; see ``noise_ridge``.
    fit_intercept : bool
        With an intercept, the mean operator's first value is the mean label: that of a feature that is 1 for everybody.
    regulariser : function, optional
        In place of the ridge: takes the coefficients (d, or K x d), returns a value and its gradient.
    max_iter : int

    Attributes
    ----------
    coef_, intercept_ : arrays
        Shape (1, d) and (1,) for two classes; (K, d) and (K,) for more, summing to zero over classes by the logistic
        loss.
    covariance_ : array or None
        Of ``parameters_``: labels' own chance, by the model, and the noise of the mean operator. What a ridge shrinks
        is not in it. None with the rho-loss or a regulariser.
    parameters_, parameter_names_, standard_errors_ : in the order of ``covariance_``
    classes_, n_iter_, ridge_, risk_, converged_, notes_, privacy_

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5_000, 1))
    >>> y = np.where(rng.random(5_000) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no")
    >>> sign = np.where(y == "yes", 1, -1)
    >>> mu = ask.MeanOperator([sign.mean(), sign @ X[:, 0] / 5_000], classes=("no", "yes"), rows=5_000)
    >>> ask.MeanOperatorClassifier().fit(X, mu).coef_.round(1)
    array([[2.]])

    References
    ----------
    Patrini, Nielsen & Nock (2015), theorem 3 and Meta-Algorithm 1.
    """

    def __init__(
        self,
        loss: Any = "logistic",
        ridge: str | float = "auto",
        *,
        fit_intercept: bool = True,
        regulariser: Any = None,
        max_iter: int = 200,
    ) -> None:
        self.loss = loss
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.regulariser = regulariser
        self.max_iter = max_iter

    # -- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, *, classes: Any = None) -> Self:
        """Fit to features and a mean operator.

        Parameters
        ----------
        X : n x d
        y : MeanOperator, release of one, array, or n labels
            An array of its values is taken for a mean operator if ``classes`` are given, and for labels if not.
        classes : labels, optional
            Of an array: the first stands for -1, the second for 1; with more, one row of values for each.
        """
        loss, ridge = self._checked_parameters()
        if y is None:
            validate_data(self, X, y)  # raises scikit-learn's own message
        X = validate_data(self, X, dtype=np.float64, order="C")
        operator = self._operator(X, y, classes)
        problem = MeanOperatorProblem(loss, ridge, self.regulariser, self.max_iter)
        fit = problem.fit(PublicFeatures.of(X, self.fit_intercept), operator)
        for note in fit.notes:
            warnings.warn(note, AskanceWarning, stacklevel=2)
        guarantee = getattr(y, "guarantee", None)
        self.privacy_ = "labels as they are, or as an estimate of them" if guarantee is None else str(guarantee)
        self._keep(fit, loss, operator)
        return self

    def _operator(self, X: Floats, y: Any, classes: Any) -> MeanOperator:
        released = getattr(y, "operator", y)
        if isinstance(released, MeanOperator):
            _check_columns(self, y)
            if released.rows != len(X):
                raise InvalidInput(
                    f"the mean operator of {released.rows} people, and features of {len(X)}", "the same people in both"
                )
            return released
        if classes is not None:
            return MeanOperator(y, as_labels(classes, "classes"), len(X))
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        if len(y) != len(X):
            hint = (
                ""
                if len(y) != X.shape[1] + self.fit_intercept
                else "If these are values of a mean operator, say classes=."
            )
            raise InvalidInput(f"{len(X)} rows of features and {len(y)} labels", "one label for each row", hint)
        check_classification_targets(y)
        found = np.unique(y)
        if len(found) < 2:
            raise InvalidInput(f"labels of one class only: {found!r}", "labels of at least two classes")
        return mean_operator(X, y, classes=found.tolist(), fit_intercept=self.fit_intercept)

    def _keep(self, fit: LinearFit, loss: Loss, operator: MeanOperator) -> None:
        first = int(self.fit_intercept)
        kinds = {type(label) for label in operator.classes}
        self.classes_ = np.array(operator.classes, dtype=None if len(kinds) == 1 else object)
        self.intercept_ = fit.rows[:, 0].copy() if first else np.zeros(len(fit.rows))
        self.coef_ = fit.rows[:, first:].copy()
        self.parameters_ = fit.parameters
        self.covariance_ = fit.covariance
        self.parameter_names_ = self._parameter_names(len(fit.parameters) // fit.rows.shape[1])
        self.ridge_ = fit.ridge
        self.risk_ = fit.risk
        self.n_iter_ = fit.iterations
        self.converged_ = fit.converged
        self.notes_ = fit.notes
        self.n_people_ = operator.rows
        self.noise_ = float(np.sqrt(operator.noise_variance.max(initial=0.0)))

    def _parameter_names(self, blocks: int) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.coef_.shape[1])])
        columns = [*(["Intercept"] if self.fit_intercept else []), *map(str, names)]
        if len(self.classes_) == 2:
            return tuple(columns)
        labels = self.classes_.tolist()[-blocks:]  # the softmax model is told against the first
        return tuple(f"{label}: {column}" for label in labels for column in columns)

    def _checked_parameters(self) -> tuple[Loss, float | None]:
        loss = as_loss(self.loss)
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise InvalidInput(f"max_iter={self.max_iter!r}", "at least 1")
        if self.regulariser is not None and not callable(self.regulariser):
            raise InvalidInput(
                f"regulariser={self.regulariser!r}", "a function that returns a value and a gradient", "Or use ridge."
            )
        return loss, checked_ridge(self.ridge)

    # -- using the model -----------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Return the score of the second class (n), or one score for each class (n x K)."""
        check_is_fitted(self, "classes_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores: Floats = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[chosen]
        return predicted

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, n x K, by the link of a proper loss."""
        scores = self.decision_function(X)
        loss = as_loss(self.loss)
        if scores.ndim == 1:
            second = loss.probability(scores)
            return np.column_stack([1 - second, second])
        if isinstance(loss, Logistic):
            return posterior(scores[:, 1:] - scores[:, :1]).probabilities
        each = loss.probability(scores) + np.finfo(float).tiny
        shares: Floats = each / each.sum(axis=1, keepdims=True)  # one against the rest: they sum to one by force
        return shares

    @property
    def standard_errors_(self) -> Floats:
        """Standard errors of ``parameters_``."""
        if self.covariance_ is None:
            raise NotAvailable(
                "standard errors of a fit by the rho-loss or with a regulariser", "a smooth loss with a ridge"
            )
        return standard_errors(self.covariance_)

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates, standard errors, z, p and intervals as a table."""
        check_is_fitted(self, "classes_")
        covariance = self.covariance_ if self.covariance_ is not None else np.full((len(self.parameters_),) * 2, np.nan)
        proper = as_loss(self.loss).proper
        facts = (
            ("people", f"{self.n_people_}"),
            ("loss", str(as_loss(self.loss).name)),
            ("standard errors", "labels' chance and added noise" if proper else "an upper bound, and added noise"),
            *([("noise of the mean operator", f"up to {self.noise_:.3g} (standard deviation)")] if self.noise_ else []),
            *([("ridge", f"{self.ridge_:.4g} on average")] if self.ridge_ else []),
            ("privacy", self.privacy_),
        )
        labels = self.classes_.tolist()
        title = f"Score of {labels[1]!r} by a linear model of the mean operator"
        if len(labels) > 2:
            against = f"against {labels[0]!r}" if len(self.parameters_) < self.coef_.size else "against the rest"
            title = f"Scores {against} by a linear model of the mean operator"
        return summarise(title, self.parameter_names_, self.parameters_, covariance, level, facts, self.notes_)

    def to_sklearn(self) -> Any:
        """Return a plain fitted scikit-learn classifier that predicts the same, for deployment.

        A LogisticRegression for the logistic loss, with its probabilities; a LinearSVC for others, which has none.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        check_is_fitted(self, "classes_")
        return plain_classifier(self, LogisticRegression if isinstance(as_loss(self.loss), Logistic) else LinearSVC)


def _check_columns(estimator: Any, release: Any) -> None:
    """Refuse features in another order than the release names them."""
    told, have = getattr(release, "columns", None), getattr(estimator, "feature_names_in_", None)
    if told is None or have is None or list(told) == list(have) or sorted(told) != sorted(have):
        return
    raise InvalidInput("features in another order than in the release", f"the order {', '.join(map(str, told))}")
