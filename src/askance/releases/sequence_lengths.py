"""How long the sequences of a table are: what a whole answer gives away grows with it."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from askance.tables.sequence_columns import word_lists


def longest_lists(tables: Iterable[pa.Table], columns: Sequence[str]) -> dict[str, int]:
    """Return how many entries the longest list, or words the longest text, has in each of these columns; 0 without any.

    Examples
    --------
    >>> longest_lists([pa.table({"tags": [["D", "N"], []]}), pa.table({"tags": [["N"]]})], ["tags"])
    {'tags': 2}
    >>> longest_lists([pa.table({"tags": ["D N V", ""]})], ["tags"])
    {'tags': 3}
    """
    longest = dict.fromkeys(columns, 0)
    for table in tables:
        for name in columns:
            lists = map(word_lists, table.column(name).chunks)
            lengths = (pc.max(pc.list_value_length(each)).as_py() for each in lists if each is not None)
            longest[name] = max(longest[name], *(length or 0 for length in lengths), 0)
    return longest
