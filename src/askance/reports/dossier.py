"""The dossier on privacy, as a value: what a data-protection officer signs, without any result of the study."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from askance import __version__
from askance.channels.guarantee import Guarantee


@dataclass(frozen=True)
class DossierSection:
    """A section that can be cited by its number: sentences, then facts, then a table.

    Parameters
    ----------
    title : str
    sentences : tuple of str
        Each a paragraph.
    facts : tuple of (name, text)
    heads, rows : tuple
        A table; none without rows.
    after : tuple of str
        Paragraphs below the table.
    """

    title: str
    sentences: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Dossier:
    """Everything that is to be known about the privacy of a study, and nothing else.

    Parameters
    ----------
    title : str
        The study's name.
    guarantee : Guarantee
        The level of all answers of one person together: the first thing that is read.
    unprotected : tuple of str
        Columns that are published as they are.
    sections : tuple of DossierSection
    account : mapping
        The same for programs; JSON-able.
    alerts : tuple of str
        What must be read before anything else.
    day : str
        When it was made.
    rows : int, optional
        How many people there are in the release, if there is one.
    version : str
        The version of askance.

    Examples
    --------
    >>> import askance as ask
    >>> dossier = ask.make_dossier(ask.Study.parse(ask.Study.template()))
    >>> print(dossier.guarantee)
    epsilon 4.121, protects all 3 answers of one person together (any two sets of answers of one person)
    >>> dossier.unprotected
    ('group', 'age', 'school')
    >>> [section.title for section in dossier.sections][:2]
    ['What is promised to each person', 'What is not protected']
    """

    title: str
    guarantee: Guarantee
    unprotected: tuple[str, ...]
    sections: tuple[DossierSection, ...]
    account: Mapping[str, Any] = field(default_factory=dict)
    alerts: tuple[str, ...] = ()
    day: str = ""
    rows: int | None = None
    version: str = __version__

    @property
    def passed(self) -> bool:
        """Whether nothing that was checked is wrong."""
        return bool(self.account.get("passed", True))

    @property
    def without_protection(self) -> str:
        """The columns that are published as they are, in words."""
        return ", ".join(self.unprotected) or "none"

    def to_dict(self) -> dict[str, Any]:
        """Return a strictly JSON-able mapping: no NaN, no infinity."""
        return {
            "format": "askance-dossier",
            "version": 1,
            "askance": self.version,
            "title": self.title,
            "made": self.day,
            "guarantee": self.guarantee.to_dict(),
            "guarantee_in_words": self.guarantee.in_words(),
            "unprotected": list(self.unprotected),
            "alerts": list(self.alerts),
            **self.account,
        }

    def __str__(self) -> str:
        from askance.reports.dossier_text import dossier_text

        return dossier_text(self)

    def to_markdown(self) -> str:
        """Return the dossier as Markdown."""
        from askance.reports.dossier_text import dossier_markdown

        return dossier_markdown(self)

    def _repr_html_(self) -> str:
        from askance.reports.dossier_html import dossier_sections

        return "\n".join(dossier_sections(self))
