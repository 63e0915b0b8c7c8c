"""What people get wrong at the command line: what arrived, what was expected, what to do, and nothing written."""

import gzip
import json
import re

import pytest

STUDY = """
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }

[covariates.age]
type = "number"
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "answers.csv").write_text("cheated,age\n" + "no,31\nno,40\nyes,27\n" * 20)
    monkeypatch.chdir(tmp_path)
    return tmp_path


MISTAKES = {
    "a page called PDF": (
        ("fit", "answers.csv", "--study", "study.toml", "--report", "page.pdf"),
        r"page\.pdf for a report of askance; expected a name that ends with \.html, such as page\.html",
    ),
    "a model called Parquet": (
        ("fit", "answers.csv", "--study", "study.toml", "--save", "model.parquet"),
        r"model\.parquet for a saved model; expected a name that ends with \.json",
    ),
    "a release called CSV": (
        ("privatize", "study.toml", "answers.csv", "--out", "release.csv"),
        r"release\.csv for a release of reports; expected a name that ends with \.parquet",
    ),
    "made-up answers called Excel": (
        ("simulate", "study.toml", "--out", "people.xlsx"),
        r"people\.xlsx for made-up answers of askance; expected a name that ends with \.csv",
    ),
    "standard output by its sign": (
        ("simulate", "study.toml", "--out", "-"),
        r"--out -; expected the name of a file\. A - is standard input; text goes to standard output without it\.",
    ),
    "standard output by its sign, the other way": (
        ("simulate", "study.toml", "--out=-"),
        r"--out -; expected the name",
    ),
    "study and data swapped": (
        ("privatize", "answers.csv", "study.toml", "--out", "release.parquet"),
        r"answers\.csv is not valid TOML: .*\. The study file comes first, then the data\.",
    ),
    "a design mistyped": (
        ("plan", "prevalence", "--prevalence", "0.1", "--margin", "0.03", "--design", "wrner p=0.2"),
        r"the design 'wrner p=0\.2'; expected one of list, .*Did you mean 'warner'\?",
    ),
    "a level in per cent": (
        ("fit", "answers.csv", "--study", "study.toml", "--level", "95"),
        r"--level 95; expected a confidence level between 0\.5 and 1.*For 95 per cent write 0\.95",
    ),
    "fewer rows than one": (
        ("simulate", "study.toml", "--rows", "-5"),
        r"Invalid value for '--rows -5'.*greater than or equal to 1\. See .* simulate --help",
    ),
    "a seed that is a word": (
        ("simulate", "study.toml", "--seed=today"),
        r"Invalid value for '--seed today'.*integer.*\. See .* simulate --help",
    ),
    "a function mistyped": (
        ("fit", "answers.csv", "--study", "study.toml", "--formula", "cheated ~ lg(age)"),
        r"'lg\(\.\.\.\)' in the formula .*\. Did you mean 'log'\? Write other transformations",
    ),
    "a covariate mistyped": (
        ("fit", "answers.csv", "--study", "study.toml", "--formula", "cheated ~ agee"),
        r"no covariate 'agee'; expected covariates among age\. Did you mean 'age'\?",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_with_what_to_do(place, run, name):
    words, said = MISTAKES[name]
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    code, _, err = run(*words)
    assert code == 2
    assert re.search(said, err), err
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("cheated,age\nno,31\n".encode("utf-16"), "is text in UTF-16; expected CSV in UTF-8"),
        (gzip.compress(b"cheated,age\nno,31\n"), "is compressed by gzip; expected a name that ends with .gz"),
    ],
)
def test_a_table_in_another_form_is_named(place, run, content, said):
    (place / "odd.csv").write_bytes(content)
    code, _, err = run("fit", "odd.csv", "--study", "study.toml")
    assert (code, said in err) == (2, True)


def test_a_missing_value_is_said_with_what_to_do(place, run):
    (place / "holes.csv").write_text("cheated,age\nno,31\nyes,\n")
    code, _, err = run("fit", "holes.csv", "--study", "study.toml", "--formula", "cheated ~ age")
    assert code == 2
    assert "row 2: the value is missing (fill it in, or leave the row out)" in err


def test_a_release_that_was_cut_off_is_named_as_one(place, run):
    code, _, err = run("privatize", "study.toml", "answers.csv", "--out", "release.parquet", "--public-columns", "age")
    assert code == 0, err
    whole = (place / "release.parquet").read_bytes()
    (place / "release.parquet").write_bytes(whole[: len(whole) // 2])
    code, _, err = run("fit", "release.parquet")
    assert code == 2
    assert "its end is missing" in err
    assert "cut off or damaged on its way: copy or write it again" in err
    assert "magic" not in err


def test_whoever_gives_json_a_value_is_answered_in_json(place, run):
    code, out, err = run("fit", "answers.csv", "--study", "study.toml", "--json=true")
    assert (code, out) == (2, "")
    assert json.loads(err)["exit_code"] == 2
