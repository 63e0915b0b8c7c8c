"""How many there are of each class before any covariate is looked at, and how far that is from nobody."""

from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats
from askance.errors import Unidentifiable
from askance.learning.answers.report_law import ReportLaw
from askance.learning.face.report_weights import least_variance_weights
from askance.solvers.simplex import mixture_proportions, project_to_simplex
from askance.statistics.frequencies import ReportCounts

# A share that is less than so many times what chance alone would pretend is near the border: the likelihood is then no
# parabola, and often has no finite maximum. Four was set beforehand, not searched for: with it intervals cover .92 to
# .98 at prevalence .03 (benchmarks/survey.py), and at .1 the choice made no difference (100 sets of 2000 reports).
NEAR_BORDER = 4.0


@dataclass(frozen=True, eq=False)
class BaseRate:
    """Unbiased proportions of the classes.

    Parameters
    ----------
    unbiased : array, K
        May leave [0, 1]; maximum likelihood where no single report determines the truth.
    errors : array, K
        Standard errors.
    chance : array, K
        The standard error that each proportion would have if the class had nobody: what chance alone gives. Zero where
        the reports of a class cannot come from others.
    """

    unbiased: Floats
    errors: Floats
    chance: Floats

    @classmethod
    def of(cls, channel: ReportLaw, counts: ReportCounts, *, robust: bool) -> "BaseRate":
        """Estimate it from counts of reports, whose weights are sampling weights if ``robust``."""
        total = float(counts.weight.sum())
        size = total**2 / float(counts.squared_weight.sum()) if robust else total
        fitted = mixture_proportions(channel.matrix, counts.weight)
        try:
            unbiasing = least_variance_weights(channel, counts)
        except Unidentifiable:
            # No single report determines the truth, so there is no noise that could be told from it.
            return cls(fitted, np.full(len(fitted), 1 / np.sqrt(size)), np.zeros(len(fitted)))
        observed = counts.weight / total
        unbiased = unbiasing @ observed
        # A report that nobody gave yet has a chance all the same: few equal reports are not exact.
        law = counts.law
        errors = np.sqrt(np.maximum(unbiasing**2 @ law - (unbiasing @ law) ** 2, 0.0) / size)
        chance = np.array([_chance(channel.matrix, unbiasing, unbiased, law, k) for k in range(len(unbiased))])
        return cls(unbiased, errors, chance / np.sqrt(size))

    @property
    def near_border(self) -> bool:
        """Whether some class is so rare that chance alone could have made it."""
        return bool(np.any(self.unbiased < NEAR_BORDER * self.chance))

    @property
    def logits(self) -> Floats:
        """Log-odds of all classes but the first against the first, kept half a standard error away from nobody."""
        least = np.clip(0.5 * self.errors, np.finfo(float).tiny, 1 / len(self.unbiased))
        kept = np.clip(self.unbiased, least, 1 - least)
        shares = kept / kept.sum() if len(kept) > 2 else kept
        logits: Floats = np.log(shares[1:]) - np.log(shares[0])
        return logits


def _chance(matrix: Floats, unbiasing: Floats, unbiased: Floats, observed: Floats, absent: int) -> float:
    """The spread of one report's unbiased share of a class, in a population without that class."""
    others = np.where(np.arange(len(unbiased)) == absent, -np.inf, unbiased)
    without = np.zeros(len(unbiased))
    present = np.isfinite(others)
    without[present] = project_to_simplex(others[present])
    now = matrix @ project_to_simplex(unbiased)
    # Designs keep their shares of the respondents: each report's frequency changes as its probability does.
    law = observed * (matrix @ without) / np.maximum(now, np.finfo(float).tiny)
    law = law / max(float(law.sum()), np.finfo(float).tiny)
    row = unbiasing[absent]
    return float(np.sqrt(max(row**2 @ law - (row @ law) ** 2, 0.0)))
