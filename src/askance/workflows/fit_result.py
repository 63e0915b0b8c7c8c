"""What every fit ends with: a model, and what there is to say about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from askance.channels.guarantee import Guarantee
from askance.files.kinds import MODEL
from askance.files.location import StrPath
from askance.files.targets import write_text
from askance.learning.face.estimator import Estimator
from askance.learning.face.estimator_pages import report_of
from askance.reports.estimator_report import EstimatorReport
from askance.reports.html import write_report
from askance.reports.number_report import NumberReport
from askance.reports.report import Report
from askance.reports.summary import Summary
from askance.reports.text import report_text
from askance.workflows.origin import with_origin


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fitted model, and what there is to say about it.

    Parameters
    ----------
    model : estimator
    text : str
        For people, at a terminal.
    account : dict
        For programs: everything that can be written as JSON.
    report : Report, NumberReport or EstimatorReport
        What a page says.
    remarks : tuple of str
        What the library warned of.
    """

    model: Any
    text: str
    account: dict[str, Any]
    report: Report | NumberReport | EstimatorReport
    remarks: tuple[str, ...] = ()

    def of_inputs(self, inputs: Iterable[tuple[str, StrPath]], study: StrPath | None = None) -> Self:
        """Return the result with a report that says what it was made of, when and by which program."""
        return replace(self, report=with_origin(self.report, inputs, study))

    def write(self, report: Path | None = None, save: Path | None = None) -> list[Path]:
        """Write the page and the model where paths are given, over earlier ones; return the paths."""
        if report is not None:
            write_report(report, self.report, overwrite=True)
        if save is not None:
            write_text(save, self.model.to_json(), MODEL)
        return [path for path in (report, save) if path is not None]


def question_result(report: Report | NumberReport, model: Any) -> FitResult:
    """Return the result of a fit to one question; a regression's parameters come with their whole covariance."""
    parameters = None
    if report.regression is not None:
        parameters = {
            "names": list(model.parameter_names_),
            "estimates": model.parameters_.tolist(),
            "covariance": model.covariance_.tolist(),
        }
    return FitResult(model, report_text(report), report.to_dict() | {"parameters": parameters}, report)


def model_result(
    model: Estimator,
    summary: Summary,
    account: dict[str, Any],
    *,
    remarks: Sequence[str] = (),
    text: str = "",
    command: str = "",
    whole_person: Guarantee | None = None,
    unprotected: tuple[str, ...] = (),
) -> FitResult:
    """Return the result of a fit whose model speaks for itself; ``text`` is its summary if not given."""
    report = replace(
        report_of(model, summary, model.figures(), command), whole_person=whole_person, unprotected=unprotected
    )
    return FitResult(model, text or str(summary), account, report, tuple(remarks))
