"""Whether hidden attributes depend on each other: correlations of their reports, against chance.

Noise that is drawn for each attribute by itself leaves independent attributes independent, and dependent ones less so:
so n times the sum of squared correlations of reports is chi-square of d (d - 1) / 2 degrees exactly where attributes
are not correlated.
"""

import numpy as np

from askance.arrays import Floats
from askance.learning.records.latent_classes import LatentPrior
from askance.learning.records.latent_reports import LatentReports

# Standard deviations of that sum above its mean: one in 30,000 of normal ones by chance. Sums of few squares have a
# longer tail, and are compared as their cube roots, which are normal (Wilson & Hilferty 1931).
DEPENDENT = 4.0


def excess_correlation(covariance: Floats, rows: float) -> float:
    """By how many standard deviations squared correlations are larger than chance makes them.

    Examples
    --------
    >>> independent, dependent = np.eye(3), np.eye(3) * 0.7 + 0.3
    >>> excess_correlation(independent, 1000) < 0, excess_correlation(dependent, 1000) > DEPENDENT
    (True, True)
    """
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    varies = spread > 1e-12 * max(float(spread.max(initial=0.0)), 1e-300)
    freedom = int(varies.sum()) * (int(varies.sum()) - 1) / 2
    if freedom == 0:
        return 0.0
    correlation = covariance[np.ix_(varies, varies)] / np.outer(spread[varies], spread[varies])
    total = rows * float((np.tril(correlation, -1) ** 2).sum())
    deviation = 2 / (9 * freedom)
    return float(((total / freedom) ** (1 / 3) - (1 - deviation)) / np.sqrt(deviation))


def left_over(prior: LatentPrior, reports: LatentReports) -> float:
    """The same of correlations beside those that latent classes imply."""
    weights = reports.counts / reports.counts.sum()
    tables, means, within = [], [], []
    for block, part in zip(reports.blocks, prior.parts, strict=True):
        law = block.of_reports(part)
        tables.append(law.values)
        means.append(law.means)
        within.append(law.covariances)
    table, middle = np.hstack(tables), np.hstack(means)
    about = table - weights @ table
    seen = (about * weights[:, None]).T @ about
    apart = middle - prior.shares @ middle
    implied = (apart * prior.shares[:, None]).T @ apart
    start = 0
    for block_within in within:
        stop = start + block_within.shape[1]
        implied[start:stop, start:stop] += np.einsum("z,zij->ij", prior.shares, block_within)
        start = stop
    beside = seen - implied
    np.fill_diagonal(beside, np.diag(seen))
    return excess_correlation(beside, reports.total)
