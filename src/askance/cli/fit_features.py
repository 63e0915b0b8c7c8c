"""``askance fit`` on a release of features and labels that were both hidden: a linear classifier of clean records."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from askance.learning.records.spread_classifier import SpreadClassifier
    from askance.releases.header import Question
    from askance.releases.release import Release
    from askance.releases.row_reports import RowReports

_WITHOUT_MEANING = ("formula", "method", "covariance", "weight", "engine", "report")
_FEW = 30  # so many coefficients are shown one by one


def fit_features(
    context: typer.Context,
    release: "Release",
    asked: "Question",
    *,
    label: str | None,
    ridge: str | float,
    level: float,
    as_json: bool,
    save: Path | None,
    quiet: bool,
) -> None:
    """Fit a classifier of a question's attributes, and print it."""
    from askance.cli.output import print_json, say
    from askance.cli.remarks import noted
    from askance.files.targets import write_text
    from askance.releases.row_reports import read_row_reports

    _refuse_options(context, asked)
    told = read_row_reports(release, asked.name, label)
    with noted() as notes:
        model = _fitted(told, ridge)
    if save is not None:
        write_text(save, model.to_json())
    if as_json:
        print_json(_account(told, model, notes, level) | {"written": [] if save is None else [str(save)]})
    else:
        typer.echo(_text(asked, told, model, level))
    if not quiet:
        for note in notes:
            say(note)
        if save is not None:
            say(f"wrote {save}")


def refuse_label(label: str | None, asked: "Question") -> None:
    """Refuse --label where there are no features."""
    from askance.errors import InvalidInput

    if label is not None:
        raise InvalidInput(f"--label with the question {asked.name!r}", "it with a question that hides features")


def _refuse_options(context: typer.Context, asked: "Question") -> None:
    from askance.cli.fit_options import was_given
    from askance.errors import InvalidInput

    for name in _WITHOUT_MEANING:
        if was_given(context, name):
            raise InvalidInput(
                f"--{name} for the question {asked.name!r}, which hides features",
                f"no --{name}: a classifier of all of them is fitted, and how is chosen by cross-validation",
                "SpreadClassifier in Python has more choices.",
            )


def _fitted(told: "RowReports", ridge: str | float) -> "SpreadClassifier":
    import pandas as pd

    from askance.learning.records.spread_classifier import SpreadClassifier

    names = told.channel.columns
    features = told.features if names is None else pd.DataFrame(told.features, columns=list(names))
    return SpreadClassifier(told.channel, ridge=ridge).fit(features, told.labels)


def _facts(told: "RowReports", model: "SpreadClassifier") -> dict[str, Any]:
    guarantee = told.channel.guarantee
    return {
        "reports": len(told.labels),
        "classes": model.classes_.tolist(),
        "attributes": int(model.coef_.shape[1]),
        "coefficients": int(model.coef_.size),
        "method": model.method_,
        "ridge": float(model.ridge_),
        "converged": bool(model.converged_),
        "standard_errors": "yes" if model.covariance_ is not None else f"none: {model.covariance_note_}",
        "privacy": f"{guarantee}. {guarantee.in_words()}",
    }


def _text(asked: "Question", told: "RowReports", model: "SpreadClassifier", level: float) -> str:
    from textwrap import fill

    facts = _facts(told, model)
    lines = [f"A linear classifier of clean records, from reports on {asked.name!r} and its label"]
    if model.parameters_.size <= _FEW:
        lines += ["", str(model.summary(level)), ""]
    facts["classes"] = ", ".join(map(str, facts["classes"]))
    facts["converged"] = "yes" if facts["converged"] else "NO"
    facts["ridge"] = f"{facts['ridge']:.4g}"
    for name, value in facts.items():
        shown = f"{value:,}" if isinstance(value, int) else str(value)
        lines.append(fill(f"{name.replace('_', ' ').capitalize()}: {shown}", 100, subsequent_indent="  "))
    return "\n".join(lines)


def _account(told: "RowReports", model: "SpreadClassifier", notes: list[str], level: float) -> dict[str, Any]:
    return _facts(told, model) | {
        "coef": model.coef_.tolist(),
        "intercept": model.intercept_.tolist(),
        "summary": model.summary(level).to_dict() if model.parameters_.size <= _FEW else None,
        "guarantee": told.channel.guarantee.to_dict(),
        "remarks": notes,
    }
