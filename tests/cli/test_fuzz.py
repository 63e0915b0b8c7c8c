"""Mutated files and words through the command line, a few of them; ``make bench ARGS=fuzz`` tries 20,000."""

import json

import pytest

import askance as ask
from askance.releases import Covariate, Header, Question
from fuzz_corpus import USES, make_corpus
from fuzzing import run_input, warm_up

pytestmark = pytest.mark.filterwarnings("ignore")  # of numbers that overflow: these inputs are made for it
INPUTS = 60


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    make_corpus(folder)
    return folder


def test_good_files_work_and_mutated_ones_never_end_in_a_traceback(corpus, tmp_path):
    assert warm_up(corpus, tmp_path / "place", USES) == []
    found = [run_input(number, corpus, tmp_path / "place", USES) for number in range(INPUTS)]
    assert [result for result in found if result.problem] == []


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        ("classifier.json", "coef_", {"array": [[1.0]], "dtype": "<f8"}),
        ("classifier.json", "coef_", {"array": [["a", "b"]], "dtype": "<U1"}),
        ("classifier.json", "classes_", {"array": ["a"], "dtype": "<U1000000000"}),
        ("classifier.json", "n_features_in_", "x"),
        ("classifier.json", "intercept_", {"array": [1.0, 2.0], "dtype": "<f8"}),
        ("tagger.json", "weights_", {"packed": "eJwDAAAAAAE=", "shape": [0, 10**9]}),
        ("tagger.json", "transitions_", {"array": ["a"], "dtype": "<U1"}),
    ],
)
def test_a_damaged_model_is_refused(corpus, tmp_path, run, model, name, value):
    content = json.loads((corpus / model).read_text())
    content["fitted"][name] = value
    path = tmp_path / model
    path.write_text(json.dumps(content))
    words = ("tag", path, corpus / "text.txt") if model == "tagger.json" else ("predict", path, corpus / "x.csv")
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "damaged model" in err


def test_a_model_of_ratios_with_other_classes_is_damaged(corpus, tmp_path, run):
    content = json.loads((corpus / "ratios.json").read_text())
    content["fitted"]["classes_"]["array"].append(2)
    path = tmp_path / "ratios.json"
    path.write_text(json.dumps(content))
    code, out, err = run("ratios", corpus / "rows.csv", "--model", path, "--group", "bag")
    assert (code, out) == (2, "")
    assert "damaged model" in err


@pytest.mark.parametrize("where", ["covariates", "questions"])
def test_a_name_that_is_no_text_is_refused(where):
    names = {"covariates": "age", "questions": "cheated"} | {where: "\ud800"}
    with pytest.raises(ask.InvalidInput, match="text that UTF-8 can hold"):
        Header((Question(names["questions"], ask.Warner(0.8)),), (Covariate(names["covariates"]),))


def test_a_deeply_nested_study_is_refused():
    with pytest.raises(ask.AskanceError):
        ask.Study.parse("x = " + "[" * 100_000)


@pytest.mark.parametrize("number", ["1e308", "1e-160", "-1e-310"])
def test_numbers_whose_squares_are_none_are_refused(corpus, tmp_path, run, number):
    rows = (corpus / "rows.csv").read_text().splitlines()
    rows[3] = f"u,{number},1"
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    words = ("--proportions", corpus / "shares.csv", "--method", "mean-map")
    code, _, err = run("fit", tmp_path / "rows.csv", *words)
    assert code == 2
    assert "at most 1e+150 in size" in err
