"""How long the sequences of a table are: what a whole answer gives away grows with it."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc


def longest_lists(tables: Iterable[pa.Table], columns: Sequence[str]) -> dict[str, int]:
    """Return how many entries the longest list has in each of these columns of all tables; 0 without any.

    Examples
    --------
    >>> longest_lists([pa.table({"tags": [["D", "N"], []]}), pa.table({"tags": [["N"]]})], ["tags"])
    {'tags': 2}
    """
    longest = dict.fromkeys(columns, 0)
    for table in tables:
        for name in columns:
            lengths = pc.max(pc.list_value_length(table.column(name))).as_py()
            longest[name] = max(longest[name], lengths or 0)
    return longest
