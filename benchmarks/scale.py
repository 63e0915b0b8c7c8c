"""Engines: rows per second of one pass and of a whole fit, against a bare scan of the same files by Arrow (the limit).

Each engine starts in a function of its own; one that cannot start here is skipped, and says why.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

import askance as ask
from askance.engines.base import Engine
from askance.engines.local.engine import LocalEngine
from askance.errors import AskanceError
from askance.learning.face.release_records import NumericColumns, records_of
from askance.releases.header import Covariate, Header, Question
from askance.releases.release import Release
from askance.releases.writer import ReleaseWriter
from askance.statistics.softmax_score import SoftmaxScore
from benchmarks import Measurement, best_seconds

SIZES = (1_000_000, 4_000_000, 16_000_000)
REPEATS = 3
COLUMNS = tuple(f"x{number}" for number in range(5))
CHANNEL = ask.RandomizedResponse([0, 1], epsilon=1.0)
HEADER = Header((Question("y", CHANNEL),), tuple(Covariate(name, "number") for name in COLUMNS))


@contextmanager
def local() -> Iterator[Engine]:
    yield LocalEngine()


@contextmanager
def dask(workers: int = 2) -> Iterator[Engine]:
    from distributed import Client, LocalCluster

    from askance.engines.dask.engine import DaskEngine

    quiet = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, scheduler_kwargs=quiet) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield DaskEngine(client)


@contextmanager
def spark() -> Iterator[Engine]:
    from askance.engines.spark.engine import SparkEngine

    engine = SparkEngine.start("local[2]")
    try:
        yield engine
    finally:
        engine.close()


ENGINES: dict[str, Callable[[], AbstractContextManager[Engine]]] = {"local": local, "dask": dask, "spark": spark}


def main() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        releases = {rows: write(Path(folder) / f"{rows}", rows) for rows in SIZES}
        limits = {rows: best_seconds({"scan": partial(scan, release)})["scan"] for rows, release in releases.items()}
        for rows, seconds in limits.items():
            name = f"{rows // 1_000_000} million rows: bare scan by Arrow"
            yield Measurement(name, rows / seconds / 1e6, "million rows/s")
        for name, start in ENGINES.items():
            yield from speed(name, start, releases, limits)
        yield from two_workers_to_one(releases[max(SIZES)])


def write(path: Path, rows: int) -> Release:
    """Write respondents of a logistic model, a million to a file."""
    rng = np.random.default_rng(rows)
    theta = np.linspace(-0.5, 0.5, len(COLUMNS))
    with ReleaseWriter(path, HEADER, rows_per_part=1_000_000) as writer:
        for start in range(0, rows, 500_000):
            X = rng.normal(size=(min(500_000, rows - start), len(COLUMNS)))
            labels = (rng.random(len(X)) < 1 / (1 + np.exp(0.3 - X @ theta))).astype(int)
            arrays = {"y": CHANNEL.simulate(labels, rng), **dict(zip(COLUMNS, X.T, strict=True))}
            writer.write(pa.table(arrays, schema=HEADER.schema))
    return Release.read(path)


def scan(release: Release) -> None:
    """Read every column of every row, and do nothing with it."""
    for _ in ds.dataset(str(release.path)).to_batches():
        pass


def one_pass(engine: Engine, release: Release) -> object:
    """Read, decode and sum up every row once: what a step of a fit costs where nothing is held."""
    statistic = SoftmaxScore(np.zeros((1, len(COLUMNS) + 1)), np.ascontiguousarray(CHANNEL.matrix), "marginal", True)
    return engine.reduce(statistic, records_of(release, "y", NumericColumns(COLUMNS), None))


def fit(engine: Engine, release: Release) -> object:
    return ask.IndirectClassifier().fit_release(release, engine)


def speed(
    name: str,
    start: Callable[[], AbstractContextManager[Engine]],
    releases: dict[int, Release],
    limits: dict[int, float],
) -> Iterator[Measurement]:
    with ExitStack() as stack:
        try:
            engine = stack.enter_context(start())
        except (AskanceError, ImportError) as error:
            yield Measurement(f"{name}: one pass and a whole fit", None, skipped=str(error))
            return
        for rows, release in releases.items():
            tasks = {"one pass": partial(one_pass, engine, release), "whole fit": partial(fit, engine, release)}
            for what, seconds in best_seconds(tasks, REPEATS).items():
                size = f"{rows // 1_000_000} million rows, {name}: {what}"
                yield Measurement(size, rows / seconds / 1e6, "million rows/s")
                yield Measurement(f"{size}, to the scan", seconds / limits[rows])


def two_workers_to_one(release: Release) -> Iterator[Measurement]:
    """How much faster two Dask workers are than one, each on a core of its own."""
    with dask(1) as one, dask(2) as two:
        for what, task in {"one pass": one_pass, "whole fit": fit}.items():
            seconds = best_seconds({"one": partial(task, one, release), "two": partial(task, two, release)}, REPEATS)
            name = f"{release.num_rows // 1_000_000} million rows, dask: {what}, two workers to one"
            yield Measurement(name, seconds["one"] / seconds["two"], at_least=1.6)
