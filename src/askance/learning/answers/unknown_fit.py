"""Fit a model of hidden answers together with the unknown numbers of their designs.

The likelihood of the reports is maximised over the parameters of the softmax model and the logits of the unknown
numbers at once. Where it has no finite maximum, because an unknown number is at its border or fewer carriers were
reported than chance alone would give, the parameters that run away get the log-F penalty.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product

import numpy as np
from scipy.special import expit, logit

from askance.arrays import Flags, Floats
from askance.channels.alphabet import listed
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import AskanceWarning, InvalidInput, Unidentifiable
from askance.learning.answers.identifiability import refuse_unidentified
from askance.learning.answers.information_inverse import inverse_information
from askance.learning.answers.unknown_notes import border_note, out_of_bounds
from askance.learning.answers.unknown_objective import JointModel, Penalties, class_places, objective, outer
from askance.learning.answers.unknown_problem import UnknownProblem, counted_model
from askance.learning.answers.unknown_result import UnknownFit, UnknownTest
from askance.learning.answers.unknown_samples import UnknownSample
from askance.learning.face.cluster_covariance import ClusterSpread
from askance.learning.face.linear_parameters import parameter_names
from askance.solvers.damped_newton import climb
from askance.solvers.log_f import LogF
from askance.solvers.newton import Solution
from askance.solvers.profile_likelihood import Profile, ProfileSearch
from askance.solvers.softmax import symmetric
from askance.statistics.frequencies import ReportCounts, ReportFrequencies

_FAR = 7.0  # a logit of a proportion of .001: farther out, parameters may have run away
_UNKNOWN_ERROR = 5.0  # standard error of such a logit, beyond which the data say nothing about how far out it is
_STARTS = (0.1, 0.6)  # of prevalences and unknown numbers; a likelihood of counts has its maxima between corners
_MOST_STARTS = 16  # four unknowns and more are started from fewer of all combinations
_ROUNDS = 4  # of finding what ran away: the model, unknown numbers, and again
_PARABOLA = 0.1  # standard error of a logit below which its likelihood is a parabola for as far as intervals reach
_OPEN = 1.96  # the 95% quantile: an interval that the likelihood leaves open is one for which Wald's is not valid
_NEXT_TO_NOTHING = 1e-3  # of the penalty: keeps a likelihood without a maximum finite, and shows where it leads


def fit_unknown(problem: UnknownProblem, source: RecordSource, engine: Engine, sample: UnknownSample) -> UnknownFit:
    """Fit by passes over the source; without covariates, by one."""
    counts = engine.reduce(ReportFrequencies(problem.channel.corners.shape[-2]), source)
    if not counts.weight.sum() > 0:
        raise InvalidInput(f"{counts.rows} reports of total weight 0", "at least one report")
    refuse_unidentified(problem.channel, counts.weight)
    notes: list[str] = []
    fitted = _Fit(problem, problem.model(counts, source, engine, notes), counts, notes, sample).result()
    for note in fitted.notes:
        warnings.warn(note, AskanceWarning, stacklevel=6)
    return fitted


@dataclass(eq=False)
class _Fit:
    """One fit under way."""

    problem: UnknownProblem
    model: JointModel
    counts: ReportCounts
    notes: list[str]
    sample: UnknownSample
    ran: list[str] = field(default_factory=list)  # what had no finite maximum
    replicated: Floats | None = None  # the covariance of standardised parameters, where replicate weights tell it
    seen: Floats = field(default_factory=lambda: np.eye(0))  # their covariance by the sample, and as the likelihood
    stated: Floats = field(default_factory=lambda: np.eye(0))  # states it

    def result(self) -> UnknownFit:
        starts = [self._padded(start) for start in self.without_covariates]
        ridge = Penalties(self._ridge())
        plain = objective(self.model, ridge)
        found = [climb(plain, start, max_iterations=self.problem.max_iterations) for start in starts]
        best = max(found, key=lambda solution: solution.local.value)
        penalties, solution, ran = self._penalised(ridge, best)
        top = best.local.value
        if not solution.converged:
            self.notes.append(f"The solver stopped after {solution.iterations} iterations before it converged.")
        self._measure(solution, penalties)
        tests = self._tests(solution.theta, top, ridge)
        solution, profiles = self._profiles(solution, penalties, ridge, ran)
        return self._report(solution, penalties, ran, profiles, tests)

    # -- where to start ------------------------------------------------------------------------------

    @cached_property
    def without_covariates(self) -> list[Floats]:
        """The maxima of the model without covariates, the highest first: logits of classes, then of unknowns."""
        model = counted_model(self.problem.channel, self.counts)
        plain = objective(model)
        classes, unknowns = model.classes, len(model.unknown_columns)
        grid = list(product(_STARTS, repeat=unknowns + 1))[:: max(1, 2 ** (unknowns + 1) // _MOST_STARTS)]
        found = []
        for prevalence, *psi in grid:
            base = np.full(classes - 1, logit(prevalence) - math.log(max(classes - 1, 1)))
            found.append(climb(plain, np.concatenate([base, logit(psi)])))
        found.sort(key=lambda solution: -solution.local.value)
        kept = [found[0]]
        kept += [f for f in found[1:] if np.abs(np.tanh(f.theta / 2) - np.tanh(found[0].theta / 2)).max() > 0.1][:1]
        return [np.clip(solution.theta, -3.0, 3.0) for solution in kept]

    def _padded(self, start: Floats) -> Floats:
        """Put a start without covariates into the places of the whole model."""
        model, padded = self.model, np.zeros(self.model.size)
        classes = model.classes - 1
        if model.intercept:
            padded[class_places(model, [0])] = start[:classes]
        for places, value in zip(model.unknown_slices, start[classes:], strict=True):
            padded[places.start] = value
        return padded

    # -- penalties -----------------------------------------------------------------------------------

    def _ridge(self) -> Floats:
        """The quadratic penalty on coefficients in their own units, as asked for."""
        model, strength = self.model, self.problem.ridge or 0.0
        penalty = np.zeros((model.size, model.size))
        if strength and len(model.columns):
            rows = np.ones((1, 1)) if model.classes == 2 else symmetric(np.eye(model.classes - 1))
            weights = np.concatenate([np.zeros(int(model.intercept)), 1 / model.spread[model.columns] ** 2])
            penalty[: model.free, : model.free] = model.unit * strength * np.kron(rows.T @ rows, np.diag(weights))
        return penalty

    def _penalised(self, ridge: Penalties, plain: Solution) -> tuple[Penalties, Solution, list[str]]:
        """Penalise what ran away, until nothing does."""
        penalties, solution, found = ridge, plain, dict[str, Penalties]()
        forced = ["the model", *self.problem.channel.unknowns] if self.problem.penalty == "log-f" else []
        for number in range(_ROUNDS):
            new = [name for name in self._runaways(solution) if name not in found]
            self.ran += new
            new = [*new, *(name for name in forced if name not in new)] if number == 0 else new
            if not new:
                break
            if self.problem.ridge is not None and not self.problem.ridge:
                raise Unidentifiable(
                    f"the likelihood has no finite maximum: {listed(new)} runs to its border",
                    "reports that have one, for ridge=0.0 (exact maximum likelihood)",
                    'ridge="auto" keeps it finite by a log-F penalty, and shows the interval as open.',
                )
            found |= {name: self._log_f(name) for name in new}
            terms = tuple(term for penalty in found.values() for term in penalty.log_f)
            penalties = Penalties(ridge.ridge, terms)
            start = np.clip(solution.theta, -3.0, 3.0)
            solution = climb(objective(self.model, penalties), start, max_iterations=self.problem.max_iterations)
        return penalties, solution, list(found)

    def _runaways(self, solution: Solution) -> list[str]:
        """Name what ran away: the model, or unknown numbers."""
        model, far = self.model, np.abs(solution.theta) > _FAR
        with np.errstate(divide="ignore"):
            errors = np.sqrt(np.abs(np.diag(inverse_information(solution.local.information))))
        lost = np.diag(solution.local.information) < 1 / _UNKNOWN_ERROR**2
        ran = far & (lost | ~np.isfinite(errors) | (errors > _UNKNOWN_ERROR))
        names = ["the model"] if ran[: model.free].any() else []
        unknowns = zip(self.problem.channel.unknowns, model.unknown_slices, strict=True)
        return names + [name for name, places in unknowns if ran[places].any()]

    def _log_f(self, name: str) -> Penalties:
        """The log-F penalty on the model's parameters or on those of an unknown number."""
        model = self.model
        if name != "the model":
            places = model.unknown_slices[list(self.problem.channel.unknowns).index(name)]
            where = np.arange(places.start, places.stop)
            return Penalties(np.zeros((0, 0)), ((where, LogF.about(np.zeros(len(where)))),))
        where = class_places(model, range(model.width))
        centre, scale = np.zeros((model.classes - 1, model.width)), np.ones(model.width)
        if model.intercept:
            centre[:, 0], scale[0] = self._base_logits(), 0.5
        return Penalties(np.zeros((0, 0)), ((where, LogF(centre, scale)),))

    def _base_logits(self) -> Floats:
        """The logits of the classes' shares without covariates, moved in from the border by half a standard error."""
        model = counted_model(self.problem.channel, self.counts)
        everything = np.arange(model.size)
        penalties = Penalties(np.zeros((model.size,) * 2), ((everything, LogF.about(np.zeros(model.size))),))
        found = climb(objective(model, penalties), np.zeros(model.size))
        classes = model.classes
        if classes > 2:
            logits: Floats = found.theta[: classes - 1]
            return logits
        plain = self.without_covariates[0][0]
        p = float(expit(found.theta[0]))
        half = 0.5 * p * (1 - p) * math.sqrt(abs(inverse_information(found.local.information)[0, 0]))
        edge = min(half, 0.5)
        return np.array([logit(min(max(float(expit(plain)), edge), 1 - edge))])

    # -- tests and intervals -------------------------------------------------------------------------

    def _tests(self, theta: Floats, top: float, ridge: Penalties) -> dict[str, UnknownTest]:
        """Compare with the model in which people do as they were asked, one unknown number after the other."""
        model, tests = self.model, {}
        for number, (name, places) in enumerate(zip(self.problem.channel.unknowns, model.unknown_slices, strict=True)):
            null = self.problem.channel.without_effect(name)
            if null is None or len(model.unknown_columns[number]):
                continue
            rest = np.delete(np.arange(model.size), places.start)
            known = objective(model.with_known(number, null), Penalties(ridge.ridge[np.ix_(rest, rest)]))
            starts = [np.clip(theta[rest], -3.0, 3.0), self._padded(self.without_covariates[0])[rest]]
            value = max(climb(known, start).local.value for start in starts)
            scale = self._ratio_scale(theta, np.eye(model.size)[places.start]) if self.problem.weighted else 1.0
            tests[name] = UnknownTest(null, max(2 * (top - value), 0.0) / scale)
        return tests

    def _measure(self, solution: Solution, penalties: Penalties) -> None:
        """Measure what weights and the sample do to the variance of the estimates."""
        if not self.problem.weighted:
            return
        theta, sample = solution.theta, self.sample
        expected = sample.expected_information(self.model, theta)
        # Replicates are fits, which follow the curvature that there is.
        curvature = expected if sample.replicates is None else self.model.sums(theta).information
        bread = inverse_information(curvature + penalties(theta).information)
        self.stated = bread @ expected @ bread
        self.replicated = sample.replicated(self.model, penalties, theta)
        self.seen = bread @ self._meat(theta)[0] @ bread if self.replicated is None else self.replicated

    def _meat(self, theta: Floats) -> tuple[Floats, ClusterSpread | None]:
        """The variance of the summed score, by how people came into the sample; and its spread between clusters."""
        if self.sample.units is not None:
            return self.sample.spread(self.model, theta)
        sums = self.model.sums(theta, with_outer=True)
        share = 1 / max(float(self.counts.weight.sum()) * self.model.unit, np.finfo(float).tiny)
        return outer(sums) - share * np.outer(sums.gradient, sums.gradient), None

    def _ratio_scale(self, _: Floats, direction: Floats) -> float:
        """The variance along a direction against that which the likelihood states: what weights do to a ratio.

        At the full fit for all of a profile: at a constrained one the observed information of an unknown number near
        its border is not even positive, and a scale that jumps there is none.
        """
        scale = float(direction @ self.seen @ direction) / float(direction @ self.stated @ direction)
        return scale if math.isfinite(scale) and scale > 0 else 1.0

    def _profiles(
        self, solution: Solution, penalties: Penalties, ridge: Penalties, ran: Sequence[str]
    ) -> tuple[Solution, dict[int, Profile]]:
        model, intervals = self.model, self.problem.intervals
        if intervals == "wald" and not ran:
            return solution, {}
        errors = np.sqrt(np.abs(np.diag(inverse_information(solution.local.information))))
        unknown = [
            place
            for name, places in zip(self.problem.channel.unknowns, model.unknown_slices, strict=True)
            for place in range(places.start, places.stop)
            if name in ran or errors[place] > _PARABOLA or intervals == "profile"
        ]
        search = self._search(penalties, ridge, ran)
        solution, found = self._profiled(search, solution, unknown)
        opened = any(min(profile.limits) < _OPEN for profile in found.values())
        if ran or opened or intervals == "profile":
            solution, others = self._profiled(search, solution, list(range(model.free)))
            found |= others
        return solution, found

    def _search(self, penalties: Penalties, ridge: Penalties, ran: Sequence[str]) -> ProfileSearch:
        unpenalised = None
        if ran:
            terms = tuple((places, _faint(penalty)) for places, penalty in penalties.log_f)
            unpenalised = objective(self.model, Penalties(ridge.ridge, terms))
        scale = self._ratio_scale if self.problem.weighted else None
        base = self._padded(self.without_covariates[0])
        return ProfileSearch(objective(self.model, penalties), base, scale, unpenalised)

    def _profiled(
        self, search: ProfileSearch, solution: Solution, places: Sequence[int]
    ) -> tuple[Solution, dict[int, Profile]]:
        """Profiles of some parameters in the units of the features as they came."""
        if not len(places):
            return solution, {}
        back = self.model.uncentring
        solution, found = search.all_profiles(solution, [back[place] for place in places])
        return solution, dict(zip(places, found, strict=True))

    # -- what is reported ----------------------------------------------------------------------------

    def _report(
        self,
        solution: Solution,
        penalties: Penalties,
        ran: Sequence[str],
        profiles: dict[int, Profile],
        tests: dict[str, UnknownTest],
    ) -> UnknownFit:
        problem, model = self.problem, self.model
        sums = model.sums(solution.theta)
        bread = inverse_information(sums.information + penalties(solution.theta).information)
        meat, clusters = self._meat(solution.theta)
        back, spare = model.uncentring, self._spare()
        full = len(spare)
        information, sandwich = np.full((full, full), np.nan), np.full((full, full), np.nan)
        information[np.ix_(~spare, ~spare)] = back @ bread @ back.T
        spread = bread @ meat @ bread if self.replicated is None else self.replicated
        sandwich[np.ix_(~spare, ~spare)] = back @ spread @ back.T
        degrees = self._degrees(clusters, back @ bread, spare)
        if degrees is not None:
            places = zip(problem.channel.unknowns, model.unknown_slices, strict=True)
            of = {name: float(degrees[~spare][where.start]) for name, where in places}
            tests = {name: replace(test, degrees=of[name]) for name, test in tests.items()}
        flat = np.zeros(full)
        flat[~spare] = back @ solution.theta
        there = np.flatnonzero(~spare)
        own = [problem.feature_names[column] for column in problem.columns]
        names = [*parameter_names(problem.channel.classes, own, model.intercept)]
        unknown = [problem.unknown_columns.get(name, ()) for name in problem.channel.unknowns]
        for name, columns in zip(problem.channel.unknowns, unknown, strict=True):
            names += (
                [name]
                if not len(columns)
                else [f"{name}: {term}" for term in ("Intercept", *(problem.feature_names[c] for c in columns))]
            )
        sizes = [len(own) * (model.classes - 1) + model.intercept * (model.classes - 1)]
        ends = np.cumsum([*sizes, *(len(columns) + 1 for columns in unknown)]).tolist()
        self.notes += out_of_bounds(problem.channel, [float(solution.theta[p.start]) for p in model.unknown_slices])
        self.notes += [border_note(name, solution, model, problem) for name in self.ran]
        return UnknownFit(
            theta=flat[: ends[0]].reshape(model.classes - 1, -1),
            gammas=tuple(flat[a:b] for a, b in pairwise(ends)),
            names=tuple(names),
            information_covariance=information,
            sandwich_covariance=sandwich,
            log_likelihood=sums.objective / model.unit,
            rows=self.counts.rows,
            iterations=solution.iterations,
            converged=solution.converged,
            notes=tuple(self.notes),
            penalised=tuple(ran),
            at_mean=tuple(float(solution.theta[places.start]) for places in model.unknown_slices),
            profiles={int(there[place]): profile for place, profile in profiles.items()},
            tests=tests,
            degrees=degrees,
            simple_covariance=information * (model.unit * float(self.counts.weight.sum()) / self.counts.rows),
        )

    def _degrees(self, clusters: ClusterSpread | None, combinations: Floats, spare: Flags) -> Floats | None:
        """Degrees of freedom of every parameter that was asked for; None where people were drawn one by one."""
        degrees = np.full(len(spare), np.nan)
        if self.sample.replicates is not None:
            degrees[~spare] = self.sample.replicates.degrees
        elif clusters is not None:
            degrees[~spare] = clusters.degrees(combinations)
        else:
            return None
        return degrees

    def _spare(self) -> Flags:
        """Which of the parameters that were asked for belong to columns that were left out."""
        problem, model = self.problem, self.model
        first = [False] * int(model.intercept)
        own = [*first, *(column not in model.columns for column in problem.columns)] * (model.classes - 1)
        for name, kept in zip(problem.channel.unknowns, model.unknown_columns, strict=True):
            own += [False, *(column not in kept for column in problem.unknown_columns.get(name, ()))]
        return np.array(own, dtype=bool)


def _faint(penalty: LogF) -> LogF:
    return LogF(penalty.centre, penalty.scale, _NEXT_TO_NOTHING * penalty.weight)
