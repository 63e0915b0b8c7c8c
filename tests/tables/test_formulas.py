"""Cells of a CSV file that a spreadsheet would run."""

import pytest

from askance.tables.csv_writing import formulas_in


@pytest.mark.parametrize("cell", ["=1+1", "@home", "+x", "-2+cmd|' /C calc'!A0", "=HYPERLINK(1)", "-north"])
@pytest.mark.parametrize("place", ["{},2\n", "a,{}\n", 'a,2\n"{}",3\n', "{}\n"])
def test_what_begins_as_a_formula_is_found(cell, place):
    assert formulas_in("unit,share\n" + place.format(cell)) == [cell]


@pytest.mark.parametrize("cell", ["-1", "+2.5", "-.5", "-1e-05", "-inf", "nan", "-", "a=b", "a - b", "", "ward 1"])
@pytest.mark.parametrize("place", ["{},2\n", "a,{}\n", 'a,2\n"{}",3\n'])
def test_numbers_and_other_words_are_not(cell, place):
    assert formulas_in("unit,share\n" + place.format(cell)) == []
