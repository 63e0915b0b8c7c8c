"""The collector: open-loop delay, batches against single commits, and what is left after killing it twenty times.

Only addresses of this machine are used, for a bounded time. Delays are counted from when a report was meant to be sent:
a server that makes its clients wait does not hide behind fewer requests.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import Measurement

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

CONNECTIONS, RATE, SECONDS = 1000, 250, 20
BATCH, ROUNDS = 128, 5
KILLS = 20
ROWS = 100_000
MOST_SQLITE, MOST_POSTGRES = 250.0, 500.0  # milliseconds, of 99 in 100 reports, on a quiet machine


async def _send(streams: Any, body: bytes, begin: float) -> tuple[int, float]:
    reader, writer = streams
    head = f"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    await reader.readexactly(int(answer.partition("content-length: ")[2].partition("\r")[0]))
    return int(answer.split()[1]), 1000 * (time.perf_counter() - begin)


async def _open_loop(port: int, bodies: list[bytes]) -> tuple[list[int], list[float]]:
    connections = []
    for _ in range(CONNECTIONS):
        connections.append(await asyncio.open_connection("127.0.0.1", port))
    locks = [asyncio.Lock() for _ in connections]
    began = time.perf_counter() + 0.5

    async def one(number: int) -> tuple[int, float]:
        meant = began + number / RATE
        await asyncio.sleep(max(0.0, meant - time.perf_counter()))
        async with locks[number % CONNECTIONS]:
            return await _send(connections[number % CONNECTIONS], bodies[number], meant)

    results = await asyncio.gather(*(one(number) for number in range(len(bodies))))
    for _, writer in connections:
        writer.close()
    return [status for status, _ in results], [delay for _, delay in results]


def _delays(place: str, folder: Path) -> tuple[float, float, int, bool]:
    """The median and 99th percentile in milliseconds, how many were lost, and whether the store agrees with itself."""
    from askance.collector import Collection
    from collector_killing import standing
    from collector_study import PLAIN, ServerProcess, questionnaire, response

    folder.joinpath("study.toml").write_text(PLAIN, encoding="utf-8")
    collection = Collection.of(folder / "study.toml", place, None)
    asked = questionnaire(PLAIN)
    tokens = collection.invite(RATE * SECONDS, None)
    bodies = [json.dumps(response(asked, token, cheated=n % 2)).encode() for n, token in enumerate(tokens)]
    with ServerProcess(folder, "--store", place) as server:
        statuses, delays = asyncio.run(_open_loop(server.port, bodies))
    counted = standing(collection)
    lost = len(bodies) - min(statuses.count(201), counted.reports)
    whole = counted.reports == counted.tallied == counted.spent
    return statistics.median(delays), statistics.quantiles(delays, n=100)[98], lost, whole


def _batches(place: str) -> tuple[float, float]:
    """How much faster one transaction of many is than one each, interleaved; and seconds of a report in a batch."""
    from askance.collector.store import Submission
    from askance.collector.stores import store_at

    store = store_at(place).open_for("benchmark")
    together, each = [], []
    for number in range(ROUNDS):
        for batched in (True, False) if number % 2 else (False, True):
            digests = [f"{number}{batched}{i}".encode() for i in range(BATCH)]
            store.invite(digests, None)
            submissions = [Submission(digest, f"[{i % 12}]") for i, digest in enumerate(digests)]
            began = time.perf_counter()
            for part in [submissions] if batched else [[one] for one in submissions]:
                store.take(part)
            (together if batched else each).append(time.perf_counter() - began)
    store.disconnect()
    ratios = [slow / quick for slow, quick in zip(each, together, strict=True)]
    return statistics.median(ratios), statistics.median(together) / BATCH


def _tallies() -> tuple[float, float, int]:
    """How much faster figures are from tallies than from rows, the largest relative difference, and the cells."""
    import random
    from collections import Counter

    from askance import IndirectClassifier, Prevalence
    from askance.collector.figures import live_figures
    from askance.collector.store import Standing
    from askance.releases.declared_columns import conform_columns
    from askance.releases.release import Release
    from benchmarks import best_seconds
    from collector_study import STUDY, questionnaire

    asked, rng = questionnaire(STUDY), random.Random(3)
    ages = [rng.choice([20, 30, 40, 50]) for _ in range(ROWS)]
    codes = [[int(rng.random() < age / 70), rng.randrange(3), float(age), rng.choice([0, 1, None])] for age in ages]
    cells = [json.dumps(each, separators=(",", ":")) for each in codes]
    tallies, standing = Counter(cells), Standing(False, ROWS, ROWS, ROWS, ROWS, ((0, ROWS),))
    header = asked.study.header()
    release = Release.from_table(conform_columns(asked.columns(cells), header, "rows"), header)

    def from_rows() -> list[Any]:
        shares = [Prevalence().fit_release(release, question=question.name) for question in asked.study.questions]
        line = IndirectClassifier(covariance="information").fit_release(
            release, question="cheated", formula="cheated ~ age"
        )
        return [one.summary().to_dict()["estimates"] for one in (*shares, line)]

    def from_tallies() -> list[Any]:
        figures = live_figures(asked, standing, tallies)
        return [one["estimates"] for one in (*figures["questions"], *figures["regressions"])]

    seconds = best_seconds({"tallies": from_tallies, "rows": from_rows})
    differences = [
        abs(mine[name][number] / value - 1)
        for mine, theirs in zip(from_tallies(), from_rows(), strict=True)
        for name, row in theirs.items()
        for number, value in row.items()
        if value
    ]
    return seconds["rows"] / seconds["tallies"], max(differences), len(tallies)


def _places(stack: ExitStack, folder: Path) -> Iterator[tuple[str, Any, Any]]:
    from collector_study import postgres_programs, running_postgres

    yield "SQLite", lambda name: str(folder / f"{name}.sqlite"), None
    if postgres_programs() is None:
        yield "PostgreSQL", None, None
    else:
        cluster = stack.enter_context(running_postgres())
        yield "PostgreSQL", lambda name: cluster.database(), cluster


def main() -> Iterator[Measurement]:
    from collector_killing import survives_killing

    ratio, difference, cells = _tallies()
    yield Measurement(f"figures from {cells} tallies against {ROWS:,} rows", ratio, "times as fast", at_least=3.0)
    yield Measurement("their largest relative difference", difference, "", at_most=1e-13)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name, place, cluster in _places(stack, folder):
            if place is None:
                yield Measurement(f"{name}: everything", None, "", skipped="there is no PostgreSQL")
                continue

            def own(what: str, name: str = name) -> Path:
                inner = folder / f"{name}-{what}"
                inner.mkdir()
                return inner

            ratio, seconds = _batches(place("batches"))
            yield Measurement(f"{name}: a batch of {BATCH} against a commit each", ratio, "times as fast", at_least=1.5)
            yield Measurement(f"{name}: a report in a batch", 1e6 * seconds, "µs")
            middle, slow, lost, whole = _delays(place("delays"), own("delays"))
            most = MOST_SQLITE if name == "SQLite" else MOST_POSTGRES
            yield Measurement(f"{name}: median delay at {RATE}/s over {CONNECTIONS} connections", middle, "ms")
            yield Measurement(f"{name}: 99 in 100 answered within", slow, "ms", at_most=most)
            yield Measurement(f"{name}: lost, or stores that disagree", lost + (not whole), "reports", at_most=0)
            missing, standings, acknowledged = survives_killing(own("killed"), place("killed"), KILLS, tokens=40_000)
            odd = sum(not one.reports == one.tallied == one.spent for one in standings)
            yield Measurement(
                f"{name}: acknowledged during {KILLS} kills", acknowledged, "reports", at_least=20 * KILLS
            )
            yield Measurement(f"{name}: of these not stored", len(missing) + odd, "reports", at_most=0)
            if cluster is not None:

                def restart(cluster: Any = cluster) -> None:
                    cluster.stop("immediate")
                    cluster.start()

                missing, standings, _ = survives_killing(
                    own("restarted"), place("restarted"), 3, before_each=restart, tokens=10_000
                )
                odd = sum(not one.reports == one.tallied == one.spent for one in standings)
                yield Measurement(f"{name} itself restarted: not stored", len(missing) + odd, "reports", at_most=0)
