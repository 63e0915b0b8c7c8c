"""Tables as plain text: the first column to the left, numbers to the right."""

from collections.abc import Sequence

from askance.printing import one_line


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table with a rule above and below its heads and at its end.

    Examples
    --------
    >>> print("\\n".join(aligned(["", "n"], [["no", "8"], ["yes", "12"]])))
    -------
          n
    -------
    no    8
    yes  12
    -------
    """
    heads, rows = [*map(one_line, heads)], [[*map(one_line, row)] for row in rows]
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))

    def line(row: Sequence[str]) -> str:
        numbers = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        return "  ".join([row[0].ljust(widths[0]), *numbers]).rstrip()

    return [rule, line(heads), rule, *map(line, rows), rule]
