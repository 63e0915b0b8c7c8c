"""What the parameters of a RatioEstimator may be."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from askance.errors import InvalidInput
from askance.reports.summary import checked_confidence

if TYPE_CHECKING:
    from askance.learning.ratios.ratio_estimator import RatioEstimator

METHODS = ("bag-classifier", "mmd")
KERNELS = ("rbf", "laplace", "linear")
SOLUTIONS = ("class", "paper")
TARGETS = ("group", "population")


def check_parameters(given: "RatioEstimator") -> None:
    """Refuse what is none of the values that a parameter may have."""
    for name, known in (("method", METHODS), ("solution", SOLUTIONS), ("target", TARGETS)):
        if not _is_one(getattr(given, name), *known):
            raise InvalidInput(f"{name}={getattr(given, name)!r}", f"one of {', '.join(known)}")
    if not callable(given.kernel) and not _is_one(given.kernel, *KERNELS):
        raise InvalidInput(f"kernel={given.kernel!r}", f"one of {', '.join(KERNELS)}, or a function k(A, B)")
    if not _is_one(given.bandwidth, "auto") and not _positive(given.bandwidth):
        raise InvalidInput(f"bandwidth={given.bandwidth!r}", "'auto' or a positive number")
    if not _is_one(given.features, "auto", "exact") and not _whole(given.features):
        raise InvalidInput(f"features={given.features!r}", "'auto', 'exact' or a number of at least 1")
    if given.base_estimator is not None and not hasattr(given.base_estimator, "predict_proba"):
        raise InvalidInput(f"base_estimator={given.base_estimator!r}", "a scikit-learn classifier with predict_proba")
    checked_confidence(given.level)


def _is_one(value: Any, *known: str) -> bool:
    return isinstance(value, str) and value in known


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


def _positive(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(0 < value < math.inf)
