"""Inputs such as nobody writes: a corpus of good files, and mutations of them, through the command line.

An input is a number: it fixes which file is changed, how, and what is done with it. No input may end with a traceback
(exit code 70), take longer than ten seconds or more than a gigabyte.
"""

import contextlib
import io
import json
import os
import random
import shutil
import signal
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import askance as ask
from askance.cli.app import DEFECT, main

STUDY = """[study]
name = "s"
title = "A study"
[questions.cheated]
text = "Did you?"
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }
[questions.income]
bounds = [0, 10]
channel = { design = "private-number", epsilon = 4.0 }
[questions.picture]
width = 3
channel = { design = "state-flip", states = 4, flip = 0.1 }
[covariates.age]
type = "number"
[covariates.school]
type = "category"
levels = ["a", "b"]
"""
ODD: list[Any] = [
    None, True, -1, 0, 10**30, 10**9, 1e308, -1e308, 5e-324, 0.5, "", "x", "nan", "1e999999999", "\u0000", "\ud800", [],
    {}, [[]], ["a", "a"], {"a": {}}, [1, [2, [3]]], "infinite", [None] * 3, "a" * 10_000,
]  # fmt: skip
WORDS = [
    "nan", "inf", "-1", "0", "1e308", "1e-320", "1e999999999", "x", "", "a,b", "a" * 9999, "\x1b[31m", "../x", "age",
    "id", "y", "cheated", "9" * 400, "--", "0x10", "~", "a ~ b", "y ~ `", "((((", "C(", "\u0661",
]  # fmt: skip


class Result(NamedTuple):
    """How an input ended."""

    number: int
    words: tuple[str, ...]
    problem: str


def make_corpus(folder: Path) -> None:
    """Write good files of every kind."""
    rng = np.random.default_rng(4)
    n = 60
    (folder / "study.toml").write_text(STUDY)
    answers = pd.DataFrame(
        {
            "cheated": rng.choice(["no", "yes"], n),
            "income": rng.uniform(0, 10, n),
            "age": rng.normal(size=n),
            "school": rng.choice(["a", "b"], n),
            "picture": [rng.integers(0, 4, 3).tolist() for _ in range(n)],
            "id": [f"p{i}" for i in range(n)],
            "bag": np.where(np.arange(n) % 2, "u", "v"),
            "y": rng.choice([-1, 1], n),
        }
    )
    answers.to_parquet(folder / "data.parquet", index=False)
    simple = answers.drop(columns="picture")
    simple.to_csv(folder / "data.csv", index=False)
    (folder / "simple.toml").write_text(STUDY[: STUDY.index("[questions.picture]")] + STUDY[STUDY.index("[cov") :])
    simple[["id", "age", "income"]].to_csv(folder / "x.csv", index=False)
    simple[["bag", "age", "income"]].to_csv(folder / "rows.csv", index=False)
    pd.DataFrame({"bag": ["u", "v"], "no": [0.3, 0.7], "yes": [0.7, 0.3]}).to_csv(folder / "shares.csv", index=False)
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _quiet(["privatize", "study.toml", "data.parquet", "--out", "release.parquet"])
        ask.Ledger.create("b.ledger", "1000", "0.1", data_set="d")
        X, y = simple[["age", "income"]], simple["cheated"]
        warner = ask.Warner(0.8)
        ask.Prevalence(warner).fit(y).save("prevalence.json")
        ask.IndirectClassifier(warner).fit(X, y).save("classifier.json")
        number = ask.PrivateNumber(0, 10, epsilon=4.0)
        ask.IndirectRegressor(number).fit(X[["age"]], number.simulate(X["income"].to_numpy(), rng)).save("line.json")
        ask.RatioEstimator(method="mmd").fit(X, simple["bag"], {"u": [0.3, 0.7], "v": [0.7, 0.3]}).save("ratios.json")
        mean = ask.release_mean_operator(
            X.to_numpy(), simple["y"], 5, classes=(-1, 1), columns=("age", "income"), ids=simple["id"].tolist()
        )
        mean.write("mu.json")
        ask.release_counts({"u": [10, 20], "v": [20, 10]}, 2, classes=("no", "yes")).write("counts.json")
        regions = ask.RegionCounts(["N", "V"], 2).simulate([["N", "V"]] * 8, rng)
        ask.RegionRelease.of(regions, [["dogs", "bark"]] * 8, ["N", "V"]).write("regions.jsonl")
        ask.CountTagger(random_state=0).fit([["dogs", "bark"]] * 8, regions).save("tagger.json")
        Path("text.txt").write_text("dogs bark\n")
    for entry in folder.iterdir():
        entry.chmod(0o644)


PAID = ["--epsilon", "0.5", "--ledger", "b.ledger", "--out", "new.json"]
COUNTS = ["release", "counts", "data.csv", "--label", "cheated", "--bag", "bag", "--classes", "no,yes", *PAID]
# What is done with a file, by its name; the file stands for itself.
USES = {
    "study.toml": [
        ["audit", "study.toml", "--draws", "50", "--quiet"],
        ["privatize", "study.toml", "data.parquet", "--out", "new.parquet"],
    ],
    "simple.toml": [["fit", "data.csv", "--study", "simple.toml", "--question", "cheated"]],
    "data.csv": [
        ["privatize", "simple.toml", "data.csv", "--out", "new.parquet"],
        ["fit", "data.csv", "--study", "simple.toml", "--formula", "cheated ~ age + C(school)"],
        ["fit", "data.csv", "--study", "simple.toml", "--formula", "income ~ age"],
        [*COUNTS, "--id", "id"],
        ["release", "mean-operator", "data.csv", "--features", "x.csv", "--id", "id", "--label", "y", *PAID],
    ],
    "x.csv": [
        ["fit", "mu.json", "--features", "x.csv", "--id", "id"],
        ["predict", "classifier.json", "x.csv", "--id", "id"],
    ],
    "rows.csv": [
        ["fit", "rows.csv", "--proportions", "shares.csv", "--method", "mean-map"],
        ["ratios", "rows.csv", "--model", "ratios.json", "--group", "bag"],
    ],
    "shares.csv": [["fit", "rows.csv", "--proportions", "shares.csv", "--method", "mean-map"]],
    "release.parquet": [
        ["fit", "release.parquet", "--question", "cheated"],
        ["fit", "release.parquet", "--formula", "cheated ~ age"],
        ["fit", "release.parquet", "--formula", "income ~ age"],
        ["audit", "release.parquet", "--draws", "50", "--quiet"],
    ],
    "mu.json": [["fit", "mu.json", "--features", "x.csv", "--id", "id"]],
    "counts.json": [["fit", "rows.csv", "--proportions", "counts.json", "--method", "mean-map"]],
    "regions.jsonl": [["fit", "regions.jsonl", "--seed", "1", "--passes", "1"]],
    "b.ledger": [
        ["ledger", "show", "b.ledger"],
        ["ledger", "receipt", "b.ledger", "--out", "new.receipt"],
        COUNTS,
    ],
    "prevalence.json": [["predict", "prevalence.json", "x.csv"]],
    "classifier.json": [["predict", "classifier.json", "x.csv"]],
    "line.json": [["predict", "line.json", "x.csv"]],
    "ratios.json": [["ratios", "rows.csv", "--model", "ratios.json", "--group", "bag"]],
    "tagger.json": [["tag", "tagger.json", "text.txt"]],
    "text.txt": [["tag", "tagger.json", "text.txt"]],
}
FILES = list(USES)


def run_input(number: int, corpus: Path, place: Path, *, seconds: int = 10) -> Result:
    """Make one input from the corpus, put it through the command line, and say what went wrong, if anything did."""
    rng = random.Random(number)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(corpus, place)
    name = rng.choice(FILES)
    words = list(rng.choice(USES[name]))
    if rng.random() < 0.15:
        values = [i for i in range(1, len(words)) if not words[i].startswith("-")]
        words[rng.choice(values)] = rng.choice(WORDS)
    else:
        path = place / name
        path.write_bytes(_mutated(path, rng))
    with contextlib.chdir(place), _time_limit(seconds):
        return Result(number, tuple(words), _problem(words))


def warm_up(corpus: Path, place: Path) -> list[str]:
    """Use every good file once, so that nothing is compiled later; return what should have worked and did not."""
    failed = []
    for words in (words for uses in USES.values() for words in uses):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(corpus, place)
        with contextlib.chdir(place):
            problem = _problem(words)
        failed += [f"{words}: {problem}"] * bool(problem)
    return failed


def _problem(words: list[str]) -> str:
    try:
        code = _quiet(words)
    except _TooLong:
        return "HANGS"
    except Exception:
        return traceback.format_exc()
    return "exit code 70" if code == DEFECT else ""


def _quiet(words: list[str]) -> int:
    os.environ["ASKANCE_TRACE"] = "1"
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main(words)
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        del os.environ["ASKANCE_TRACE"]
    return 0


class _TooLong(BaseException):
    pass


@contextlib.contextmanager
def _time_limit(seconds: int) -> Any:
    def stop(*_: Any) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGPROF, stop)  # of this process's own time: the machine may be busy
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _mutated(path: Path, rng: random.Random) -> bytes:
    content = path.read_bytes()
    if path.suffix in (".json", ".jsonl") and rng.random() < 0.85:
        lines = content.decode().splitlines() if path.suffix == ".jsonl" else [content.decode()]
        place = rng.randrange(len(lines))
        value = json.loads(lines[place])
        for _ in range(rng.choice([1, 1, 2])):
            value = _changed(value, rng)
        lines[place] = json.dumps(value)
        return "\n".join(lines).encode("utf-8", "surrogatepass")
    if path.suffix == ".parquet" and rng.random() < 0.75:
        return _other_header(path, rng)
    if path.suffix in (".toml", ".csv", ".txt") and rng.random() < 0.7:
        return _other_text(content.decode(), path.suffix, rng).encode("utf-8", "surrogatepass")
    return _other_bytes(content, rng)


def _other_bytes(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(5):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del data[at : at + rng.choice([1, 4, 100])]
            case 2:
                data[at:at] = rng.choice([b"\0", b"\xff\xfe", b"\n", b",", b'"', b"[", b"{" * 50, b"\xe2\x80\xae"])
            case 3:
                data[at:at] = data[at : at + 50]
            case 4:
                data = data[:at] or bytearray(b" ")
    return bytes(data)


def _other_text(text: str, suffix: str, rng: random.Random) -> str:
    """Replace a cell of a table, or a value or a line of a study."""
    lines = text.splitlines()
    at = rng.randrange(len(lines))
    odd = rng.choice(
        ["nan", "1e308", "-1e308", "1e-320", "", "x", "inf", "0", "-1", "9" * 400, '"', "a\u202eb", "1e999"]
    )
    if suffix == ".csv":
        cells = lines[at].split(",")
        cells[rng.randrange(len(cells))] = odd
        lines[at] = ",".join(cells)
        if rng.random() < 0.2:
            column = rng.randrange(len(cells))
            lines[1:] = [
                ",".join(odd if i == column else c for i, c in enumerate(line.split(","))) for line in lines[1:]
            ]
    elif "=" in lines[at] and rng.random() < 0.7:
        key = lines[at].partition("=")[0]
        value = rng.choice(
            [odd, "[]", "{}", '"x"', "[1, 2]", "true", "1000000000", "[" * 2000, "1979-05-27", '["a", 1]']
        )
        lines[at] = f"{key}= {value}"
    else:
        lines[at : at + 1] = rng.choice([[], [lines[at]] * 2, ["[questions.x]"], ["x = 1"], [rng.choice(lines)]])
    return "\n".join(lines) + "\n"


def _other_header(path: Path, rng: random.Random) -> bytes:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    metadata = dict(table.schema.metadata or {})
    if b"askance" not in metadata:
        return _other_bytes(path.read_bytes(), rng)
    header = _changed(json.loads(metadata[b"askance"]), rng)
    metadata[b"askance"] = json.dumps(header).encode()
    out = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata), out)
    return out.getvalue()


def _changed(value: Any, rng: random.Random) -> Any:
    """Change one place of a nested value."""
    places = list(_places(value))
    if not places or rng.random() < 0.02:
        return rng.choice(ODD)
    holder, key = rng.choice(places)
    match rng.randrange(6):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, holder[key])
        case 2:
            other, where = rng.choice(places)
            holder[key] = json.loads(json.dumps(other[where]))
        case 3 if isinstance(holder[key], int | float):
            holder[key] = rng.choice([-holder[key], holder[key] * 1e6, holder[key] + 1, str(holder[key])])
        case _:
            holder[key] = rng.choice(ODD)
    return value


def _places(value: Any) -> Any:
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])
