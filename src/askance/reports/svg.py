"""Figures as inline SVG that follow the page they stand on, light or dark, and print.

What is drawn in the ink, grey, mist, blue or vermilion of ``colours`` takes the page's own colours, which differ
between light and dark; every other colour stays as it is. Text inside coloured cells should therefore be "black" or
"white", not ink.
"""

import io
import re
import textwrap
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from askance.reports.colours import BLUE, GREY, INK, MIST, VERMILION

_PAGE_COLOURS = {INK: "--ink", GREY: "--muted", MIST: "--line", BLUE: "--accent", VERMILION: "--wrong"}
_STYLE = {
    "svg.fonttype": "none",  # text stays text: it is found, read aloud and set in the page's own font
    "svg.hashsalt": "askance",  # the same figure gives the same file
    "font.family": "sans-serif",
    "font.size": 10.5,  # points: as large as the page's own text at the figure's usual width
    "text.parse_math": False,  # a column may be called $x$
    "axes.unicode_minus": True,
    "axes.axisbelow": True,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor", "legend.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), GREY),
    "grid.color": MIST,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
}


def inline_svg(draw: Callable[[Any], object], size: tuple[float, float], prefix: str) -> str:
    """Return what ``draw`` draws on matplotlib axes as an SVG element for a page.

    Parameters
    ----------
    draw : function of matplotlib axes
    size : width and height in inches
        The page decides the width; what matters is the ratio, and the size of the text beside the rest.
    prefix : str
        Different for every figure of a page, so that their ids do not meet.

    Examples
    --------
    >>> inline_svg(lambda axes: axes.plot([1, 2], color="#0072B2"), (4, 3), "line").count("var(--accent)") > 0
    True
    """
    import matplotlib
    from matplotlib.figure import Figure

    written = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        draw(axes)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":  # its labels would be formulas, which are not read here: see text.parse_math
                axis.set_major_formatter(lambda value, place: f"{value:g}")
                axis.set_minor_formatter(lambda value, place: "")
        with warnings.catch_warnings():
            # Only widths are guessed where a font lacks a letter: the page's own font draws it.
            warnings.filterwarnings("ignore", "Glyph .* missing from")
            figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = written.getvalue()
    svg = svg[svg.index("<svg") :]
    # Styles inside an inline figure would leak into the page, and its ids would meet those of the next figure.
    svg = re.sub(r"<(metadata|style)\b.*?</\1>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    # The page decides the size; the view box keeps the proportions.
    for attribute in ("width", "height"):
        svg = re.sub(rf'(<svg[^>]*?) {attribute}="[^"]*"', r"\1", svg, count=1)
    for colour, variable in _PAGE_COLOURS.items():
        svg = svg.replace(colour.lower(), f"var({variable})")
    return svg


_LABEL_WIDTH, _LABEL_LINES = 24, 3  # letters and lines of a name beside a row: three lines are as high as a row is


def wrapped_label(text: str, width: int = _LABEL_WIDTH) -> str:
    """Return a label on up to three lines, for names of levels that are sentences.

    Examples
    --------
    >>> wrapped_label("C(school)[a long name of a school in the north]").splitlines()
    ['C(school)[a long name of', 'a school in the north]']
    """
    longest = min(len(text), width * _LABEL_LINES)
    while len(lines := textwrap.wrap(plain_label(text, longest), width)) > _LABEL_LINES:
        longest -= 1
    return "\n".join(lines)


def wrapped_labels(texts: Sequence[str]) -> list[str]:
    """Return labels of rows that stand together; of those that would read alike what they begin with is left out.

    Examples
    --------
    >>> asked = "How often did anybody in your own household cheat in year {} of school (at any time in it)?"
    >>> print(*wrapped_labels([asked.format(year) for year in (1, 2)]), sep="\\n")
    …1 of school (at any
    time in it)?
    …2 of school (at any
    time in it)?
    """
    labels = [wrapped_label(text) for text in texts]
    for label in dict.fromkeys(labels):  # in their order: a page is made again byte for byte
        alike = [place for place, other in enumerate(labels) if other == label]
        if len({texts[place] for place in alike}) > 1:
            # In the order of the alphabet, what the first and the last begin with is what all of them begin with.
            first, last = min(texts[place] for place in alike), max(texts[place] for place in alike)
            same = next(end for end in range(len(first) + 1) if first[: end + 1] != last[: end + 1])
            start = first.rfind(" ", 0, same) + 1
            for place in alike:
                labels[place] = wrapped_label(f"…{texts[place][start:]}")
    return labels


def plain_label(text: str, longest: int = 28) -> str:
    """Return a label without control characters, which XML forbids, and short enough to leave room for the figure.

    Names of columns and levels often begin alike, and differ at their ends: what is left out is in the middle.

    Examples
    --------
    >>> plain_label("How often did you cheat in an exam in year 1?")
    'How often did you…in year 1?'
    """
    plain = re.sub(r"[\x00-\x1f\x7f]", " ", text)
    if len(plain) <= longest:
        return plain
    end = (longest - 1) * 2 // 5
    return f"{plain[: longest - 1 - end].rstrip()}…{plain[len(plain) - end :].lstrip()}"
