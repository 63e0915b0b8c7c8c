"""Where data sets are looked for, and what is said about each: its source, and whether something stands in for it."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from askance.errors import InvalidInput

FOLDER = "ASKANCE_DATA"


@dataclass(frozen=True, eq=False)
class Sourced:
    """Data with their origin.

    Parameters
    ----------
    name : str
        A word for plots and tables.
    source : str
        Where they are from, for whoever reads the figure.
    stand_in : bool
        Whether they are made up or others, because the real ones were not to be had.
    """

    name: str
    source: str
    stand_in: bool = field(default=False, kw_only=True)


def data_file(name: str) -> Path | None:
    """A file of the folder that ASKANCE_DATA names; None if it names none."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return None
    path = Path(folder) / name
    if not path.is_file():
        raise InvalidInput(
            f"{FOLDER}={folder}, where {name} is missing",
            "a folder with the data sets that reproductions use",
            f"Unset {FOLDER} to do without: data are then fetched, or made up.",
        )
    return path
