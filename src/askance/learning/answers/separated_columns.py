"""Columns whose coefficients have no finite estimate whatever the others are, seen by counting.

A column may be the same for nearly everybody: a rare level, a pixel at the edge. Where all its other rows report what
one class is the likeliest to report, the likelihood grows for ever as that class becomes certain there. Searches would
follow it for dozens of steps before they notice, along each such column.
"""

import numpy as np

from askance.arrays import Flags, Floats, Integers
from askance.engines.sources import RecordSource
from askance.learning.answers.softmax_problem import SoftmaxTask
from askance.statistics.column_edges import ColumnEdges, Edges

# A look at so many rows clears most columns: what is mixed there is mixed in all, and only the rest is counted.
_LOOK = 1_024
_AS_LIKELY = 1 - 1e-12  # chances that differ by the rounding of a matrix are equal


def separated_parameters(task: SoftmaxTask, sample: RecordSource) -> tuple[str, ...]:
    """Name the parameters of columns that separate the reports by themselves."""
    problem = task.problem
    if problem.truths is not None:
        return ()
    columns = np.flatnonzero(~task.geometry.constant[int(problem.intercept) :])
    some_rows = task.engine.sample(sample, _LOOK) if sample.num_rows > 2 * _LOOK else sample
    for source in (some_rows, task.source) if some_rows is not task.source else (some_rows,):
        if not columns.size:
            return ()
        codes = len(problem.channel.matrix)
        # What a look has not seen above the end may be so in all of it: no report that tells is not yet a no.
        some = source is task.source
        edges = task.engine.reduce(ColumnEdges(columns, codes), source)
        towards = _towards(edges, problem.channel.matrix, problem.intercept, some)
        columns, towards = columns[towards.any(axis=1)], towards[towards.any(axis=1)]
    return _names(task, columns, towards)


def _towards(edges: Edges, matrix: Floats, intercept: bool, some: bool) -> Flags:
    """Towards which classes each column runs away, columns x classes."""
    likeliest = matrix >= _AS_LIKELY * matrix.max(axis=1, keepdims=True)
    tells = likeliest & (matrix > matrix.min(axis=1, keepdims=True) / _AS_LIKELY)
    found = np.zeros((len(edges.lowest), matrix.shape[1]), dtype=bool)
    for counts, end in ((edges.above, edges.lowest), (edges.below, edges.highest)):
        # The intercept takes up what moves everybody; without one the end itself must stay where it is.
        usable = np.ones(len(end), dtype=bool) if intercept or not some else end == 0
        found |= usable[:, None] & (counts @ ~likeliest == 0) & ((counts @ tells > 0) | (not some))
    return found


def _names(task: SoftmaxTask, columns: Integers, towards: Flags) -> tuple[str, ...]:
    """The parameters of those columns; against the first class, all that it would run away from."""
    named = np.zeros((task.classes - 1, task.width), dtype=bool)
    for column, classes in zip(columns + int(task.problem.intercept), towards, strict=True):
        named[:, column] = classes[1:] if classes[1:].any() else True
    return tuple(name for name, one in zip(task.problem.parameter_names, named.ravel(), strict=True) if one)
