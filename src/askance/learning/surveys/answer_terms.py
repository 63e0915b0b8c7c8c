"""How the parameters of a regression of hidden answers begin, are penalised, and are named."""

from itertools import pairwise
from typing import Any

import numpy as np

from askance.arrays import Floats, Integers
from askance.errors import InvalidInput
from askance.learning.surveys.covariates import Covariates
from askance.learning.surveys.cumulative_links import Link, curve
from askance.learning.surveys.hidden_answers import HiddenAnswer
from askance.solvers.log_f import LogF

GROUP_SPREAD = "standard deviation of groups"
_EXTREME = 0.02  # shares nearer to 0 or 1 are no start for a search


def group_codes(groups: Any, rows: int) -> Integers:
    column = np.asarray(groups, dtype=object)
    if column.shape != (rows,):
        raise InvalidInput(f"groups of shape {column.shape} for {rows} reports", "the group of each person")
    missing = [row for row, value in enumerate(column) if value is None or value != value]
    if missing:
        raise InvalidInput(
            f"{len(missing)} people without a group (first in row {missing[0]})", "the group of each person"
        )
    known: dict[Any, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in column], dtype=np.int64)


def base_rates(link: Link, answer: HiddenAnswer, slopes: int) -> Floats:
    """No effects, and cuts where the unbiased shares have them."""
    shares = np.clip(answer.unbiased.mean(axis=0), _EXTREME, None)
    above = 1 - np.cumsum(shares / shares.sum())[:-1]
    grid = np.linspace(-6, 6, 2401)
    cuts = -np.interp(above, curve(link, grid).below, grid)
    return np.concatenate([np.zeros(slopes), cuts])


def log_f_penalty(start: Floats, slopes: int, spread_at: int | None = None) -> LogF:
    """Pull slopes to zero and cuts to the shares; the spread of groups is left alone, being no logit."""
    centre, scale = start.copy(), np.concatenate([np.ones(slopes), np.full(len(start) - slopes, 0.5)])
    centre[:slopes] = 0.0
    if spread_at is not None:
        centre, scale = np.insert(centre, spread_at, 0.0), np.insert(scale, spread_at, 0.0)
    return LogF(centre[None, :], scale)


def presented(covariates: Covariates, classes: tuple[Any, ...], grouped: bool) -> tuple[tuple[str, ...], Floats]:
    """Names of the parameters as people read them, and the matrix that makes them of the solver's."""
    slopes, own = covariates.width - 1, covariates.back
    size = slopes + grouped + len(classes) - 1
    spread, cuts = slopes, list(range(slopes + grouped, size))
    rows = []
    names: list[str] = []
    of_slopes = np.zeros((slopes, size))
    of_slopes[:, :slopes] = own[1:, 1:]
    of_cuts = np.zeros((len(cuts), size))
    of_cuts[:, :slopes] = -own[0, 1:]
    of_cuts[np.arange(len(cuts)), cuts] = 1.0
    if len(classes) == 2:
        rows, names = [-of_cuts, of_slopes], ["Intercept", *covariates.names[1:]]
    else:
        rows = [of_slopes, of_cuts]
        names = [*covariates.names[1:], *(f"{a} | {b}" for a, b in pairwise(classes))]
    if grouped:
        rows.append(np.eye(size)[[spread]])
        names.append(GROUP_SPREAD)
    return tuple(names), np.vstack(rows)
