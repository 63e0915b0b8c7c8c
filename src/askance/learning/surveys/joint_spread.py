"""Errors of a joint table by how people came into the sample, and whether reports have the law that it says."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc, gammaincc

from askance.arrays import Floats
from askance.learning.surveys.hidden_answers import HiddenAnswer, joint_log_likelihood, joint_unbiased
from askance.learning.surveys.pair_association import Patterns
from askance.learning.surveys.survey_sample import Spread, SurveySample

_FEW_EXPECTED = 5  # expected patterns below make a chi-square law of their test doubtful


class TableSpread(NamedTuple):
    """The covariance of all cells of a table.

    ``mean`` are the cells, ``change`` turns summed scores into cells, ``simple`` are their variances if people had been
    drawn one by one.
    """

    mean: Floats
    covariance: Floats
    change: Floats
    simple: Floats
    spread: Spread | None

    def degrees(self, combinations: Floats) -> tuple[float, ...]:
        """Degrees of freedom of sums of cells, one a row; none without clusters."""
        return () if self.spread is None else self.spread.degrees(combinations @ self.change)


def moment_spread(answers: list[HiddenAnswer], weights: Floats | None, sample: SurveySample | None) -> TableSpread:
    """The unbiased proportions of all combinations, and their covariance."""
    rows = joint_unbiased(answers)
    heft = np.ones(len(rows)) if weights is None else weights
    mean = heft @ rows / heft.sum()
    # All cells but the last, which takes up the slack: these numbers of a person sum to one.
    direction, scores = _free(len(mean)), (rows - mean)[:, :-1]
    change = direction / heft.sum()
    plain = (scores * heft[:, None] ** 2).T @ scores
    spread = None if sample is None else sample.spread(scores, heft)
    covariance = change @ (plain if spread is None else spread.meat) @ change.T
    equal = (scores * heft[:, None]).T @ scores * (heft.sum() / len(heft))
    return TableSpread(mean, covariance, change, np.diag(change @ equal @ change.T), spread)


def likelihood_spread(patterns: Patterns, proportions: Floats, weighted: bool) -> TableSpread:
    """Inverse observed information of proportions whose sum is fixed; a sandwich if rows are weighted or clustered."""
    table, direction = np.exp(patterns.log_likelihood), _free(len(proportions))
    scores = (table @ direction) / (table @ proportions)[:, None]
    bread = np.linalg.inv((scores * patterns.weight[:, None]).T @ scores)
    change, middle, spread = direction @ bread, np.linalg.inv(bread), None
    if patterns.sample is not None:
        # A row stands for several people with the same score, whose outer products add up as their weights do.
        spread = patterns.sample.spread(scores, patterns.weight, patterns.squares)
        middle = spread.meat
    elif weighted:
        middle = (scores * patterns.squares[:, None]).T @ scores
    people = patterns.weight.sum() if patterns.sample is None else patterns.sample.drawn.people.sum()
    simple = np.diag(change @ direction.T) * float(patterns.weight.sum() / people)
    return TableSpread(proportions, change @ middle @ change.T, change, simple, spread)


def _free(cells: int) -> Floats:
    """All cells but the last, and the last that takes up the slack: cells x (cells - 1)."""
    return np.vstack([np.eye(cells - 1), -np.ones(cells - 1)])


def fit_of_patterns(
    answers: Sequence[HiddenAnswer], proportions: Floats, weights: Floats | None, sample: SurveySample | None
) -> float | None:
    """Pearson's test of the law of the rows of reports; None without degrees of freedom, or with too few people.

    Of clusters the statistic is divided by the mean design effect of the shares of patterns (Rao and Scott 1981).
    """
    channels = [channel for answer in answers for channel in answer.channels]
    several = any(channel.matrix[:, 0].sum() > 1.5 for channel in channels)  # designs, of which each sums to one
    possible = math.prod(channel.matrix.shape[0] for channel in channels)
    free = possible - len(proportions)
    heft = np.ones(len(answers[0].codes[0])) if weights is None else weights
    people = float(heft.sum() ** 2 / (heft @ heft))
    if several or free < 1 or people < _FEW_EXPECTED * possible:
        return None
    codes = np.column_stack([codes for answer in answers for codes in answer.codes])
    rows, first, place = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    law = np.exp(joint_log_likelihood(answers)[first]) @ proportions
    share = np.bincount(place.ravel(), heft, minlength=len(rows)) / heft.sum()
    # What never occurred adds its probability: (0 - law)^2 / law.
    statistic = people * float((((share - law) ** 2) / law).sum() + max(1 - law.sum(), 0.0))
    if sample is None:
        return float(gammaincc(free / 2, statistic / 2))
    seen = np.eye(len(rows))[place.ravel()] - share
    clustered = np.diag(sample.plain_covariance(heft[:, None] * seen / heft.sum()))
    effect = people * float((clustered / np.maximum(share, np.finfo(float).tiny)).sum()) / max(len(rows) - 1, 1)
    degrees = float(sample.drawn.units - len(np.unique(sample.drawn.strata)))
    if not sample.drawn.clustered:
        degrees = people
    return float(fdtrc(free, degrees, statistic / (free * max(effect, np.finfo(float).tiny))))
