"""Reports that were made, as uniform numbers: the declared law of each report, given its truth, takes its chance out.

- Choices and states: the distribution function of the table, any number of the cell of a report.
- Noise: the distribution function of its law.
- Hidden numbers, whose reports have no table: the rank of a report among reports that the declared channel gives for
  the same truth in a simulation, ties broken at random. It is uniform whatever the channel is.

If the release is what it promises, these numbers are uniform and independent, exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.labels.finite import FiniteLaw
from askance.channels.rows.vectors import NumberChannel
from askance.entropy.bits import GeneratorBits
from askance.entropy.thresholds import RESOLUTION
from askance.planning.auditing.audit_questions import Finding, most_striking
from askance.planning.auditing.audited_fields import Truths
from askance.planning.auditing.cell_tests import binomial_p_values
from askance.planning.auditing.count_bounds import count_p_value
from askance.planning.auditing.noise_audit import noise_uniforms, uniform_findings

_COLUMNS = 64  # attributes of a row that are looked at, drawn at random where there are more
_FIELDS = 6  # fields of a report on hidden numbers, the same
_SIMULATED = (31, 255)  # reports that each is ranked among: 31 show whether it is in an outer thirtieth
_WORK = 1 << 26  # numbers that are simulated in all: a few seconds
_QUARTERS = 4  # into which truths that are numbers are divided


@dataclass(frozen=True, eq=False)
class ToldRows:
    """What was told about one question.

    Parameters
    ----------
    names, counts, part, independent
        As tests of dependence want them.
    truths : array, rows x parts
        Numbers of truths.
    orders : list of arrays, rows x fields
        Uniform numbers: by the reports as they are, and, for tables, with the likeliest first.
    law, leaks : list of Finding
    truthful : pair of arrays
        The chances with which people are told as they are, and how many have each; empty where that does not happen.
    """

    names: list[str]
    counts: NDArray[np.int64]
    part: NDArray[np.int64]
    independent: bool
    truths: Truths
    orders: list[Floats]
    law: list[Finding]
    leaks: list[Finding]
    truthful: tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class ReportTable:
    """P(report | truth) of every truth (and design), groups x reports, and what each report would be if it told.

    Parameters
    ----------
    chances : array, groups x reports
    own : array of bool, groups x reports
        Which reports belong to the design of a group.
    telling : array
        The report that tells the truth of a group, or points to it most.
    names : function of group and report
    """

    chances: Floats
    own: NDArray[np.bool_]
    telling: NDArray[np.int64]
    names: Callable[[int, int], str]

    @classmethod
    def of_choices(cls, channel: FiniteLaw | DesignPerRow) -> "ReportTable":
        """Return the stacked table of a channel with one design or several."""
        laws, classes = list(channel.designs.values()), len(channel.classes)
        labels = [label for law in laws for label in law.report_labels]
        chances = np.zeros((len(laws) * classes, len(labels)))
        own, telling = np.zeros(chances.shape, bool), np.zeros(len(chances), np.int64)
        first = 0
        for number, law in enumerate(laws):
            groups, reports = slice(number * classes, (number + 1) * classes), len(law.report_labels)
            chances[groups, first : first + reports] = (law.counts / RESOLUTION).T
            own[groups, first : first + reports] = True
            points_to = (law.counts / np.maximum(law.counts.sum(axis=1, keepdims=True, dtype=float), 1)).argmax(axis=0)
            for k, label in enumerate(law.classes):
                known = law.report_labels.index(label) if label in law.report_labels else int(points_to[k])
                telling[number * classes + k] = first + known
            first += reports
        return cls(
            chances, own, telling, lambda g, o: f"report {labels[o]!r} for the truth {channel.classes[g % classes]!r}"
        )

    @classmethod
    def of_states(cls, law: Any, column: str) -> "ReportTable":
        """Return the table of an attribute with finitely many states."""
        chances, states = np.asarray(law.matrix.T, dtype=float), law.values
        return cls(
            chances,
            np.ones(chances.shape, bool),
            np.arange(len(states)),
            lambda g, o: f"{column}: report {states[o]:g} for the truth {states[g]:g}",
        )

    def cells(self, group: Truths, codes: NDArray[np.int64]) -> Finding:
        """Test every cell, by exact binomial probabilities."""
        groups, reports = self.chances.shape
        came = np.bincount(group * reports + codes, minlength=groups * reports).reshape(groups, reports)
        each = came.sum(axis=1)
        tested = np.argwhere((self.own | (came > 0)) & (each > 0)[:, None])
        g, o = tested.T
        p_values = binomial_p_values(came[g, o], each[g], np.clip(self.chances[g, o], 0.0, 1.0))

        def name(place: int) -> str:
            i, j = int(g[place]), int(o[place])
            return f"{self.names(i, j)}: declared {self.chances[i, j]:.4g}, observed {came[i, j] / each[i]:.4g}"

        return most_striking(p_values, name)

    def uniforms(self, group: Truths, codes: NDArray[np.int64], rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return a number of the cell of each report: reports as they are, and with the likeliest first."""
        found, back = [], rng.random((2, len(codes)))
        orders = (np.tile(np.arange(self.chances.shape[1]), (len(self.chances), 1)), np.argsort(-self.chances, axis=1))
        for number, order in enumerate(orders):
            ends = np.empty_like(self.chances)
            np.put_along_axis(ends, order, np.take_along_axis(self.chances, order, axis=1).cumsum(axis=1), axis=1)
            chance = self.chances[group, codes]
            found.append(np.clip(ends[group, codes] - back[number] * chance, 0.0, 1.0))
        return found[0], found[1]

    def truthful(self, group: Truths, codes: NDArray[np.int64]) -> tuple[int, Floats, Floats]:
        """Return how many were told as they are, the chances of that, and how many have each; sure ones left out."""
        each = np.bincount(group, minlength=len(self.chances)).astype(float)
        chances = self.chances[np.arange(len(self.chances)), self.telling]
        unsure = chances < 1
        hits = int(((codes == self.telling[group]) & unsure[group]).sum())
        return hits, chances[unsure], each[unsure]


def told_finding(hits: int, chances: Floats, each: Floats) -> Finding:
    """Test whether too many people were told as they are."""
    what = f"{hits:,} of {each.sum():,.0f} reports tell the truth, where {chances @ each:,.1f} are declared"
    return Finding(what, count_p_value(hits, chances, each, too_many_only=True))


def choice_codes(channel: FiniteLaw | DesignPerRow, truth: Any) -> Truths:
    """Return the group of each row in the stacked table: its design, and its truth."""
    answers, design = truth if channel.needs_design else (truth, 0)
    return np.asarray(design, np.int64) * len(channel.classes) + np.asarray(answers, np.int64)


@singledispatch
def told_rows(channel: Any, truth: Any, reports: NDArray[Any], rng: np.random.Generator) -> ToldRows:
    """Compare reports with the law that their channel declares, given the truths.

    Parameters
    ----------
    channel : any channel of a question
    truth : what reports are drawn for
    reports : array
        As the channel encodes them.
    rng : numpy.random.Generator
    """
    raise NotImplementedError


@told_rows.register(FiniteLaw)
@told_rows.register(DesignPerRow)
def _(channel: Any, truth: Any, reports: NDArray[Any], rng: np.random.Generator) -> ToldRows:
    table, group, codes = ReportTable.of_choices(channel), choice_codes(channel, truth), reports.astype(np.int64)
    hits, chances, each = table.truthful(group, codes)
    return ToldRows(
        names=["the report"],
        counts=np.array([len(table.chances)]),
        part=np.zeros(1, np.int64),
        independent=True,
        truths=group[:, None],
        orders=[column[:, None] for column in table.uniforms(group, codes, rng)],
        law=[table.cells(group, codes)],
        leaks=[told_finding(hits, chances, each)],
        truthful=(chances, each),
    )


@told_rows.register
def _(channel: FeatureChannel, truth: Any, reports: NDArray[Any], rng: np.random.Generator) -> ToldRows:
    columns = np.sort(rng.permutation(channel.width)[:_COLUMNS])
    names, truths, orders = list[str](), [], ([], [])  # type: ignore[var-annotated]
    law_found, leaks, cells = list[Finding](), list[Finding](), list[Finding]()
    hits, chances, each = 0, np.zeros(0), np.zeros(0)
    for j in columns:
        law, name = channel.laws[j], f"attribute {j + 1}"
        if law.is_finite:
            codes = _state_codes(channel, law, reports[:, j])
            group, table = truth[:, j].astype(np.int64), ReportTable.of_states(law, name)
            cells.append(table.cells(group, codes))
            both = table.uniforms(group, codes, rng)
            said = table.truthful(group, codes)
            hits, chances, each = hits + said[0], np.append(chances, said[1]), np.append(each, said[2])
            truths.append(group)
        elif not law.hides:
            other = int((reports[:, j] != truth[:, j]).sum())
            law_found.append(Finding(f"{name} is not told as it is in {other} rows", float(not other)))
            continue
        else:
            below, above, found = noise_uniforms(law, reports[:, [j]], truth[:, [j]], rng)
            size = np.abs(below - above)
            law_found += [*found, *uniform_findings(below, above, f"the noise of {name}")]
            leaks += uniform_findings(size, 1 - size, f"the size of the noise of {name}")
            both = below[:, 0], size[:, 0]
            truths.append(_quarters(truth[:, j]))
        names.append(name)
        for order, column in zip(orders, both, strict=True):
            order.append(column)
    if cells:
        least = min(cells, key=lambda one: one.p_value)
        law_found.append(Finding(least.what, min(1.0, least.p_value * len(cells)), sum(one.tests for one in cells)))
        leaks.append(told_finding(hits, chances, each))
    table_of = [np.column_stack(order) if order else np.zeros((len(reports), 0)) for order in orders]
    codes_of = np.column_stack(truths) if truths else np.zeros((len(reports), 0), np.int64)
    counts = codes_of.max(axis=0, initial=0) + 1
    return ToldRows(names, counts, np.arange(len(names)), True, codes_of, table_of, law_found, leaks, (chances, each))


@told_rows.register
def _(channel: NumberChannel, truth: Any, reports: NDArray[Any], rng: np.random.Generator) -> ToldRows:
    statistics = _number_statistics(channel, truth, rng)
    mine = statistics(reports)
    fewest, most = _SIMULATED
    per_round = len(truth) * (channel.work + len(channel.layout.states) + 3 * len(channel.estimated))
    rounds = max(fewest, min(most, _WORK // per_round))
    less, equal = np.zeros(mine.shape, np.int64), np.zeros(mine.shape, np.int64)
    for _ in range(rounds):
        theirs = statistics(channel.draw(truth, GeneratorBits(rng)))
        less += theirs < mine
        equal += theirs == mine
    ranks = (less + rng.integers(0, equal + 1) + rng.random(mine.shape)) / (rounds + 1)
    names = [*(f"field {number + 1}" for number in range(mine.shape[1] - 2)), "the distance", "the scale"]
    law, leaks = list[Finding](), list[Finding]()
    for j, name in enumerate(names):
        column = ranks[:, [j]]
        (leaks if name == "the distance" else law).extend(
            uniform_findings(column, 1 - column, f"{name} of the reports, among simulated ones,")
        )
    quarter = _quarters(truth[:, 0])[:, None]
    part = np.zeros(len(names), np.int64)
    return ToldRows(names, np.array([_QUARTERS]), part, False, quarter, [ranks], law, leaks, (np.zeros(0), np.zeros(0)))


def _number_statistics(
    channel: NumberChannel, truth: Floats, rng: np.random.Generator
) -> Callable[[NDArray[Any]], Floats]:
    """Return what is looked at in reports: some fields, how far estimates are from the truth, and along it."""
    expected = expected_estimates(channel, truth)
    fields = np.sort(rng.permutation(len(channel.layout.states))[:_FIELDS])
    spread = np.ptp(expected, axis=0)
    along = np.divide(expected - expected.mean(axis=0), spread**2, out=np.zeros_like(expected), where=spread > 0)

    def statistics(reports: NDArray[Any]) -> Floats:
        codes = reports.reshape(len(reports), -1)[:, fields].astype(float)
        estimates = channel.estimates(reports)
        off = estimates - expected
        return np.column_stack([codes, np.einsum("ij,ij->i", off, off), np.einsum("ij,ij->i", estimates, along)])

    return statistics


def expected_estimates(channel: NumberChannel, truth: Floats) -> Floats:
    """Return what the estimates from a report are in the mean, row by row."""
    return np.array([channel.expected(row) for row in np.asarray(truth, dtype=float)])


def _state_codes(channel: FeatureChannel, law: Any, column: NDArray[Any]) -> NDArray[np.int64]:
    """Return codes of states: they come so where all attributes have states, else as the states."""
    return column.astype(np.int64) if channel.is_finite else np.searchsorted(law.values.astype(float), column)


def _quarters(numbers: Floats) -> Truths:
    edges = np.quantile(numbers, np.arange(1, _QUARTERS) / _QUARTERS)
    return np.searchsorted(edges, numbers).astype(np.int64)
