"""Expectation-maximisation of the spread likelihood with importance samples: [RR] section 5.1 and appendix A.

Every round draws S clean versions of each record, classes from rho(c | c~) (the label's likelihood, normalised) and
features from rho(x | x~), weights them by p_theta(c | x), normalised over the S (59), and improves theta on the
weighted samples (60).

The estimate is **biased at every finite S**: a sum of few samples stands in for the evidence in the denominator, and
that pulls theta towards zero. With flips of 0.2 of features and labels theta came out at .15 of its length at S = 2, at
.39 at S = 8 and at .71 at S = 32 (3 binary features; the same fifth at S = 2 with 10 and 50 features of four states).
Its direction, and so the accuracy of predictions, suffers far less. There are no standard errors for the same reason.
``enumerated_likelihood`` is exact where coordinates are few.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.learning.records.posterior_draws import Draw
from askance.solvers.em import class_probabilities, weight_argument
from askance.solvers.softmax import about_average, posterior

_SMALLEST = float(np.finfo(float).tiny)
# After 10 rounds steps grow shorter, as (10 / round) ** 0.6: sampling noise averages out. Any power between a half and
# one converges (Robbins and Monro 1951); a small one forgets the start sooner.
_FULL_STEPS, _SHORTER = 10, 0.6
_METRIC_ROUNDS = 4  # of samples that the curvature bound is made of: it only sets the pace


@dataclass(frozen=True, eq=False)
class SamplingFit:
    """Parameters (C-1 x p, against the first class, intercept first), averaged over the second half of the rounds.

    ``drift`` is how far the average still moved between the third and the last quarter, relative to its length.
    """

    theta: Floats
    rounds: int
    drift: float


def sampling_em(
    draw: Draw,
    label_likelihood: Floats,
    *,
    rng: np.random.Generator,
    penalty: Floats | float = 0.0,
    samples: int = 2,
    rounds: int = 40,
    intercept: bool = True,
    centre: Floats | None = None,
    start: Floats | None = None,
) -> SamplingFit:
    """Fit a softmax model to records whose features and label were both hidden.

    The M-step of a round is one Newton step on that round's samples, with the bound on the curvature of Boehning and
    Lindsay (1988) in place of the curvature: it is the same matrix in every round, so that noise in the samples moves
    theta but does not bias it further. Later steps are shorter.

    Parameters
    ----------
    draw : function of a generator
        One clean version of all features, n x d; see ``posterior_draws``.
    label_likelihood : n x C
        P(label report_i | class).
    rng : generator
    penalty : float or p
        ``penalty / 2 * theta ** 2`` is taken off the summed log-likelihood; of more than two classes for each, about
        their average, so that it does not matter which is the first. One number leaves the intercept free; an array has
        a place for it, first.
    samples : int
        S, clean versions of each record in a round.
    rounds : int
    intercept : bool
    centre : d, optional
        Taken off the features; the intercept is then at that point.
    start : C-1 x p, optional
        Zero unless given.
    """
    classes = label_likelihood.shape[1]
    law = np.cumsum(label_likelihood, axis=1)
    path: list[Floats] = []
    theta, metric = start, None
    second_moments: Floats | float = 0.0
    for number in range(1, rounds + 1):
        Z = np.vstack([_design(draw(rng), intercept, centre) for _ in range(samples)])
        drawn = np.concatenate([_draw_classes(law, rng) for _ in range(samples)])
        if theta is None:
            theta = np.zeros((classes - 1, Z.shape[1]))
        pull = _penalties(penalty, Z.shape[1], intercept)
        if metric is None or number <= _METRIC_ROUNDS:
            second_moments = second_moments + Z.T @ Z / samples
            metric = _Metric.of(np.asarray(second_moments) / number, pull, classes)
        chance = posterior(Z @ theta.T).probabilities
        weights = normalised_over_samples(chance[np.arange(len(drawn)), drawn], samples)
        residual = (np.eye(classes)[drawn, 1:] - chance[:, 1:]) * weights[:, None]
        step = metric.solve(residual.T @ Z - pull * about_average(theta))
        theta = theta + min(1.0, _FULL_STEPS / number) ** _SHORTER * step
        path.append(theta)
    half, quarter = len(path) // 2, len(path) - len(path) // 4
    average = np.mean(path[half:], axis=0)
    early, late = np.mean(path[half:quarter] or path[half:], axis=0), np.mean(path[quarter:] or path[half:], axis=0)
    drift = float(np.linalg.norm(late - early) / max(float(np.linalg.norm(average)), _SMALLEST))
    return SamplingFit(average, rounds, drift)


def sampling_em_with(
    model: Any,
    draw: Draw,
    label_likelihood: Floats,
    *,
    rng: np.random.Generator,
    samples: int = 2,
    rounds: int = 20,
) -> Any:
    """The same with any scikit-learn classifier that takes sample weights; its own ``fit`` is the M-step.

    Returns the classifier of the last round; its classes are the column numbers of ``label_likelihood``.
    """
    from sklearn.base import clone

    classes = label_likelihood.shape[1]
    law = np.cumsum(label_likelihood, axis=1)
    fitted = None
    for _ in range(rounds):
        X = np.vstack([draw(rng) for _ in range(samples)])
        drawn = np.concatenate([_draw_classes(law, rng) for _ in range(samples)])
        chance = np.ones(len(drawn))
        if fitted is not None:
            chance = class_probabilities(fitted, X, classes)[np.arange(len(drawn)), drawn]
        weights = normalised_over_samples(chance, samples)
        fitted = clone(model)
        fitted.fit(X, drawn, **{weight_argument(fitted): weights})
    return fitted


def normalised_over_samples(chance: Floats, samples: int) -> Floats:
    """Importance weights (59): p(c^s | x^s) over its sum, for S stacked blocks of n records.

    Examples
    --------
    >>> normalised_over_samples(np.array([0.9, 0.5, 0.3, 0.5]), samples=2)
    array([0.75, 0.5 , 0.25, 0.5 ])
    """
    blocks = np.maximum(chance.reshape(samples, -1), _SMALLEST)
    weights: Floats = (blocks / blocks.sum(axis=0)).ravel()
    return weights


def _design(X: Floats, intercept: bool, centre: Floats | None) -> Floats:
    if centre is not None:
        X = X - centre
    return np.column_stack([np.ones(len(X)), X]) if intercept else X


def _penalties(penalty: Floats | float, width: int, intercept: bool) -> Floats:
    if np.ndim(penalty):
        return np.asarray(penalty, dtype=float)
    pulls = np.full(width, float(penalty))
    pulls[: int(intercept)] = 0.0
    return pulls


def _draw_classes(law: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw from rho(c | c~), given as cumulated likelihoods."""
    level = rng.random(len(law)) * law[:, -1]
    drawn: NDArray[np.int64] = (law[:, :-1] <= level[:, None]).sum(axis=1)
    return drawn


@dataclass(frozen=True, eq=False)
class _Metric:
    """A bound on the curvature of the weighted log-likelihood: (I - 11'/C) / 2 (x) Z'Z, plus the penalty.

    The class matrix has two eigenvalues, 1 / (2 C) along 11' and 1/2 across; each has its own factor. That of the
    penalty has the same directions: 1 / C and 1 (of two classes there is one direction, and it is 1).
    """

    along: Any
    across: Any

    @classmethod
    def of(cls, second_moments: Floats, penalty: Floats, classes: int) -> "_Metric":
        from scipy.linalg import cho_factor

        # A touch of the trace keeps features that never vary from making the bound singular.
        floor = 1e-8 * np.trace(second_moments) / len(penalty) + _SMALLEST
        shares = 1.0 if classes == 2 else 1 / classes, 1.0
        along, across = (
            cho_factor(level * second_moments + np.diag(share * penalty + floor))
            for level, share in zip((0.5 / classes, 0.5), shares, strict=True)
        )
        return cls(along, across)

    def solve(self, gradient: Floats) -> Floats:
        from scipy.linalg import cho_solve

        mean = np.broadcast_to(gradient.mean(axis=0), gradient.shape)
        step: Floats = cho_solve(self.along, mean.T).T
        if len(gradient) > 1:
            step = step + cho_solve(self.across, (gradient - mean).T).T
        return step
