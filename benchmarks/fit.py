"""Fitting: against scikit-learn on clean labels, growth with n, and a release larger than the memory allowed."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.linear_model import LogisticRegression

import askance as ask
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
        yield Measurement(name, seconds[method] / seconds["clean"], at_most=2)


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
