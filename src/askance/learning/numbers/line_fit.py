"""The line through what reports of one or several channels tell.

Each report set tells the second moments of the same columns, on a scale and with a noise of its own; brought to one
scale and weighted by their precision they are one moment matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.errors import InvalidInput
from askance.learning.face.hidden_truth import Estimate
from askance.learning.numbers.folds import FOLDS
from askance.learning.numbers.held_out_line import HeldOut
from askance.learning.numbers.moment_regression import SINGULAR, MomentProblem, MomentRegression
from askance.learning.numbers.report_sets import ReportSet
from askance.learning.numbers.second_moments import FoldMoments, ScoreProducts
from askance.learning.numbers.set_moments import SetMoments, at_least, together

_REWEIGHTED = 2  # how often sets are weighted anew, by their noise about the line: the second changes little


@dataclass(frozen=True)
class LineFit:
    """A line in the units of the data, with its covariance, how it was found, and how well it does on the truth."""

    parameters: Floats
    covariance: Floats
    solved: MomentRegression
    noise: float
    rows: int
    r_squared: Estimate
    moments: Sequence[SetMoments]


def fit_line(sets: Sequence[ReportSet], engine: Engine, ridge: float | None, intercept: bool) -> LineFit:
    """Regress the last of the sets' columns on the others."""
    sets = [reports.in_order(sets[0].names) for reports in sets]
    common = _common_scale(sets[0], intercept)
    moments = [
        SetMoments(
            reports,
            engine.reduce(FoldMoments(reports.reader, FOLDS), reports.source),
            np.linalg.inv(common) @ reports.to_units,
        )
        for reports in sets
    ]
    _refuse_too_few(moments)
    asked = Asked(ridge, intercept, engine)
    pilot = np.array([one.precision * one.sums.weight for one in moments])
    line = _Line.through(moments, pilot, asked)
    for _ in range(_REWEIGHTED if len(moments) > 1 else 0):
        line = _Line.through(moments, line.precisions, asked)
    to_units, shift = _line_in_units(common, intercept)
    covariance = to_units @ line.covariance @ to_units.T
    unknown = line.solved.undetermined
    covariance[unknown], covariance[:, unknown] = np.nan, np.nan
    return LineFit(
        to_units @ line.solved.parameters + shift,
        covariance,
        line.solved,
        line.noise,
        sum(one.sums.rows for one in moments),
        line.r_squared,
        moments,
    )


@dataclass(frozen=True)
class Asked:
    """What was asked for: a ridge or None for one that the noise implies; whether the line may miss the origin."""

    ridge: float | None
    intercept: bool
    engine: Engine


def _common_scale(reports: ReportSet, intercept: bool) -> Floats:
    """The scale of the first set; without an intercept its origin is that of the data, through which the line goes."""
    scale: Floats = reports.to_units @ reports.chosen.T
    return scale if intercept else np.diag(np.diag(scale))


@dataclass(frozen=True, eq=False)
class _Line:
    """A line on the common scale, and what each report set contributes to its noise.

    The covariance is that of the delta method: the noise of the normal equations, through the inverse of their slope.
    """

    solved: MomentRegression
    noise: float
    covariance: Floats
    precisions: Floats  # of the report sets, about this line
    r_squared: Estimate

    @classmethod
    def through(cls, moments: Sequence[SetMoments], precisions: Floats, asked: Asked) -> "_Line":
        """Weight every report set by its precision, and fit a line to all together."""
        shares = precisions / precisions.sum()
        noise = float(np.sqrt(sum(share**2 * one.noise for share, one in zip(shares, moments, strict=True))))
        second, outcome = together(moments, shares)
        problem = MomentProblem(noise, asked.ridge, asked.intercept, outcome)
        solved = problem.solve(second)
        if asked.ridge is None and solved.ridge and len(second) > 2:
            # No line is better than one that follows noise: how much of the relation may be noise is seen beside none.
            nothing = np.zeros(len(second) - 1)
            nothing[0] = second[0, -1] if asked.intercept else 0.0
            alone = [_noise_about(one, asked, nothing)[0][:-1, :-1] for one in moments]
            problem = replace(problem, unrelated=np.asarray(sum(s**2 * n for s, n in zip(shares, alone, strict=True))))
            solved = problem.solve(second)
        line = solved.parameters if asked.intercept else np.r_[0.0, solved.parameters]
        inverse = np.linalg.pinv(solved.jacobian, SINGULAR, hermitian=True)
        judged = HeldOut.of(moments, shares, problem)
        precise, missed = np.zeros(len(moments)), np.zeros(len(moments))
        equation_noise = np.zeros_like(inverse)
        equations = slice(0 if asked.intercept else 1, len(second) - 1)
        for number, (share, one) in enumerate(zip(shares, moments, strict=True)):
            about_mean, spread, missed[number] = _noise_about(one, asked, line, judged.form_of(one))
            equation_noise += share**2 * about_mean[equations, equations]
            variance = float(np.trace(inverse @ spread[equations, equations] @ inverse))
            precise[number] = 1 / variance if variance > 0 else np.inf
        covariance = inverse @ equation_noise @ inverse
        moved: Floats = np.asarray(
            np.linalg.pinv(solved.shrunk, SINGULAR, hermitian=True) @ equation_noise, dtype=float
        )
        if not np.isfinite(precise).all():  # a set without any error leaves nothing to weigh
            precise = precisions
        # As in ordinary regressions: what was fitted looks a little better than it is.
        people = sum(one.people for one in moments)
        small = people / (people - len(inverse)) if people > len(inverse) else 1.0
        rows = sum(one.sums.rows for one in moments)
        return cls(
            solved, noise, small * (covariance + covariance.T) / 2, precise, judged.estimate(missed, moved, rows)
        )


def _noise_about(
    one: SetMoments, asked: Asked, line: Floats, forms: Floats | None = None
) -> tuple[Floats, Floats, float]:
    """The noise of the normal equations of a line: its covariance, its mean square; and that of the forms of folds."""
    direction = np.append(line, -1.0)
    statistic = ScoreProducts(one.reports.reader, one.change.T @ direction, forms)
    scores, squared = asked.engine.reduce(statistic, one.reports.source)
    spread = one.change @ scores @ one.change.T / one.sums.weight**2
    left_over = np.nan_to_num(one.second) @ direction
    about_mean = spread - one.sums.squared_weight / one.sums.weight**2 * np.outer(left_over, left_over)
    least = one.least_noise
    if least is not None:  # whatever was reported, the channel adds no less
        about_mean[:-1, :-1] = at_least(about_mean[:-1, :-1], least)
        spread[:-1, :-1] = at_least(spread[:-1, :-1], least)
    return about_mean, spread, squared / one.sums.weight**2


def _line_in_units(common: Floats, intercept: bool) -> tuple[Floats, Floats]:
    """T and t so that intercept and slopes in the units of the data = T (those on the common scale) + t."""
    scale, origin = np.diag(common)[1:], common[1:, 0]
    slopes = scale[-1] / scale[:-1]
    if not intercept:
        return np.diag(slopes), np.zeros(len(slopes))
    matrix = np.diag([scale[-1], *slopes])
    matrix[0, 1:] = -slopes * origin[:-1]
    return matrix, np.array([origin[-1], *np.zeros(len(slopes))])


def _refuse_too_few(moments: Sequence[SetMoments]) -> None:
    rows, people = sum(one.sums.rows for one in moments), sum(one.people for one in moments)
    needed = len(moments[0].reports.names) + 1 if any(one.reports.channel is not None for one in moments) else 1
    if people < needed * (1 - 1e-9):  # weights that are equal but for rounding
        alike = "" if rows < needed else f", which tell as much as {people:.1f} of equal weight,"
        raise InvalidInput(
            f"{rows} reports (n_samples={rows}){alike} for a line with {len(moments[0].reports.names)} parameters",
            f"at least {needed}, and many more for a useful answer",
        )
