"""Whether what a classifier of hidden records was asked for can be done."""

from typing import Any

import numpy as np

from askance.errors import InvalidInput
from askance.learning.face.base_learner import check_base_learner
from askance.learning.face.requested_ridge import checked_ridge
from askance.learning.records.latent_classes import MOST_CLASSES
from askance.learning.records.spread_result import METHODS, SpreadProblem


def checked_problem(asked: Any, rng: np.random.Generator | None) -> SpreadProblem:
    """Return what a fit needs to know of an estimator's parameters, or say which of them is none."""
    ridge = checked_ridge(asked.ridge)
    if asked.method not in METHODS:
        raise InvalidInput(f"method={asked.method!r}", " or ".join(map(repr, METHODS)))
    classes = None if isinstance(asked.latent_classes, str) else asked.latent_classes
    if asked.latent_classes != "auto" and (
        not isinstance(classes, int | np.integer) or isinstance(classes, bool) or not 1 <= classes <= MOST_CLASSES
    ):
        wanted = f"'auto' or a whole number from 1 to {MOST_CLASSES}"
        raise InvalidInput(f"latent_classes={asked.latent_classes!r}", wanted)
    if isinstance(asked.prior, str) and asked.prior not in ("learned", "flat", "gaussian"):
        raise InvalidInput(f"prior={asked.prior!r}", "'learned', 'flat', 'gaussian' or marginals")
    for name, least in (("cv", 2), ("samples", 1), ("rounds", 1), ("max_iter", 1)):
        value = getattr(asked, name)
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
            raise InvalidInput(f"{name}={value!r}", f"a whole number of at least {least}")
    if asked.base_estimator is not None:
        if asked.method != "sampling":
            raise InvalidInput(
                f"base_estimator with method={asked.method!r}", "method='sampling'", "Others are for linear models."
            )
        check_base_learner(asked.base_estimator, "Samples of what a record may have been have weights.")
    return SpreadProblem(
        asked.method,
        asked.prior,
        ridge,
        bool(asked.fit_intercept),
        int(asked.cv),
        int(asked.samples),
        int(asked.rounds),
        int(asked.max_iter),
        rng,
        None if classes is None else int(classes),
    )
