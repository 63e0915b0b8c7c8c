"""Pieces of a self-contained page, shared by all reports: no script, no font, no picture from elsewhere."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from askance.channels.guarantee import Guarantee
from askance.printing import safe_lines
from askance.reports.html_table import html_table
from askance.reports.number_format import MISSING, number
from askance.reports.summary import Summary

_IMAGE = '<svg role="img" aria-label="{}"'


def page(heading: str, over: str, sections: Iterable[str], version: str) -> str:
    """Return the page: heading, a line above it, sections (empty ones are left out) and who made it."""
    style = files("askance.reports").joinpath("page.css").read_text(encoding="utf-8")
    return safe_lines(  # a page is shown in terminals and editors, too
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="robots" content="noindex">\n'
        f"<title>{escape(heading)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<p class="over">{escape(over)}</p><h1>{escape(heading)}</h1>\n'
        + "\n".join(section for section in sections if section)
        + f"\n<footer>Made by askance {escape(version)}. "
        "This page holds results only: no record of any person.</footer>\n</main>\n</body>\n</html>\n"
    )


def notes(texts: Iterable[str]) -> str:
    """Return the warnings that belong to the numbers."""
    return "\n".join(f'<p class="note" role="note"><strong>Note.</strong> {escape(note)}</p>' for note in texts)


def alerts(texts: Iterable[str], word: str = "Alert") -> str:
    """Return what must be read before any number."""
    return "\n".join(f'<p class="note" role="alert"><strong>{word}.</strong> {escape(text)}</p>' for text in texts)


def card(label: str, value: str, words: str = "", kind: str = "", role: str = "") -> str:
    """Return what is seen first: a label, a value in large letters, and HTML with some words about it."""
    alert = f' role="{role}"' if role else ""
    return (
        f'<div class="{f"card {kind}".strip()}"{alert}><span class="label">{escape(label)}</span>'
        f'<div class="big">{escape(value)}</div>{words}</div>'
    )


def privacy_card(guarantee: Guarantee, label: str, words: str = "") -> str:
    """Return the level of privacy in large letters: loud if there is none, and never as if it were good or bad."""
    if math.isinf(guarantee.epsilon):
        said = f"<p>{escape(guarantee.in_words())}</p>{words}"
        return card(label, "No privacy guarantee", said, "exposed", role="alert")
    level = f"ε = {guarantee.epsilon:.4g}{_delta(guarantee)}".replace(" = ", "\u00a0=\u00a0")  # not broken in two
    return card(label, level, f"<p>{escape(_how_sure(guarantee))}</p>{words}")


def privacy_words(guarantee: Guarantee) -> str:
    """Return paragraphs that say what a guarantee promises, or that there is none."""
    if math.isinf(guarantee.epsilon):
        return (
            '<p class="note"><strong>There is no formal privacy guarantee (ε is infinite).</strong> '
            f"{escape(guarantee.in_words())} Treat the reports as confidential.</p>"
        )
    exact = f"The exact level is ε = {guarantee.epsilon:.6g}{_delta(guarantee)}, and it protects {guarantee.protects}."
    proof = f" Why that is so: {code(guarantee.proof)} of the documentation." if guarantee.proof else ""
    return f"<p>{escape(guarantee.in_words())}</p><p>{escape(exact)}{proof}</p>"


def _delta(guarantee: Guarantee) -> str:
    return f", δ = {guarantee.delta:.3g}" if guarantee.delta else ""


def code(text: str) -> str:
    """Return commands or program text as it is."""
    return f"<code>{escape(text)}</code>"


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    wrong: bool = False,
    caption: str = "",
    words: bool = False,
) -> str:
    """Return a table that scrolls by itself where the page is narrow, and is seen to: a shadow is where more follows.

    With ``words`` its cells are sentences, which are broken and begin at the left; see :func:`html_table`.
    """
    kind = "wide words" if words else "wide"
    # What scrolls must be reached with the keyboard, and have a name for those who do not see it; a page has too many
    # tables for each of them to be a landmark.
    named = escape(caption or "table: scrolls sideways where the page is narrow")
    drawn = html_table(heads, rows, wrong=wrong, caption=caption)
    return f'<div class="{kind}" role="group" tabindex="0" aria-label="{named}">{drawn}</div>'


def summary_table(summary: Summary, naive: Summary | None = None) -> str:
    """Return estimates, each with its interval beside it, and the naive ones in a last column.

    Where the page is narrow, what is seen without scrolling is what counts. A column without any entry is left out.
    """
    name, estimate, *others = summary.heads()[:-2]
    heads = [name, estimate, f"{summary.percent} interval", *others]
    rows = [
        [name, estimate, low if low == high == MISSING else f"{low} to {high}", *others]
        for name, estimate, *others, low, high in summary.cells()
    ]
    told = [place for place in range(len(heads)) if place < 2 or any(row[place] != MISSING for row in rows)]
    heads, rows = [heads[place] for place in told], [[row[place] for place in told] for row in rows]
    if naive is not None:
        heads.append("naive (wrong)")
        for row, digits, values in zip(rows, summary.decimals(), naive.values.tolist(), strict=True):
            row.append(number(values[0], digits))
    return table(heads, rows, wrong=naive is not None)


def figure(svg: str, description: str, caption: str) -> str:
    """Return a figure: a description for those who do not see it, and HTML below it."""
    opening, rest = svg.partition(">")[::2]
    # The description is in the drawing, too: it stays with it where it is copied from the page.
    labelled = (
        f"{opening.replace('<svg', _IMAGE.format(escape(description)), 1)}><desc>{escape(description)}</desc>{rest}"
    )
    return f"<figure>{labelled}<figcaption>{caption}</figcaption></figure>"


def facts(lines: Iterable[tuple[str, str]]) -> str:
    """Return names and texts as a list; nothing if there are none."""
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in lines)
    return f"<dl>{items}</dl>" if items else ""


def _how_sure(guarantee: Guarantee) -> str:
    """The sentence that says how sure somebody can become, which a number like 4 does not say to most people."""
    sentences = [f"{sentence.rstrip('.')}." for sentence in guarantee.in_words().split(". ")]
    sure = [sentence for sentence in sentences if "sure of the truth" in sentence or "certainty" in sentence]
    return (sure or sentences)[0].partition(", whatever")[0].rstrip(".") + "."
