"""Wire statistic, engine and solver together: from records to parameters, their covariance and their intervals."""

import contextlib
import math
import warnings
from dataclasses import dataclass, replace

import numpy as np

from askance.arrays import Flags, Floats, Integers
from askance.channels.alphabet import listed
from askance.engines.base import Engine
from askance.engines.local.engine import one_thread_algebra
from askance.engines.sources import RecordSource
from askance.errors import AskanceWarning, InvalidInput
from askance.learning.answers.base_rate import BaseRate
from askance.learning.answers.exchange import refuse_exchangeable
from askance.learning.answers.feature_geometry import Geometry
from askance.learning.answers.information_inverse import inverse_information
from askance.learning.answers.interval_choice import Profiler, chosen_intervals, left_out_note, too_dear
from askance.learning.answers.maximum_search import SEVERAL_MAXIMA, MaximumSearch
from askance.learning.answers.penalised_fit import CURVED, PenaltyKind, StandardisedFit
from askance.learning.answers.replicate_weights import Replicates
from askance.learning.answers.separated_columns import separated_parameters
from askance.learning.answers.slope_approach import FAR
from askance.learning.answers.softmax_problem import SoftmaxProblem, SoftmaxTask
from askance.learning.answers.untold_parameters import (
    NO_INFORMATION,
    laws_are_independent,
    untold_directions,
    untold_note,
    untold_refusal,
)
from askance.learning.face.cluster_covariance import ClusterSpread
from askance.learning.face.interval_table import FROZEN, few_clusters, frozen_clusters
from askance.learning.face.sample_weights import unequal_weights
from askance.learning.face.sampling_design import SampledUnits
from askance.solvers.newton import Solution
from askance.solvers.profile_likelihood import Profile
from askance.statistics.frequencies import ReportCounts, ReportFrequencies
from askance.statistics.softmax_score import NARROW, ScoreSums

# A fit to a sample starts the fit to large data. Its error, one part in 256 of a parameter's spread, is what Newton's
# method squares away in two or three steps.
_SAMPLE_ROWS = 65_536
# Of many columns each row is dear, and what is left of the way is cheap: moments of 16 rows for each parameter are off
# by a half in the worst direction.
_ROWS_EACH = 16
# Curvature of true labels along a direction, against the others': with less, a truth has gone, as p (1 - p) does at a
# logit of 9. A fit that runs away is another matter than one whose reports tell nothing.
_ABSENT = 1e-4


@dataclass(frozen=True, eq=False)
class SoftmaxFit:
    """Numbers only: nothing of the data is kept.

    ``theta`` is K-1 x p against the reference class, intercept first; covariances are of its rows, flattened;
    ``intervals`` says of each parameter whether its interval is "wald", "profile" or "none"; ``logit_error`` is the
    standard error of the logit of a typical person, which no penalty holds down that was chosen for its strength.
    """

    theta: Floats
    information_covariance: Floats | None
    sandwich_covariance: Floats | None
    log_likelihood: float | None
    penalty: PenaltyKind
    ridge: float
    reports: ReportCounts
    iterations: int
    converged: bool
    notes: tuple[str, ...] = ()
    intervals: tuple[str, ...] = ()
    profiles: tuple[Profile | None, ...] = ()
    degrees: tuple[float, ...] = ()
    design_effects: tuple[float, ...] = ()
    logit_error: float = float("nan")


def fit_softmax(
    problem: SoftmaxProblem,
    source: RecordSource,
    engine: Engine,
    sample: SampledUnits | None = None,
    replicates: Replicates | None = None,
) -> SoftmaxFit:
    """Fit by few passes over the source, which is of simple random samples unless ``sample`` says otherwise."""
    if not source.num_rows:
        raise InvalidInput("no records", "at least one report")
    classes, codes = problem.channel.classes, problem.channel.matrix.shape[0]
    reports = engine.reduce(ReportFrequencies(codes), source)
    if not reports.weight.sum() > 0:
        raise InvalidInput("sample weights that sum to zero", "some record with positive weight")
    rows = _sample_rows(problem)
    part = engine.sample(source, rows) if source.num_rows > 2 * rows else source
    columns = len(problem.feature_names)
    geometry = Geometry.of(part, engine, columns, problem.intercept)
    if part is not source and geometry.undetermined.any():
        # A rare level may be missing from the sample: only all records show that it is nowhere.
        part = source
        geometry = Geometry.of(source, engine, columns, problem.intercept)
    task = SoftmaxTask(problem, engine, source, geometry, reports, sample, replicates)
    refuse_exchangeable(task.possible, None if problem.truths is None else problem.truths.table, classes)
    base = BaseRate.of(problem.channel, reports, robust=problem.robust)
    fitting = _Fitting(task, part, StandardisedFit(task, base))
    # Sums over several parts have a thread for each core; between them threads of algebra only wake and wait.
    with one_thread_algebra() if len(source.partitions()) > 1 else contextlib.nullcontext():
        return fitting.run()


def _sample_rows(problem: SoftmaxProblem) -> int:
    parameters = len(problem.parameter_names)
    return min(_SAMPLE_ROWS, _ROWS_EACH * parameters) if len(problem.feature_names) >= NARROW else _SAMPLE_ROWS


_GIVEN_UP = (
    f"no estimate is within logits of {FAR:g}, which are certainties of .99995: the search led farther, as it does "
    "where the classes are separated, or where reports tell too little about so many columns"
)
_WHY = {
    "moments": "the moment estimate lies outside what any model of these classes can give (the marginal polytope), as "
    "happens with few reports or strong noise",
    "marginal": "the likelihood of these reports grows without end in some direction (the classes are separated, or "
    "fewer carriers were reported than chance alone would give)",
}
_PENALISED = (
    "The log-F(1,1) penalty about the base rate keeps the estimates finite; intervals and p-values are by profile "
    "likelihood ratio, and an end that the reports leave open is shown as open."
)
_WALD = (
    "The log-F(1,1) penalty about the base rate keeps the estimates finite. Wald intervals were asked for: of a "
    "penalised fit they are rough, and there is no z or p; intervals='profile' has both ends right."
)
_WIDE = (
    "The log-F(1,1) penalty about the base rate keeps the estimates finite. So many coefficients of so many reports "
    "have Wald intervals where the penalised likelihood is a parabola as far as these reach, and no z or p; "
    "intervals='profile' has all of them by profile likelihood ratio, and takes long."
)
_SHRUNK = (
    "A ridge towards the base rate, as strong as the noise of the reports, is used instead; there are no intervals for "
    "that."
)
_OF_MOMENTS = " method='marginal' has a likelihood, with estimates and intervals that are right here."
_TO_PREDICT = (
    " It is there to predict: coefficients are shrunk, read no effects from them. For effects, leave out columns; "
    "penalty='log-f' is slow here, and exaggerates them."
)


@dataclass(frozen=True, eq=False)
class _Fitting:
    """One fit under way: the choice of penalty and of intervals."""

    task: SoftmaxTask
    sample: RecordSource
    standard: StandardisedFit

    def run(self) -> SoftmaxFit:
        solution, penalty, notes = self._solution()
        if self.task.replicates is not None:
            full = self.standard.standardised(solution.theta)
            replicated = replace(self.standard, spread=self.standard.replicated(penalty, full), full=full)
            return replace(self, standard=replicated).finished(solution, penalty, notes)
        return self.finished(solution, penalty, notes)

    def finished(self, solution: Solution, penalty: PenaltyKind, notes: list[str]) -> SoftmaxFit:
        problem, geometry = self.task.problem, self.task.geometry
        notes = [*geometry.dropped(problem.feature_names), *notes]
        if not problem.ridge:
            notes += geometry.collinear(problem.feature_names)
        if problem.truths is not None:
            notes += problem.truths.repeated()
        notes += self._decided(solution, penalty)
        if not solution.converged:
            notes.append(
                f"The solver stopped after {solution.iterations} iterations before it converged: "
                "raise max_iter, or add ridge."
            )
        for note in notes:
            warnings.warn(note, AskanceWarning, stacklevel=6)
        if penalty == "log-f" and problem.penalty == "auto" and self.standard.base.near_border:
            notes = [self._near_border(), *notes]  # a choice that is right there, and nothing to be warned of
        fit = self._with_intervals(solution, penalty)
        return replace(fit, notes=(*notes, *self._said(fit)))

    def _said(self, fit: SoftmaxFit) -> list[str]:
        """What there is to say about the errors of a fit."""
        said = (
            list(unequal_weights(self.task.reports.rows, self.task.reports.weight, self.task.reports.squared_weight))
            if self.task.problem.robust
            else []
        )
        said += fit.notes
        names = self.task.problem.parameter_names
        frozen = frozen_clusters(names, fit.design_effects)
        for note in [*said, *frozen]:
            warnings.warn(note, AskanceWarning, stacklevel=7)
        # Intervals of few degrees of freedom are as wide as that asks for: nothing to be warned of.
        return [*said, *(frozen or few_clusters(names, fit.degrees))]

    def _solution(self) -> tuple[Solution, PenaltyKind, list[str]]:
        """Parameters of z = (1, x - centre), what penalised them, and what there is to say about it."""
        problem, penalty = self.task.problem, self.task.asked_penalty()
        likelihood = problem.method == "marginal"
        if problem.penalty == "log-f":
            return self._penalised("log-f"), "log-f", []
        if likelihood and problem.ridge is None and self.standard.base.near_border:
            said = [self._fewer_than_chance()] if self.standard.base.unbiased.min() < 0 else []
            return self._penalised("log-f"), "log-f", said
        runaways = separated_parameters(self.task, self.sample) if likelihood and not problem.ridge else ()
        given_up = False
        if not runaways:
            search = MaximumSearch(self.task)
            starts = search.starts(self.sample, penalty * (self.sample.num_rows / self.task.source.num_rows))
            solution, several = search.best(self.task.source, starts, penalty)
            untold = 0 if solution.diverged or problem.ridge else self._untold(solution.theta)
            if untold:
                raise untold_refusal(untold, solution.theta.size)
            runaways, given_up = search.runaways(solution, penalty), solution.given_up
            if not solution.diverged and not runaways:
                return solution, "ridge" if problem.ridge else "none", [SEVERAL_MAXIMA] if several else []
        which = f" of {listed(runaways, 5)}" if runaways else ""
        why = _GIVEN_UP if given_up else f"there is no finite estimate{which}: {_WHY[problem.method]}"
        if problem.ridge is not None:
            raise InvalidInput(
                f"ridge={problem.ridge:g}, but {why}",
                "reports that have a finite estimate with that ridge and nothing else",
                "Leave ridge='auto', or say penalty='log-f': estimates are then finite, and profile likelihood ratios "
                "tell how far they are known.",
            )
        why = why[0].upper() + why[1:]
        to_predict = given_up or self.task.zero().size > CURVED
        if likelihood and not (to_predict and problem.intervals == "auto"):
            return self._penalised("log-f"), "log-f", [f"{why}. {self._penalised_words()}"]
        return self._penalised("shrunk"), "shrunk", [f"{why}. {_SHRUNK}{_TO_PREDICT if likelihood else _OF_MOMENTS}"]

    def _untold(self, theta: Floats) -> int:
        """Along how many directions the reports say nothing, although true labels would."""
        task = self.task
        # By moments the unbiased features would not be there.
        if task.problem.method == "moments" or laws_are_independent(task.possible):
            return 0
        outer = task.sums(theta, with_outer=True).outer
        if outer is None:
            return 0
        unit = task.reports.weight.sum() / task.reports.squared_weight.sum()
        white = np.kron(np.eye(task.free), task.geometry.whitening[0])
        said, complete = (white.T @ each @ white for each in (unit * outer, task.complete_information(theta)))
        return untold_directions(said, complete, _ABSENT * NO_INFORMATION)

    def _decided(self, solution: Solution, penalty: PenaltyKind) -> list[str]:
        """Say what a penalty decides about, and reports do not."""
        untold = 0 if penalty == "none" else self._untold(solution.theta)
        by = f"the ridge of {self.task.problem.ridge:g}" if penalty == "ridge" else "the penalty"
        return [untold_note(untold, solution.theta.size, by)] if untold else []

    def _penalised_words(self) -> str:
        if self.task.problem.intervals == "wald":
            return _WALD
        dear = self.task.problem.intervals == "auto" and too_dear(self.task, self.task.zero().size)
        return _WIDE if dear else _PENALISED

    def _fewer_than_chance(self) -> str:
        base, classes = self.standard.base, self.task.problem.channel.classes
        lowest = int(base.unbiased.argmin())
        return (
            f"Fewer reports point to {classes[lowest]!r} than chance alone would give (unbiased share "
            f"{base.unbiased[lowest]:.4f}): the likelihood alone may have no finite estimate."
        )

    def _near_border(self) -> str:
        base, classes = self.standard.base, self.task.problem.channel.classes
        rarest = int(np.argmin(base.unbiased / np.maximum(base.chance, np.finfo(float).tiny)))
        return (
            f"Few are {classes[rarest]!r}: the unbiased share is {base.unbiased[rarest]:.4f}, where chance alone makes "
            f"errors of {base.chance[rarest]:.4f}. {self._penalised_words()} (ridge=0 is maximum likelihood.)"
        )

    def _penalised(self, penalty: PenaltyKind) -> Solution:
        return self._of_z(self.standard.fit(penalty, self.sample))

    def _of_z(self, found: Solution) -> Solution:
        return replace(found, theta=(self.standard.embedding @ found.theta).reshape(self.task.zero().shape))

    def _with_intervals(self, solution: Solution, penalty: PenaltyKind) -> SoftmaxFit:
        """Measure a solution, and choose how its parameters get intervals."""
        task, sums = self.task, self._sums(solution)
        chosen = chosen_intervals(self.standard, penalty, solution, sums)
        profiles: list[Profile | None] = [None] * len(chosen.kinds)
        if chosen.profiled.any():
            profiler = Profiler(self.standard, penalty)
            first = profiler.at(solution)
            better, profiles = profiler.profiles(first, chosen.profiled)
            chosen = chosen.less_those_without(profiles)
            if better is not first:
                solution = self._of_z(better)
                sums = task.sums(solution.theta, with_outer=task.with_outer)
        notes = tuple(left_out_note(task.problem.parameter_names, chosen.left_out))
        fit = self._measured(solution, sums, penalty)
        return replace(fit, intervals=chosen.kinds, profiles=tuple(profiles), notes=notes)

    def _sums(self, solution: Solution) -> ScoreSums:
        """Score and information at a solution, unless its search has summed them all up already."""
        task, local = self.task, solution.local
        weight = float(task.reports.weight.sum())
        if not solution.measured or task.problem.ridge:
            return task.sums(solution.theta, with_outer=task.with_outer)
        records = weight / task.reports.rows
        value, gradient, information = local.value * records, local.gradient * records, local.information * records
        return ScoreSums(task.reports.rows, weight, value, gradient, information, local.outer)

    def _measured(self, solution: Solution, sums: ScoreSums, penalty: PenaltyKind) -> SoftmaxFit:
        task, geometry = self.task, self.task.geometry
        marginal = task.problem.method == "marginal"
        curvature = sums.information + self.standard.penalty_information(penalty, solution.theta)
        bread = inverse_information(curvature * np.outer(task.used, task.used))
        combined = task.as_reported(bread)
        information = task.as_reported(combined.T)
        meat, spread = task.meat(solution.theta, sums) if task.with_outer else (None, None)
        used = bread @ meat @ bread.T if task.problem.robust and meat is not None else bread
        sandwich = None if meat is None else combined @ meat @ combined.T
        if self.standard.spread is not None:
            sandwich = self.standard.reported @ self.standard.spread @ self.standard.reported.T
        undetermined = task.unknown_among(geometry.constant if task.problem.ridge else geometry.undetermined)
        _leave_out(undetermined, information)
        _leave_out(undetermined, sandwich)
        # As if the same number of people had been drawn one by one, all with the same weight.
        simple = np.diag(information) * (task.reports.weight.sum() / task.reports.rows)
        drawn = sandwich if task.sample or task.replicates else None
        effects = np.empty(0) if drawn is None else np.diag(drawn) / simple
        _leave_out(np.flatnonzero(effects < FROZEN), sandwich)
        solution.theta[:, geometry.constant] = 0.0  # a solver leaves rounding there
        return SoftmaxFit(
            theta=task.as_reported(solution.theta.reshape(-1, 1)).reshape(-1, task.width),
            information_covariance=information if marginal else None,
            sandwich_covariance=sandwich,
            log_likelihood=sums.objective if marginal else None,
            penalty=penalty,
            ridge=self.standard.shrinkage if penalty == "shrunk" else task.problem.ridge or 0.0,
            reports=task.reports,
            iterations=solution.iterations,
            converged=solution.converged,
            degrees=self._degrees(spread, combined),
            design_effects=tuple(effects.tolist()),
            logit_error=math.nan if penalty in ("ridge", "shrunk") else self._logit_error(used),
        )

    def _logit_error(self, covariance: Floats) -> float:
        """The root mean square over all people of the standard error of a logit, of that which is known least."""
        task, truths = self.task, self.task.problem.truths
        blocks = covariance.reshape(task.free, task.width, task.free, task.width)
        squares = np.einsum("jakb,ab->jk", blocks, task.geometry.second)
        squares = squares if truths is None else truths.contrasts @ squares @ truths.contrasts.T
        return float(np.sqrt(max(np.diag(squares).max(initial=0.0), 0.0)))

    def _degrees(self, spread: ClusterSpread | None, combinations: Floats) -> tuple[float, ...]:
        if self.task.replicates is not None:
            return (self.task.replicates.degrees,) * len(combinations)
        return tuple(spread.degrees(combinations).tolist()) if spread is not None else ()


def _leave_out(which: Flags | Integers, covariance: Floats | None) -> None:
    """Say of some parameters that nothing is known of their spread."""
    if covariance is not None:
        covariance[which], covariance[:, which] = np.nan, np.nan
