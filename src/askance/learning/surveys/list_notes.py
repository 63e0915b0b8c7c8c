"""What counts of a list say about themselves when people were asked directly, too."""

import numpy as np
from scipy.special import ndtr

from askance.arrays import Flags
from askance.learning.surveys.list_counts import ListCounts
from askance.learning.surveys.list_means import difference_in_means, direct_difference

SUSPICIOUS = 0.05  # p-values below are said in a note


def notes_on_direct_answers(data: ListCounts, direct: Flags) -> list[str]:
    """Two things must hold: who says yes directly counts the item, and the list does not change direct answers."""
    notes, treated = [], data.treated
    if min((direct & treated).sum(), (direct & ~treated).sum()) >= 2:
        counted = difference_in_means(data, rows=direct)
        p = 2 * float(ndtr(-abs(counted.value - 1) / counted.error)) if counted.error > 0 else 1.0
        if p < SUSPICIOUS:
            notes.append(
                f"Of those who said yes directly, the list counts {counted.value:.0%} and not all (p = {p:.2g}): "
                "somebody said yes falsely, or does not count as asked."
            )
    heft = np.ones(len(direct)) if data.weights is None else data.weights
    shares = [float(np.average(direct[rows], weights=heft[rows])) for rows in (treated, ~treated)]
    apart = direct_difference(data, direct)
    p = 2 * float(ndtr(-abs(apart.value) / apart.error)) if apart.error > 0 else 1.0
    if p < SUSPICIOUS:
        notes.append(
            f"Direct answers differ between the groups ({shares[0]:.1%} yes with the sensitive item in the list, "
            f"{shares[1]:.1%} without; p = {p:.2g}): the list influenced them, and both cannot be combined."
        )
    return notes
