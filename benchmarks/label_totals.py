"""Labels as totals: accuracy of private labels on Adult, and the speed of release and fit.

Adult is pooled and split anew at random, two thirds to learn from and one to test on, seed 0: the ridge's rule was
tried out on the split that the file is shipped with. Features are public: numbers standardised (capital gain and loss
as log(1 + x)), categories as indicators of their levels, each row divided by its 2-norm. The ridge is "auto": a penalty
by direction that follows from the noise's variance and the features (askance.learning.totals.noise_ridge); no label is
looked at for it. Accuracies are means over 10 releases, for one split.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import askance as ask
from askance.errors import InvalidInput
from askance.papers.data.labelled_sets import LabelledSet, adult
from benchmarks import Measurement, _label_proportions, _shaped_totals, best_seconds
from benchmarks._peers import PeersUnavailable, environment, run

WANTED = {0.1: 0.83, 1.0: 0.843}
RELEASES = 10
FEATURES = 50
RELEASE_ROWS = 10_000_000
NEEDED = 12  # gigabytes of free memory for as many rows
FIT_ROWS = 1_000_000

PEERS = ("diffprivlib==0.6.6", "scikit-learn==1.5.2")  # it does not work with newer ones
PEER_SCRIPT = """
import json, warnings
import numpy as np
from diffprivlib.models import LogisticRegression
warnings.filterwarnings("ignore")
data = np.load(PATH)
found = {}
for epsilon in EPSILONS:
    fits = [LogisticRegression(epsilon=epsilon, data_norm=1.0).fit(data["X"], data["y"]) for _ in range(RELEASES)]
    hits = [fit.score(data["X_test"], data["y_test"]) for fit in fits]
    found[str(epsilon)] = float(np.mean(hits))
print(json.dumps(found))
"""


def main() -> Iterator[Measurement]:
    yield from accuracy()
    yield from _shaped_totals.main()
    yield from release_speed()
    yield from fit_speed()
    yield from _label_proportions.main()


# -- accuracy --------------------------------------------------------------------------------------------


def accuracy() -> Iterator[Measurement]:
    data, missing = None, "ASKANCE_DATA names no folder: one that holds adult/adult.parquet is needed"
    try:
        data = adult()
    except InvalidInput as error:
        missing = str(error)
    if data is None or data.stand_in:
        for epsilon, wanted in WANTED.items():
            yield Measurement(f"Adult, epsilon {epsilon:g}: accuracy", None, "", at_least=wanted, skipped=missing)
        return
    X, y, X_test, y_test = data.split(np.random.default_rng(0))
    clean = LogisticRegression(max_iter=2000).fit(X, y).score(X_test, y_test)
    yield Measurement("Adult: accuracy, clean labels, scikit-learn", float(clean), "")
    theirs, unavailable = peers(data)
    for epsilon, wanted in WANTED.items():
        for mechanism, limit in (("auto", wanted), ("response", None)):
            hits = []
            for _ in range(RELEASES):
                release = ask.release_mean_operator(X, y, epsilon, mechanism=mechanism)
                hits.append(ask.MeanOperatorClassifier(ridge="auto").fit(X, release).score(X_test, y_test, of="truth"))
            how = f"auto ({release.mechanism})" if mechanism == "auto" else "local response"
            name = f"Adult, epsilon {epsilon:g}: accuracy, {how}"
            yield Measurement(name, float(np.mean(hits)), "", at_least=limit)
            yield Measurement(f"{name}, standard deviation of one release", float(np.std(hits, ddof=1)), "")
        name = f"Adult, epsilon {epsilon:g}: accuracy, diffprivlib's LogisticRegression (which protects x too)"
        yield Measurement(name, theirs.get(str(epsilon)), "", skipped=unavailable)


def peers(data: LabelledSet) -> tuple[dict[str, float], str]:
    """Accuracies of diffprivlib by epsilon, on the same rows; or why there are none."""
    X, y, X_test, y_test = data.split(np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "adult.npz")
        np.savez(path, X=X, y=y, X_test=X_test, y_test=y_test)
        script = PEER_SCRIPT.replace("PATH", json.dumps(path)).replace("RELEASES", str(RELEASES))
        try:
            return run(environment(*PEERS), script.replace("EPSILONS", json.dumps(list(WANTED)))), ""
        except PeersUnavailable as error:
            return {}, str(error)


# -- speed -----------------------------------------------------------------------------------------------


def people(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Features of a logistic model, and labels of -1 and 1; made in blocks, so that memory holds little else."""
    X, y = np.empty((rows, FEATURES)), np.empty(rows)
    theta = np.linspace(-0.5, 0.5, FEATURES)
    for start in range(0, rows, 250_000):
        block = slice(start, start + 250_000)
        X[block] = rng.random((len(X[block]), FEATURES)) - 0.5
        y[block] = np.where(rng.random(len(X[block])) < 1 / (1 + np.exp(-X[block] @ theta)), 1.0, -1.0)
    return X, y


def release_speed() -> Iterator[Measurement]:
    """The exact sums of a release, with all checks, against one product of numpy over the same table.

    The second half of the rows tells what a row costs. What does not grow with them, above all the choice of a shape
    for the noise by predicted error (some tenths of a second), is in the first half.
    """
    free = free_gigabytes()
    rows = RELEASE_ROWS if free >= NEEDED else RELEASE_ROWS // 5
    X, y = people(rows, np.random.default_rng(0))
    half = rows // 2
    seconds = best_seconds(
        {
            "numpy": lambda: X.T @ y,
            "half numpy": lambda: X[:half].T @ y[:half],
            "release": lambda: ask.release_mean_operator(X, y, 1.0, mechanism="auto"),
            "half release": lambda: ask.release_mean_operator(X[:half], y[:half], 1.0, mechanism="auto"),
        }
    )
    name = "{:,} rows x {}: release, a row more to one of numpy's X.T @ y"
    ratio = (seconds["release"] - seconds["half release"]) / (seconds["numpy"] - seconds["half numpy"])
    yield Measurement(f"{rows:,} rows x {FEATURES}: numpy's X.T @ y", seconds["numpy"], "s")
    yield Measurement(f"{rows:,} rows x {FEATURES}: release", seconds["release"], "s")
    if rows == RELEASE_ROWS:
        yield Measurement(name.format(rows, FEATURES), ratio, at_most=1.3)
    else:  # differences of shorter times are less certain: no target
        yield Measurement(name.format(rows, FEATURES), ratio)
        short = f"{free:.0f} GB of memory are free, and {NEEDED} are needed"
        yield Measurement(name.format(RELEASE_ROWS, FEATURES), None, at_most=1.3, skipped=short)


def fit_speed() -> Iterator[Measurement]:
    X, y = people(FIT_ROWS, np.random.default_rng(0))
    release = ask.release_mean_operator(X, y, 1.0)
    seconds = best_seconds(
        {
            "clean": lambda: LogisticRegression().fit(X, y),
            "released": lambda: ask.MeanOperatorClassifier().fit(X, release),
        },
        repeats=3,
    )
    name = f"n={FIT_ROWS:,}, d={FEATURES}"
    yield Measurement(f"{name}: scikit-learn on clean labels", seconds["clean"], "s")
    ratio = seconds["released"] / seconds["clean"]
    yield Measurement(f"{name}: fit from a release, to scikit-learn on clean labels", ratio, at_most=2)


def free_gigabytes() -> float:
    """Memory that may be used; without a limit where the system does not tell."""
    try:
        memory = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return float("inf")
    return int(memory.split("MemAvailable:")[1].split()[0]) / 1e6
