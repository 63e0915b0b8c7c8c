"""Fits with the log-F penalty about the base rate, in standardised features: always finite, and no sign reversed.

The penalty weighs as much as one answer for each coefficient. So likelihoods count effective reports: weights are
scaled to w sum(w) / sum(w^2), which makes their sum the number of equally weighted reports that would tell as much.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from askance.arrays import Floats, Integers
from askance.engines.sources import RecordSource
from askance.learning.answers.base_rate import BaseRate
from askance.learning.answers.penalised_approach import approached
from askance.learning.answers.softmax_problem import SoftmaxTask
from askance.solvers.damped_newton import climb
from askance.solvers.log_f import LogF
from askance.solvers.newton import Local, Solution
from askance.solvers.profile_likelihood import Objective

_INTERCEPT = 0.5  # the base rate is known better than slopes are: its logit is penalised on half the scale
_FAINT = 1e-3  # of the penalty: at a logit of 20 it costs .01 of log-likelihood, and a maximum is still finite
# Parameters of which second derivatives are worth what they cost on the way to a maximum: 2,000 have 30 megabytes of
# them, whose eigenvalues take a few seconds.
CURVED = 2_000
# Parameters from which on the way there is by slopes: of 270 to 585 (noisy digits and made-up classes, seeds 3, 31, 32)
# it led to a higher maximum in 9 of 11 fits, by 4 to 52, in a quarter of the time where features were correlated; of 60
# to 180 it did in one of two.
_BY_SLOPES = 257

# "log-f" penalises likelihoods; "shrunk" is a ridge towards the base rate; "faint" next to no penalty at all.
PenaltyKind = Literal["none", "ridge", "log-f", "shrunk", "faint"]
_LOG_F: dict[PenaltyKind, float] = {"none": 0.0, "ridge": 0.0, "log-f": 1.0, "faint": _FAINT}


@dataclass(frozen=True, eq=False)
class StandardisedFit:
    """The objective in standardised parameters: of the features that vary, each divided by its standard deviation."""

    task: SoftmaxTask
    base: BaseRate
    # Where replicate weights tell it: the covariance of standardised parameters, and the full fit that it is of.
    spread: Floats | None = None
    full: Floats | None = None

    @cached_property
    def columns(self) -> Integers:
        """The columns of z = (1, x - centre) that are fitted."""
        return np.flatnonzero(~self.task.geometry.constant)

    @cached_property
    def scale(self) -> Floats:
        """The standard deviation of each of them; without an intercept, the root mean square; of the intercept 1."""
        geometry = self.task.geometry
        spread = geometry.variance if geometry.intercept else np.diag(geometry.second)
        scale: Floats = np.sqrt(spread[self.columns])
        scale[scale == 0] = 1.0
        return scale

    @cached_property
    def embedding(self) -> Floats:
        """The matrix that turns standardised parameters into those of z, flattened class by class."""
        one = np.zeros((self.task.width, len(self.columns)))
        one[self.columns, np.arange(len(self.columns))] = 1 / self.scale
        embedding: Floats = np.kron(np.eye(self.task.free), one).astype(float)
        return embedding

    @cached_property
    def reported(self) -> Floats:
        """The matrix that turns standardised parameters into those of (1, x), as they are reported."""
        reported: Floats = self.task.as_reported(self.embedding)
        return reported

    @cached_property
    def start(self) -> Floats:
        """Where nothing but the base rate is known."""
        centre = np.zeros((self.task.free, len(self.columns)))
        truths = self.task.problem.truths
        if self.task.problem.intercept:
            logits = self.base.logits
            centre[:, 0] = logits if truths is None else np.linalg.lstsq(truths.contrasts, logits, rcond=None)[0]
        return centre.ravel()

    def log_f(self, weight: float = 1.0) -> Callable[[Floats], Local]:
        """The penalty about the base rate: on the logits of the truths, whatever parameters these are made of.

        So it is the same in any parameters of one model. Of truths that are all combinations of some bits, with the
        bits as features, it is log-F(1,1) on the parameters of each bit by itself.
        """
        truths, of_logits = self.task.problem.truths, self._of_logits(weight)
        if truths is None:
            return of_logits

        def pulled(u: Floats) -> Local:
            here = of_logits(self._logits(u).ravel())
            return Local(here.value, truths.pulled(here.gradient), truths.pulled_square(here.information))

        return pulled

    def log_f_value(self, u: Floats) -> float:
        """The value alone of the penalty."""
        return self._of_logits(1.0).value(self._logits(u).ravel())

    def _of_logits(self, weight: float) -> LogF:
        scale = np.ones(len(self.columns))
        if self.task.problem.intercept:
            scale[0] = _INTERCEPT
        return LogF(self._logits(self.start), scale, weight)

    def _logits(self, u: Floats) -> Floats:
        return self.task.softmax(u.reshape(self.task.free, -1))

    @property
    def shrinkage(self) -> float:
        """A ridge as strong as the noise of an unbiased label: of order sqrt(n), so it vanishes against n.

        The objective of moments has no bound where its slopes leave the marginal polytope, so that a penalty which
        grows linearly, as log-F does, does not hold it.
        """
        size = float(self.task.reports.weight.sum()) * self.task.effective_unit
        if self.task.problem.truths is not None:
            return float(np.sqrt(size * self.task.label_noise()))
        noise = max(float((self.base.errors**2).max()) * size, 1 / self.task.classes**2)
        return float(np.sqrt(size * noise))

    def penalty(self, kind: PenaltyKind, share: float = 1.0) -> Callable[[Floats], Local]:
        """What is added to the objective in standardised parameters, besides the ridge that was asked for."""
        if kind == "shrunk":
            truths, start = self.task.problem.truths, self.start
            form = np.eye(self.task.free) if truths is None else truths.contrasts.T @ truths.contrasts
            wide = np.kron(form, np.eye(len(self.columns)))
            strength = np.asarray(share * self.shrinkage * wide, dtype=float)

            def ridge(u: Floats) -> Local:
                pull = strength @ (u - start)
                return Local(-0.5 * float((u - start) @ pull), -pull, strength)

            return ridge
        return self.log_f(share * _LOG_F[kind])

    def objective(self, kind: PenaltyKind, source: RecordSource | None = None) -> Objective:
        """The objective as a function of standardised parameters, with its penalties."""
        task = self.task
        source = task.source if source is None else source
        share = source.num_rows / task.source.num_rows
        plain = task.objective(source, share * task.asked_penalty(), task.effective_unit)
        penalty = self.penalty(kind, share)

        def local(u: Floats) -> Local:
            here, extra = plain(self.embedded(u).ravel()), penalty(u)
            information = self._of_columns(here.information) + extra.information
            gradient = here.gradient.reshape(task.free, -1)[:, self.columns] / self.scale
            return Local(here.value + extra.value, gradient.ravel() + extra.gradient, information)

        return local

    def fit(self, kind: PenaltyKind, sample: RecordSource) -> Solution:
        """Maximise the objective with a penalty, from the base rate; by way of a sample where data are large."""
        start, limit = self.start, self.task.problem.max_iterations
        wide = start.size >= _BY_SLOPES
        if sample is not self.task.source:
            climbed = None if wide else climb(self.objective(kind, sample), start, max_iterations=limit)
            start = self._approached(kind, sample, start) if climbed is None else climbed.theta
        if wide:
            start = self._approached(kind, self.task.source, start)
        return climb(self.objective(kind), start, max_iterations=limit)

    def _approached(self, kind: PenaltyKind, source: RecordSource, start: Floats) -> Floats:
        """Go most of the way by slopes."""
        task, share = self.task, source.num_rows / self.task.source.num_rows
        unit, asked, penalty = task.effective_unit, share * task.asked_penalty(), self.penalty(kind, share)

        def slope(u: Floats) -> tuple[float, Floats]:
            value, gradient = task.slope(self.embedded(u), source, asked)
            gradient, extra = gradient.reshape(task.free, -1)[:, self.columns] / self.scale, penalty(u)
            return unit * value + extra.value, unit * gradient.ravel() + extra.gradient

        # Labels that are known tell p (1 - p) about their logit each, here of classes that are equally likely.
        size = unit * share * float(task.reports.weight.sum()) * (1 - 1 / task.classes) / task.classes
        moments = task.geometry.second[np.ix_(self.columns, self.columns)] / np.outer(self.scale, self.scale)
        added = np.diag(np.diag(penalty(start).information)[: len(moments)])
        objective = self.objective(kind, source)
        curved = (lambda u: objective(u).information) if start.size <= CURVED else None
        return approached(slope, start, size * moments + added, curved)

    def embedded(self, u: Floats) -> Floats:
        """Parameters of z (K-1 x p) of standardised ones."""
        theta = self.task.zero()
        theta[:, self.columns] = u.reshape(self.task.free, -1) / self.scale
        return theta

    def _of_columns(self, matrix: Floats) -> Floats:
        """A quadratic form of the parameters of z as one of standardised parameters."""
        places, inverse = self._places
        return np.asarray(inverse[:, None] * matrix[places] * inverse)

    @cached_property
    def _places(self) -> tuple[tuple[Integers, ...], Floats]:
        """Where a quadratic form of standardised parameters stands in one of z, and the inverse of their scales."""
        places = (self.columns + self.task.width * np.arange(self.task.free)[:, None]).ravel()
        inverse = np.tile(1 / self.scale, self.task.free)
        return np.ix_(places, places), inverse

    def standardised(self, theta: Floats) -> Floats:
        """The standardised parameters of parameters of z (K-1 x p)."""
        moved: Floats = (theta[:, self.columns] * self.scale).ravel()
        return moved

    def replicated(self, kind: PenaltyKind, u: Floats) -> Floats:
        """The covariance of standardised parameters by replicate weights, each fitted from the full fit."""
        replicates = self.task.replicates
        if replicates is None:
            raise ValueError("a task without replicate weights")
        again = [climb(self.objective(kind, source), u).theta for source in replicates.sources]
        return replicates.covariance(np.array(again), u)

    def penalty_information(self, kind: PenaltyKind, theta: Floats) -> Floats:
        """The curvature that penalties add to that of the weighted objective, at parameters of z."""
        if kind in ("none", "ridge"):
            return self.task.asked_penalty()
        part = self.penalty(kind)(self.standardised(theta)).information / self.task.effective_unit
        curvature, places = self.task.asked_penalty(), np.flatnonzero(self.task.used)
        scale = np.tile(self.scale, self.task.free)
        curvature[np.ix_(places, places)] += part * np.outer(scale, scale)
        return curvature

    def ratio_scale(self, u: Floats, direction: Floats, kind: PenaltyKind) -> float:
        """What a likelihood ratio of weighted reports is divided by.

        It is the variance of the score along the direction, with the other parameters fitted, against its information.
        """
        task, unit, embedding = self.task, self.task.effective_unit, self.embedding
        u = u if self.full is None else self.full  # a covariance is compared with the information at its own place
        theta = (embedding @ u).reshape(task.zero().shape)
        sums = task.sums(theta, with_outer=self.spread is None)
        # Expected, and not observed: away from the maximum the likelihood may not even be concave. Replicates are fits,
        # which follow the curvature that there is.
        information = unit * embedding.T @ task.expected_information(theta) @ embedding
        curvature = information if self.spread is None else unit * embedding.T @ sums.information @ embedding
        asked = unit * embedding.T @ task.asked_penalty() @ embedding
        along = np.linalg.pinv(curvature + asked + self.penalty(kind)(u).information, hermitian=True) @ direction
        expected = float(along @ information @ along)
        if self.spread is not None:
            seen = float(direction @ self.spread @ direction)
        else:
            outer, _ = task.meat(theta, sums, about_mean=True)
            seen = unit**2 * float(along @ embedding.T @ outer @ embedding @ along)
        return seen / expected if seen > 0 and expected > 0 else 1.0
