"""``askance fit`` on the release of a mean operator: the learner's side of the two-agent protocol."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from askance.estimators.mean_operator_classifier import MeanOperatorClassifier
    from askance.releases.mean_operator_release import MeanOperatorRelease


_FOR_TOTALS = {"features", "id_column", "loss"}
_FOR_REPORTS = {"study", "formula", "question", "method", "covariance", "weight", "engine", "report"}
_SPELLING = {"id_column": "id"}


def is_mean_operator(data: str) -> bool:
    """Whether a file is meant to be the release of a mean operator: these are JSON, all others are not."""
    return Path(data).suffix.lower() == ".json"


def check_options(context: typer.Context, totals: bool) -> None:
    """Refuse options that were given and would be passed over."""
    from askance.errors import InvalidInput

    given = {name for name in context.params if _was_given(context, name)}
    useless = sorted(given & (_FOR_REPORTS if totals else _FOR_TOTALS))
    if useless:
        names = ", ".join(f"--{_SPELLING.get(name, name)}" for name in useless)
        kind = "a mean operator" if totals else "reports: they are for a mean operator (JSON)"
        raise InvalidInput(f"{names}, which {'have' if len(useless) > 1 else 'has'} no meaning for {kind}")


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


def fit_totals(
    data: str,
    *,
    features: Path | None,
    id_column: str | None,
    loss: str,
    ridge: str | float,
    level: float,
    as_json: bool,
    save: Path | None,
    quiet: bool,
) -> None:
    """Fit a classifier to a released mean operator and the features that belong to it, and print it."""
    from askance.cli.output import print_json, say
    from askance.errors import InvalidInput
    from askance.releases.mean_operator_release import MeanOperatorRelease
    from askance.reports.writing import write_text

    release = MeanOperatorRelease.read(data)
    if features is None or id_column is None:
        raise InvalidInput(
            f"{data} is a total of labels",
            "the features that belong to it",
            "Say --features FILE and --id COLUMN.",
        )
    model, notes = _fitted(release, features, id_column, loss, ridge)
    if save is not None:
        write_text(save, model.to_json())
    if as_json:
        print_json(_account(release, model, notes, level) | {"written": [] if save is None else [str(save)]})
    else:
        typer.echo(str(model.summary(level)))
    if not quiet:
        for note in notes:
            say(note)
        if save is not None:
            say(f"wrote {save}")


def _fitted(
    release: "MeanOperatorRelease", path: Path, id_column: str, loss: str, ridge: str | float
) -> "tuple[MeanOperatorClassifier, list[str]]":
    import warnings

    import pandas as pd

    from askance.errors import AskanceWarning
    from askance.estimators.mean_operator_classifier import MeanOperatorClassifier
    from askance.releases.people import PeopleFeatures

    public = PeopleFeatures.read(path, id_column, release.columns)
    release.check_features(public.ids, public.columns, public.values)
    named = pd.DataFrame(public.values, columns=list(public.columns))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AskanceWarning)
        model = MeanOperatorClassifier(loss, ridge, fit_intercept=release.intercept).fit(named, release)
    for warning in caught:
        if not issubclass(warning.category, AskanceWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return model, [str(warning.message) for warning in caught if issubclass(warning.category, AskanceWarning)]


def _account(
    release: "MeanOperatorRelease", model: "MeanOperatorClassifier", notes: list[str], level: float
) -> dict[str, Any]:
    covariance = model.covariance_
    return {
        "summary": model.summary(level).to_dict(),
        "classes": list(release.classes),
        "parameters": {
            "names": list(model.parameter_names_),
            "estimates": model.parameters_.tolist(),
            "covariance": None if covariance is None else covariance.tolist(),
        },
        "mechanism": release.mechanism,
        "guarantee": release.guarantee.to_dict(),
        "remarks": notes,
    }
