"""Can these bags tell class ratios, and does a new group look like a mixture of their classes?"""

import math
import warnings
from dataclasses import dataclass

import numpy as np

from askance.channels.alphabet import listed
from askance.errors import AskanceWarning
from askance.learning.bags.bag_diagnosis import BagDiagnosis
from askance.learning.ratios.groups import GroupEstimate
from askance.learning.ratios.mmd import MmdRatios
from askance.reports.number_format import number, p_value

SHIFTED = 0.01  # a p-value below which a group is said to be no mixture of the classes
UNLIKE = 0.001  # the same for training bags
UNEXPLAINED = 0.2  # and the part of their differences that must be at stake


@dataclass(frozen=True)
class RatioDiagnosis:
    """What limits an estimate of class ratios.

    Parameters
    ----------
    bags, rows, classes : int
        Of the training set.
    rank : int
        Of the proportions; as many as classes, or nothing tells the ratios.
    condition : float
        The proportions' largest singular value over their smallest: 1 for pure bags of equal number.
    bag_separation : float
        The smallest singular value of the bags' embeddings, minsing(A) in Theorem 1.
    class_separation : float
        The length of the shortest difference of class embeddings, chance taken off: 0 if two classes look alike.
    q : float
        Q(D), the paper's condition number of the training set: the proportions' largest singular value over
        ``bag_separation``.
    theorem_1 : float
        The paper's bound on the 2-norm of the error, with probability ``level``; for the new group if there is one, and
        for an infinite one else. More than sqrt(2) says nothing. Noise of the proportions adds Lemma 4's. NaN for a
        kernel with k(x, x) above 1, for which it does not hold.
    lemma_4 : float
        The paper's bound on the Frobenius norm of the proportions' noise, with probability ``level``; NaN without.
    level : float
    bag_misfit, bag_misfit_p : float
        The training bags' distances from the mixtures that their proportions call for: over what chance makes of them,
        and the probability of more. NaN if there are no more bags than classes.
    unexplained : float
        The part of the bags' differences that their proportions do not explain.
    group_rows : int, optional
    shift, shift_p : float
        The new group's distance from all mixtures of the classes, and the probability of more; NaN without a group.
    by_means : BagDiagnosis, optional
        What is asked of bags whatever is learned from them: are they informative, and alike? Models of older versions
        have none.
    """

    bags: int
    rows: int
    classes: int
    rank: int
    condition: float
    bag_separation: float
    class_separation: float
    q: float
    theorem_1: float
    lemma_4: float
    level: float
    bag_misfit: float
    bag_misfit_p: float
    unexplained: float
    group_rows: int | None = None
    shift: float = math.nan
    shift_p: float = math.nan
    by_means: BagDiagnosis | None = None

    @property
    def bags_differ_in_features(self) -> bool:
        """Whether the training bags differ in more than their proportions."""
        by_kernel = self.bag_misfit_p < UNLIKE and self.unexplained > UNEXPLAINED
        return by_kernel or (self.by_means is not None and self.by_means.alike is False)

    @property
    def shifted(self) -> bool:
        """Whether P(x | y) has visibly shifted in the new group."""
        return self.shift_p < SHIFTED

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What it says beyond the size of the training set, as names and texts."""
        chance = f"with probability {100 * self.level:g}%"
        found = [
            *(() if self.by_means is None else self.by_means.facts),
            ("proportions", f"rank {self.rank}, condition {number(self.condition, 2)}"),
            (
                "embeddings",
                f"smallest singular value {number(self.bag_separation, 4)}, classes at least "
                f"{number(self.class_separation, 4)} apart",
            ),
            (f"Q(D) {number(self.q, 1)}; Theorem 1", self._theorem_1(chance)),
        ]
        # Two tables of proportions are never farther apart than this: a larger bound says nothing.
        if self.lemma_4 < math.sqrt(2 * self.bags):
            found.append(("Lemma 4", f"noise of the proportions at most {number(self.lemma_4, 3)} {chance}"))
        if not math.isnan(self.bag_misfit_p):
            found.append(
                (
                    "bags as mixtures of the classes",
                    f"{number(self.bag_misfit, 2)} times the distance of chance, p {p_value(self.bag_misfit_p)}; "
                    f"{number(100 * self.unexplained, 0)}% of their differences unexplained",
                )
            )
        if self.group_rows is not None:
            verdict = "P(x | y) has shifted" if self.shifted else "no sign of a shift of P(x | y)"
            found.append(
                (
                    f"the new group of {self.group_rows} rows",
                    f"{number(self.shift, 2)} times the distance of chance, p {p_value(self.shift_p)}: {verdict}",
                )
            )
        return tuple(found)

    def _theorem_1(self, chance: str) -> str:
        """The paper's bound where it says something: no two vectors of ratios are sqrt(2) apart, or farther."""
        if math.isnan(self.theorem_1):
            return "not for kernels with k(x, x) above 1"
        if self.theorem_1 >= math.sqrt(2):
            return "says nothing about bags of this number and size; the intervals do"
        return f"error at most {number(self.theorem_1, 3)} {chance}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user must know of the training bags."""
        if not self.bags_differ_in_features:
            return ()
        by_means = f"; {self.by_means.misfit:.1f} times the distance of chance by means" if self.by_means else ""
        return (
            f"The bags differ in more than their proportions (p {self.bag_misfit_p:.2g}, "
            f"{100 * self.unexplained:.0f}% of their differences{by_means}): how the rows of a class look seems to "
            "depend on the bag, and so may the ratios of new groups. Intervals are wider for that.",
        )

    def __str__(self) -> str:
        size = f"{self.bags} bags of {self.rows} rows, {self.classes} classes"
        return "\n".join([size, *(f"{name}: {text}" for name, text in self.facts)])


def diagnose(
    model: MmdRatios, level: float, group: np.ndarray | None = None, by_means: BagDiagnosis | None = None
) -> RatioDiagnosis:
    """Put together what a kernel model knows of its bags, and of a new group."""
    bags = model.bags
    singular = np.linalg.svd(bags.proportions, compute_uv=False)
    least = math.sqrt(max(float(np.linalg.eigvalsh(bags.gram)[0]), 0.0))
    q = float(singular[0]) / least if least > 0 else math.inf
    estimate = None if group is None else model.estimate(group)
    misfit = model.bag_misfit()
    return RatioDiagnosis(
        bags=len(bags.sizes),
        rows=int(bags.sizes.sum()),
        classes=len(bags.mixing),
        rank=int((singular > 1e-8 * singular[0]).sum()),
        condition=float(singular[0] / max(singular[-1], 1e-300)),
        bag_separation=least,
        class_separation=model.class_separation(),
        q=q,
        theorem_1=_bound(model, least, q, None if group is None else len(group), 1 - level),
        lemma_4=lemma_4(bags.noise, 1 - level),
        level=level,
        bag_misfit=misfit.ratio,
        bag_misfit_p=misfit.p,
        unexplained=model.unexplained(),
        group_rows=None if group is None else len(group),
        shift=math.nan if estimate is None else estimate.misfit,
        shift_p=math.nan if estimate is None else estimate.misfit_p,
        by_means=by_means,
    )


def _bound(model: MmdRatios, separation: float, q: float, group: int | None, chance: float) -> float:
    """Theorem 1 where it holds, with the noise of the proportions as in the paper's section 3.1."""
    bags = model.bags
    if not model.normalised():
        return math.nan
    if not bags.noise.any():
        return theorem_1(bags.sizes, separation, q, group, chance)
    if separation <= 0:
        return math.inf
    # Each of the two bounds fails with half the probability.
    return theorem_1(bags.sizes, separation, q, group, chance / 2) + lemma_4(bags.noise, chance / 2) / separation


def theorem_1(sizes: np.ndarray, separation: float, q: float, group: int | None, chance: float) -> float:
    """The paper's bound on the error of the ratios, 2-norm, which fails with probability ``chance`` at most.

    For kernels with k(x, x) = 1. The embeddings' smallest singular value is that of the sample, not of the population.

    References
    ----------
    Iyer, Nath & Sarawagi (2016), Theorem 1.
    """
    if separation <= 0:
        return math.inf
    log = math.log(2 * (2 * len(sizes) + 1) / chance)
    error = (2 + math.sqrt(log / 2)) / np.sqrt(np.asarray(sizes, dtype=float))
    own = 0.0 if group is None else q * (2 + math.sqrt(log / 2)) / math.sqrt(group)
    return float(np.sqrt((error**2).sum())) / separation * (1 + q) + own


def lemma_4(noise: np.ndarray, chance: float) -> float:
    """The paper's bound on the Frobenius norm of the proportions' noise; it holds for every law with these variances.

    References
    ----------
    Iyer, Nath & Sarawagi (2016), Lemma 4, with the variances themselves in place of a Dirichlet law's.
    """
    variances = np.diagonal(noise, axis1=1, axis2=2)
    if not variances.any():
        return math.nan
    return float(variances.size / math.sqrt(chance) * math.sqrt(variances.max()))


def warn_of_shifts(groups: list[GroupEstimate]) -> None:
    """Warn of groups that are no mixture of the classes that the bags show."""
    least = min(group.estimate.misfit_p for group in groups)
    odd = [group.name for group in groups if group.estimate.misfit_p < SHIFTED / len(groups)]
    if odd:
        which = "The group" if odd == [None] else f"{len(odd)} of {len(groups)} groups ({listed(odd)})"
        warnings.warn(
            f"{which} is no mixture of the classes as the training bags show them (p {p_value(least)}): P(x | y) "
            "has shifted, and the ratios may be off by more than their intervals say.",
            AskanceWarning,
            stacklevel=4,
        )
