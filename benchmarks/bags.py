"""Bags of real life: classifiers and class ratios from bags by an attribute, at random, by class, few and unequal.

Classifiers: 4,000 training rows of Adult in bags by marital status, age and sex, occupation, native country (all of
them stay features), in 10 bags skewed by class, in 50 random ones and in random ones of 10 rows; breast cancer in 10
and 50 random bags. Accuracy of method "auto" on rows that are never seen.

Ratios: "artificial" is the protocol of ``benchmarks/ratios.py``. "Natural" are ten bags of rows at random, and nine new
groups at random: the overall mix is hard to beat there. Few unequal bags have 300, 100, 50 and 30 rows of random mixes,
drawn with replacement, so that rows are repeated across bags. Bags by an attribute: occupation of Adult, and new groups
that are random, of one occupation, or of an artificial mix of classes; nothing but a wide interval is honest there.

Means over five seeds that were not used before; of the kernel method, whose fits take a second, over forty, since the
groups of one set share their training rows: over five sets its coverage on Adult was .82, over forty .908, over a
hundred others .941 with a standard error of .009. Breast cancer has 171 rows to test on, so it is split forty times:
over five splits 50 bags gave .968, over thirty others .976 with a standard error of .002 (clean labels .973). Rules
and constants were chosen with seeds from 100 to 307 and with other attributes: education, race, work class,
relationship, hours, age, sex.
"""

import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer

import askance as ask
from askance.errors import AskanceWarning
from benchmarks import Measurement
from benchmarks._label_proportions import Split, adult, adult_table, breast_cancer, random_bags, skewed_bags
from benchmarks.ratios import SETTINGS, Task, deal, rows_of, standard_error

SEEDS, MORE_SEEDS = range(7000, 7005), range(7000, 7040)
RATIO_SEEDS = {"bag-classifier": SEEDS, "mmd": MORE_SEEDS}
ABSENT = "ASKANCE_DATA names no folder with it"
ATTRIBUTES = ("marital status", "age and sex", "occupation", "native country")
COVERAGE = 0.90
NATURAL = 1.15  # times the error of the overall mix
ARTIFICIAL = 1.06  # times the error before estimates were shrunk
UNEQUAL = (300, 100, 50, 30)


def main() -> Iterator[Measurement]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)
        yield from classifiers()
        yield from ratios()


# -- classifiers -----------------------------------------------------------------------------------------


def classifiers() -> Iterator[Measurement]:
    for name, least, make in settings():
        quantity = f"{name}: accuracy, auto"
        if make is None:
            yield Measurement(quantity, None, "", at_least=least, skipped=ABSENT)
            continue
        splits = [make(seed) for seed in (MORE_SEEDS if name.startswith("breast cancer") else SEEDS)]
        hits, chosen, seconds = [], set(), []
        for split in splits:
            start = time.perf_counter()
            model = ask.ProportionClassifier(random_state=0).fit(split.X, split.bags, split.proportions)
            seconds.append(time.perf_counter() - start)
            chosen.add(model.method_)
            hits.append(float(model.score(split.X_test, split.y_test, of="truth")))
        yield Measurement(f"{quantity} ({', '.join(sorted(chosen))})", float(np.mean(hits)), "", at_least=least)
        yield Measurement(f"{name}: the worst seed", float(np.min(hits)), "")
        majority = np.mean([max(split.y_test.mean(), 1 - split.y_test.mean()) for split in splits])
        yield Measurement(f"{name}: the more frequent class", float(majority), "")
        yield Measurement(f"{name}: seconds", float(np.mean(seconds)), "s")


def settings() -> Iterator[tuple[str, float, Callable[[int], Split] | None]]:
    table = adult_table()
    for name in ATTRIBUTES:
        by = None if table is None else lambda seed, name=name: by_attribute(table, seed, name)
        yield f"Adult by {name}", 0.815, by
    for name, least, bags, how in (
        ("Adult, 10 skewed bags", 0.845, 10, skewed_bags),
        ("Adult, 50 random bags", 0.81, 50, random_bags),
        ("Adult, random bags of 10", 0.825, 400, random_bags),
    ):
        yield name, least, None if table is None else lambda seed, b=bags, h=how: adult(table, seed, b, h)
    yield "breast cancer, 10 random bags", 0.94, lambda seed: breast_cancer(seed, 10)
    yield "breast cancer, 50 random bags", 0.97, lambda seed: breast_cancer(seed, 50)


def by_attribute(table: tuple[np.ndarray, np.ndarray, np.ndarray], seed: int, name: str) -> Split:
    split = adult(table, seed, 10, random_bags)
    # The same rows as ``adult`` took: its generator draws them first.
    rows = np.random.default_rng(seed).choice(np.flatnonzero(table[2]), len(split.y), replace=False)
    return split._replace(bags=np.unique(attribute(name)[rows], return_inverse=True)[1])


def attribute(name: str) -> np.ndarray:
    """The level of an attribute of everybody in Adult, as text."""
    import os
    from pathlib import Path

    import pandas as pd

    frame = pd.read_parquet(Path(os.environ["ASKANCE_DATA"]) / "adult" / "adult.parquet")
    if name == "age and sex":
        band = pd.cut(frame["age"], [0, 25, 35, 45, 55, 65, 200]).astype(str)
        return (band + " " + frame["sex"].astype(str)).to_numpy()
    return frame[name.replace(" ", "_")].astype(object).fillna("?").astype(str).to_numpy()


# -- class ratios ----------------------------------------------------------------------------------------


def ratios() -> Iterator[Measurement]:
    for method in ("bag-classifier", "mmd"):
        for setting in SETTINGS:
            table = rows_of(setting.name)
            if table is None:
                yield Measurement(f"{setting.name}, natural: {method}", None, skipped=ABSENT)
                continue
            kinds: dict[str, Callable[[int], Task]] = {
                "artificial": lambda seed, t=table, s=setting: deal(*t, s, seed),
                "natural": lambda seed, t=table, s=setting: natural(*t, s.bag, s.group, s.part, seed),
            }
            if setting.name == "breast cancer":
                kinds["few unequal bags"] = lambda seed, t=table: few_unequal(*t, seed)
            for kind, make in kinds.items():
                yield from of_task(f"{setting.name}, {kind}", method, make, kind)
        if adult_table() is not None:
            for kind in ("random groups", "one occupation each", "artificial mixes"):
                make = lambda seed, kind=kind: by_occupation(kind, seed)  # noqa: E731
                yield from of_task(f"Adult by occupation, {kind}", method, make, "unlike")


def of_task(name: str, method: str, make: Callable[[int], Task], kind: str) -> Iterator[Measurement]:
    errors, before, mixes, covered, widths = [], [], [], [], []
    for seed in RATIO_SEEDS[method]:
        task = make(seed)
        model = ask.RatioEstimator(method, random_state=seed).fit(task.X, task.bags, task.proportions)
        found = model.estimate_groups(np.concatenate(task.groups), np.repeat(range(len(task.truth)), sizes(task)))
        ends = np.array([group.interval for group in found])
        ratios = np.array([group.estimate.ratios for group in found])
        free = np.array([model.model_.ratios(group) for group in task.groups])
        overall = np.bincount(task.y, minlength=task.truth.shape[1]) / len(task.y)
        errors.append(np.abs(ratios - task.truth).sum(axis=1).mean())
        before.append(np.abs(free - task.truth).sum(axis=1).mean())
        mixes.append(np.abs(overall - task.truth).sum(axis=1).mean())
        covered.append(((ends[..., 0] <= task.truth) & (task.truth <= ends[..., 1])).mean())
        widths.append((ends[..., 1] - ends[..., 0]).mean())
    error = float(np.mean(errors))
    yield Measurement(f"{name}: L1 error, {method}", error, "")
    limit = NATURAL if kind == "natural" else None
    yield Measurement(f"{name}: to the overall mix's, {method}", error / float(np.mean(mixes)), at_most=limit)
    limit = ARTIFICIAL if kind == "artificial" else None
    yield Measurement(f"{name}: to that before shrinking, {method}", error / float(np.mean(before)), at_most=limit)
    yield Measurement(f"{name}: coverage at .95, {method}", float(np.mean(covered)), "", at_least=COVERAGE)
    yield Measurement(f"{name}: coverage at .95, {method}, standard error", standard_error(covered), "")
    yield Measurement(f"{name}: width of intervals, {method}", float(np.mean(widths)), "")


def sizes(task: Task) -> list[int]:
    return [len(group) for group in task.groups]


def natural(X: np.ndarray, y: np.ndarray, bag: int, group: int, part: float, seed: int, bags: int = 10) -> Task:
    """Bags and groups of rows at random, from two parts of the rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    cut = int(part * len(y))
    bag = min(bag, cut // bags)
    hidden = order[cut:]
    groups = [rng.choice(hidden, min(group, len(hidden) // 2), replace=False) for _ in range(9)]
    return task_of(X, y, order[: bag * bags], np.repeat(np.arange(bags), bag), groups)


def few_unequal(X: np.ndarray, y: np.ndarray, seed: int) -> Task:
    """Bags of 300, 100, 50 and 30 rows, drawn with replacement, of random mixes; groups of 60 rows of random mixes."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    seen, hidden = np.split(order, [len(y) // 2])
    rows, bags = [], []
    for bag, size in enumerate(UNEQUAL):
        share = 0.1 + 0.8 * rng.random()
        ones = rng.binomial(size, share)
        rows += [*rng.choice(seen[y[seen] == 1], ones), *rng.choice(seen[y[seen] == 0], size - ones)]
        bags += [bag] * size
    groups = []
    for share in np.linspace(0.1, 0.9, 9):
        ones = int(60 * share)
        parts = [rng.choice(hidden[y[hidden] == k], n, replace=False) for k, n in ((1, ones), (0, 60 - ones))]
        groups.append(np.concatenate(parts))
    return task_of(X, y, np.array(rows), np.array(bags), groups)


def by_occupation(kind: str, seed: int) -> Task:
    """4,000 training rows of Adult in bags by occupation, and groups from the others."""
    X, y = rows_of("Adult") or load_breast_cancer(return_X_y=True)
    levels = attribute("occupation")
    rng = np.random.default_rng(seed)
    seen, hidden = np.split(rng.permutation(len(y)), [4000])
    bags = np.unique(levels[seen], return_inverse=True)[1]
    if kind == "random groups":
        groups = [rng.choice(hidden, 600, replace=False) for _ in range(9)]
    elif kind == "one occupation each":
        known = [level for level in np.unique(levels[hidden]) if (levels[hidden] == level).sum() >= 600]
        groups = [rng.choice(hidden[levels[hidden] == level], 600, replace=False) for level in known]
    else:
        groups = []
        for share in np.linspace(0.1, 0.9, 9):
            ones = int(600 * share)
            parts = [rng.choice(hidden[y[hidden] == k], n, replace=False) for k, n in ((1, ones), (0, 600 - ones))]
            groups.append(np.concatenate(parts))
    return task_of(X, y, seen, bags, groups)


def task_of(X: np.ndarray, y: np.ndarray, rows: np.ndarray, bags: np.ndarray, groups: list[np.ndarray]) -> Task:
    centre, scale = X[rows].mean(axis=0), X[rows].std(axis=0)
    Z = (X - centre) / np.where(scale > 0, scale, 1.0)
    classes = int(y.max()) + 1
    shares = [
        np.bincount(y[rows][bags == bag], minlength=classes) / (bags == bag).sum() for bag in range(bags.max() + 1)
    ]
    truth = [np.bincount(y[group], minlength=classes) / len(group) for group in groups]
    return Task(Z[rows], y[rows], bags, np.array(shares), [Z[group] for group in groups], np.array(truth))
