"""A release of privatised rows is audited with its truth: planted defects are found, and honest releases pass."""

import numpy as np
import pyarrow as pa
import pytest

import askance as ask
from askance.planning.auditing import ROW_SHARES, audit_rows
from askance.planning.auditing.count_bounds import count_p_value
from askance.releases import Release, privatize_table

CHOICES = """
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = %s }
[questions.town]
choices = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
channel = { design = "randomized-response", epsilon = 1.0 }
[covariates.age]
type = "number"
"""
NUMBERS = """
[questions.income]
bounds = [0, 100]
channel = { design = "private-number", epsilon = 1.0 }
[questions.scores]
columns = ["s", "t"]
channel = { design = "laplace-noise", scale = 1.0, bounds = [0, 4] }
[questions.flags]
columns = ["f", "g", "h"]
channel = { design = "state-flip", states = 2, flip = 0.2 }
"""
STUDY = ask.Study.parse(CHOICES % 0.75)
ROWS = 4_000


def people(rows, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "cheated": rng.choice(["no", "yes"], rows, p=[0.7, 0.3]),
        "town": rng.choice(list("abcdefghij"), rows),
        "age": np.arange(rows) % 83 + 1.0,
    }


def measured(rows, seed=0):
    rng = np.random.default_rng(seed)
    flags = {name: rng.integers(0, 2, rows) for name in "fgh"}
    return {"income": rng.uniform(0, 100, rows), "s": rng.uniform(0, 4, rows), "t": rng.uniform(0, 4, rows)} | flags


def released(reports, truth, study=STUDY):
    """Return a release that somebody else wrote: the header promises, the reports are as they are."""
    return Release.from_table(pa.table(reports | {"age": truth["age"]}), study.header())


def drawn(truth, p=0.75):
    rng = np.random.default_rng(3)
    towns = ask.RandomizedResponse(tuple("abcdefghij"), epsilon=1.0).simulate(truth["town"], rng)
    return {"cheated": ask.Warner(p, classes=("no", "yes")).simulate(truth["cheated"], rng), "town": towns}


def failed(report):
    return [question.name for question in report.questions if not question.passed]


def test_an_honest_release_passes_and_says_how_rows_were_matched():
    truth = people(ROWS)
    report = audit_rows(privatize_table(STUDY, truth), truth, error_rate=1e-9)
    assert report.passed, str(report)
    assert {question.name: question.share for question in report.questions} == ROW_SHARES
    assert sum(ROW_SHARES.values()) == pytest.approx(1)
    assert report.matched == "Rows are matched by their order; age agree in every row."
    assert "would have been noticed: cheated" in str(report)
    assert "cannot see" in str(report)


def test_honest_numbers_and_attributes_pass():
    truth = measured(1_000)
    report = audit_rows(privatize_table(ask.Study.parse(NUMBERS), truth), truth, error_rate=1e-9)
    assert report.passed, str(report)


def test_another_parameter_is_found():
    truth = people(ROWS)
    report = audit_rows(released(drawn(truth, p=0.85), truth), truth)
    assert {"law", "leaks"} <= {*failed(report)}
    assert report.ordered


def test_the_truth_about_two_percent_of_the_people_is_found():
    truth = people(20_000)
    reports = drawn(truth)
    told = np.random.default_rng(5).random(20_000) < 0.02
    reports["town"] = np.where(told, truth["town"], reports["town"])
    assert "leaks" in failed(audit_rows(released(reports, truth), truth))


def test_a_coin_that_pairs_of_rows_share_is_found_and_not_blamed_on_the_law():
    truth = people(ROWS)
    reports = drawn(truth)
    lies = np.repeat(np.random.default_rng(7).random(ROWS // 2) < 0.25, 2)
    reports["cheated"] = np.where(lies ^ (truth["cheated"] == "yes"), "yes", "no")
    assert failed(audit_rows(released(reports, truth), truth)) == ["neighbouring rows"]


def test_a_coin_that_two_questions_share_is_found():
    study = ask.Study.parse((CHOICES % 0.75).replace("[covariates.age]", "[questions.stole]\nchoices = ['no', 'yes']\n"
                            'channel = { design = "warner", p = 0.75 }\n[covariates.age]'))  # fmt: skip
    truth = people(ROWS)
    truth["stole"] = np.random.default_rng(2).choice(["no", "yes"], ROWS)
    lies = np.random.default_rng(7).random(ROWS) < 0.25
    reports = drawn(truth)
    for name in ("cheated", "stole"):
        reports[name] = np.where(lies ^ (truth[name] == "yes"), "yes", "no")
    assert failed(audit_rows(released(reports, truth, study), truth)) == ["answers of one person"]


def test_noise_that_is_left_out_for_two_percent_is_found():
    study = ask.Study.parse(NUMBERS)
    truth = measured(2_000)
    table = privatize_table(study, truth).to_table()
    step = 4 / 4096
    channel = study.questions[1].channel
    told = channel.encode_reports(table.column("scores")).copy()
    rows = np.column_stack([truth["s"], truth["t"]])
    told[:40] = np.rint(rows[:40] / step) * step  # two percent are told as they are, on the grid
    leaked = table.set_column(table.column_names.index("scores"), "scores", channel.store(told))
    report = audit_rows(Release.from_table(leaked, study.header()), truth)
    assert "leaks" in failed(report), str(report)


def test_honest_releases_raise_few_alarms():
    # 40 audits at rate 0.05: 2 alarms are stated at most, more than 11 have probability 4e-7. (Of 200, 2 failed.)
    alarms = 0
    for seed in range(40):
        truth = people(200, seed)
        alarms += not audit_rows(privatize_table(STUDY, truth), truth, error_rate=0.05).passed
    assert alarms <= 11


def test_another_order_is_seen_by_public_columns_and_only_totals_are_compared():
    truth = people(ROWS)
    mixed = np.random.default_rng(1).permutation(ROWS)
    made = Release.from_table(privatize_table(STUDY, truth).to_table().take(mixed), STUDY.header())
    report = audit_rows(made, truth, error_rate=1e-9)
    assert report.passed
    assert not report.ordered
    assert [question.name for question in report.questions] == ["totals"]
    assert "agree in another order only" in report.matched
    wrong = drawn(truth, p=0.99)
    assert failed(audit_rows(released(wrong, truth), truth, shuffled=True)) == ["totals"]


@pytest.mark.parametrize("text", [NUMBERS, (CHOICES % 0.75).split("[covariates")[0]])
def test_another_order_is_seen_by_the_reports_where_no_public_column_shows_it(text):
    study = ask.Study.parse(text)
    truth = measured(ROWS) if text == NUMBERS else people(ROWS)
    mixed = np.random.default_rng(1).permutation(ROWS)
    made = Release.from_table(privatize_table(study, truth).to_table().take(mixed), study.header())
    report = audit_rows(made, truth, error_rate=1e-6)
    assert not report.ordered
    assert "nothing to do with the truths" in report.matched
    assert report.passed, str(report)


def test_an_identifier_finds_rows_in_any_order():
    truth = people(ROWS) | {"age": np.arange(ROWS, dtype=float)}
    mixed = np.random.default_rng(1).permutation(ROWS)
    made = Release.from_table(privatize_table(STUDY, truth).to_table().take(mixed), STUDY.header())
    report = audit_rows(made, truth, id_column="age", error_rate=1e-9)
    assert report.passed
    assert report.matched == "Rows are matched by the identifier 'age'."


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda t: {name: column[1:] for name, column in t.items()}, {}, "200 rows in the release, and 199"),
        (lambda t: t | {"age": t["age"] + 1}, {}, "are not those of the release"),
        (lambda t: t, {"id_column": "name"}, "which the release does not hold"),
        (lambda t: t, {"id_column": "age"}, "a person who is twice in the release"),
        (lambda t: t, {"id_column": "age", "shuffled": True}, "both an identifier"),
        (lambda t: {"age": t["age"]}, {}, "no column"),
        (lambda t: t | {"cheated": ["perhaps"] * 200}, {}, "perhaps"),
        (lambda t: t, {"error_rate": 0.0}, "error_rate"),
    ],
)
def test_what_cannot_be_the_data_is_refused(change, options, message):
    truth = people(200)
    with pytest.raises(ask.InvalidInput, match=message):
        audit_rows(privatize_table(STUDY, truth), change(truth), **options)


def test_counts_of_unequal_chances_are_bounded_from_above():
    from scipy.stats import binom

    for came in (0, 3, 30, 50, 70, 100):
        exact = binom.cdf(came, 100, 0.3) if came < 30 else binom.sf(came - 1, 100, 0.3)
        bound = count_p_value(came, np.array([0.3, 0.3]), np.array([40.0, 60.0]))
        assert min(1.0, exact) <= bound + 1e-15
        assert bound <= max(25 * exact, 1e-15) or bound == 1
    assert count_p_value(3, np.array([0.0, 0.5]), np.array([5.0, 2.0])) == 0
