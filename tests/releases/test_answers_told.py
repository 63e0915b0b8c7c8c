"""Public columns and orders of rows that tell hidden answers are refused; others are not."""

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance.errors import InvalidInput
from askance.releases.answers_told import AnswersTold
from askance.releases.labels_told import refuse_telling_columns, values_tell
from askance.releases.privatizing import privatize_file, privatize_table

N = 300
RNG = np.random.default_rng(8)
YES = RNG.integers(0, 2, N)
PAY = RNG.uniform(0, 10, N).round(2)
ANSWERS = {"cheated": np.where(YES, "yes", "no"), "pay": PAY, "person": [f"p{i}" for i in range(N)]}
STUDY = """
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }
[questions.pay]
bounds = [0, 10]
channel = { design = "private-number", epsilon = 4.0 }
"""
AGE = RNG.integers(18, 90, N)
TELLING = {
    "recoded": np.where(YES, "B", "A"),
    "a few are wrong": np.where(RNG.random(N) < 0.02, "A", np.where(YES, "B", "A")),
    "more levels": np.where(YES, RNG.choice(["w", "x"], N), RNG.choice(["u", "v"], N)),
    "joined with another": [f"{age}-{'yes' if yes else 'no'}" for age, yes in zip(AGE, YES, strict=True)],
    "in the month of a date": [f"2024-0{1 + yes}-{day}" for yes, day in zip(YES, RNG.integers(10, 28, N), strict=True)],
    "a number": np.where(YES, 7.5, -3.0),
    "a number with noise": 100.0 * YES + RNG.normal(size=N),
    "behind another number": AGE * 10 + YES,
    "the pay in cents": 100 * PAY,
    "what is left": 25 - PAY,
}
HONEST = {
    "town": RNG.choice(["a", "b", "c"], N),
    "everybody's own": [f"u{i}" for i in range(N)],
    "a good guess": np.where(RNG.random(N) < 0.85, np.where(YES, "B", "A"), np.where(YES, "A", "B")),
    "age": AGE,
    "pay of a colleague": np.roll(PAY, 1),
    "pay, roughly": PAY + RNG.normal(size=N),
}


def asked(values):
    """Return a study with a covariate x, and its answers."""
    values = np.asarray(values)
    kind = (
        'type = "number"'
        if values.dtype.kind in "if"
        else f'type = "category"\nlevels = {sorted(set(values.tolist()))}'
    )
    return ask.Study.parse(f"{STUDY}\n[covariates.x]\n{kind}\n"), {**ANSWERS, "x": values}


@pytest.mark.parametrize("name", TELLING)
def test_a_covariate_that_tells_the_answers_is_refused(name, tmp_path):
    study, answers = asked(TELLING[name])
    with pytest.raises(InvalidInput, match=r"(column|feature) 'x' tells nearly every"):
        privatize_table(study, answers)
    pd.DataFrame(answers).to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(InvalidInput, match=r"'x' tells nearly every"):
        privatize_file(study, tmp_path / "data.csv", tmp_path / "r.parquet")
    assert not (tmp_path / "r.parquet").exists()
    assert privatize_table(study, answers, public_columns=["x"]).num_rows == N  # whoever says so


@pytest.mark.parametrize("name", HONEST)
def test_other_covariates_are_not(name):
    study, answers = asked(HONEST[name])
    assert privatize_table(study, answers).num_rows == N


@pytest.mark.parametrize("by", ["cheated", "pay"])
@pytest.mark.parametrize("ascending", [True, False])
def test_rows_in_the_order_of_the_answers_are_refused(by, ascending, tmp_path):
    rows = pd.DataFrame(ANSWERS).sort_values(by, ascending=ascending)
    study = ask.Study.parse(STUDY)
    with pytest.raises(InvalidInput, match=f"rows in the order of the answers to '{by}'"):
        privatize_table(study, dict(rows))
    folder = tmp_path / "data"
    folder.mkdir()
    rows[:150].to_csv(folder / "1.csv", index=False)  # in several files too
    rows[150:].to_csv(folder / "2.csv", index=False)
    with pytest.raises(InvalidInput, match="rows in the order"):
        privatize_file(study, folder, tmp_path / "r.parquet")
    assert not (tmp_path / "r.parquet").exists()


def test_few_people_in_order_by_chance_are_not_refused():
    study = ask.Study.parse(STUDY)
    few = {"cheated": ["no", "no", "no", "yes"], "pay": [1.0, 2.0, 3.0, 4.0]}
    assert privatize_table(study, few).num_rows == 4
    rare = {"cheated": ["no"] * 299 + ["yes"], "pay": PAY}  # one in 300 is the last
    assert privatize_table(study, rare).num_rows == 300


def test_a_word_for_a_column_that_is_none_is_refused():
    with pytest.raises(InvalidInput, match="public_columns with 'y'"):
        AnswersTold(asked(AGE)[0].header(), ["y"])


def test_nothing_is_spent_on_what_is_refused(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    study, answers = asked(TELLING["recoded"])
    (tmp_path / "study.toml").write_text(study.to_toml())
    pd.DataFrame(answers).to_csv("data.csv", index=False)
    ledger = ask.Ledger.create("l", 100, data_set="d")
    words = ("privatize", "study.toml", "data.csv", "--out", "r.parquet", "--ledger", "l", "--id", "person")
    code, _, err = run(*words)
    assert code == 2
    assert "--public-columns" in err
    assert ledger.entries == ()
    code, _, err = run(*words, "--public-columns", "x", "--quiet")
    assert code == 0, err
    assert len(ledger.entries) == 1


def test_bags_that_tell_the_labels_are_refused(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({**ANSWERS, "bag": TELLING["more levels"], "town": HONEST["town"]}).to_csv("data.csv", index=False)
    ledger = ask.Ledger.create("l", 100, data_set="d")
    words = ("release", "counts", "data.csv", "--label", "cheated", "--classes", "no,yes", "--epsilon", "1")
    words = (*words, "--ledger", "l", "--out", "c.json", "--bag")
    code, _, err = run(*words, "bag")
    assert code == 2
    assert "bags that tell nearly every label: the column 'bag'" in err
    assert ledger.entries == ()
    assert run(*words, "bag", "--public-bags")[0] == 0
    assert run(*words, "town", "--overwrite")[0] == 0


def test_what_chance_does_is_not_refused():
    # Random labels and columns of any number of values: of 2,000 tables at most 2 on average are refused, and more
    # than 12 with probability 1e-6; the generator is fixed.
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(2000):
        people, classes, values = rng.integers(2, 40), rng.integers(2, 4), rng.integers(2, 30)
        counts = np.zeros((classes, values), dtype=np.int64)
        np.add.at(counts, (rng.integers(0, classes, people), rng.integers(0, values, people)), 1)
        refused += values_tell(counts)
    assert refused <= 12


def test_alternating_labels_and_numbers_are_not_a_last_digit():
    labels = np.arange(100) % 2
    refuse_telling_columns(np.arange(100.0)[:, None], labels, ["number"])
    with pytest.raises(InvalidInput, match="'number' tells nearly every label"):
        refuse_telling_columns((10.0 * np.arange(100) + labels)[:, None], labels, ["number"])
