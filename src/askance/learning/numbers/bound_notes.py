"""What reports say about the public bounds: far wider than the values, or so narrow that many were clipped."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from askance.learning.numbers.bound_piles import Pile, piles
from askance.learning.numbers.report_checks import Seen, counts_of_views
from askance.learning.numbers.report_sets import ReportSet
from askance.learning.numbers.set_moments import SetMoments

# Twice the standard deviation to either side is then a fifth of the bounds: data that fill theirs have more than .15 of
# the width, and bounds that are ten times too wide leave about .025.
_LITTLE = 0.05
_SURE = 4.0  # standard errors: of data that use so much of their bounds, one in 30,000 is said to use less
# Bounds that clip one value in fifty cost a few per cent of a slope, which few studies tell from its noise.
_PILED = 0.02
# Of the bounds: exponential laws with their peak at a bound, and a mean of a fifth of the width, seem to have a pile of
# .06 there if told from .3 of it, and .01 from .15.
_NARROW = 0.2
_TOLD = 0.03  # standard error of a pile below which nothing but the piles is looked at
# No law with a single peak has a larger variance than this share of the square of half its width.
_SINGLE_PEAK = 4 / 9
# Values that may all lie at the two bounds, within two standard errors, are yes and no as numbers. Rounding to codes
# hides some per cent of them.
_ALL, _MAY_BE = 0.9, 2.0


def notes_on_bounds(moments: Sequence[SetMoments], seen: Sequence[Seen | None]) -> tuple[str, ...]:
    """Say which hidden columns use little of their public bounds, or seem to be clipped, as far as reports tell.

    ``seen`` are the cells of the same report sets; none where nothing is hidden.
    """
    notes: list[str] = []
    for one, cells in zip(moments, seen, strict=True):
        if cells is None:
            continue
        ends = _ends(one.reports, cells)
        notes += _little_used(one)
        notes += [said for name, pair in ends.items() for said in _piled(name, *pair)]
        told = {name for name, pair in ends.items() if max(pair.low.error, pair.high.error) <= _TOLD}
        told |= {name for name, pair in ends.items() if _piled(name, *pair)}
        notes += _too_far_apart(one, told)
    return tuple(notes)


class _Ends(NamedTuple):
    """The piles at the bounds of a number, and the bounds."""

    low: Pile
    high: Pile
    bounds: tuple[float, float]


def _ends(reports: ReportSet, seen: Seen) -> dict[str, _Ends]:
    """Of the line's hidden columns those whose windows tell of piles."""
    channel, names, asked = reports.channel, _numbers(reports), _asked(reports)
    found = {}
    for view, counts in counts_of_views(channel, seen):  # type: ignore[arg-type]  # who was seen has one
        ends = piles(view, counts)
        if ends is not None and view.number < len(names) and names[view.number] in asked:
            low, high = (float(end[view.number]) for end in channel.limits)  # type: ignore[union-attr]
            found[names[view.number]] = _Ends(*ends, (low, high))
    return found


def _piled(name: str, low: Pile, high: Pile, bounds: tuple[float, float]) -> tuple[str, ...]:
    if low.share + high.share + _MAY_BE * math.hypot(low.error, high.error) >= _ALL:
        return ()
    sure = [end.share - _SURE * end.error > _PILED for end in (low, high)]
    # One alone may be where amounts begin, at zero, or the peak of a law, if it takes many codes to tell it.
    alone = [end.reach <= _NARROW and bound != 0 for end, bound in zip((low, high), bounds, strict=True)]
    if not all(sure) and not any(np.logical_and(sure, alone)):
        return ()
    places = [f"{max(end.share, 0):.0%} at {bound:.4g}" for end, bound in zip((low, high), bounds, strict=True)]
    return (_clipped(f"Many values of {name} lie at its public bounds (about {' and '.join(places)})"),)


def _clipped(seen: str) -> str:
    return (
        f"{seen}, as values do that were outside and clipped. If these were, the line is that of clipped values: "
        "slopes of a clipped outcome are too small, those on clipped features wrong either way, and intervals do not "
        "cover the slopes of the values themselves. No analysis undoes that: in another study take wider bounds, from "
        "what everybody knows. All is well if values end there by themselves, as on a scale."
    )


def _numbers(reports: ReportSet) -> tuple[str, ...]:
    """The names of the numbers that are hidden."""
    return reports.rows.names if reports.rows is not None else reports.names[-1:]


def _asked(reports: ReportSet) -> set[str]:
    """The hidden numbers of the line; the indicators of categories have nothing but ends."""
    rows = reports.rows
    made = () if rows is None else (name for column in rows.categories for name in rows.hidden(column))
    return {*reports.names} - {*made}


class _Spread(NamedTuple):
    """How a hidden number varies, in units of the data: its mean, its variance and the error of that, its bounds."""

    name: str
    mean: float
    variance: float
    error: float
    low: float
    high: float


def _spreads(one: SetMoments) -> Iterator[_Spread]:
    """Of every hidden number; those of which reports do not tell the variance are left out."""
    sums, reader, width = one.sums, one.reports.reader, one.reports.reader.width
    low, high = (ends.tolist() for ends in one.reports.channel.limits)  # type: ignore[union-attr]  # there is one
    columns = range(1, width) if one.reports.rows is not None else [width - 1]
    first, second = (ends.tolist() for ends in np.triu_indices(width))
    entry = {pair: place for place, pair in enumerate(zip(first, second, strict=True))}
    for number, (column, name) in enumerate(zip(columns, _numbers(one.reports), strict=True)):
        mean, square = entry[0, column], entry[column, column]
        variance = float(sums.mean[square] - sums.mean[mean] ** 2)
        error = math.sqrt(sums.variance[square]) + 2 * abs(sums.mean[mean]) * math.sqrt(sums.variance[mean])
        unit, origin = float(reader.to_units[column, column]), float(reader.to_units[column, 0])
        if math.isfinite(variance):
            middle = origin + unit * float(sums.mean[mean])
            yield _Spread(name, middle, unit**2 * variance, unit**2 * error, low[number], high[number])


def _little_used(one: SetMoments) -> Iterator[str]:
    for name, _, variance, error, low, high in _spreads(one):
        most = math.sqrt(max(variance + _SURE * error, 0.0))
        if most < _LITTLE * (high - low):
            seen = math.sqrt(max(variance, 0.0))
            yield (
                f"{name} uses little of its public bounds: its standard deviation is about {seen:.2g}, and hardly "
                f"above {most:.2g}, where the bounds are {high - low:.4g} apart. Noise grows with that "
                "distance: in another study, tighter bounds from what everybody knows would hide as much and tell more."
            )


def _too_far_apart(one: SetMoments, told: set[str]) -> Iterator[str]:
    """Where windows do not tell of piles: values that lie farther apart than in any law with one peak inside bounds."""
    asked = _asked(one.reports) - told
    for name, mean, variance, error, low, high in _spreads(one):
        half = (high - low) / 2
        square = variance + (mean - low - half) ** 2
        if name not in asked or square + _MAY_BE * error >= _ALL * half**2:
            continue
        if variance - _SURE * error > _SINGLE_PEAK * half**2:
            yield _clipped(
                f"Many values of {name} lie at its public bounds, {low:.4g} and {high:.4g} (its standard deviation is "
                f"about {math.sqrt(variance):.2g})"
            )
