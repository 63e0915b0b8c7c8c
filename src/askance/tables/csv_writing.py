"""A table as CSV text."""

import csv
import io
import re

import pyarrow as pa

# A cell that begins as formulas do, and is neither a number nor a sign alone: found in the text, millions a second.
_FORMULA = re.compile(
    r"""(?:^|,)("?)(?![+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+|inf|nan)?\1(?:,|$))([=+@-][^,"\n]*)""",
    re.MULTILINE | re.IGNORECASE,
)


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


def formulas_in(text: str) -> list[str]:
    """Return the cells of a CSV text that a spreadsheet takes for formulas, each once.

    They are left as they are: a quotation mark before them would be another name to every other program.

    Examples
    --------
    >>> formulas_in("unit,share,change\\n=1+1,.5,-.25\\n\\"@home, north\\",.5,-1e-05\\n")
    ['=1+1', '@home']
    """
    return list(dict.fromkeys(found[2].rstrip() for found in _FORMULA.finditer(text)))
