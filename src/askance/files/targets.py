"""Results on disk: checked before the work begins, and never half-written."""

import os
from pathlib import Path

from askance.errors import InvalidInput, ReleaseError
from askance.files.atomic import written_whole


def check_target(path: Path, *, overwrite: bool, inputs: tuple[Path, ...] = ()) -> None:
    """Refuse a file that cannot or must not be written, before anything is computed.

    Parameters
    ----------
    path : Path
    overwrite : bool
        Whether an earlier file may be replaced.
    inputs : tuple of Path
        Files that are read or written besides, which it must not be.
    """
    for other in inputs:
        if path.resolve() == other.resolve():
            raise InvalidInput(f"{path} would be written over {other}", "a file of its own for every output")
    if path.is_dir():
        raise ReleaseError(f"{path} is a folder", "the name of a file")
    if path.exists() and not path.is_file():
        raise ReleaseError(f"{path} is a device or a pipe", "the name of a file")
    if not path.parent.is_dir():
        raise ReleaseError(f"cannot write {path}: there is no folder {path.parent}", remedy="Make it first.")
    if os.path.lexists(path) and not overwrite:
        raise ReleaseError(
            f"{path} exists already", remedy="Choose another name, or say --overwrite (in Python overwrite=True)."
        )
    if not os.access(path.parent, os.W_OK):
        raise ReleaseError(f"cannot write {path}: no permission for the folder {path.parent}")


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
