"""Whether a noisy total shows any relation of the labels with the features: where it shows none, a model is a guess.

Labels that no feature has to do with have totals near their shares times the mean row. How far a total is from the
nearest such multiple, measured by the covariance of its noise and of the labels' own chance, is about chi-square.
"""

import numpy as np
from scipy.special import chdtrc

from askance.arrays import Floats

_CHANCE = 0.05  # of a total without any relation to be taken for one with some
_NO_LESS = 1e-9  # of the largest variance: so far doubles tell none from little


def contrasts_of(classes: int) -> Floats:
    """Orthogonal directions of length 1 and sum zero, classes x (classes - 1); the last class is on the upper side."""
    full, _ = np.linalg.qr(np.column_stack([np.ones(classes), np.eye(classes)[:, 1:]]))
    contrasts: Floats = full[:, 1:]
    return contrasts * np.where(contrasts[-1] < 0, -1.0, 1.0)


def in_contrasts(values: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Turn values of a mean operator (classes x k, or 1 x k of two), and their noise, into those of contrasts."""
    # Of two classes, the total is that of [second] - [first].
    weights = np.eye(1) / np.sqrt(2.0) if len(values) == 1 else contrasts_of(len(values)).T
    lift = np.kron(weights, np.eye(values.shape[1]))
    return weights @ values, lift @ noise @ lift.T


def notes_on_relation(totals: Floats, noise: Floats, second: Floats, people: int) -> tuple[str, ...]:
    """Say so where a total shows no relation that stands clear of its noise.

    Parameters
    ----------
    totals : array, contrasts x k
        Of rows whose first entry is 1 for everybody, by contrasts of classes.
    noise : array
        The covariance of what was added to them, flattened.
    second : array, k x k
        E[z z'] of these rows.
    people : int
    """
    if not noise.any():
        return ()
    p_value = relation_p_value(totals, noise, second, people)
    if p_value <= _CHANCE:
        return ()
    return (
        f"The total shows no relation of the labels with the features that stands clear of its noise (p = {p_value:.2g}"
        "): predictions may be worse than those of the most frequent class. That is no proof that there is none: a "
        "larger epsilon, more people or fewer columns would tell.",
    )


def relation_p_value(totals: Floats, noise: Floats, second: Floats, people: int) -> float:
    """Return the p-value of the hypothesis that labels have nothing to do with features; of arguments as above."""
    free = len(totals)
    contrasts = contrasts_of(free + 1)
    mean_row = np.kron(np.eye(free), second[:1].T)
    shares = np.full(free + 1, 1 / (free + 1))
    for _ in range(2):  # the labels' chance depends on the shares, which are estimated with it
        chance = contrasts.T @ (np.diag(shares) - np.outer(shares, shares)) @ contrasts
        covariance = noise + np.kron(chance, second) / people
        sizes, axes = np.linalg.eigh((covariance + covariance.T) / 2)
        told = sizes > _NO_LESS * sizes[-1]
        whitened = (axes[:, told] / np.sqrt(sizes[told])).T
        lean, *_ = np.linalg.lstsq(whitened @ mean_row, whitened @ totals.ravel(), rcond=None)
        shares = np.maximum(1 / (free + 1) + contrasts @ lean, 0.0)
        shares /= shares.sum()
    left = whitened @ (totals.ravel() - mean_row @ lean)
    degrees = int(told.sum()) - free
    return float(chdtrc(degrees, left @ left)) if degrees > 0 else 1.0
