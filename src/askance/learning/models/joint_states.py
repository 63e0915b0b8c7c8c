"""Several hidden attributes as one: every combination of their true states, and what reports say about each.

Combinations are numbered with the last attribute running fastest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.channel import ReportTables
from askance.errors import InvalidInput, Unidentifiable

_LARGEST_TABLE = 20_000_000  # distinct reports x combinations of true states: 160 MB, and a few of these at a time
_SMALLEST_SINGULAR_VALUE = 1e-9  # against the largest, as of a channel for attributes: less is lost in rounding


@dataclass(frozen=True, eq=False)
class HiddenStates:
    """Reports as codes, and the law of each attribute.

    Parameters
    ----------
    matrices : d arrays, O_j x K_j
        P(report | truth).
    codes : n x d
        Row numbers of the matrices.
    """

    matrices: tuple[Floats, ...]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, channel: Any, reports: Any) -> "HiddenStates":
        """Read reports by the channel that made them."""
        matrices, codes = _read(channel, reports)
        if not len(codes):
            raise InvalidInput("no reports", "at least one")
        return cls(tuple(np.asarray(matrix, dtype=float) for matrix in matrices), codes.astype(np.int64))

    @property
    def rows(self) -> int:
        return len(self.codes)

    @property
    def attributes(self) -> int:
        """How many attributes there are."""
        return len(self.matrices)

    @property
    def states(self) -> int:
        """How many combinations of true states there are."""
        return math.prod(matrix.shape[1] for matrix in self.matrices)

    def refuse_lost_truth(self) -> None:
        """Refuse noise that is not valid ([RR] section 2): its matrix must have independent columns.

        Then no two laws of the truth lead to the same law of reports. The product over attributes is valid if
        every attribute's matrix is.
        """
        for j, matrix in enumerate(self.matrices):
            values = np.linalg.svd(matrix, compute_uv=False)
            enough = len(values) >= matrix.shape[1] and values[-1] > _SMALLEST_SINGULAR_VALUE * values[0]
            if not enough:
                where = f" of attribute {j + 1}" if len(self.matrices) > 1 else ""
                raise Unidentifiable(
                    f"the noise{where} is not valid: its matrix has rank {np.linalg.matrix_rank(matrix)} for "
                    f"{matrix.shape[1]} true states, so that different laws of the truth lead to the same reports",
                    "a channel whose columns are linearly independent",
                    "If the model is identifiable even so, say require_valid=False.",
                )

    def grouped(self) -> tuple[Floats, Floats]:
        """P(report | truth) of each distinct report (R x M), and how often it came."""
        distinct, counts = np.unique(self.codes, axis=0, return_counts=True)
        return self._table(distinct), counts.astype(float)

    def by_row(self) -> tuple[Floats, Floats]:
        """The same for every row on its own."""
        return self._table(self.codes), np.ones(self.rows)

    def _table(self, codes: NDArray[np.int64]) -> Floats:
        if len(codes) * self.states > _LARGEST_TABLE:
            raise InvalidInput(
                f"{self.states:,} combinations of true states and {len(codes):,} distinct reports",
                f"a product of at most {_LARGEST_TABLE:,}",
                "This recipe enumerates the truth; it is for few attributes with few states.",
            )
        table = np.ones((len(codes), 1))
        for j, matrix in enumerate(self.matrices):
            table = (table[:, :, None] * matrix[codes[:, j], None, :]).reshape(len(codes), -1)
        return table


def _read(channel: Any, reports: Any) -> ReportTables:
    """The matrices of a channel, whichever kind it is, and its reports as codes."""
    if hasattr(channel, "report_tables"):
        tables: ReportTables = channel.report_tables(reports)
        return tables
    if isinstance(channel, Sequence) and channel and all(getattr(one, "hides", None) == "labels" for one in channel):
        parts = [
            one.report_tables(column) for one, column in zip(channel, _columns(reports, len(channel)), strict=True)
        ]
        return [matrix for matrices, _ in parts for matrix in matrices], np.column_stack([codes for _, codes in parts])
    raise InvalidInput(
        f"a {type(channel).__name__} as channel",
        "a finite channel, a sequence of them, a StateFlip, or a RowChannel with finite features",
    )


def _columns(reports: Any, width: int) -> list[Any]:
    table = reports.to_numpy() if hasattr(reports, "to_numpy") else np.asarray(reports)
    if table.ndim != 2 or table.shape[1] != width:
        raise InvalidInput(f"reports of shape {table.shape}", f"a row for each record, with {width} columns")
    return list(table.T)
