"""Privatise where the data are: every worker draws its own entropy and writes its own part of the release."""

import os
import secrets
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from askance.engines.base import Engine
from askance.errors import InvalidInput, ReleaseError
from askance.files.location import StrPath
from askance.releases.header import Header
from askance.releases.manifest import write_manifest
from askance.releases.privatizing import Privatized, Privatizer, check_data, header_of
from askance.releases.release import Release
from askance.releases.study import Study
from askance.releases.writer import ReleaseWriter, put_in_place, refuse_existing
from askance.tables.columns import Fault, refuse
from askance.tables.data_files import DataFile, open_data


@dataclass(frozen=True)
class Part:
    """What became of one piece of the data: a part file, or what is wrong with the piece."""

    name: str
    rows: int
    faults: tuple[Fault, ...]
    clipped: Counter[str]


@dataclass(frozen=True)
class PrivatizePiece:
    """Hide the answers of one file, or of some row groups of it, and write a part file.

    A job may run more than once, on another worker after a failure: each attempt writes a file of its own, and only the
    one that reports back is kept.
    """

    header: Header
    file: DataFile
    row_groups: tuple[int, ...] | None
    folder: str
    number: int
    public_columns: tuple[str, ...] = ()

    def run(self) -> Part:
        name = f"part-{self.number:05d}.{secrets.token_hex(6)}.parquet"
        faults: dict[str, Fault] = {}
        with ReleaseWriter(Path(self.folder) / name, self.header, part=True) as writer:
            where = f" of {self.file.path.name}"
            privatizer = Privatizer(self.header, self.public_columns)
            clipped = privatizer.hide_file(self.file, writer, faults, self.row_groups, where=where)
        return Part(name, writer.num_rows, tuple(faults.values()), clipped)


def privatize_on(
    engine: Engine,
    study: Study,
    data: StrPath,
    out: StrPath,
    *,
    overwrite: bool = False,
    public_columns: Sequence[str] = (),
) -> Privatized:
    """Privatise CSV or Parquet files on an engine's workers, into a folder of part files.

    Workers must see the data and the release under the same paths. The release appears whole or not at all. Whether
    covariates or the order of rows tell answers, each worker looks for in its own piece.
    """
    opened = open_data(data)
    header = header_of(study, opened)
    dropped = check_data(opened, header, out)
    target = Path(out)
    refuse_existing(target, overwrite)
    folder = target.parent / f".{target.name}.{secrets.token_hex(6)}.tmp"
    try:
        folder.mkdir()
    except OSError as error:
        raise ReleaseError(f"cannot write {target} ({error.strerror or error})") from error
    try:
        parts = engine.map(_pieces(opened.files, header, folder, tuple(public_columns)))
        refuse([fault for part in parts for fault in part.faults], str(data))
        if not sum(part.rows for part in parts):
            raise InvalidInput(f"{data} has no rows", "at least one")
        _keep(folder, parts)
        write_manifest(folder)
        put_in_place(folder, target, overwrite=overwrite)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Privatized(Release.read(out), dropped, sum((part.clipped for part in parts), Counter()))


def _pieces(files: Sequence[DataFile], header: Header, folder: Path, public: tuple[str, ...]) -> list[PrivatizePiece]:
    pieces: list[PrivatizePiece] = []
    for file in files:
        groups: list[tuple[int, ...] | None] = [None]
        if file.is_parquet:
            groups = [(number,) for number in range(pq.read_metadata(file.path).num_row_groups)]
        for group in groups:
            pieces.append(PrivatizePiece(header, file, group, str(folder.absolute()), len(pieces), public))
    return pieces


def _keep(folder: Path, parts: Sequence[Part]) -> None:
    """Drop what abandoned attempts left behind, and give the parts their final names."""
    kept = {part.name for part in parts}
    for file in folder.iterdir():
        if file.name not in kept:
            file.unlink()
    for number, part in enumerate(parts):
        written = folder / part.name
        if not written.exists():
            raise ReleaseError(
                f"a worker wrote {part.name}, but it cannot be seen from here",
                "workers that share the folder of the release",
            )
        if part.rows:
            os.replace(written, folder / f"part-{number:05d}.parquet")
        else:
            written.unlink()
