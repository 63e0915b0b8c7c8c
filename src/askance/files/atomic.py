"""Files that are either there and whole, or not there at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from askance.errors import ReleaseError


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name to write to; the file takes its real name only when the ``with`` block ends well.

    Whatever stood under that name before stays until then, and stays for good if anything fails.
    """
    target = Path(path)
    if target.is_symlink():
        target = target.resolve()  # the file that is meant, not the link to it
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise ReleaseError(f"cannot write {target} ({error.strerror or error})") from error
    finally:
        temporary.unlink(missing_ok=True)
