"""Inputs such as nobody writes: a corpus of good files, and mutations of them, through the command line.

An input is a number: it fixes which file is changed, how, and what is done with it. No input may end with a traceback
(exit code 70), take longer than ten seconds or more than a gigabyte. The files are those of ``fuzz_corpus``.
"""

import contextlib
import copy
import functools
import io
import json
import os
import random
import shutil
import signal
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import typer.main

from askance.cli.app import BAD_INPUT, main
from fuzz_corpus import Uses

ODD: list[Any] = [
    None, True, -1, 0, 10**30, 10**9, 1e308, -1e308, 5e-324, 0.5, "", "x", "nan", "1e999999999", "\u0000", "\ud800", [],
    {}, [[]], ["a", "a"], {"a": {}}, [1, [2, [3]]], "infinite", [None] * 3, "a" * 10_000,
]  # fmt: skip
WORDS = [
    "nan", "inf", "-1", "0", "1e308", "1e-320", "1e999999999", "x", "", "a,b", "a" * 9999, "\x1b[31m", "../x", "age",
    "id", "y", "cheated", "9" * 400, "--", "0x10", "~", "a ~ b", "y ~ `", "((((", "C(", "\u0661",
]  # fmt: skip


# The commands are the same for all inputs; to make them anew for each would take four fifths of the time.
typer.main.get_command = functools.cache(typer.main.get_command)


class Result(NamedTuple):
    """How an input ended."""

    number: int
    words: tuple[str, ...]
    problem: str


def run_input(number: int, corpus: Path, place: Path, uses: Uses, *, seconds: int = 10) -> Result:
    """Make one input from the corpus, put it through the command line, and say what went wrong, if anything did."""
    rng = random.Random(number)
    name = rng.choice(list(uses))
    words = list(rng.choice(uses[name]))
    _furnish(corpus, place, [name, *words])
    if rng.random() < 0.15:
        values = [i for i in range(1, len(words)) if not words[i].startswith("-")]
        words[rng.choice(values)] = rng.choice(WORDS)
    else:
        path = place / name
        path.write_bytes(_mutated(path, rng))
    with contextlib.chdir(place), _time_limit(seconds):
        return Result(number, tuple(words), _problem(words))


def warm_up(corpus: Path, place: Path, uses: Uses) -> list[str]:
    """Use every good file once, so that nothing is compiled later; return what should have worked and did not."""
    failed = []
    for name, words in ((name, words) for name, ways in uses.items() for words in ways):
        _furnish(corpus, place, [name, *words])
        with contextlib.chdir(place):
            problem = _problem(words)
        failed += [f"{words}: {problem}"] * bool(problem)
    return failed


def _furnish(corpus: Path, place: Path, words: list[str]) -> None:
    """Make a new place with those files of the corpus that a command names, and with those that lie beside them."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for entry in {word.partition("/")[0] for word in words}:
        for path in (corpus / entry, corpus / f"{entry}.sig"):
            if entry and len(entry) < 100 and path.is_dir():
                shutil.copytree(path, place / path.name)
            elif entry and len(entry) < 100 and path.exists():
                shutil.copy(path, place)


def _problem(words: list[str]) -> str:
    try:
        code, said = _quiet(words)
    except _TooLong:
        return "HANGS"
    except Exception:
        return traceback.format_exc()
    if code not in (0, 1, BAD_INPUT):
        return f"exit code {code}"
    return "MEMORY" if "more memory than there is" in said else ""


def _quiet(words: list[str]) -> tuple[int, str]:
    os.environ["ASKANCE_TRACE"] = "1"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            main(words)
        except SystemExit as ended:
            return int(ended.code or 0), said.getvalue()
        finally:
            del os.environ["ASKANCE_TRACE"]
    return 0, said.getvalue()


class _TooLong(BaseException):
    pass


@contextlib.contextmanager
def _time_limit(seconds: int) -> Any:
    def stop(*_: Any) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGPROF, stop)  # of this process's own time: the machine may be busy
    signal.setitimer(signal.ITIMER_PROF, seconds)
    # Python's handlers wait until compiled code returns. Where it does not, these end the process: a loop by its own
    # time, and what waits for something that never comes by the clock.
    signal.setitimer(signal.ITIMER_VIRTUAL, 2 * seconds)
    signal.setitimer(signal.ITIMER_REAL, 60 * seconds)
    try:
        yield
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_VIRTUAL, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
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
        return copy.deepcopy(rng.choice(ODD))
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
            holder[key] = copy.deepcopy(rng.choice(ODD))  # a later change must not reach other inputs
    return value


def _places(value: Any) -> Any:
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])
