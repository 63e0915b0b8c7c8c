"""Expectation-maximisation with any probabilistic scikit-learn classifier as the model.

E-step: the posterior p(k | x, report) of the truth under the current model and the channel. M-step: the
classifier's own ``fit`` on K copies of every row, weighted by that posterior.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats


@dataclass(frozen=True)
class EMResult:
    """A fitted classifier and how the likelihood of the reports went."""

    model: Any
    log_likelihood: tuple[float, ...]
    converged: bool


def posterior_weights(prior: Floats, likelihood: Floats) -> tuple[Floats, Floats]:
    """Return p(k | x, report), n x K, and p(report | x), n."""
    joint = prior * likelihood
    evidence = np.maximum(joint.sum(axis=1), np.finfo(float).tiny)
    return joint / evidence[:, None], evidence


def expectation_maximisation(
    model: Any,
    X: Any,
    likelihood: Floats,
    weights: Floats | None,
    *,
    max_iterations: int,
    tolerance: float,
) -> EMResult:
    """Fit ``model`` to records whose class is known only through ``likelihood``.

    Parameters
    ----------
    model : scikit-learn classifier
        Cloned for every M-step; must take ``sample_weight``.
    X : n x d
    likelihood : n x K
        P(report_i | class k).
    weights : n, optional
    max_iterations : int
    tolerance : float
        Stop when the mean log-likelihood of a report gains less than this.
    """
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    rows, classes = likelihood.shape
    row_weights = np.ones(rows) if weights is None else weights
    copies = np.tile(np.arange(rows), classes)
    stacked = _safe_indexing(X, copies)
    labels = np.repeat(np.arange(classes), rows)
    # The first weights know the channel only: a flat prior over the classes.
    responsibility, _ = posterior_weights(np.full((rows, classes), 1 / classes), likelihood)
    history: list[float] = []
    fitted = None
    for _ in range(max_iterations):
        weight = (responsibility * row_weights[:, None]).T.ravel()
        possible = np.flatnonzero(weight > 0)  # a classifier should not see copies that cannot be true
        fitted = clone(model)
        named_weight = {weight_argument(fitted): weight[possible]}
        fitted.fit(_safe_indexing(stacked, possible), labels[possible], **named_weight)
        responsibility, evidence = posterior_weights(class_probabilities(fitted, X, classes), likelihood)
        history.append(float(np.average(np.log(evidence), weights=row_weights)))
        if len(history) > 1 and abs(history[-1] - history[-2]) < tolerance:
            return EMResult(fitted, tuple(history), converged=True)
    return EMResult(fitted, tuple(history), converged=False)


def weight_argument(model: Any) -> str:
    """The argument of ``fit`` that weights rows: a pipeline hands it on to its last step."""
    return f"{model.steps[-1][0]}__sample_weight" if hasattr(model, "steps") else "sample_weight"


def class_probabilities(model: Any, X: Any, classes: int) -> Floats:
    """Return predict_proba with a column for every class, also those that the model never saw."""
    known = model.predict_proba(X)
    if known.shape[1] == classes:
        return np.asarray(known, dtype=float)
    full = np.zeros((known.shape[0], classes))
    full[:, np.asarray(model.classes_, dtype=int)] = known
    return full
