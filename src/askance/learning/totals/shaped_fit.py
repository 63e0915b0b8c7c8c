"""Fit a linear model to a noisy total of shaped rows: the likeliest parameters under a normal prior, by Gauss-Newton.

The total u of shaped rows z has mean g(theta) = E[z tanh(x.theta / 2)] and covariance C: the noise, and the labels' own
chance. Minimised is (u - g)' C^-1 (u - g) / 2 + |theta|^2 / 2v, where x is standardised and v is chosen by the marginal
likelihood of u (Laplace's approximation). There may be fewer totals than parameters: the prior says what they leave
open, and the standard errors are those of the posterior, so that what was not learned is not taken for known.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.engines.local.engine import LocalEngine, one_thread_algebra
from askance.engines.sources import ArraySource
from askance.learning.totals.mean_operator_fit import OperatorFit
from askance.learning.totals.shaped_sums import ShapedSums, ShapedTotals
from askance.learning.totals.told_relation import contrasts_of, in_contrasts, notes_on_relation
from askance.mechanisms.sums.label_shape import LabelShape
from askance.mechanisms.sums.shape_choice import SCORE_VARIANCE
from askance.releases.mean_operator import MeanOperator
from askance.statistics.base import Records

# Variances of scores that are looked at: from labels that features hardly tell to labels that they separate.
_SCALES = (0.03, 0.2, 1.0, 4.0, 16.0, 64.0)
_STEPS = 30  # of Newton: tests end before (they are the same at 300), and not before 3
_SOME_ROWS = 12_288  # of larger data choose the prior's scale, and start the fit
_PART_ROWS = 8_192  # so small that a few ten thousand rows keep all cores busy
_NO_LESS = 1e-9  # of the largest variance of a total: so far doubles tell none from little
_SMALL = 1e-5  # of the objective, a log-likelihood: a step that gains less is the last
# Noise of less than a quarter of the labels' own chance: the plain fit, which people know, is then no worse in all
# than one from the total's normal law. Accuracy at epsilon 5, four splits, plain and normal: Boston .877 and .867, wine
# .946 and .975, digits .914 and .914, songs .716 and .731. Where the border lies best was not measured.
_LITTLE_NOISE = 0.25


def is_mostly_chance(operator: MeanOperator, second: Floats) -> bool:
    """Whether the noise of a total is little beside the chance of the labels themselves.

    Parameters
    ----------
    operator : MeanOperator
    second : array, k x k
        E[z z'] of the rows that it is the total of.
    """
    classes = len(operator.classes)
    chance = float(np.trace(second)) / operator.rows * (1.0 if classes == 2 else 1 - 1 / classes)
    return float(operator.noise_variance.sum()) < _LITTLE_NOISE * chance


@one_thread_algebra()
def fit_shaped(
    X: Floats, operator: MeanOperator, shape: LabelShape, intercept: bool, engine: Engine | None = None
) -> OperatorFit:
    """Fit all classes at once by the logistic model.

    Parameters
    ----------
    X : array, n x d
        Features as they are.
    operator : MeanOperator
        Of their shaped rows.
    shape : LabelShape
    intercept : bool
    engine : engine, optional
        Where the sums over features run.
    """
    whole = _Problem.of(X, operator, shape, intercept, engine or LocalEngine())
    part = whole.on_some_rows(X)
    theta = np.zeros((len(operator.classes) - 1, shape.columns + int(intercept)))
    found = []
    for scale in _SCALES:
        found.append(part.solved(theta, scale))
        theta = found[-1].theta
    best = max(found, key=lambda each: each.evidence)
    between = _between_scales(found, best)
    if len(X) > part.source.num_rows:
        best = whole.solved(best.theta, best.scale)
    return whole.finished(best, best.covariance + between, part.notes_on_relation() if intercept else ())


@dataclass(frozen=True, eq=False)
class _Found:
    theta: Floats
    scale: float
    value: float
    evidence: float
    steps: int
    converged: bool
    covariance: Floats
    spread: float


@dataclass(frozen=True, eq=False)
class _Problem:
    """A total, what it should be by the model, and how far it may be from that."""

    source: ArraySource
    engine: Engine
    shape: LabelShape
    intercept: bool
    contrasts: Floats
    target: Floats  # contrasts x k, flat
    noise: Floats
    people: int
    made: bool = False  # whether rows are standardised and shaped already

    @classmethod
    def of(cls, X: Floats, operator: MeanOperator, shape: LabelShape, intercept: bool, engine: Engine) -> "_Problem":
        classes = len(operator.classes)
        contrasts = contrasts_of(classes)
        target, noise = in_contrasts(np.atleast_2d(operator.values), operator.noise_covariance)
        return cls(_source(X), engine, shape, intercept, contrasts, target.ravel(), noise, operator.rows)

    def on_some_rows(self, X: Floats) -> "_Problem":
        """The same with shaped rows at hand: of evenly spread ones if there are many, at the price of their chance."""
        some = X if len(X) < 2 * _SOME_ROWS else X[:: len(X) // _SOME_ROWS]
        rows = np.column_stack([self.shape.standard(some), self.shape.rows(some)])
        return replace(self, source=_source(rows), made=True)

    def totals(self, theta: Floats, with_slopes: bool = True) -> ShapedTotals:
        statistic = ShapedSums(theta, self.contrasts, self.shape, self.intercept, self.made, with_slopes)
        return self.engine.reduce(statistic, self.source)

    def covariance(self, totals: ShapedTotals) -> Floats:
        """Of the total around what it should be: noise, the labels' chance, and that of the rows that were taken."""
        free, classes = self.theta_shape[0], len(self.contrasts)
        rows = 1 / self.people + (1 / totals.rows - 1 / self.people if totals.rows < self.people else 0.0)
        chance = np.kron(np.eye(free), totals.second / totals.rows) * (rows / classes)
        covariance: Floats = self.noise + chance
        try:
            np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            # Columns that are constant or repeat each other, with noise that follows them (of mechanism "response").
            covariance = covariance + _NO_LESS * np.diag(covariance).max() * np.eye(len(covariance))
        return covariance

    @property
    def theta_shape(self) -> tuple[int, int]:
        return len(self.contrasts) - 1, self.shape.columns + int(self.intercept)

    def prior(self, totals: ShapedTotals, scale: float) -> Floats:
        """The variance of every parameter; half of that of the difference of two classes."""
        around = max(totals.spread / totals.rows, np.finfo(float).tiny)
        each = np.full(self.theta_shape[1], 0.5 * scale / around)
        each[: int(self.intercept)] = 0.5 * SCORE_VARIANCE
        return np.tile(each, self.theta_shape[0])

    def solved(self, theta: Floats, scale: float) -> _Found:
        """Take Gauss-Newton steps, halved where they would lead uphill."""
        totals = self.totals(theta)
        covariance, prior = self.covariance(totals), self.prior(totals, scale)
        factor = cho_factor(covariance)

        def value_of(point: Floats, at: ShapedTotals) -> float:
            off = self.target - at.moments.ravel() / at.rows
            return 0.5 * float(off @ cho_solve(factor, off)) + 0.5 * float((point.ravel() ** 2 / prior).sum())

        value, converged, steps = value_of(theta, totals), False, 0
        while steps < _STEPS and not converged:
            steps += 1
            slopes = _slopes(totals)
            inner = (slopes * prior) @ slopes.T + covariance
            off = self.target - totals.moments.ravel() / totals.rows + slopes @ theta.ravel()
            step = (prior * (slopes.T @ np.linalg.solve(inner, off))).reshape(theta.shape) - theta
            length = 1.0
            while length > 1e-4:
                there = self.totals(theta + length * step)
                lower = value_of(theta + length * step, there)
                if lower <= value:
                    break
                length /= 2
            else:
                converged = True
                break
            converged = value - lower <= _SMALL * (1 + abs(value))
            theta, totals, value = theta + length * step, there, lower
        slopes = _slopes(totals)
        lifted = slopes * prior
        inner = lifted @ slopes.T + covariance
        evidence = -value - 0.5 * (np.linalg.slogdet(inner)[1] - np.linalg.slogdet(covariance)[1])
        posterior = np.diag(prior) - lifted.T @ np.linalg.solve(inner, lifted)
        return _Found(theta, scale, value, float(evidence), steps, converged, posterior, totals.spread / totals.rows)

    def notes_on_relation(self) -> tuple[str, ...]:
        """What to say of a total that its noise may have made."""
        sums = self.totals(np.zeros(self.theta_shape), with_slopes=False)
        return notes_on_relation(
            self.target.reshape(self.theta_shape[0], -1), self.noise, sums.second / sums.rows, self.people
        )

    def finished(self, found: _Found, covariance: Floats, remarks: tuple[str, ...]) -> OperatorFit:
        """Return parameters of features as they are: of the second class, or of every class."""
        back = self.shape.in_raw_units(self.intercept)
        against_first = self.contrasts[1:] - self.contrasts[0]
        lift = np.kron(against_first, back)
        parameters = lift @ found.theta.ravel()
        rows = (self.contrasts @ found.theta) @ back.T if len(self.contrasts) > 2 else parameters[None]
        notes = [] if found.converged else [f"The solver stopped after {found.steps} steps before it converged."]
        return OperatorFit(
            rows=rows,
            parameters=parameters,
            covariance=lift @ covariance @ lift.T,
            ridge=found.spread / (found.scale * self.people),
            risk=found.value / self.people,
            iterations=found.steps,
            converged=found.converged,
            notes=(*remarks, *notes),
            of_total=True,
        )


def _between_scales(found: list[_Found], best: _Found) -> Floats:
    """What not knowing the prior's scale adds to the covariance: its mixture over scales, less that of the best."""
    weights = np.exp([each.evidence - best.evidence for each in found])
    weights /= weights.sum()
    mixed = -best.covariance
    for weight, each in zip(weights, found, strict=True):
        away = (each.theta - best.theta).ravel()
        mixed = mixed + weight * (each.covariance + np.outer(away, away))
    # Never less than at the best scale: smaller ones would vouch for what they shrink.
    sizes, axes = np.linalg.eigh((mixed + mixed.T) / 2)
    added: Floats = (axes * np.maximum(sizes, 0.0)) @ axes.T
    return added


def _slopes(totals: ShapedTotals) -> Floats:
    slopes: Floats = np.asarray(totals.slopes)
    free, shaped, _, width = slopes.shape
    return slopes.reshape(free * shaped, free * width) / totals.rows


def _source(rows: Floats) -> ArraySource:
    return ArraySource(Records(np.ascontiguousarray(rows), np.zeros(len(rows), dtype=np.uint8)), _PART_ROWS)
