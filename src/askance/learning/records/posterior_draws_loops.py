"""The compiled inner loops of ``posterior_draws``: one uniform number for each coordinate."""

from askance.compiled import compiled


@compiled
def _state_below(cumulated, level):  # type: ignore[no-untyped-def]
    """The first state whose cumulated probability is above ``level``."""
    low, high = 0, cumulated.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if cumulated[middle] > level:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def draw_kept_or_prior(uniform, codes, keep, cumulated, values, drawn):  # type: ignore[no-untyped-def]
    """Fill ``drawn``: the reported state with probability keep[j, code], or else a state of the prior.

    What is left of a uniform number above ``keep`` is uniform again, so that one is enough.
    """
    rows, width = codes.shape
    for i in range(rows):
        for j in range(width):
            code = codes[i, j]
            kept = keep[j, code]
            if uniform[i, j] < kept:
                drawn[i, j] = values[j, code]
            else:
                total = cumulated[j, cumulated.shape[1] - 1]
                level = total * (uniform[i, j] - kept) / (1 - kept)
                drawn[i, j] = values[j, _state_below(cumulated[j], level)]


@compiled
def draw_from_table(uniform, codes, cumulated, values, drawn):  # type: ignore[no-untyped-def]
    """Fill ``drawn`` with a state from row ``code`` of each coordinate's table."""
    rows, width = codes.shape
    for i in range(rows):
        for j in range(width):
            law = cumulated[j, codes[i, j]]
            drawn[i, j] = values[j, _state_below(law, uniform[i, j] * law[law.shape[0] - 1])]
