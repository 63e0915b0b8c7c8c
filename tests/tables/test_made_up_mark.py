"""The mark of made-up rows survives what people do to tables: other programs, merges, new heads, rows put together."""

import contextlib
from functools import partial

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from askance.errors import InvalidInput, ReleaseError
from askance.releases import Header, Release, Study, privatize_table
from askance.tables import (
    ANSWER,
    MARK,
    REPORT,
    count_people,
    holds_made_up_reports,
    open_data,
    read_all_labels,
    refuse_answers,
    refuse_reports,
)

TYPES = {
    "large": pa.large_string(),  # as polars and newer pandas write text
    "view": pa.string_view(),
    "category": pa.dictionary(pa.int8(), pa.string()),
}


@pytest.mark.parametrize("kind", TYPES)
def test_whichever_type_the_text_has(kind, tmp_path):
    table = pa.table({"q": ["no", "yes"], MARK: pa.array([ANSWER, ANSWER]).cast(TYPES[kind])})
    places = [table]
    with contextlib.suppress(pa.ArrowNotImplementedError):  # pyarrow 18 writes no views
        pq.write_table(table, tmp_path / "answers.parquet")
        places.append(open_data(tmp_path / "answers.parquet"))
    for given in places:
        with pytest.raises(InvalidInput, match="true answers in the table"):
            refuse_answers(given, "the table")
        refuse_reports(given, "the table")


@pytest.mark.parametrize("heads", [["Made_up"], [" made_up "], ["made_up_x", "made_up_y"], ["made_up", "made_up"]])
@pytest.mark.parametrize("words", ["{}", "{} ", '"""{}"""'])
def test_however_the_column_is_called_and_its_words_are_written(heads, words, tmp_path):
    said = ",".join([words.format(REPORT.title())] * len(heads))
    (tmp_path / "reports.csv").write_text(f"q,{','.join(heads)}\nno,{said}\nyes,{said}\n")
    data = open_data(tmp_path / "reports.csv")
    assert holds_made_up_reports(data)
    refuse_answers(data, "the table")
    with pytest.raises(InvalidInput, match="reports in the table"):
        refuse_reports(data, "the table")


@pytest.mark.parametrize(("word", "check"), [(ANSWER, refuse_reports), (REPORT, refuse_answers)])
def test_made_up_rows_among_those_of_people(word, check, tmp_path):
    pd.DataFrame({"q": ["no", "yes"], MARK: word}).to_csv(tmp_path / "trial.csv", index=False)
    pd.DataFrame({"q": ["no", "yes", "yes"]}).to_csv(tmp_path / "field.csv", index=False)
    check(open_data(tmp_path / "trial.csv"), "the folder")
    check(open_data(tmp_path / "field.csv"), "the folder")
    with pytest.raises(InvalidInput, match="2 made-up rows among the 5 of the folder"):
        check(open_data(tmp_path), "the folder")


def test_made_up_reports_are_no_labels_to_release_totals_of(tmp_path):
    path = tmp_path / "reports.csv"
    pd.DataFrame({"q": ["no", "yes"], "id": [1, 2], MARK: REPORT}).to_csv(path, index=False)
    for read in (partial(count_people, path, "q", None), partial(read_all_labels, path, "id", "q")):
        with pytest.raises(InvalidInput, match=r"reports in .*reports\.csv, as its column 'made_up' says"):
            read(("no", "yes"))


def test_a_column_of_that_name_with_anything_else_in_it():
    for values in ([1, 2], [True, None], [["simulated"], []], ["no", ""]):
        table = pa.table({MARK: values})
        refuse_answers(table, "the table")
        refuse_reports(table, "the table")
        assert not holds_made_up_reports(table)


STUDY = Study.parse("[questions.q]\nchoices = ['no', 'yes']\nchannel = { design = 'warner', p = 0.8 }\n")


def test_a_release_of_made_up_answers_says_so_for_ever(tmp_path):
    answers = {"q": ["no", "yes"] * 50}
    made = privatize_table(STUDY, answers | {MARK: [ANSWER] * 100})
    real = privatize_table(STUDY, answers)
    assert (made.header.made_up, real.header.made_up) == (True, False)
    assert MARK not in real.header.to_dict()
    assert made.header.same_study(real.header)
    made.write(tmp_path / "made.parquet")
    assert Release.read(tmp_path / "made.parquet").header.made_up
    folder = tmp_path / "both"
    folder.mkdir()
    made.write(folder / "a.parquet")
    real.write(folder / "b.parquet")
    with pytest.raises(ReleaseError, match="one holds made-up answers"):
        Release.read(folder)


def test_no_header_says_something_else_of_it():
    said = STUDY.header().to_dict()
    assert not Header.from_dict(said).made_up
    assert Header.from_dict(said | {MARK: True}).made_up
    with pytest.raises(InvalidInput, match="nothing called made_up"):
        Header.from_dict(said | {MARK: "perhaps", "sealed": True})
