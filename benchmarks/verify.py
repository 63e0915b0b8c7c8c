"""A release of 256 MB: ``askance verify`` against a bare SHA-256 of the file, and reading with and without checks."""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import askance as ask
from askance.files.location import Location
from askance.releases.declarations import Covariate, Question
from askance.releases.header import Header
from askance.releases.sealed_parquet import check_segments, checked_parquet
from askance.releases.verification import verify_release
from askance.releases.writer import ReleaseWriter
from benchmarks import Measurement, best_seconds

MEGABYTES = 256
COLUMNS = 16
ROWS = MEGABYTES * 1_000_000 // (8 * COLUMNS)


def write_release(path: Path) -> None:
    """Write answers with covariates that do not compress, so that the file is as large as its numbers."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(COLUMNS)]
    channel = ask.RandomizedResponse([0, 1], epsilon=1.0)
    header = Header((Question("ill", channel),), tuple(Covariate(name, "number") for name in names))
    arrays = {"ill": channel.simulate(rng.integers(0, 2, ROWS), rng)} | {name: rng.random(ROWS) for name in names}
    with ReleaseWriter(path, header) as writer:
        writer.write(pa.table(arrays, schema=header.schema))


def bare_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checked(path: Path, columns: list[str] | None) -> int:
    with checked_parquet(Location.of(path)) as (parquet, _):
        return sum(parquet.read_row_group(group, columns).num_rows for group in range(parquet.num_row_groups))


def unchecked(path: Path, columns: list[str] | None) -> int:
    with pq.ParquetFile(path) as parquet:
        return sum(parquet.read_row_group(group, columns).num_rows for group in range(parquet.num_row_groups))


def main() -> Iterator[Measurement]:
    program = str(Path(sys.executable).with_name("askance"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.parquet"
        write_release(path)
        megabytes = path.stat().st_size / 1e6
        seconds = best_seconds(
            {
                "bare": lambda: bare_hash(path),
                "one thread": lambda: check_segments(Location.of(path), 1),
                "all threads": lambda: check_segments(Location.of(path), os.cpu_count() or 1),
                "verify": lambda: verify_release(path),
                "command": lambda: subprocess.run([program, "verify", path], check=True, capture_output=True),
                "checked": lambda: checked(path, None),
                "unchecked": lambda: unchecked(path, None),
                "one checked": lambda: checked(path, ["ill"]),
                "one unchecked": lambda: unchecked(path, ["ill"]),
            },
            repeats=3,
        )
        yield Measurement("size of the file", megabytes, "MB", at_least=200)
        yield Measurement("bare sha256", megabytes / seconds["bare"], "MB/s")
        yield Measurement("speed of its digests to a bare sha256, one thread", seconds["bare"] / seconds["one thread"])
        yield Measurement("speed of its digests to a bare sha256", seconds["bare"] / seconds["all threads"])
        yield Measurement("speed of verify_release to a bare sha256", seconds["bare"] / seconds["verify"], at_least=0.5)
        yield Measurement("speed of askance verify, with its start", seconds["bare"] / seconds["command"])
        yield Measurement(
            "time of reading all columns, checked to unchecked", seconds["checked"] / seconds["unchecked"]
        )
        ratio = seconds["one checked"] / seconds["one unchecked"]
        yield Measurement("time of reading one column of answers, checked to unchecked", ratio)
