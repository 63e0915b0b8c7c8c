"""Mutated inputs at the command line: no traceback, no hang, no gigabyte."""

import multiprocessing
import os
import resource
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Measurement

_INPUTS = int(os.environ.get("ASKANCE_FUZZ_INPUTS", "20000"))
_BATCH = 250  # inputs of one worker process: a fresh one for each batch, so that memory is that of its own inputs
_GIGABYTE = 1 << 20  # in kilobytes, as ru_maxrss counts


def main() -> Iterator[Measurement]:
    batches = [(start, min(start + _BATCH, _INPUTS)) for start in range(0, _INPUTS, _BATCH)]
    with multiprocessing.get_context("spawn").Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        done = list(pool.imap_unordered(_run, batches))
    problems = [problem for found, _ in done for problem in found]
    for problem in problems:
        print(f"  {problem}")
    hangs = sum("HANGS" in problem for problem in problems)
    yield Measurement("inputs", float(_INPUTS), "")
    yield Measurement("tracebacks", float(len(problems) - hangs), "", at_most=0)
    yield Measurement("hangs over 10 s", float(hangs), "", at_most=0)
    yield Measurement("largest memory", max(memory for _, memory in done) / _GIGABYTE, "GiB", at_most=1.0)


def _run(batch: tuple[int, int]) -> tuple[list[str], int]:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from fuzzing import make_corpus, run_input, warm_up

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        corpus, place = Path(folder, "corpus"), Path(folder, "place")
        corpus.mkdir()
        make_corpus(corpus)
        problems = warm_up(corpus, place)
        for number in range(*batch):
            result = run_input(number, corpus, place)
            if result.problem:
                last = result.problem.strip().splitlines()[-1]
                problems.append(f"input {result.number}: {' '.join(result.words)[:80]}: {last}")
    return problems, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
