"""The likelihood of reports about one answer, yes or no or ordered, with a random intercept by group or without.

P(answer above k | x, u) = F(x'b + s u - c_k), with u a standard normal number of each group. The integral over u is by
adaptive Gauss-Hermite quadrature: the nodes of each group lie where its own integrand is large (Liu & Pierce 1994).
With the nodes held fixed, the likelihood of a group is a sum over nodes as that of a row is a sum over answers, and has
its derivatives by the same rule.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from askance.arrays import Floats, Integers
from askance.learning.surveys.cumulative_links import Link, OrderedClasses, class_law
from askance.learning.surveys.hidden_states import HiddenStates
from askance.learning.surveys.survey_sample import Spread, SurveySample, sums_by_number
from askance.solvers.newton import Local

_MODE_STEPS = 12  # Newton's, for the place of each group's nodes: they need not be exact
_LONGEST_STEP = 1.0  # of these, in standard deviations of the group
# Rows times nodes, some megabytes of scores. At nine nodes, 250 people take half the time of one node after the other.
_ROWS_AT_ONCE = 10_000
_LEAST_CURVATURE = 0.2  # of an integrand that is not concave: its nodes are spread as if it were, a little


@dataclass(frozen=True, eq=False)
class AnswerRows:
    """Reports, covariates and link.

    Parameters
    ----------
    link : Link
    design : array, n x d
        Covariates, without an intercept.
    known : array, n x classes
        log P(report | class).
    weights : array, n, optional
    sample : SurveySample, optional
        Clusters and strata of the rows.
    """

    link: Link
    design: Floats
    known: Floats
    weights: Floats | None = None
    sample: SurveySample | None = None

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.known.shape[1])

    @cached_property
    def _every_class(self) -> Integers:
        return np.broadcast_to(np.arange(self.classes), self.known.shape)

    def likelihood(self, more: Floats | None = None, weights: Floats | None = None) -> HiddenStates:
        """The likelihood without groups: parameters are coefficients, then cuts; ``more`` is a further covariate."""
        design = self.design if more is None else np.column_stack([self.design, more])
        factor = OrderedClasses(self.link, design[:, None, :], self._every_class, self.classes)
        return HiddenStates(self.known, [factor], self.weights if weights is None else weights, sample=self.sample)

    def repeated(self, times: int) -> "AnswerRows":
        """Every row so many times, one after the other, without weights."""
        if times not in self._repetitions:
            design, known = (np.repeat(array, times, axis=0) for array in (self.design, self.known))
            self._repetitions[times] = AnswerRows(self.link, design, known)
        return self._repetitions[times]

    @cached_property
    def _repetitions(self) -> dict[int, "AnswerRows"]:
        return {}

    def along(self, eta: Floats, cuts: Floats) -> tuple[Floats, Floats, Floats]:
        """The log-likelihood of each row at its linear predictor, with the first two derivatives."""
        law = class_law(self.link, eta[:, None], cuts, self._every_class)
        logs = self.known + law.value
        total = logsumexp(logs, axis=1, keepdims=True)
        states = np.exp(logs - total)
        slope = law.by_lower + law.by_upper
        bend = law.lower_lower + 2 * law.lower_upper + law.upper_upper
        mean = (states * slope).sum(axis=1)
        return total[:, 0], mean, (states * (bend + slope**2)).sum(axis=1) - mean**2


@dataclass(frozen=True, eq=False)
class GroupedAnswers:
    """The likelihood with a random intercept: parameters are coefficients, log s, then cuts.

    Parameters
    ----------
    rows : AnswerRows
    group : array of int, n
    nodes, log_weights : arrays, groups x nodes
        Where the integrand is looked at, and what each place counts.
    sample : SurveySample, optional
        Clusters of the groups.
    """

    rows: AnswerRows
    group: Integers
    nodes: Floats
    log_weights: Floats
    sample: SurveySample | None = None

    @classmethod
    def around(cls, rows: AnswerRows, group: Integers, theta: Floats, count: int) -> "GroupedAnswers":
        """Put the nodes of each group where its integrand is, at some parameters."""
        slopes = rows.design.shape[1]
        spread, cuts = float(np.exp(theta[slopes])), theta[slopes + 1 :]
        fixed = rows.design @ theta[:slopes]
        groups = int(group.max()) + 1
        centre, width = np.zeros(groups), np.ones(groups)
        for _ in range(_MODE_STEPS):
            _, slope, bend = rows.along(fixed + spread * centre[group], cuts)
            gradient = spread * np.bincount(group, slope, groups) - centre
            curvature = np.maximum(1 - spread**2 * np.bincount(group, bend, groups), _LEAST_CURVATURE)
            centre = centre + np.clip(gradient / curvature, -_LONGEST_STEP, _LONGEST_STEP)
            width = 1 / np.sqrt(curvature)
        places, masses = np.polynomial.hermite_e.hermegauss(count)
        nodes = centre[:, None] + width[:, None] * places
        # Integral of phi(u) g(u): weights of e^(-t^2/2), times what the change of variable and phi leave.
        log_weights = (
            np.log(masses) + 0.5 * places**2 + np.log(width)[:, None] - 0.5 * nodes**2 - 0.5 * np.log(2 * np.pi)
        )
        sample = None if rows.sample is None else rows.sample.of_groups(group)
        return cls(rows, group, nodes, log_weights, sample)

    def _several_nodes(self) -> list[slice]:
        """Nodes that are looked at in one go: as many as fit into the cache, for calls cost more than few numbers."""
        step = max(1, _ROWS_AT_ONCE // len(self.group))
        return [slice(first, first + step) for first in range(0, self.nodes.shape[1], step)]

    def _at_nodes(self, theta: Floats) -> tuple[Floats, Floats]:
        """Probabilities of the nodes of each group, and the logarithm of its likelihood."""
        slopes = self.rows.design.shape[1]
        fixed, spread = self.rows.design @ theta[:slopes], float(np.exp(theta[slopes]))
        logs = self.log_weights.copy()
        for some in self._several_nodes():
            places = self.nodes[self.group, some]
            eta = (fixed[:, None] + spread * places).ravel()
            values = self.rows.repeated(places.shape[1]).along(eta, theta[slopes + 1 :])[0]
            logs[:, some] += self._sums(values.reshape(places.shape))
        total = logsumexp(logs, axis=1)
        return np.exp(logs - total[:, None]), total

    def _sums(self, rows: Floats) -> Floats:
        """Sums over the rows of each group, for every column."""
        return sums_by_number(self.group, len(self.nodes), rows)

    def __call__(self, theta: Floats) -> Local:
        """Value, gradient and information at some parameters."""
        slopes, size = self.rows.design.shape[1], len(theta)
        if np.any(np.diff(theta[slopes + 1 :]) <= 0):
            return Local(-np.inf, np.zeros(size), np.eye(size))
        total, mean, second = self._at(theta)
        spread = float(np.exp(theta[slopes]))
        gradient = mean.sum(axis=0)
        information = mean.T @ mean - second
        chain = self._chain(theta)
        information = information * np.outer(chain, chain)
        information[slopes, slopes] -= gradient[slopes] * spread
        return Local(float(total.sum()), gradient * chain, information)

    def _at(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Log-likelihoods and scores of the groups, and the sum of what their second derivatives have beside these.

        Derivatives are by s itself; those by log s come by the chain rule.
        """
        slopes, size = self.rows.design.shape[1], len(theta)
        states, total = self._at_nodes(theta)
        inner = theta.copy()
        inner[slopes] = np.exp(theta[slopes])
        mean, second = np.zeros((len(self.nodes), size)), np.zeros((size, size))
        for some in self._several_nodes():
            share = states[:, some]
            width = share.shape[1]
            rows = self.rows.repeated(width)
            found = rows.likelihood(self.nodes[self.group, some].ravel(), share[self.group].ravel()).rows(inner)
            scores = self._sums(found.scores.reshape(len(self.group), -1)).reshape(-1, width, size)
            weighted = share[:, :, None] * scores
            mean += weighted.sum(axis=1)
            second += weighted.reshape(-1, size).T @ scores.reshape(-1, size) - found.local.information
        return total, mean, second

    def _chain(self, theta: Floats) -> Floats:
        slopes = self.rows.design.shape[1]
        chain = np.ones(len(theta))
        chain[slopes] = np.exp(theta[slopes])
        return chain

    def scores(self, theta: Floats) -> Floats:
        """The derivatives of the log-likelihood of each group."""
        return self._at(theta)[1] * self._chain(theta)

    def of_own_slopes(self, theta: Floats, covariate: Floats) -> tuple[Floats, Floats]:
        """Of a coefficient of each group's own: its squared score, and what it is on average if all are the same.

        Half of their difference is the derivative of the group's log-likelihood by the coefficient's variance, at none.
        """
        slopes = self.rows.design.shape[1]
        states, _ = self._at_nodes(theta)
        fixed, spread = self.rows.design @ theta[:slopes], float(np.exp(theta[slopes]))
        mean, excess = np.zeros(len(self.nodes)), np.zeros(len(self.nodes))
        for number, share in enumerate(states.T):
            _, slope, bend = self.rows.along(fixed + spread * self.nodes[self.group, number], theta[slopes + 1 :])
            score, curved = self._sums(np.column_stack([covariate * slope, covariate**2 * bend])).T
            mean += share * score
            excess += share * (score**2 + curved)
        return mean**2, mean**2 - excess

    def score_spread(self, theta: Floats, about_mean: bool = False) -> Spread:
        """The variance of the summed score, by the clusters that groups lie in."""
        scores = self.scores(theta)
        if self.sample is None:
            return Spread(scores.T @ scores, None)
        return self.sample.spread(scores, about_mean=about_mean)

    def information_of_scores(self, theta: Floats) -> Floats:
        """The sum of outer products of the groups' scores."""
        scores = self.scores(theta)
        return np.asarray(scores.T @ scores)
