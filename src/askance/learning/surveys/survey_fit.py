"""Maximum likelihood of survey models: several starts, a penalty only where no finite maximiser exists."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.learning.face.sample_weights import unequal_weights
from askance.learning.surveys.survey_sample import Spread
from askance.solvers.damped_newton import climb
from askance.solvers.log_f import LogF
from askance.solvers.newton import Local, Solution
from askance.solvers.profile_likelihood import Objective, Profile, ProfileSearch

Intervals = Literal["auto", "wald", "profile"]

_FAR = 12.0  # a logit, of standardised covariates, beyond which a fit ran away: odds of 160,000 to one
_UNKNOWN = 50.0  # standard error of such a logit beyond which the data do not say where it is: far out on a plateau
# Relative eigenvalue of the information, in units of single standard errors: below, nothing tells parameters apart.
_SINGULAR = 1e-9
# Standard error of a logit beyond which intervals of estimate plus or minus errors are not to be trusted. Derived: odds
# are then known to a factor of e^(1.96 x 0.5) = 2.7 either way only, and a likelihood is no parabola over so wide a
# range. What profiles cover in these models beyond it was not measured.
_WIDE = 0.5
_ROUNDING = 1e-6  # of a number of people
_ENOUGH = 10  # people for each parameter: the usual rule of thumb for regressions of any kind
_NEXT_TO_NOTHING = 1e-6  # of the penalty: keeps a search for open ends finite, and moves none
NO_FINITE_MAXIMUM = (
    'The likelihood has no finite maximum here: a group with fewer signs of "yes" than chance alone gives, or an '
    "outcome "
    "that is told apart without error. The log-F(1, 1) penalty keeps the estimates finite (it weighs as much as one "
    "more person on each coefficient), and their intervals are by profile likelihood."
)


class Scored(Protocol):
    """A likelihood that knows the scores of its rows: what a sandwich is made of."""

    def __call__(self, theta: Floats) -> Local:
        """Value, gradient and information."""

    def score_spread(self, theta: Floats, about_mean: bool = False) -> Spread:
        """The variance of the summed score, by how people came into the sample."""

    def information_of_scores(self, theta: Floats) -> Floats:
        """The sum of outer products of scores."""


@dataclass(frozen=True, eq=False)
class SurveyFit:
    """Where a fit ended, in the parameters of the solver.

    Parameters
    ----------
    solution : Solution
    likelihood, objective : functions of theta
        Without and with the penalty; the same if there is none.
    covariance : array
        The inverse information of the objective; of weighted, clustered or stratified rows the sandwich.
    bread : array
        The inverse information.
    scored : Scored, optional
        The likelihood, where its scores make a sandwich.
    spread : Spread, optional
        The variance of its scores at the estimates.
    base : array
        Where nothing but base rates is known.
    penalty : LogF
    penalised : bool
    """

    solution: Solution
    likelihood: Objective
    objective: Objective
    covariance: Floats
    bread: Floats
    scored: Scored | None
    spread: Spread | None
    base: Floats
    penalty: LogF
    penalised: bool
    notes: tuple[str, ...] = field(default=())

    @property
    def theta(self) -> Floats:
        """The estimates."""
        return self.solution.theta

    def profiles(self, directions: Sequence[Floats], nulls: Sequence[float] | None = None) -> list[Profile]:
        """Return the profile of the objective along some directions, each null being zero if not given."""

        def nearly_free(theta: Floats) -> Local:
            return _with_penalty(self.likelihood, replace(self.penalty, weight=_NEXT_TO_NOTHING))(theta)

        search = ProfileSearch(
            self.objective,
            self.base,
            self._ratio_scale if self.scored else None,
            nearly_free if self.penalised else None,
        )
        return search.all_profiles(self.solution, directions, nulls)[1]

    def _ratio_scale(self, theta: Floats, direction: Floats) -> float:
        """The variance of the score against its information, along a direction.

        Both are made of the same scores: the second derivative is no information away from the maximum, where it need
        not be positive, and of equal weights the scale has to be one.
        """
        if self.scored is None:
            return 1.0
        information = self.scored.information_of_scores(theta)
        if smallest_eigenvalue(information) <= _SINGULAR:  # a point at which all rows are alike
            theta, information = self.theta, self.scored.information_of_scores(self.theta)
        e = np.linalg.solve(information, direction)
        return float(e @ self.scored.score_spread(theta, about_mean=True).meat @ e / (e @ direction))

    def sandwich(self, scored: Scored) -> Floats:
        """The covariance with the scores of another likelihood: the same for another kind of sample."""
        return self.bread @ scored.score_spread(self.theta).meat @ self.bread

    def degrees(self, back: Floats) -> tuple[float, ...]:
        """Degrees of freedom of linear combinations of the parameters, one a row; none without clusters."""
        return () if self.spread is None else self.spread.degrees(back @ self.bread)


def fit_survey(
    likelihood: Objective,
    starts: Sequence[Floats],
    penalty: LogF,
    *,
    scored: Scored | None = None,
    always: bool = False,
    far: float = _FAR,
) -> SurveyFit:
    """Maximise a likelihood; with a penalty if there is no finite maximiser without.

    Parameters
    ----------
    likelihood : function of theta
    starts : arrays
        The highest maximum that is reached from one of them is returned.
    penalty : LogF
        Which parameters are logits, and what the penalty pulls them to.
    scored : Scored, optional
        The likelihood again, where rows have weights, clusters or strata: its scores make a sandwich.
    always : bool
        Penalise even where there is a finite maximiser.
    far : float
        How far from where the penalty pulls it a parameter has run away.
    """
    best = _best([climb(likelihood, start) for start in starts])
    finite = best.converged and _is_inside(best, penalty, far)
    penalised = always or not finite
    objective = _with_penalty(likelihood, penalty) if penalised else likelihood
    if penalised:
        best = _best([climb(objective, start) for start in starts])
    information = objective(best.theta).information
    bread: Floats = np.full(information.shape, np.nan)
    if smallest_eigenvalue(information) > _SINGULAR:
        bread = np.asarray(np.linalg.inv(information), dtype=np.float64)
    spread = None if scored is None else scored.score_spread(best.theta)
    covariance = bread if spread is None else bread @ spread.meat @ bread
    notes = () if finite else (NO_FINITE_MAXIMUM,)
    if not best.converged:
        notes = (*notes, f"The solver stopped after {best.iterations} steps before it converged.")
    return SurveyFit(
        best, likelihood, objective, covariance, bread, scored, spread, starts[0], penalty, penalised, notes
    )


def few_people(rows: int, parameters: int, weights: Floats | None = None) -> list[str]:
    """Refuse fits that follow every person; say that intervals of large samples are none of small ones.

    People with unequal weights count as so many of equal ones as would tell as much.
    """
    people = float(rows) if weights is None else float(weights.sum() ** 2 / (weights @ weights))
    asked = f"{rows:,} people" + (f" whose weights leave as much as {people:.1f}" if people < rows - _ROUNDING else "")
    if people <= parameters:
        raise InvalidInput(
            f"{asked} for {parameters} parameters",
            "more people than parameters",
            "Leave covariates out, ask more people, or look at the largest weights.",
        )
    notes = [] if weights is None else list(unequal_weights(rows, weights, weights**2))
    if people >= _ENOUGH * parameters:
        return notes
    return [
        *notes,
        f"{asked} for {parameters} parameters are few: errors and intervals are those of large samples, and may be too "
        "small.",
    ]


def wants_profiles(intervals: Any, fit: SurveyFit, errors: Floats) -> bool:
    """Whether intervals are made by profile likelihood: asked for, or needed for some of these standard errors."""
    if intervals not in ("auto", "wald", "profile"):
        raise InvalidInput(f"intervals={intervals!r}", "'auto', 'wald' or 'profile'")
    return intervals != "wald" and (intervals == "profile" or fit.penalised or not bool((errors <= _WIDE).all()))


def effective_weights(weights: Floats | None) -> Floats | None:
    """Scale weights to sum to the number of equally weighted rows that would tell as much."""
    return None if weights is None else weights * (weights.sum() / (weights @ weights))


def smallest_eigenvalue(information: Floats) -> float:
    """Return the smallest eigenvalue of an information matrix whose parameters are scaled to have one each."""
    diagonal = np.diag(information)
    if not (np.isfinite(information).all() and (diagonal > 0).all()):
        return -np.inf
    scale = np.sqrt(diagonal)
    return float(np.linalg.eigvalsh(information / np.outer(scale, scale))[0])


def _with_penalty(likelihood: Objective, penalty: LogF) -> Objective:
    def penalised(theta: Floats) -> Local:
        here, pull = likelihood(theta), penalty(theta)
        return Local(here.value + pull.value, here.gradient + pull.gradient, here.information + pull.information)

    return penalised


def _best(solutions: Sequence[Solution]) -> Solution:
    return max(solutions, key=lambda found: (found.converged, found.local.value))


def _is_inside(found: Solution, penalty: LogF, far: float) -> bool:
    logits = np.abs((found.theta - penalty.centre[0]) * (penalty.scale > 0))
    if logits.max(initial=0.0) >= far or smallest_eigenvalue(found.local.information) <= _SINGULAR:
        return False
    errors = np.sqrt(np.abs(np.diag(np.linalg.inv(found.local.information))))
    return bool((errors[penalty.scale > 0] < _UNKNOWN).all())
