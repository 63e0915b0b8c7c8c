"""What the bags say against an estimate of ratios: how far to shrink it, and how far to widen its interval.

*Shrinking.* If groups differ as the bags do, their ratios scatter about the overall mix p by A = (c + (1 - c)/n)
(diag p - p p'), for c the correlation of labels within bags, and the best estimate is p + A (A + Cov)^-1 (free - p).
Bags that are all alike leave hardly more than the overall mix; bags that differ widely leave the estimate as it is.
Intervals start from the free estimate, and so hold for a group that is like no bag, too.

*Unlike bags.* If a class looks different from bag to bag, so will it in a new group: left-out bags show by how much
ratios are then off.

*Overstated differences.* What goes with the classes between bags may go with something else: rich districts are older.
A score of which the classes' means differ by one varies within a bag by p (1 - p) at least. Where rows of a bag vary by
less, the classes within bags differ by less than the bags suggest, and ratios differ by more than the scores do: nobody
knows by how much.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from askance.arrays import Floats, Integers
from askance.learning.bags.bag_diagnosis import BagDiagnosis
from askance.learning.bags.bags import Bags
from askance.learning.ratios.class_spread import tangent
from askance.learning.ratios.ratio_model import RatioEstimate
from askance.solvers.simplex import project_to_simplex

# Adult by education, race, relationship, hours, work class and age: overstated 2.6 to 12.8 times; digits and breast
# cancer in bags that differ by class alone .6 to 1.05. So much is sampling error.
_OVERSTATED = 1.2
_MOST = 100.0  # more is as good as this: every share is in the interval
_LEAST_FREEDOM = 2  # of Student's t: with one, an interval of a share would hold all shares


@dataclass(frozen=True, eq=False)
class BagDoubt:
    """How much an estimate is believed.

    Parameters
    ----------
    overall : array, K
        The ratios of all training rows.
    correlation : float
        How alike the labels of a bag are, at most.
    spread : array, K x K
        The covariance of the bags' proportions.
    between : array, K x K
        The covariance of the errors of left-out bags; zero where bags are alike.
    freedom : float
        Of ``between``; infinite where it is zero.
    overstated : float
        By how much the bags overstate the difference of classes, at least; 1 if nothing shows that they do.
    """

    overall: Floats
    correlation: float
    spread: Floats
    between: Floats
    freedom: float
    overstated: float

    @classmethod
    def of(cls, bags: Bags, found: BagDiagnosis, errors: Floats, overstated: float) -> Self:
        """Judge by the diagnosis of the bags, the errors of left-out bags (bags x K), and ``overstatement``."""
        classes = len(bags.classes)
        apart = bags.shares - bags.overall
        weight = bags.sizes / bags.sizes.sum()
        spread = (apart * weight[:, None]).T @ apart
        between, freedom = np.zeros((classes, classes)), math.inf
        if found.alike is False:
            known = np.isfinite(errors).all(axis=1)
            between, freedom = spread, float(_LEAST_FREEDOM)
            if known.sum() > classes:
                weight = weight[known] / weight[known].sum()
                between = (errors[known] * weight[:, None]).T @ errors[known]
                freedom = float(max(int(known.sum()) - classes, _LEAST_FREEDOM))
        beyond = min(overstated, _MOST) if overstated >= _OVERSTATED else 1.0
        return cls(bags.overall, found.correlation, spread, between, freedom, beyond)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user must know."""
        if self.overstated == 1:
            return ()
        return (
            f"Rows of one bag vary too little for classes that differ as the bags suggest, at least "
            f"{self.overstated:.1f} times so: the bags differ in more than their classes, and groups may differ from "
            "the overall mix by more than is estimated. Intervals are as wide as that asks for.",
        )

    def wider(self, level: float) -> float:
        """By how much Student's intervals are wider than normal ones."""
        from scipy.stats import norm, t

        return (
            1.0 if math.isinf(self.freedom) else float(t.ppf((1 + level) / 2, self.freedom) / norm.ppf((1 + level) / 2))
        )

    def applied(self, found: RatioEstimate) -> RatioEstimate:
        """Return the estimate, shrunk and with all that is not known of it."""
        believed = found.covariance + self.between
        ratios = self._shrunk(found, believed)
        if not self.between.any() and self.overstated == 1:
            return replace(found, ratios=ratios)
        apart = found.free - self.overall
        more = self.between + (self.overstated - 1) ** 2 * (np.outer(apart, apart) + self.spread)
        parts = {**found.parts, "bags": more}
        return replace(found, ratios=ratios, covariance=found.covariance + more, parts=parts)

    def _shrunk(self, found: RatioEstimate, covariance: Floats) -> Floats:
        lean = tangent(len(self.overall))
        drawn = np.diag(self.overall) - np.outer(self.overall, self.overall)
        prior = (self.correlation + (1 - self.correlation) / max(found.rows, 1)) * (lean.T @ drawn @ lean)
        inside = lean.T @ covariance @ lean
        kept = prior @ np.linalg.pinv(prior + inside, hermitian=True)
        moved: Floats = project_to_simplex(self.overall + lean @ kept @ lean.T @ (found.free - self.overall))
        return moved

    def to_dict(self) -> dict[str, Any]:
        """Arrays and plain values that ``from_dict`` turns into this again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """What ``to_dict`` described."""
        return cls(**content)


def overstatement(scores: Floats, codes: Integers, counts: Floats, shares: Floats) -> float:
    """By how much bags overstate the difference of classes, at least: below one if nothing shows that they do.

    Within a bag of ratios p the scores, which are to have the mean 1 in their own class and 0 in the others, vary by
    diag p - p p' at least. Returns the largest of (wanted / seen)^(1/2), over all contrasts of classes.

    Parameters
    ----------
    scores : array, n x K
    codes : array, n
        The bag of each.
    counts : array, n
        How many rows each stands for.
    shares : array, bags x K

    Examples
    --------
    >>> own_class = np.eye(2)[[0, 1, 0, 1]]
    >>> all_alike = np.tile([0.5, 0.5], (4, 1)) + 0.1 * (own_class - 0.5)
    >>> bags, ones, shares = np.array([0, 0, 1, 1]), np.ones(4), np.full((2, 2), 0.5)
    >>> [round(overstatement(each, bags, ones, shares), 1) for each in (own_class, all_alike)]
    [0.7, 7.1]
    """
    from scipy.linalg import eigh

    bags, classes = shares.shape
    size = np.bincount(codes, counts, bags)
    several = size > 1
    means = (
        np.array([np.bincount(codes, counts * column, bags) for column in scores.T]).T / np.maximum(size, 1)[:, None]
    )
    apart = scores - means[codes]
    each = counts * (several / np.maximum(size - 1, 1) * size)[codes]  # as a sample variance has it
    seen = (apart * each[:, None]).T @ apart
    wanted = np.diag(size[several] @ shares[several]) - (shares[several] * size[several, None]).T @ shares[several]
    lean = tangent(classes)
    inside = lean.T @ seen @ lean
    floor = 1e-9 * max(float(np.trace(inside)), 1e-300)
    if not several.any():
        return 0.0
    largest = eigh(lean.T @ wanted @ lean, inside + floor * np.eye(classes - 1), eigvals_only=True)[-1]
    return math.sqrt(max(float(largest), 0.0))
