"""A classifier learned from bags of rows of which only the proportions of the classes are known."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_regressor
from sklearn.utils.validation import check_is_fitted, validate_data

from askance.arrays import Floats
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.learning.bags.bag_learners import (
    Calibration,
    bag_log_likelihood,
    calibrate,
    class_shares,
    cross_fit_bags,
    cross_fit_labels,
    unmix,
)
from askance.learning.bags.bags import Bags, read_bags
from askance.learning.bags.label_counts import labels_given_counts
from askance.learning.bags.proportion_fit import LinearResult, ProportionProblem
from askance.learning.bags.released_bags import bags_of_release
from askance.learning.face.plain_sklearn import plain_classifier
from askance.learning.face.random_state import random_seed
from askance.learning.face.requested_ridge import checked_ridge
from askance.learning.face.saving import JsonModel
from askance.learning.totals.user_losses import as_loss
from askance.releases.release import Release
from askance.reports.summary import Summary, standard_errors, summarise
from askance.solvers.softmax import posterior

LINEAR = ("mean-map", "laplacian", "alternating", "bag-likelihood")
METHODS = ("auto", *LINEAR, "bag-classifier", "relabel", "committee")
_OTHER_MEMBERS = ("bag-classifier", "bag-likelihood")  # of a committee, beside relabel

_RANDOM = 2.0  # bags that differ by less than so many times chance tell little beyond their number
_MANY_BAGS = 10  # bags for each parameter, from which the likelihood needs no help
_ENOUGH = 100  # labels that the bags are worth, from which a flexible model can learn


class ProportionClassifier(JsonModel, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classification from label proportions.

    Parameters
    ----------
    method : str
        - "mean-map": class means from bag means by weighted least squares, then the mean operator's fit. Assumes that
          a class looks the same in every bag: E[x | y, bag] = E[x | y].
        - "laplacian": every bag has class means of its own, which differ little between similar bags.
        - "alternating": labels with the bags' counts and fits to them in turn, from the likelihood's fit and a mean
          map. Good with few bags of nearly equal proportions.
        - "bag-likelihood": maximises the probability of the bags' counts under a logistic or softmax model, exactly for
          bags of up to a few thousand rows. Has standard errors where there are more bags than parameters.
        - "bag-classifier": learns which bag a row came from, and unmixes bags to classes. For bags that differ in their
          proportions widely, and in nothing else.
        - "relabel": any scikit-learn model learns the labels that the counts suggest under the bag-likelihood fit.
        - "committee": the mean of the probabilities that "relabel", "bag-classifier" and "bag-likelihood" give.
        - "auto": chosen by the bags alone; ``method_`` says which. "bag-likelihood" if there are ten bags for each
          parameter or the bags are nearly pure. Otherwise "alternating" if the proportions differ by less than
          twice what rows dealt at random would give (chi-square per degree of freedom). Otherwise "committee" (with a
          base_estimator "relabel") if the bags are worth a hundred labels and relabel's predictions of rows that
          it did not see make the bags likelier than the bag-likelihood fit does; and else "bag-likelihood".
    loss : str, Loss or function
        The linear-odd loss of the mean maps; see :func:`askance.learning.totals.as_loss`. With more than two classes
        "logistic" is the softmax risk, and another loss sets each class against the others.
    ridge : "auto" or float
        Penalty ``ridge / 2 * sum(coef ** 2)`` on the summed objective, intercept free. "auto" is chosen on the bags: of
        several ridges in proportion to the features' total variance, the one with the largest likelihood of the counts
        less the effective number of parameters (mean maps), or with the largest evidence (likelihood).
    base_estimator : scikit-learn model, optional
        For "bag-classifier" a classifier; for "relabel" a regressor of shares, or a classifier that takes sample
        weights. Random forests if not given. Cross-fitted: out of bag if it has ``oob_score``, in five folds otherwise.
    classes : labels, optional
        In the order of the proportions' columns. Taken from a frame's columns, or 0, 1, ... if not given.
    fit_intercept : bool
    smoothness : float
        Of the Laplacian mean map: as it grows, bags share their class means.
    max_iter : int
    random_state : int, optional
        For the random forests.

    Attributes
    ----------
    coef_, intercept_ : arrays
        Shape (1, d) and (1,) for two classes, (K, d) and (K,) for more. Linear methods only.
    covariance_, parameters_, parameter_names_ : as for :class:`~askance.IndirectClassifier`
        Sandwich over bags; for "bag-likelihood" with more bags than parameters.
    classes_, method_, ridge_, log_likelihood_, n_iter_, converged_, n_bags_, n_rows_, notes_

    Notes
    -----
    Proportions with known noise: the mean map takes the noise's second moment off (errors in variables), so its class
    means stay unbiased. The other methods use the nearest proportions between 0 and 1 as if they were exact, and
    counts are rounded to whole numbers.

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> truth = rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    >>> bags = rng.integers(200, size=2000)
    >>> proportions = {bag: truth[bags == bag].mean() for bag in set(bags.tolist())}
    >>> model = ask.ProportionClassifier().fit(X, bags, proportions)
    >>> model.method_, model.coef_[0, :1].round()
    ('bag-likelihood', array([2.]))

    References
    ----------
    Quadrianto, Smola, Caetano & Le (2009). Patrini, Nock, Rivera & Caetano (2014). Patrini, Nielsen & Nock
    (2015), section 3.
    """

    def __init__(
        self,
        method: str = "auto",
        loss: Any = "logistic",
        ridge: str | float = "auto",
        *,
        base_estimator: Any = None,
        classes: Any = None,
        fit_intercept: bool = True,
        smoothness: float = 1.0,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.loss = loss
        self.ridge = ridge
        self.base_estimator = base_estimator
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.smoothness = smoothness
        self.max_iter = max_iter
        self.random_state = random_state

    # -- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Any, bags: Any, proportions: Any = None, noise: Any = None) -> Self:
        """Fit to rows in bags and the bags' proportions.

        Parameters
        ----------
        X : n x d, or a Release
            The features of a release are its numeric covariates.
        bags : n names
            The bag of each row; of a release, the name of the column.
        proportions : mapping, frame, series or array
            By bag: shares of the classes, or of the second of two. An array has its rows in the order of the sorted
            names of the bags. With a release they may be left out: its reports tell them, and their noise.
        noise : number, array, mapping or frame, optional
            The variances (bags, or bags x classes) or covariances (bags x classes x classes) of the proportions about
            the true ones.
        """
        loss = self._checked_loss()
        classes = self.classes
        if isinstance(X, Release):
            X, bags, proportions, noise, known = bags_of_release(X, bags, proportions, noise)
            classes = known if classes is None else classes
        X = validate_data(self, X, dtype=np.float64, order="C")
        if proportions is None:
            raise InvalidInput("no proportions", "those of every bag; only a release can do without")
        told = read_bags(bags, proportions, classes, noise, len(X))
        told.check_identifiable()
        ridge = checked_ridge(self.ridge)
        problem = ProportionProblem(X, told, loss, ridge, self.fit_intercept, self.smoothness, self.max_iter)
        self.classes_ = _class_array(told.classes)
        self.n_bags_, self.n_rows_ = len(told.labels), len(X)
        method = self.method
        if method == "auto":
            flexible = "committee" if self.base_estimator is None else "relabel"
            method = _by_the_bags(told, X.shape[1] + self.fit_intercept, flexible)
        self._forget("coef_", "learner_", "committee_")
        self.method_ = method
        self.notes_: tuple[str, ...] = ()
        if method in LINEAR:
            self._keep(getattr(problem, method.replace("-", "_"))(), method)
        elif method == "bag-classifier":
            self._fit_bag_classifier(X, told)
        else:
            self._relabel(X, problem)
        if method == "committee" and hasattr(self, "learner_"):
            asked = {"proportions": proportions, "noise": noise}
            self.committee_ = tuple(
                clone(self).set_params(method=other, classes=classes).fit(X, bags, **asked) for other in _OTHER_MEMBERS
            )
            self.method_ = method
        if not self.converged_:
            self._note(
                f"The fit stopped after {self.n_iter_} iterations before it converged: raise max_iter or ridge. A loss "
                "without curvature needs fit_intercept=False."
            )
        return self

    def _keep(self, fit: LinearResult, method: str) -> None:
        rows, first = fit.theta, int(self.fit_intercept)
        self.method_ = method
        self.intercept_ = rows[:, 0].copy() if first else np.zeros(len(rows))
        self.coef_ = rows[:, first:].copy()
        self.parameters_ = (rows if len(rows) == 1 else rows[1:] - rows[0]).ravel()
        self.parameter_names_ = self._names()
        self.covariance_ = fit.covariance
        self.ridge_: float | None = fit.ridge
        self.log_likelihood_ = fit.log_likelihood
        self.n_iter_, self.converged_ = fit.iterations, fit.converged
        self.notes_ = fit.notes

    def _fit_bag_classifier(self, X: Floats, bags: Bags) -> None:
        base = self._base("predict_proba")
        # Bags of equal proportions are one bag to this method: telling them apart would teach it nothing.
        shares, group = np.unique(bags.shares.round(12), axis=0, return_inverse=True)
        codes = np.repeat(group.ravel(), bags.sizes)
        weight = np.bincount(codes, minlength=len(shares)) / len(X)
        channel = shares * weight[:, None] / np.maximum(bags.overall, 1e-300)
        learned = cross_fit_bags(base, X[bags.order], codes)
        calibration = calibrate(unmix(learned.held_out, channel), _bag_given_class(bags))
        self.unmixing_ = channel
        self._keep_learner("bag-classifier", learned.model, calibration)

    def _relabel(self, X: Floats, problem: ProportionProblem) -> None:
        bags, order = problem.bags, problem.bags.order
        self._keep(problem.bag_likelihood(errors=False), "bag-likelihood")
        logits = self._logits(X[order])
        given = labels_given_counts(logits, bags.starts, bags.counts).probabilities
        learned = cross_fit_labels(self._base("predict"), X[order], given)
        likelihood = _bag_given_class(bags)
        calibration = calibrate(learned.held_out, likelihood)
        # The linear fit is judged on rows that it saw: a nat for each parameter makes up for that, as in AIC.
        plain = bag_log_likelihood(posterior(logits[:, 1:] - logits[:, :1]).probabilities, likelihood)
        if self.method == "auto" and calibration.log_likelihood < plain - self.parameters_.size:
            self._keep(problem.bag_likelihood(), "bag-likelihood")
            return
        self._keep_learner("relabel", learned.model, calibration)

    def _keep_learner(self, method: str, model: Any, calibration: Calibration) -> None:
        self.method_ = method
        self._forget("coef_", "intercept_", "parameters_", "parameter_names_", "covariance_")
        self.learner_, self.calibration_ = model, calibration
        self.log_likelihood_ = calibration.log_likelihood
        self.ridge_ = None
        self.n_iter_, self.converged_ = 1, True
        self.notes_ = ()

    def _forget(self, *names: str) -> None:
        """Drop what another method's fit has left."""
        for name in names:
            self.__dict__.pop(name, None)

    def _base(self, needed: str) -> Any:
        if self.base_estimator is not None:
            base = clone(self.base_estimator)
            if not (hasattr(base, needed) and (is_regressor(base) or hasattr(base, "predict_proba"))):
                raise InvalidInput(f"base_estimator={base!r}", f"a scikit-learn model with {needed}")
            return base
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        seed = random_seed(self.random_state)
        common = {"n_estimators": 150, "min_samples_leaf": 10, "oob_score": True, "random_state": seed}
        if needed == "predict_proba":
            return RandomForestClassifier(**common)
        return RandomForestRegressor(max_features=0.3, **common)

    def _names(self) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        columns = [*(["Intercept"] if self.fit_intercept else []), *map(str, names)]
        if len(self.classes_) == 2:
            return tuple(columns)
        return tuple(f"{label}: {column}" for label in self.classes_.tolist()[1:] for column in columns)

    def _note(self, note: str) -> None:
        self.notes_ = (*self.notes_, note)
        warnings.warn(note, AskanceWarning, stacklevel=3)

    def _checked_loss(self) -> Any:
        if self.method not in METHODS:
            raise InvalidInput(f"method={self.method!r}", f"one of {', '.join(METHODS)}")
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise InvalidInput(f"max_iter={self.max_iter!r}", "at least 1")
        if not 0 < self.smoothness < np.inf:
            raise InvalidInput(f"smoothness={self.smoothness!r}", "a positive number")
        loss = as_loss(self.loss)
        if loss.name != "logistic" and self.method not in ("mean-map", "laplacian", "alternating"):
            raise InvalidInput(
                f"loss={loss.name!r} with method={self.method!r}",
                "loss='logistic'",
                "Other losses go with the mean maps: method='mean-map', 'laplacian' or 'alternating'.",
            )
        return loss

    # -- using the model -----------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Return the score of the second class (n), or one for each class (n x K)."""
        check_is_fitted(self, "classes_")
        if not hasattr(self, "coef_"):
            raise NotAvailable(f"decision_function of method={self.method_!r}", "predict_proba")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores: Floats = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, n x K."""
        check_is_fitted(self, "classes_")
        if hasattr(self, "learner_"):
            X = validate_data(self, X, dtype=np.float64, reset=False)
            if hasattr(self, "committee_"):
                mine = self.calibration_.apply(class_shares(self.learner_, X, len(self.classes_)))
                mean: Floats = np.mean([mine, *(member.predict_proba(X) for member in self.committee_)], axis=0)
                return mean
            if self.method_ == "bag-classifier":
                return self.calibration_.apply(unmix(self.learner_.predict_proba(X), self.unmixing_))
            return self.calibration_.apply(class_shares(self.learner_, X, len(self.classes_)))
        loss = as_loss(self.loss)
        scores = self.decision_function(X)
        if loss.name == "logistic":
            against_first = scores[:, None] if scores.ndim == 1 else scores[:, 1:] - scores[:, :1]
            return posterior(against_first).probabilities
        second = loss.probability(scores)
        if second.ndim == 1:
            return np.column_stack([1 - second, second])
        total = second.sum(axis=1, keepdims=True)
        return np.where(total > 0, second / np.where(total > 0, total, 1.0), 1 / len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        check_is_fitted(self, "classes_")
        if hasattr(self, "learner_"):
            chosen = self.predict_proba(X).argmax(axis=1)
        else:
            scores = self.decision_function(X)
            chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[chosen]
        return predicted

    def _logits(self, X: Floats) -> Floats:
        scores = X @ self.coef_.T + self.intercept_
        return np.column_stack([np.zeros(len(X)), scores[:, 0]]) if scores.shape[1] == 1 else scores

    @property
    def standard_errors_(self) -> Floats:
        """Standard errors of ``parameters_``."""
        return standard_errors(self._covariance())

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates, standard errors, z, p and intervals as a table, where there are standard errors."""
        covariance = self._covariance()
        facts = (
            ("bags", f"{self.n_bags_} ({self.n_rows_} rows)"),
            ("method", f"{self.method_} (sandwich standard errors over bags)"),
            ("log-likelihood of the counts", f"{self.log_likelihood_:.4f}"),
            *([("ridge", f"{self.ridge_:.4g}")] if self.ridge_ else []),
        )
        title = f"P({self.classes_[1]}) by logistic regression on label proportions"
        if len(self.classes_) > 2:
            title = f"Log-odds against {self.classes_.tolist()[0]!r} by softmax regression on label proportions"
        return summarise(title, self.parameter_names_, self.parameters_, covariance, level, facts, self.notes_)

    def _covariance(self) -> Floats:
        check_is_fitted(self, "classes_")
        covariance: Floats | None = getattr(self, "covariance_", None)
        if covariance is None:
            raise NotAvailable(
                f"standard errors of method={self.method_!r} with {self.n_bags_} bags",
                "method='bag-likelihood' and more bags than parameters",
            )
        return covariance

    def to_sklearn(self) -> Any:
        """Return a plain fitted scikit-learn LogisticRegression that predicts the same classes, for deployment."""
        self._check_linear("to_sklearn")
        return plain_classifier(self)

    def to_json(self) -> str:
        """Return parameters and fitted attributes as JSON; linear methods only."""
        if hasattr(self, "learner_"):
            self._check_linear("saving")
        return super().to_json()

    def _check_linear(self, what: str) -> None:
        check_is_fitted(self, "classes_")
        if not hasattr(self, "coef_"):
            raise NotAvailable(
                f"{what} of method={self.method_!r}", f"a linear method: {', '.join(LINEAR)}", "See learner_."
            )


def _by_the_bags(bags: Bags, parameters: int, flexible: str) -> str:
    """Choose a method; the flexible one may still fall back to the likelihood."""
    free = len(bags.classes) - 1
    if len(bags.labels) >= _MANY_BAGS * parameters * free or bags.told > 0.9:
        return "bag-likelihood"
    if bags.overdispersion < _RANDOM:
        return "alternating"
    return flexible if bags.told * int(bags.sizes.sum()) >= _ENOUGH else "bag-likelihood"


def _bag_given_class(bags: Bags) -> Floats:
    """P(bag of row i | class k), n x K, for rows in the order of their bags."""
    channel = bags.shares * (bags.sizes / bags.sizes.sum())[:, None] / np.maximum(bags.overall, 1e-300)
    return np.repeat(channel, bags.sizes, axis=0)


def _class_array(classes: tuple[Any, ...]) -> NDArray[Any]:
    kinds = {type(label) for label in classes}
    return np.array(classes, dtype=None if len(kinds) == 1 else object)
