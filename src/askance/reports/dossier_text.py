"""The dossier on privacy as plain text and as Markdown."""

import math
from collections.abc import Sequence

from askance.printing import one_line
from askance.reports.dossier import Dossier, DossierSection
from askance.reports.markup_tables import markdown_table, markdown_text
from askance.reports.text import paragraph

DOSSIER_MARK = "# Privacy dossier: "  # the first words of a dossier in Markdown, by which a file is known for one
_ENDS_WITH = "Made by askance {version}. It holds no record of any person and no result of the study."


def dossier_text(dossier: Dossier) -> str:
    """Return the dossier for the terminal."""
    lines = [one_line(f"Privacy dossier: {dossier.title}"), *([dossier.day] if dossier.day else [])]
    lines += [paragraph("ALERT: ", alert) for alert in dossier.alerts]
    lines += ["", *(paragraph(f"{name}: ", text) for name, text in _headline(dossier))]
    for number, section in enumerate(dossier.sections, 1):
        lines += ["", f"{number}. {one_line(section.title)}", *_text(section)]
    return "\n".join([*lines, "", _ENDS_WITH.format(version=dossier.version)])


def dossier_markdown(dossier: Dossier) -> str:
    """Return the dossier as Markdown."""
    blocks = [f"{DOSSIER_MARK}{markdown_text(dossier.title)}", dossier.day]
    blocks += [f"**Alert.** {markdown_text(alert)}" for alert in dossier.alerts]
    blocks += [f"**{name}**: {markdown_text(text)}" for name, text in _headline(dossier)]
    for number, section in enumerate(dossier.sections, 1):
        blocks += [f"## {number}. {markdown_text(section.title)}", *map(markdown_text, section.sentences)]
        blocks += ["\n".join(f"- {markdown_text(name)}: {markdown_text(text)}" for name, text in section.facts)]
        blocks += [markdown_table(section.heads, section.rows, words=True)] if section.rows else []
        blocks += map(markdown_text, section.after)
    return "\n\n".join([*filter(None, blocks), _ENDS_WITH.format(version=dossier.version)]) + "\n"


def _headline(dossier: Dossier) -> list[tuple[str, str]]:
    promised = dossier.guarantee
    level = "NO privacy guarantee" if math.isinf(promised.epsilon) else f"epsilon {promised.epsilon:.6g}"
    delta = f", delta {promised.delta:.3g}" if promised.delta and math.isfinite(promised.epsilon) else ""
    lines = [(f"Privacy of {promised.protects}", f"{level}{delta}")]
    lines += [("Columns without any protection", dossier.without_protection)]
    return lines if dossier.rows is None else [*lines, ("People in the release", f"{dossier.rows:,}")]


def _text(section: DossierSection) -> list[str]:
    lines = [paragraph("", text) for text in section.sentences]
    lines += [paragraph(f"{name}: ", text) for name, text in section.facts]
    for row in section.rows:
        lines += ["", *_entry(section.heads, row)]
    return [*lines, *([""] if section.rows and section.after else []), *(paragraph("", text) for text in section.after)]


def _entry(heads: Sequence[str], row: Sequence[str]) -> list[str]:
    """A row as lines: cells of a dossier are sentences, which no table in a terminal holds."""
    first, *others = zip(heads, row, strict=True)
    if not any(text for _, text in others):  # for somebody to fill in
        others = [(name, "_" * 30) for name, _ in others]
    return [one_line(first[1]), *(f"  {paragraph(f'{name}: ', text)}" for name, text in others if text)]
