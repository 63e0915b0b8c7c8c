"""Least squares for list experiments: how the share of "yes" changes with covariates, on the scale of shares.

E[count | x, group] = x'g + t x'b, with t = 1 for the longer list; of a double list, E[first - second count | x, group]
= x'g + s x'b with s = 1 or -1. Unbiased whatever the law of the other items, if shares are linear in x (Imai 2011).
"""

from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.learning.surveys.covariates import Covariates
from askance.learning.surveys.list_counts import ListCounts

_MOST_LEVERAGE = 1 - 1e-10  # a row that alone decides a coefficient has no residual to judge it by


class LeastSquares(NamedTuple):
    """Coefficients of the standardised covariates with their covariance (HC2: right for unequal variances).

    With clusters CR2 and its degrees of freedom; ``simple`` is the covariance of people drawn one by one.
    """

    coefficients: Floats
    covariance: Floats
    simple: Floats
    degrees: tuple[float, ...] = ()


def least_squares(data: ListCounts, covariates: Covariates) -> LeastSquares:
    """Regress counts on covariates, and on covariates among those with the sensitive item."""
    sign = np.where(data.treated, 1.0, 0.0 if data.lists == 1 else -1.0)
    counts = data.counts.astype(float)
    outcome = counts[:, 0] if data.lists == 1 else counts[:, 0] - counts[:, 1]
    design = np.hstack([covariates.design, sign[:, None] * covariates.design])
    width = covariates.width
    if len(design) <= design.shape[1]:
        raise InvalidInput(f"{len(design)} people for {design.shape[1]} coefficients", "more people than coefficients")
    root = np.ones(len(design)) if data.weights is None else np.sqrt(data.weights)
    scaled = design * root[:, None]
    if np.linalg.matrix_rank(scaled) < scaled.shape[1]:
        raise InvalidInput(
            "a covariate that is the same for all who had the sensitive item, or for all who had not",
            "covariates that vary in both groups",
        )
    bread = np.linalg.inv(scaled.T @ scaled)
    found = bread @ (scaled.T @ (outcome * root))
    leverage = np.minimum(np.einsum("ij,jk,ik->i", scaled, bread, scaled), _MOST_LEVERAGE)
    residual = (outcome - design @ found) * root / np.sqrt(1 - leverage)
    middle = (scaled * residual[:, None] ** 2).T @ scaled
    simple = bread @ middle @ bread
    covariance, degrees = simple, tuple[float, ...]()
    if data.sample is not None:
        raw = design * (outcome - design @ found)[:, None]
        spread = data.sample.spread(raw, data.weights, roots=design)
        covariance, degrees = bread @ spread.meat @ bread, spread.degrees(bread[width:])
    return LeastSquares(found[width:], covariance[width:, width:], simple[width:, width:], degrees)
