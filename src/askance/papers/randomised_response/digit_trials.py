"""Classifiers that learn to tell two digits apart from hidden pictures and labels, tested on clean pictures.

What was in our hands to choose for the paper's methods was chosen on threes and fives, never on the digits reported.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.row_channel import RowChannel
from askance.papers.data.digits import Digits, Split
from askance.solvers.progress import steps

SAMPLES = 2  # S of the paper


class Accuracy(NamedTuple):
    """Of one method at one level of noise, over independent trials."""

    method: str
    noise: float
    mean: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Trial:
    """One draw of digits, hidden by one channel; brightness from 0 to 1."""

    channel: RowChannel
    clean: Floats
    labels: NDArray[np.int64]
    reports: Floats
    label_reports: NDArray[np.int64]
    test: Floats
    test_labels: NDArray[np.int64]

    @classmethod
    def draw(cls, digits: Digits, channel: RowChannel, split: Split, rng: np.random.Generator) -> "Trial":
        clean = digits.scaled(split.X)
        reports, labels = channel.simulate((clean, split.y), rng)
        return cls(channel, clean, split.y, reports, labels, digits.scaled(split.X_test), split.y_test)

    def on_clean_data(self) -> float:
        """scikit-learn's logistic regression, as it comes, on the truth, which no learner sees."""
        from sklearn.linear_model import LogisticRegression

        return float(LogisticRegression(max_iter=2000).fit(self.clean, self.labels).score(self.test, self.test_labels))

    def on_noise(self, ridge: float | str) -> float:
        """The same on the reports, as if they were the truth."""
        from askance.papers.randomised_response.baselines import train_on_noise

        fitted = train_on_noise(self.channel, self.reports, self.label_reports, ridge=ridge)
        return float(fitted.score(self.test, self.test_labels))

    def by_sampling(self, prior: Any, ridge: float, rounds: int, rng: np.random.Generator) -> float:
        """The paper's importance-sampling EM; the intercept is at the mean picture, and has the same ridge."""
        from askance.learning.records.posterior import FeaturePosterior
        from askance.learning.records.posterior_draws import posterior_draw
        from askance.learning.records.sampling_fit import sampling_em

        features = self.channel.features
        reports = features.encode(self.reports) if features.is_finite else self.reports
        posterior = FeaturePosterior.fitted(features, reports, prior)
        centre = posterior.moments(reports).mean.mean(axis=0)
        likelihood = self.channel.label.likelihood(self.label_reports)
        penalty = np.full(features.width + 1, ridge)
        draw = posterior_draw(posterior, reports)
        fit = sampling_em(draw, likelihood, rng=rng, penalty=penalty, samples=SAMPLES, rounds=rounds, centre=centre)
        second = fit.theta[0, 0] + (self.test - centre) @ fit.theta[0, 1:] > 0
        return float(np.mean(second == (self.test_labels == self.channel.label.classes[1])))

    def by_askance(self) -> float:
        """SpreadClassifier as it comes."""
        from askance.learning.records.spread_classifier import SpreadClassifier

        fitted = SpreadClassifier(self.channel).fit(self.reports, self.label_reports)
        return float(fitted.score(self.test, self.test_labels, of="truth"))


Scores = dict[tuple[str, float], list[float]]  # by method and level of noise, one for each trial


def run_trials(
    digits: Digits,
    sizes: tuple[int, int],
    trials: int,
    channels: Mapping[float, RowChannel],
    methods: Callable[[Trial], dict[str, float]],
    rng: np.random.Generator,
) -> Scores:
    """Draw digits, hide them at each level of noise, and score all methods on the same reports, so many times over.

    Parameters
    ----------
    digits : Digits
    sizes : pair of int
        How many of each digit to learn from and to test on.
    trials : int
    channels : dict
        By level of noise.
    methods : function of a trial
        Returns the score of each method.
    """
    scores: Scores = {}
    for _ in steps(range(trials)):
        split = digits.split(*sizes, rng)
        for level, channel in steps(channels.items()):
            for method, score in methods(Trial.draw(digits, channel, split, rng)).items():
                scores.setdefault((method, level), []).append(score)
    return scores


def summed_up(scores: Scores) -> list[Accuracy]:
    """Mean and standard error of each method at each level."""
    return [
        Accuracy(method, noise, float(np.mean(seen)), float(np.std(seen, ddof=1) / math.sqrt(len(seen))))
        for (method, noise), seen in scores.items()
    ]
