"""How likely the columns of all units are, given their rows: a normal law that counts weigh in.

The people of row r in unit u choose columns with shares beta_ur = softmax(theta_r + Gamma_r z_u), where z_u is what the
unit's rows are made of. People of one row in one unit are alike: two of them agree beyond that with correlation rho_r.
So the unit's column shares c_u have

    mean        sum_r x_ur beta_ur
    covariance  sum_r a_ur (diag beta_ur - beta_ur beta_ur'),    a_ur = x_ur (1 + (P_ur - 1) rho_r) / n_u,

P_ur people of row r among n_u. Sizes enter as weights; nobody is written out person by person. Known noise of released
counts is added to the covariance.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats

# People of a row agree by some hundredths beyond what their unit is made of: e^-3.5 is .03, and from .0015 to .37 is
# within two deviations. Elections of three countries are well within.
_AGREEMENT = (-3.5, 1.5)
# As many people of the overall mix as half the columns are added to each row: a share that no unit tells of is near
# that of everybody.
_PRIOR_PEOPLE = 0.5
_LEAST_MIX = 1e-6  # of a column that hardly anybody chose: its logarithm must exist
_NEVER_SINGULAR = 1e-9  # of one person's variance: units in which everybody chose the same column


@dataclass(frozen=True, eq=False)
class UnitShares:
    """What is known of the units: shares and sizes, and known noise.

    Parameters
    ----------
    x : array, units x R
        Shares of the rows.
    c : array, units x K
        Shares of the columns.
    sizes : array, units
    noise : array, units x K x K, or None
        Known covariance of the column shares about the true ones.
    """

    x: Floats
    c: Floats
    sizes: Floats
    noise: Floats | None = None

    @property
    def mix(self) -> Floats:
        """The shares of the columns among all people, none of them zero."""
        overall = np.maximum(self.sizes @ self.c / self.sizes.sum(), _LEAST_MIX)
        return np.asarray(overall / overall.sum())

    def composition(self, most: int) -> Floats:
        """Return what the rows of each unit are made of: principal components, over the deviation of the first."""
        weight = self.sizes / self.sizes.sum()
        about = self.x - weight @ self.x
        _, sizes, axes = np.linalg.svd(about * np.sqrt(weight)[:, None], full_matrices=False)
        if sizes[0] < 1e-9:  # all units alike
            return np.empty((len(self.x), 0))
        kept = np.flatnonzero(sizes > 1e-6 * sizes[0])[:most]
        return np.asarray(about @ axes[kept].T / sizes[0])


class Shape(NamedTuple):
    """How many numbers a model has: rows, 1 + components, columns."""

    rows: int
    terms: int
    columns: int

    @property
    def slopes(self) -> int:
        """The numbers that shares follow from; the agreements of the rows come after them."""
        return self.rows * self.terms * self.columns


@dataclass(frozen=True, eq=False)
class AtPoint:
    """The model at some parameters.

    Parameters
    ----------
    beta : array, units x R x K
        Shares of the columns among the people of a row.
    a : array, units x R
    precision : array, units x K x K
        The inverse covariance of all columns but the last, zero there.
    agreement : array, R
    log_determinant : float
    """

    beta: Floats
    a: Floats
    precision: Floats
    agreement: Floats
    log_determinant: float


@dataclass(frozen=True, eq=False)
class TableLikelihood:
    """The penalised likelihood of the units' columns.

    Parameters
    ----------
    units : UnitShares
    z : array, units x components
        What the shares of a row may depend on.
    spread : float
        The deviation of Gamma; 0 without components.
    """

    units: UnitShares
    z: Floats
    spread: float

    @property
    def shape(self) -> Shape:
        """The number of rows, terms and columns."""
        return Shape(self.units.x.shape[1], 1 + self.z.shape[1], self.units.c.shape[1])

    @property
    def terms(self) -> Floats:
        """1 and the components, units x terms."""
        return np.column_stack([np.ones(len(self.z)), self.z])

    def start(self, known: Floats | None = None) -> Floats:
        """Return where to begin: everybody chooses as all do, or what a model with fewer terms found."""
        shape = self.shape
        slopes = np.zeros((shape.rows, shape.terms, shape.columns))
        agreement = np.full(shape.rows, _AGREEMENT[0])
        if known is None:
            slopes[:, 0] = np.log(self.units.mix)
        else:
            terms = (len(known) - shape.rows) // (shape.rows * shape.columns)
            slopes[:, :terms] = known[: -shape.rows].reshape(shape.rows, terms, shape.columns)
            agreement = known[-shape.rows :]
        return np.concatenate([slopes.ravel(), agreement])

    def at(self, parameters: Floats) -> AtPoint:
        """Return shares and precisions at some parameters."""
        units, shape = self.units, self.shape
        slopes = parameters[: shape.slopes].reshape(shape.rows, shape.terms, shape.columns)
        score = (self.terms @ slopes.transpose(1, 0, 2).reshape(shape.terms, -1)).reshape(-1, shape.rows, shape.columns)
        beta = np.exp(score - score.max(axis=2, keepdims=True))
        beta /= beta.sum(axis=2, keepdims=True)
        agreement = 1 / (1 + np.exp(-parameters[shape.slopes :]))
        a = (units.x + self._more * agreement) / units.sizes[:, None]
        covariance = choice_covariance(a, beta)
        if units.noise is not None:
            covariance += units.noise
        inner = covariance[:, :-1, :-1]
        on_diagonal = np.arange(shape.columns - 1)
        inner[:, on_diagonal, on_diagonal] += _NEVER_SINGULAR / units.sizes[:, None]
        precision = np.zeros_like(covariance)
        precision[:, :-1, :-1] = np.linalg.inv(inner)
        return AtPoint(beta, a, precision, agreement, float(np.linalg.slogdet(inner)[1].sum()))

    @property
    def _more(self) -> Floats:
        """By how much a_ur n_u grows with the agreement of the row."""
        units = self.units
        return np.asarray(units.x * np.maximum(units.x * units.sizes[:, None] - 1, 0))

    def minus_log(self, parameters: Floats, weights: AtPoint | None = None) -> tuple[float, Floats]:
        """Return minus the penalised log-likelihood, up to a constant, and its gradient.

        With precisions of another point as ``weights`` it is that of the means alone: what the covariance tells of the
        shares is left out, and the gradient by the agreements is that of their prior.
        """
        units, shape, here = self.units, self.shape, self.at(parameters)
        if weights is not None:
            here = replace(here, precision=weights.precision, log_determinant=weights.log_determinant)
        beta, precision = here.beta, here.precision
        off = units.c - (units.x[:, None, :] @ beta)[:, 0]
        pull = (precision @ off[:, :, None])[:, :, 0]
        value = -0.5 * (here.log_determinant + float((pull * off).sum()))
        # By the covariance: half of (pull pull' - precision).
        by_covariance = 0.5 * (weights is None) * (pull[:, :, None] * pull[:, None, :] - precision)
        diagonal = np.diagonal(by_covariance, axis1=1, axis2=2)[:, None, :]
        leaning = beta @ by_covariance
        by_beta = units.x[:, :, None] * pull[:, None, :] + here.a[:, :, None] * (diagonal - 2 * leaning)
        by_score = beta * (by_beta - (by_beta * beta).sum(axis=2, keepdims=True))
        by_a = (beta * (diagonal - leaning)).sum(axis=2)
        by_agreement = (by_a * self._more / units.sizes[:, None]).sum(axis=0)
        gradient = np.tensordot(self.terms, by_score, (0, 0)).transpose(1, 0, 2).copy()
        agreement = parameters[shape.slopes :]
        gap = (agreement - _AGREEMENT[0]) / _AGREEMENT[1]
        own = by_agreement * here.agreement * (1 - here.agreement) - gap / _AGREEMENT[1]
        value -= 0.5 * float(gap @ gap)
        slopes = parameters[: shape.slopes].reshape(gradient.shape)
        prior, shares = self._prior_people, _softmax(slopes[:, 0])
        value += float((np.log(shares) @ prior).sum())
        gradient[:, 0] += prior - prior.sum() * shares
        if shape.terms > 1:
            value -= 0.5 * float((slopes[:, 1:] ** 2).sum()) / self.spread**2
            gradient[:, 1:] -= slopes[:, 1:] / self.spread**2
        return -value, -np.concatenate([gradient.ravel(), own])

    @property
    def _prior_people(self) -> Floats:
        return _PRIOR_PEOPLE * self.shape.columns * self.units.mix

    def information(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return the expected information of the slopes: what the units tell, and that of the prior."""
        shape, here, terms = self.shape, self.at(parameters), self.terms
        root = np.linalg.cholesky(here.precision[:, :-1, :-1])
        beta = here.beta
        moved = (self.units.x[:, :, None] * beta)[:, :, :, None] * (
            np.eye(shape.columns) - beta[:, :, None, :]
        )  # units x R x K (of the mean) x K (of the score)
        scaled = root.transpose(0, 2, 1)[:, None] @ moved[:, :, :-1]
        design = scaled[:, :, None] * terms[:, None, :, None, None]
        rows = design.transpose(0, 3, 1, 2, 4).reshape(-1, shape.slopes)
        observed = rows.T @ rows
        prior = np.zeros((shape.rows, shape.terms, shape.columns))
        if shape.terms > 1:
            prior[:, 1:] = 1 / self.spread**2
        given = np.diag(prior.ravel())
        people = float(self._prior_people.sum())
        first = parameters[: shape.slopes].reshape(prior.shape)[:, 0]
        for r, shares in enumerate(_softmax(first)):
            block = slice(r * shape.terms * shape.columns, r * shape.terms * shape.columns + shape.columns)
            given[block, block] += people * (np.diag(shares) - np.outer(shares, shares))
        return observed, given


def choice_covariance(a: Floats, beta: Floats) -> Floats:
    """Return sum_r a_ur (diag beta_ur - beta_ur beta_ur'), units x K x K."""
    weighted = a[:, :, None] * beta
    covariance = -np.matmul(weighted.transpose(0, 2, 1), beta)
    on_diagonal = np.arange(beta.shape[2])
    covariance[:, on_diagonal, on_diagonal] += weighted.sum(axis=1)
    return np.asarray(covariance)


def _softmax(scores: Floats) -> Floats:
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    # Far below what a person is: a logarithm must exist.
    return np.asarray(np.maximum(shares / shares.sum(axis=1, keepdims=True), 1e-300))
