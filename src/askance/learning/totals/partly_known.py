"""Mean operators where only one class is known: some positive rows, or bags with at least one positive row.

Both are special mean maps ([MO] section 3): what is known beside the labels is a share, and classes are taken to be
alike wherever their rows come from.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from askance.channels.alphabet import as_labels, listed
from askance.errors import InvalidInput, Unidentifiable
from askance.learning.totals.mean_operators import checked_rows, mean_operator_from_proportions, one_for_each
from askance.releases.mean_operator import MeanOperator


def mean_operator_from_positives(
    X: Any, positives: Any, *, share: float, classes: Sequence[Any] = (0, 1), fit_intercept: bool = True
) -> MeanOperator:
    """Estimate the mean operator of rows without labels from other rows that are known to be positive.

    mu = 2 share E[x | positive] - E[x]. This takes it that the known positives are like those among the rows.

    Parameters
    ----------
    X : n x d
        Rows without labels.
    positives : p x d
        Rows of the second class, drawn apart from these, at least two.
    share : float
        The share of the second class in X: known, or from elsewhere. Where positives are marked among the rows
        themselves, each with the same probability c, use :func:`mean_operator_from_reports` with the channel
        ``FiniteChannel([[1, 1 - c], [0, c]], classes)``.
    classes : two labels
        The positive one is the second.
    fit_intercept : bool

    Examples
    --------
    >>> mean_operator_from_positives([[0.0], [1.0], [2.0], [5.0]], [[4.0], [6.0]], share=0.25).values
    array([-0.5,  0.5])
    """
    rows, known = checked_rows(X, fit_intercept), checked_rows(positives, fit_intercept)
    if known.shape[1] != rows.shape[1]:
        given = [table.shape[1] - fit_intercept for table in (known, rows)]
        raise InvalidInput(f"positives with {given[0]} features and rows with {given[1]}", "the same features")
    if len(known) < 2:
        raise InvalidInput("one positive row", "at least two: how they differ says how far their mean is known")
    labels = _two(classes)
    part = _share(share, "share")
    values = 2 * part * known.mean(axis=0) - rows.mean(axis=0)
    # The positives among the rows have a mean of their own, too.
    spread = np.cov(known, rowvar=False).reshape(rows.shape[1], rows.shape[1])
    noise = 4 * part**2 * spread * (1 / len(known) + 1 / (part * len(rows)))
    return MeanOperator(values, labels, len(rows), noise_covariance=noise)


def mean_operator_from_bag_labels(
    X: Any,
    bags: Any,
    positive: Any,
    *,
    share: float | None = None,
    classes: Sequence[Any] = (0, 1),
    fit_intercept: bool = True,
) -> MeanOperator:
    """Estimate the mean operator from bags that are positive if at least one of their rows is: multiple instances.

    Rows of negative bags are negative. Those of positive bags are positive in a certain share, by which the mean map
    tells the classes' means apart. The noise is that of the rows; the share is taken for exact.

    Parameters
    ----------
    X : n x d
    bags : n whole numbers
        Which bag each row is in: its place in ``positive``.
    positive : truth values, one for each bag
        Whether the bag has a positive row.
    share : float, optional
        The share of positive rows in positive bags. If not given, labels are taken to be independent of each other:
        then a bag of b rows is negative with probability (1 - p)^b, and p is the likeliest one.
    classes : two labels
        The positive one is the second.
    fit_intercept : bool

    Examples
    --------
    >>> X, bags = [[0.0], [0.0], [0.0], [4.0]], [0, 0, 1, 1]
    >>> mean_operator_from_bag_labels(X, bags, [False, True], share=0.5).values
    array([-0.5,  1. ])
    """
    labels = _two(classes)
    marks = np.asarray(positive)
    if marks.dtype != bool or marks.ndim != 1:
        raise InvalidInput(f"positive of type {marks.dtype} and shape {marks.shape}", "True or False for each bag")
    rows = checked_rows(X, False)
    which = one_for_each(np.asarray(bags), rows, "bag numbers")
    if which.dtype.kind not in "iu" or which.min(initial=0) < 0 or which.max(initial=0) >= len(marks):
        raise InvalidInput("bags that have no label", f"whole numbers from 0 to {len(marks) - 1}")
    if marks.all() or not marks.any():
        kind = "positive" if marks.any() else "negative"
        raise Unidentifiable(f"bags that are all {kind}", "some positive and some negative bags")
    sizes = np.bincount(which, minlength=len(marks))
    if not sizes.all():
        raise InvalidInput(f"bag {int(sizes.argmin())} is empty", "some rows in every bag")
    part = _independent_share(sizes, marks) if share is None else _share(share, "share")
    least = marks.sum() / sizes[marks].sum()
    if part < least * (1 - 1e-9):
        raise InvalidInput(
            f"share={part:g}", f"at least {least:.3g}: each of {marks.sum()} positive bags has a positive row"
        )
    proportions = [[1.0, 0.0], [1 - part, part]]
    together = marks[which].astype(np.int64)
    return mean_operator_from_proportions(X, together, proportions, classes=labels, fit_intercept=fit_intercept)


def _independent_share(sizes: Any, marks: Any) -> float:
    """The share of positive rows in positive bags, if every row is positive with the same chance p."""
    from scipy.optimize import brentq

    def slope(log_odds: float) -> float:
        """Of the log-likelihood of the bags' labels by log(1 - p), whose sign tells the side of the best p."""
        none = -np.logaddexp(0.0, log_odds) * sizes  # log P(no positive row)
        return float(np.sum(np.where(marks, -np.exp(none) / -np.expm1(none), 1.0) * sizes))

    reach = math.log(4.0 * sizes.sum())  # p beyond these would be less than one row in all, or all but one
    if slope(-reach) >= 0 or slope(reach) <= 0:
        raise Unidentifiable(
            "bag labels that no share of positive rows explains, if rows are independent",
            "share=..., known from elsewhere",
        )
    chance = 1 / (1 + math.exp(-brentq(slope, -reach, reach)))
    held = sizes[marks]
    return float(np.sum(chance * held / -np.expm1(held * math.log1p(-chance))) / held.sum())


def _two(classes: Sequence[Any]) -> Any:
    labels = as_labels(classes, "classes")
    if len(labels) != 2:
        raise InvalidInput(f"the classes {listed(labels)}", "two, the positive one second")
    return labels


def _share(share: float, name: str) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 < float(share) < 1:
        raise InvalidInput(f"{name}={share!r}", "a share between 0 and 1")
    return float(share)
