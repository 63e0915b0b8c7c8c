"""The exact spread likelihood of a few discrete coordinates: every clean record that is possible is enumerated.

With M possible feature vectors x_m of probability pi_m, the likelihood of a report (x~, c~) is

    sum_m  pi_m  prod_j S_j(x~_j | x_mj)  sum_c S_c(c~ | c) p_theta(c | x_m).

Records with the same report are counted together, so that a step costs (distinct reports) x M, whatever n is. theta
and pi are fitted together by Newton's method, with log pi = B gamma - const: a *joint* prior has one gamma for each
feature vector, a *factorised* one (62) one for each state of each coordinate. The joint one is right whatever the
features have to do with each other; a factorised prior biases theta when they are correlated. The information is that
of theta and gamma together, so the standard errors count what learning the prior costs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Flags, Floats, Integers
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.errors import InvalidInput
from askance.learning.records.flat_likelihood import is_flat, steps_to_the_ends
from askance.solvers.newton import Local, maximise
from askance.solvers.softmax import about_average, posterior

Codes = Integers

LARGEST_TABLE = 20_000_000  # distinct reports x feature vectors: 160 MB, and a few of these at a time
# Feature vectors for which a learned prior is joint, and the records that it takes for each: a joint prior has a
# parameter for each vector, whose share must be known to some digits before it is worth more than independence.
LARGEST_JOINT = 256
_ROWS_FOR_EACH = 20
_WARM_UP = 50  # rounds of expectation-maximisation for the prior alone: near enough for Newton to take over
_AT_BORDER = 1e-7  # prior probability, in units of 1 / M, below which a state counts as impossible


@dataclass(frozen=True, eq=False)
class EnumeratedFit:
    """Parameters (C-1 x p, against the first class, intercept first) and the covariances of them flattened.

    Covariances are None if the reports do not determine all parameters. ``prior`` belongs to ``states``.
    """

    theta: Floats
    information_covariance: Floats | None
    sandwich_covariance: Floats | None
    log_likelihood: float
    states: Floats
    prior: Floats
    prior_kind: str
    iterations: int
    converged: bool


def joint_rows(possible: int) -> int:
    """How many records a joint prior of so many feature vectors takes."""
    return _ROWS_FOR_EACH * possible


class DistinctReports(NamedTuple):
    """Reports of whole records, each once, and how often it came: R x (d + 1) codes, the label's last, and R counts.

    Of weighted records counts are sums of weights, and ``squares`` those of their squares.
    """

    cells: Codes
    counts: Floats
    squares: Floats | None = None


def distinct_reports(codes: Codes, label_codes: Codes, weights: Floats | None = None) -> DistinctReports:
    """Count reports (n x d, and n) that are the same, or sum their weights."""
    cells, place, counts = np.unique(
        np.column_stack([codes, label_codes]), axis=0, return_inverse=True, return_counts=True
    )
    if weights is None:
        return DistinctReports(cells, counts.astype(float))
    place = place.ravel()
    sums: tuple[Floats, Floats] = (np.bincount(place, weights), np.bincount(place, weights**2))  # type: ignore[assignment]
    return DistinctReports(cells, *sums)


def fit_enumerated(
    values: Sequence[Floats],
    matrices: Sequence[Floats],
    reports: DistinctReports,
    label_matrix: Floats,
    *,
    prior: str | Floats | Sequence[Floats] = "learned",
    penalty: Floats | float = 0.0,
    intercept: bool = True,
    max_iterations: int = 200,
    design: Callable[[Codes], Floats] | None = None,
) -> EnumeratedFit:
    """Maximise the exact spread likelihood.

    Parameters
    ----------
    values : d arrays of K_j numbers
        What the true states of each coordinate stand for.
    matrices : d arrays, O_j x K_j
        P(report | truth) of each coordinate.
    reports : DistinctReports
        Row numbers of the matrices, that of the label's last.
    label_matrix : O x C
        P(label report | class).
    prior : "learned", "joint", "factorised", M probabilities, or d arrays of K_j probabilities
        "learned" is joint where there are at most 256 feature vectors and 20 records for each, and factorised
        otherwise. Probabilities are taken as known.
    penalty : float or p
        ``penalty / 2 * theta ** 2`` is taken off the log-likelihood; of more than two classes for each, about their
        average, so that it does not matter which is the first. One number leaves the intercept free; an array has a
        place for it, first.
    intercept : bool
    max_iterations : int
    design : function, optional
        What a linear model takes of true states, given as codes (M x d); their values unless given.

    Raises
    ------
    InvalidInput
        Where there are too many feature vectors to enumerate.
    """
    cells, counts, squares = reports
    possible = math.prod(len(v) for v in values)
    if len(cells) * possible > LARGEST_TABLE:
        raise InvalidInput(
            f"{possible:,} possible feature vectors and {len(cells):,} distinct reports",
            f"a product of at most {LARGEST_TABLE:,}",
            "Enumeration is for few coordinates with few states; use method='collapsed'.",
        )
    states = _every_combination([np.asarray(v, dtype=float) for v in values])
    table = np.ones((len(cells), len(states)))
    picked = _every_combination([np.arange(len(v)) for v in values]).astype(np.int64)
    for j, matrix in enumerate(matrices):
        table *= np.asarray(matrix)[np.ix_(cells[:, j], picked[:, j])]
    kind, basis, offset = _prior_family(prior, values, picked, float(counts.sum()), table.T @ counts)
    taken = states if design is None else design(picked)
    Z = np.column_stack([np.ones(len(states)), taken]) if intercept else taken
    pull = np.full(Z.shape[1], float(penalty)) if np.ndim(penalty) == 0 else np.asarray(penalty, dtype=float)
    if np.ndim(penalty) == 0 and intercept:
        pull[0] = 0.0
    likelihood = _Likelihood(table, np.asarray(label_matrix)[cells[:, -1]], counts, Z, basis, offset, pull, squares)
    starts = likelihood.starts()
    found = [maximise(likelihood.local, start, max_iterations=max_iterations) for start in starts]
    best = max(found, key=lambda solution: solution.local.value)
    theta, gamma = likelihood.split(best.theta)
    law = likelihood.prior(gamma)
    information, sandwich = likelihood.covariances(best.theta)
    value = best.local.value + 0.5 * float(theta.ravel() @ likelihood.pull_on(theta))
    return EnumeratedFit(theta, information, sandwich, value, states, law, kind, best.iterations, best.converged)


class _Sums(NamedTuple):
    """Everything that a step needs, at one point."""

    value: float
    scores: Floats  # distinct reports x parameters
    information: Floats  # observed


@dataclass(frozen=True, eq=False)
class _Likelihood:
    """The likelihood of counted reports, as a function of theta and gamma in one vector."""

    table: Floats  # R x M: P(feature report | feature vector)
    label: Floats  # R x C: P(label report | class)
    counts: Floats  # R
    Z: Floats  # M x p
    basis: Floats  # M x q: log prior = offset + basis @ gamma - const
    offset: Floats  # M
    pull: Floats  # p
    squares: Floats | None = None  # R

    def split(self, point: Floats) -> tuple[Floats, Floats]:
        size = (self.label.shape[1] - 1) * self.Z.shape[1]
        return point[:size].reshape(-1, self.Z.shape[1]), point[size:]

    def prior(self, gamma: Floats) -> Floats:
        log = self.offset + self.basis @ gamma
        power = np.exp(log - log.max())
        law: Floats = power / power.sum()
        return law

    def sums(self, point: Floats) -> _Sums:
        """Value, scores and information; the latter as complete information less the information that is missing."""
        theta, gamma = self.split(point)
        law, chance = self.prior(gamma), posterior(self.Z @ theta.T).probabilities
        reach = self.table * law  # R x M
        label_chance = self.label @ chance.T  # R x M: P(label report | feature vector)
        evidence = np.maximum((reach * label_chance).sum(axis=1), np.finfo(float).tiny)
        reach /= evidence[:, None]
        where = reach * label_chance  # P(feature vector | report)
        mean_basis = law @ self.basis
        scores = [
            (reach * chance[:, k] * (self.label[:, [k]] - label_chance)) @ self.Z for k in range(1, self.label.shape[1])
        ]
        scores.append(where @ self.basis - mean_basis)
        score = np.hstack(scores)
        expected = chance * ((reach * self.counts[:, None]).T @ self.label)  # M x C: counts of the truth, given reports
        information = self._complete(expected, chance, law, mean_basis)
        information += (score * self.counts[:, None]).T @ score
        return _Sums(float(self.counts @ np.log(evidence)), score, information)

    def _complete(self, expected: Floats, chance: Floats, law: Floats, mean_basis: Floats) -> Floats:
        """Information of the complete data, less the second moments of its score: both under the posterior."""
        classes, width = chance.shape[1], self.Z.shape[1]
        states = expected.sum(axis=1)
        free = (classes - 1) * width
        size = free + self.basis.shape[1]
        information = np.zeros((size, size))
        for k in range(1, classes):
            for other in range(1, classes):
                bent = states * chance[:, k] * ((k == other) - chance[:, other])
                block = (self.Z * bent[:, None]).T @ self.Z
                information[(k - 1) * width : k * width, (other - 1) * width : other * width] = block
        centred = self.basis - mean_basis
        information[free:, free:] = self.counts.sum() * (centred * law[:, None]).T @ centred
        for c in range(classes):
            gap = (np.arange(1, classes) == c) - chance[:, 1:]
            part = np.hstack([*(gap[:, [k]] * self.Z for k in range(classes - 1)), centred])
            information -= (part * expected[:, [c]]).T @ part
        return information

    def local(self, point: Floats) -> Local:
        sums = self.sums(point)
        theta, gamma = self.split(point)
        pull = np.concatenate([self.pull_on(theta), np.zeros(len(gamma))])
        value = sums.value - 0.5 * float(pull[: theta.size] @ theta.ravel())
        return Local(value, sums.scores.T @ self.counts - pull, sums.information + self._penalty(point))

    def pull_on(self, theta: Floats) -> Floats:
        """The slope of the penalty, flattened."""
        return (self.pull * about_average(theta)).ravel()

    def _penalty(self, point: Floats) -> Floats:
        theta, _ = self.split(point)
        whole = np.zeros((point.size, point.size))
        whole[: theta.size, : theta.size] = np.kron(about_average(np.eye(len(theta))), np.diag(self.pull))
        return whole

    def starts(self) -> list[Floats]:
        """The prior alone first; then theta from zero, and from far out in the direction of its first step."""
        gamma = self._prior_alone()
        zero = np.concatenate([np.zeros((self.label.shape[1] - 1) * self.Z.shape[1]), gamma])
        here = self.local(zero)
        free = zero.size - gamma.size
        step = np.zeros_like(zero)
        block = here.information[:free, :free]
        step[:free] = np.linalg.lstsq(block, here.gradient[:free], rcond=1e-10)[0]
        # At zero the information can be far too small, or not even positive: three logits are far enough.
        reach = float(np.abs(self.Z @ self.split(step)[0].T).max(initial=0.0))
        return [zero, zero + step * min(1.0, 3.0 / max(reach, 1e-12))]

    def _prior_alone(self) -> Floats:
        """gamma near the maximum for theta = 0, by expectation-maximisation."""
        if not self.basis.shape[1]:
            return np.zeros(0)
        law = self.prior(np.zeros(self.basis.shape[1]))
        for _ in range(_WARM_UP):
            law = law * (self.table.T @ (self.counts / np.maximum(self.table @ law, 1e-300))) / self.counts.sum()
        log = np.log(np.maximum(law, 1e-3 / len(law))) - self.offset
        # Weighted by the law itself: what is rare need not be met well.
        root = np.sqrt(law + 1e-6)
        columns = np.column_stack([np.ones(len(law)), self.basis])
        gamma: Floats = np.linalg.lstsq(columns * root[:, None], log * root, rcond=None)[0][1:]
        return gamma

    def covariances(self, point: Floats) -> tuple[Floats | None, Floats | None]:
        """Inverse observed information and sandwich, of theta; states at the border count as known to be impossible."""
        theta, gamma = self.split(point)
        sums = self.sums(point)
        possible = self.prior(gamma) @ (self.basis > 0) > _AT_BORDER / len(self.Z)
        kept = np.concatenate([np.ones(theta.size, dtype=bool), possible])
        curved = (sums.information + self._penalty(point))[np.ix_(kept, kept)]
        scale = np.sqrt(np.maximum(np.diag(curved), np.finfo(float).tiny))
        roots = np.linalg.eigvalsh(curved / np.outer(scale, scale))
        if not roots[0] > 1e-10 * max(roots[-1], 1.0):
            return None, None
        bread = np.linalg.inv(curved)
        score = sums.scores[:, kept]
        squares = self.counts if self.squares is None else self.squares
        meat = (score * squares[:, None]).T @ score
        size = theta.size
        own, robust = bread[:size, :size], (bread @ meat @ bread)[:size, :size]
        told = np.diag(own).min() > 0 and np.diag(robust).min() > 0 and not self._is_flat(point, bread, robust, kept)
        return (own, robust) if told else (None, None)

    def _is_flat(self, point: Floats, bread: Floats, robust: Floats, kept: Flags) -> bool:
        """Whether the likelihood hardly falls as far as some interval of theta would reach."""
        steps = np.zeros((len(robust), len(point)))
        steps[:, kept], parabola = steps_to_the_ends(bread, np.sqrt(np.diag(robust)))
        top = self.local(point).value
        lost = np.array([[top - self.local(point + side * step).value for step in steps] for side in (1, -1)])
        return is_flat(lost, parabola)


def every_state(features: FeatureChannel) -> Codes:
    """Codes of all true records of attributes with states, M x d, in the order of a joint prior."""
    return _every_combination([np.arange(len(law.values)) for law in features.laws if law.is_finite]).astype(np.int64)


def state_posterior(features: FeatureChannel, reports: NDArray[Any], prior: Floats) -> Floats:
    """P(true record | report), n x M, under a joint prior."""
    states = every_state(features)
    joint = np.tile(prior, (len(reports), 1))
    for j, law in enumerate(law for law in features.laws if law.is_finite):
        joint *= law.matrix[np.ix_(reports[:, j].astype(np.intp), states[:, j])]
    total = joint.sum(axis=1, keepdims=True)
    # A report that cannot happen under this prior says nothing.
    return np.where(total > 0, joint / np.maximum(total, np.finfo(float).tiny), prior)


def _every_combination(values: Sequence[NDArray[np.generic]]) -> Floats:
    """All combinations of one value of each coordinate, the last one running fastest."""
    grids = np.meshgrid(*values, indexing="ij")
    return np.column_stack([grid.ravel() for grid in grids]).astype(float)


def _prior_family(
    prior: str | Floats | Sequence[Floats], values: Sequence[Floats], picked: Codes, rows: float, fit: Floats
) -> tuple[str, Floats, Floats]:
    """What is learned of the prior: its name, the basis of its log, and what is added to that.

    The reference, whose gamma is fixed at zero, must not be impossible: it is the state that explains most reports.
    """
    size = len(picked)
    if not isinstance(prior, str):
        many = not isinstance(prior, np.ndarray) or prior.ndim > 1
        laws = [np.asarray(law, dtype=float) for law in prior] if many else [np.asarray(prior, dtype=float)]
        law = reduce(np.multiply.outer, laws).ravel()
        if law.shape != (size,) or not np.isfinite(law).all() or law.min() < 0 or abs(law.sum() - 1) > 1e-6:
            raise InvalidInput(
                "a prior that is not a law on the feature vectors", f"{size} probabilities that sum to 1"
            )
        return "given", np.zeros((size, 0)), np.log(np.maximum(law, 1e-300))
    if prior == "learned":
        prior = "joint" if size <= LARGEST_JOINT and rows >= joint_rows(size) else "factorised"
    if prior == "joint":
        return prior, np.delete(np.eye(size), int(fit.argmax()), axis=1), np.zeros(size)
    if prior != "factorised":
        raise InvalidInput(f"prior={prior!r}", "'learned', 'joint', 'factorised' or probabilities")
    parts = []
    for j, states in enumerate(values):
        share = np.bincount(picked[:, j], weights=fit, minlength=len(states))
        parts.append(np.delete(np.eye(len(states)), int(share.argmax()), axis=1)[picked[:, j]])
    return prior, np.hstack(parts), np.zeros(size)
