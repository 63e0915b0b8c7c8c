"""What must be said about a line beside its numbers."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from askance.engines.base import Engine
from askance.learning.numbers.line_fit import LineFit
from askance.learning.numbers.report_checks import check_reports
from askance.learning.numbers.report_sets import ReportSet
from askance.learning.numbers.set_moments import SetMoments

# Twice the standard deviation to either side is then a fifth of the bounds: data that fill theirs have more than .15 of
# the width, and bounds that are ten times too wide leave about .025.
_LITTLE = 0.05
_SURE = 4.0  # standard errors: of data that use so much of their bounds, one in 30,000 is said to use less
_NO_RELATION = 0.1  # of the relation with the outcome, below which the line is next to the mean


def notes_on_reports(reports: ReportSet, engine: Engine) -> tuple[str, ...]:
    """Refuse reports that their channel cannot have made; remark on those that it hardly can have."""
    return () if reports.channel is None else check_reports(reports.channel, reports.source, engine)


def fit_notes(fit: LineFit, sets: Sequence[ReportSet], automatic: bool) -> tuple[str, ...]:
    """Say what was done to the moments, and what it means."""
    said = []
    if any(reports.rows is not None and reports.rows.shortens for reports in sets):
        said.append(
            "Moments longer than the radius were shortened before they were hidden: coefficients are biased by as much "
            "as there were such rows."
        )
    if fit.solved.undetermined.any():
        said.append(
            "Some combination of the features does not vary: of all lines that fit, this is the shortest. Coefficients "
            "of features that take part in it have no standard error."
        )
    if fit.solved.projected:
        said.append(
            "Noise made the estimated covariance one that no data can have: it was moved to the nearest that data can "
            "have."
        )
    if automatic and fit.solved.ridge:
        if fit.solved.relation < _NO_RELATION:
            said.append(
                "The reports show no relation of the outcome with the features that stands clear of the noise: "
                "predictions are next to its mean. That is no proof that there is none."
            )
        said.append(
            f"Some direction of the features does not stand clear of the noise (smallest variance "
            f"{fit.solved.flattest:.2g}, noise of a moment {fit.noise:.2g}): coefficients were shrunk by a ridge of "
            f"{fit.solved.ridge:.2g}. They predict better so, but their intervals do not cover the shrinkage. More "
            "reports, a larger epsilon, tighter public bounds or fewer features would help."
        )
    return tuple(said)


def notes_on_bounds(moments: Sequence[SetMoments]) -> tuple[str, ...]:
    """Say which hidden columns use little of their public bounds, as far as reports tell."""
    return tuple(note for one in moments if one.reports.channel is not None for note in _little_used(one))


def _little_used(one: SetMoments) -> Iterator[str]:
    channel, sums, width = one.reports.channel, one.sums, one.reports.reader.width
    low, high = (ends.tolist() for ends in channel.limits)  # type: ignore[union-attr]  # there is one
    columns = range(1, width) if one.reports.rows is not None else [width - 1]
    names = one.reports.rows.names if one.reports.rows is not None else one.reports.names[-1:]
    first, second = (ends.tolist() for ends in np.triu_indices(width))
    entry = {pair: place for place, pair in enumerate(zip(first, second, strict=True))}
    for number, (column, name) in enumerate(zip(columns, names, strict=True)):
        mean, square = entry[0, column], entry[column, column]
        variance = sums.mean[square] - sums.mean[mean] ** 2
        error = math.sqrt(sums.variance[square]) + 2 * abs(sums.mean[mean]) * math.sqrt(sums.variance[mean])
        unit = one.reports.reader.to_units[column, column]
        most = unit * math.sqrt(max(variance + _SURE * error, 0.0)) if math.isfinite(variance) else math.inf
        if most < _LITTLE * (high[number] - low[number]):
            seen = unit * math.sqrt(max(variance, 0.0))
            yield (
                f"{name} uses little of its public bounds: its standard deviation is about {seen:.2g}, and hardly "
                f"above {most:.2g}, where the bounds are {high[number] - low[number]:.4g} apart. Noise grows with that "
                "distance: in another study, tighter bounds from what everybody knows would hide as much and tell more."
            )
