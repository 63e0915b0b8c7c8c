"""Does noise have its declared law, in its tails and in its lowest digits too?

The distribution function of the declared law turns noise into uniform numbers: for noise on a grid, any number of the
cell that a step stands for. How many of them are below 2^-j and above 1 - 2^-j is binomial, exactly. Noise that is
cut off at a tail of probability t shows after about 14 / t draws.

Noise within public bounds comes in whole steps of a public grid. A report beside the grid was added to in floating
point, and its lowest digits tell what it was added to (Mironov, 2012). The lowest bits of the number of steps are
fair coins.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.noise_law import NoiseCoordinate
from askance.channels.specs import channel_from_spec
from askance.errors import AskanceError
from askance.planning.auditing.audit_questions import AuditQuestion, Finding, most_striking
from askance.planning.auditing.audited_fields import AuditedFields, Truths
from askance.planning.auditing.cell_tests import binomial_p_values

_REPORTS = 1 << 20  # single numbers that are drawn: they show noise that is cut off at a tail of 2^-16
_WORK = 1 << 24  # numbers drawn, where a report is costly
_BINS = 32  # of equal probability, in which numbers are counted
# Lowest bits of noise that are looked at, and the steps of its scale from which on: so many are then fair to one part
# in 10,000.
_FAIR_BITS = 5
_ENOUGH_STEPS = 1024
_ASKS = "Do numbers have the declared law, in the tails and in the lowest digits too?"


def audit_tails(fields: AuditedFields, draws: int | None, error_rate: float) -> AuditQuestion | None:
    """Test the law of numbers; None where a table of probabilities says all."""
    rng = np.random.default_rng()
    rows = max(2, min(_REPORTS // len(fields.names), _WORK // fields.work))
    rows = rows if draws is None else max(2, min(rows, int(draws)))
    channel = fields.channel
    if channel.hides == "numbers":
        return AuditQuestion.of("tails", _ASKS, _against_simulation(fields, rows, rng), error_rate)
    if channel.hides == "labels":
        return None
    features = channel.features if channel.hides == "records" else channel
    if all(law.is_finite or not law.hides for law in features.laws):
        return None
    truths = fields.truths(rows, rng)
    reported = fields.reported(fields.reports(truths))
    found: list[Finding] = []
    seen = 0
    for law, columns in features.groups:
        if isinstance(law, NoiseCoordinate) and law.hides:
            truth = fields.rows_of(truths[:, columns], columns)
            found += _noise_findings(law, columns, reported[:, columns], truth, truths[:, columns], rng)
            seen = max(seen, rows * len(columns))
    note = f"Noise that is cut off at tails of {14 / seen:.2g} or more would have been noticed." if seen else ""
    return AuditQuestion.of("tails", _ASKS, found, error_rate, note)


def _noise_findings(
    law: NoiseCoordinate,
    columns: NDArray[np.intp],
    reported: Floats,
    truth: Floats,
    which: Truths,
    rng: np.random.Generator,
) -> Iterator[Finding]:
    below, above, found = noise_uniforms(law, reported, truth, rng)
    yield from found
    names = [f"attribute {column + 1}" for column in columns]
    yield from uniform_findings(below, above, "the noise", names)
    for t in range(3):
        chosen = which == t
        if chosen.any():
            yield from uniform_findings(below[chosen][:, None], above[chosen][:, None], f"the noise at truth {t + 1}")


def noise_uniforms(
    law: NoiseCoordinate, reported: Floats, truth: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats, list[Finding]]:
    """Turn noise into uniform numbers by its declared law; return them, 1 minus them, and what the grid shows."""
    half, noise, found = 0.0, reported - truth, list[Finding]()
    if law.steps and law.range is not None and law.bounds is not None:
        low, step = law.bounds[0], float(law.range) / law.steps
        whole = np.rint((reported - low) / step)
        beside = int((low + whole * step != reported).sum())
        if beside:
            what = f"{beside} of {reported.size} reports are not on the public grid: noise in floating point"
            found.append(Finding(what, 0.0))
        steps = whole - np.clip(np.rint((truth - low) / step), 0, law.steps)
        half, noise = step / 2, steps * step
        if law.size / step >= _ENOUGH_STEPS:
            found.append(_bits(steps))
    place = rng.random(noise.shape)
    below = (1 - place) * law.distribution(noise - half) + place * law.distribution(noise + half)
    above = place * law.distribution(-noise - half) + (1 - place) * law.distribution(half - noise)
    return below, above, found


def _bits(whole: Floats) -> Finding:
    bits = [(whole.astype(np.int64) >> b) & 1 for b in range(_FAIR_BITS)]
    ones = np.array([bit.sum() for bit in bits])
    p_values = binomial_p_values(ones, np.full(len(ones), whole.size), np.full(len(ones), 0.5))
    return most_striking(
        p_values, lambda b: f"bit {b} of the noise, in steps of the grid, is 1 in {ones[b]} of {whole.size}"
    )


def uniform_findings(below: Floats, above: Floats, what: str, names: list[str] | None = None) -> Iterator[Finding]:
    """Test whether numbers are uniform: in both tails, in bins, and in their scale.

    Parameters
    ----------
    below, above : array, n x columns
        The numbers, and 1 minus them, which keeps its digits where they are next to 1.
    what : str
    names : list of str, optional
        Of the columns; they are tested one by one if given.
    """
    from scipy.special import gammainc, gammaincc

    depth = max(1, int(np.log2(max(below.size, 2))))
    for side, numbers in (("low", below), ("high", above)):
        chances = 2.0 ** -np.arange(1, depth + 1)
        # How many halvings each is below: 0.3 is in the tails 1/2 and no further.
        halvings = np.clip(np.floor(-np.log2(np.maximum(numbers, 2.0**-60))), 0, depth).astype(np.int64)
        tables = [np.bincount(halvings.ravel(), minlength=depth + 1)[:, None]]
        if names is not None and len(names) > 1:
            tables.append(np.stack([np.bincount(column, minlength=depth + 1) for column in halvings.T], axis=1))
        for table in tables:
            came = np.cumsum(table[::-1], axis=0)[::-1][1:]
            each = np.full(came.shape, table[:, 0].sum())
            p_values = binomial_p_values(came, each, np.broadcast_to(chances[:, None], came.shape))

            def name(place: int, came: Any = came, each: Any = each, side: str = side) -> str:
                j, column = divmod(place, came.shape[1])
                whose = f" of {names[column]}" if names is not None and came.shape[1] > 1 else ""
                return (
                    f"{what}{whose} is in the {side} tail of 2^-{j + 1} {came[j, column]} times in "
                    f"{each[j, column]} draws"
                )

            yield most_striking(p_values, name)
    counted = np.bincount(np.minimum(below * _BINS, _BINS - 1).astype(np.int64).ravel(), minlength=_BINS)
    p_values = binomial_p_values(counted, np.full(_BINS, below.size), np.full(_BINS, 1 / _BINS))
    yield most_striking(p_values, lambda b: f"{what} is in bin {b + 1} of {_BINS} {counted[b]} times")
    # Twice the distance to the nearer end is uniform too; minus its logarithm is exponential, and the sum has a Gamma
    # law: the most telling test of a scale.
    total = float(-np.log(np.maximum(2 * np.minimum(below, above), 2.0**-60)).sum())
    p_scale = 2 * min(float(gammainc(below.size, total)), float(gammaincc(below.size, total)))
    yield Finding(f"the scale of {what} is {total / below.size:.4g} of the declared one", min(1.0, p_scale))


def _against_simulation(fields: AuditedFields, rows: int, rng: np.random.Generator) -> Iterator[Finding]:
    """Compare reports, truth by truth, with those that the declared channel gives in a simulation."""
    try:
        declared = channel_from_spec(fields.channel.to_spec())
    except (AskanceError, TypeError, ValueError, AttributeError):
        declared = fields.channel
    truths = fields.truths(rows, rng)
    mine = fields.values(fields.reports(truths), truths)
    theirs = fields.values(declared.simulate(*fields.asked(truths), rng), truths)
    ends = 2.0 ** -np.arange(1, max(2, int(np.log2(rows))))
    shares = np.unique(np.concatenate([ends, 1 - ends, np.arange(1, _BINS) / _BINS]))
    for j, name in enumerate(fields.names):
        p_values: list[float] = []
        for t in range(fields.counts[0]):
            chosen = truths[:, 0] == t
            both = np.sort(np.concatenate([mine[chosen, j], theirs[chosen, j]]))
            if not len(both):
                continue
            # A value is the end of its bin: equal values are never divided.
            edges = np.unique(both[np.minimum((shares * len(both)).astype(np.int64), len(both) - 1)])
            counts = [
                np.bincount(np.searchsorted(edges, v[chosen, j]), minlength=len(edges) + 1) for v in (mine, theirs)
            ]
            p_values += binomial_p_values(counts[0], counts[0] + counts[1], np.full(len(counts[0]), 0.5)).tolist()
        yield most_striking(np.array(p_values), lambda _, name=name: f"{name} has another law than in a simulation")
