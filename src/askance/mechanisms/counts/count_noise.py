"""Counts plus noise of sum zero: what all such mechanisms have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from askance.arrays import Floats
from askance.entropy.bits import BitSource
from askance.mechanisms.counts.count_error import CountError


class CountNoise(ABC):
    """Noise for the counts of a bag: all classes alike, and together nothing."""

    name: ClassVar[str]
    how_known: ClassVar[str]
    classes: int

    @property
    @abstractmethod
    def error(self) -> CountError:
        """The law of the error of one count."""

    @abstractmethod
    def noise(self, source: BitSource) -> Sequence[int | Fraction]:
        """Draw one vector of sum zero."""

    @property
    def distortion(self) -> float:
        """The expected sum of the absolute errors of all counts."""
        return self.classes * self.error.mean_size

    def draw(self, counts: Sequence[int], source: BitSource) -> Floats:
        """Draw noisy counts that sum to the public total."""
        # One rounding, of a number that the noise is in already.
        return np.array([float(Fraction(count) + z) for count, z in zip(counts, self.noise(source), strict=True)])

    def covariance(self, raw: Floats) -> Floats:
        """Return the covariance of their errors, which the counts do not change."""
        apart = (np.eye(self.classes) - 1 / self.classes) * self.classes / (self.classes - 1)
        return np.asarray(self.error.variance * apart)
