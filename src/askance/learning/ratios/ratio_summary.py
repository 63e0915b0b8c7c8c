"""Intervals and tables of class ratios: what an estimator says of new groups, and of its fit."""

import math

import numpy as np

from askance.arrays import Floats
from askance.learning.ratios.bag_doubt import BagDoubt
from askance.learning.ratios.intervals import bounded_interval
from askance.learning.ratios.ratio_model import RatioEstimate
from askance.reports.number_format import p_value
from askance.reports.summary import Summary, standard_errors

INTERVALS_FOR = {"group": "the shares of these very rows", "population": "the population that they were drawn from"}


def ratio_errors(found: RatioEstimate, target: str) -> Floats:
    """Return the standard errors of a group's ratios: as those of its rows, or of the population behind them."""
    return standard_errors(found.covariance + found.draw if target == "population" else found.covariance)


def ratio_intervals(found: list[RatioEstimate], target: str, doubt: BagDoubt | None, level: float) -> Floats:
    """Return lower and upper ends of all groups at once, groups x K x 2."""
    wider = 1.0 if doubt is None else doubt.wider(level)
    errors = wider * np.array([ratio_errors(each, target) for each in found])
    low, high = bounded_interval(np.array([each.free for each in found]), errors, level)
    # The estimate is brought to the simplex, its interval starts from what it was before: it shall hold both.
    ratios = np.array([each.ratios for each in found])
    return np.stack([np.minimum(low, ratios), np.maximum(high, ratios)], axis=2)


def group_summary(
    found: RatioEstimate, ends: Floats, target: str, names: tuple[str, ...], trained: tuple[str, str]
) -> Summary:
    """Return a group's ratios with errors and the ends of their intervals, K x 2, and what they were trained on."""
    nothing = np.full(len(ends), math.nan)
    values = np.column_stack([found.ratios, ratio_errors(found, target), nothing, nothing, ends])
    facts = (
        ("group", f"{found.rows} rows; intervals for {INTERVALS_FOR[target]}"),
        trained,
        ("distance from all mixtures", f"{found.misfit:.2f} times that of chance, p {p_value(found.misfit_p)}"),
    )
    return Summary("Class ratios", names, values, facts=facts)
