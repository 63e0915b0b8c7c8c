"""Reports whose order says nothing about the truths: only their totals can be compared with those declared.

Every count of reports is a sum of independent events, one for each person, whose chances the truths and the channel
give; it does not matter who is who. Means of hidden numbers are tested by the empirical Bernstein bound (Maurer &
Pontil 2009), which holds for independent reports of different laws.
"""

import math
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.attributes.noise_law import NoiseCoordinate
from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.labels.finite import FiniteLaw
from askance.channels.rows.vectors import NumberChannel
from askance.entropy.bits import GeneratorBits
from askance.planning.auditing.audit_questions import Finding, most_striking
from askance.planning.auditing.count_bounds import count_p_value
from askance.planning.auditing.told_rows import ReportTable, choice_codes, expected_estimates

_BINS = 8  # of about equal chance, in which reports with noise are counted
_SHUFFLES = 199  # of the truths: reports that have nothing to do with them are beyond all of these once in 200 times


@singledispatch
def margin_findings(channel: Any, truth: Any, reports: NDArray[Any], rng: np.random.Generator) -> list[Finding]:
    """Compare totals of reports with those that the truths give; parameters are those of ``told_rows``."""
    raise NotImplementedError


@margin_findings.register(FiniteLaw)
@margin_findings.register(DesignPerRow)
def _(channel: Any, truth: Any, reports: NDArray[Any], rng: np.random.Generator) -> list[Finding]:
    return [_counted(ReportTable.of_choices(channel), choice_codes(channel, truth), reports.astype(np.int64), "")]


@margin_findings.register
def _(channel: FeatureChannel, truth: Any, reports: NDArray[Any], rng: np.random.Generator) -> list[Finding]:
    found = []
    for j, law in enumerate(channel.laws):
        name, reported = f"attribute {j + 1}", reports[:, j]
        if law.is_finite:
            codes = reported if channel.is_finite else np.searchsorted(law.values.astype(float), reported)
            table = ReportTable.of_states(law, name)
            found.append(_counted(table, truth[:, j].astype(np.int64), codes.astype(np.int64), f"{name}: "))
        elif law.hides:
            found.append(_binned(law, truth[:, j], reported, name, rng))
        else:
            same = np.array_equal(np.sort(reported), np.sort(truth[:, j]))
            found.append(Finding(f"{name} is not told as it is", float(same)))
    return found


@margin_findings.register
def _(channel: NumberChannel, truth: Any, reports: NDArray[Any], rng: np.random.Generator) -> list[Finding]:
    rows, estimates = len(reports), channel.estimates(reports)
    off = estimates.mean(axis=0) - expected_estimates(channel, truth).mean(axis=0)
    simulated = channel.estimates(channel.draw(truth, GeneratorBits(rng)))
    both = np.concatenate([estimates, simulated])
    width, variance = np.ptp(both, axis=0), estimates.var(axis=0, ddof=1) if rows > 1 else np.full(off.shape, np.inf)
    # off = sqrt(2 V L / n) + 7 R L / (3 (n - 1)), solved for L; then P <= 4 exp(-L)
    a, b = 7 * width / (3 * max(rows - 1, 1)), np.sqrt(2 * variance / rows)
    root = (-b + np.sqrt(b**2 + 4 * a * np.abs(off))) / np.where(a > 0, 2 * a, np.inf)
    p_values = np.minimum(1.0, 4 * np.exp(-(root**2)))
    return [most_striking(p_values, lambda q: f"the mean of {channel.estimated[q]} is off by {off[q]:.3g}")]


def _counted(table: ReportTable, group: NDArray[np.int64], codes: NDArray[np.int64], whose: str) -> Finding:
    """Count every report, whatever its truth."""
    groups, reports = table.chances.shape
    each = np.bincount(group, minlength=groups).astype(float)
    came = np.bincount(codes, minlength=reports)
    p_values = np.array([count_p_value(int(came[o]), table.chances[:, o], each) for o in range(reports)])

    def name(o: int) -> str:
        return f"{whose}report {o + 1} came {came[o]:,} times, where {table.chances[:, o] @ each:,.1f} are declared"

    return most_striking(p_values, name)


def _binned(law: NoiseCoordinate, truth: Floats, reported: Floats, name: str, rng: np.random.Generator) -> Finding:
    """Count reports with noise in bins, whose ends are chosen by a simulation: the reports have no part in it."""
    simulated = law.draw(truth, GeneratorBits(rng))
    edges = np.quantile(simulated, np.arange(1, _BINS) / _BINS)
    if law.steps and law.range is not None and law.bounds is not None:
        low, step = law.bounds[0], float(law.range) / law.steps
        edges = low + (np.floor((edges - low) / step) + 0.5) * step  # between two points of the grid
        truth = low + np.rint((truth - low) / step) * step
    values, each = np.unique(truth, return_counts=True)
    below = np.column_stack([np.zeros(len(values)), law.distribution(edges - values[:, None]), np.ones(len(values))])
    came = np.bincount(np.searchsorted(edges, reported), minlength=_BINS)
    chances = np.clip(np.diff(below, axis=1), 0.0, 1.0)
    p_values = np.array([count_p_value(int(came[b]), chances[:, b], each.astype(float)) for b in range(_BINS)])
    return most_striking(p_values, lambda b: f"the reports on {name} are in bin {b + 1} of {_BINS} {came[b]:,} times")


def is_unrelated(channel: Any, truth: Any, reports: NDArray[Any], rng: np.random.Generator) -> bool | None:
    """Say whether reports have nothing to do with the truths beside them; None if these could not show it.

    Reports that the declared channel gives must fit their truths better than shuffled ones, and these must not.
    """
    score = _score(channel, truth)
    rows = len(reports)
    simulated = channel.draw(truth, GeneratorBits(rng))
    shuffles = [rng.permutation(rows) for _ in range(_SHUFFLES)]
    if score(simulated, np.arange(rows)) <= max(score(simulated, order) for order in shuffles):
        return None
    return bool(score(reports, np.arange(rows)) <= max(score(reports, order) for order in shuffles))


def _score(channel: Any, truth: Any) -> Any:
    """Return how well reports fit the truths of rows in some order, as a function of both."""
    if channel.hides == "labels":
        table, group = ReportTable.of_choices(channel), choice_codes(channel, truth)
        logs = np.log(np.maximum(table.chances, 1e-9))  # what cannot be is next to impossible
        if not channel.needs_design:
            return lambda reports, order: float(logs[group[order], reports.astype(np.int64)].sum())
        classes = len(channel.classes)
        # Designs stay where they are: only answers change places.
        return lambda reports, order: float(
            logs[group // classes * classes + group[order] % classes, reports.astype(np.int64)].sum()
        )
    if channel.hides == "numbers":
        expected = expected_estimates(channel, truth)
        centred = expected - expected.mean(axis=0)
        return lambda reports, order: float((channel.estimates(reports) * centred[order]).sum())
    numbers = np.asarray(truth, dtype=float)
    scale = np.maximum(numbers.std(axis=0), math.ulp(1.0))
    standard = (numbers - numbers.mean(axis=0)) / scale**2
    return lambda reports, order: float((reports * standard[order]).sum())
