"""How a linear model is fitted to bags: the mean maps, the likelihood of the counts, and the choice of the ridge."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from askance.arrays import Floats
from askance.learning.bags.alternating_mean_map import alternate
from askance.learning.bags.bag_likelihood import BagCounts, CountFit
from askance.learning.bags.bags import Bags
from askance.learning.bags.mean_map import LinearFit, bagwise_class_means, fit_class_totals
from askance.learning.totals.losses import NAMED, Loss
from askance.learning.totals.public_features import PublicFeatures
from askance.solvers.bag_means import class_means
from askance.solvers.softmax import symmetric
from askance.statistics.row_blocks import with_intercept

_PER_ROW = (1e-3, 1e-2, 1e-1)  # ridges tried by mean maps: times rows and the features' total variance
_ALTERNATING = (1e-3, 5e-3)  # the same for fits to labels of their own making
# Of a row's logit before seeing the bags, a standard deviation of odds of 3 to 24 to one: ridges tried by the evidence.
_LOGIT_VARIANCES = (1.0, 3.0, 10.0)
_NO_COEFFICIENT = 1e6  # a ridge, times the variance, that leaves a row's logit a variance of a millionth
# Nats by which a fit is likelier than none from which its mirror image need not be tried: of 64 sets of breast cancer
# in bags of random or equal proportions the wrong of two hills never had more than 4.
_BEYOND_DOUBT = 20.0


@dataclass(frozen=True)
class LinearResult:
    """A linear model of bags.

    Parameters
    ----------
    theta : array
        Of (1, x): one row for two classes, one for each of more.
    ridge : float
        The penalty used, on the summed objective.
    log_likelihood : float
        log P(counts), summed over bags.
    covariance : array, optional
        Of the parameters against the first class, flattened class by class; sandwich over bags.
    iterations : int
    converged : bool
    notes : tuple of str
    """

    theta: Floats
    ridge: float
    log_likelihood: float
    covariance: Floats | None
    iterations: int
    converged: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ProportionProblem:
    """Rows in bags, and how a linear model is to be fitted to them.

    Parameters
    ----------
    X : array, n x d
    bags : Bags
    loss : Loss
    ridge : float, optional
        On the summed objective; chosen on the bags if not given.
    intercept : bool
    smoothness : float
        Of the Laplacian mean map.
    max_iterations : int
    """

    X: Floats
    bags: Bags
    loss: Loss
    ridge: float | None
    intercept: bool
    smoothness: float
    max_iterations: int

    @cached_property
    def features(self) -> PublicFeatures:
        return PublicFeatures.of(self.X, self.intercept)

    @cached_property
    def variance(self) -> float:
        """The features' total variance: what makes a ridge mean the same in every unit of measurement."""
        about = self.X.mean(axis=0) if self.intercept else 0.0
        return max(float(((self.X - about) ** 2).sum() / len(self.X)), 1e-300)

    @cached_property
    def counts(self) -> BagCounts:
        rows = with_intercept(self.X[self.bags.order], self.intercept, self.features.centre)
        return BagCounts(rows, self.bags.starts, self.bags.counts, self.intercept)

    # -- mean maps -------------------------------------------------------------------------------------

    def mean_map(self) -> LinearResult:
        """Class means by least squares, then the linear-odd fit."""
        means = class_means(self._bag_means, self.bags.sizes, self.bags.proportions, self.bags.noise)
        return self._fit_totals(self.bags.overall[:, None] * means)

    def laplacian(self) -> LinearResult:
        """Class means of every bag, smooth over similar bags, then the linear-odd fit."""
        shares, sizes = self.bags.shares, self.bags.sizes
        means = bagwise_class_means(self._bag_means, sizes, shares, self.smoothness)
        return self._fit_totals(np.einsum("b,bk,bkp->kp", sizes / sizes.sum(), shares, means))

    def alternating(self) -> LinearResult:
        """Labels with the bags' counts and fits to them in turn, from several starts."""
        ridges = [self._per_row(part) for part in _ALTERNATING] if self.ridge is None else [self.ridge]
        likely = self if self.ridge is None else replace(self, ridge=None)
        starts = [likely.bag_likelihood(errors=False).theta, self._first_guess()]
        rows = with_intercept(self.X[self.bags.order], self.intercept, None)
        first = [LinearFit(start, np.inf, 0.0, True) for start in starts]
        found = [
            alternate(rows, self.bags.starts, self.bags.counts, self._fitting(ridge), first, self.max_iterations)
            for ridge in ridges
        ]
        best = self._best([alternation.fit for alternation in found])
        settled = found[best].converged and found[best].fit.converged
        return self._result(found[best].fit, ridges[best], found[best].rounds, settled)

    def linear_committee(self) -> LinearResult:
        """The mean of the coefficients of the likelihood's fit and of the alternating mean map's."""
        likely, alternating = self.bag_likelihood(errors=False), self.alternating()
        theta = (likely.theta + alternating.theta) / 2
        return LinearResult(
            theta,
            likely.ridge,
            self._log_likelihood(theta),
            None,
            likely.iterations + alternating.iterations,
            likely.converged and alternating.converged,
        )

    def overall_mix(self) -> LinearResult:
        """No coefficient at all: every row gets the proportions of all rows."""
        classes, width = len(self.bags.classes), self.X.shape[1] + self.intercept
        logs = np.log(np.maximum(self.bags.overall, 1e-12))
        theta = np.zeros((1 if classes == 2 else classes, width))
        if self.intercept:
            theta[:, 0] = logs[1] - logs[0] if classes == 2 else logs - logs.mean()
        return LinearResult(theta, 0.0, self._log_likelihood(theta), None, 0, True)

    @cached_property
    def _bag_means(self) -> Floats:
        means = self.bags.means(self.X)
        return np.column_stack([np.ones(len(means)), means]) if self.intercept else means

    def _fitting(self, ridge: float) -> Callable[[Floats, LinearFit | None], LinearFit]:
        def fit(totals: Floats, last: LinearFit | None) -> LinearFit:
            return fit_class_totals(totals, self.loss, self.features, ridge / len(self.X), last)

        return fit

    def _first_guess(self) -> Floats:
        """A strongly penalised mean map, by the logistic loss; noise is left in, so that there always is one."""
        means = class_means(self._bag_means, self.bags.sizes, self.bags.shares)
        ridge = _PER_ROW[-1] * self.variance
        return fit_class_totals(self.bags.overall[:, None] * means, NAMED["logistic"], self.features, ridge).theta

    def _fit_totals(self, totals: Floats) -> LinearResult:
        """Fit with every ridge, or the one asked for, and keep the best by the bags."""
        ridges = [self._per_row(part) for part in _PER_ROW] if self.ridge is None else [self.ridge]
        fits = [self._fitting(ridge)(totals, None) for ridge in ridges]
        best = self._best(fits)
        return self._result(fits[best], ridges[best], 1, fits[best].converged)

    def _best(self, fits: list[LinearFit]) -> int:
        """The fit with the largest likelihood of the counts, less the parameters it is worth, as Akaike has it."""
        criterion = [self._log_likelihood(fit.theta) - fit.freedom for fit in fits]
        return max(range(len(fits)), key=lambda number: (fits[number].converged, criterion[number]))

    def _result(self, fit: LinearFit, ridge: float, iterations: int, converged: bool) -> LinearResult:
        return LinearResult(fit.theta, ridge, self._log_likelihood(fit.theta), None, iterations, converged)

    def _per_row(self, part: float) -> float:
        return part * len(self.X) * self.variance

    # -- the likelihood of the counts --------------------------------------------------------------------

    @property
    def gain(self) -> float:
        """Nats by which a model of the classes is likelier than the overall mix, all its parameters considered."""
        chosen = self if self.ridge is None else replace(self, ridge=None)
        return chosen._likeliest[1].evidence - chosen._none.evidence

    @cached_property
    def _none(self) -> CountFit:
        """The fit of a ridge that leaves no coefficient: the overall mix."""
        start = np.zeros((self.counts.counts.shape[1] - 1, self.counts.rows.shape[1]))
        return self.counts.maximise(start, _NO_COEFFICIENT * self.variance, self.max_iterations)

    @cached_property
    def _likeliest(self) -> tuple[float, CountFit]:
        """Of several ridges the one with the largest evidence, and its fit."""
        start = self._free(self._first_guess())
        ridges = [self.variance / logit for logit in _LOGIT_VARIANCES] if self.ridge is None else [self.ridge]
        fits = []
        for ridge in ridges:  # from the strongest on, each from the last
            found = self.counts.maximise(start, ridge, self.max_iterations)
            fits.append((ridge, found))
            start = found.theta
        ridge, best = max(fits, key=lambda pair: pair[1].evidence)
        if ridge > 0 and best.evidence - self._none.evidence < _BEYOND_DOUBT:
            # Bags of nearly equal proportions have two hills, one with the classes exchanged: climb the other, too.
            turned = best.theta.copy()
            turned[:, int(self.intercept) :] *= -1
            other = self.counts.maximise(turned, ridge, self.max_iterations)
            best = max(best, other, key=lambda fit: fit.evidence)
        return ridge, best

    def bag_likelihood(self, errors: bool = True) -> LinearResult:
        """Maximise the likelihood of the counts; of several ridges the one with the largest evidence."""
        ridge, best = self._likeliest
        covariance, notes = self._sandwich(best.theta, ridge) if errors else (None, ())
        back = self.features.uncentring
        theta = best.theta @ back.T
        rows = theta if len(theta) == 1 else symmetric(theta)
        return LinearResult(rows, ridge, best.log_likelihood, covariance, best.iterations, best.converged, notes)

    def _sandwich(self, theta: Floats, ridge: float) -> tuple[Floats | None, tuple[str, ...]]:
        bags = len(self.bags.sizes)
        if bags <= theta.size:
            return None, (
                f"{bags} bags tell of {theta.size} parameters: there are standard errors with more bags than that.",
            )
        bread = np.linalg.pinv(self.counts.observed_information(theta) + self.counts.penalty(ridge), hermitian=True)
        scores = self.counts.bag_scores(theta)
        scores = scores - scores.mean(axis=0)  # with a penalty they do not sum to zero
        back = np.kron(np.eye(len(theta)), self.features.uncentring) @ bread @ scores.T
        return back @ back.T * bags / (bags - 1), ()

    def _free(self, theta: Floats) -> Floats:
        """Parameters of (1, x) as those against the first class of (1, x - mean)."""
        against = theta if len(theta) == 1 else theta[1:] - theta[0]
        free: Floats = against @ np.linalg.inv(self.features.uncentring).T
        return free

    def _log_likelihood(self, theta: Floats) -> float:
        return float(self.counts.score(self._free(theta))[0].sum())
