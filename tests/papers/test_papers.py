"""Every reproduction runs, passes its checks, and would notice if it did not."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from askance.cli.reproduce import reproduce
from askance.errors import AskanceError, InvalidInput
from askance.papers import registry
from askance.papers.data import labelled_sets, number_sets
from askance.papers.data.data_folder import FOLDER
from askance.papers.errata import ERRATA, errata_table
from askance.papers.findings import Finding, Outcome, Result
from askance.papers.finite_family import draw_report_counts, fit_moments
from askance.papers.registry import Entry, entries, reproduces, run_entry, select

NAMES = [
    "class-ratio/figure-1",
    "class-ratio/figure-2",
    "class-ratio/figure-3",
    "linear-moments/appendix-a4",
    "linear-moments/figure-3",
    "linear-moments/figure-4",
    "linear-moments/figure-5",
    "linear-moments/figure-6",
    "linear-moments/figure-7",
    "linear-moments/proposition-1",
    "mean-operator/accuracy",
    "mean-operator/figure-1",
    "mean-operator/table-1",
    "mean-operator/theorem-9",
    "mean-operator/theorem-10",
    "randomised-response/equation-3",
    "randomised-response/voting",
]

app = typer.Typer()
app.command("reproduce")(reproduce)


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch, tmp_path_factory):
    """Reproductions find neither a folder of data nor what scikit-learn once fetched: they use their stand-ins."""
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path_factory.mktemp("nothing-fetched")))


@pytest.fixture
def failing_entry(monkeypatch):
    """An entry that does not pass, for as long as the test runs."""

    def run(rng, quick):
        return Result((Finding.computed("the answer", 42.0, 41.0, 0.5),), {"answer": [41.0]})

    entries()  # so that undoing the change leaves the real ones
    entry = Entry("linear-moments/wrong", "a wrong number", "the answer is 42", "nowhere", run)
    monkeypatch.setitem(registry._entries, entry.name, entry)
    return entry


# -- the entries -------------------------------------------------------------------------------------------


def test_the_registry_has_what_was_promised():
    assert set(NAMES) <= set(entries())
    for name, entry in entries().items():
        assert entry.name == name
        assert entry.title
        assert entry.claim
        assert entry.reference.startswith("[")
        assert entry.paper


LONG = {
    "class-ratio/figure-1", "class-ratio/figure-2", "class-ratio/figure-3", "linear-moments/figure-3",
    "linear-moments/figure-6", "linear-moments/figure-7", "mean-operator/accuracy", "randomised-response/figure-3",
    "randomised-response/section-6-1",
}  # fmt: skip


# The seed is fixed. Over seeds, about 60 simulated numbers are each checked to 4 standard errors: a correct
# program does not pass for one seed in about 250.
@pytest.mark.parametrize("name", NAMES)
def test_entry_passes(name, tmp_path):
    (entry,) = select([name])
    told: list[float] = []
    outcome = run_entry(entry, tmp_path, seed=0, quick=True, progress=lambda done, total: told.append(done / total))
    assert told == sorted(told)  # it never goes back, and all that takes minutes without --quick tells
    assert told[-1:] == ([1.0] if name in LONG else [])
    assert outcome.passes, [finding for finding in outcome.findings if not finding.passes]
    assert any(finding.simulation is not None for finding in outcome.findings)
    for plot in outcome.plots:
        assert plot.read_bytes().startswith(b"\x89PNG")
    for table in outcome.data:
        rows = list(csv.reader(table.read_text(encoding="utf-8").splitlines()))
        assert len(rows) > 3
        assert len({len(row) for row in rows}) == 1
    account = json.loads((tmp_path / f"{name}.json").read_text())
    assert account["passes"] is True
    assert len(account["findings"]) == len(outcome.findings)
    assert not list(tmp_path.rglob("*.part"))


def test_an_entry_is_the_same_whenever_it_is_run(tmp_path):
    (entry,) = select(["randomised-response/voting"])
    first, second = (run_entry(entry, tmp_path / side, seed=3, quick=True) for side in "ab")
    other = run_entry(entry, tmp_path / "c", seed=4, quick=True)
    assert first.findings == second.findings
    assert first.findings != other.findings
    assert first.data[0].read_bytes() == second.data[0].read_bytes()


def test_a_wrong_formula_is_noticed(tmp_path, monkeypatch):
    """The checks can fail: put the printed plus sign in place of the minus."""
    from askance.papers.randomised_response import voting

    monkeypatch.setattr(voting, "corrected", voting.as_printed)
    (entry,) = select(["randomised-response/voting"])
    assert not run_entry(entry, tmp_path, seed=0, quick=True).passes


def test_a_wrong_variance_is_noticed(tmp_path, monkeypatch):
    from askance.papers.linear_moments import figure_3

    right = figure_3.relative_efficiency
    monkeypatch.setattr(figure_3, "relative_efficiency", lambda *a: right(*a) ** 1.5)
    (entry,) = select(["linear-moments/figure-3"])
    assert not run_entry(entry, tmp_path, seed=0, quick=True).passes


def test_a_wrong_theorem_is_noticed(tmp_path, monkeypatch):
    """The checks can fail: leave out that one coordinate speaks for all, and the simulation says so."""
    from askance.papers.linear_moments import appendix_a4 as appendix

    wrong = {appendix.COORDINATE: lambda d, ones, *rest: appendix.coordinate_trace(d, 0, *rest)}
    monkeypatch.setattr(appendix, "TRACES", appendix.TRACES | wrong)
    (entry,) = select(["linear-moments/appendix-a4"])
    outcome = run_entry(entry, tmp_path, seed=0, quick=True)
    assert any(not finding.passes and finding.standard_error for finding in outcome.findings)


def test_figure_6_notices_when_our_fit_is_no_better(tmp_path, monkeypatch):
    """The checks can fail: give our side the published fit."""
    from askance.papers.linear_moments import figure_6

    def published(mechanism, train, alpha, rng):
        return figure_6.published_line("coordinate", train, alpha, rng)

    monkeypatch.setattr(figure_6, "repaired_line", published)
    (entry,) = select(["linear-moments/figure-6"])
    outcome = run_entry(entry, tmp_path, seed=0, quick=True)
    wrong = [finding.quantity for finding in outcome.findings if not finding.passes]
    assert any("lost, window" in quantity for quantity in wrong)
    assert "made up" in outcome.note


def test_accuracy_notices_when_there_is_too_much_noise(tmp_path, monkeypatch):
    """The checks can fail: a hundred times the noise loses more than a hundredth of accuracy."""
    from askance.papers.mean_operator import accuracy

    right = accuracy._release
    monkeypatch.setattr(accuracy, "_release", lambda X, y, alpha, *rest: right(X, y, alpha / 100, *rest))
    (entry,) = select(["mean-operator/accuracy"])
    outcome = run_entry(entry, tmp_path, seed=0, quick=True)
    wrong = [finding.quantity for finding in outcome.findings if not finding.passes]
    assert "made up: accuracy lost, Laplace, alpha=1" in wrong
    assert "made up, in place of Adult" in outcome.note


def test_adult_is_read_and_put_on_one_scale(tmp_path, monkeypatch):
    numbers = {
        "age": [20, 40],
        "education_num": [9, 13],
        "capital_gain": [0, 5000],
        "capital_loss": [0, 1],
        "hours_per_week": [40, 20],
    }
    categories = {name: ["a", None] for name in labelled_sets.ADULT_CATEGORIES}
    (tmp_path / "adult").mkdir()
    pq.write_table(pa.table(numbers | categories | {"income": ["<=50K", ">50K"]}), tmp_path / "adult" / "adult.parquet")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    data = labelled_sets.adult()
    assert not data.stand_in
    assert data.labels.tolist() == [-1, 1]
    # Of two rows, standardised numbers are -1 and 1; what was not told is a level of its own.
    expected = np.array([[-1, -1, -1, -1, 1, *[1, 0] * 7], [1, 1, 1, 1, -1, *[0, 1] * 7]]) / np.sqrt(12)
    np.testing.assert_allclose(data.features, expected)


def test_scores_of_a_line_that_is_known():
    from askance.papers.linear_moments.figure_6 import Line, score

    test = np.array([[0.0, 1.0], [1.0, 3.0]])
    assert score(Line(np.array([2.0]), 1.0, 1.0), test) == (1.0, 1.0)
    assert score(Line(np.array([0.0]), 2.0, 1.0), test) == pytest.approx((0.0, 0.8))  # 2 missed, of 2 and of 10


def test_a_folder_without_the_data_is_said_so(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with pytest.raises(InvalidInput, match=r"cal_housing\.parquet is missing"):
        number_sets.housing(download=False)


def test_data_of_the_folder_are_read(tmp_path, monkeypatch):
    columns = ["medianIncome", "housingMedianAge", "totalRooms", "totalBedrooms", "population", "households"]
    values = [3.0, 20, 600, 120, 300, 100, 34, -118, 250_000]
    (tmp_path / "california").mkdir()
    table = pa.table(
        {n: [v] for n, v in zip([*columns, "latitude", "longitude", "medianHouseValue"], values, strict=True)}
    )
    pq.write_table(table, tmp_path / "california" / "cal_housing.parquet")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    data = number_sets.housing(download=False)
    assert data.rows.tolist() == [[3.0, 20, 6, 1.2, 300, 3, 34, -118, 2.5]]
    assert not data.stand_in
    assert data.scaled[0, -1] == 0.5


# -- findings ----------------------------------------------------------------------------------------------


def test_findings_fail_on_what_is_not_a_number():
    assert not Finding.simulated("x", 1.0, float("nan"), 0.1).passes
    assert not Finding.simulated("x", 1.0, 1.5, float("nan")).passes
    assert not Finding.computed("x", 1.0, float("nan"), 1.0).passes
    assert not Finding.confirmed("x", 1.0, float("inf"), 1.0).passes
    assert not Finding.claimed("x", "grows", float("nan"), at_least=0).passes
    assert not Finding.claimed("x", "a claim without a bound", 1.0).passes


def test_findings_keep_to_their_tolerance():
    assert Finding.simulated("x", 1.0, 1.39, 0.1).passes
    assert not Finding.simulated("x", 1.0, 1.41, 0.1).passes
    assert Finding.claimed("x", "between", 0.5, at_least=0, at_most=1).passes
    assert not Finding.claimed("x", "between", 1.5, at_least=0, at_most=1).passes
    assert not Outcome((), (), ()).passes
    json.dumps(Outcome((Finding.computed("x", 1.0, float("nan"), 1.0),), (), ()).to_json(), allow_nan=False)


def test_simulated_reports_follow_their_law():
    # 8 chi-square-like cells within 5 standard errors: fails for fewer than one seed in 200,000.
    law, matrix = np.array([0.7, 0.3]), np.array([[0.9, 0.2], [0.1, 0.3], [0.0, 0.5]])
    counts = draw_report_counts(law, matrix, 1_000, 4_000, np.random.default_rng(0))
    assert np.all(counts.sum(axis=1) == 1_000)
    expected = matrix @ law
    error = np.sqrt(expected * (1 - expected) / 4e6)
    assert np.all(np.abs(counts.mean(axis=0) / 1_000 - expected) < 5 * error)
    spread = counts.var(axis=0) / 1_000 / (expected * (1 - expected))
    assert np.all(np.abs(spread - 1) < 5 * np.sqrt(2 / 4_000))


def test_a_study_without_finite_estimate_is_refused():
    everyone_says_one = np.array([[0.0, 1_000.0]])
    with pytest.raises(AskanceError, match="no finite estimate"):
        fit_moments(np.array([[0.0, 1.0]]), np.array([[0.8, 0.2], [0.2, 0.8]]), everyone_says_one, np.zeros(1))


# -- choosing ----------------------------------------------------------------------------------------------


def test_select_by_name_paper_and_all():
    assert [entry.name for entry in select(["all"])] == list(entries())
    one_paper = [name for name in NAMES if name.startswith("linear-moments/")]
    assert [entry.name for entry in select(["linear-moments"])] == one_paper
    assert [entry.name for entry in select(["linear-moments/", "linear-moments/figure-4"])] == one_paper


def test_unknown_names_come_with_close_ones():
    with pytest.raises(InvalidInput, match=r"Did you mean .*linear-moments/figure-3"):
        select(["linear-moment/figure3"])
    with pytest.raises(InvalidInput, match="one of class-ratio/figure-1"):
        select(["?"])
    with pytest.raises(InvalidInput):
        select([""])


def test_names_follow_the_papers():
    with pytest.raises(InvalidInput, match="paper/item"):
        reproduces("unheard-of/figure-1", title="", claim="", reference="")


# -- the command -------------------------------------------------------------------------------------------


def test_command_lists():
    shown = invoke()
    assert shown.exit_code == 0
    for name in NAMES:
        assert name in shown.stdout
    listed = json.loads(invoke("--json").stdout)["entries"]
    assert [entry["name"] for entry in listed] == list(entries())
    assert all(entry["claim"] for entry in listed)


def test_command_runs_and_writes(tmp_path):
    shown = invoke("randomised-response/voting", "--quick", "--out", tmp_path)
    assert shown.exit_code == 0, shown.output
    assert "(24) corrected" in shown.stdout
    assert "passes" in shown.stdout
    assert "does not hold" in shown.stdout  # (24) as printed
    assert (tmp_path / "randomised-response" / "voting.png").exists()
    assert "voting.png" in shown.stdout.replace("\n", "")


def test_command_speaks_json(tmp_path):
    shown = invoke("randomised-response/voting", "--quick", "--json", "--out", tmp_path, "--seed", 2)
    account = json.loads(shown.stdout)
    assert account["passes"] is True
    assert account["entries"][0]["seed"] == 2


def test_command_exits_with_1_when_something_fails(failing_entry, tmp_path):
    shown = invoke(failing_entry.name, "--out", tmp_path)
    assert shown.exit_code == 1
    assert "FAILS" in shown.stdout
    as_json = invoke(failing_entry.name, "--out", tmp_path, "--json")
    assert as_json.exit_code == 1
    assert json.loads(as_json.stdout)["passes"] is False


def test_command_refuses_unknown_names_before_running_any(tmp_path):
    shown = invoke("randomised-response/voting", "figure-9", "--out", tmp_path / "out")
    assert isinstance(shown.exception, InvalidInput)
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "taken").write_text("mine")
    (entry,) = select(["randomised-response/voting"])
    with pytest.raises(InvalidInput, match="cannot be written"):
        run_entry(entry, tmp_path / "taken", seed=0, quick=True)
    assert (tmp_path / "taken").read_text() == "mine"
    with pytest.raises(InvalidInput, match="seed"):
        run_entry(entry, tmp_path, seed=-1)


def test_listing_draws_nothing_and_the_command_imports_little():
    code = (
        "import sys, askance.cli.reproduce as r; early = set(sys.modules);"
        "from askance.papers.registry import entries; entries();"
        "print(sorted(m for m in ('numpy', 'rich.table', 'numba') if m in early),"
        "      sorted(m for m in ('matplotlib', 'scipy.stats', 'sklearn', 'pandas') if m in sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[] []"


def test_a_statement_and_a_check_are_judged_apart():
    claimed, confirmed = Finding.claimed, Finding.confirmed
    said = {
        "holds": [
            Finding.computed("x", 1.0, 1.01, 0.1),
            confirmed("x", 2.0, 2.0, 1e-6, "2"),
            claimed("x", "at most 0.1", 0.08, at_most=0.2),
            claimed("x", "grows", 1.0, at_least=0),
            claimed("x", "grows", -1.0, at_least=0, contradicted=True),
        ],
        "does not hold": [
            Finding.computed("x", 1.0, 1.2, 0.1),
            confirmed("x", 4.0, 4.0, 1e-6, "1"),
            Finding.simulated("x", 0.308, 0.3, 0.01, "0.06"),
            claimed("x", "at most 0.1", 0.8, at_least=0.77),
            claimed("x", "below 1", 9.7, at_least=1.5),
            claimed("x", "grows", -1.0, at_least=0),
            claimed("x", "not significant", 0.5, at_least=0.2, contradicted=True),
            claimed("x", "erratum", 0.5, at_least=0.2),
        ],
        "not stated": [claimed("x", "", 1.0, at_least=0), Finding.simulated("x", 1.0, 1.0, 0.1)],
    }
    for kind, findings in said.items():
        assert [str(finding.statement) for finding in findings] == [kind] * len(findings)
    outcome = Outcome((*said["holds"][:4], *said["does not hold"][1:3]), (), ())
    assert outcome.passes  # a counterexample is a check that passes
    assert outcome.to_json()["statements"] == {"holds": 4, "does not hold": 2, "not stated": 0}


def test_theorem_9_is_contradicted_and_checked(tmp_path):
    (entry,) = select(["mean-operator/theorem-9"])
    outcome = run_entry(entry, tmp_path, seed=0, quick=True)
    levels = [finding for finding in outcome.findings if "2-norm at most 1, d=" in finding.quantity]
    assert outcome.passes
    assert {str(finding.statement) for finding in levels if finding.quantity[-3:] != "d=1"} == {"does not hold"}


def test_the_page_has_all_errata_and_their_entries_exist():
    page = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text()
    assert errata_table() in page
    assert {each.shown_by for each in ERRATA} - {""} <= set(entries())
