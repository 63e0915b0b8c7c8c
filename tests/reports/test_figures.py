"""Figures of estimates: names of any kind, more of them than fit, and pages and styles of any colour."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import askance as ask
import estimator_examples
from askance.reports.figures import draw_intervals
from askance.reports.summary import summarise
from askance.reports.svg import inline_svg


def table(names):
    count = len(names)
    return summarise("t", names, np.arange(count) / count, np.eye(count) / 100, 0.95, (), (), "")


def labels(ax):
    return [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]


@pytest.fixture
def axes():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


@pytest.mark.parametrize(
    "question",
    [
        "a very long name of a column that somebody exported from a survey tool, question {}",
        "question {} of the questions that somebody exported from a survey tool with very long names",
        "how often did anybody cheat in an exam in the year {} of your life, roughly (please say what you think)?",
        "oneword" + "x" * 80 + "{}",
    ],
)
def test_long_names_that_differ_have_labels_that_differ(question, axes):
    draw_intervals(axes, table([question.format(place) for place in range(5)]))
    assert len(set(labels(axes))) == 5
    assert all(label.get_text().count("\n") < 3 for label in axes.get_yticklabels())


def test_a_name_is_no_formula(axes):
    names = ["price in $ of a $", r"a $\frac{$ b"]
    draw_intervals(axes, table(names), unit="change in $y$ of $")
    assert labels(axes) == names
    axes.figure.canvas.draw()  # it ended with an error of mathematics


def test_a_figure_of_many_says_how_many_it_leaves_out(axes):
    draw_intervals(axes, table([f"c{place}" for place in range(60)]), unit="change")
    assert axes.get_xlabel() == "change (the first 40 of 60)"
    axes.clear()
    draw_intervals(axes, table([f"c{place}" for place in range(40)]), unit="change")
    assert axes.get_xlabel() == "change"


def test_labels_have_the_colour_of_their_page_or_style():
    with plt.style.context("dark_background"):
        figure, ax = plt.subplots()
        draw_intervals(ax, table(["a", "b"]))
        assert ax.get_yticklabels()[0].get_color() == "white"
        plt.close(figure)
    assert "fill: var(--ink)" in inline_svg(lambda ax: draw_intervals(ax, table(["a", "b"])), (4, 2), "x")


def test_cells_of_a_table_have_text_that_no_page_turns_light():
    model = estimator_examples.ecological_inference().fitted
    svg = inline_svg(model.figures()[0].drawing, (5, 3), "x")
    cells = [part for part in svg.split("<text") if " to " in part]
    assert cells
    assert not any("--ink" in part.split(">")[0] for part in cells)


def test_a_confusion_of_many_classes_has_room_for_each():
    classes = [f"a long name of class {place}" for place in range(9)]
    truth = np.repeat(classes, 20)
    ax = ask.metrics.confusion_matrix(truth, truth, ask.Identity(classes)).plot()
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
    assert ax.get_xticklabels()[0].get_rotation() == 30
    plt.close(ax.figure)


@pytest.mark.parametrize("ax", [np.zeros((3, 2)), "plot.png"])
def test_what_is_no_axes_is_refused(ax):
    with pytest.raises(ask.InvalidInput, match=r"as ax; expected matplotlib axes"):
        ask.metrics.calibration(["yes", "no"] * 9, [0.5] * 18, ask.Warner(0.8)).plot(ax)
