"""A report as one self-contained page."""

import os
from pathlib import Path

from askance.files.kinds import REPORT
from askance.files.targets import check_target, write_text
from askance.reports.answer_page import answer_sections
from askance.reports.estimator_html import estimator_page
from askance.reports.estimator_report import EstimatorReport
from askance.reports.number_page import number_sections
from askance.reports.number_report import NumberReport
from askance.reports.question_page import question_page
from askance.reports.report import Report


def write_report(
    path: str | os.PathLike[str], report: Report | NumberReport | EstimatorReport, *, overwrite: bool = False
) -> Path:
    """Write a report as one HTML file, whole or not at all.

    Parameters
    ----------
    path : path
    report : Report, NumberReport or EstimatorReport
    overwrite : bool
        Replace an earlier file; refused otherwise.
    """
    target = Path(path)
    check_target(target, REPORT, overwrite=overwrite)
    write_text(target, report_html(report), REPORT)
    return target


def report_html(report: Report | NumberReport | EstimatorReport) -> str:
    """Return the page."""
    if isinstance(report, EstimatorReport):
        return estimator_page(report)
    sections = number_sections(report) if isinstance(report, NumberReport) else answer_sections(report)
    return question_page(report, sections)
