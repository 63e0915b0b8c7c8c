"""Mutated inputs at the command line: no traceback, no hang, no gigabyte.

Files of every kind are made and everything is compiled in one process; it forks for each batch of inputs, so that a
batch begins as the command does, with the memory of its own inputs, and may end as badly as it likes.
"""

import collections
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks import Measurement

_INPUTS = int(os.environ.get("ASKANCE_FUZZ_INPUTS", "20000"))
_FIRST = int(os.environ.get("ASKANCE_FUZZ_FIRST", "0"))  # other inputs than those that were mended for
_BATCH = 100
_GIGABYTE = 1 << 20  # in kilobytes, as ru_maxrss counts
# What is asked for beyond what is there already fails, for the machine. Arrow reserves a gigabyte of addresses
# at a time, which are not yet memory, so this is more than the gigabyte that is judged.
_ADDRESSES = 4 << 30
_FORK = multiprocessing.get_context("fork")


def main() -> Iterator[Measurement]:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from fuzz_corpus import make_wide_corpus
    from fuzzing import warm_up

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        corpus, place = Path(folder, "corpus"), Path(folder, "place")
        corpus.mkdir()
        uses = make_wide_corpus(corpus)
        problems, memory, tried = warm_up(corpus, place, uses), 0, 0
        for problem in problems:
            print(f"  a good file: {problem}", flush=True)
        todo = collections.deque(range(_FIRST, _FIRST + _INPUTS))
        while todo:
            batch = [todo.popleft() for _ in range(min(_BATCH, len(todo)))]
            for number, problem, most in _in_a_child(batch, corpus, place, uses):
                tried += 1
                memory = max(memory, most)
                if number != batch[0]:
                    raise RuntimeError(f"input {number} was not the next one")
                batch.pop(0)
                if problem:
                    problems.append(problem)
                    print(f"  input {number}: {problem}", flush=True)
            todo.extendleft(reversed(batch))  # what a child that was ended had not yet done
    hangs = sum("HANGS" in problem for problem in problems)
    hungry = sum("MEMORY" in problem for problem in problems)
    yield Measurement("inputs", float(tried), "", at_least=_INPUTS)
    yield Measurement("tracebacks", float(len(problems) - hangs - hungry), "", at_most=0)
    yield Measurement("hangs over 10 s", float(hangs), "", at_most=0)
    yield Measurement("more memory than there was", float(hungry), "", at_most=0)
    yield Measurement("largest memory", memory / _GIGABYTE, "GiB", at_most=1.0)


def _in_a_child(batch: list[int], corpus: Path, place: Path, uses: Any) -> list[tuple[int, str, int]]:
    """Put inputs through the command line in a forked process: number, problem, memory of those that were done."""
    mine, its = _FORK.Pipe(duplex=False)
    child = _FORK.Process(target=_run, args=(batch, corpus, place, uses, its))
    child.start()
    its.close()
    done: list[tuple[int, str, int]] = []
    try:
        while len(done) < len(batch):
            done.append(mine.recv())
    except EOFError:  # it was ended in the midst of an input
        child.join()
        code = child.exitcode or 0
        slow = -code in (signal.SIGVTALRM, signal.SIGALRM, signal.SIGPROF)
        done.append((batch[len(done)], f"{'HANGS, ' if slow else ''}ended by {code}", 0))
    child.join()
    return done


def _run(batch: list[int], corpus: Path, place: Path, uses: Any, report: Connection) -> None:
    from fuzzing import run_input

    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + _ADDRESSES, taken + _ADDRESSES))
    for number in batch:
        result = run_input(number, corpus, place, uses)
        problem = ""
        if result.problem:
            problem = f"{' '.join(result.words)[:120]}: {result.problem.strip().splitlines()[-1]}"
        report.send((number, problem, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
