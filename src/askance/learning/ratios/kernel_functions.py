"""Kernels as feature maps: exact for the linear kernel, random Fourier features for the others; and kernels themselves.

The inner product of two rows' random features is the kernel's value up to an error of about 1 / sqrt(features), which
makes every mean embedding a vector and every pass linear in the rows.

Fourier features are computed in single precision: eight times faster, and their own error is a thousand times larger.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats, Singles
from askance.errors import InvalidInput
from askance.statistics.row_blocks import with_intercept

Kernel = Callable[[Floats, Floats], Floats]

BLOCK_ROWS = 4096  # of 512 features in single precision, 8 MB
_ENTRIES = 4_000_000  # of a kernel matrix that is in memory at a time, 32 MB
_FAR = 1e6  # standard deviations: what is further away is as far as this, and single precision can hold it


@dataclass(frozen=True, eq=False)
class Standard:
    """Where rows are centred, and the unit of each column: what makes one bandwidth fit all columns.

    Parameters
    ----------
    centre, scale : arrays, d
    """

    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, rows: Floats) -> Self:
        """Mean and standard deviation of the rows, in blocks: no second copy of them is made."""
        total, squares = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
        for block in row_blocks(len(rows)):
            total += rows[block].sum(axis=0)
        centre = total / len(rows)
        for block in row_blocks(len(rows)):
            squares += ((rows[block] - centre) ** 2).sum(axis=0)
        scale = np.sqrt(squares / len(rows))
        constant = scale <= 1e-12 * np.maximum(np.abs(centre), 1e-300)
        if constant.all():
            raise InvalidInput("features that are all constant", "features that vary between rows")
        return cls(centre, np.where(constant, 1.0, scale))

    @classmethod
    def none(cls, width: int) -> Self:
        """Rows as they are."""
        return cls(np.zeros(width), np.ones(width))

    def __call__(self, rows: Floats) -> Floats:
        made: Floats = (rows - self.centre) / self.scale
        return made

    def within_reach(self, rows: Floats) -> Floats:
        """Standardised rows, none further away than single precision can tell."""
        made = self(rows)
        return np.clip(made, -_FAR, _FAR, out=made)


class FeatureMap(Protocol):
    """Rows to feature vectors whose inner products are the kernel's values."""

    @property
    def standard(self) -> Standard:
        """What is done to rows first."""

    @property
    def width(self) -> int:
        """How many features."""

    def __call__(self, rows: Floats) -> NDArray[Any]:
        """Features, n x width."""


@dataclass(frozen=True, eq=False)
class LinearFeatures:
    """One and the standardised row: the kernel 1 + x . y, in which a mixture's shares sum to one by themselves.

    Parameters
    ----------
    standard : Standard
    """

    standard: Standard

    @property
    def width(self) -> int:
        return 1 + len(self.standard.scale)

    def __call__(self, rows: Floats) -> Floats:
        made: Floats = with_intercept(rows, True, self.standard.centre) / np.append(1.0, self.standard.scale)
        return made


@dataclass(frozen=True, eq=False)
class FourierFeatures:
    """cos and sin of random projections (Rahimi & Recht 2007).

    Parameters
    ----------
    standard : Standard
    frequencies : array, d x m
        Drawn from the kernel's Fourier transform.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> features = FourierFeatures(Standard.none(2), frequencies("rbf", 2, 4000, rng))
    >>> a, b = features(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> bool(abs(a @ b - np.exp(-1)) < 0.05)
    True
    """

    standard: Standard
    frequencies: Singles

    @property
    def width(self) -> int:
        return 2 * int(self.frequencies.shape[1])

    def __call__(self, rows: Floats) -> Singles:
        angles = self.standard.within_reach(rows).astype(np.float32) @ self.frequencies
        count = angles.shape[1]
        made = np.empty((len(rows), 2 * count), dtype=np.float32)
        np.cos(angles, out=made[:, :count])
        np.sin(angles, out=made[:, count:])
        made *= np.float32(1 / np.sqrt(count))
        return made


def frequencies(kernel: str, dimension: int, count: int, rng: np.random.Generator) -> Singles:
    """Draw frequencies of a kernel of bandwidth one, d x m: divide them by the bandwidth for another.

    Those of "rbf" are orthogonal in blocks of d, each still normal: their features err less (Yu et al. 2016).
    """
    if kernel == "laplace":
        return np.asarray(rng.standard_cauchy((dimension, count)), dtype=np.float32)
    blocks = []
    for _ in range(-(-count // dimension)):
        axes = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
        blocks.append(axes * np.sqrt(rng.chisquare(dimension, size=dimension)))
    return np.asarray(np.hstack(blocks)[:, :count], dtype=np.float32)


def kernel_function(kernel: str, bandwidth: float) -> Kernel:
    """The kernel itself: exp(-|x - y|^2 / 2 h^2) for "rbf", exp(-|x - y|_1 / h) for "laplace", 1 + x . y for "linear".

    Examples
    --------
    >>> kernel_function("laplace", 2.0)(np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]])).round(4)
    array([[0.3679]])
    """
    from scipy.spatial.distance import cdist

    if kernel == "linear":
        return lambda left, right: 1 + left @ right.T
    if kernel == "rbf":
        return lambda left, right: np.exp(cdist(left, right, "sqeuclidean") * (-0.5 / bandwidth**2))
    return lambda left, right: np.exp(cdist(left, right, "cityblock") / -bandwidth)


def checked_kernel(kernel: Kernel, rows: Floats) -> Kernel:
    """A user's kernel, tried on some rows: a symmetric matrix of finite numbers, without a negative eigenvalue."""
    few = rows[:20]
    try:
        table = np.asarray(kernel(few, few), dtype=float)
    except Exception as error:
        raise InvalidInput(f"kernel= that fails on {len(few)} rows ({error})", "a function k(A, B)") from error
    if table.shape != (len(few), len(few)) or not np.isfinite(table).all():
        raise InvalidInput(
            f"kernel= that gives an array of shape {table.shape} for twice {len(few)} rows",
            "a function k(A, B) that returns a matrix of finite numbers, rows of A x rows of B",
        )
    scale = max(float(np.abs(table).max()), 1e-300)
    if np.abs(table - table.T).max() > 1e-6 * scale or np.linalg.eigvalsh(table)[0] < -1e-6 * scale * len(few):
        raise InvalidInput("kernel= that is not symmetric and positive semi-definite", "a kernel")
    return kernel


def typical_distance(kernel: str, standard: Standard, rows: Floats, rng: np.random.Generator, most: int = 500) -> float:
    """The median distance between two standardised rows, in the kernel's own norm: the unit of its bandwidth."""
    from scipy.spatial.distance import pdist

    some = rows if len(rows) <= most else rows[rng.choice(len(rows), most, replace=False)]
    apart = pdist(standard(some), "cityblock" if kernel == "laplace" else "euclidean")
    apart = apart[apart > 0]  # copies of a row say nothing of a scale
    return float(np.median(apart)) if len(apart) else 1.0


def row_blocks(rows: int, columns: int = 1) -> Iterator[slice]:
    """Slices of rows, so few at a time that a block of ``columns`` is small."""
    step = max(1, min(BLOCK_ROWS, _ENTRIES // max(columns, 1)))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
