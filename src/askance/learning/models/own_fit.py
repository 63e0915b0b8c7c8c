"""Families of a user's own, and features of a user's own: fitted by gradients, in memory."""

from typing import Any, NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput, NotAvailable
from askance.learning.models.chain_problem import Method
from askance.learning.models.evidence import encoded, likelihood, unbiased
from askance.learning.models.families import States
from askance.learning.models.fitted import Fitted
from askance.learning.models.gradient_fit import fit_by_gradient
from askance.learning.models.user_problem import FamilyProblem, FeatureProblem, stacked_features


class OwnFit(NamedTuple):
    """A fit, what its parameters are called, of how many records, and how many features function of x gives."""

    fitted: Fitted
    names: tuple[str, ...]
    records: int
    width: int | None


def fit_own(
    family: Any, classes: Any, channel: Any, X: Any, reports: Any, design: Any, method: Method, ridge: float,
    max_iterations: int,
) -> OwnFit:  # fmt: skip
    """Fit a family that says its own features or log-partition."""
    truths = np.eye(len(classes))
    codes = encoded(channel, reports, design)
    say = likelihood if method == "marginal" else unbiased
    evidence = say(channel, truths, reports, codes).rows()
    problem: Any
    clean: Any
    width = None
    if isinstance(family, States):
        features = stacked_features(family.function, X, len(classes))
        if features.shape[0] // len(classes) != len(evidence):
            raise InvalidInput(
                f"{features.shape[0] // len(classes)} rows of features and {len(evidence)} reports",
                "one report for each row",
            )
        problem = FeatureProblem(features, evidence, method)
        clean = FeatureProblem(features, truths[evidence.argmax(axis=1)], "moments")
        width = int(features.shape[1])
    else:
        if method == "moments" and not hasattr(family, "weighted_features"):
            raise NotAvailable(
                f"moments of a {type(family).__name__}",
                "a method weighted_features(X, weights), or method='marginal'",
            )
        problem, clean = FamilyProblem(family, X, evidence, method), FamilyProblem(family, X, None, method)
    names = tuple(getattr(family, "names", None) or (f"theta{j}" for j in range(problem.size)))
    found = fit_by_gradient(problem, clean, len(evidence), ridge, max_iterations, marginal=method == "marginal")
    return OwnFit(found, names, len(evidence), width)


def own_probabilities(family: Any, X: Any, classes: int, width: int | None, parameters: Floats) -> Floats:
    """P(truth | x), n x classes."""
    if not isinstance(family, States):
        return FamilyProblem(family, X, None, "marginal").chances(parameters)
    features = stacked_features(family.function, X, classes, width)
    return FeatureProblem(features, np.ones((features.shape[0] // classes, classes)), "marginal").chances(parameters)
