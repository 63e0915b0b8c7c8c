"""Results on disk: checked before the work begins, never half-written, and never over a file of another kind."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from askance.errors import InvalidInput, ReleaseError
from askance.files.kinds import PICTURES, PNG, FileKind, described

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_target(path: Path, kind: FileKind, *, overwrite: bool, inputs: tuple[Path, ...] = ()) -> None:
    """Refuse a file that cannot or must not be written, before anything is computed.

    Parameters
    ----------
    path : Path
    kind : FileKind
        What will be written: only a file of this kind, or an empty one, may be replaced.
    overwrite : bool
        Whether an earlier file may be replaced.
    inputs : tuple of Path
        Files that are read or written besides, which it must not be.
    """
    for other in inputs:
        if _same(path, other):
            raise InvalidInput(f"{path} would be written over {other}", "a file of its own for every output")
    if path.is_dir():
        raise ReleaseError(f"{path} is a folder", "the name of a file")
    refuse_misnamed(path, kind)
    _refuse_beside_a_database(path)
    if path.exists() and not path.is_file():
        raise ReleaseError(f"{path} is a device or a pipe", "the name of a file")
    if meant(path).is_symlink():
        raise ReleaseError(f"{path} is a link that leads to itself", "the name of a file")
    folder = meant(path).parent
    if not folder.is_dir():
        raise ReleaseError(f"cannot write {path}: there is no folder {folder}", remedy="Make it first.")
    if os.path.lexists(path) and not overwrite:
        raise ReleaseError(
            f"{path} exists already", remedy="Choose another name, or say --overwrite (in Python overwrite=True)."
        )
    refuse_another_kind(path, kind)
    if not os.access(folder, os.W_OK):
        raise ReleaseError(f"cannot write {path}: no permission for the folder {folder}")


def refuse_misnamed(path: Path, kind: FileKind) -> None:
    """Refuse a new file the name of another format; what is there already is refused for what it is."""
    if kind.misnamed(path) and not os.path.lexists(path):
        usual = path.with_suffix(kind.endings[0]).name
        raise ReleaseError(f"{path} for {kind.words}", f"a name that ends with {kind.endings[0]}, such as {usual}")


@contextmanager
def written_whole(path: str | os.PathLike[str], kind: FileKind) -> Iterator[Path]:
    """Give a temporary name to write to; the file takes its real name only when the ``with`` block ends well.

    Whatever stood under that name before stays until then, and stays for good if anything fails, or if it is not of
    this kind: that is seen before the block begins, and looked at again when it ends.
    """
    target = meant(Path(path))
    _refuse_beside_a_database(target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    refuse_another_kind(target, kind)
    try:
        yield temporary
        refuse_another_kind(target, kind)
        temporary.replace(target)
    except ReleaseError:
        raise
    except OSError as error:
        raise ReleaseError(f"cannot write {target} ({error.strerror or error})") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str, kind: FileKind) -> None:
    """Write a text file whole or not at all, over nothing but an earlier file of its kind."""
    with written_whole(path, kind) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_figure(path: Path, figure: "Figure") -> None:
    """Write a figure, in the format that the file's name ends with, whole or not at all."""
    with written_whole(path, PICTURES.get(path.suffix.lower(), PNG)) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".").lower() or "png", dpi=160)


def meant(path: Path) -> Path:
    """Return the file that is written: where a link points to, not the link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def refuse_another_kind(path: Path, kind: FileKind) -> None:
    """Refuse to write over anything but a file of a kind, or an empty one."""
    try:
        if not path.exists() or (path.is_file() and path.stat().st_size == 0) or kind.holds(path):
            return
        found = "a folder" if path.is_dir() else described(path)
    except OSError as error:
        found = f"something that cannot be read ({error.strerror or error})"
    raise ReleaseError(
        f"{path} holds {found}", f"{kind.words} to overwrite, or nothing", "Nothing was written. Choose another name."
    )


def _refuse_beside_a_database(path: Path) -> None:
    """Refuse names of the files that SQLite keeps beside a ledger: it deletes what it finds there."""
    for ending in ("-journal", "-wal", "-shm"):
        beside = meant(path)
        database = beside.with_name(beside.name.removesuffix(ending) or beside.name)
        if database == beside or not database.is_file():
            continue
        with database.open("rb") as file:
            if file.read(15) == b"SQLite format 3":
                raise ReleaseError(f"{path} is where {database} keeps what is unfinished", "another name")


def _same(path: Path, other: Path) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:  # one of them is not there
        return os.path.realpath(path) == os.path.realpath(other)
