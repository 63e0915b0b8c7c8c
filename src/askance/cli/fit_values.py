"""What is written behind options of ``askance fit``, as numbers, columns and units."""

from askance.cli.options import between_commas
from askance.errors import InvalidInput


def ridge_strength(ridge: str) -> str | float:
    if ridge == "auto":
        return ridge
    try:
        return float(ridge)
    except ValueError:
        raise InvalidInput(f"--ridge {ridge}", "auto, 0 or a positive number") from None


def replicate_columns(columns: str) -> tuple[str, ...]:
    from askance.releases.declarations import Sample

    # An empty text says that there are none, whatever the study says.
    given = Sample(replicate_weights=between_commas(columns, "--replicate-weights")) if columns else Sample()
    return tuple(given.replicate_weights or ())


def units_of_features(text: str | None) -> dict[str, float]:
    units = {}
    for pair in between_commas(text, "--per") or ():
        name, _, size = pair.rpartition("=")
        try:
            units[name.strip()] = float(size)
        except ValueError:
            name = ""
        if not name.strip() or not 0 < units[name.strip()] < float("inf"):
            raise InvalidInput(f"--per {text}", "features and positive numbers, such as age=10,income=1000")
    return units
