"""Reports of features as a latent-class model reads them: each distinct record once, in blocks of like attributes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.learning.records.latent_block import LatentBlock
from askance.learning.records.latent_laplace import LaplaceBlock
from askance.learning.records.latent_normals import NormalBlock
from askance.learning.records.latent_states import StateBlock

_MOST_KEYS = 1 << 62  # combinations of states that a whole number can tell apart
_WORTH_IT = 0.7  # share of the rows that distinct ones may be, for counting them to save more than it costs


@dataclass(frozen=True, eq=False)
class LatentReports:
    """Feature reports, distinct ones counted.

    Parameters
    ----------
    blocks : tuple of LatentBlock
    counts : R
        The weight of each report: how often it came, or the sum of its weights.
    squares : R
        The sum of squared weights.
    design : tuple of arrays
        Which columns of the design belong to each block.
    """

    blocks: tuple[LatentBlock, ...]
    counts: Floats
    squares: Floats
    design: tuple[NDArray[np.intp], ...]

    @classmethod
    def of(
        cls,
        features: FeatureChannel,
        reports: NDArray[Any],
        counts: Floats,
        squares: Floats,
        nominal: Sequence[bool],
    ) -> "LatentReports":
        """Sort attributes into blocks: states, numbers with normal noise or none, numbers with Laplace noise."""
        laws = features.laws
        start = np.concatenate([[0], np.cumsum(design_widths(features, nominal))])
        finite = np.array([j for j, law in enumerate(laws) if law.is_finite], np.intp)
        laplace = np.array([j for j, law in enumerate(laws) if _is_laplace(law)], np.intp)
        normal = np.array([j for j in range(len(laws)) if j not in {*finite.tolist(), *laplace.tolist()}], np.intp)
        blocks: list[LatentBlock] = []
        if len(finite):
            flags = [nominal[j] for j in finite]
            blocks.append(StateBlock.of(finite, [laws[j] for j in finite], reports[:, finite], flags))
        if len(normal):
            noise = np.array([laws[j].variance for j in normal])
            blocks.append(NormalBlock(normal, np.ascontiguousarray(reports[:, normal], float), noise, counts))
        if len(laplace):
            table = np.ascontiguousarray(reports[:, laplace], float)
            blocks.append(LaplaceBlock(laplace, tuple(laws[j] for j in laplace), table, counts))
        design = tuple(np.concatenate([np.arange(start[j], start[j + 1]) for j in block.columns]) for block in blocks)
        return cls(tuple(blocks), counts, squares, design)

    @property
    def rows(self) -> int:
        """How many distinct reports there are."""
        return len(self.counts)

    @property
    def total(self) -> float:
        """The sum of weights."""
        return float(self.counts.sum())


def design_widths(features: FeatureChannel, nominal: Sequence[bool]) -> list[int]:
    """How many coefficients each attribute has: one, or one for each level but the first."""
    return [
        len(law.values) - 1 if levels and law.is_finite else 1
        for law, levels in zip(features.laws, nominal, strict=True)
    ]


def true_design(features: FeatureChannel, nominal: Sequence[bool], codes: NDArray[Any]) -> Floats:
    """What a linear model takes of true records: codes of states and numbers, n x d, to n x D."""
    parts = []
    for j, (law, levels) in enumerate(zip(features.laws, nominal, strict=True)):
        column = codes[:, j]
        if not law.is_finite:
            parts.append(column[:, None].astype(float))
        elif levels:
            parts.append((column[:, None] == np.arange(1, len(law.values))).astype(float))
        else:
            parts.append(law.values.astype(float)[column.astype(np.intp)][:, None])
    return np.hstack(parts)


def counted_rows(
    sizes: Sequence[int] | None, table: NDArray[Any], weights: Floats | None
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Find distinct rows of codes: the place of one of each, the sums of weights, and of squared weights.

    Parameters
    ----------
    sizes : how many codes each column can have; None where columns are numbers, which are hardly ever the same
    table : n x columns
    weights : n, optional
        One each unless given.
    """
    rows = len(table)
    own = np.ones(rows) if weights is None else weights
    if sizes is None or float(np.prod(np.array(sizes, float))) >= _MOST_KEYS:
        return np.arange(rows), own, own**2
    steps = np.concatenate([[1], np.cumprod(np.array(sizes[:-1], dtype=np.int64))])
    key = np.zeros(rows, np.int64)
    for column, step in enumerate(steps):
        key += table[:, column].astype(np.int64) * step
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    if len(first) > _WORTH_IT * rows:
        return np.arange(rows), own, own**2
    sums: tuple[Floats, Floats] = (np.bincount(place, own), np.bincount(place, own**2))  # type: ignore[assignment]
    return first, *sums


def _is_laplace(law: Any) -> bool:
    return not law.is_finite and law.hides and not law.posterior_is_normal
