"""Counts with independent noise for each, as published: Laplace or Gaussian, moved to the public total.

Real noise is rounded to whole numbers after it is in, which cannot raise its level. One label that changes moves two
counts by one: 2 in the 1-norm, sqrt(2) in the 2-norm. The noisy counts do not sum to the public total; all are moved
by the same to do so, which takes 1/K of the noise away.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from askance.arrays import Floats
from askance.entropy.bits import BitSource
from askance.entropy.rounded_arrays import Whole, rounded_gaussian_array, rounded_laplace_array
from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.count_error import FINE, TAIL, CountError, centred_error
from askance.mechanisms.counts.count_noise import CountNoise
from askance.mechanisms.total_noise import Sensitivity, TotalGaussian


def moved_label(classes: int) -> Sensitivity:
    """Return how far one label moves the counts of all classes."""
    return Sensitivity(one=2, squared_two=2, count=classes)


@dataclass(frozen=True)
class IndependentLaplace(CountNoise):
    """Real Laplace noise for each count, rounded."""

    scale: Fraction
    classes: int

    name: ClassVar[str] = "laplace"
    how_known: ClassVar[str] = (
        "whole counts plus Laplace noise for each, drawn as a real number and rounded: one label moves two counts by "
        "one, and rounding cannot raise the level"
    )

    @classmethod
    def calibrated(cls, classes: int, budget: Budget) -> Self:
        """Return the noise whose level is epsilon."""
        return cls(moved_label(classes).one / budget.epsilon, classes)

    @cached_property
    def error(self) -> CountError:
        scale = float(self.scale)
        unit = max(scale / _coarse(self.classes), 1.0)
        reach = int(TAIL * scale / unit) + 1
        inner = np.exp(-(np.arange(1, reach + 1) - 0.5) * unit / scale) * -np.expm1(-unit / scale) / 2
        return _stretched(_symmetric(-np.expm1(-unit / (2 * scale)), inner), self.classes, unit)

    def noise(self, bags: int, source: BitSource) -> Whole:
        return rounded_laplace_array(self.scale, bags * self.classes, source).reshape(bags, self.classes)


@dataclass(frozen=True)
class IndependentGaussian(CountNoise):
    """Real Gaussian noise for each count, rounded."""

    deviation: Fraction
    classes: int

    name: ClassVar[str] = "gaussian"
    how_known: ClassVar[str] = (
        "whole counts plus normal noise for each, drawn as a real number and rounded: rounding cannot raise the level "
        "of the normal law, which is that of Balle and Wang (2018)"
    )

    @classmethod
    def calibrated(cls, classes: int, budget: Budget) -> Self:
        """Return the noise of least variance that is (epsilon, delta)-private."""
        return cls(TotalGaussian.calibrated(moved_label(classes), budget).deviation, classes)

    @cached_property
    def error(self) -> CountError:
        from scipy.special import ndtr

        unit = max(float(self.deviation) / _coarse(self.classes), 1.0)
        sigma = float(self.deviation) / unit
        steps = np.arange(1, int((2 * TAIL) ** 0.5 * sigma) + 2)
        inner = ndtr(-(steps - 0.5) / sigma) - ndtr(-(steps + 0.5) / sigma)
        return _stretched(_symmetric(1 - 2 * ndtr(-0.5 / sigma), inner), self.classes, unit)

    def noise(self, bags: int, source: BitSource) -> Whole:
        return rounded_gaussian_array(self.deviation, bags * self.classes, source).reshape(bags, self.classes)


def _coarse(classes: int) -> float:
    return max(FINE / classes, 20.0)  # errors come in steps of 1 / classes: the grid is finer by itself


def _symmetric(centre: float, side: Floats) -> Floats:
    return np.concatenate([side[::-1], [centre], side])


def _stretched(weights: Floats, classes: int, unit: float) -> CountError:
    law = centred_error(weights, classes)
    return CountError(law.weights, law.unit * unit)
