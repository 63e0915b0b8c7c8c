"""What the scores of a linear model mean under the loss that it was fitted by."""

import numpy as np

from askance.arrays import Floats
from askance.learning.totals.losses import Loss
from askance.solvers.softmax import posterior


def probabilities_of_scores(loss: Loss, scores: Floats) -> Floats:
    """Return the probability of each class, n x K, by the link of a proper loss.

    By the logistic loss this is softmax. By another one, several classes were each set against the rest: their
    probabilities are divided by their sum, and are equal where all are zero.

    Parameters
    ----------
    loss : Loss
    scores : array, n for two classes, n x K for more

    Examples
    --------
    >>> from askance.learning.totals.losses import NAMED
    >>> probabilities_of_scores(NAMED["square"], np.array([0.0, 0.5]))
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    if loss.softmax:
        return posterior(scores[:, None] if scores.ndim == 1 else scores[:, 1:] - scores[:, :1]).probabilities
    each = loss.probability(scores)
    if each.ndim == 1:
        return np.column_stack([1 - each, each])
    total = each.sum(axis=1, keepdims=True)
    return np.where(total > 0, each / np.where(total > 0, total, 1.0), 1 / each.shape[1])


def mean_loss(loss: Loss, scores: Floats, by_label: Floats) -> float:
    """Return the mean loss of scores whose labels are known by their mean operator alone.

    For two classes mean even(s) - (a/2) mean(y s). For more, by the logistic loss the softmax risk, and by another one
    the sum over classes of each against the rest. It is linear in what the labels tell, so that noise of mean zero in
    it leaves it unbiased.

    Parameters
    ----------
    loss : Loss
    scores : array, n for two classes, n x K for more
    by_label : array, 1 or K
        The mean of y s with y of -1 and 1; or, for each class, that of 1[y = k] s_k.

    Examples
    --------
    >>> from askance.learning.totals.losses import NAMED
    >>> scores, y = np.array([1.0, -2.0]), np.array([1, 1])
    >>> mean_loss(NAMED["square"], scores, np.array([np.mean(y * scores)])), np.mean((1 - y * scores) ** 2)
    (4.5, np.float64(4.5))
    """
    if scores.ndim == 1:
        return float(loss.even(scores).mean() - 0.5 * loss.odd * by_label.sum())
    if loss.softmax:
        return float(np.logaddexp.reduce(scores, axis=1).mean() - by_label.sum())
    against_rest = 2 * by_label - scores.mean(axis=0)
    return float((loss.even(scores).mean(axis=0) - 0.5 * loss.odd * against_rest).sum())
