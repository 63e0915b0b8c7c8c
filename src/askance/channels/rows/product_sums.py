"""Sums over reports of the numbers that each is about and of their products, without a table of all products."""

import numpy as np

from askance.compiled import compiled

_ROWS = 64  # read together, then summed: reading and summing by turns would wait for each other


@compiled
def accumulate_products(reports, weights, dim, numbers, origin, step, offset, own, pairs):  # type: ignore[no-untyped-def]
    """Add w o, w (o^2 - offset) and the squares of both to ``own``, w o_i o_j and its square to ``pairs``.

    A row names ``numbers`` coordinates in ascending order (none if all are reported), then gives their codes, whose
    values are o = origin + step * code. ``own`` is dim x 4; ``pairs`` has two columns and a row for each entry of the
    upper triangle, of which the diagonal is left alone. Without ``weights`` (an empty array) every weight is 1.

    Returns whether all rows name their coordinates as a report does; if not, the sums are worth nothing.
    """
    named = numbers < dim
    first_code = numbers if named else 0
    line = np.empty(dim, np.uint64)  # entry (i, j) of the triangle is at line[i] + j
    for i in range(dim):
        line[i] = i * dim - (i * (i + 1)) // 2
    which = np.empty((_ROWS, numbers), np.uint64)
    for r in range(_ROWS):
        for a in range(numbers):
            which[r, a] = a
    value = np.empty((_ROWS, numbers))
    weight = 1.0
    for start in range(0, reports.shape[0], _ROWS):
        rows = min(_ROWS, reports.shape[0] - start)
        wrong = np.int64(0)
        for r in range(rows):
            for a in range(numbers):
                value[r, a] = origin + step * np.float64(reports[start + r, first_code + a])
            if named:
                for a in range(numbers):
                    which[r, a] = reports[start + r, a]
                for a in range(1, numbers):
                    wrong += np.int64(reports[start + r, a] <= reports[start + r, a - 1])
                wrong += np.int64(reports[start + r, numbers - 1] >= dim)
        if wrong:
            return False
        for r in range(rows):
            if weights.shape[0]:
                weight = weights[start + r]
            for a in range(numbers):
                i = which[r, a]
                first = weight * value[r, a]
                square = weight * (value[r, a] * value[r, a] - offset)
                own[i, 0] += first
                own[i, 1] += square
                own[i, 2] += first * first
                own[i, 3] += square * square
                for b in range(a + 1, numbers):
                    product = first * value[r, b]
                    pairs[line[i] + which[r, b], 0] += product
                    pairs[line[i] + which[r, b], 1] += product * product
    return True
