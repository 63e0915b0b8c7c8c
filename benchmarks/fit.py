"""Fitting: against scikit-learn on clean labels, growth with n, and a release larger than the memory allowed."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import LogisticRegression

import askance as ask
from askance.engines.local.engine import LocalEngine
from askance.releases.header import Covariate, Header, Question
from askance.releases.writer import ReleaseWriter
from benchmarks import Measurement, best_seconds

FEATURES = 20
CHANNEL = ask.RandomizedResponse([0, 1], epsilon=1.0)
RELEASE_ROWS = 20_000_000
RELEASE_FEATURES = 10

FIT_RELEASE = """
import json, resource, sys, time
import askance as ask
start = time.perf_counter()
fitted = ask.IndirectClassifier().fit_release(sys.argv[1])
print(json.dumps({
    "seconds": time.perf_counter() - start,
    "mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "coefficients": fitted.coef_[0].tolist(),
    "rows": fitted.n_reports_,
}))
"""


def respondents(n: int, features: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, clean labels and reports of a logistic model."""
    X = rng.normal(size=(n, features))
    theta = np.linspace(-0.5, 0.5, features)
    labels = (rng.random(n) < 1 / (1 + np.exp(0.3 - X @ theta))).astype(int)
    return X, labels, CHANNEL.simulate(labels, rng)


def main() -> Iterator[Measurement]:
    rng = np.random.default_rng(0)
    yield from against_scikit_learn(rng)
    yield from small_survey(rng)
    yield from growth(rng)
    yield from many_columns(rng)
    yield from from_disk(rng)
    yield from larger_than_memory(rng)


def against_scikit_learn(rng: np.random.Generator) -> Iterator[Measurement]:
    X, labels, reports = respondents(1_000_000, FEATURES, rng)
    seconds = best_seconds(
        {
            "clean": lambda: LogisticRegression(C=np.inf).fit(X, labels),
            "marginal": lambda: ask.IndirectClassifier(CHANNEL).fit(X, reports),
            "moments": lambda: ask.IndirectClassifier(CHANNEL, method="moments").fit(X, reports),
        }
    )
    yield Measurement("n=1e6, d=20: scikit-learn on clean labels", seconds["clean"], "s")
    for method in ("marginal", "moments"):
        name = f"n=1e6, d=20: {method}, to scikit-learn on clean labels"
        yield Measurement(name, seconds[method] / seconds["clean"], at_most=1)


def small_survey(rng: np.random.Generator) -> Iterator[Measurement]:
    X, _, reports = respondents(20_000, 3, rng)
    for method in ("marginal", "moments"):
        fit = ask.IndirectClassifier(CHANNEL, method=method).fit
        seconds = best_seconds({"fit": lambda fit=fit: fit(X, reports)}, repeats=10)["fit"]
        yield Measurement(f"n=20,000, d=3: {method}", 1000 * seconds, "ms", at_most=60)


def growth(rng: np.random.Generator) -> Iterator[Measurement]:
    X, _, reports = respondents(4_000_000, FEATURES, rng)
    for method in ("marginal", "moments"):
        fit = ask.IndirectClassifier(CHANNEL, method=method).fit
        seconds = best_seconds(
            {
                "one million": lambda fit=fit: fit(X[:1_000_000], reports[:1_000_000]),
                "four million": lambda fit=fit: fit(X, reports),
            },
            repeats=3,
        )
        name = f"{method}: four million rows, to one million"
        yield Measurement(name, seconds["four million"] / seconds["one million"], at_most=4.6)


def many_columns(rng: np.random.Generator) -> Iterator[Measurement]:
    n, columns = 50_000, 784
    X = rng.normal(size=(n, columns))
    labels = (rng.random(n) < 1 / (1 + np.exp(0.3 - X @ rng.normal(size=columns) / 14))).astype(int)
    reports = CHANNEL.simulate(labels, rng)
    seconds = best_seconds(
        {
            "clean": lambda: LogisticRegression(C=np.inf).fit(X, labels),
            "marginal": lambda: ask.IndirectClassifier(CHANNEL).fit(X, reports),
        },
        repeats=3,
    )
    yield Measurement("n=50,000, d=784: scikit-learn on clean labels", seconds["clean"], "s")
    name = "n=50,000, d=784: marginal, to scikit-learn on clean labels"
    yield Measurement(name, seconds["marginal"] / seconds["clean"], at_most=10)


def from_disk(rng: np.random.Generator) -> Iterator[Measurement]:
    """One pass of a fit that keeps no rows, against pyarrow's reading the same columns into a matrix."""
    n = 1_500_000
    columns = [f"x{i}" for i in range(RELEASE_FEATURES)]
    header = Header((Question("y", CHANNEL),), tuple(Covariate(name, "number") for name in columns))
    X, _, reports = respondents(n, RELEASE_FEATURES, rng)
    kinds = {"normal numbers": X, "whole numbers": np.round(10 * X)}
    for kind, numbers in kinds.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "release.parquet"
            with ReleaseWriter(path, header) as writer:
                arrays = {"y": reports, **{name: numbers[:, i] for i, name in enumerate(columns)}}
                writer.write(pa.table(arrays, schema=header.schema))
            scan = best_seconds({"scan": lambda path=path: _scanned(path, columns)}, repeats=3)["scan"]
            engine = _Stopwatch(threads=1, memory=1 << 24)
            ask.IndirectClassifier().fit_release(path, engine=engine)
        name = f"from disk, {kind}: a pass of a fit, to a bare scan (one thread each)"
        yield Measurement(name, float(np.median(engine.passes(n))) / scan, at_most=2)


def _scanned(path: Path, columns: list[str]) -> None:
    file = pq.ParquetFile(path, read_dictionary=["y"])
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, use_threads=False)
        matrix = np.empty((table.num_rows, len(columns)))
        for number, name in enumerate(columns):
            matrix[:, number] = table[name].to_numpy()


class _Stopwatch(LocalEngine):
    """The local engine, and how long each of its passes took."""

    def __init__(self, **options: int) -> None:
        super().__init__(**options)
        object.__setattr__(self, "taken", [])

    def reduce(self, statistic: Any, source: Any) -> Any:
        start = time.perf_counter()
        value = super().reduce(statistic, source)
        self.taken.append((source.num_rows, time.perf_counter() - start))
        return value

    def passes(self, rows: int) -> list[float]:
        """Seconds of those that went over so many rows."""
        return [seconds for number, seconds in self.taken if number == rows]


def larger_than_memory(rng: np.random.Generator) -> Iterator[Measurement]:
    columns = [f"x{i}" for i in range(RELEASE_FEATURES)]
    header = Header((Question("y", CHANNEL),), tuple(Covariate(name, "number") for name in columns))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release"
        with ReleaseWriter(path, header, rows_per_part=2_000_000) as writer:
            for _ in range(RELEASE_ROWS // 500_000):
                X, _, reports = respondents(500_000, RELEASE_FEATURES, rng)
                arrays = {"y": reports, **{name: X[:, i] for i, name in enumerate(columns)}}
                writer.write(pa.table(arrays, schema=header.schema))
        size = sum(file.stat().st_size for file in path.iterdir()) / 2**20
        free = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
        done = subprocess.run(
            [sys.executable, "-c", FIT_RELEASE, str(path)], check=True, capture_output=True, text=True, env=free
        )
    found = json.loads(done.stdout)
    error = np.abs(np.array(found["coefficients"]) - np.linspace(-0.5, 0.5, RELEASE_FEATURES)).max()
    yield Measurement(f"release of {found['rows']:,} rows, on disk", size, "MiB")
    yield Measurement("release: fitted in", found["seconds"], "s")
    yield Measurement("release: most memory", found["mebibytes"], "MiB", at_most=2048)
    yield Measurement("release: largest error of a coefficient", float(error), "", at_most=0.02)
