"""The spread likelihood under a prior of latent classes, with the features integrated out in one dimension.

Within a class the logit given a report is nearly normal, so that the likelihood of a label report is a mixture of the
integrals of ``collapsed_likelihood``: P_i = sum_z r_iz sum_c S(c~ | c) E[softmax_c(N(M_iz, V_iz))], with r_iz the
probability of class z given the feature report. With one class it is that likelihood.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.learning.records.latent_block import BlockPosterior, LogitMoments, Pull, pairs
from askance.learning.records.latent_classes import LatentPrior
from askance.learning.records.latent_reports import LatentReports
from askance.learning.records.logistic_normal import expected_sigmoid
from askance.learning.records.logit_objective import HeldOut, LogitObjective, typical_direction
from askance.learning.records.softmax_normal import label_slopes

_TINY = 1e-300  # in place of zero, to divide by or take the logarithm of: a double in full, and smaller than any share
_ROWS_AT_ONCE = 4096  # of tables with a column for each parameter of the prior
# Of the prior's information, relative and on the scale of correlations: what is flatter is not known, and not used.
_FLAT = 1e-8
# Added to the variance of each attribute, as a share of the mean variance, as ``record_data`` does.
_HARDLY = 0.02


@dataclass(frozen=True, eq=False)
class LatentFeatures:
    """The truth of all attributes given their reports, in every class."""

    posteriors: tuple[BlockPosterior, ...]
    responsibilities: Floats  # R x z
    columns: tuple[np.ndarray, ...]  # of the design, by block
    shares: Floats  # of the classes

    @classmethod
    def of(cls, prior: LatentPrior, reports: LatentReports, centre: Floats) -> "LatentFeatures":
        parts = zip(reports.blocks, prior.parts, reports.design, strict=True)
        posteriors = tuple(block.posterior(part, centre[columns]) for block, part, columns in parts)
        return cls(posteriors, prior.responsibilities(reports)[0], reports.design, prior.shares)

    @property
    def width(self) -> int:
        return sum(map(len, self.columns))

    def means(self) -> Floats:
        """Posterior means of the design about its centre, R x D."""
        found = np.empty((len(self.responsibilities), self.width))
        for posterior, columns in zip(self.posteriors, self.columns, strict=True):
            found[:, columns] = posterior.means(self.responsibilities)
        return found

    def moments(self, theta: Floats) -> LogitMoments:
        """Of logits with parameters F x (1 + D), intercept first."""
        mean = np.tile(theta[:, 0], (*self.responsibilities.shape, 1))
        covariance = np.zeros((*self.responsibilities.shape, len(pairs(len(theta))[0])))
        for posterior, columns in zip(self.posteriors, self.columns, strict=True):
            part = posterior.moments(theta[:, 1 + columns])
            mean += part.mean
            covariance += part.covariance
        return LogitMoments(mean, covariance)

    def pulled(self, theta: Floats, pull: Pull) -> Floats:
        """Derivatives by the parameters, F x (1 + D)."""
        found = np.empty_like(theta)
        found[:, 0] = pull.by_mean.sum(axis=(0, 1))
        for posterior, columns in zip(self.posteriors, self.columns, strict=True):
            found[:, 1 + columns] = posterior.pulled(theta[:, 1 + columns], pull)
        return found

    def row_slopes(self, theta: Floats, pull: Pull) -> Floats:
        """The same for each report, R x F x (1 + D)."""
        found = np.empty((len(pull.by_mean), *theta.shape))
        found[:, :, 0] = pull.by_mean.sum(axis=1)
        for posterior, columns in zip(self.posteriors, self.columns, strict=True):
            found[:, :, 1 + columns] = posterior.row_slopes(theta[:, 1 + columns], pull)
        return found


class _Chances(NamedTuple):
    """Of a label report in every class, R x z, its derivatives by the logits' moments, and the mixture's, R."""

    each: Floats
    slopes: Pull
    mixed: Floats


@dataclass(frozen=True, eq=False)
class CountedHeldOut(HeldOut):
    """Held-out log-likelihoods of distinct reports, and how often each came."""

    each: Floats
    counts: Floats

    @property
    def mean(self) -> float:
        return float(self.counts @ self.each / self.counts.sum())

    def behind(self, other: HeldOut) -> tuple[float, float]:
        difference = other.each - self.each  # type: ignore[attr-defined]
        total = self.counts.sum()
        mean = float(self.counts @ difference / total)
        return mean, float(np.sqrt(max(self.counts @ (difference - mean) ** 2, 0.0)) / total)


@dataclass(frozen=True, eq=False)
class MixtureLikelihood(LogitObjective):
    """The likelihood of label reports given feature reports, under a prior of latent classes.

    Parameters
    ----------
    features : LatentFeatures
        About ``centre``.
    label_likelihood : R x C
        P(label report | class).
    counts, squares : R
        Sums of weights of each distinct report, and of their squares.
    metric : D
    intercept : bool
    centre : D
    """

    features: LatentFeatures
    label_likelihood: Floats
    counts: Floats
    squares: Floats
    metric: Floats
    intercept: bool
    centre: Floats
    rough: bool = field(default=False)

    @classmethod
    def of(
        cls, prior: LatentPrior, reports: LatentReports, label_likelihood: Floats, intercept: bool
    ) -> "MixtureLikelihood":
        """The likelihood with a centre and a metric that the prior implies."""
        width = sum(map(len, reports.design))
        centre, variance = np.empty(width), np.empty(width)
        for block, part, columns in zip(reports.blocks, prior.parts, reports.design, strict=True):
            centre[columns], variance[columns] = block.design_moments(part, prior.shares)
        metric = np.empty(width)
        for columns in reports.design:
            mean = float(variance[columns].mean())
            metric[columns] = variance[columns] + _HARDLY * mean if mean > 0 else 1.0
        features = LatentFeatures.of(prior, reports, centre if intercept else np.zeros(width))
        middle = centre if intercept else np.zeros(width)
        return cls(features, label_likelihood, reports.counts, reports.squares, metric, intercept, middle)

    # -- what a solver asks for ----------------------------------------------------------------------

    @cached_property
    def covariance(self) -> Floats:
        """Of the features' posterior means."""
        means = self.features.means()
        share = self.counts / self.counts.sum()
        about = means - share @ means
        found: Floats = (about * share[:, None]).T @ about
        return found

    @cached_property
    def spread(self) -> Floats:  # type: ignore[override]
        return np.diag(self.covariance).copy()

    @cached_property
    def intercept_metric(self) -> float:  # type: ignore[override]
        return 1 / typical_direction(self.covariance, self.metric, round(self.reports))

    @property
    def reports(self) -> float:
        return float(self.counts.sum())

    @property
    def classes(self) -> int:
        return int(self.label_likelihood.shape[1])

    @property
    def label_table(self) -> tuple[Floats, Floats]:
        return self.label_likelihood, self.counts

    def pace(self, ridge: float) -> Floats:
        """Directions and lengths that make the curvature at no parameters one: features that depend on each other."""
        curvature = np.diag(self.penalty(ridge))
        curvature[0, 0] += self.label_curvature
        curvature[1:, 1:] += self.label_curvature * self.covariance
        values, vectors = np.linalg.eigh(curvature)
        found: Floats = (vectors / np.sqrt(np.maximum(values, 1e-9 * values.max()))).T
        return found

    def shares(self, weights: Floats | None) -> Floats:
        counted = self.counts[:, None] * (1.0 if weights is None else weights)
        normalised: Floats = counted / counted.sum(axis=0)
        return normalised

    def roughly(self) -> "MixtureLikelihood":
        return replace(self, rough=True)

    def joint(self) -> "MixtureLikelihood":
        return self

    def thinned(self, most: int) -> "MixtureLikelihood":
        return self

    # -- one evaluation ------------------------------------------------------------------------------

    def _free(self, theta: Floats) -> Floats:
        """Parameters against the first class; of two classes they are that already."""
        return theta if self.rows == 1 else theta[1:] - theta[:1]

    def label_chances(self, free: Floats) -> _Chances:
        """Of each label report, for parameters against the first class."""
        moments, table = self.features.moments(free), self.label_likelihood
        if self.rows == 1:
            link = expected_sigmoid(moments.mean[..., 0], moments.covariance[..., 0], rough=self.rough)
            gap = table[:, [1]] - table[:, [0]]
            each = table[:, [0]] + gap * link.probability
            slopes = Pull((gap * link.by_mean)[..., None], (gap * link.by_variance)[..., None])
        else:
            classes = self.features.responsibilities.shape[1]
            flat = [part.reshape(len(part) * classes, -1) for part in moments]
            found = label_slopes(flat[0], flat[1], np.repeat(table, classes, axis=0))
            each = np.exp(found.value).reshape(-1, classes)
            parts = (found.by_mean, found.by_covariance)
            slopes = Pull(*(each[..., None] * part.reshape(*each.shape, -1) for part in parts))
        mixed = np.maximum((self.features.responsibilities * each).sum(axis=1), _TINY)
        return _Chances(each, slopes, mixed)

    def _pull(self, chances: _Chances, weights: Floats) -> Pull:
        """Derivatives of weighted log-likelihoods by the moments of each class."""
        scale = (self.features.responsibilities * (weights / chances.mixed)[:, None])[..., None]
        return Pull(scale * chances.slopes.by_mean, scale * chances.slopes.by_covariance)

    def log_likelihood(self, theta: Floats) -> Floats:
        """Of each report, R x sets."""
        return np.column_stack([np.log(self.label_chances(self._free(one)).mixed) for one in theta])

    def probabilities(self, theta: Floats) -> Floats:
        """Of each true class given a feature report, R x C."""
        found = []
        for row in np.eye(self.classes):
            one_label = replace(self, label_likelihood=np.tile(row, (len(self.counts), 1)))
            found.append(one_label.label_chances(self._free(theta)).mixed)
            if self.classes == 2:
                return np.column_stack([found[0], 1 - found[0]])
        return np.column_stack(found)

    def total(self, theta: Floats) -> float:
        return float(self.counts @ self.log_likelihood(theta[None])[:, 0])

    def held_out(self, theta: Floats, weights: Floats) -> CountedHeldOut:
        return CountedHeldOut((self.log_likelihood(theta) * (weights == 0)).sum(axis=1), self.counts)

    def data_loss(self, theta: Floats, shares: Floats) -> tuple[float, Floats]:
        value, gradient = 0.0, np.zeros_like(theta)
        for one, share, into in zip(theta, shares.T, gradient, strict=True):
            free = self._free(one)
            chances = self.label_chances(free)
            value -= float(share @ np.log(chances.mixed))
            slope = self.features.pulled(free, self._pull(chances, share))
            if not self.intercept:
                slope[:, 0] = 0.0
            if self.rows == 1:
                into -= slope
            else:
                into[1:] -= slope
                into[0] += slope.sum(axis=0)
        return value, gradient

    def gradients(self, points: Floats, ridge: float) -> Floats:
        shares = self.shares(None)
        return np.stack([self.loss(point[None], shares, ridge)[1][0] for point in points])

    # -- standard errors -----------------------------------------------------------------------------

    def score_squares(self, theta: Floats) -> Floats:
        """Sum of squared influences: psi = s_w - C I^-1 s_prior, since the prior was learned from the same reports.

        C sums products of the label's scores by parameters and by the prior: by the information identity these are
        minus the derivatives of the former by the latter.
        """
        free = self._free(theta)
        chances = self.label_chances(free)
        pull = self._pull(chances, np.ones(len(self.counts)))
        slopes = self.features.row_slopes(free, pull)
        if not self.intercept:
            slopes[:, :, 0] = 0.0
        scores = slopes.reshape(len(slopes), -1)
        plain = (scores * self.squares[:, None]).T @ scores
        own = self.features.responsibilities
        shift = own * (chances.each / chances.mixed[:, None] - 1)
        sums = None
        for start in range(0, len(scores), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            some = Pull(pull.by_mean[rows], pull.by_covariance[rows])
            found = self._prior_sums(free, scores[rows], own[rows], shift[rows], some, rows)
            sums = found if sums is None else [one + other for one, other in zip(sums, found, strict=True)]
        information, squares, crossed, together = sums or [np.zeros((0, 0))] * 4
        solved = _solved(information, crossed)
        return plain - solved @ together - (solved @ together).T + solved @ squares @ solved.T

    def _prior_sums(
        self, free: Floats, scores: Floats, own: Floats, shift: Floats, pull: Pull, rows: slice
    ) -> list[Floats]:
        """The prior's information, squares of its scores, and products of both its scores with the parameters'."""
        features, label = [own[:, 1:] - self.features.shares[1:]], [shift[:, 1:]]
        for posterior, columns in zip(self.features.posteriors, self.features.columns, strict=True):
            found = posterior.prior_scores(free[:, 1 + columns], own, shift, pull, rows)
            features.append(found.features)
            label.append(found.label)
        of_reports, of_labels = np.hstack(features), np.hstack(label)
        counts, squares = self.counts[rows, None], self.squares[rows, None]
        return [
            (of_reports * counts).T @ of_reports,
            (of_reports * squares).T @ of_reports,
            (scores * counts).T @ of_labels,
            (of_reports * squares).T @ scores,
        ]


def _solved(information: Floats, crossed: Floats) -> Floats:
    """crossed information^-1, on what the reports tell of the prior."""
    scale = np.sqrt(np.maximum(np.diag(information), _TINY))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    known = values > _FLAT * max(float(values[-1]) if len(values) else 0.0, _TINY)
    turned = (crossed / scale) @ vectors[:, known]
    solved: Floats = (turned / values[known]) @ vectors[:, known].T / scale
    return solved
