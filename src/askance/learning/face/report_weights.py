"""What each report counts for each truth, where a channel has more reports than classes."""

from typing import Protocol

import numpy as np

from askance.arrays import Floats
from askance.solvers.simplex import mixture_proportions
from askance.statistics.frequencies import ReportCounts

_ROUNDS = 25  # of Newton's steps: they are near after five, and what is left moves no weight that matters


class _Unbiasing(Protocol):
    """What is asked of a channel."""

    @property
    def matrix(self) -> Floats: ...

    def unbiasing_matrix(self, report_law: Floats | None = None, features: Floats | None = None) -> Floats: ...


def least_variance_weights(channel: _Unbiasing, counts: ReportCounts, features: Floats | None = None) -> Floats:
    """Return R with R S = I (or R S = features), of least variance under the law that fits these reports best.

    That law is the channel's at K proportions. How often each report came is a law too, of as many numbers as there are
    reports: weights that follow its luck are no longer unbiased for the same reports. With three reports of each of 200
    people (27 kinds of reports) an accuracy of .64 was .56 with a standard error of .04, and an area of .79 was .99.

    Examples
    --------
    >>> import askance as ask
    >>> channel = ask.FiniteChannel([[0.6, 0.1], [0.3, 0.3], [0.1, 0.6]], ["no", "yes"], ["low", "mid", "high"])
    >>> counts = np.array([30.0, 20.0, 10.0])
    >>> weights = least_variance_weights(channel, ReportCounts(60, counts, counts))
    >>> np.abs(weights @ channel.matrix - np.eye(2)).max() < 1e-12
    np.True_
    """
    matrix = channel.matrix
    if matrix.shape[0] == matrix.shape[1] and features is None:  # there is only one
        return channel.unbiasing_matrix()
    possible, size = matrix.any(axis=1), counts.rows
    proportions = mixture_proportions(matrix[possible], counts.weight[possible], _ROUNDS)
    # Half a person more in every class: a report that only others give must not count without limit.
    law = matrix @ ((size * proportions + 0.5) / (size + 0.5 * matrix.shape[1]))
    return channel.unbiasing_matrix(np.where(possible, law, 1.0), features)
