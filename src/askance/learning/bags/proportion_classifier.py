"""A classifier learned from bags of rows of which only the proportions of the classes are known."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.errors import InvalidInput, NotAvailable
from askance.frames import refuse_other_rows
from askance.learning.bags.bag_diagnosis import BagDiagnosis, diagnose_bags
from askance.learning.bags.bag_estimator import BagEstimator
from askance.learning.bags.bag_fit import bag_fit, bag_fit_figure
from askance.learning.bags.bag_learners import (
    Calibration,
    bag_given_class,
    bag_log_likelihood,
    calibrate,
    class_shares,
    cross_fit_bags,
    cross_fit_labels,
    unmix,
    usable_learner,
)
from askance.learning.bags.bags import Bags
from askance.learning.bags.label_counts import labels_given_counts
from askance.learning.bags.method_choice import LINEAR, METHODS, TOLD, chosen_method, doubts
from askance.learning.bags.proportion_fit import LinearResult, ProportionProblem
from askance.learning.face.figures import intervals_figure
from askance.learning.face.linear_classifier import LinearClassifier
from askance.learning.face.linear_parameters import feature_names, parameter_names
from askance.learning.face.requested_ridge import checked_ridge
from askance.learning.face.scoring import Of, accuracy_on_truth, asks_for_truth, refuse_score_of_reports
from askance.learning.totals.loss_link import probabilities_of_scores
from askance.learning.totals.user_losses import as_loss
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary
from askance.solvers.softmax import posterior

_OTHER_MEMBERS = ("bag-classifier", "bag-likelihood")  # of a committee, beside relabel

_BAG_FIT_TITLE = "Proportions of the bags: as given, and as predicted by the features of their rows."
_ERRORS_NEED = "method='bag-likelihood' has them where there are more bags than parameters"


class ProportionClassifier(BagEstimator, LinearClassifier):
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
        - "linear-committee": the mean of the coefficients of "bag-likelihood" and "alternating".
        - "overall-mix": every row gets the proportions of all rows.
        - "auto": chosen by the bags alone; ``method_`` says which. "bag-likelihood" if there are ten bags for each
          parameter or the bags are nearly pure. Otherwise "committee" (with a base_estimator "relabel") if the bags are
          alike in all but their proportions, these differ by more than twice what rows dealt at random would give
          (chi-square per degree of freedom) and are worth a hundred labels, and if relabel's predictions of rows that
          it did not see make the bags likelier than the bag-likelihood fit does, which is taken else. Otherwise
          "alternating" if the bags are alike, as different as by chance, and fewer than parameters; and else
          "linear-committee". And "overall-mix", with a warning, where the bags do not tell the classes apart: where
          a model is hardly likelier than none.
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
    bag_fit_ : array, points x 4
        Number of a class, its predicted and given share, and rows, of groups of bags with similar predictions. None
        where the loss has no probabilities.
    bag_diagnosis_ : BagDiagnosis
        Whether the bags are informative, and alike in all but their proportions.
    classes_, method_, ridge_, log_likelihood_, n_iter_, converged_, n_bags_, n_rows_, notes_, guarantee_

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

    def _learn(self, X: Floats, bags: Bags) -> list[str]:
        loss, ridge = as_loss(self.loss), checked_ridge(self.ridge)
        problem = ProportionProblem(X, bags, loss, ridge, self.fit_intercept, self.smoothness, self.max_iter)
        self.bag_diagnosis_: BagDiagnosis | None = diagnose_bags(X, bags)
        method, gain = self.method, None
        if method == "auto":
            flexible = "committee" if self.base_estimator is None else "relabel"
            method = chosen_method(self.bag_diagnosis_, bags, X.shape[1] + self.fit_intercept, flexible)
            gain = problem.gain
            method = method if gain >= TOLD and not self.bag_diagnosis_.drowned else "overall-mix"
        elif method in ("alternating", "bag-likelihood", "linear-committee", "relabel", "committee"):
            gain = problem.gain
        self._forget("coef_", "learner_", "committee_")
        predicted = [self._learn_by(method, problem)]
        members = []
        if method == "committee" and hasattr(self, "learner_"):
            for other in _OTHER_MEMBERS:
                member = clone(self).set_params(method=other)
                member.n_features_in_ = X.shape[1]
                member._describe(bags, self.guarantee_)
                predicted.append(member._learn_by(other, problem))
                members.append(member)
            self.committee_ = tuple(members)
            self.method_ = method
        known = [each for each in predicted if each is not None]
        self.bag_fit_ = bag_fit(np.mean(known, axis=0), bags.shares, bags.sizes) if known else None
        stopped = [model.n_iter_ for model in (self, *members) if not model.converged_]
        unfinished = [
            f"The fit stopped after {iterations} iterations before it converged: raise max_iter or ridge. A loss "
            "without curvature needs fit_intercept=False."
            for iterations in stopped
        ]
        return [*doubts(self.method_, self.bag_diagnosis_, gain), *unfinished]

    def _learn_by(self, method: str, problem: ProportionProblem) -> Floats | None:
        """Learn by one method; return what it predicts of each bag, bags x K, from rows that a learner did not see."""
        X, bags = problem.X, problem.bags
        if method in LINEAR:
            self._keep(getattr(problem, method.replace("-", "_"))(), method)
            held_out = None
        elif method == "bag-classifier":
            held_out = self._fit_bag_classifier(X, bags)
        else:
            held_out = self._relabel(X, problem)
        if held_out is None:
            if not problem.loss.proper:
                return None
            scores = X[bags.order] @ self.coef_.T + self.intercept_
            held_out = self._probabilities(scores[:, 0] if scores.shape[1] == 1 else scores)
        sums: Floats = np.add.reduceat(held_out, bags.starts[:-1])
        return sums / bags.sizes[:, None]

    def _keep(self, fit: LinearResult, method: str) -> None:
        self.method_ = method
        self._keep_rows(fit.theta, bool(self.fit_intercept))
        rows = fit.theta
        self.parameters_ = (rows if len(rows) == 1 else rows[1:] - rows[0]).ravel()
        self.parameter_names_ = parameter_names(self.classes_.tolist(), feature_names(self), bool(self.fit_intercept))
        self.covariance_ = fit.covariance
        self.ridge_: float | None = fit.ridge
        self.log_likelihood_ = fit.log_likelihood
        self.n_iter_, self.converged_ = fit.iterations, fit.converged
        self.notes_ = fit.notes

    def _fit_bag_classifier(self, X: Floats, bags: Bags) -> Floats:
        base = usable_learner(self.base_estimator, "predict_proba", self.random_state)
        # Bags of equal proportions are one bag to this method: telling them apart would teach it nothing.
        shares, group = np.unique(bags.shares.round(12), axis=0, return_inverse=True)
        codes = np.repeat(group.ravel(), bags.sizes)
        weight = np.bincount(codes, minlength=len(shares)) / len(X)
        channel = shares * weight[:, None] / np.maximum(bags.overall, 1e-300)
        learned = cross_fit_bags(base, X[bags.order], codes)
        held_out = unmix(learned.held_out, channel)
        calibration = calibrate(held_out, bag_given_class(bags))
        self.unmixing_ = channel
        self._keep_calibrated("bag-classifier", learned.model, calibration)
        return calibration.apply(held_out)

    def _relabel(self, X: Floats, problem: ProportionProblem) -> Floats | None:
        bags, order = problem.bags, problem.bags.order
        self._keep(problem.bag_likelihood(errors=False), "bag-likelihood")
        logits = self._logits(X[order])
        given = labels_given_counts(logits, bags.starts, bags.counts).probabilities
        learned = cross_fit_labels(usable_learner(self.base_estimator, "predict", self.random_state), X[order], given)
        likelihood = bag_given_class(bags)
        calibration = calibrate(learned.held_out, likelihood)
        # The linear fit is measured on rows that it saw: a nat for each parameter makes up for that, as in AIC.
        plain = bag_log_likelihood(posterior(logits[:, 1:] - logits[:, :1]).probabilities, likelihood)
        if self.method == "auto" and calibration.log_likelihood < plain - self.parameters_.size:
            self._keep(problem.bag_likelihood(), "bag-likelihood")
            return None
        self._keep_calibrated("relabel", learned.model, calibration)
        return calibration.apply(learned.held_out)

    def _keep_calibrated(self, method: str, model: Any, calibration: Calibration) -> None:
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

    def _check_parameters(self) -> None:
        if self.method not in METHODS:
            raise InvalidInput(f"method={self.method!r}", f"one of {', '.join(METHODS)}")
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise InvalidInput(f"max_iter={self.max_iter!r}", "at least 1")
        if not 0 < self.smoothness < np.inf:
            raise InvalidInput(f"smoothness={self.smoothness!r}", "a positive number")
        checked_ridge(self.ridge)
        loss = as_loss(self.loss)
        if not loss.softmax and self.method not in ("mean-map", "laplacian", "alternating"):
            raise InvalidInput(
                f"loss={loss.name!r} with method={self.method!r}",
                "loss='logistic'",
                "Other losses go with the mean maps: method='mean-map', 'laplacian' or 'alternating'.",
            )

    # -- using the model -----------------------------------------------------------------------------

    def _probabilities(self, scores: Floats) -> Floats:
        return probabilities_of_scores(as_loss(self.loss), scores)

    def _learner_probabilities(self, X: Any) -> Floats:
        rows = self._rows(X)
        if self.method_ == "bag-classifier":
            return self.calibration_.apply(unmix(self.learner_.predict_proba(rows), self.unmixing_))
        mine = self.calibration_.apply(class_shares(self.learner_, rows, len(self.classes_)))
        members = getattr(self, "committee_", ())
        mean: Floats = np.mean([mine, *(member.predict_proba(rows) for member in members)], axis=0) if members else mine
        return mean

    def _logits(self, X: Floats) -> Floats:
        scores = X @ self.coef_.T + self.intercept_
        return np.column_stack([np.zeros(len(X)), scores[:, 0]]) if scores.shape[1] == 1 else scores

    def _why_no_errors(self) -> str:
        return f"method={self.method_!r} with {self.n_bags_} bags: {_ERRORS_NEED}"

    def _need_coefficients(self, what: str, instead: str) -> None:
        if not self._is_linear:
            raise NotAvailable(
                f"{what} of method={self.method_!r}", f"{instead}, or a linear method: {', '.join(LINEAR)}"
            )

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, of: Of = "reports") -> float:
        """Return the accuracy on true labels, with ``of="truth"``.

        Proportions do not tell which rows are right, so that there is no accuracy without labels: it is refused.
        ``log_likelihood_`` says how likely a model makes what is known of the bags, and may be compared between models.
        """
        refuse_other_rows(X=X, y=y, sample_weight=sample_weight)
        wants_truth, predicted = asks_for_truth(of), self.predict(X)
        if not wants_truth:
            raise refuse_score_of_reports(
                "a ProportionClassifier",
                "proportions do not tell which rows are right",
                "log_likelihood_ compares models by what is known of the bags; accuracy wants some true labels.",
            )
        return accuracy_on_truth(predicted, y, self.classes_, sample_weight)

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates as a table, with standard errors, z, p and intervals where the method has them.

        A learner in place of a linear model has no estimates that people read: facts alone are left.
        """
        check_is_fitted(self, "classes_")
        covariance: Floats | None = getattr(self, "covariance_", None)
        found: BagDiagnosis | None = getattr(self, "bag_diagnosis_", None)  # models of older versions have none
        errors = f"no standard errors: {_ERRORS_NEED}" if covariance is None else "sandwich standard errors over bags"
        facts = (
            ("bags", f"{self.n_bags_} ({self.n_rows_} rows)"),
            ("method", f"{self.method_} ({errors})"),
            *(() if found is None else found.facts),
            ("log-likelihood of the counts", f"{self.log_likelihood_:.4f}"),
            *([("ridge", f"{self.ridge_:.4g}")] if self.ridge_ else []),
        )
        labels = self.classes_.tolist()
        if not self._is_linear:
            title = f"A classifier of {', '.join(map(str, labels))}, learned from label proportions"
            return Summary(title, level=level, facts=facts, notes=self.notes_, privacy=self.privacy_statement_)
        title = f"P({labels[1]}) by logistic regression on label proportions"
        if len(labels) > 2:
            title = f"Log-odds against {labels[0]!r} by softmax regression on label proportions"
        return self._wald_summary(title, level, facts)

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return the coefficients of a linear method, and what is known of the bags against predictions.

        A prediction knows the features of a bag's rows, not its bag: where bags were formed by class, given proportions
        differ more than predicted ones, and rightly so.
        """
        check_is_fitted(self, "classes_")
        unit = "change in log-odds" if as_loss(self.loss).softmax else "change in score"
        coefficients = (intervals_figure(self.summary(), unit),) if self._is_linear else ()
        points = getattr(self, "bag_fit_", None)  # models of older versions have none
        if points is None:
            return coefficients
        by_bags = bag_fit_figure(
            points,
            self.classes_.tolist(),
            _BAG_FIT_TITLE,
        )
        return (*coefficients, by_bags)

    def to_json(self) -> str:
        """Return parameters and fitted attributes as JSON; linear methods only."""
        if hasattr(self, "learner_"):
            self._need_coefficients("saving", "the fitted learner_ by its own means")
        return super().to_json()
