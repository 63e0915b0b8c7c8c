"""A linear classifier learned from features and a mean operator in place of labels."""

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from askance.arrays import Floats
from askance.channels.alphabet import as_labels, listed
from askance.channels.guarantee import Guarantee
from askance.engines.base import Engine, running
from askance.engines.local.engine import LocalEngine
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.frames import refuse_other_rows
from askance.learning.face.checked_features import checked_features
from askance.learning.face.classes import class_array
from askance.learning.face.figures import intervals_figure
from askance.learning.face.linear_classifier import LinearClassifier
from askance.learning.face.linear_parameters import feature_names, parameter_names
from askance.learning.face.plain_sklearn import plain_classifier
from askance.learning.face.requested_ridge import checked_ridge
from askance.learning.face.scoring import Of, accuracy_on_truth, asks_for_truth, refuse_score_of_reports
from askance.learning.totals.loss_link import mean_loss, probabilities_of_scores
from askance.learning.totals.loss_plot import plot_factorisation
from askance.learning.totals.losses import Loss
from askance.learning.totals.mean_operator_fit import MeanOperatorProblem, OperatorFit, wrong_width
from askance.learning.totals.mean_operators import mean_operator
from askance.learning.totals.public_features import PublicFeatures
from askance.learning.totals.shaped_release import fit_release_of_shape
from askance.learning.totals.user_losses import as_loss
from askance.releases.mean_operator import MeanOperator
from askance.releases.mean_operator_release import MeanOperatorRelease
from askance.releases.reading import open_release
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary


class MeanOperatorClassifier(LinearClassifier):
    """Linear classification by a linear-odd loss, from features and a mean operator.

    Minimises ``(1/m) sum even(theta.x_i) - (a/2) theta.mu + (ridge/2) |theta|^2``. More than two classes are fitted at
    once by the logistic loss (the softmax model), and one against the rest by others.

    A release says what was done to the features before labels were added up with them; the same is done here, to the
    fit's copy of them. Where noise prevails, or features were turned to fewer directions than there are, parameters are
    fitted to the total itself, by its normal law and a prior; coefficients are those of the features as they are.

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
        is not in it. None with the rho-loss or a regulariser. Of a fit to the total itself (``fitted_to_total_``) it is
        that of the posterior, with what the total leaves open.
    parameters_, parameter_names_, standard_errors_ : in the order of ``covariance_``
    classes_, n_iter_, ridge_, risk_, converged_, notes_, fitted_to_total_, guarantee_

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
        return self._fit(X, y, classes, LocalEngine())

    def fit_release(self, release: Any, engine: str | Engine = "local", *, X: Any = None) -> Self:
        """Fit to the release of a mean operator and the features that belong to it.

        Parameters
        ----------
        release : path or MeanOperatorRelease
        engine : "local", "dask", "spark" or an engine
            Where the sums over features run.
        X : n x d
            The features of the same people, in the order of the release.
        """
        release = open_release(release, MeanOperatorRelease)
        if X is None:
            raise InvalidInput(
                "the release of a mean operator without features", "X=, the features of the same people, n x d"
            )
        with running(engine) as where:
            return self._fit(X, release, None, where)

    def _fit(self, X: Any, y: Any, classes: Any, engine: Engine) -> Self:
        refuse_other_rows(X=X, y=y)
        loss, ridge = self._checked_parameters()
        if y is None:
            validate_data(self, X, y)  # raises scikit-learn's own message
        X = checked_features(self, X, dtype=np.float64, order="C")
        operator = self._operator(X, y, classes)
        problem = MeanOperatorProblem(loss, ridge, self.regulariser, self.max_iter)
        shape = getattr(y, "shape", None) if isinstance(y, MeanOperatorRelease) else None
        if shape is not None:
            fit = fit_release_of_shape(problem, X, operator, shape, bool(self.fit_intercept), engine)
        else:
            fit = problem.fit(PublicFeatures.of(X, self.fit_intercept, engine), operator)
        for note in fit.notes:
            warnings.warn(note, AskanceWarning, stacklevel=3)
        self.guarantee_ = getattr(y, "guarantee", None) or Guarantee.none("one person's label")
        self._keep(fit, operator)
        return self

    def _operator(self, X: Floats, y: Any, classes: Any) -> MeanOperator:
        released = getattr(y, "operator", y)
        if isinstance(released, MeanOperator):
            _check_columns(self, y)
            if released.rows != len(X):
                raise InvalidInput(
                    f"the mean operator of {released.rows} people, and features of {len(X)}", "the same people in both"
                )
            if isinstance(y, MeanOperatorRelease) and X.shape[1] == len(y.columns) and not y.is_as_long(X):
                raise InvalidInput(
                    "features whose rows are longer or shorter than those that the labels were added up with",
                    "the same people, columns, order of columns and units on both sides",
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

    def _keep(self, fit: OperatorFit, operator: MeanOperator) -> None:
        self.classes_ = class_array(operator.classes)
        self._keep_rows(fit.rows, bool(self.fit_intercept))
        self.parameters_ = fit.parameters
        self.covariance_ = fit.covariance
        self.parameter_names_ = parameter_names(
            operator.classes,
            feature_names(self),
            bool(self.fit_intercept),
            every_class=self._sets_each_against_the_rest,
        )
        self.ridge_ = fit.ridge
        self.risk_ = fit.risk
        self.n_iter_ = fit.iterations
        self.converged_ = fit.converged
        self.notes_ = fit.notes
        self.n_people_ = operator.rows
        self.noise_ = float(np.sqrt(operator.noise_variance.max(initial=0.0)))
        self.fitted_to_total_ = fit.of_total

    @property
    def _sets_each_against_the_rest(self) -> bool:
        """Whether more than two classes have a row of parameters each, and none is the reference."""
        return len(self.parameters_) == self.coef_.size + int(self.fit_intercept) * len(self.coef_)

    def _need_log_odds(self) -> None:
        loss = as_loss(self.loss)
        if not loss.softmax or (len(self.classes_) > 2 and self._sets_each_against_the_rest):
            raise NotAvailable(f"odds ratios, effects and tests of a {loss.name} loss", "loss='logistic'")

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

    def _probabilities(self, scores: Floats) -> Floats:
        return probabilities_of_scores(as_loss(self.loss), scores)

    def _why_no_errors(self) -> str:
        return "by the rho-loss or with a regulariser there are none: use a smooth loss with a ridge"

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, of: Of = "reports") -> float:
        """Return the accuracy on true labels, with ``of="truth"``.

        A total of labels does not tell which rows are right, so that there is no accuracy without them: it is refused.
        :meth:`risk` estimates the loss from a mean operator of the rows in question.
        """
        refuse_other_rows(X=X, y=y, sample_weight=sample_weight)
        wants_truth, predicted = asks_for_truth(of), self.predict(X)
        if not wants_truth:
            raise refuse_score_of_reports(
                "a MeanOperatorClassifier",
                "a total of labels does not tell which rows are right",
                "risk(X, release) estimates the loss on the hidden labels from their mean operator.",
            )
        return accuracy_on_truth(predicted, y, self.classes_, sample_weight)

    def risk(self, X: Any, y: Any, *, classes: Any = None) -> float:
        """Return the mean loss on rows whose labels are known by their mean operator alone: what to select models by.

        The labels enter a linear-odd loss through the mean operator only, and linearly: the value is the mean loss on
        the true labels if the operator is exact, and an unbiased estimate of it if it carries noise. There is no
        penalty in it. A release that the model was not fitted to tells how well it does on new people.

        Parameters
        ----------
        X : n x d
        y, classes : as for ``fit``
            Of the people of X, with the classes of the fit.

        Examples
        --------
        >>> import numpy as np, askance as ask
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(4_000, 1))
        >>> y = np.where(rng.random(4_000) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no")
        >>> model = ask.MeanOperatorClassifier().fit(X[:2_000], y[:2_000])
        >>> release = ask.release_mean_operator(X[2_000:], y[2_000:], epsilon=1.0, classes=("no", "yes"))
        >>> clean = model.risk(X[2_000:], y[2_000:])
        >>> bool(abs(model.risk(X[2_000:], release) - clean) < 0.1)
        True
        """
        refuse_other_rows(X=X, y=y)
        scores = self.decision_function(X)
        operator = self._operator(self._rows(X), y, classes)
        if list(operator.classes) != self.classes_.tolist():
            raise InvalidInput(
                f"a mean operator of {listed(operator.classes)}",
                f"the classes of the fit: {listed(self.classes_.tolist())}",
            )
        theta = np.column_stack([self.intercept_, self.coef_]) if self.fit_intercept else self.coef_
        if isinstance(y, MeanOperatorRelease) and y.shape is not None:
            raise InvalidInput(
                "a release whose features were standardised or turned before labels were added up with them",
                "the total of the features as they are",
                "Ask for a release with shape='none' of the people that are held out.",
            )
        if operator.width != theta.shape[1]:
            raise wrong_width(operator, self.n_features_in_, bool(self.fit_intercept))
        return mean_loss(as_loss(self.loss), scores, (theta * operator.values).sum(axis=1))

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates, standard errors, z, p and intervals as a table."""
        check_is_fitted(self, "classes_")
        loss = as_loss(self.loss)
        errors = "labels' chance and added noise" if loss.proper else "an upper bound, and added noise"
        if getattr(self, "fitted_to_total_", False):  # which a model of an earlier version did not say
            errors = "labels' chance, added noise, and what the total leaves open"
        facts = (
            ("people", f"{self.n_people_}"),
            ("loss", str(loss.name)),
            ("standard errors", errors),
            *([("noise of the mean operator", f"up to {self.noise_:.3g} (standard deviation)")] if self.noise_ else []),
            *([("ridge", f"{self.ridge_:.4g} on average")] if self.ridge_ else []),
        )
        labels = self.classes_.tolist()
        title = f"Score of {labels[1]!r} by a linear model of the mean operator"
        if len(labels) > 2:
            against = "against the rest" if self._sets_each_against_the_rest else f"against {labels[0]!r}"
            title = f"Scores {against} by a linear model of the mean operator"
        return self._wald_summary(title, level, facts)

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return two figures: the coefficients with their intervals, and the loss with its two parts."""
        loss = as_loss(self.loss)
        unit = "change in log-odds" if loss.softmax else "change in score"
        parts = ReportFigure(
            f"The {loss.name} loss and its parts.",
            f"The {loss.name} loss over the margin, as the sum of an even part, which needs no label, and a line, "
            "through which the labels enter.",
            partial(plot_factorisation, loss),
            (4.4, 3.6),
        )
        return intervals_figure(self.summary(), unit), parts

    def to_sklearn(self) -> Any:
        """Return a plain fitted scikit-learn classifier that predicts the same, for deployment.

        A LogisticRegression for the logistic loss, with its probabilities; a LinearSVC for others, which has none.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        check_is_fitted(self, "classes_")
        return plain_classifier(self, LogisticRegression if as_loss(self.loss).softmax else LinearSVC)


def _check_columns(estimator: Any, release: Any) -> None:
    """Refuse features in another order than the release names them."""
    released, have = getattr(release, "columns", None), getattr(estimator, "feature_names_in_", None)
    if released is None or have is None or list(released) == list(have) or sorted(released) != sorted(have):
        return
    raise InvalidInput("features in another order than in the release", f"the order {', '.join(map(str, released))}")
