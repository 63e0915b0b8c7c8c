"""Class ratios of new groups, learned from groups of which only the class ratios are known."""

import math
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.channels.alphabet import listed
from askance.errors import InvalidInput
from askance.frames import library_of, refuse_other_rows, table_like
from askance.learning.bags.bag_diagnosis import BagDiagnosis, diagnose_bags
from askance.learning.bags.bag_estimator import BagEstimator
from askance.learning.bags.bags import Bags, read_bags
from askance.learning.face.figures import drawn
from askance.learning.face.random_state import random_generator
from askance.learning.face.scoring import Of, asks_for_truth, refuse_score_of_reports
from askance.learning.ratios.bag_doubt import BagDoubt
from askance.learning.ratios.diagnosis import RatioDiagnosis, diagnose, warn_of_shifts
from askance.learning.ratios.groups import Group, GroupEstimate, interval_frame, one_by_one, ratio_frame, split_groups
from askance.learning.ratios.mmd import MmdRatios
from askance.learning.ratios.parameters import check_parameters
from askance.learning.ratios.ratio_model import RatioEstimate, RatioModel
from askance.learning.ratios.ratio_summary import group_summary, ratio_intervals
from askance.releases.counts_release import CountsRelease
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary, checked_confidence, refuse_alpha

# Frequencies. On 240 to 2,400 training rows (breast cancer, digits, Adult) the error of so many was within about 2% of
# that of exact kernels: there is no size at which exact ones would be the better default, and they need the rows.
DEFAULT_FEATURES = 256
_PROBE_FEATURES = 128  # of the embeddings that diagnose another method's bags


class RatioEstimator(BagEstimator):
    """Estimates the shares of the classes in a new group of rows.

    Trained on bags of rows of which only the shares of the classes are known. The new group's shares may be
    anything; what must not change is how the rows of a class look, P(x | y).

    Parameters
    ----------
    method : str
        - "bag-classifier": a classifier learns which bag a row came from; its probabilities are unmixed to classes,
          calibrated on the bags, and brought to the new group's ratios by expectation-maximisation. Needs bags that
          differ in their proportions and in nothing else.
        - "mmd": the mixture of the classes' mean embeddings that is nearest to the group's.
    kernel : "rbf", "laplace", "linear" or callable
        Of method "mmd". A function k(A, B) of two arrays of rows returns their kernel matrix; it sees the features as
        they are, while for the others they are standardised.
    bandwidth : "auto" or float
        ``exp(-|x - y|^2 / 2 h^2)`` for "rbf", ``exp(-|x - y|_1 / h)`` for "laplace", for standardised features. "auto"
        is chosen by cross-validation over bags among 2^-5 ... 2^5 times the median distance of two rows.
    features : "auto", "exact" or int
        The number of random frequencies (cos and sin of each), whose inner products approximate the kernel: linear in
        the rows. "auto" is 256. "exact" takes all pairs of rows, and keeps the training rows.
    solution : "class" or "paper"
        "class": one embedding for each class by weighted least squares, then a quadratic programme over the ratios.
        "paper": one weight for each bag by least squares, then the projection of their ratios onto the simplex.
    base_estimator : scikit-learn classifier, optional
        Of method "bag-classifier".
    classes : labels, optional
        In the order of the proportions' columns. Taken from a frame's columns, or 0, 1, ... if not given.
    level : float
        Of confidence, unless an interval is asked for at another.
    target : "group" or "population"
        What intervals are about: the shares that the group's own rows have, or those of the population that it was
        drawn from, row by row. The second are wider by the luck of the draw. Estimates are the same.
    random_state : int or Generator, optional
        For random features and base estimators.

    Attributes
    ----------
    classes_ : array
    bandwidth_ : float or None
        The kernel's, in units of standardised features.
    bandwidths_, bandwidth_errors_ : tuples
        Those that were tried, and the error of each: the root mean square over held-out bags' proportions.
    bag_diagnosis_ : BagDiagnosis
        Whether the bags are informative, and alike in all but their proportions.
    n_bags_, n_rows_, n_features_in_, notes_, guarantee_

    Notes
    -----
    Errors come from three sources, each by the delta method: which rows of their classes are in the new group, which
    are in the training bags (their numbers by class being known), and the known noise of the proportions. That noise is
    taken off the normal equations (errors in variables), not ignored. Where bags differ in more than their proportions
    a fourth is added, from bags that are left out; and where rows within bags vary less than the bags' differences call
    for, one that is as large as that contradiction.

    Estimates are shrunk towards the overall mix, by how little the bags differ from each other; intervals are not.

    Intervals of method "mmd" at .95 covered so often with normal classes; .91 to .92 with four bags of 60 or 80 rows
    and a class that is absent, where the error is skewed; and .978 to .995 on four real data sets.

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> def group(ill, well):
    ...     return np.concatenate([rng.normal(2, 1, (ill, 2)), rng.normal(0, 1, (well, 2))])
    >>> X = np.concatenate([group(300, 100), group(100, 300), group(200, 200)])
    >>> towns = np.repeat(["Ayr", "Bute", "Cove"], 400)
    >>> shares = {"Ayr": 0.75, "Bute": 0.25, "Cove": 0.5}
    >>> model = ask.RatioEstimator("mmd", classes=("well", "ill"), random_state=0).fit(X, towns, shares)
    >>> new = group(40, 360)
    >>> model.predict(new).round(1)
    array([0.9, 0.1])
    >>> low, high = model.predict_interval(new)[1]
    >>> bool(low < 0.1 < high)
    True

    References
    ----------
    Iyer, Nath & Sarawagi (2016), Privacy-preserving class ratio estimation.
    """

    def __init__(
        self,
        method: str = "bag-classifier",
        *,
        kernel: Any = "rbf",
        bandwidth: str | float = "auto",
        features: str | int = "auto",
        solution: str = "class",
        base_estimator: Any = None,
        classes: Any = None,
        level: float = 0.95,
        target: str = "group",
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.features = features
        self.solution = solution
        self.base_estimator = base_estimator
        self.classes = classes
        self.level = level
        self.target = target
        self.random_state = random_state

    # -- fitting -------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _learn(self, X: Floats, bags: Bags) -> list[str]:
        self.bag_diagnosis_: BagDiagnosis | None = diagnose_bags(X, bags)
        self._fit_model(X, bags, random_generator(self.random_state))
        errors = self._embedding.left_out_errors()
        overstated = self.model_.overstatement(X, bags.codes, bags.shares)
        self.doubt_: BagDoubt | None = BagDoubt.of(bags, self.bag_diagnosis_, errors, overstated)
        return [*self.bag_diagnosis_.notes, *self.model_.notes, *self.doubt_.notes, *self.diagnose().notes]

    def _fit_model(self, X: Floats, bags: Bags, rng: np.random.Generator) -> None:
        from askance.learning.ratios.mmd_fit import fit_mmd

        codes = bags.codes
        self.bandwidth_: float | None = None
        self.bandwidths_: tuple[float, ...] = ()
        self.bandwidth_errors_: tuple[float, ...] = ()
        self.__dict__.pop("probe_", None)
        if self.method == "bag-classifier":
            from askance.learning.ratios.bag_posterior import fit_bag_posterior

            # A kernel as wide as rows are apart watches over the other method's assumptions.
            self.probe_ = fit_mmd(
                X, codes, bags.proportions, bags.noise, rng, bandwidth="median", features=_PROBE_FEATURES
            )[0]
            seed = int(rng.integers(2**31 - 1))
            self.model_: RatioModel = fit_bag_posterior(
                X, codes, bags.proportions, bags.noise, self.base_estimator, seed
            )
            return
        self.model_, choice = fit_mmd(
            X,
            codes,
            bags.proportions,
            bags.noise,
            rng,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            features=self._number_of_features(),
            solution=self.solution,
        )
        self.bandwidth_, self.bandwidths_, self.bandwidth_errors_ = choice.bandwidth, choice.tried, choice.errors

    def _number_of_features(self) -> int | None:
        """Random frequencies; none for exact kernels."""
        if self.features == "exact":
            return None
        return DEFAULT_FEATURES if self.features == "auto" else int(self.features)

    # -- using the model -----------------------------------------------------------------------------

    def predict(self, X: Any, groups: Any = None) -> Any:
        """Return the ratios of the classes.

        Parameters
        ----------
        X : n x d
        groups : n names, optional
            The group of each row, if there are several.

        Returns
        -------
        array, K, or groups x K in the order of the groups' sorted names
            For a frame X and several groups a frame of the same library, with the groups for its index (or its first
            column, if the library has no index) and the classes for its columns.
        """
        check_is_fitted(self, "model_")
        several = self._groups(X, groups)
        found = np.array([self._believed(group.rows).ratios for group in several])
        if groups is None:
            return found[0]
        return table_like(X, ratio_frame(several, self.classes_.tolist(), found)) if library_of(X) else found

    def predict_interval(self, X: Any, groups: Any = None, level: float | None = None) -> Any:
        """Return intervals for the ratios, each of which holds its class's share with probability ``level``.

        Parameters
        ----------
        X : n x d
        groups : n names, optional
        level : float, optional
            The estimator's own if not given.

        Returns
        -------
        array, K x 2, or groups x K x 2
            Lower and upper ends. For a frame X a frame with columns estimate, lower and upper, and the classes, or
            groups and classes, for its index.
        """
        found = self.estimate_groups(X, groups, level)
        if library_of(X):
            return table_like(X, interval_frame(found, self.classes_.tolist()))
        ends = np.array([group.interval for group in found])
        return ends[0] if groups is None else ends

    def estimate_groups(
        self, X: Any, groups: Any = None, level: float | None = None, progress: Callable[[int, int], None] | None = None
    ) -> list[GroupEstimate]:
        """Return all that is said of each group: name, ratios with covariance and test of a shift, and intervals.

        Groups are in the order of their sorted names; a shift is warned of. ``progress`` is told how many are
        done, and of how many.
        """
        check_is_fitted(self, "model_")
        level = checked_confidence(self.level if level is None else level)
        several = self._groups(X, groups)
        found = [self._estimate(group.rows) for group in one_by_one(several, progress)]
        ends = self._intervals(found, level)
        estimates = [GroupEstimate(group.name, *each) for group, *each in zip(several, found, ends, strict=True)]
        warn_of_shifts(estimates)
        return estimates

    def estimate(self, X: Any) -> RatioEstimate:
        """Return the ratios of one group with their covariance by its sources, and the test of a shift."""
        check_is_fitted(self, "model_")
        return self._estimate(self._groups(X, None)[0].rows)

    def diagnose(self, X: Any = None) -> RatioDiagnosis:
        """Say how well the bags tell ratios and, of a new group, whether P(x | y) has shifted."""
        check_is_fitted(self, "model_")
        rows = None if X is None else self._groups(X, None)[0].rows
        return diagnose(self._embedding, self.level, rows, getattr(self, "bag_diagnosis_", None))

    def score(self, X: Any, groups: Any, proportions: Any, *, of: Of = "reports") -> float:
        """Return minus the mean absolute error of the ratios, with ``of="truth"``: 0 is best.

        The mean over groups and classes of \\|estimated share - true share\\|; every group counts the same. Noisy
        proportions of new groups do not tell it: their own noise would count as error. They are refused.

        Parameters
        ----------
        X : n x d
        groups : n names
        proportions : mapping, frame, series or array
            The true ones of every group, as ``fit`` takes those of bags.
        of : "truth"
        """
        if not asks_for_truth(of) or isinstance(proportions, CountsRelease):
            raise refuse_score_of_reports(
                "a RatioEstimator",
                "the noise of the groups' proportions would count as error",
                "predict_interval says how far off the ratios may be.",
            )
        check_is_fitted(self, "model_")
        estimated = np.array([self._believed(group.rows).ratios for group in self._groups(X, groups)])
        known = read_bags(groups, proportions, self.classes_.tolist(), None, len(X))
        return -float(np.abs(estimated - known.shares).mean())

    def summary(self, X: Any = None, level: float | None = None) -> Summary:  # type: ignore[override]
        """Return the ratios of one group, their standard errors and intervals as a table; without X, facts of the fit.

        Parameters
        ----------
        X : n x d, optional
        level : float, optional
            The estimator's own if not given.
        """
        check_is_fitted(self, "model_")
        level = checked_confidence(self.level if level is None else level)
        trained = ("trained on", f"{self.n_bags_} bags ({self.n_rows_} rows), method {self.method}")
        if X is None:
            facts = (("classes", listed(self.classes_.tolist())), trained, *self.diagnose().facts)
            return Summary(
                "An estimator of class ratios, learned from bags",
                level=level,
                facts=facts,
                notes=self.notes_,
                privacy=self.privacy_statement_,
            )
        found = self.estimate(X)
        names = tuple(map(str, self.classes_.tolist()))
        shown = group_summary(found, self._intervals([found], level)[0], self.target, names, trained)
        return replace(shown, level=level, notes=self.notes_, privacy=self.privacy_statement_)

    def conf_int(self, X: Any, level: float | None = None, *, alpha: None = None) -> Any:  # type: ignore[override]
        """Return the ends of the intervals of one group's ratios; ``alpha`` is answered with the level."""
        refuse_alpha(alpha)
        return self.summary(X, level).to_frame()[["lower", "upper"]]

    def figures(self, X: Any = None, groups: Any = None) -> tuple[ReportFigure, ...]:
        """Return the ratios of new groups with intervals, if there are any; and how well the bags are explained."""
        from askance.learning.ratios.ratio_figures import bag_figures, ratio_figure
        from askance.learning.ratios.ratio_report import RatioTable

        check_is_fitted(self, "model_")
        by_bags = bag_figures(self._embedding, self.classes_.tolist(), self.bandwidths_, self.bandwidth_errors_)
        if X is None:
            return by_bags
        return ratio_figure(RatioTable.of(self, X, groups, self.level)), *by_bags

    def plot(self, ax: Any = None, X: Any = None, groups: Any = None) -> Any:
        """Draw the first figure on matplotlib axes, made anew if none are given, and return them."""
        return drawn(self.figures(X, groups)[0], ax)

    def report(  # type: ignore[override]  # it has no coefficients, and new groups in place of them
        self, path: str | os.PathLike[str], X: Any = None, groups: Any = None, *, overwrite: bool = False
    ) -> None:
        """Write a self-contained HTML page: the fit, and the ratios of new groups if there are any."""
        from askance.learning.ratios.ratio_figures import ratio_figure
        from askance.learning.ratios.ratio_report import RatioTable

        summary, figures = self.summary(), self.figures()
        if X is not None:
            table = RatioTable.of(self, X, groups, self.level)
            summary, figures = table.summary(summary), (ratio_figure(table), *figures)
        self._write_report(path, summary, figures, overwrite)

    def to_json(self) -> str:
        """Return parameters and fitted model as JSON, without training rows."""
        if callable(self.kernel) and self.method == "mmd":
            raise InvalidInput("a kernel of one's own", "a kernel by name", "A function cannot be saved as JSON.")
        return super().to_json()

    # -- the parts -----------------------------------------------------------------------------------

    @property
    def _embedding(self) -> MmdRatios:
        model: Any = getattr(self, "probe_", self.model_)
        found: MmdRatios = model
        return found

    def _checked_rows(self, X: Any, reset: bool = False) -> Floats:
        if hasattr(X, "tocsr"):
            raise InvalidInput("a sparse matrix", "a dense array or a frame", "X.toarray() makes one.")
        return super()._checked_rows(X, reset)

    def _groups(self, X: Any, groups: Any) -> list[Group]:
        refuse_other_rows(X=X, groups=groups)
        return split_groups(self._checked_rows(X), groups)

    def _believed(self, rows: Floats) -> RatioEstimate:
        """The model's estimate, shrunk and widened as the bags ask for."""
        return self.model_.estimate(rows) if self._doubt is None else self._doubt.applied(self.model_.estimate(rows))

    @property
    def _doubt(self) -> BagDoubt | None:
        return getattr(self, "doubt_", None)  # models of older versions have none

    def _estimate(self, rows: Floats) -> RatioEstimate:
        found = self._believed(rows)
        if not math.isnan(found.misfit_p):
            return found
        watched = self._embedding.estimate(rows)
        return replace(found, misfit=watched.misfit, misfit_p=watched.misfit_p)

    def _intervals(self, found: list[RatioEstimate], level: float) -> Floats:
        return ratio_intervals(found, self.target, self._doubt, level)
