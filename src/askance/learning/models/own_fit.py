"""Families of a user's own, and features of a user's own: fitted by gradients, in memory."""

from typing import Any, NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput, NotAvailable, Unidentifiable
from askance.learning.models.chain_problem import Method
from askance.learning.models.evidence import encoded, likelihood, unbiased
from askance.learning.models.families import States
from askance.learning.models.fitted import Fitted
from askance.learning.models.gradient_fit import fit_by_gradient, moments_start
from askance.learning.models.user_problem import FamilyProblem, FeatureProblem, stacked_features


class OwnFit(NamedTuple):
    """A fit, what its parameters are called, of how many records, and how many features a function of x gives."""

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
    own_features = isinstance(family, States)
    features = stacked_features(family.function, X, len(classes)) if own_features else None
    by_moments = own_features or hasattr(family, "weighted_features")
    if method == "moments" and not by_moments:
        raise NotAvailable(
            f"moments of a {type(family).__name__}", "a method weighted_features(X, weights), or method='marginal'"
        )

    def problem_of(evidence: Floats | None, way: Method) -> Any:
        if features is None:
            return FamilyProblem(family, X, evidence, way)
        return FeatureProblem(features, np.asarray(evidence), way)

    say = likelihood if method == "marginal" else unbiased
    evidence = say(channel, truths, reports, codes).rows()
    if features is not None and features.shape[0] // len(classes) != len(evidence):
        raise InvalidInput(
            f"{features.shape[0] // len(classes)} rows of features and {len(evidence)} reports",
            "one report for each row",
        )
    problem = problem_of(evidence, method)
    clean = problem_of(None if features is None else truths[evidence.argmax(axis=1)], "moments")
    starts: tuple[Floats, ...] = ()
    if method == "marginal" and by_moments:
        try:
            wanted = unbiased(channel, truths, reports, codes).rows()
        except Unidentifiable:  # the likelihood may tell what no average does
            wanted = None
        if wanted is not None:
            near = moments_start(problem_of(wanted, "moments"), ridge, len(wanted), max_iterations)
            starts = (near, 3 * near)  # as of the softmax model: reports shrink what truths would show
    names = tuple(getattr(family, "names", None) or (f"theta{j}" for j in range(problem.size)))
    found = fit_by_gradient(
        problem, clean, len(evidence), ridge, max_iterations, marginal=method == "marginal", starts=starts
    )
    return OwnFit(found, names, len(evidence), None if features is None else int(features.shape[1]))


def own_probabilities(family: Any, X: Any, classes: int, width: int | None, parameters: Floats) -> Floats:
    """P(truth | x), n x classes."""
    if not isinstance(family, States):
        return FamilyProblem(family, X, None, "marginal").chances(parameters)
    features = stacked_features(family.function, X, classes, width)
    return FeatureProblem(features, np.ones((features.shape[0] // classes, classes)), "marginal").chances(parameters)
