"""Whether feature reports can have come from the channel that is said to have made them.

Noise leaves marks that no truth can undo: a state that is reported less often than chance alone reports it, a pair of
states likewise, numbers that vary less than their noise. What is farther from possible than chance ever is, is refused;
what is merely unlikely is said.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.coordinate_law import FiniteCoordinate
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.errors import InvalidInput
from askance.learning.records.prior import learned_states, state_counts
from askance.learning.records.reading import SpreadRecords

# Standard errors beyond what is possible: 1e-15 by chance, and 3e-7, which thousands of cells do not reach together.
CERTAIN, LIKELY = 8.0, 5.0
_ROWS_FOR_EACH = 10  # of a state, below which its share says little
_LEAST_ROWS = 50  # below which standard errors say little
_MOST_ROWS = 20_000  # that are looked at: more would find smaller faults than any that matter
_MOST_NUMBERS = 4_000_000  # in them: a third of a second for 5,000 rows of 784 pixels, of which every one is looked at
_MOST_CELLS = 200  # states of all attributes together, up to which pairs are looked at
_OFF_GRID = 0.01  # share of reports that are no multiple of their channel's step, or tied, before it is said
_BINS = 20  # of records by what their features tell about the label
_REMEDY = "Pass what channel.privatize returned, with the channel that made it."


@dataclass(frozen=True)
class Fault:
    """What reports cannot be, by how many standard errors."""

    what: str
    errors: float


def check_reports(records: SpreadRecords, names: list[str]) -> tuple[str, ...]:
    """Refuse reports that their channel cannot have made; return remarks on those that it hardly can have."""
    some = records.thinned(max(min(_MOST_ROWS, _MOST_NUMBERS // len(names)), 1))
    features, table, weights = some.features, some.reports, some.weights
    rows = float(weights.sum() ** 2 / (weights**2).sum())
    if rows < _LEAST_ROWS:
        return ()
    faults = [*_states(features, table, weights, rows, names), *_numbers(features, table, weights, rows, names)]
    worst = max(faults, key=lambda fault: fault.errors, default=None)
    worst = next((fault for fault in faults if fault.errors >= CERTAIN), worst)  # the plainest of what is certain
    remarks = list(_marks(features, table, names))
    if worst is None or worst.errors < LIKELY:
        return tuple(remarks)
    expected = "reports of the channel, which leaves its noise in them"
    if worst.errors >= CERTAIN:
        raise InvalidInput(f"feature reports with {worst.what}", expected, _REMEDY)
    return (f"The feature reports have {worst.what}: they may not be reports of this channel. {_REMEDY}", *remarks)


def check_labels(chances: Floats, records: SpreadRecords) -> tuple[str, ...]:
    """The same of label reports: whatever features tell, noise leaves each report below its largest chance.

    Parameters
    ----------
    chances : n x classes
        P(true class | feature report), as fitted.
    records : SpreadRecords
    """
    matrix, codes, weights = records.label.matrix, records.label_codes, records.weights
    worst, remarks = Fault("", 0.0), "The label reports are {}: they may not be reports of this channel. " + _REMEDY
    for report, row in enumerate(matrix):
        bound, rows = float(row.max()), len(chances) // _BINS
        if bound >= 1 or rows < _LEAST_ROWS:
            continue
        order = np.argsort(-chances[:, int(row.argmax())])
        for bins in range(1, _BINS // 2 + 1):  # of those whose features speak most for it, few or many
            part = order[: bins * rows]
            own = weights[part]
            share = float(own @ (codes[part] == report) / own.sum())
            errors = (share - bound) / np.sqrt(bound * (1 - bound) * (own**2).sum()) * own.sum()
            name = _reported(records.label, report)
            what = f"{name} in {share:.1%} of like records, where noise leaves at most {bound:.1%}"
            worst = max(
                worst, Fault(f"{what} ({errors:.0f} standard errors)", float(errors)), key=lambda one: one.errors
            )
    if worst.errors >= CERTAIN:
        raise InvalidInput(f"label reports that are {worst.what}", "reports of the channel", _REMEDY)
    return (remarks.format(worst.what),) if worst.errors >= LIKELY else ()


def _states(
    features: FeatureChannel, table: NDArray[Any], weights: Floats, rows: float, names: list[str]
) -> Iterator[Fault]:
    """States, and pairs of them, that are reported less often than noise alone reports them."""
    finite: list[tuple[int, FiniteCoordinate]] = [
        (j, law) for j, law in enumerate(features.laws) if law.is_finite and law.hides
    ]
    # Of each law once: of 784 pixels that are hidden alike, inverses took a hundred times as long as the fit.
    undone = {key: np.linalg.inv(law.matrix) for key, law in {id(law): law for _, law in finite}.items()}
    for law, columns in features.groups:
        if not law.is_finite or not law.hides or rows < _ROWS_FOR_EACH * len(law.values):
            continue
        shares = state_counts(table[:, columns], len(law.values), weights) / weights.sum()
        possible = learned_states(shares, law) @ law.matrix.T
        back = undone[id(law)]
        found = shares @ back.T
        error = np.sqrt(np.maximum(possible @ (back**2).T - (possible @ back.T) ** 2, 1e-12) / rows)
        place, worst = np.unravel_index((found / error).argmin(), found.shape)
        away = -float(found[place, worst] / error[place, worst])
        yield Fault(
            f"the state {law.values[worst]!s} of {names[columns[place]]} in {shares[place, worst]:.1%} of them, where "
            f"noise alone makes it {law.matrix[worst].min():.1%} ({away:.0f} standard errors)",
            away,
        )
    if sum(len(law.values) for _, law in finite) > _MOST_CELLS:
        return
    marks = {j: np.eye(len(law.values))[table[:, j].astype(np.intp)] for j, law in finite}
    for place, (j, one) in enumerate(finite):
        for k, other in finite[:place]:
            together = (marks[j] * weights[:, None]).T @ marks[k] / weights.sum()
            left, right = undone[id(one)], undone[id(other)]
            found = left @ together @ right.T
            least = one.matrix.min() * other.matrix.min()
            error = np.sqrt((left**2) @ np.maximum(together, least) @ (right**2).T / rows)
            away = -float((found / error).min())
            if away >= LIKELY:
                pair = f"{names[k]} and {names[j]}"
                yield Fault(
                    f"a pair of states of {pair} that is rarer than noise makes it ({away:.0f} standard errors)", away
                )


def _numbers(
    features: FeatureChannel, table: NDArray[Any], weights: Floats, rows: float, names: list[str]
) -> Iterator[Fault]:
    """Numbers, or sums of them, that vary less than their noise."""
    noisy = [(j, law) for j, law in enumerate(features.laws) if not law.is_finite and law.hides]
    if not noisy or len(noisy) > rows / 4:
        return
    noise = np.array([law.variance for _, law in noisy])
    tails = np.array([law.kurtosis - 1 for _, law in noisy])
    block = table[:, [j for j, _ in noisy]].astype(float)
    about = (block - np.average(block, axis=0, weights=weights)) / np.sqrt(noise)
    products = (about * weights[:, None]).T @ about / weights.sum()
    for place, (j, _) in enumerate(noisy):
        away = float((1 - products[place, place]) / np.sqrt(tails[place] / rows))
        share = products[place, place]
        yield Fault(
            f"a variance of {names[j]} that is {share:.2g} times that of its noise ({away:.0f} standard errors)", away
        )
    # The smallest eigenvalue of a sample's covariance lies this far below that of the noise (Marchenko & Pastur 1967).
    edge = (1 - np.sqrt(len(noisy) / rows)) ** 2
    away = float((edge - np.linalg.eigvalsh(products)[0]) / np.sqrt(tails.max() / rows))
    yield Fault(f"a sum of numbers that varies less than its noise ({away:.0f} standard errors)", away)


def _marks(features: FeatureChannel, table: NDArray[Any], names: list[str]) -> Iterator[str]:
    """Numbers that were rounded after their noise was added, or never had any."""
    for j, law in enumerate(features.laws):
        if law.is_finite or not law.hides:
            continue
        reports = table[:, j].astype(float)
        if law.bounds is None:
            tied = 1 - len(np.unique(reports)) / len(reports)
            said = f"{tied:.0%} of the reports of {names[j]} are ties, which noise does not leave"
        else:
            place = (reports - law.bounds[0]) / (float(law.range or 1) / law.steps)
            tied = float(np.mean(np.abs(place - np.rint(place)) > 1e-3))
            said = f"{tied:.0%} of the reports of {names[j]} are not on the grid of its channel"
        if tied > _OFF_GRID:
            yield f"{said}: they were rounded afterwards, or are not reports. {_REMEDY}"


def _reported(label: Any, code: int) -> str:
    """What a code of a label report stands for."""
    known = getattr(label, "report_labels", label.classes)
    return str(known[code])
