"""Cross-validation of ridge and method on the reports themselves: no clean record is needed.

What is compared is the held-out spread likelihood of label reports given feature reports. All folds are fitted at once,
from the strongest ridge down, each from the solution of the one before, until held-out likelihoods fall for good.
Priors and directions come from all feature reports: no label is looked at for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.learning.records.logit_objective import HeldOut, LogitObjective

Table = dict[str, list[Any]]

RIDGES = tuple(10.0 ** (0.5 - 0.5 * step) for step in range(14))  # 3.2 down to 1e-6
_ABOVE = 20.0  # times the best ridge of the method before: where the path of the next one begins, a decade and a bit
_AS_GOOD = 1.0  # standard errors that a ridge may be behind the best of its method: the rule of Breiman et al. (1984)
_STEEP = 5.0  # standard errors that a ridge gains on the one before: far from the best, so that one may be left out
_FAR_BEHIND = 3.0  # standard errors that a method may be behind the best: one in a thousand by chance
_TOLERANCE = 0.1  # standard errors of a parameter, by which fits that are only compared may be off


@dataclass(frozen=True, eq=False)
class Trial:
    """One method with one ridge.

    Parameters
    ----------
    method : str
    ridge : float
    held_out : HeldOut
        Log-likelihood of label reports, by the fits that did not see them.
    theta : rows x (1 + d)
        The average of the folds' parameters.
    """

    method: str
    ridge: float
    held_out: HeldOut
    theta: Floats

    @property
    def log_likelihood(self) -> float:
        """Of a held-out report."""
        return self.held_out.mean

    def behind(self, other: "Trial") -> tuple[float, float]:
        """By how much another trial is better, and the standard error of that."""
        return self.held_out.behind(other.held_out)

    def keeps_up(self, other: "Trial", errors: float) -> bool:
        """Whether it is behind another trial by at most so many standard errors."""
        gap, error = self.behind(other)
        return gap <= errors * error


@dataclass(frozen=True)
class Choice:
    """All trials, and those that are taken: one of each method that keeps up with the best."""

    trials: tuple[Trial, ...]
    taken: tuple[Trial, ...]

    @property
    def table(self) -> Table:
        """Method, ridge, held-out log-likelihood of a report, distance to the best, and its standard error."""
        top = _best(self.trials)
        behind = [trial.behind(top) for trial in self.trials]
        return {
            "method": [trial.method for trial in self.trials],
            "ridge": [trial.ridge for trial in self.trials],
            "log_likelihood": [trial.log_likelihood for trial in self.trials],
            "behind": [distance for distance, _ in behind],
            "behind_error": [error for _, error in behind],
        }


def fold_weights(rows: int, folds: int, rng: np.random.Generator | None = None) -> Floats:
    """Weights of n reports in each fit: 0 in the fold that is held out, n x folds."""
    fold = np.arange(rows) % folds
    if rng is not None:
        fold = rng.permutation(fold)
    weights: Floats = (fold[:, None] != np.arange(folds)).astype(float)
    return weights


def choose(candidates: Mapping[str, LogitObjective], weights: Floats, ridges: tuple[float, ...] = RIDGES) -> Choice:
    """Take the methods that keep up with the best, each with its strongest ridge that is as good as its best.

    Held-out likelihoods of few noisy reports hardly tell ridges apart; among equals the strongest is the safest. The
    path of a later method starts a decade above the ridge of the one before: metrics make ridges comparable.
    """
    trials: list[Trial] = []
    tops: list[Trial] = []
    taken: list[Trial] = []
    for name, likelihood in candidates.items():
        reach = _ABOVE * tops[-1].ridge if tops else np.inf
        below = [ridge for ridge in ridges if ridge < reach]
        found = _path(name, likelihood, weights, below, rival=_best(tops) if tops else None)
        trials += found
        tops.append(_best(found))
        taken.append(next(trial for trial in found if trial.keeps_up(tops[-1], _AS_GOOD)))  # strongest first
    best = _best(tops)
    keep = tuple(trial for trial, top in zip(taken, tops, strict=True) if top.keeps_up(best, _FAR_BEHIND))
    return Choice(tuple(trials), keep)


def _best(trials: Sequence[Trial]) -> Trial:
    return max(trials, key=lambda trial: trial.log_likelihood)


def _path(
    method: str, likelihood: LogitObjective, weights: Floats, ridges: Sequence[float], rival: Trial | None
) -> list[Trial]:
    """Trials of one method, from the strongest ridge down, as long as it gets better or might."""
    rough = likelihood.roughly()
    tolerance = _TOLERANCE / np.sqrt(likelihood.reports)
    trials: list[Trial] = []
    theta, steep = None, False
    for number, ridge in enumerate(sorted(ridges, reverse=True)):
        if steep and number < len(ridges) - 1:
            steep = False
            continue
        theta = rough.fit(ridge, weights, start=theta, tolerance=tolerance).theta
        trials.append(Trial(method, ridge, rough.held_out(theta, weights), theta.mean(axis=0)))
        if len(trials) == 1:
            continue
        best = _best(trials)
        gain, error = trials[-2].behind(trials[-1])
        steep = gain > _STEEP * error  # still far from the best ridge: the next one is left out
        if not trials[-1].keeps_up(best, _AS_GOOD):
            break  # weaker ridges are worse still
        if rival and gain < best.behind(rival)[0] and not best.keeps_up(rival, _FAR_BEHIND):
            break  # gains grow smaller along a path: it will not catch up
    return trials
