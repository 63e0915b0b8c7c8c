"""Spreadsheets are read like CSV files, and refused where they are ambiguous."""

import builtins
import zipfile

import numpy as np
import pytest

import askance as ask
from askance.errors import InvalidInput
from askance.releases.privatizing import privatize_file
from askance.tables.data_files import open_data

_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def workbook(path, *sheets):
    """Write a workbook by hand: rows of texts and numbers."""

    def cell(value):
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>' if value else "<c/>"
        return f"<c><v>{value}</v></c>"

    names = [f"sheet{number}" for number in range(1, len(sheets) + 1)]
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("[Content_Types].xml", _TYPES)
        relations = "http://schemas.openxmlformats.org/package/2006/relationships"
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{relations}"><Relationship Id="r0" Type="{_OFFICE}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{relations}">'
            + "".join(
                f'<Relationship Id="{name}" Type="{_OFFICE}/worksheet" Target="worksheets/{name}.xml"/>'
                for name in names
            )
            + "</Relationships>",
        )
        listed = "".join(
            f'<sheet name="{name}" sheetId="{number}" r:id="{name}"/>' for number, name in enumerate(names, 1)
        )
        file.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>'
        )
        for name, rows in zip(names, sheets, strict=True):
            body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            file.writestr(
                f"xl/worksheets/{name}.xml", f'<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData></worksheet>'
            )
    return path


ROWS = [["cheated", "drugs", "tax", "group", "age", "school"]]
rng = np.random.default_rng(0)
CHOICES = (["no", "yes"], ["never", "often"], ["no", "yes"], ["cards", "dice"], [20, 31.5], ["north", "south"])
ROWS += [[listed[rng.integers(2)] for listed in CHOICES] for _ in range(60)]


def test_a_workbook_is_privatised_like_a_csv_file(tmp_path):
    path = workbook(tmp_path / "answers.xlsx", ROWS, [])
    data = open_data(path)
    assert data.columns == tuple(ROWS[0])
    assert set(data.read(["age"])["age"].to_pylist()) == {"20", "31.5"}
    done = privatize_file(ask.Study.parse(ask.Study.template()), path, tmp_path / "r.parquet")
    assert done.release.num_rows == 60


def test_what_is_ambiguous_or_no_workbook_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="2 sheets with rows: 'sheet1', 'sheet2'"):
        open_data(workbook(tmp_path / "two.xlsx", ROWS, ROWS))
    with pytest.raises(InvalidInput, match="is empty"):
        open_data(workbook(tmp_path / "none.xlsx", []))
    (tmp_path / "broken.xlsx").write_bytes(b"PK\x03\x04 nothing of the kind")
    with pytest.raises(InvalidInput, match="cannot be read as a spreadsheet"):
        open_data(tmp_path / "broken.xlsx")


def test_without_the_package_the_message_says_what_to_install(tmp_path, monkeypatch):
    path = workbook(tmp_path / "answers.xlsx", ROWS)
    real = builtins.__import__

    def without(name, *rest):
        if name == "python_calamine":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InvalidInput, match=r"askance\[excel\]"):
        open_data(path)


@pytest.mark.parametrize(("written", "meant"), [("3,5", "3.5"), ("1.234,5", "1234.5"), ("-0,25", "-0.25")])
def test_decimal_commas_are_refused_with_what_to_write(tmp_path, written, meant):
    (tmp_path / "study.toml").write_text(ask.Study.template())
    head = ";".join(ROWS[0])
    (tmp_path / "a.csv").write_text(f"{head}\nno;never;no;cards;{written};north\n")
    with pytest.raises(InvalidInput) as refused:
        privatize_file(ask.Study.read(tmp_path / "study.toml"), tmp_path / "a.csv", tmp_path / "r.parquet")
    assert "decimal point" in str(refused.value)
    assert meant in str(refused.value)
