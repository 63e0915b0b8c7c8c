"""From reports about features and their label, both hidden, to a linear classifier of clean records."""

from dataclasses import replace
from textwrap import fill
from typing import Any

from askance.learning.records.spread_classifier import SpreadClassifier
from askance.printing import one_line
from askance.releases.row_reports import RowReports, read_row_reports
from askance.reports.summary import NO_ESTIMATES
from askance.reports.text import TEXT_WIDTH
from askance.workflows.fit_result import FitResult, model_result
from askance.workflows.remarks import collected_remarks
from askance.workflows.report_files import OpenReports

_FEW_COEFFICIENTS = 30  # so many are a table that people read; a picture has hundreds


def analyse_records(opened: OpenReports, command: str = "") -> FitResult:
    """Fit a linear classifier of a question's attributes to the reports on them and on their label.

    Parameters
    ----------
    opened : OpenReports
        About a question that hides features.
    command : str
        What makes the report again.
    """
    request = opened.request
    reports = read_row_reports(opened.release, opened.asked.name, request.label)
    with collected_remarks() as remarks:
        model = _fitted(reports, request.ridge)
    summary = model.summary(request.level)
    few = len(summary.names) <= _FEW_COEFFICIENTS
    facts, guarantee = _facts(reports, model), reports.channel.guarantee
    account = facts | {
        "coef": model.coef_.tolist(),
        "intercept": model.intercept_.tolist(),
        "summary": summary.to_dict() if few else None,
        "guarantee": guarantee.to_dict(),
        "remarks": remarks,
    }
    title = f"A linear classifier of clean records, from reports on {opened.asked.name!r} and its label"
    text = "\n".join([title, *(["", str(summary), ""] if few else []), *_lines(facts)])
    shown = summary if few else replace(summary, names=(), values=NO_ESTIMATES)
    about: dict[str, Any] = {"whole_person": opened.whole_person, "unprotected": opened.unprotected}
    return model_result(model, shown, account, remarks=remarks, text=text, command=command, **about)


def _fitted(reports: RowReports, ridge: str | float) -> SpreadClassifier:
    import pandas as pd

    names = reports.channel.columns
    features = reports.features if names is None else pd.DataFrame(reports.features, columns=list(names))
    return SpreadClassifier(reports.channel, ridge=ridge).fit(features, reports.labels)


def _facts(reports: RowReports, model: SpreadClassifier) -> dict[str, Any]:
    guarantee = reports.channel.guarantee
    return {
        "reports": len(reports.labels),
        "classes": model.classes_.tolist(),
        "attributes": int(model.n_features_in_),
        "coefficients": int(model.coef_.size),
        "method": model.method_,
        **({} if model.latent_classes_ is None else {"latent_classes": model.latent_classes_}),
        "ridge": float(model.ridge_),
        "converged": bool(model.converged_),
        "standard_errors": "yes" if model.covariance_ is not None else f"none: {model.covariance_note_}",
        "privacy": f"{guarantee}. {guarantee.in_words()}",
    }


def _lines(facts: dict[str, Any]) -> list[str]:
    readable = facts | {
        "reports": f"{facts['reports']:,}",
        "classes": ", ".join(map(str, facts["classes"])),
        "ridge": f"{facts['ridge']:.4g}",
        "converged": "yes" if facts["converged"] else "NO",
    }
    return [
        fill(one_line(f"{name.replace('_', ' ').capitalize()}: {text}"), TEXT_WIDTH, subsequent_indent="  ")
        for name, text in readable.items()
    ]
