"""What ``askance fit`` was given, and which of its options mean something for it."""

from pathlib import Path
from typing import Literal

import typer

Kind = Literal["reports", "totals", "regions"]

_NAMES = {"reports": "reports", "totals": "a mean operator (JSON)", "regions": "counted regions"}
_ONLY_FOR: dict[str, tuple[Kind, ...]] = {
    **dict.fromkeys(
        ("study", "formula", "question", "label", "covariance", "weight", "engine", "report"), ("reports",)
    ),
    **dict.fromkeys(("features", "id_column", "loss"), ("totals",)),
    **dict.fromkeys(("sentences", "structure", "passes", "seed"), ("regions",)),
    **dict.fromkeys(("ridge", "level"), ("reports", "totals")),
    "method": ("reports", "regions"),
}
_SPELLING = {"id_column": "id"}


def kind_of(data: str) -> Kind:
    """Tell a mean operator (JSON) and annotated regions (JSON lines, or Parquet that says so) from reports."""
    if Path(data).suffix.lower() == ".json":
        return "totals"
    from askance.releases.region_release import is_region_release

    return "regions" if is_region_release(data) else "reports"


def check_options(context: typer.Context, kind: Kind) -> None:
    """Refuse options that were given and would be passed over."""
    from askance.errors import InvalidInput

    useless = sorted(name for name, kinds in _ONLY_FOR.items() if was_given(context, name) and kind not in kinds)
    if useless:
        names = ", ".join(f"--{_SPELLING.get(name, name)}" for name in useless)
        meant = " or ".join(_NAMES[one] for one in _ONLY_FOR[useless[0]])
        raise InvalidInput(
            f"{names}, which {'have' if len(useless) > 1 else 'has'} no meaning for {_NAMES[kind]}", f"it with {meant}"
        )


def was_given(context: typer.Context, name: str) -> bool:
    """Whether somebody wrote the option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")
