"""Estimates of the mean operator from whatever is known of the labels: Meta-Algorithm 1 begins with one of them.

Each is unbiased, and comes with the covariance of its own noise, which a classifier's standard errors then include.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.alphabet import Alphabet, Label, as_labels, listed
from askance.channels.base import LabelChannel
from askance.errors import InvalidInput, Unidentifiable
from askance.releases.mean_operator import MeanOperator
from askance.statistics.row_blocks import with_intercept


def mean_operator(X: Any, y: Any, *, classes: Sequence[Any] | None = None, fit_intercept: bool = True) -> MeanOperator:
    """Return the mean operator of labels as they are.

    Parameters
    ----------
    X : n x d
    y : n labels
    classes : labels, optional
        Those that there may be, in order; those that there are if not given.
    fit_intercept : bool
        Whether the first feature is 1 for everybody, before those of X.

    Examples
    --------
    >>> mean_operator([[1.0], [2.0], [3.0]], ["no", "yes", "yes"]).values.round(4)
    array([0.3333, 1.3333])
    """
    rows = checked_rows(X, fit_intercept)
    known = as_labels(np.unique(np.asarray(y)).tolist() if classes is None else classes, "classes")
    codes = one_for_each(Alphabet(known, "label").encode(y), rows, "labels")
    return _operator(rows, np.eye(len(known))[codes], known, None)


def mean_operator_from_reports(
    X: Any, reports: Any, channel: LabelChannel, *, design: Any = None, fit_intercept: bool = True
) -> MeanOperator:
    """Estimate the mean operator from labels that a finite channel has hidden.

    Each report o is replaced by an unbiased guess b(o) of the indicators of its truth.

    Parameters
    ----------
    X : n x d
    reports : n reports
    channel : finite channel
        How the labels were hidden.
    design : n names, optional
        The design that each row was asked under, if the channel has several.
    fit_intercept : bool

    Examples
    --------
    >>> import askance as ask
    >>> X = np.ones((4, 0))
    >>> mean_operator_from_reports(X, ["yes", "yes", "yes", "no"], ask.Warner(0.8)).values.round(4)
    array([0.8333])
    """
    rows = checked_rows(X, fit_intercept)
    codes = one_for_each(channel.encode_reports(reports, design), rows, "reports")
    guess = channel.unbiasing_matrix().T  # reports x classes
    classes = len(channel.classes)
    # Cov(b | truth k) = sum_o S[o, k] b(o) b(o)' - e_k e_k', and the truth of a report is guessed as before.
    seconds = np.einsum("ok,oi,oj->kij", channel.matrix, guess, guess)
    seconds[np.arange(classes), np.arange(classes), np.arange(classes)] -= 1
    spread = np.einsum("ok,kij->oij", guess, seconds)
    made = _operator(rows, guess[codes], channel.classes, spread[codes])
    return replace(made, guarantee=channel.guarantee)


def mean_operator_from_some_labels(
    X: Any,
    y: Any,
    labelled: Any,
    *,
    rate: Any,
    classes: Sequence[Any],
    fit_intercept: bool = True,
) -> MeanOperator:
    """Estimate the mean operator from labels of which some are missing, whoever they belong to.

    A label that is there counts 1/rate times; where it is missing every class is as likely.

    Parameters
    ----------
    X : n x d
    y : n labels
        What stands where a label is missing is not looked at.
    labelled : n truth values
        Whose label is there.
    rate : float, or one for each row
        The probability that a label is there, which must not depend on the label itself.
    classes : labels
    fit_intercept : bool

    Examples
    --------
    >>> X, labelled = [[1.0], [2.0], [3.0], [4.0]], [True, True, False, False]
    >>> mean_operator_from_some_labels(
    ...     X, [1, -1, None, None], labelled, rate=0.5, classes=(-1, 1), fit_intercept=False
    ... ).values
    array([-0.5])
    """
    rows = checked_rows(X, fit_intercept)
    known = as_labels(classes, "classes")
    there = one_for_each(np.asarray(labelled), rows, "marks of which labels are there")
    if there.dtype != bool:
        raise InvalidInput(f"labelled of type {there.dtype}", "True or False for each row")
    chance = np.broadcast_to(np.asarray(rate, dtype=float), len(rows))
    if not np.all((chance > 0) & (chance <= 1)):
        raise InvalidInput("a labelling rate outside of (0, 1]", "the probability that a label is there")
    labels = one_for_each(np.asarray(y, dtype=object), rows, "labels")[there].tolist()
    share = np.full(len(known), 1 / len(known))
    beyond = np.zeros((len(rows), len(known)))  # what a label adds to the even guess
    if labels:
        beyond[there] = np.eye(len(known))[Alphabet(known, "label").encode(labels)] - share
    seconds = beyond[:, :, None] * beyond[:, None, :] * ((1 - chance) / chance**2)[:, None, None]
    return _operator(rows, share + beyond / chance[:, None], known, seconds)


def mean_operator_from_proportions(
    X: Any, bags: Any, proportions: Any, *, classes: Sequence[Any], fit_intercept: bool = True
) -> MeanOperator:
    """Estimate the mean operator from the proportions of the classes in bags: the mean map.

    The mean of a bag is the mixture of the classes' means by its proportions, so the classes' means follow by least
    squares, weighted by the bags' sizes. This takes it that people of one class are alike in all bags,
    E[x | y, bag] = E[x | y]. The noise is estimated from how people differ within bags, which is rather too much:
    within a class they differ less.

    Parameters
    ----------
    X : n x d
    bags : n whole numbers
        Which bag each row is in: the row number in ``proportions``.
    proportions : bags x K
    classes : K labels
    fit_intercept : bool

    Examples
    --------
    >>> X, bags = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> mean_operator_from_proportions(X, bags, [[1, 0], [0, 1]], classes=("a", "b")).values
    array([0., 1.])
    """
    rows = checked_rows(X, fit_intercept)
    known = as_labels(classes, "classes")
    table = np.asarray(proportions, dtype=float)
    which = one_for_each(np.asarray(bags), rows, "bag numbers")
    if table.ndim != 2 or table.shape[1] != len(known) or not np.all(table >= 0):
        raise InvalidInput(f"proportions of shape {table.shape}", f"one row for each bag, for {listed(known)}")
    if np.abs(table.sum(axis=1) - 1).max() > 1e-6:
        off = int(np.abs(table.sum(axis=1) - 1).argmax())
        raise InvalidInput(f"the proportions of bag {off} sum to {table[off].sum():g}", "1")
    if which.dtype.kind not in "iu" or which.min(initial=0) < 0 or which.max(initial=0) >= len(table):
        raise InvalidInput("bags that have no proportions", f"whole numbers from 0 to {len(table) - 1}")
    sizes = np.bincount(which, minlength=len(table)).astype(float)
    if not sizes.all():
        raise InvalidInput(f"bag {int(sizes.argmin())} is empty", "some rows in every bag")
    weighted = table * sizes[:, None]
    gram = table.T @ weighted
    if np.linalg.eigvalsh(gram)[0] <= 1e-10 * len(rows):
        raise Unidentifiable(
            "bags whose proportions do not tell the classes apart",
            f"{len(known)} bags that differ in their proportions",
        )
    totals = np.zeros((len(table), rows.shape[1]))
    np.add.at(totals, which, rows)
    means = totals / sizes[:, None]
    share = weighted.sum(axis=0) / len(rows)
    unmix = share[:, None] * np.linalg.solve(gram, weighted.T)  # classes x bags: mu = unmix @ means
    inner = rows - means[which]
    count, width = len(known), rows.shape[1]
    covariance = np.zeros((count, width, count, width))
    for bag, size in enumerate(sizes):
        mine = inner[which == bag]
        within = mine.T @ mine / max(size - 1, 1) / size
        covariance += np.einsum("k,l,ij->kilj", unmix[:, bag], unmix[:, bag], within)
    return _finished(unmix @ means, covariance, known, len(rows))


def checked_rows(X: Any, fit_intercept: bool) -> Floats:
    """Return features as finite numbers, people x features, with a constant first if wanted."""
    features = np.asarray(X, dtype=float)
    if features.ndim != 2 or not len(features):
        raise InvalidInput(f"features of shape {features.shape}", "people x features, and at least one of the former")
    if not np.isfinite(features).all():
        raise InvalidInput("features that are missing or infinite", "finite numbers")
    return with_intercept(features, fit_intercept)


def one_for_each(values: NDArray[Any], rows: Floats, what: str) -> NDArray[Any]:
    """Refuse values that are not one for each row."""
    if values.shape != (len(rows),):
        raise InvalidInput(f"{what} of shape {values.shape} for {len(rows)} rows", "one for each row")
    return values


def _operator(rows: Floats, guesses: Floats, classes: tuple[Label, ...], spread: Floats | None) -> MeanOperator:
    """Sum guesses (n x K) of the indicators of labels, whose covariance is ``spread`` (n x K x K)."""
    count, width = guesses.shape[1], rows.shape[1]
    values = guesses.T @ rows / len(rows)
    if spread is None:
        return _finished(values, None, classes, len(rows))
    covariance = np.empty((count, width, count, width))
    for k in range(count):
        for j in range(k + 1):
            block = (rows * spread[:, k, j, None]).T @ rows / len(rows) ** 2
            covariance[k, :, j], covariance[j, :, k] = block, block.T
    return _finished(values, covariance, classes, len(rows))


def _finished(values: Floats, covariance: Floats | None, classes: tuple[Label, ...], rows: int) -> MeanOperator:
    """Two classes make one vector, the difference of their totals."""
    if len(classes) > 2:
        flat = None if covariance is None else covariance.reshape(values.size, values.size)
        return MeanOperator(values, classes, rows, noise_covariance=flat)
    both = None
    if covariance is not None:
        both = covariance[1, :, 1] + covariance[0, :, 0] - covariance[1, :, 0] - covariance[0, :, 1]
    return MeanOperator(values[1] - values[0], classes, rows, noise_covariance=both)
