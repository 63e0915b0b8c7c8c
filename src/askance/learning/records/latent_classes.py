"""How hidden attributes depend on each other: a mixture of classes within which they do not.

p(x) = sum_z pi_z prod_blocks p_z(x_block) is learned from feature reports alone, by expectation-maximisation in which
the truth is summed out in closed form, so that only the class is missing. The number of classes grows from one, each
time by the split that helps most, as long as Akaike's criterion falls: every fit starts from the one before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.learning.records.latent_block import Part
from askance.learning.records.latent_reports import LatentReports

# 1,797 pictures of digits with 61 bits, ten times each and one bit in ten turned, reach it in 19 s, while the criterion
# still falls (what is found then says so). Without it the rule of rows ends the search at 62 classes, after 40 s, and
# .825 of labels are right; with four classes .800 are. With four times each, that rule ends the search at 26.
MOST_CLASSES = 40
_ROWS_FOR_EACH = 5  # of a parameter, below which a class more would be learned from next to nothing
_FIRST_STEPS = 4  # by which splits are compared
_MOST_STEPS, _LAST_STEPS = 60, 200  # of a fit that is compared, and of the one that is kept
_LOOK = 5  # steps between looks at whether a fit can still become the best
_ROUGH, _FINE = (
    0.3,
    0.02,
)  # log-likelihood that a fit may leave to gain: criteria that differ by less than one are equal
_PATIENCE = 2  # numbers of classes tried in vain before the search ends
_SHARP = 2.0  # of a split along a direction, in standard deviations: soft enough for both halves to see all reports
_PROPOSALS = 3  # classes that are split for a try


@dataclass(frozen=True, eq=False)
class LatentPrior:
    """Classes of records: their shares, and the laws of each block of attributes in every class."""

    shares: Floats
    parts: tuple[Part, ...]
    log_likelihood: float = float("nan")
    parameters: int = 0

    @property
    def classes(self) -> int:
        return len(self.shares)

    @property
    def criterion(self) -> float:
        """Akaike's: the smaller the better."""
        return 2 * (self.parameters - self.log_likelihood)

    def log_joint(self, reports: LatentReports) -> Floats:
        """log P(class, report), R x z."""
        with np.errstate(divide="ignore"):
            joint = np.tile(np.log(self.shares), (reports.rows, 1))
        for block, part in zip(reports.blocks, self.parts, strict=True):
            joint += block.log_density(part)
        return joint

    def responsibilities(self, reports: LatentReports) -> tuple[Floats, Floats]:
        """P(class | report), R x z, and the log-likelihood of each report."""
        joint = self.log_joint(reports)
        top = joint.max(axis=1, keepdims=True)
        np.exp(joint - top, out=joint)
        total = joint.sum(axis=1, keepdims=True)
        joint /= total
        return joint, (np.log(total) + top)[:, 0]


class Tried(NamedTuple):
    """A number of classes that was tried: log-likelihood of feature reports, parameters, and the criterion."""

    classes: int
    log_likelihood: float
    parameters: int
    criterion: float


@dataclass(frozen=True, eq=False)
class LearnedClasses:
    """The prior that was chosen, the one under which attributes are independent, and all that were tried.

    ``at_limit`` says that the criterion was still falling where the search had to end.
    """

    chosen: LatentPrior
    independent: LatentPrior
    tried: tuple[Tried, ...]
    at_limit: bool

    @property
    def dependence(self) -> float:
        """By how much the criterion is better than that of independent attributes."""
        return self.independent.criterion - self.chosen.criterion


def learn_classes(reports: LatentReports, classes: int | None = None) -> LearnedClasses:
    """Learn how attributes depend on each other, with a number of classes that is given or chosen."""
    whole = np.ones((reports.rows, 1)) * reports.counts[:, None]
    one = _climbed(reports, _maximised(reports, None, whole), _FINE)
    alone = _independent(reports, one)
    best, tried, idle = one, [_tried(one)], 0
    current, at_limit = one, False
    limit = MOST_CLASSES if classes is None else classes
    for number in _numbers(limit, every=classes is not None):
        if classes is None and _ROWS_FOR_EACH * one.parameters * number > reports.total:
            at_limit = idle == 0 and number > 1
            break
        current = _grown(reports, current, number, best.criterion if classes is None else None)
        tried.append(_tried(current))
        idle = 0 if current.criterion < best.criterion else idle + 1
        best = current if current.criterion < best.criterion or classes is not None else best
        if classes is None and idle >= _PATIENCE:
            break
    else:
        at_limit = classes is None and idle == 0 and current.classes >= limit
    best = _climbed(reports, best, _FINE, _LAST_STEPS)
    return LearnedClasses(best, alone, tuple(tried), at_limit)


def _numbers(limit: int, every: bool) -> Iterator[int]:
    """Numbers of classes to try: all of the first six, then a fifth more each time."""
    number = 1
    while number < limit:
        number = min(limit, number + 1 if every or number < 6 else number + max(number // 5, 1))
        yield number


def _tried(prior: LatentPrior) -> Tried:
    return Tried(prior.classes, prior.log_likelihood, prior.parameters, prior.criterion)


def _independent(reports: LatentReports, one: LatentPrior) -> LatentPrior:
    """One class without covariances: attributes that have nothing to do with each other."""
    parts = tuple(
        {**part, "covariance": part["covariance"] * np.eye(part["covariance"].shape[1])}
        if "covariance" in part
        else part
        for part in one.parts
    )
    return _known(reports, LatentPrior(one.shares, parts))


def _known(reports: LatentReports, prior: LatentPrior) -> LatentPrior:
    """The same with its log-likelihood and number of parameters."""
    _, each = prior.responsibilities(reports)
    return _counted(reports, prior, float(reports.counts @ each))


def _counted(reports: LatentReports, prior: LatentPrior, value: float) -> LatentPrior:
    size = sum(block.size(part) for block, part in zip(reports.blocks, prior.parts, strict=True))
    return LatentPrior(prior.shares, prior.parts, value, size + prior.classes - 1)


def _maximised(reports: LatentReports, before: LatentPrior | None, weights: Floats) -> LatentPrior:
    parts = [None] * len(reports.blocks) if before is None else list(before.parts)
    found = tuple(block.maximised(part, weights) for block, part in zip(reports.blocks, parts, strict=True))
    return LatentPrior(weights.sum(axis=0) / reports.total, found)


def _climbed(
    reports: LatentReports,
    prior: LatentPrior,
    tolerance: float,
    most: int = _MOST_STEPS,
    rival: float | None = None,
) -> LatentPrior:
    """Expectation-maximisation, until what is left to gain is small: gains fall like a geometric series.

    It ends early where the criterion of a rival will not be reached.
    """
    before, gain = -np.inf, np.inf
    value = before
    for step in range(most):
        share, each = prior.responsibilities(reports)
        value = float(reports.counts @ each)
        last, gain = gain, value - before
        before = value
        ratio = min(max(gain / last, 0.0), 0.99) if np.isfinite(last) and last > 0 else 0.99
        left = gain * ratio / (1 - ratio)
        if np.isfinite(gain) and left < tolerance:
            break
        looks = rival is not None and step >= _FIRST_STEPS and step % _LOOK == 0
        if looks and _counted(reports, prior, value + left).criterion > (rival or 0.0):
            break
        share *= reports.counts[:, None]
        prior = _maximised(reports, prior, share)
    return _counted(reports, prior, value)


def _grown(reports: LatentReports, prior: LatentPrior, number: int, rival: float | None) -> LatentPrior:
    """More classes, each time by the best of a few splits."""
    while prior.classes < number:
        share, _ = prior.responsibilities(reports)
        tries = [
            _climbed(reports, _maximised(reports, None, split * reports.counts[:, None]), 0.0, _FIRST_STEPS)
            for split in _splits(reports, prior, share)
        ]
        prior = max(tries, key=lambda one: one.log_likelihood)
    return _climbed(reports, prior, _ROUGH, rival=rival)


def _splits(reports: LatentReports, prior: LatentPrior, share: Floats) -> Iterator[Floats]:
    """Responsibilities with one class in two: along the direction in which it varies most, and by distance."""
    directions = []
    for z in np.argsort(-prior.shares)[: 2 * _PROPOSALS]:
        weights = share[:, z] * reports.counts
        about = np.hstack([block.residuals(part, z) for block, part in zip(reports.blocks, prior.parts, strict=True)])
        total = max(float(weights.sum()), 1e-300)
        about -= weights @ about / total
        products = (about * weights[:, None]).T @ about / total
        np.fill_diagonal(products, 0.0)
        if products.shape[0] == 1:
            products[0, 0] = 1.0
        values, vectors = np.linalg.eigh(products)
        directions.append((float(values[-1]) * np.sqrt(total), int(z), about @ vectors[:, -1], about))
    directions.sort(key=lambda one: -one[0])
    numbers = any("mean" in part for part in prior.parts)
    for _, z, along, about in directions[:_PROPOSALS]:
        yield _halved(share, z, along)
        if numbers:
            yield _halved(share, z, (about**2).sum(axis=1))


def _halved(share: Floats, z: int, along: Floats) -> Floats:
    weights = share[:, z]
    total = max(float(weights.sum()), 1e-300)
    middle = weights @ along / total
    spread = np.sqrt(max(float(weights @ (along - middle) ** 2) / total, 1e-300))
    upper = 1 / (1 + np.exp(np.clip(-_SHARP * (along - middle) / spread, -30, 30)))
    split: Floats = np.column_stack([share, weights * upper])
    split[:, z] = weights * (1 - upper)
    return split
