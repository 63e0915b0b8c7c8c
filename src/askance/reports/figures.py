"""Figures as inline SVG: estimates with intervals, and the naive analysis beside them.

Colours are written as CSS variables, so a figure follows the page it stands on, light or dark.
"""

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from askance.reports.summary import Summary

# Drawn in these colours, and replaced by the page's own afterwards.
_INK, _MUTED, _ACCENT, _WRONG = "#010203", "#020304", "#030405", "#040506"
_VARIABLES = {_INK: "--ink", _MUTED: "--muted", _ACCENT: "--accent", _WRONG: "--wrong"}
_MOST_ROWS = 40
_LONGEST_LABEL = 28


def coefficient_plot(estimates: Summary, naive: Summary | None, unit: str = "change in log-odds") -> str:
    """Draw coefficients with intervals; the naive ones beside them. The intercept is left to the table."""
    slopes = [i for i, name in enumerate(estimates.names) if name.split(": ")[-1] != "Intercept"]
    rows = (slopes or list(range(len(estimates.names))))[:_MOST_ROWS]
    return _interval_plot(estimates, naive, rows, unit, zero=True)


def prevalence_plot(estimates: Summary, naive: Summary | None) -> str:
    """Draw the proportion of each true answer with its interval; the naive ones beside them."""
    # Of two shares that sum to one, one is enough.
    rows = [1] if len(estimates.names) == 2 else list(range(len(estimates.names)))[:_MOST_ROWS]
    return _interval_plot(estimates, naive, rows, "share of all respondents (%)", zero=False)


def _interval_plot(estimates: Summary, naive: Summary | None, rows: Sequence[int], unit: str, zero: bool) -> str:
    import matplotlib
    from matplotlib.figure import Figure

    scale = 1 if zero else 100
    height = 0.95 + 0.52 * len(rows)
    style = {
        "svg.fonttype": "none",
        "svg.hashsalt": "askance",
        "font.family": "sans-serif",
        "font.size": 10.5,
        "text.parse_math": False,
        "axes.unicode_minus": True,
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(5.2, height), layout="constrained")
        axes = figure.subplots()
        ticks = np.arange(len(rows))[::-1]
        shift = 0.0 if naive is None else 0.13
        _intervals(axes, scale * estimates.values[rows], ticks + shift, _ACCENT, "o", "askance", filled=True)
        if naive is not None:
            label = "reports taken as the truth (wrong)"
            _intervals(axes, scale * naive.values[rows], ticks - shift, _WRONG, "D", label, filled=False)
        if zero:
            axes.axvline(0, color=_MUTED, linewidth=0.8, zorder=0)
        else:
            # From nothing, so that lengths can be compared, and never beyond everybody.
            axes.set_xlim(0, min(axes.get_xlim()[1], 100.5))
        axes.set_yticks(ticks, [_short(estimates.names[row]) for row in rows])
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_xlabel(unit, color=_MUTED)
        axes.tick_params(axis="x", colors=_MUTED, length=3)
        axes.tick_params(axis="y", colors=_INK, length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(_MUTED)
        axes.grid(axis="x", color=_MUTED, alpha=0.18, linewidth=0.8)
        axes.set_axisbelow(True)
        for text in axes.get_yticklabels():
            text.set_color(_INK)
        return _inline_svg(figure, "slopes" if zero else "shares")


def _intervals(axes: Any, values: Any, heights: Any, colour: str, marker: str, label: str, filled: bool) -> None:
    estimate, low, high = values[:, 0], values[:, 4], values[:, 5]
    axes.hlines(heights, low, high, color=colour, linewidth=2.2 if filled else 1.4, alpha=0.9)
    face = colour if filled else "none"
    axes.plot(
        estimate, heights, marker, markersize=6.5 if filled else 5.5, markerfacecolor=face, markeredgecolor=colour,
        markeredgewidth=1.4, label=label,
    )  # fmt: skip


def _short(name: str) -> str:
    # Control characters are not allowed in XML, and a label that fills the figure leaves no room for it.
    plain = re.sub(r"[\x00-\x1f\x7f]", " ", name)
    return plain if len(plain) <= _LONGEST_LABEL else f"{plain[: _LONGEST_LABEL - 1]}…"


def _inline_svg(figure: Any, prefix: str) -> str:
    written = io.StringIO()
    figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = written.getvalue()
    svg = svg[svg.index("<svg") :]
    # Styles inside an inline figure would leak into the page, and its ids would meet those of the next figure.
    svg = re.sub(r"<(metadata|style)\b.*?</\1>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    # The page decides the size; the view box keeps the proportions.
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    return svg
