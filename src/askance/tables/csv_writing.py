"""A table as CSV text."""

import csv
import io

import pyarrow as pa


def csv_text(table: pa.Table) -> str:
    """Return a table as CSV, with names of columns in the first line and quotation marks only where they are needed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> print(csv_text(pa.table({"cheated": ["no", "yes, once"], "age": [20, 31]})))
    cheated,age
    no,20
    "yes, once",31
    <BLANKLINE>
    """
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(table.column_names)
    for batch in table.to_batches():
        lines.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return written.getvalue()
