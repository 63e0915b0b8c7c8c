"""How well a line does on the truth: judged by the reports of each fold, on the line that the others give.

A line's apparent R squared counts the noise that it follows as explained: of data without any signal it was one half.
Reports that a line was not fitted to know nothing of its noise. With c = (line, -1) of all folds but k and the
estimated moments B_k of that fold, c'B_k c is unbiased for the mean square error, whatever the line is; the mean over
folds over the variance of the outcome is one minus R squared. Its error comes from how the reports differ, as that of
any mean does (Bayle et al. 2020, Cross-validation confidence intervals for test error).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats
from askance.errors import Unidentifiable
from askance.learning.face.hidden_truth import Estimate
from askance.learning.numbers.folds import FOLDS
from askance.learning.numbers.moment_readers import as_weights
from askance.learning.numbers.moment_regression import MomentProblem
from askance.learning.numbers.set_moments import SetMoments, squares_shares, together

# R squared is a share of the outcome's variance, which must stand clear of its noise by so many standard errors. Below,
# a variance that happens to look large is shown and one that looks small is not: at 4, a share of .83 became .51 in the
# mean (an outcome alone, epsilon 1, 5,000 reports); at 8 nothing of the kind is shown there.
_CLEAR = 8.0
_LEAST_PEOPLE = 50  # five in a fold: of fewer reports, folds tell more about chance than about the line


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Lines without each fold, their mean square error on it, and the forms whose mean square is its error.

    Parameters
    ----------
    value : float
        R squared; NaN where reports do not tell.
    variance : float
        Of the outcome.
    shares : of the report sets that tell
    forms : folds x width x width, on the common scale
    jackknife : float
        The variance of R squared by leaving out each fold, where lines are shrunk: how much is chosen anew each time,
        and forms do not see that.
    """

    value: float
    variance: float
    shares: Floats
    forms: Floats | None
    jackknife: float = 0.0

    @classmethod
    def of(cls, moments: Sequence[SetMoments], shares: Floats, problem: MomentProblem) -> "HeldOut":
        """Fit a line without each fold and judge it by that fold."""
        own = squares_shares(moments, shares)
        nothing = cls(math.nan, math.nan, own, None)
        second, outcome_error = together(moments, shares)
        mean = second[0, -1]
        variance = second[-1, -1] - mean**2
        few = sum(one.people for one in moments) < max(_LEAST_PEOPLE, 2 * len(second))
        if few or not own.any() or not variance > _CLEAR * outcome_error or not variance > 0:
            return nothing
        everything = tuple(range(FOLDS))
        try:
            lines, error = _judged(moments, shares, problem, everything)
            again = 0.0
            if problem.unrelated is not None:
                rest = [tuple(fold for fold in everything if fold != left) for left in everything]
                missed = [_judged(moments, shares, problem, some)[1] for some in rest]
                about_means = [together(moments, shares, list(some))[0] for some in rest]
                varied = [one[-1, -1] - one[0, -1] ** 2 for one in about_means]
                again = (FOLDS - 1) * float(np.var(np.array(missed) / np.array(varied)))
        except Unidentifiable:
            return nothing
        about = np.zeros(len(second))
        about[0], about[-1] = -mean, 1.0  # the outcome about its mean
        forms = np.einsum("ki,kj->kij", lines, lines) - error / variance * np.outer(about, about)
        return cls(1 - error / variance, float(variance), own, forms, again)

    def form_of(self, one: SetMoments) -> Floats | None:
        """The forms as weights of the upper triangle of moments, on a report set's own scale."""
        if self.forms is None or not one.tells_squares:
            return None
        return as_weights(np.einsum("ai,kab,bj->kij", one.change, self.forms, one.change))

    def estimate(self, squared: Floats, noise: Floats, rows: int) -> Estimate:
        """R squared with its error.

        Reports that miss a line by luck have also led to a worse line, and the line of all reports is none of those
        that were judged: with P the noise of parameters times the slope of their equations, 4 tr(P P) comes to the
        variance. It is half of it where nothing is explained, and next to nothing where much is.

        Parameters
        ----------
        squared : mean squares of the forms over the reports of each set, over their number
        noise : array
            P, of the line of all reports.
        rows : int
        """
        if self.forms is None:
            return Estimate(math.nan, math.nan, rows, "consistent")
        variance = float(self.shares**2 @ squared) + 4 * float(np.sum(noise * noise.T))
        error = math.sqrt(max(variance / self.variance**2, self.jackknife))
        return Estimate(float(self.value), error, rows, "consistent")


def _judged(
    moments: Sequence[SetMoments], shares: Floats, problem: MomentProblem, folds: tuple[int, ...]
) -> tuple[Floats, float]:
    """Lines of all these folds but one, as (line, -1), and their mean square error on that one."""
    own, fewer = squares_shares(moments, shares), problem.with_fewer(FOLDS / (len(folds) - 1))
    lines = np.full((len(folds), moments[0].change.shape[0]), -1.0)
    weights = [sum(one.folds.weight[list(folds)]) for one in moments]
    error = 0.0
    for place, fold in enumerate(folds):
        solved = fewer.solve(together(moments, shares, [other for other in folds if other != fold])[0])
        lines[place, :-1] = solved.parameters if problem.intercept else np.r_[0.0, solved.parameters]
        for part, one, weight in zip(own, moments, weights, strict=True):
            seen = one.folds.only([fold])
            if part and seen.weight > 0:
                missed = lines[place] @ one.matrix(seen) @ lines[place]
                error += part * seen.weight / weight * float(missed)
    return lines, error
