"""The compiled inner loops of latent classes: tables looked up, and summed back, by the cells that reports fall in."""

from askance.compiled import compiled_for_sums


@compiled_for_sums
def add_looked_up(cells, table, out):  # type: ignore[no-untyped-def]
    """Add table[cell] to each report's row, over all its attributes: cells is R x d, table cells x m, out R x m."""
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            cell = cells[i, j]
            for k in range(table.shape[1]):
                out[i, k] += table[cell, k]


@compiled_for_sums
def add_to_cells(cells, rows, out):  # type: ignore[no-untyped-def]
    """Add each report's row to all cells that it falls in: the transpose of the above."""
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            cell = cells[i, j]
            for k in range(rows.shape[1]):
                out[cell, k] += rows[i, k]
