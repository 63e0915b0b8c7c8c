"""Intervals of proportions where reports of one kind are few."""

import numpy as np

from askance.arrays import Floats
from askance.channels.base import LabelChannel
from askance.statistics.frequencies import ReportCounts

_FEW = 10.0  # reports of the rarer kind below which an estimate plus and minus its errors covers too little


def report_share(channel: LabelChannel, counts: ReportCounts, method: str) -> tuple[float, ...]:
    """Return what a score interval is made of, or nothing where Wald's will do.

    Returns
    -------
    share, size : the share of the second report, and how many equal reports it is of
    low, high : its probability under each of two classes
    """
    if channel.matrix.shape != (2, 2) or method != "marginal":
        return ()
    total = float(counts.weight.sum())
    size = total**2 / float(counts.squared_weight.sum())
    share = float(counts.weight[1]) / total
    if min(share, 1 - share) * size >= _FEW:
        return ()
    low, high = channel.matrix[1].tolist()
    return share, size, low, high


def score_interval(of: tuple[float, ...], wald: Floats, level: float) -> Floats:
    """Return intervals of both proportions by inverting the score test of the report's share (Wilson 1927).

    At the border that may leave little or nothing, since fewer reports came than chance alone gives; there Wald's end
    about the border is kept if it is wider.
    """
    from scipy.special import ndtri

    share, size, low, high = of
    z = float(ndtri(0.5 + level / 2))
    centre = (share + z**2 / (2 * size)) / (1 + z**2 / size)
    reach = z / (1 + z**2 / size) * np.sqrt(share * (1 - share) / size + (z / (2 * size)) ** 2)
    ends = (np.array([centre - reach, centre + reach]) - low) / (high - low)
    lower, upper = np.clip(np.sort(ends), 0.0, 1.0).tolist()
    if lower <= 0:
        upper = max(upper, float(wald[1, 1]))
    if upper >= 1:
        lower = min(lower, float(wald[1, 0]))
    return np.array([[1 - upper, 1 - lower], [lower, upper]])
