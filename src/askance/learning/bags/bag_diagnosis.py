"""What bags can tell: how much their proportions differ, and whether their rows differ in anything else.

Both estimators that learn from bags ask this first, and choose, widen or warn by the answer.

- *Informative?* The proportions' chi-square statistic about the overall mix, per degree of freedom: about 1 if rows
  were dealt at random, far above if bags differ. Its size alone is what the bags are worth, in labels of single rows.
- *Alike?* If the rows of a class look the same in every bag, a bag's mean follows from its proportions. The misfit is
  the squared distance from that, per degree of freedom: about 1 if it holds, 3 to 100 where an attribute of the
  people formed the bags.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from askance.arrays import Floats
from askance.learning.bags.bags import Bags
from askance.reports.number_format import number, p_value
from askance.solvers.bag_means import class_means
from askance.solvers.weighted_chi_square import weighted_chi_square_tail

# Random bags have a chi-square over its degrees of freedom: 20 of them exceed 2 once in 170 times, 50 once in 25,000.
RANDOM = 2.0
# Bags dealt at random or by class alone had a misfit of .6 to 1.1 (Adult, breast cancer), those by an attribute (of
# Adult: education, race, work class, hours, relationship) of 3.6 to 66. Few features or bags leave much to chance,
# so that the distance must be beyond chance as well.
UNLIKE, UNLIKE_P = 2.0, 0.01
# Labels that bags are worth below which they are said to tell next to nothing: two bags dealt at random are worth one.
NOTHING = 1.0
# Noise that makes up half of the differences is more than a likelihood that takes proportions for exact can bear.
DROWNED, DROWNED_P = 0.5, 0.05
_LOOKED_AT = 2000  # rows from which correlations of features are taken: they only say how surely bags are unlike
_UPPER = 0.2  # of how much bags differ, an upper limit is taken that is too low so often


@dataclass(frozen=True)
class BagDiagnosis:
    """How much bags can tell, and whether they keep what learning from them assumes.

    Parameters
    ----------
    bags, rows, classes : int
    overdispersion, overdispersion_p : float
        The proportions' chi-square statistic per degree of freedom, and the probability of more if rows had been dealt
        to the bags at random. Known noise of the proportions counts as chance.
    labels_worth : float
        How many single labels tell as much about the difference of classes as the bags do.
    correlation : float
        How alike the labels of a bag are, at most: an upper limit (80%) of the intraclass correlation.
    misfit, misfit_p : float
        The bags' distances from the means that their proportions call for, over what chance makes of them, and the
        probability of more; NaN with no more bags than classes.
    noise_share : float
        The part of the proportions' differences that their known noise makes up on average.
    """

    bags: int
    rows: int
    classes: int
    overdispersion: float
    overdispersion_p: float
    labels_worth: float
    correlation: float
    misfit: float
    misfit_p: float
    noise_share: float = 0.0

    @property
    def informative(self) -> bool:
        """Whether the bags' proportions differ by enough to tell anything."""
        return self.labels_worth >= NOTHING and not self.drowned

    @property
    def drowned(self) -> bool:
        """Whether noise makes up most of the proportions' differences, and may make up all."""
        return self.noise_share > DROWNED and self.overdispersion_p > DROWNED_P

    @property
    def at_random(self) -> bool:
        """Whether the proportions differ no more than those of rows that are dealt to bags at random."""
        return self.overdispersion < RANDOM

    @property
    def alike(self) -> bool | None:
        """Whether bags differ in nothing but their proportions, as far as can be seen; None if nothing can."""
        if math.isnan(self.misfit):
            return None
        return not (self.misfit >= UNLIKE and self.misfit_p < UNLIKE_P)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The two answers, as names and texts."""
        differ = (
            f"differ {number(self.overdispersion, 2)} times as much as by chance (p {p_value(self.overdispersion_p)}), "
            f"worth {number(self.labels_worth, 1)} labels"
        )
        said = {True: "yes", False: "no", None: f"cannot be seen with {self.bags} bags of {self.classes} classes"}
        alike = said[self.alike]
        if self.alike is not None:
            alike += f", {number(self.misfit, 2)} times the distance of chance (p {p_value(self.misfit_p)})"
        verdict = "yes" if self.informative and not self.at_random else "a little" if self.informative else "no"
        return (("bags informative", f"{verdict}: proportions {differ}"), ("bags alike", alike))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user must know before believing anything that is learned from such bags."""
        if self.informative:
            return ()
        if self.drowned:
            return (
                f"The differences between the proportions of the {self.bags} bags may be noise alone "
                f"(p {p_value(self.overdispersion_p)}): they tell next to nothing.",
            )
        return (
            f"The proportions of the {self.bags} bags are nearly the same: they tell as much as "
            f"{number(self.labels_worth, 2)} single labels would. What is learned from them may be upside down, and "
            "ratios hardly leave the overall mix.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values that ``from_dict`` turns into the diagnosis again."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The diagnosis that ``to_dict`` described."""
        return cls(**content)


def diagnose_bags(X: Floats, bags: Bags) -> BagDiagnosis:
    """Look at bags before anything is learned from them.

    Examples
    --------
    >>> from askance.learning.bags.bags import read_bags
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 0, 1, 0, 1], [80, 20, 50, 50, 20, 80])
    >>> X = rng.normal(size=(300, 2)) + y[:, None]
    >>> bags = read_bags(np.repeat([0, 1, 2], 100), [0.2, 0.5, 0.8], None, None, 300)
    >>> found = diagnose_bags(X, bags)
    >>> round(found.overdispersion), found.alike, found.informative
    (36, True, True)
    """
    from scipy.stats import chi2

    freedom = max((len(bags.labels) - 1) * (len(bags.classes) - 1), 1)
    spread = _Spread(bags)
    misfit, misfit_p = _misfit(X, bags)
    at_most = spread.square / max(float(chi2.ppf(_UPPER, freedom)), 1e-300)
    return BagDiagnosis(
        bags=len(bags.labels),
        rows=len(bags.order),
        classes=len(bags.classes),
        overdispersion=spread.square / freedom,
        overdispersion_p=float(chi2.sf(spread.square, freedom)),
        labels_worth=spread.worth,
        correlation=float(np.clip((at_most - 1) / max(spread.typical_size - 1, 1e-9), 0.0, 1.0)),
        misfit=misfit,
        misfit_p=misfit_p,
        noise_share=spread.noise_share,
    )


class _Spread:
    """The proportions about the overall mix: in units of chance, and in labels."""

    def __init__(self, bags: Bags) -> None:
        exact = bags.noise is None
        shares, sizes = bags.shares if exact else bags.proportions, bags.sizes.astype(float)
        overall = bags.overall
        seen = overall > 0
        drawn = (np.diag(overall) - np.outer(overall, overall))[seen][:, seen]
        inverse = np.linalg.pinv(drawn, hermitian=True)
        apart = (shares - overall)[:, seen]
        free = max(int(seen.sum()) - 1, 1)
        noise = np.zeros((len(sizes), int(seen.sum()), int(seen.sum())))
        if bags.noise is not None:
            noise = bags.noise[:, seen][:, :, seen]
        each = np.einsum("bi,ij,bj->b", apart, inverse, apart)
        # A bag's proportions differ from the overall mix by which rows it has, and by their noise.
        chance = np.linalg.pinv(drawn / sizes[:, None, None] + noise, hermitian=True)
        weights = np.einsum("bij,ji->b", chance, drawn) / free  # sizes, less what noise takes
        self.square = float(np.einsum("bi,bij,bj->", apart, chance, apart))
        by_noise = np.einsum("bij,ji->b", noise, inverse)
        self.noise_share = float(np.clip(sizes @ by_noise / max(float(sizes @ each), 1e-300), 0.0, 1.0))
        self.worth = max(float(sizes @ (each - by_noise)) / free, 0.0)
        total = weights.sum()
        self.typical_size = float((total - (weights**2).sum() / total) / max(len(sizes) - 1, 1))


def _misfit(X: Floats, bags: Bags) -> tuple[float, float]:
    """How far bag means are from those that their proportions call for, per degree of freedom; and its p-value."""
    freedom = len(bags.labels) - len(bags.classes)
    centre, scale = X.mean(axis=0), X.std(axis=0)
    varies = scale > 1e-9 * np.maximum(np.abs(centre), 1e-300)
    if freedom < 1 or not varies.any():
        return math.nan, math.nan
    sizes = bags.sizes.astype(float)
    means = (bags.means(X)[:, varies] - centre[varies]) / scale[varies]
    by_class = class_means(means, sizes, bags.shares)
    left = means - bags.shares @ by_class
    features = int(varies.sum())
    squares = float(sizes @ (left**2).sum(axis=1)) / freedom
    if bags.noise is not None:
        # Noise moves a bag away from the mean that its proportions call for; least squares takes up some of it.
        moved = np.einsum("bij,id,jd->b", bags.noise, by_class, by_class)
        squares = max(squares - float(sizes @ moved) / len(sizes), 0.0)
    some = np.linspace(0, len(X) - 1, min(len(X), _LOOKED_AT)).astype(int)
    rows = (X[some][:, varies] - centre[varies]) / scale[varies]
    small = (rows.T @ rows if features <= len(rows) else rows @ rows.T) / len(rows)
    values = np.linalg.eigvalsh(small)
    first, second, third = (float((np.maximum(values, 0.0) ** power).sum()) for power in (1, 2, 3))
    variance = 2 * second / freedom
    skewness = 8 * third / freedom**2 / max(variance, 1e-300) ** 1.5
    return squares / features, weighted_chi_square_tail(squares, first, variance, skewness)
