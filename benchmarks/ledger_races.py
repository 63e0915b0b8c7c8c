"""Eight processes at one ledger, some of them killed: nothing overspent, nothing lost; a million people.

``python -m benchmarks.ledger_races SECONDS`` races once and prints what was seen as JSON: the tests do that briefly.
"""

import hashlib
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import askance as ask
from benchmarks import Measurement

RACERS, PEOPLE, LEVEL, BUDGET = 8, 12, Fraction(1, 10), Fraction(1)  # about thirty spends, and all is gone
ROUNDS, SECONDS = 15, 3.0  # of racing in the benchmark; the tests take one round


def _spend_until_killed(path: str, log: str, number: int) -> None:
    """Spend on random people as fast as possible; write down what was promised once it was."""
    choice = random.Random(number)
    ledger = ask.Ledger(path)
    with open(log, "w", encoding="utf-8") as told:
        while True:
            some = choice.random() < 0.95
            people = sorted(choice.sample(range(PEOPLE), choice.randint(1, 6))) if some else None
            try:
                entry = ledger.spend(LEVEL, what=json.dumps(people), people=people)
            except ask.BudgetSpent:
                continue
            told.write(f"{entry}\n")
            told.flush()


def race(seconds: float, folder: str) -> dict[str, Any]:
    """Let processes race, kill and replace them at random, and compare the ledger with what they wrote down."""
    path = os.path.join(folder, "race.ledger")
    ask.Ledger.create(path, BUDGET, data_set="race", filter="sums")
    ask.Ledger(path).spend(LEVEL, what="[0]", people=[0])  # imports what spending needs, once for all
    running: dict[int, str] = {}
    logs: list[str] = []

    def start() -> None:
        log = os.path.join(folder, f"{len(logs)}.log")
        child = os.fork()
        if child == 0:
            try:
                _spend_until_killed(path, log, len(logs))
            finally:
                os._exit(1)  # only reached by an error: a racer ends by being killed
        logs.append(log)
        running[child] = log

    choice = random.Random(0)
    for _ in range(RACERS):
        start()
    end, crashed = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        time.sleep(choice.uniform(0.02, 0.2))
        victim = choice.choice(list(running))
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        crashed += not os.WIFSIGNALED(status)
        del running[victim]
        start()
    for child in running:
        os.kill(child, signal.SIGKILL)
        crashed += not os.WIFSIGNALED(os.waitpid(child, 0)[1])
    return _seen(path, logs) | {"crashed": crashed, "killed": len(logs)}


def _seen(path: str, logs: list[str]) -> dict[str, Any]:
    promised = [int(line) for log in logs if os.path.exists(log) for line in Path(log).read_text().split()]
    ledger = ask.Ledger(path)
    entries = ledger.entries
    spent: Counter[int] = Counter()
    for entry in entries:
        told = json.loads(entry.what)
        spent.update(range(PEOPLE) if told is None else told)
    with sqlite3.connect(path) as connection:
        whole = connection.execute("PRAGMA integrity_check").fetchone()[0]
    connection.close()
    worst = max(spent.values()) * LEVEL
    return {
        "entries": len(entries),
        "promised": len(promised),
        "promised_twice": len(promised) - len(set(promised)),
        "lost": len(set(promised) - {entry.number for entry in entries}),
        "unpromised": len(entries) - 1 - len(promised),  # spent, and killed before it was written down
        "numbers": [entry.number for entry in entries] == list(range(1, len(entries) + 1)),
        "worst": float(worst),
        "overspent": bool(worst > BUDGET),
        "as_the_ledger_says": ledger.spent.epsilon == worst,
        "integrity": whole,
    }


def main() -> Iterator[Measurement]:
    seen: Counter[str] = Counter()
    worst = 0.0
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            each = race(SECONDS, folder)
        worst = max(worst, each["worst"])
        seen.update({name: value for name, value in each.items() if isinstance(value, int)})
    with tempfile.TemporaryDirectory() as folder:
        yield Measurement("spends in all", seen["entries"], "")
        yield Measurement("processes killed", seen["killed"], "")
        yield Measurement("promised and lost", seen["lost"] + seen["promised_twice"], "", at_most=0)
        yield Measurement("spent on the worst person", worst, "epsilon", at_most=float(BUDGET))
        yield Measurement("spent and not promised, for each killed", seen["unpromised"] / seen["killed"], "", at_most=1)
        yield Measurement("processes that failed", seen["crashed"], "", at_most=0)
        yield from _a_million(folder)


def _a_million(folder: str) -> Iterator[Measurement]:
    """Time and room for a million people, who come again less one."""
    ledger = ask.Ledger.create(os.path.join(folder, "million.ledger"), 1, data_set="million")
    people = [f"P{number:07}" for number in range(1_000_000)]
    began = time.perf_counter()
    _ = [hashlib.blake2b(person.encode(), key=b"key", digest_size=8).digest() for person in people]
    bare = time.perf_counter() - began
    for name, some in (("a million people", people), ("again, less one", people[1:])):
        began = time.perf_counter()
        ledger.spend("0.1", what=name, people=some)
        # About 3 times: texts, sorting and writing come to it. Bare hashing takes a second on a quiet core.
        yield Measurement(f"{name}, by bare hashing", (time.perf_counter() - began) / bare, at_most=8)
    yield Measurement("size of the file", ledger.path.stat().st_size / 1e6, "MB", at_most=10)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps(race(float(sys.argv[1]), place)))
