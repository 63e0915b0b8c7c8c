"""Evidence that reports, given features, have a law that their channel cannot give: raw answers, or another channel.

Whatever people truly are, and however that hangs on their features, the law of a report lies in the hull of the columns
of the channel's matrix. One half of the records teaches how reports follow the features, as if they were answers; the
other half is asked whether they really do so where that leaves the hull. With q the law that was learned and p the one
of the hull that is nearest to it, q(r) / p(r) has a mean of at most one over all laws of the hull, so that a product
over records exceeds 1/a with probability a at most (Gruenwald, de Heide and Koolen, Safe Testing, 2024): no model of
the truth is needed, people may depend on each other, and any number of records will do.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax

from askance.arrays import Codes, Floats
from askance.statistics.base import Records

# What is looked at: more tells nothing new (a slope of 2 under Warner's .75, reported raw, is seen in 300 records), and
# takes a noticeable part of a fit.
_MOST_RECORDS, _MOST_NUMBERS = 16_384, 4_000_000
_MOST_CELLS = 2_000_000  # records x reports x classes: a second of projections
# In the tests 40 records in which a channel was not followed are noticed, and missed where 400 are wanted. Where 4 are
# enough, one test fails: that 20 records, which are too few, are not looked at.
_FEWEST_RECORDS = 40
_STEPS = 25  # of L-BFGS: features that follow reports closely show it after a few
_ROUNDS = 40  # of projection; what is left to do costs evidence, and never adds any
# A law that was learned from few records is too steep: flatter ones are tried beside it, and the evidence averaged.
_FLATTER = (1.0, 0.5)
# Of each bet so much is not risked: whatever one record is, an outlier say, it takes log(100) of evidence at most.
_SAVED = 0.01
# Numbers further out than so many standard deviations are moved in, round by round until none is (one of 1e9 among ten
# thousand takes thirteen rounds); two values stay two values. Any function of the features may be asked.
_FAR, _ROUNDS_IN = 6.0, 20


class Design(NamedTuple):
    """The reports of one design: their law for each class, and where their codes stand among all."""

    matrix: Floats
    codes: slice


class Excess(NamedTuple):
    """The report that is most outside: its share of rows whose features point there, and the nearest possible one."""

    code: int
    rows: int
    share: float
    bound: float


class FeatureEvidence(NamedTuple):
    """How strongly the records speak against their channel.

    Parameters
    ----------
    log_evidence : float
        Exceeds log(1/a) with probability a at most where the channel is right.
    excess : Excess or None
        None where no report stands out.
    """

    log_evidence: float
    excess: Excess | None = None


def records_wanted(columns: int, reports: int, classes: int) -> int:
    """How many records are worth looking at; zero where a look would cost too much."""
    most = min(_MOST_RECORDS, _MOST_NUMBERS // max(columns, 1), _MOST_CELLS // (reports * classes))
    return most if most >= _FEWEST_RECORDS else 0


def feature_evidence(records: Records, designs: Sequence[Design]) -> FeatureEvidence:
    """Look for reports that no truth explains.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(600, 1))
    >>> raw = (rng.random(600) < 1 / (1 + np.exp(-3 * x[:, 0]))).astype(np.uint8)
    >>> warner = Design(np.array([[0.75, 0.25], [0.25, 0.75]]), slice(0, 2))
    >>> feature_evidence(Records(x, raw), [warner]).log_evidence > 10
    True
    >>> hidden = np.where(rng.random(600) < 0.75, raw, 1 - raw)
    >>> feature_evidence(Records(x, hidden), [warner]).log_evidence < 3
    True
    """
    learned, asked = records.every(2), records.every(2, 1)
    if min(len(learned), len(asked)) < _FEWEST_RECORDS // 2 or not records.features.shape[1]:
        return FeatureEvidence(0.0)
    teaching, questions = _without_outliers(learned.features, asked.features)
    reports = max(design.codes.stop for design in designs)
    slopes = _taught(teaching, learned.codes, reports)
    logits = _with_intercept(questions) @ slopes
    found, outside = np.zeros(len(_FLATTER)), []
    for design in designs:
        rows = (asked.codes >= design.codes.start) & (asked.codes < design.codes.stop)
        codes, place = asked.codes[rows].astype(np.int64) - design.codes.start, np.arange(int(rows.sum()))
        for number, flatter in enumerate(_FLATTER):
            law = softmax(flatter * logits[rows, design.codes], axis=1)
            found[number] += np.log(_SAVED + (1 - _SAVED) * _bets(law, design.matrix)[place, codes]).sum()
        outside += _excesses(softmax(logits[rows, design.codes], axis=1), codes, design)
    evidence = float(logsumexp(found) - np.log(len(_FLATTER)))
    most, excess = max(outside, key=lambda one: one[0], default=(0.0, None))
    return FeatureEvidence(evidence, excess if most > 0 else None)


def _without_outliers(learned: Floats, asked: Floats) -> tuple[Floats, Floats]:
    """Both in standard deviations of the first, with what is far out moved in."""
    for _ in range(_ROUNDS_IN):
        centre, scale = learned.mean(axis=0), learned.std(axis=0)
        inside = np.clip(learned, centre - _FAR * scale, centre + _FAR * scale)
        if np.array_equal(inside, learned):
            break
        learned = inside
    centre, scale = learned.mean(axis=0), learned.std(axis=0)
    scale[~(scale > 0)] = np.inf  # what does not vary tells nothing
    questions = np.clip(asked, learned.min(axis=0), learned.max(axis=0))
    return (learned - centre) / scale, (questions - centre) / scale


def _with_intercept(features: Floats) -> Floats:
    return np.column_stack([np.ones(len(features)), features])


def _taught(features: Floats, codes: Codes, reports: int) -> Floats:
    """Parameters of the softmax law of reports given features, held back as by one observation of each feature."""
    z, chosen = _with_intercept(features), np.eye(reports)[codes]
    held = np.ones((z.shape[1], reports))
    held[0] = 0.0

    def loss(flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(held.shape)
        logs = log_softmax(z @ theta, axis=1)
        value = -(chosen * logs).sum() + 0.5 * (held * theta**2).sum()
        return float(value) / len(z), (z.T @ (np.exp(logs) - chosen) + held * theta).ravel() / len(z)

    start = np.zeros(held.shape)
    start[0] = np.log((chosen.sum(axis=0) + 0.5) / (len(z) + 0.5 * reports))
    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return np.asarray(found.x).reshape(held.shape)


def _bets(law: Floats, matrix: Floats) -> Floats:
    """q(r) / p(r) of each record and report, with a mean of at most one whatever the truth is."""
    shares = np.full((len(law), matrix.shape[1]), 1 / matrix.shape[1])
    for _ in range(_ROUNDS):
        shares *= _ratios(law, shares, matrix) @ matrix
    ratios = _ratios(law, shares, matrix)
    # Exact at the nearest law of the hull; before it is reached, what a class gives too much is taken off.
    return np.asarray(ratios / np.maximum((ratios @ matrix).max(axis=1, keepdims=True), 1.0))


def _ratios(law: Floats, shares: Floats, matrix: Floats) -> Floats:
    return np.asarray(law / np.maximum(shares @ matrix.T, np.finfo(float).tiny))


def _excesses(law: Floats, codes: Codes, design: Design) -> list[tuple[float, Excess]]:
    """Of each report and side, how far outside it is among rows that were expected there, in standard errors."""
    found = []
    for code, (least, most) in enumerate(zip(design.matrix.min(axis=1), design.matrix.max(axis=1), strict=True)):
        for bound, side, rows in ((most, 1, law[:, code] > most), (least, -1, law[:, code] < least)):
            if count := int(rows.sum()):
                share = float((codes[rows] == code).mean())
                error = np.sqrt(max(bound * (1 - bound), 1 / count) / count)
                excess = Excess(design.codes.start + code, count, share, float(bound))
                found.append((float(side * (share - bound) / error), excess))
    return found
