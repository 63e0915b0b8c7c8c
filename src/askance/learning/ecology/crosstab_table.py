"""A cross-table as people and programs read it: text, records, CSV, a picture."""

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from askance.printing import one_line
from askance.reports.text_table import aligned

if TYPE_CHECKING:
    from askance.learning.ecology.ecological_inference import EcologicalInference

_LONGEST = 22  # letters of a name in a table of text


def crosstab_records(model: "EcologicalInference", level: float) -> list[dict[str, Any]]:
    """Return one record for each cell: row, column, people, and the share of the row with its interval."""
    low, high = model.interval(level)
    return [
        {
            "row": row,
            "column": column,
            "people": float(model.table_[r, k]),
            "share": _known(model.shares_[r, k]),
            "low": _known(low[r, k]),
            "high": _known(high[r, k]),
        }
        for r, row in enumerate(model.rows_.tolist())
        for k, column in enumerate(model.classes_.tolist())
    ]


def _known(value: float) -> float | None:
    return None if value != value else float(value)


def to_csv(records: Sequence[dict[str, Any]]) -> str:
    """Return a CSV text with a line for each record."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def text_table(model: "EcologicalInference", level: float) -> str:
    """Return the shares of each row in per cent, with intervals, as lines of text."""
    low, high = model.interval(level)
    heads = ["", *(_short(name) for name in model.classes_.tolist()), "people"]
    cells = []
    for r, row in enumerate(model.rows_.tolist()):
        people = model.table_[r].sum()
        each = [
            f"{100 * share:.1f} ({100 * a:.0f} to {100 * b:.0f})" if people else "–"
            for share, a, b in zip(model.shares_[r], low[r], high[r], strict=True)
        ]
        cells.append([_short(row), *each, f"{people:,.0f}"])
    units = f"{model.n_units_:,} units, {model.n_people_:,} people"
    title = f"per cent of each row that chose each column, with {100 * level:g}% intervals ({units})"
    return "\n".join([title, *aligned(heads, cells)])


def _short(name: Any) -> str:
    text = one_line(str(name))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
