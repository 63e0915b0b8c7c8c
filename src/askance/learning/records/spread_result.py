"""What is to be fitted, and what a fit returns: the values that choices of a method pass on."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.learning.records.covariance import MOST_PARAMETERS, sandwich
from askance.learning.records.logit_objective import LogitObjective
from askance.learning.records.validation import Table

METHODS = ("auto", "collapsed", "mixture", "spectral", "sampling", "enumerate")
UNDETERMINED = "the reports do not determine all parameters"
RIDGE_BITES = "the ridge is strong enough to bias the estimates"
# Share of what is known of a parameter that is the ridge's, above which its standard error would mislead.
_BITES = 0.02


@dataclass(frozen=True, eq=False)
class SpreadResult:
    """A fitted linear classifier.

    ``theta`` has one row for two classes and one for each of more, intercept (at the origin) first. An average of two
    methods has the ``ridge`` of the first, and those of both in ``ridges``.
    """

    theta: Floats
    method: str
    ridge: float
    iterations: int
    converged: bool
    log_likelihood: float | None = None
    covariance: Floats | None = None
    covariance_note: str = ""
    trials: Table | None = None
    notes: tuple[str, ...] = field(default=())
    untold: tuple[int, ...] = ()  # columns whose reports vary no more than their noise
    ridges: dict[str, float] = field(default_factory=dict)
    joint_prior: dict[str, Any] | None = None  # of all attributes together, as arrays to keep

    @property
    def parameters(self) -> Floats:
        """Free parameters: against the first class, flattened."""
        return (self.theta if len(self.theta) == 1 else self.theta[1:] - self.theta[:1]).ravel()


@dataclass(frozen=True, eq=False)
class SpreadProblem:
    """What is to be fitted, and how.

    ``ridge`` None asks for cross-validation; ``rng`` None takes folds as the rows come.
    """

    method: str
    prior: Any
    ridge: float | None
    intercept: bool
    folds: int
    samples: int
    rounds: int
    max_iterations: int
    rng: np.random.Generator | None
    classes: int | None = None


def biased(overlooked: str) -> str:
    """The note of a fit that leaves something out which the reports show."""
    start = overlooked[0].upper() + overlooked[1:]
    return (
        f"{start}: coefficients are biased, and have no standard errors. Try method='auto' with prior='learned' and "
        "more records."
    )


def averaged(results: list[SpreadResult], table: Table) -> SpreadResult:
    """One fit as it is, or the average of two that predict equally well: it errs less than either."""
    if len(results) == 1:
        return replace(results[0], trials=table)
    return SpreadResult(
        np.mean([result.theta for result in results], axis=0),
        " + ".join(result.method for result in results),
        results[0].ridge,
        sum(result.iterations for result in results),
        all(result.converged for result in results),
        covariance_note="an average of two penalised fits",
        trials=table,
        # What one of the two leaves out the other models.
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes if "depend on" not in note)),
        ridges={result.method: result.ridge for result in results},
        joint_prior=next((result.joint_prior for result in results if result.joint_prior is not None), None),
    )


def free_covariance(likelihood: LogitObjective, theta: Floats, ridge: float) -> tuple[Floats | None, str]:
    """The covariance of the free parameters at the origin, or why there is none."""
    rows, width = max(likelihood.rows - 1, 1), theta.shape[1]
    if rows * width > MOST_PARAMETERS:
        return None, f"{rows * width} parameters: more than {MOST_PARAMETERS} are not told apart by reports"
    try:
        at_centre, shares = sandwich(likelihood, theta, ridge)
    except np.linalg.LinAlgError:
        return None, UNDETERMINED
    # The intercept's ridge is not asked about: it moves predictions, not what features do.
    if np.delete(shares, np.arange(rows) * width).max(initial=0.0) > _BITES:
        return None, RIDGE_BITES
    if at_centre is None or not np.all(np.isfinite(at_centre)) or np.diag(at_centre).min() < 0:
        return None, UNDETERMINED
    to_origin = np.eye(width)
    to_origin[0, 1:] = -likelihood.centre
    move = np.kron(np.eye(rows), to_origin)
    covariance: Floats = move @ at_centre @ move.T
    if not likelihood.intercept:
        kept = np.delete(np.arange(rows * width), np.arange(rows) * width)
        covariance = covariance[np.ix_(kept, kept)]
    return covariance, ""
