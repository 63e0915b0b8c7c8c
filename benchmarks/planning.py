"""Plans against simulated studies: 49 settings, standard errors and power.

A standard error of 300 studies is known to 4% and a power to .03, so that of 49 settings some are outside of a limit by
chance alone. These are drawn again, with five times as many studies of fresh seeds (known to 2% and .012), and only
that counts. ``ASKANCE_CELL`` takes the settings whose name contains it.
"""

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import askance as ask
from askance import planning as plans
from benchmarks import Measurement

STUDIES = 300  # a simulated standard error is then known to 4%, a power to .03
RATIO_STUDIES = 900  # a mean of errors is known less well than a deviation: 6% with 300
MORE = 5  # times as many fresh studies, where the first ones were outside of a limit
FIRST_SEED, FRESH_SEED = 21_000, 27_000  # below 20,000 the rule of power was chosen
ERROR_OFF, POWER_OFF = 0.10, 0.05
AGE = np.linspace(20, 70, 300)
PILOT = {"age": AGE, "income": 2 + 0.1 * AGE + np.tile([-1.5, 0.5, 1.0], 100)}
BOUNDS = {"age": (0.0, 100.0), "income": (0.0, 15.0)}
MIXED = {"age": "normal(40, 12)", "female": "binary(0.5)"}


def settings() -> Iterator[tuple[str, Any, Any]]:
    """Name, quantity and design of each setting."""
    devices = {"Warner": ask.Warner(0.75), "die": ask.ForcedResponse(1 / 6, 1 / 6), "RR 2": design_at(2.0)}
    for name, device in devices.items():
        for share in (0.1, 0.3):
            yield f"proportion {share}, {name}", plans.Proportions(share), device
            yield f"difference {share}, {name}", plans.Difference(share, share + 0.1), device
            yield f"coefficient {share}, {name}", plans.Coefficients({"x": 0.6}, share), device
        yield (
            f"coefficient of two, {name}",
            plans.Coefficients({"age": 0.03, "female": 0.6}, 0.3, MIXED, "female"),
            device,
        )
        for outcome in ("linear", "logistic"):
            yield f"{outcome} predictor, {name}", plans.PredictorEffect(0.7, 0.3, outcome), device
    yield "poisson predictor, die", plans.PredictorEffect(0.4, 0.3, "poisson"), devices["die"]
    for count in (3, 5):
        yield f"list of {count}", plans.Proportions(0.2), plans.ListDesign([0.5] * count)
    for mechanism in ("hybrid", "piecewise", "duchi"):
        yield f"mean, {mechanism}", plans.Mean(40, 12, 0, 100), ask.PrivateNumber(0, 100, 1.0, mechanism)
    for epsilon in (4.0, 8.0):
        row = ask.PrivateRow(BOUNDS, epsilon, outcome="income")
        yield f"row coefficient, epsilon {epsilon:g}", plans.RowCoefficients(PILOT, BOUNDS, "income"), row
    for mechanism in ("laplace", "knorm", "gaussian"):
        yield (
            f"totals, {mechanism}",
            plans.TotalsCoefficients({"x": 0.6, "z": -0.6}, 0.3, of="x"),
            plans.LabelTotals(1.0, mechanism),
        )
    yield (
        "three answers",
        plans.Proportions([0.5, 0.3, 0.2], ("a", "b", "c")),
        ask.RandomizedResponse(list("abc"), epsilon=2.0),
    )
    yield "unequal groups", plans.Difference(0.15, 0.3, 0.2), devices["die"]
    yield from unknowns()
    bags = [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]
    yield "ratios of two classes", plans.ClassRatios([[0.8, 0.2], [0.4, 0.6]]), plans.LabelTotals(1.0)
    yield (
        "ratios of two classes, near",
        plans.ClassRatios([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]], 1.5, 500),
        plans.LabelTotals(0.5),
    )
    yield "ratios of three classes", plans.ClassRatios(bags), plans.LabelTotals(1.0)


def unknowns() -> Iterator[tuple[str, Any, Any]]:
    """Designs with something unknown, as proportions and as coefficients."""
    designs = {
        "cheaters": plans.GroupedDesign(
            {"few": ask.Cheaters(ask.ForcedResponse(0.1, 0.2)), "many": ask.Cheaters(ask.ForcedResponse(0.1, 0.6))},
            {"cheaters": 0.1},
        ),
        "unrelated": plans.GroupedDesign(
            {"a": ask.UnrelatedQuestion(0.7, ask.Unknown()), "b": ask.UnrelatedQuestion(0.3, ask.Unknown())},
            {"unrelated_prevalence": 0.3},
            {"a": 0.6, "b": 0.4},
        ),
        "anchor": plans.GroupedDesign(
            {"a": ask.RandomAnswers(ask.Crosswise(0.15)), "b": ask.Anchor(ask.RandomAnswers(ask.Crosswise(0.15)))},
            {"random_answers": 0.1},
        ),
    }
    for name, design in designs.items():
        yield f"proportion 0.3, {name}", plans.Proportions(0.3), design
        yield f"coefficient 0.3, {name}", plans.Coefficients({"x": 0.6}, 0.3), design


def design_at(epsilon: float) -> Any:
    return ask.RandomizedResponse(["no", "yes"], epsilon=epsilon)


def main() -> Iterator[Measurement]:
    slowest = 0.0
    gaps, powers = [], []
    for number, (name, quantity, design) in enumerate(settings()):
        if os.environ.get("ASKANCE_CELL", name) not in name:
            continue
        start = time.perf_counter()
        powered = not (quantity.has_border or quantity.is_error)
        wish = {"power": 0.7} if powered else {"n": 1500}
        planned = ask.plan({name: design}, quantity, **wish).recommended
        slowest = max(slowest, time.perf_counter() - start)
        n = max(planned.n, 400)
        studies = RATIO_STUDIES if quantity.is_error else STUDIES
        gap, off = compared(name, quantity, design, n, studies, FIRST_SEED + number)
        said = f"{name}, n={n:,}"
        if gap > ERROR_OFF or (powered and off > POWER_OFF):
            first = f"first {gap:.3f}" + (f", {off:.3f}" if powered else "")
            said += f", {MORE * studies:,} fresh studies ({first})"
            gap, off = compared(name, quantity, design, n, MORE * studies, FRESH_SEED + number)
        gaps.append(gap)
        yield Measurement(f"{said}: standard error off by", gap, "", at_most=ERROR_OFF)
        if powered:
            powers.append(off)
            yield Measurement(f"{said}: power off by", off, "", at_most=POWER_OFF)
    yield Measurement("settings", len(gaps), "")
    yield Measurement("standard errors off by, in the median", float(np.median(gaps)), "")
    yield Measurement("standard errors off by, at most", float(np.max(gaps)), "", at_most=ERROR_OFF)
    if powers:
        yield Measurement("power off by, at most", float(np.max(powers)), "", at_most=POWER_OFF)
    yield Measurement("slowest plan", slowest, "s", at_most=2)


def compared(name: str, quantity: Any, design: Any, n: int, studies: int, seed: int) -> tuple[float, float]:
    """How far simulated standard errors (as a share) and powers are from the planned ones."""
    found = ask.plan({name: design}, quantity, n=n, check=studies, seed=seed).recommended
    gap = float(np.max(np.abs(np.array(found.simulated.std_errors) / np.array(found.std_errors) - 1)))
    return gap, float(np.max(np.abs(np.array(found.simulated.power) - np.array(found.powers))))
