"""How two hidden answers go together: odds ratios with profile intervals, correlation, a test of independence."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc, gammaincc

from askance.arrays import Floats, Integers
from askance.channels.alphabet import Label
from askance.learning.surveys.hidden_answers import HiddenAnswer, combinations, joint_log_likelihood
from askance.learning.surveys.hidden_states import HiddenStates
from askance.learning.surveys.state_factors import LogLinear
from askance.learning.surveys.survey_fit import effective_weights, fit_survey
from askance.learning.surveys.survey_sample import SurveySample
from askance.solvers.log_f import LogF
from askance.solvers.profile_likelihood import Profile
from askance.solvers.simplex import mixture_proportions

_BORDER = 1e-9  # a share below is at the border: the solver ends there with 1e-10 or less


class Patterns(NamedTuple):
    """Different rows of reports, how often each occurs, and the sum of squared weights behind it.

    With clusters or strata, rows of different units are different rows.
    """

    log_likelihood: Floats
    weight: Floats
    squares: Floats
    sample: SurveySample | None = None

    @classmethod
    def of(cls, log_likelihood: Floats, weights: Floats | None, sample: SurveySample | None = None) -> "Patterns":
        """Count rows that are alike."""
        patterns = log_likelihood if sample is None else np.column_stack([log_likelihood, sample.unit])
        rows, place = np.unique(patterns, axis=0, return_inverse=True)
        heft = np.ones(len(patterns)) if weights is None else weights
        place = place.ravel()
        sums, squares = (np.asarray(np.bincount(place, numbers), dtype=np.float64) for numbers in (heft, heft**2))
        if sample is None:
            return cls(rows, sums, squares)
        return cls(rows[:, :-1], sums, squares, sample.of_units(rows[:, -1].astype(np.int64)))

    def proportions(self) -> Floats:
        """The most likely proportions of the combinations."""
        return mixture_proportions(np.exp(self.log_likelihood), self.weight)

    def value(self, proportions: Floats) -> float:
        """The log-likelihood of proportions."""
        return float(self.weight @ np.log(np.exp(self.log_likelihood) @ proportions))


class Association(NamedTuple):
    """How two answers go together.

    ``odds`` has a profile for the logarithm of the odds ratio of each pair of classes against the first ones;
    ``p_value`` is that of independence, by likelihood ratio; ``degrees`` are those of the odds ratios, if there are
    clusters.
    """

    pairs: list[tuple[Label, Label]]
    estimates: Floats
    errors: Floats
    odds: list[Profile]
    p_value: float
    degrees: tuple[float, ...] = ()


def association(
    first: HiddenAnswer, second: HiddenAnswer, weights: Floats | None, sample: SurveySample | None = None
) -> Association:
    """Measure how two hidden answers go together."""
    answers, weights = [first, second], effective_weights(weights)  # the penalty weighs one person, in any unit
    patterns = Patterns.of(joint_log_likelihood(answers), weights, sample)
    states = combinations(answers)
    features, places = _features(states, [len(answer.classes) for answer in answers])
    rows = len(patterns.weight)
    states_of_rows = np.broadcast_to(np.arange(len(states)), (rows, len(states)))
    law = LogLinear(
        np.broadcast_to(features, (rows, 1, *features.shape)), np.zeros_like(states_of_rows), states_of_rows
    )
    likelihood = HiddenStates(patterns.log_likelihood, [law], patterns.weight, patterns.squares, patterns.sample)
    # The penalty takes away the bias that odds ratios have in samples: over 1500 sets of 2000 people with an odds ratio
    # of 6, .032 of its logarithm became -.006, and the error fell from .317 to .307. What is not asked about has wide
    # penalties, about the shares of each answer alone: about even odds they would draw the odds ratio down (-.009).
    start = np.concatenate([*(_log_odds(answer, weights) for answer in answers), np.zeros(len(places))])
    scale = np.full(len(start), 0.5)
    scale[places] = 1.0
    penalty = LogF(start[None, :], scale)
    scored = likelihood if weights is not None or sample is not None else None
    fit = fit_survey(likelihood, [start], penalty, scored=scored, always=True)
    directions = np.eye(len(start))[places]
    odds = fit.profiles(list(directions))
    errors = np.sqrt(np.maximum(np.diag(fit.covariance), 0.0))[places]
    labels = [(a, b) for a in first.classes[1:] for b in second.classes[1:]]
    degrees = fit.degrees(directions)
    effect = float(patterns.squares.sum() / patterns.weight.sum())
    if sample is not None:
        # Rao and Scott's first correction: the mean of the design effects of all odds ratios together.
        simple = fit.bread[np.ix_(places, places)]
        effect = float(np.trace(np.linalg.solve(simple, fit.covariance[np.ix_(places, places)]))) / len(places)
    p_value = _independence(answers, patterns, weights, effect, min(degrees, default=np.inf))
    return Association(labels, fit.theta[places], errors, odds, p_value, degrees)


def _log_odds(answer: HiddenAnswer, weights: Floats | None) -> Floats:
    """The log odds of each class of an answer against the first, kept off the border by half a standard error."""
    rows = answer.unbiased
    heft = np.full(len(rows), 1 / len(rows)) if weights is None else weights / weights.sum()
    shares = heft @ rows
    errors = np.sqrt((heft**2) @ (rows - shares) ** 2)
    kept = np.clip(shares, np.maximum(errors / 2, _BORDER), None)
    return np.asarray(np.log(kept[1:] / kept[0]))


def _features(states: Integers, sizes: Sequence[int]) -> tuple[Floats, list[int]]:
    """Indicators of each answer's classes but the first, and of pairs of them; and where the pairs are."""
    first, second = (np.eye(size)[states[:, number]][:, 1:] for number, size in enumerate(sizes))
    pairs = (first[:, :, None] * second[:, None, :]).reshape(len(states), -1)
    features = np.hstack([first, second, pairs])
    return features, list(range(features.shape[1] - pairs.shape[1], features.shape[1]))


def _independence(
    answers: Sequence[HiddenAnswer], patterns: Patterns, weights: Floats | None, effect: float, degrees: float
) -> float:
    """P-value of independence: answers that are independent have reports that are, so margins suffice.

    Weighted or clustered rows tell as much as fewer equal ones would, by the design effect: the ratio is that of so
    many. With clusters its law is that of Fisher's ratio.
    """
    alone = [Patterns.of(answer.log_likelihood, weights) for answer in answers]
    apart = sum(part.value(part.proportions()) for part in alone)
    ratio = 2 * max(patterns.value(patterns.proportions()) - apart, 0.0) / effect
    free = int(np.prod([len(answer.classes) - 1 for answer in answers]))
    if np.isfinite(degrees):
        return float(fdtrc(free, degrees, ratio / free))
    return float(gammaincc(free / 2, ratio / 2))


def correlation(table: Floats) -> tuple[float, Floats]:
    """The correlation of two yes-or-no answers from their 2 x 2 table, and its derivative by the four cells."""
    a, b = float(table[1].sum()), float(table[:, 1].sum())
    if min(a, 1 - a, b, 1 - b) < _BORDER:
        return np.nan, np.full(4, np.nan)  # who all answer the same go together with nothing
    spread = np.sqrt(max(a * (1 - a) * b * (1 - b), np.finfo(float).tiny))
    r = (float(table[1, 1]) - a * b) / spread
    by_a = -b / spread - r * (1 - 2 * a) / (2 * max(a * (1 - a), np.finfo(float).tiny))
    by_b = -a / spread - r * (1 - 2 * b) / (2 * max(b * (1 - b), np.finfo(float).tiny))
    return r, np.array([0.0, by_b, by_a, by_a + by_b + 1 / spread])
