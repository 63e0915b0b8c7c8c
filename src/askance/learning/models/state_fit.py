"""Finite truths with phi(x, k) = T[k] (x) x: the fit of :class:`~askance.IndirectClassifier`, with T's parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.learning.answers.report_law import ReportLaw
from askance.learning.answers.softmax_problem import SoftmaxProblem
from askance.learning.answers.truth_features import TruthFeatures
from askance.learning.face.requested_ridge import checked_ridge
from askance.learning.face.softmax_law import SoftmaxLaw
from askance.learning.models.evidence import RecordReports
from askance.learning.models.families import States


def state_problem(
    model: Any, family: States, law: ReportLaw, names: list[str], intercept: bool, weighted: bool
) -> SoftmaxProblem:
    """What is to be fitted, by the method and the ridge that the model was made with."""
    return SoftmaxProblem(
        law,
        model.method,
        checked_ridge(model.ridge),
        intercept,
        names,
        model.max_iter,
        robust=weighted or model.method == "moments",
        truths=_truths(family),
        listed=not isinstance(law, RecordReports),
    )


def _truths(family: States) -> TruthFeatures | None:
    """None where there is an indicator of each truth but the first: the softmax model itself."""
    if family.table is None:
        return None
    names = family.names or tuple(f"t{j}" for j in range(family.table.shape[1]))
    return TruthFeatures(family.table, names)


def state_probabilities(parameters: Floats, table: Floats, X: Floats, intercept: bool) -> Floats:
    """P(state | x), n x states."""
    rows = np.hstack([np.ones((len(X), 1)), X]) if intercept else X
    scores = rows @ parameters.reshape(table.shape[1], -1).T @ table.T
    power = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(power / power.sum(axis=1, keepdims=True))


def state_law(
    parameters: Floats, covariance: Floats, table: Floats, intercept: bool, features: Sequence[str]
) -> SoftmaxLaw:
    """The same model with parameters of each state's own, against the first, and what is known of them."""
    against = table[1:] - table[0]
    theta = against @ parameters.reshape(table.shape[1], -1)
    own = np.kron(against, np.eye(theta.shape[1]))
    # A column that the fit left out is zero for good: it has no error, and adds none to others.
    left_out = np.isnan(np.diag(covariance)) & (parameters == 0)
    known = np.where(left_out[:, None] | left_out[None, :], 0.0, covariance)
    return SoftmaxLaw(features, theta, own @ known @ own.T, intercept)
