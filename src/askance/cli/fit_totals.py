"""``askance fit`` on the release of a mean operator: the learner's side of the two-agent protocol."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from askance.learning.totals.mean_operator_classifier import MeanOperatorClassifier
    from askance.releases.mean_operator_release import MeanOperatorRelease


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
    from askance.files.targets import write_text
    from askance.releases.mean_operator_release import MeanOperatorRelease

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
    import pandas as pd

    from askance.cli.remarks import noted
    from askance.learning.totals.mean_operator_classifier import MeanOperatorClassifier
    from askance.tables.people import PeopleFeatures

    public = PeopleFeatures.read(path, id_column, release.columns)
    release.check_features(public.ids, public.columns, public.values)
    named = pd.DataFrame(public.values, columns=list(public.columns))
    with noted() as notes:
        model = MeanOperatorClassifier(loss, ridge, fit_intercept=release.intercept).fit(named, release)
    return model, notes


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
