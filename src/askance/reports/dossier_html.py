"""The dossier on privacy as one self-contained page; in neutral colours, because no level is good by itself."""

from html import escape

from askance.reports.dossier import Dossier, DossierSection
from askance.reports.page import alerts, card, facts, page, privacy_card, table


def dossier_page(dossier: Dossier) -> str:
    """Return the page: the level of a whole person, what is not protected, and every section by its number.

    Examples
    --------
    >>> import askance as ask
    >>> "4.121" in dossier_page(ask.make_dossier(ask.Study.parse(ask.Study.template())))
    True
    """
    over = f"Privacy dossier · {dossier.day}" if dossier.day else "Privacy dossier"
    return page(dossier.title, over, dossier_sections(dossier), dossier.version)


def dossier_sections(dossier: Dossier) -> list[str]:
    """Return what stands on the page, in order."""
    numbered = [_section(number, section) for number, section in enumerate(dossier.sections, 1)]
    return [alerts(dossier.alerts), _cards(dossier), *numbered]


def _cards(dossier: Dossier) -> str:
    count = len(dossier.unprotected)
    columns = f"<p>{escape(dossier.without_protection)}</p>" if count else ""
    shown = [
        privacy_card(dossier.guarantee, f"privacy of {dossier.guarantee.protects}"),
        card("columns without any protection", str(count) if count else "none", columns),
    ]
    if dossier.rows is not None:
        shown.append(card("people in the release", f"{dossier.rows:,}"))
    return f'<div class="cards">{"".join(shown)}</div>'


def _section(number: int, section: DossierSection) -> str:
    before, after = (
        "".join(f"<p>{escape(text)}</p>" for text in texts) for texts in (section.sentences, section.after)
    )
    rows = table(section.heads, section.rows, words=True) if section.rows else ""
    return f"<h2>{number}. {escape(section.title)}</h2>{before}{facts(section.facts)}{rows}{after}"
