"""Reports: the page is whole, safe and honest, and holds no record."""

import json
import math
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

import askance as ask
from askance.releases.header import Covariate, Header, Question
from askance.reports.figures import coefficient_plot, prevalence_plot
from askance.reports.html import report_html, write_report
from askance.reports.number_format import decimals_for, number, p_value, percent
from askance.reports.page import page
from askance.reports.summary import Summary
from askance.reports.text import report_text
from askance.workflows.analysis import analyse
from html_pages import ReadPage

EVIL = "<script>alert('x')</script> & \"more\" $x^2$"
NASTY = "<b>age</b>$\\alpha$"


def _release(channel=None, *, rows=2000, text="Did you cheat?", covariate="age", title="Exams", seed=1, other=()):
    rng = np.random.default_rng(seed)
    channel = channel or ask.Warner(0.8)
    values = rng.normal(size=rows)
    truth = np.where(rng.random(rows) < 1 / (1 + np.exp(1 - values)), channel.classes[1], channel.classes[0])
    question = Question("cheated", channel, text)
    header = Header((question, *other), (Covariate(covariate, "number"),), "exam", title)
    columns = {"cheated": channel.simulate(truth, rng), covariate: values}
    columns |= {extra.name: ["no", "yes"] * (rows // 2) for extra in other}
    return ask.Release.from_table(pa.table(columns), header)


@pytest.fixture(scope="module")
def report():
    command = "askance fit release.parquet"
    return analyse(_release(), formula="cheated ~ age", command=command).report


class TestPage:
    def test_says_everything(self, report):
        page = ReadPage(report_html(report))
        for needed in (
            "Did you cheat?",
            "Exams",
            "ε = 1.386",
            "80.0% sure",
            "otherwise its negation",
            "0.8000",
            "95% interval",
            "naive (wrong)",
            "cheated ~ age",
            "2,000",
            "directly asked people",
            "converged",
            "askance fit release.parquet",
            ask.__version__,
        ):
            assert needed in page.text, needed
        assert page.tags.count("svg") == 2

    def test_needs_nothing_from_elsewhere(self, report):
        ReadPage(report_html(report)).check_needs_nothing_from_elsewhere()

    def test_ids_are_unique_and_found(self, report):
        ReadPage(report_html(report)).check_ids_are_unique_and_found()

    def test_user_text_is_escaped(self):
        channel = ask.Warner(0.8, classes=("<i>no</i>", "<i>yes</i>"))
        release = _release(channel, text=EVIL, covariate=NASTY, title=EVIL)
        made = analyse(release, formula=f"cheated ~ `{NASTY}`", command=EVIL).report
        text = report_html(replace(made, notes=(EVIL,)))
        page = ReadPage(text)
        assert not {"script", "i", "b"} & set(page.tags)
        assert page.text.count(EVIL) >= 4  # heading, study, note, command
        assert NASTY in page.text

    def test_control_characters_keep_figures_well_formed(self):
        table = Summary("t", ("a\x01b", "c"), np.array([[1.0, 0.1, 10, 0, 0.8, 1.2], [0.5, 0.1, 5, 0, 0.3, 0.7]]))
        for draw in (coefficient_plot, prevalence_plot):
            ElementTree.fromstring(draw(table, None))

    def test_no_guarantee_is_loud(self):
        made = analyse(_release(ask.Triangular(0.25))).report
        page = ReadPage(report_html(made))
        assert "No privacy guarantee" in page.text
        assert "There is no formal privacy guarantee" in page.text
        assert "Treat the reports as confidential" in page.text
        assert 'role="alert"' in report_html(made)

    def test_whole_person_is_said_when_it_differs(self):
        other = Question("lied", ask.Warner(0.7))
        made = analyse(_release(other=(other,)), question="cheated").report
        both = math.log(4) + math.log(7 / 3)
        page = ReadPage(report_html(made)).text
        # The headline is the whole person, not the one answer that the page is about.
        assert page.index(f"ε = {both:.4g}") < page.index("ε = 1.386") < page.index("How many")
        assert "privacy of all 2 answers of one person together" in page
        assert "Without any protection: age." in page
        text = report_text(made)
        assert text.index(f"epsilon {both:.6g}") < text.index("This answer alone: epsilon 1.386")
        assert "Without any protection: age." in text

    def test_no_level_of_privacy_is_shown_as_good(self):
        weak = report_html(analyse(_release(ask.Warner(0.982))).report)
        assert "ε = 3.999" in weak
        assert 'class="card"><span class="label">privacy' in weak
        assert "98.2% sure" in ReadPage(weak).text

    def test_holds_no_record(self):
        """No covariate value and no row-long list gets into the value, the page or the JSON."""
        release = _release()
        done = analyse(release, formula="cheated ~ age")
        saved = done.model.to_json()
        every = report_html(done.report) + json.dumps(done.report.to_dict()) + report_text(done.report) + saved
        for value in release.to_table()["age"].to_pylist()[:200]:
            assert repr(value) not in every

    def test_is_the_same_every_time(self, report):
        assert report_html(report) == report_html(report)


class TestValue:
    def test_is_frozen_and_strictly_jsonable(self, report):
        with pytest.raises(FrozenInstanceError):
            report.question = "other"
        fields = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        assert fields["format"] == "askance-report"
        assert fields["prevalence"]["naive"]["yes"]["estimate"] > 0

    def test_infinite_epsilon_is_strict_json_too(self):
        fields = analyse(_release(ask.Identity(("no", "yes")))).report.to_dict()
        assert json.loads(json.dumps(fields, allow_nan=False))["guarantee"]["epsilon"] == "infinite"

    def test_direct_answers_are_worth_themselves(self):
        made = analyse(_release(ask.Identity(("no", "yes")))).report
        assert made.diagnostics.worth == pytest.approx(2000, rel=1e-9)
        np.testing.assert_allclose(made.prevalence.askance.values, made.prevalence.naive.values, rtol=1e-9)

    def test_worth_agrees_with_the_plan(self, report):
        share = float(report.prevalence.askance.values[1, 0])
        planned = ask.plan(ask.Warner(0.8), share, n=2000).recommended
        assert report.diagnostics.worth == pytest.approx(2000 * planned.worth, rel=1e-6)

    def test_square_designs_leave_nothing_to_check(self, report):
        assert report.diagnostics.check is None
        np.testing.assert_allclose(report.designs[0].observed, report.designs[0].fitted)

    def test_border_is_noted_and_worth_is_left_out(self):
        header = Header((Question("cheated", ask.Warner(0.8)),))
        release = ask.Release.from_table(pa.table({"cheated": ["no"] * 85 + ["yes"] * 15}), header)
        made = analyse(release).report
        assert "moved to the border" in made.notes[0]
        assert made.diagnostics.worth is None
        assert "moved to the border" in ReadPage(report_html(made)).text

    def test_one_report_only(self):
        header = Header((Question("cheated", ask.Warner(0.8)),))
        made = analyse(ask.Release.from_table(pa.table({"cheated": ["no"]}), header)).report
        ReadPage(report_html(made))
        report_text(made)


CHANNELS = {
    "honest": ask.DesignPerRow({"cards": ask.Warner(0.8), "dice": ask.ForcedResponse(1 / 6, 1 / 6)}),
    "cheating": ask.DesignPerRow({"cards": ask.Warner(0.55), "dice": ask.ForcedResponse(1 / 6, 1 / 6)}),
}


def _check(real, stated, seed, rows=4000):
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(rows) < 0.2, "yes", "no")
    group = rng.choice(["cards", "dice"], rows)
    reports = real.simulate(truth, rng, group)
    header = Header((Question("cheated", stated, "", "group"),))
    release = ask.Release.from_table(pa.table({"cheated": reports, "group": group}), header)
    return analyse(release).report.diagnostics.check


def test_fit_of_the_design_has_its_level():
    """200 honest studies: the number with p < 0.1 is binomial(200, 0.1); 5 to 38 misses with probability 1e-4."""
    values = [_check(CHANNELS["honest"], CHANNELS["honest"], seed).p_value for seed in range(200)]
    assert 5 <= sum(value < 0.1 for value in values) <= 38


def test_respondents_who_do_not_follow_are_noticed():
    """The cards were answered almost at random: chi-square on one degree of freedom near 200."""
    check = _check(CHANNELS["cheating"], CHANNELS["honest"], seed=0)
    assert check.p_value < 1e-6
    assert "do NOT fit" in check.in_words()


class TestWriting:
    def test_refuses_and_replaces(self, report, tmp_path):
        path = tmp_path / "report.html"
        assert write_report(path, report) == path
        with pytest.raises(ask.ReleaseError, match="exists already"):
            write_report(path, report)
        write_report(path, report, overwrite=True)
        assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]

    def test_a_failure_leaves_nothing(self, report, tmp_path, monkeypatch):
        def full(*_args, **_options):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "replace", full)
        with pytest.raises(ask.ReleaseError, match="No space left"):
            write_report(tmp_path / "report.html", report)
        assert list(tmp_path.iterdir()) == []


class TestFigures:
    def test_draw_what_they_are_given(self, report):
        drawing = coefficient_plot(report.regression.askance, report.regression.naive)
        tree = ElementTree.fromstring(drawing)
        texts = ["".join(node.itertext()).strip() for node in tree.iter() if node.tag.endswith("text")]
        assert "age" in texts
        assert "Intercept" not in texts
        for variable in ("--ink", "--muted", "--accent", "--wrong"):
            assert f"var({variable})" in drawing
        assert "--wrong" not in coefficient_plot(report.regression.askance, None)

    def test_an_intercept_alone_is_drawn(self):
        made = analyse(_release(), formula="cheated ~ 1").report
        assert "Intercept" in coefficient_plot(made.regression.askance, made.regression.naive)

    def test_global_state_is_left_alone(self, report):
        import matplotlib

        before = dict(matplotlib.rcParams)
        prevalence_plot(report.prevalence.askance, report.prevalence.naive)
        assert dict(matplotlib.rcParams) == before

    def test_missing_errors_can_be_drawn(self):
        values = np.array([[1.0, np.nan, np.nan, np.nan, np.nan, np.nan]])
        ElementTree.fromstring(coefficient_plot(Summary("t", ("x",), values), None))


class TestNumbers:
    @pytest.mark.parametrize(
        ("error", "decimals"), [(0.1, 3), (0.0123, 4), (25.0, 1), (1e4, 0), (1e-20, 9), (0.0, 4), (math.nan, 4)]
    )
    def test_decimals_follow_the_error(self, error, decimals):
        assert decimals_for(error) == decimals

    def test_signs_and_holes(self):
        assert number(-0.0001, 2) == "0.00"
        assert number(-1.5, 1) == "−1.5"
        assert number(math.inf, 1) == "∞"
        assert number(math.nan, 1) == "–"
        assert number(1e140, 2) == "1.00e+140"
        assert p_value(0.00001) == "<.0001"
        assert p_value(math.nan) == "–"
        assert percent(0.12345) == "12.3%"


def test_nothing_that_a_terminal_obeys_is_on_a_page():
    shown = page("red\x1b[31m", "turned\u202e", ["<p>bell\x07 and \x9b2J</p>"], "0")
    assert [mark for mark in "\x1b\u202e\x07\x9b" if mark in shown] == []
    assert r"red\x1b[31m" in shown


def test_figures_say_in_words_what_they_show(report):
    page = report_html(report)
    estimate = report.prevalence.askance.values[1]
    told = f"yes {percent(estimate[0])} (from {percent(estimate[4])} to {percent(estimate[5])})"
    assert f"<desc>Share of each true answer with 95% intervals: {told}.</desc>" in page
    assert "<desc>Coefficients with 95% intervals: age " in page


def test_names_of_levels_that_are_sentences_are_shown_on_several_lines():
    long = "C(school)[T.the northern school for girls and boys]"
    values = np.array([[1.0, 0.1, 10, 0, 0.8, 1.2]])
    drawn = coefficient_plot(Summary("t", (long,), values), None)
    for part in ("C(school)[T.the northern", "school for girls and", "boys]"):
        assert part in drawn


@pytest.mark.filterwarnings("ignore:The bags differ:askance.errors.AskanceWarning")
def test_a_bound_that_says_nothing_is_not_printed():
    rng = np.random.default_rng(0)
    X, bags = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    X[bags == "a"] += 1.0
    model = ask.RatioEstimator(random_state=0).fit(X, bags, {"a": [0.8, 0.2], "b": [0.2, 0.8], "c": [0.5, 0.5]})
    facts = dict(model.summary().facts)
    theorem = next(text for name, text in facts.items() if "Theorem 1" in name)
    assert "says nothing" in theorem
    assert "error at most" not in theorem
