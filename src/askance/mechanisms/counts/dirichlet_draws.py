"""Draws of a Dirichlet law that need not be exact: about counts that are private already, or without any guarantee."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from askance.arrays import Floats
from askance.entropy.bits import BitSource
from askance.entropy.random_bits import RandomIntegers
from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.independent_counts import IndependentLaplace
from askance.mechanisms.counts.scaled_dirichlet import NAME, WHY_NOT, Search, paper_scale

_LEAST = 0.5  # a noisy count below it is taken for it: parameters of a Dirichlet law are positive


@dataclass(frozen=True)
class LaplacePrior:
    """Proportions drawn from a Dirichlet law whose parameters are noisy counts (Machanavajjhala et al., 2008)."""

    scale: Fraction
    total: int
    classes: int

    name: ClassVar[str] = "laplace-prior"
    how_known: ClassVar[str] = (
        "whole counts plus Laplace noise for each, drawn as a real number and rounded; proportions drawn from the "
        "noisy counts tell no more than these"
    )

    @classmethod
    def calibrated(cls, total: int, classes: int, budget: Budget) -> "LaplacePrior":
        """Return the mechanism whose level is epsilon."""
        return cls(IndependentLaplace.calibrated(classes, budget).scale, total, classes)

    @property
    def _before(self) -> IndependentLaplace:
        return IndependentLaplace(self.scale, self.classes)

    @property
    def distortion(self) -> float:
        """The expected sum of absolute errors at equal shares, as if they were normal."""
        variance = float(self.covariance(np.full(self.classes, self.total / self.classes))[0, 0])
        return self.classes * math.sqrt(2 / math.pi * variance)

    def draw(self, counts: Sequence[int], source: BitSource) -> Floats:
        """Draw counts that sum to the public total."""
        noisy = self._before.draw(counts, source)
        return self.total * _generator(source).dirichlet(np.maximum(noisy, _LEAST))

    def covariance(self, raw: Floats) -> Floats:
        """Return the covariance of their errors, by the shares that they are themselves."""
        return self._before.covariance(raw) + _dirichlet_covariance(raw, self.total)


@dataclass(frozen=True)
class PaperDirichlet:
    """The mechanism of [CR] section 3, without a guarantee."""

    sigma: Fraction
    total: int
    classes: int

    name: ClassVar[str] = NAME
    how_known: ClassVar[str] = WHY_NOT

    @classmethod
    def of(cls, counts: Sequence[int], budget: Budget, search: Search) -> "PaperDirichlet":
        """Return the mechanism for these counts, which it looks at."""
        sigma = paper_scale(counts, float(budget.epsilon), float(budget.delta), search)
        return cls(Fraction(sigma).limit_denominator(10**9), sum(counts), len(counts))

    @property
    def distortion(self) -> float:
        """Unknown: sigma is private, and so is what follows from it."""
        return math.nan

    def draw(self, counts: Sequence[int], source: BitSource) -> Floats:
        """Draw counts that sum to the public total."""
        return self.total * _generator(source).dirichlet(float(self.sigma) * np.array(counts, dtype=float))

    def covariance(self, raw: Floats) -> Floats:
        """Return the covariance of their errors, by the shares that they are themselves."""
        return _dirichlet_covariance(raw, float(self.sigma) * self.total)


def _dirichlet_covariance(raw: Floats, size: float) -> Floats:
    """The covariance of total times a draw of a Dirichlet law with so many pseudo-people."""
    positive = np.maximum(raw, _LEAST)
    shares = positive / positive.sum()
    return np.asarray(raw.sum() ** 2 / (size + 1) * (np.diag(shares) - np.outer(shares, shares)))


def _generator(source: BitSource) -> np.random.Generator:
    return np.random.default_rng(RandomIntegers(source).bits(256))
