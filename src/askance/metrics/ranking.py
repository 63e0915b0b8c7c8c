"""Metrics of scores that rank rows: the ROC curve and the area under it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.frames import refuse_other_rows
from askance.learning.face.hidden_truth import Estimate, HiddenTruth
from askance.learning.face.scoring import notice_what_no_channel_reports


@dataclass(frozen=True)
class RocCurve:
    """Shares of either class that score at least a threshold.

    Parameters
    ----------
    thresholds : from the highest down; the first is infinite
    false_positive, true_positive : shares of the first and of the second class at or above each threshold
        Estimated one by one: with few or noisy reports they need not rise, and may leave [0, 1].
    area : Estimate
        The area under the curve.
    """

    thresholds: Floats
    false_positive: Floats
    true_positive: Floats
    area: Estimate

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve; return the axes."""
        from askance.metrics.figures import draw_roc

        return draw_roc(self, ax)


def roc_auc(
    reports: Any, scores: Any, channel: Any, *, of: Any = None, design: Any = None, sample_weight: Any = None
) -> Estimate:
    """Estimate the probability that somebody of a class scores higher than somebody who is not of it.

    A ratio of two sums over pairs of different people, each unbiased: the ratio is consistent. Equal scores count half.
    Cost grows as n log n.

    Parameters
    ----------
    reports : n reports of people that the model did not learn from
    scores : n numbers, or n x K with a column for each class (probabilities)
        Of two classes, scores of the second. Of more, the class ``of``, or the mean over all classes, each against the
        others, if it is not given.
    of : class, optional
    channel, design, sample_weight : as for :func:`accuracy`

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(4000) < 0.4
    >>> scores = truth + rng.normal(size=4000)  # the area is 0.760
    >>> channel = ask.RandomizedResponse(["no", "yes"], epsilon=1)
    >>> reports = channel.simulate(np.where(truth, "yes", "no"), rng)
    >>> print(ask.metrics.roc_auc(reports, scores, channel))
    0.779 (standard error 0.020)
    """
    refuse_other_rows(reports=reports, scores=scores, design=design, sample_weight=sample_weight)
    truth = HiddenTruth.of(channel, reports, design, sample_weight)
    table = _scores(truth, scores)
    every = of is None and len(truth.classes) > 2
    asked = range(len(truth.classes)) if every else [truth.place(of)]
    if len(truth.classes) > 2:
        notice_what_no_channel_reports(truth, table.argmax(axis=1), table.max(axis=1))
    else:
        notice_what_no_channel_reports(truth, np.full(truth.n, asked[0]), _column(table, asked[0]))
    if not every:
        pairs = _Pairs.of(truth, _column(table, asked[0]), asked[0])
        of_class = np.broadcast_to(np.arange(len(truth.classes)) == pairs.code, truth.indicators.shape)
        first = np.where(of_class, pairs.worse[:, None], pairs.better[:, None])
        return truth.ratio_of(pairs.right, pairs.number, first, np.where(of_class, pairs.rest, pairs.share))
    areas = np.zeros(len(truth.classes))
    own, costs = np.zeros(truth.indicators.shape), np.zeros((truth.n, 1))
    for code in asked:
        pairs = _Pairs.of(truth, _column(table, code), code)
        areas[code] = area = pairs.right / pairs.number
        # What any truth but this class counts for, and how much more this class does.
        costs[:, 0] += (pairs.better - area * pairs.share) / pairs.number
        own[:, code] = (pairs.worse - pairs.better - area * (pairs.rest - pairs.share)) / pairs.number
    return truth.estimate(float(areas.mean()), (costs + own) / len(areas), "consistent")


def roc_curve(
    reports: Any, scores: Any, channel: Any, *, of: Any = None, design: Any = None, sample_weight: Any = None
) -> RocCurve:
    """Estimate the ROC curve of scores of one class against the others; of two classes the second.

    Examples
    --------
    >>> import askance as ask
    >>> reports, scores = ["yes"] * 44 + ["no"] * 56, [2] * 33 + [1] * 22 + [0] * 45
    >>> curve = ask.metrics.roc_curve(reports, scores, ask.Warner(0.9))
    >>> curve.thresholds, curve.true_positive.round(3), curve.false_positive.round(3)
    (array([inf,  2.,  1.,  0.]), array([0.   , 0.874, 1.132, 1.   ]), array([ 0.   , -0.072,  0.12 ,  1.   ]))
    """
    refuse_other_rows(reports=reports, scores=scores, design=design, sample_weight=sample_weight)
    truth = HiddenTruth.of(channel, reports, design, sample_weight)
    table = _scores(truth, scores)
    code = truth.place(of)
    column = _column(table, code)
    order = np.argsort(-column, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(column[order])), len(order) - 1)
    weights = truth.shares[order]
    positive = np.cumsum(weights * truth.indicators[order, code])
    negative = np.cumsum(weights) - positive
    start = np.zeros(1)
    return RocCurve(
        np.append([np.inf], column[order][ends]),
        np.append(start, negative[ends] / negative[-1]),
        np.append(start, positive[ends] / positive[-1]),
        roc_auc(reports, scores, channel, of=of, design=design, sample_weight=sample_weight),
    )


def _scores(truth: HiddenTruth, scores: Any) -> Floats:
    table = truth.numbers(scores, "scores")
    classes = len(truth.classes)
    if table.ndim == 1 and classes == 2:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] not in ({1, 2} if classes == 2 else {classes}):
        raise InvalidInput(f"scores of shape {table.shape}", f"one column for each of {truth.classes.tolist()!r}")
    if not np.isfinite(table).all():
        raise InvalidInput("scores that are not finite", "finite numbers")
    return table


def _column(table: Floats, code: int) -> Floats:
    """The scores of one class: of two classes there may be one column."""
    return table[:, min(code, table.shape[1] - 1)]


class _Pairs(NamedTuple):
    """Pairs of somebody of a class and somebody who is not.

    U = sum over i != j of w_i w_j a_i b_j [s_i > s_j], over the same without the scores, where a and b are the
    indicators of the class and of its complement. A row is never compared with itself: a_i b_i is no estimate of 0.

    Parameters
    ----------
    code : int
        The class.
    right, number : float
        The pairs in the right order, and all of them.
    worse, better : n
        What each row contributes to the pairs in the right order if it is of the class, and if it is not.
    share, rest : float
        Of the class, and of the others: what a row of the others, and of the class, contributes to all pairs.
    """

    code: int
    right: float
    number: float
    worse: Floats
    better: Floats
    share: float
    rest: float

    @classmethod
    def of(cls, truth: HiddenTruth, scores: Floats, code: int) -> "_Pairs":
        weights, positive = truth.shares, truth.indicators[:, code]
        negative = 1 - positive
        share, rest = truth.seen_class(code), truth.seen_class(code, others=True)
        distinct, place = np.unique(scores, return_inverse=True)

        def below(mass: Floats) -> Floats:
            """The mass of rows that score less than each row, and half of those that score the same."""
            sums = np.bincount(place, mass, minlength=len(distinct))
            return np.asarray((np.cumsum(sums) - sums / 2)[place])

        worse, better = below(weights * negative), share - below(weights * positive)
        alone = float(weights**2 @ (positive * negative))
        right = float(weights * positive @ worse) - alone / 2
        return cls(code, right, share * rest - alone, worse, better, share, rest)
