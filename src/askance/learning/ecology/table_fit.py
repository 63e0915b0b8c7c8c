"""Cross-tables from the margins of units: the most probable parameters, and draws of the tables about them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.learning.ecology.table_likelihood import AtPoint, TableLikelihood, UnitShares
from askance.learning.ecology.unit_tables import choice_noise, conditioned, raked

# How much the shares of a row may change with what the unit is made of: not at all, a little, more. The data say badly
# which of these holds, so that each has a third of the draws, and their difference is part of the intervals.
SPREADS = (0.0, 0.1, 0.25)
COMPONENTS = 4  # principal components of the rows; those beyond vary little
DRAWS = 100  # of each spread; with 10, intervals of a test hold .74 where it asks .8; with 1,000 it passes
# The gain in likelihood of shares that change, beyond what as many numbers gain by chance, in its deviations; and by
# how much intervals are widened from there on. In 36 simulated countries (seed 7), nominal 95% intervals covered .947
# below 2, .85 from 2 to 8 and .78 beyond; widened .97 and .95. Without any change, one country of ten was above 2.
WIDENED = ((8.0, 2.0), (2.0, 1.5))
# Few units show a change only dimly. Of countries of 12 to 35 units in which one of two rows changes by .5 or 1 logit
# (seeds 2,000 to 2,039), those with a gain of .5 to 2 had 95% intervals that covered .37 to .85; widened by 1.5 .79 to
# 1, by 2 .80 to 1. Of 240 countries without any change four gained more than .5.
MANY_UNITS, WIDENED_IF_FEW = 50, ((0.5, 2.0),)
# By how much intervals are widened where the units' means contradict the likelihood. In 60 countries (seeds 61,000 on)
# whose units lean by 0, .4 and .8 logits, nominal 95% intervals covered .975, .82 and .71. Of 20 others each (seeds
# 63,000 on) 0, 13 and 18 are noticed, and widened intervals cover .97, .96 and .91. Of 16 countries of seed 7 none is.
_LEANING = 2.0
_MOST_TURNS = 8  # of means and agreements: four do nearly always
_STILL = 0.01  # of logarithms, a turn that moves none by more is the last
_ROUNDS_OF_DRAWS = 12  # of raking: margins are then right to some thousandths; the sum of all units is raked further
_MEMORY = 4_000_000  # numbers in one array of draws
_MOST_STEPS = 500  # of L-BFGS: tables of six rows take 100 to 300
_RIDGE = 1e-6  # on directions that change no share


@dataclass(frozen=True, eq=False)
class TableFit:
    """Cross-tables of all units together and of each.

    Parameters
    ----------
    draws : array, draws x R x K
        Numbers of people, all units together.
    units : array, units x R x K
        The expected number of people.
    unit_errors : array, units x R x K
        Their standard errors.
    expected : array, units x K
        The column shares that the rows of each unit alone make likely.
    gain : float
        Twice the log-likelihood that the largest spread gains over none.
    effective : float
        How many numbers that spread learned from the units.
    agreement : array, R
        How much people of one row in one unit agree beyond their shares.
    converged : bool
    contradiction : float
        Twice the log-likelihood that the means of the units gain when they alone are fitted, by the number of slopes.
    """

    draws: Floats
    units: Floats
    unit_errors: Floats
    expected: Floats
    gain: float
    effective: float
    agreement: Floats
    converged: bool
    contradiction: float = 0.0

    @property
    def change(self) -> float:
        """By how many deviations shares that change with the unit explain more than chance would."""
        return (self.gain - self.effective) / float(np.sqrt(2 * max(self.effective, 1.0)))

    @property
    def widened(self) -> float:
        """By how much intervals are widened: where changes are visible, there are more that are not."""
        return max(self.changed, _LEANING if self.leaning else 1.0)

    @property
    def changed(self) -> float:
        """That of changes alone."""
        steps = WIDENED if len(self.units) >= MANY_UNITS else WIDENED_IF_FEW
        return next((factor for least, factor in steps if self.change > least), 1.0)

    @property
    def hinted(self) -> bool:
        """Whether a change is more than chance would have it in few units, and less than would be sure in many."""
        return self.changed > 1 and self.change <= WIDENED[-1][0]

    @property
    def leaning(self) -> bool:
        """Whether units lean so far that what their columns' variance tells of the shares is wrong.

        Where the likelihood holds it is as precise as the means or more, and the means gain less than one for each
        slope by being fitted alone.
        """
        return self.contradiction > 1


def fit_tables(shares: UnitShares, rng: np.random.Generator) -> TableFit:
    """Fit cross-tables to the shares of rows and columns by unit."""
    z = shares.composition(COMPONENTS)
    spreads = SPREADS if z.shape[1] else SPREADS[:1]
    known: Floats | None = None
    values, parts, means, effective, converged, contradiction = [], [], [], 0.0, True, 0.0
    agreement = np.zeros(shares.x.shape[1])
    for spread in spreads:
        model = TableLikelihood(shares, z if spread else z[:, :0], spread)
        found = _minimised(model.minus_log, model.start(known))
        known = found.x
        if not spread:
            contradiction = _contradiction(model, known)
        values.append(float(found.fun))
        converged &= found.status == 0
        observed, given = model.information(found.x)
        if spread:
            effective = _effective(observed, given)
        here = model.at(found.x)
        agreement = here.agreement
        means.append((shares.x[:, None, :] @ here.beta)[:, 0])
        parts.append(_drawn(model, found.x, observed + given, rng))
    sizes = shares.sizes[:, None, None]
    mean = np.mean([part[1] for part in parts], axis=0)
    square = np.mean([part[2] for part in parts], axis=0)
    exact = shares.c if shares.noise is None else None
    return TableFit(
        np.concatenate([part[0] for part in parts]),
        raked(mean, shares.x, exact) * sizes,
        np.sqrt(np.maximum(square - mean**2, 0)) * sizes,
        np.mean(means, axis=0),
        2 * (values[0] - values[-1]),
        effective,
        agreement,
        converged,
        contradiction,
    )


def _minimised(function: Any, start: Floats) -> Any:
    from scipy.optimize import minimize

    options = {"maxiter": _MOST_STEPS, "maxcor": 20, "ftol": 1e-9}
    return minimize(function, start, jac=True, method="L-BFGS-B", options=options)


def _effective(observed: Floats, given: Floats) -> float:
    """How many numbers are learned from the units, rather than from the prior."""
    return float(np.trace(np.linalg.solve(observed + given + _RIDGE * np.eye(len(observed)), observed)))


def _contradiction(model: TableLikelihood, likeliest: Floats) -> float:
    """How far the means of the units lead away from the likeliest parameters.

    The likelihood learns shares from how the columns vary, too: people of a row who are of one mind vary little. That
    is worth much where rows differ little between units (Scotland), and misleads where all rows of a unit lean together
    so far that no normal law holds. Least squares, weighed by the covariance that they imply, do not look at it.
    """
    cut, point = model.shape.slopes, likeliest
    for _ in range(_MOST_TURNS):
        weights, before = model.at(point), point

        def means(slopes: Floats, own: Floats = point[cut:], weights: AtPoint = weights) -> tuple[float, Floats]:
            value, gradient = model.minus_log(np.append(slopes, own), weights)
            return value, gradient[:cut]

        slopes = _minimised(means, point[:cut]).x

        def agreements(own: Floats, slopes: Floats = slopes) -> tuple[float, Floats]:
            value, gradient = model.minus_log(np.append(slopes, own))
            return value, gradient[cut:]

        point = np.append(slopes, _minimised(agreements, point[cut:]).x)
        if np.abs(point - before).max() < _STILL:
            break
    weights = model.at(point)
    other = model.minus_log(np.append(likeliest[:cut], point[cut:]), weights)[0]
    gain = 2 * (other - model.minus_log(point, weights)[0])
    return gain / max(_effective(*model.information(point)), 1.0)


def _drawn(
    model: TableLikelihood, parameters: Floats, information: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Draw tables: of all units together, and the mean and mean square of each unit's.

    Parameters are drawn by the curvature at their mode, and shares move by it in a straight line. Shares near zero have
    logarithms without a bound below, of which a normal law in logarithms would make anything.
    """
    shares, shape, here = model.units, model.shape, model.at(parameters)
    exact = shares.c if shares.noise is None else None  # columns with noise are no sums to hold
    root = np.linalg.cholesky(information + _RIDGE * np.eye(len(information)))
    together, mean, square = [], np.zeros(here.beta.shape), np.zeros(here.beta.shape)
    left = DRAWS
    while left:
        count = min(left, max(1, _MEMORY // here.beta.size))
        left -= count
        steps = np.linalg.solve(root.T, rng.standard_normal((shape.slopes, count))).T
        scores = np.einsum(
            "uf,drfk->durk", model.terms, steps.reshape(count, shape.rows, shape.terms, shape.columns), optimize=True
        )
        beta = here.beta * (1 + scores - (here.beta * scores).sum(axis=-1, keepdims=True))
        cells = shares.x[:, :, None] * beta + choice_noise(rng, count, here.a, here.beta)
        off = None if shares.noise is None else _normal(rng, count, shares.noise)
        cells = conditioned(cells, here.beta, here.a, here.precision, shares.x, shares.c, off)
        cells = raked(cells, shares.x, exact, _ROUNDS_OF_DRAWS)
        together.append(np.einsum("durk,u->drk", cells, shares.sizes))
        mean += cells.sum(axis=0)
        square += (cells**2).sum(axis=0)
    tables, total = np.concatenate(together), shares.sizes.sum()
    columns = None if exact is None else shares.sizes @ exact / total
    whole = raked(tables / total, shares.sizes @ shares.x / total, columns) * total
    return whole, mean / DRAWS, square / DRAWS


def _normal(rng: np.random.Generator, draws: int, covariance: Floats) -> Floats:
    """Draw normal vectors, draws x units x K; a covariance may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
    return np.asarray((root @ rng.standard_normal((draws, *covariance.shape[:2], 1)))[..., 0])
