"""The matrix of a finite channel: whether it is one, whether it tells truths apart, and what makes reports unbiased."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.channels.alphabet import Label, listed
from askance.channels.probabilities import SUM_TOLERANCE
from askance.errors import InvalidInput, Unidentifiable

# Two truths whose reports differ by less in every probability would be told apart by 10^18 reports, not by fewer.
SAME_LAW = 1e-9
_SINGULAR = 1e-12  # singular values below this fraction of the largest count as zero: rounding makes such
# What R S may differ from what is wanted by, of its size. Rounding leaves less; a class that cannot be told leaves 1/K.
_MISSED = 1e-6
_FOUR_DIGITS = 1e-4  # columns that miss a sum of 1 by more were not just rounded: they may be rows


def checked_matrix(matrix: Any, classes: int, reports: int) -> NDArray[np.float64]:
    """Check that a matrix is column-stochastic."""
    try:
        table = np.array(matrix, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"a channel matrix that is not a table of numbers: {matrix!r}", "reports x classes"
        ) from None
    if table.shape != (reports, classes):
        hint = " (it looks transposed: columns are truths)" if table.shape == (classes, reports) else ""
        raise InvalidInput(
            f"a channel matrix of shape {table.shape}{hint}",
            f"shape ({reports}, {classes}): {reports} reports x {classes} classes",
        )
    if not np.all(np.isfinite(table)) or table.min() < 0:
        raise InvalidInput("a channel matrix with entries that are negative or not finite", "probabilities in [0, 1]")
    off = np.abs(table.sum(axis=0) - 1)
    if off.max() > SUM_TOLERANCE:
        column = int(off.argmax())
        rows_do = np.allclose(table.sum(axis=1), 1) and off.max() > _FOUR_DIGITS
        raise InvalidInput(
            f"column {column} of the channel matrix sums to {table[:, column].sum():.12g}",
            "every column to sum to 1: it is the law of the report given one truth",
            "The rows sum to 1: transpose the matrix." if rows_do else "",
        )
    return table


def refuse_indistinguishable(matrix: NDArray[np.float64], classes: tuple[Label, ...]) -> None:
    """Refuse a channel under which two truths give the same reports."""
    for k in range(matrix.shape[1] - 1):
        gap = np.abs(matrix[:, k + 1 :] - matrix[:, [k]]).max(axis=0)
        if gap.min() < SAME_LAW:
            twin = k + 1 + int(gap.argmin())
            raise Unidentifiable(
                f"the truths {classes[k]!r} and {classes[twin]!r} lead to reports of the same law, "
                "so no number of reports can tell them apart",
                "a channel that answers differently for every truth",
                "Merge these classes.",
            )


def wanted_features(features: Any, classes: tuple[Label, ...]) -> NDArray[np.float64]:
    """Check the features that reports are to be unbiased for; the indicators of the classes by default."""
    if features is None:
        return np.eye(len(classes))
    wanted = np.atleast_2d(np.asarray(features, dtype=float))
    if wanted.ndim != 2 or wanted.shape[1] != len(classes):
        raise InvalidInput(f"features of shape {wanted.shape}", f"one column for each of {len(classes)} classes")
    return wanted


def unbiasing_matrix(
    matrix: NDArray[np.float64],
    classes: tuple[Label, ...],
    report_law: NDArray[np.float64] | None = None,
    features: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Solve R S = features with least variance; see :meth:`~askance.channels.labels.FiniteLaw.unbiasing_matrix`."""
    wanted = wanted_features(features, classes)
    if report_law is None:
        root_weight = np.ones(matrix.shape[0])
    else:
        law = np.asarray(report_law, dtype=float)
        if law.shape != (matrix.shape[0],) or not np.all(law > 0):
            raise InvalidInput(f"a report law of {law!r}", f"{matrix.shape[0]} positive probabilities")
        root_weight = 1 / np.sqrt(law)
    # In the scaled problem the least-variance solution is the pseudo-inverse.
    solution: NDArray[np.float64] = wanted @ np.linalg.pinv(matrix * root_weight[:, None], _SINGULAR) * root_weight
    missed = np.abs(solution @ matrix - wanted).max()
    if missed > _MISSED * max(1.0, np.abs(wanted).max()):
        raise Unidentifiable(
            f"the reports do not determine the truth: the matrix has rank {np.linalg.matrix_rank(matrix)} "
            f"for {len(classes)} classes ({listed(classes)})",
            "a channel whose columns are linearly independent",
            "Merge the classes that no report tells apart, or fit by method='marginal'.",
        )
    return solution
