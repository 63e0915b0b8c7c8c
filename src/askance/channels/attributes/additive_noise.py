"""Attributes that are numbers, with normal or Laplace noise added to each.

Both kernels have a Fourier transform that is positive everywhere, so that no information about the distribution of
the truth is lost. Privacy is another matter: two truths may be arbitrarily far apart, so that noise of any size gives
no level at all, unless public bounds say how far. With bounds, numbers are clipped to them and rounded to a fine grid
between them, noise is added in whole steps of that grid, and both are drawn without floating point
(``entropy.rounded_arrays``): the level is that of the noise really drawn.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.attributes.noise_law import DELTA, GaussianCoordinate, LaplaceCoordinate, NoiseCoordinate, Pair
from askance.channels.attributes.per_attribute import agreed_width, one_or_each, span
from askance.channels.given_numbers import as_number, shown
from askance.channels.layouts import Layout, Numbers
from askance.channels.rows.bounds import checked_bounds
from askance.channels.rows.vectors import checked_dim
from askance.errors import InvalidInput

# Of the distance between bounds. Less hides nothing, and its level would be lost in rounding; of more, the noise in
# steps of the grid would no longer be a whole number that a computer adds.
_LEAST, _MOST = 1e-6, 1e9


class AdditiveNoise(FeatureChannel):
    """What normal and Laplace noise share; a subclass is a frozen dataclass of its parameters."""

    bounds: Any
    _size_name: ClassVar[str]
    _noise: ClassVar[str]

    def _check(self) -> None:
        name = self._size_name
        size = one_or_each(getattr(self, name), name, "a number that is not negative")
        for one in size if isinstance(size, tuple) else (size,):
            if not 0 <= one < math.inf:
                raise InvalidInput(f"{name}={one!r}", "a finite number that is not negative")
        bounds = _checked_pairs(self.bounds)
        given = None if self.dim is None else checked_dim(self.dim)
        each = len(bounds) if bounds is not None and isinstance(bounds[0], tuple) else None
        dim = agreed_width(given, **{name: len(size) if isinstance(size, tuple) else None}, bounds=each)
        vars(self).update({name: size, "bounds": bounds, "dim": dim})
        for one, pair in dict.fromkeys(self._pairs(dim or 1)):
            _refuse_out_of_proportion(name, one, pair)

    def _pairs(self, dim: int) -> list[tuple[float, Pair | None]]:
        size, bounds = getattr(self, self._size_name), self.bounds
        sizes = size if isinstance(size, tuple) else (size,) * dim
        pairs = bounds if bounds is not None and isinstance(bounds[0], tuple) else (bounds,) * dim
        return list(zip(sizes, pairs, strict=True))

    @abstractmethod
    def _law(self, size: float, bounds: Pair | None) -> NoiseCoordinate:
        """The law of one attribute."""

    def _laws(self, dim: int) -> list[NoiseCoordinate]:
        made: dict[tuple[float, Pair | None], NoiseCoordinate] = {}
        return [made.setdefault(pair, made.get(pair) or self._law(*pair)) for pair in self._pairs(dim)]

    @cached_property
    def layout(self) -> Layout:
        return Numbers(self.width)

    def describe(self) -> str:
        pairs = self._pairs(self.dim or 1)
        whom = "Each attribute" if self.dim is None else f"Each of {self.dim} attributes"
        sentence = f"{whom} is reported with {self._noise} {span([size for size, _ in pairs])} added to it"
        if self.bounds is None:
            return (
                f"{sentence}. It has no public bounds, so that no noise could promise anything: there is no guarantee."
            )
        return f"{sentence}, after it was clipped to public bounds."


@dataclass(frozen=True, eq=False, repr=False)
class GaussianNoise(AdditiveNoise):
    """Add normal noise to each attribute.

    Parameters
    ----------
    sigma : float, or one for each attribute
        The standard deviation. 0 hides nothing.
    dim : int, optional
        How many attributes a record has, where that does not follow from the others; the data may say it later.
    bounds : pair of float, or one for each attribute, optional
        Public bounds: known to everybody, and not computed from the data. Numbers outside are clipped. Without them
        there is no guarantee.
    delta : float
        The probability for which, with bounds, epsilon is stated.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import GaussianNoise
    >>> print(GaussianNoise(sigma=0.5, dim=2).guarantee)
    no privacy guarantee (epsilon is infinite) for one row of 2 attributes
    >>> print(GaussianNoise(sigma=2.0, dim=1, bounds=(0, 1)).guarantee)
    epsilon 2.254, delta 1e-06, protects one attribute (any two values within the public bounds)
    >>> GaussianNoise(0.5).simulate(np.zeros((1, 2)), np.random.default_rng(0)).round(2)
    array([[ 0.06, -0.07]])
    """

    sigma: Any
    dim: int | None = None
    bounds: Any = None
    delta: float = DELTA

    kind: ClassVar[str] = "gaussian-noise"
    _size_name: ClassVar[str] = "sigma"
    _noise: ClassVar[str] = "normal noise of standard deviation"

    def __post_init__(self) -> None:
        self._check()
        wanted = "a small probability above 0, such as 1e-6"
        delta = as_number(self.delta, "delta", wanted)
        if not 0 < delta < 1:
            raise InvalidInput(f"delta={shown(self.delta)}", wanted)
        object.__setattr__(self, "delta", delta)

    def parameters(self) -> dict[str, Any]:
        given = super().parameters()
        return given if self.bounds is not None else {name: given[name] for name in given if name != "delta"}

    def _law(self, size: float, bounds: Pair | None) -> GaussianCoordinate:
        return GaussianCoordinate(size, bounds, float(self.delta))


@dataclass(frozen=True, eq=False, repr=False)
class LaplaceNoise(AdditiveNoise):
    """Add Laplace noise to each attribute.

    Parameters
    ----------
    scale : float, or one for each attribute
        The scale: the standard deviation is sqrt(2) times as large. 0 hides nothing.
    dim : int, optional
        How many attributes a record has, where that does not follow from the others; the data may say it later.
    bounds : pair of float, or one for each attribute, optional
        Public bounds: known to everybody, and not computed from the data. Numbers outside are clipped. Without them
        there is no guarantee; with them, the level of an attribute is exactly (upper - lower) / scale.

    Examples
    --------
    >>> from askance import LaplaceNoise
    >>> print(LaplaceNoise(scale=0.5, dim=3, bounds=(0, 1)).guarantee)
    epsilon 6, protects one row of 3 attributes, each alone 2 (any two rows within the public bounds)
    """

    scale: Any
    dim: int | None = None
    bounds: Any = None

    kind: ClassVar[str] = "laplace-noise"
    _size_name: ClassVar[str] = "scale"
    _noise: ClassVar[str] = "Laplace noise of scale"

    def __post_init__(self) -> None:
        self._check()

    def _law(self, size: float, bounds: Pair | None) -> LaplaceCoordinate:
        return LaplaceCoordinate(size, bounds)


def _refuse_out_of_proportion(name: str, size: float, bounds: Pair | None) -> None:
    """Refuse noise that no number of digits could add to numbers between such bounds."""
    if bounds is None or size == 0:
        return
    share = size / (bounds[1] - bounds[0])
    if not _LEAST <= share <= _MOST:
        raise InvalidInput(
            f"{name}={size:g} for numbers between {bounds[0]:g} and {bounds[1]:g}",
            f"noise from {_LEAST:g} to {_MOST:g} times as large as the distance of the bounds",
            f"{name}=0 says that nothing is hidden; such small noise hides nothing either." if share < 1 else "",
        )


def _checked_pairs(bounds: Any) -> Any:
    """Return None, one pair of bounds, or a tuple of pairs."""
    if bounds is None:
        return None
    try:
        table = np.array(bounds, dtype=float)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.shape == (2,):
        return checked_bounds(*table.tolist())
    if table.ndim == 2 and table.shape[1] == 2 and len(table):
        return tuple(checked_bounds(*pair) for pair in table.tolist())
    raise InvalidInput(f"bounds={bounds!r}", "(lower, upper), or such a pair for each attribute")
