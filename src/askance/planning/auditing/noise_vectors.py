"""The laws of noise vectors, turned into uniform numbers one after the other (Rosenblatt, 1952).

The distribution function of the first number, then that of the second given the first, and so on: if the vector has its
law, these are independent and uniform, whatever the law. So every mechanism is tested by the same exact tests.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats, Integers

_TAIL = 46.0  # weights below exp(-46) of the largest are 10^-20: none is ever drawn
_MOST_WEIGHTS = 1 << 16  # whole numbers on either side of zero that a law is summed over
_NODES = 2_000  # of a mean over the radius of a vector: off by less than 10^-4, far below what a thousand draws show


class Uniforms(NamedTuple):
    """Numbers that are uniform if noise has its law, n x columns, and 1 minus them."""

    below: Floats
    above: Floats
    names: list[str]

    @classmethod
    def of(cls, columns: list[tuple[str, Floats, Floats]]) -> "Uniforms":
        """Put named columns side by side."""
        below, above = (np.column_stack([column[side] for column in columns]) for side in (1, 2))
        return cls(below, above, [column[0] for column in columns])


class VectorLaw(ABC):
    """The law of one noise vector."""

    @abstractmethod
    def uniforms(self, noise: Floats, rng: np.random.Generator) -> list[Uniforms]:
        """Turn noise vectors, n x d, into uniform numbers, in one or several ways."""


@dataclass(frozen=True)
class LaplaceVector(VectorLaw):
    """Independent Laplace numbers of a scale."""

    scale: float

    def uniforms(self, noise: Floats, rng: np.random.Generator) -> list[Uniforms]:
        half = 0.5 * np.exp(-np.abs(noise) / self.scale)
        return [_columns("value", np.where(noise < 0, half, 1 - half), np.where(noise < 0, 1 - half, half))]


@dataclass(frozen=True)
class LaplaceDifferences(VectorLaw):
    """Differences of two independent Laplace numbers of a scale."""

    scale: float

    def uniforms(self, noise: Floats, rng: np.random.Generator) -> list[Uniforms]:
        size = np.abs(noise) / self.scale
        tail = (2 + size) / 4 * np.exp(-size)
        return [_columns("difference", np.where(noise < 0, tail, 1 - tail), np.where(noise < 0, 1 - tail, tail))]


@dataclass(frozen=True, eq=False)
class NormalVector(VectorLaw):
    """Independent normal numbers; looked at along the axes, and along a direction that one label moves them in."""

    deviation: float
    frames: tuple[Floats, ...]

    def uniforms(self, noise: Floats, rng: np.random.Generator) -> list[Uniforms]:
        from scipy.special import ndtr

        turned = [noise @ frame / self.deviation for frame in self.frames]
        return [_columns(f"direction {n + 1}.", ndtr(one), ndtr(-one)) for n, one in enumerate(turned)]


@dataclass(frozen=True, eq=False)
class RadialVector(VectorLaw):
    """A uniform direction and a Gamma radius.

    Parameters
    ----------
    scale : float
        The density is proportional to exp(-length / scale), in ``dimension`` dimensions.
    dimension : int
    hidden : int
        Of these, how many were taken away before anybody sees the vector: a projection on the others is seen.
    frames : tuple of arrays
        Orthogonal axes along which directions are looked at.
    """

    scale: float
    dimension: int
    hidden: int
    frames: tuple[Floats, ...]

    @cached_property
    def _radii(self) -> Floats:
        from scipy.special import gammaincinv

        return np.asarray(self.scale * gammaincinv(self.dimension, (np.arange(_NODES) + 0.5) / _NODES))

    def _radius(self, length: Floats) -> tuple[Floats, Floats]:
        from scipy.special import betainc, betaincc, gammainc, gammaincc

        if not self.hidden:
            return gammainc(self.dimension, length / self.scale), gammaincc(self.dimension, length / self.scale)
        seen = (self.dimension - self.hidden) / 2
        shares = [np.minimum((one / self._radii) ** 2, 1.0) for one in length]
        halves = (seen, self.hidden / 2)
        return (
            np.array([betainc(*halves, share).mean() for share in shares]),
            np.array([betaincc(*halves, share).mean() for share in shares]),
        )

    def uniforms(self, noise: Floats, rng: np.random.Generator) -> list[Uniforms]:
        from scipy.special import betainc

        radius = self._radius(np.linalg.norm(noise, axis=1))
        found = []
        for n, frame in enumerate(self.frames):
            turned = noise @ frame
            left = np.sqrt(np.cumsum(turned[:, ::-1] ** 2, axis=1))[:, ::-1]  # the length of what is not yet seen
            columns = [("the radius", *radius)]
            for j in range(turned.shape[1]):
                cosine = np.divide(turned[:, j], left[:, j], out=np.zeros(len(noise)), where=left[:, j] > 0)
                rest = turned.shape[1] - j - 1
                if rest:
                    sides = [betainc(rest / 2, rest / 2, (1 + side * cosine) / 2) for side in (1, -1)]
                else:  # of the last number only the sign is left
                    place = rng.random(len(noise)) / 2
                    sides = [np.where(side * cosine > 0, 0.5 + place, 0.5 - place) for side in (1, -1)]
                    sides[1] = 1 - sides[0]
                columns.append((f"direction {n + 1}.{j + 1}", sides[0], sides[1]))
            found.append(Uniforms.of(columns))
        return found


@dataclass(frozen=True, eq=False)
class BalancedVector(VectorLaw):
    """Independent whole numbers, given that their sum is zero.

    Parameters
    ----------
    weights : array, 2 reach + 1
        Of the numbers -reach .. reach, up to a common factor.
    count : int
    """

    weights: Floats
    count: int

    @cached_property
    def _sums(self) -> list[Floats]:
        """The law of the sum of 1, 2, ... such numbers, each 2 reach + 1 long and more."""
        from scipy.signal import fftconvolve

        one = self.weights / self.weights.sum()
        laws = [np.ones(1), one]
        while len(laws) < self.count:
            laws.append(np.maximum(fftconvolve(laws[-1], one), 0.0))
        return laws

    def uniforms(self, noise: Floats, rng: np.random.Generator) -> list[Uniforms]:
        whole = np.rint(noise).astype(np.int64)
        reach = len(self.weights) // 2
        values = np.arange(-reach, reach + 1)
        missing = np.zeros(len(whole), np.int64)  # what the numbers from here on sum to
        columns = []
        for j in range(self.count - 1):
            rest = self._sums[self.count - 1 - j]
            place = missing[:, None] - values[None, :] + len(rest) // 2
            inside = (place >= 0) & (place < len(rest))
            law = self.weights * np.where(inside, rest[np.clip(place, 0, len(rest) - 1)], 0.0)
            columns.append((f"count {j + 1}", *whole_uniform(law, whole[:, j] + reach, rng)))
            missing = missing - whole[:, j]
        return [Uniforms.of(columns)]


@dataclass(frozen=True, eq=False)
class CentredVector(VectorLaw):
    """Independent whole numbers less their mean: only their differences are seen."""

    weights: Floats
    count: int

    def uniforms(self, noise: Floats, rng: np.random.Generator) -> list[Uniforms]:
        law = self.weights / self.weights.sum()
        reach = len(law) // 2
        below = np.concatenate([[0.0], np.cumsum(law)])  # P(number < v), v = -reach .. reach + 1
        # What the first number may be, given the differences that were seen so far: the common part.
        common = np.arange(-reach, reach + 1)
        posterior = np.broadcast_to(law, (len(noise), len(law)))
        columns = []
        for j in range(1, self.count):
            difference = np.rint(noise[:, j] - noise[:, 0]).astype(np.int64)[:, None]
            place = np.clip(difference + common + reach, -1, 2 * reach + 1)
            low, high = below[np.clip(place, 0, 2 * reach + 1)], below[np.clip(place + 1, 0, 2 * reach + 1)]
            least, most = ((posterior * end).sum(axis=1) for end in (low, high))
            other = ((posterior * (1 - high)).sum(axis=1), (posterior * (1 - low)).sum(axis=1))
            share = rng.random(len(noise))
            columns.append(
                (
                    f"count {j + 1} less count 1",
                    least + share * (most - least),
                    other[1] - share * (other[1] - other[0]),
                )
            )
            likelihood = np.where((place >= 0) & (place <= 2 * reach), law[np.clip(place, 0, 2 * reach)], 0.0)
            posterior = posterior * likelihood
            posterior = posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
        return [Uniforms.of(columns)]


def whole_uniform(law: Floats, place: Integers, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return uniform numbers for whole ones: any number of the cell that one has among all.

    Parameters
    ----------
    law : array, n x values, or values
        Of each number, up to a factor.
    place : array, n
        Which value each has.
    """
    table = np.broadcast_to(law, (len(place), law.shape[-1]))
    at = np.clip(place, 0, table.shape[1] - 1)[:, None]
    upto = np.cumsum(table, axis=1)
    beyond = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]
    total = np.maximum(upto[:, -1], 1e-300)
    mine = np.take_along_axis(table, at, axis=1)[:, 0] * ((place >= 0) & (place < table.shape[1]))
    share = rng.random(len(place))
    before = np.take_along_axis(upto, at, axis=1)[:, 0] - share * mine
    after = np.take_along_axis(beyond, at, axis=1)[:, 0] - (1 - share) * mine
    return before / total, after / total


def laplace_weights(scale: float, rounded: bool) -> Floats | None:
    """Return the weights of whole Laplace numbers, or of real ones that were rounded; None if there are too many."""
    reach = math.ceil(_TAIL * scale) + 1
    if reach > _MOST_WEIGHTS:
        return None
    size = np.abs(np.arange(-reach, reach + 1))
    side = np.exp(-(size - 0.5) / scale) * -np.expm1(-1 / scale) / 2 if rounded else np.exp(-size / scale)
    return np.where(size == 0, -np.expm1(-0.5 / scale) if rounded else 1.0, side)


def normal_weights(deviation: float, rounded: bool) -> Floats | None:
    """Return the weights of whole normal numbers, or of real ones that were rounded; None if there are too many."""
    from scipy.special import ndtr

    reach = math.ceil(math.sqrt(2 * _TAIL) * deviation) + 1
    if reach > _MOST_WEIGHTS:
        return None
    size = np.abs(np.arange(-reach, reach + 1))
    if not rounded:
        return np.asarray(np.exp(-0.5 * (size / deviation) ** 2))
    return np.asarray(ndtr(-(size - 0.5) / deviation) - ndtr(-(size + 0.5) / deviation))


def frames(width: int, direction: NDArray[np.float64] | None) -> tuple[Floats, ...]:
    """Return orthogonal axes: those of the values, and others of which the first points in a direction."""
    axes = np.eye(width)
    if direction is None or width < 2 or not np.any(direction):
        return (axes,)
    turned, _ = np.linalg.qr(np.column_stack([direction, axes]))
    return axes, np.asarray(turned[:, :width])


def _columns(name: str, below: Floats, above: Floats) -> Uniforms:
    return Uniforms(below, above, [f"{name} {j + 1}" for j in range(below.shape[1])])
