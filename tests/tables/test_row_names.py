"""What pandas and R write beside the columns, to name rows, is no column."""

import pandas as pd
import pytest
from test_sheet_files import workbook

from askance.tables.data_files import open_data

FRAME = pd.DataFrame({"age": [20, 31, 40], "town": ["Ayr", "Bute", "Ayr"]}, index=[3, 7, 9])


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_names_of_rows_are_no_column(tmp_path, kind):
    """They became a feature of bags, called nothing or __index_level_0__, without a word."""
    path = tmp_path / f"people.{kind}"
    if kind == "xlsx":
        workbook(
            path, [["", *FRAME], *([str(name), *row] for name, row in zip(FRAME.index, FRAME.to_numpy(), strict=True))]
        )
    else:
        getattr(FRAME, f"to_{kind}")(path)
    data = open_data(path)
    assert data.columns == ("age", "town")
    assert [*map(float, data.read(["age"])["age"].to_pylist())] == [20, 31, 40]


def test_an_index_with_a_name_is_a_column(tmp_path):
    for kind in ("csv", "parquet"):
        getattr(FRAME.rename_axis("id"), f"to_{kind}")(tmp_path / f"people.{kind}")
        assert set(open_data(tmp_path / f"people.{kind}").columns) == {"id", "age", "town"}
