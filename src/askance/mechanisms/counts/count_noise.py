"""Counts plus noise of sum zero: what all such mechanisms have in common."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

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
    def noise(self, bags: int, source: BitSource) -> NDArray[np.int64]:
        """Draw whole numbers for the counts of so many bags, bags x K."""

    @property
    def distortion(self) -> float:
        """The expected sum of the absolute errors of all counts."""
        return self.classes * self.error.mean_size

    def draw(self, counts: Any, source: BitSource) -> Floats:
        """Draw noisy counts that sum to the public totals: of one bag, or bags x K.

        Whole numbers get whole noise; what is left of its sum, which is public, is taken off all classes alike.
        """
        true = np.asarray(counts, dtype=np.int64)
        noise = self.noise(true.size // self.classes, source)
        noisy = true.reshape(noise.shape) + noise
        beyond = noise.sum(axis=1, keepdims=True)
        # Doubles, of numbers that the noise is in already; where its sum is zero they are whole.
        return np.asarray(noisy - beyond / self.classes, dtype=float).reshape(true.shape)

    def covariance(self, raw: Floats) -> Floats:
        """Return the covariance of their errors, which the counts do not change."""
        apart = (np.eye(self.classes) - 1 / self.classes) * self.classes / (self.classes - 1)
        return np.asarray(self.error.variance * apart)
