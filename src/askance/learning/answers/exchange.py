"""Truths that may change places: the same reports, and a model that is as good with the two exchanged.

Then there are two best models, and nothing says which of both truths is which. A fit would pick one of them by chance
and be sure of it.
"""

from itertools import combinations
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import listed
from askance.channels.labels.channel_matrix import SAME_LAW
from askance.errors import Unidentifiable


def refuse_exchangeable(likelihood: Floats, table: Floats | None, classes: Any) -> None:
    """Refuse truths that nothing tells apart.

    Parameters
    ----------
    likelihood : reports that came x states
    table : states x features of the truth
        None for families that treat all states alike, such as chains.
    classes : labels
    """
    # Only proportions within a row matter, and sets of many classes have small probabilities all.
    likelihood = likelihood / np.maximum(likelihood.max(axis=1, keepdims=True), np.finfo(float).tiny)
    order = np.lexsort(likelihood)
    close = np.abs(np.diff(likelihood[:, order], axis=1)).max(axis=0) < SAME_LAW
    groups = np.split(order, np.flatnonzero(~close) + 1)
    for group in groups:
        for one, other in combinations(sorted(group.tolist()), 2):
            if not likelihood[:, one].any():  # truths of no report: neither is anybody's
                continue
            if table is not None and not _symmetric(table, one, other):
                continue
            names = listed((tuple(classes)[one], tuple(classes)[other]))
            raise Unidentifiable(
                f"the truths {names} lead to reports of the same law, and the model is as good with both exchanged",
                "some rows with exact labels (a DesignPerRow), or features that do not tell these truths apart",
                "Merge these classes, or give States a table of features in which they are the same.",
            )


def _symmetric(table: Floats, one: int, other: int) -> bool:
    """Whether exchanging two states is a change of parameters, and does change something."""
    if np.array_equal(table[one], table[other]):
        return False
    exchanged = table.copy()
    exchanged[[one, other]] = table[[other, one]]
    constant = np.ones((len(table), 1))
    rank = np.linalg.matrix_rank(np.hstack([constant, table]))
    return bool(np.linalg.matrix_rank(np.hstack([constant, table, exchanged])) == rank)
