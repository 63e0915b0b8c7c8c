"""Cross-tables from totals of units, and counts of many bags: error, coverage, and time as ratios.

The elections are those of ``ASKANCE_DATA``: Scotland 2007 (73 districts, party by candidate; options below 3% of the
votes of a district are one, as is usual) and eiPack's senc (212 precincts of North Carolina, race by registration).
Neither chose a constant. The strengths of change are those of published prototypes; the note on aggregation bias, the
widening of intervals and the number of components were chosen on simulated countries with seeds 1 and 7; those that are
reported here have seed 23. Half of the simulated countries have shares that change with what a unit is made of.

The error index is the per cent of people in a wrong cell. Coverage is that of nominal 95% intervals, cells alike.
Goodman's regression is on the simplex, weighted by size, solved by accelerated projected gradients, and raked.
"""

import gzip
import os
import warnings
from collections.abc import Iterator
from csv import DictReader
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import askance as ask
from askance.arrays import Floats
from askance.solvers.whole_tables import rows_on_simplex
from benchmarks import Measurement, best_seconds

SEED = 23
COUNTRIES = 24
SMALL = 0.03  # of the votes of a district
BAGS = 3200
TIMES = 15  # releases that are timed, in turn with plain noise


class Task(NamedTuple):
    name: str
    rows: Floats
    columns: Floats
    truth: Floats


def main() -> Iterator[Measurement]:
    warnings.simplefilter("ignore", ask.AskanceWarning)
    yield from _errors("simulated countries", [_country(np.random.default_rng([SEED, n])) for n in range(COUNTRIES)])
    folder = Path(os.environ.get("ASKANCE_DATA", "/nowhere")) / "elections"
    if folder.is_dir():
        yield from _errors("Scotland 2007", list(_scotland(folder)), 7.0, 0.85)
        yield from _errors("senc", [_senc(folder)], 3.0, 0.85)
    else:
        for name in ("Scotland 2007", "senc"):
            yield Measurement(f"{name}: error index", None, "", skipped="ASKANCE_DATA names no folder of elections")
    yield from _speed()
    yield from _releases()


def _errors(
    name: str, tasks: list[Task], at_most: float | None = None, covered: float | None = None
) -> Iterator[Measurement]:
    errors, others, cover = [], [], []
    for task in tasks:
        model = ask.EcologicalInference(random_state=0).fit(task.rows, task.columns)
        errors.append(100 * (1 - model.score(task.truth, of="truth")))
        others.append(error_index(task.truth, goodman(task.rows, task.columns)))
        low, high = model.interval()
        people = task.truth.sum(axis=1)[:, None]
        some = np.broadcast_to(people > 0, low.shape)
        inside = (low * people - 0.5 <= task.truth) & (task.truth <= high * people + 0.5)
        cover.append(inside[some].mean())
    yield Measurement(f"{name}: error index, {len(tasks)} tables", float(np.mean(errors)), "%", at_most=at_most)
    yield Measurement(f"{name}: Goodman on the simplex", float(np.mean(others)), "%")
    yield Measurement(f"{name}: coverage", float(np.mean(cover)), "", at_least=covered)


def error_index(truth: Floats, found: Floats) -> float:
    return float(50 * np.abs(truth - found).sum() / truth.sum())


def goodman(rows: Floats, columns: Floats, steps: int = 2000) -> Floats:
    """Return the table of shares that are the same in all units: least squares on the simplex, raked."""
    sizes = rows.sum(axis=1)
    rows, columns, sizes = rows[sizes > 0], columns[sizes > 0], sizes[sizes > 0]
    weight = 1 / np.sqrt(sizes)[:, None]
    x, c = rows * weight, columns * weight
    length = np.linalg.norm(x, 2) ** 2
    shares = np.full((rows.shape[1], columns.shape[1]), 1 / columns.shape[1])
    ahead, pace = shares, 1.0
    for _ in range(steps):
        moved = rows_on_simplex(ahead - x.T @ (x @ ahead - c) / length, np.ones(len(shares)))
        later = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead, shares, pace = moved + (pace - 1) / later * (moved - shares), moved, later
    table = shares * rows.sum(axis=0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(200):
            table = np.nan_to_num(table * (columns.sum(axis=0) / table.sum(axis=0)))
            table = np.nan_to_num(table * (rows.sum(axis=0) / table.sum(axis=1))[:, None])
    return table


def _country(rng: np.random.Generator) -> Task:
    """Loyal parties, units of unequal size and mix, people who agree, and in half of them shares that change."""
    rows, columns, units = int(rng.integers(3, 9)), int(rng.integers(2, 8)), int(rng.integers(25, 220))
    sizes = np.maximum(20, np.exp(rng.uniform(np.log(150), np.log(1500)) + rng.normal(0, 0.5, units))).astype(int)
    place = rng.normal(size=(units, 2)) @ rng.normal(0, 0.45, (2, rows)) + rng.normal(0, 0.15, (units, rows))
    mixes = np.exp(rng.normal(0, 1, rows) + place)
    mixes /= mixes.sum(axis=1, keepdims=True)
    scores = np.tile(rng.normal(0, 0.8, columns), (rows, 1))
    loyal = rng.random(rows) < 0.7
    scores[np.flatnonzero(loyal), np.flatnonzero(loyal) % columns] += rng.uniform(1, 4, loyal.sum())
    along = (place - place.mean(axis=0)) @ np.linalg.svd(place - place.mean(axis=0), full_matrices=False)[2].T[:, :2]
    along /= along[:, 0].std()
    change = rng.normal(0, rng.choice([0.0, 0.0, 0.1, 0.25]), (rows, 2, columns))
    spread = rng.uniform(0, 0.5)
    tables = np.zeros((units, rows, columns))
    people = np.array([rng.multinomial(n, mix) for n, mix in zip(sizes, mixes, strict=True)])
    for u in range(units):
        here = scores + np.einsum("q,rqk->rk", along[u], change) + rng.normal(0, spread, (rows, columns))
        shares = np.exp(here) / np.exp(here).sum(axis=1, keepdims=True)
        tables[u] = [rng.multinomial(n, p) for n, p in zip(people[u], shares, strict=True)]
    return Task("simulated", people.astype(float), tables.sum(axis=1), tables.sum(axis=0))


def _scotland(folder: Path) -> Iterator[Task]:
    units: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
    with gzip.open(folder / "ei_SCO_2007_units_long.csv.gz", "rt") as file:
        for line in DictReader(file):
            if line["votes"]:  # three districts have a column of addresses
                kind = units.setdefault((line["district"], line["kind"]), {})
                kind.setdefault(line["option"], {})[int(line["unit"])] = float(line["votes"])
    cross: dict[str, dict[tuple[str, str], float]] = {}
    with gzip.open(folder / "ei_SCO_2007_cross.csv.gz", "rt") as file:
        for line in DictReader(file):
            if line["votes"]:
                cross.setdefault(line["district"], {})[line["party"], line["candidate"]] = float(line["votes"])
    for district, cells in cross.items():
        sides = [units[district, kind] for kind in ("parties", "candidates")]
        numbers = sorted(set().union(*(votes for side in sides for votes in side.values())))
        tables = [np.array([[v.get(n, 0.0) for v in side.values()] for n in numbers]) for side in sides]
        # Some names differ between the files by their ends: options are matched by their totals where names fail.
        names = [
            _matched(list(side), table.sum(axis=0), {key[place] for key in cells}, cells, place)
            for place, (side, table) in enumerate(zip(sides, tables, strict=True))
        ]
        truth = np.array([[cells.get((p, c), 0.0) for c in names[1]] for p in names[0]])
        rows, truth = _merged(tables[0], truth)
        columns, truth = _merged(tables[1], truth.T)
        yield Task(district, rows, columns, truth.T)


def _matched(
    given: list[str], totals: Floats, known: set[str], cells: dict[tuple[str, str], float], place: int
) -> list[str]:
    left = {name: sum(v for key, v in cells.items() if key[place] == name) for name in known - set(given)}
    found = []
    for name, total in zip(given, totals.tolist(), strict=True):
        if name not in known and left:
            name = min(left, key=lambda other, total=total: abs(left[other] - total))  # type: ignore[misc]
            left.pop(name)
        found.append(name)
    return found


def _merged(table: Floats, truth: Floats) -> tuple[Floats, Floats]:
    small = table.sum(axis=0) < SMALL * table.sum()
    if small.sum() < 2:
        return table, truth
    merged = np.column_stack([table[:, ~small], table[:, small].sum(axis=1)])
    return merged, np.vstack([truth[~small], truth[small].sum(axis=0)])


def _senc(folder: Path) -> Task:
    with gzip.open(folder / "eiPack_senc.tab.gz", "rt") as file:
        lines = [line.replace('"', "\t").split("\t") for line in file.read().splitlines()[1:]]
    numbers = np.array([[float(word) for word in line[-1].split()] for line in lines])
    return Task("senc", numbers[:, 1:4], numbers[:, 4:7], numbers[:, 7:16].reshape(-1, 3, 3).sum(axis=0))


def _speed() -> Iterator[Measurement]:
    """About 40,000 voters in 99 units, 8 rows and 7 columns: in turn with Goodman's regression, the least of each."""
    rng = np.random.default_rng(SEED)
    mixes = rng.dirichlet(np.full(8, 4.0), 99)
    rows = np.array([rng.multinomial(404, mix) for mix in mixes]).astype(float)
    shares = rng.dirichlet(np.ones(7), 8)
    columns = np.array([sum(rng.multinomial(int(n), p) for n, p in zip(row, shares, strict=True)) for row in rows])
    tasks = {
        "ours": lambda: ask.EcologicalInference(random_state=0).fit(rows, columns),
        "Goodman": lambda: goodman(rows, columns.astype(float)),
    }
    best = best_seconds(tasks, repeats=2)
    yield Measurement("40,000 voters in 99 units: time", best["ours"], "s", at_most=10.0)
    yield Measurement("  as a ratio to Goodman's", best["ours"] / best["Goodman"], "times")


def _releases() -> Iterator[Measurement]:
    """Counts of 3,200 bags: a whole release, and plain noise of numpy on the same table."""
    for classes, size, epsilon in ((2, 300, 1.0), (3, 300, 1.0), (5, 300, 0.1), (3, 20, 0.1)):
        table = np.random.default_rng(SEED).integers(1, size, (BAGS, classes))
        tasks = {"ours": partial(ask.release_counts, table, epsilon), "numpy": partial(_plain_noise, table)}
        best = best_seconds(tasks, TIMES)
        name = f"release of {BAGS:,} bags, {classes} classes below {size}, epsilon {epsilon:g}"
        yield Measurement(name, best["ours"] / best["numpy"], "times numpy", at_most=50.0)


def _plain_noise(table: Floats) -> Floats:
    return table + np.random.default_rng().laplace(size=table.shape)
