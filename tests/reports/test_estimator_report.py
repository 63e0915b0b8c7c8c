"""What a fitted estimator has to say: a page and a text that are whole, safe and never silent about privacy."""

import json
import re
from dataclasses import replace
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest

import askance as ask
from askance.errors import ReleaseError
from askance.reports import (
    BLUE,
    EstimatorReport,
    Headline,
    ReportFigure,
    Summary,
    draw_intervals,
    estimator_page,
    estimator_text,
    inline_svg,
    write_report,
)
from estimator_examples import EXAMPLES
from html_pages import ReadPage

EVIL = "<script>alert('x')</script> & \"more\" $x^2$"
ROW = [1.0, 0.1, 10, 0, 0.8, 1.2]


def _summary(**changes):
    names, values = ("Intercept", EVIL), np.array([ROW, ROW])
    return replace(Summary(EVIL, names, values, facts=((EVIL, EVIL),), notes=(EVIL,), privacy="epsilon 1"), **changes)


def _report(**changes):
    summary = _summary()
    figures = tuple(
        ReportFigure(EVIL, EVIL, partial(draw_intervals, estimates=summary, unit=EVIL), (5.2, 2)) for _ in range(2)
    )
    report = EstimatorReport(
        EVIL, summary, EVIL, ask.Warner(0.8).guarantee, (Headline(EVIL, EVIL, EVIL),), figures, ((EVIL, EVIL),),
        ("another note",), EVIL,
    )  # fmt: skip
    return replace(report, **changes)


class TestPage:
    def test_says_everything(self):
        page = ReadPage(estimator_page(_report()))
        for needed in ("ε = 1.386", "another note", "Intercept", "0.800 to 1.200", "exact level", ask.__version__):
            assert needed in page.text, needed
        assert page.tags.count("svg") == 2

    def test_is_whole_and_safe(self):
        page = ReadPage(estimator_page(_report()))
        page.check_needs_nothing_from_elsewhere()
        page.check_ids_are_unique_and_found()
        # Heading, title, above it, headline (3), note, row, summary's title, captions (2), facts (4), how to repeat;
        # and the figures' own labels.
        assert page.text.count(EVIL) >= 15

    def test_without_estimates_figures_or_guarantee(self):
        bare = EstimatorReport("A tagger", Summary("12 tags", privacy="nobody is asked"))
        page = ReadPage(estimator_page(bare))
        assert "nobody is asked" in page.text
        assert not {"table", "figure", "dl", "code"} & set(page.tags)

    def test_a_delta_stands_beside_its_epsilon(self):
        """The large figure was epsilon alone."""
        page = ReadPage(estimator_page(_report(guarantee=ask.Guarantee(0.5, 1e-6))))
        assert page.text.count("ε = 0.5, δ = 1e-06") == 2
        assert "With probability 1e-06 (delta) that may fail." in page.text

    def test_an_interval_that_there_is_not_is_one_dash(self):
        bare = _summary(values=np.array([[1.0, *[np.nan] * 5]] * 2))
        assert "– to –" not in ReadPage(estimator_page(_report(summary=bare))).text

    def test_the_interval_stands_beside_the_estimate_and_empty_columns_are_left_out(self):
        """On a narrow page z and p were seen, and what they are about had to be scrolled to."""
        page = estimator_page(_report(summary=_summary(values=np.array([[1.0, 0.1, np.nan, np.nan, 0.8, 1.2]] * 2))))
        heads = re.findall("<t[hd][^>]*>([^<]*)</t[hd]>", page[page.index("<thead>") : page.index("</thead>")])
        assert heads == ["", "estimate", "95% interval", "std. error"]
        assert not re.search("<th[^>]*></th>", page)  # what is read out as a heading must have words

    def test_a_title_is_not_said_twice(self):
        summary = _summary(title="Shares", names=("yes",), values=np.array([ROW]))
        assert estimator_page(_report(summary=summary, title="Shares")).count("Shares") == 2  # and the tab

    def test_a_model_says_how_the_truth_was_hidden_and_what_its_level_leaves_out(self, tmp_path):
        reports = ["no"] * 600 + ["yes"] * 400
        ask.Prevalence(ask.Warner(0.8)).fit(reports).report(tmp_path / "page.html")
        text = ReadPage((tmp_path / "page.html").read_text(encoding="utf-8")).text
        assert "how the truth was hidden With probability 0.8 the respondent answers the sensitive statement" in text
        assert "Nothing else that this was learned from is protected" in text
        whole = estimator_page(_report(whole_person=ask.Warner(0.8).guarantee, unprotected=("age",)))
        assert "Nothing else that this was" not in whole
        assert "Without any protection: age." in whole

    def test_no_guarantee_is_loud(self):
        page = estimator_page(_report(guarantee=ask.Triangular(0.25).guarantee))
        assert "No privacy guarantee" in page
        assert 'role="alert"' in page

    def test_is_written_whole_and_not_over_another(self, tmp_path):
        write_report(tmp_path / "page.html", _report())
        assert (tmp_path / "page.html").read_text(encoding="utf-8") == estimator_page(_report())
        with pytest.raises(ReleaseError, match="exists already"):
            write_report(tmp_path / "page.html", _report())

    def test_ready_drawings_are_taken_as_they_are(self):
        svg = '<svg viewBox="0 0 1 1"></svg>'
        assert '<svg role="img" aria-label="a dot" viewBox' in estimator_page(
            _report(figures=(ReportFigure("dot", "a dot", svg),))
        )


class TestText:
    def test_says_everything(self):
        text = estimator_text(_report())
        for needed in (EVIL, "another note", "Intercept", "privacy: epsilon 1", "80.0% sure"):
            assert needed in text

    def test_is_plain_json_too(self):
        account = _report().to_dict()
        assert json.loads(json.dumps(account, allow_nan=False))["summary"]["privacy"] == "epsilon 1"


class TestFigure:
    def test_follows_the_page_and_is_well_formed(self):
        svg = inline_svg(lambda axes: axes.plot([0, 1], color=BLUE), (4, 3), "one")
        ElementTree.fromstring(svg)
        assert "var(--accent)" in svg
        assert "var(--ink)" in svg or "var(--muted)" in svg
        assert BLUE.lower() not in svg

    def test_a_long_unit_is_not_cut_off_at_the_border(self):
        drawn = partial(draw_intervals, estimates=_summary(), unit="change in log-odds, in units that can be compared")
        svg = inline_svg(drawn, (5.2, 2), "one")
        assert "in log-odds, in units that<" in svg
        assert ">can be compared<" in svg

    def test_numbers_below_an_axis_do_not_run_into_each_other(self):
        values = np.array([[0.1, 0.005, 20, 0, 0.09, 0.11], [-0.03, 0.02, -1.4, 0.15, -0.072, 0.0113]])
        drawn = partial(draw_intervals, estimates=_summary(values=values, names=("age", "income")), unit="log-odds")
        ticks = re.findall(r">(−?0\.[0-9]+)<", inline_svg(drawn, (5.2, 2), "one"))
        assert 3 <= len(ticks) <= 7, ticks

    def test_text_in_coloured_cells_keeps_its_colour_on_a_dark_page(self):
        drawing = EXAMPLES["EcologicalInference"]().fitted.figures()[0].drawing
        cells = re.findall('<text style="([^"]*)"[^>]*>[0-9]+ to [0-9]+<', inline_svg(drawing, (5.2, 2), "one"))
        assert len(cells) == 4
        assert not any("--ink" in style for style in cells)

    def test_letters_that_a_font_lacks_are_the_browsers_matter(self):
        # Text stays text, so no letter is drawn here: a warning would be about nothing.
        assert "学校" in inline_svg(lambda axes: axes.set_xlabel("学校"), (4, 3), "one")

    def test_leaves_no_trace_in_the_settings_of_matplotlib(self):
        import matplotlib

        before = dict(matplotlib.rcParams)
        inline_svg(lambda axes: None, (4, 3), "one")
        assert dict(matplotlib.rcParams) == before


class TestSummary:
    def test_privacy_comes_last_of_the_facts(self):
        assert str(_summary(notes=())).splitlines()[-1] == "privacy: epsilon 1"
        assert [*_summary().to_dict()["facts"]] == [EVIL, "privacy"]

    def test_without_rows_it_is_text_a_frame_and_a_page(self):
        empty = Summary("a tagger", privacy="nobody is asked")
        assert str(empty) == "a tagger\nprivacy: nobody is asked"
        assert empty.to_frame().shape == (0, 6)
        assert "<table" not in empty._repr_html_()

    def test_in_a_notebook_it_is_a_table_and_escaped(self):
        shown = ReadPage(_summary()._repr_html_())
        assert shown.tags.count("table") == 1
        assert "script" not in shown.tags
        assert shown.text.count(EVIL) == 5  # caption, row, a fact's name and text, a note
        assert "epsilon 1" in shown.text
