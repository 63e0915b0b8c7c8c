"""What must be said about a line beside its numbers."""

from collections.abc import Sequence

from askance.engines.base import Engine
from askance.learning.numbers.line_fit import LineFit
from askance.learning.numbers.report_checks import Seen, check_reports, seen_reports
from askance.learning.numbers.report_sets import ReportSet

_NO_RELATION = 0.1  # of the relation with the outcome, below which the line is next to the mean


def notes_on_reports(reports: ReportSet, engine: Engine) -> tuple[tuple[str, ...], Seen | None]:
    """Refuse reports that their channel cannot have made; remark on those that it hardly can have.

    Their cells are returned, too; none where nothing is hidden.
    """
    if reports.channel is None:
        return (), None
    seen = seen_reports(reports.channel, reports.source, engine)
    return check_reports(reports.channel, seen), seen


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
