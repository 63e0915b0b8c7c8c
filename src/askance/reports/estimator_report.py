"""What a fitted estimator has to say, as a value: numbers, texts and figures, never a record."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from askance import __version__
from askance.channels.guarantee import Guarantee
from askance.reports.summary import Summary
from askance.reports.units import Unit


@dataclass(frozen=True, eq=False)
class ReportFigure:
    """A figure of a report.

    Parameters
    ----------
    title : str
        What stands below it.
    description : str
        What it shows, for those who do not see it.
    drawing : function of matplotlib axes, or str
        Draws the figure; or an SVG element that is ready. Axes are drawn on in the page's font and colours. What has
        the ink, grey, mist, blue or vermilion of ``askance.reports`` becomes lighter on a dark page; other colours
        stay.
    size : (width, height) in inches
        Of what the function draws. 5.2 is as wide as the page shows a figure.
    """

    title: str
    description: str
    drawing: Callable[[Any], object] | str
    size: tuple[float, float] = (5.2, 3.2)


@dataclass(frozen=True)
class Headline:
    """A number in large letters on top of a report, such as Headline("accuracy on the truth", "87%", "± 2%").

    Parameters
    ----------
    label, value : str
    words : str
        A sentence below it; may be empty.
    """

    label: str
    value: str
    words: str = ""


@dataclass(frozen=True, eq=False)
class EstimatorReport:
    """Everything that is shown about a fitted estimator.

    Parameters
    ----------
    title : str
        The heading.
    summary : Summary
        Estimates (there may be none), facts, notes and privacy.
    estimator : str
        The estimator's name; above the heading.
    guarantee : Guarantee, optional
        What the reports or totals that it learned from promise. Without one, ``summary.privacy`` is all that is said.
    headlines : tuple of Headline
    figures : tuple of ReportFigure
    facts : tuple of (name, text)
        More of them than the summary has, shown after its own.
    notes : tuple of str
        Warnings; those of the summary are shown anyway.
    how_to_repeat : str
        Commands or Python that make the report again.
    version : str
        The version of askance.
    whole_person : Guarantee, optional
        The level of all answers of one person together, if these are more than it learned from.
    unprotected : tuple of str
        Columns that are published as they are, if it is known which.
    units : tuple of Unit
        How much of a feature its coefficient is told for, beside the raw one.
    origin : tuple of (name, text)
        When and of what a page was made: days and digests, which are no result.

    Examples
    --------
    >>> from askance.reports import EstimatorReport, Summary, estimator_text
    >>> report = EstimatorReport("A tagger from counts", Summary("12 tags", privacy="the annotator's own counts"))
    >>> print(estimator_text(report))
    A tagger from counts
    <BLANKLINE>
    12 tags
    privacy: the annotator's own counts
    """

    title: str
    summary: Summary
    estimator: str = ""
    guarantee: Guarantee | None = None
    headlines: tuple[Headline, ...] = ()
    figures: tuple[ReportFigure, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    how_to_repeat: str = ""
    version: str = __version__
    whole_person: Guarantee | None = None
    unprotected: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()
    origin: tuple[tuple[str, str], ...] = ()

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The warnings of the summary and the report, each once."""
        return tuple(dict.fromkeys((*self.summary.notes, *self.notes)))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping; figures by their titles and descriptions."""
        return {
            "format": "askance-estimator-report",
            "version": 1,
            "askance": self.version,
            "title": self.title,
            "estimator": self.estimator,
            "summary": self.summary.to_dict(),
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "whole_person": None if self.whole_person is None else self.whole_person.to_dict(),
            "unprotected": list(self.unprotected),
            "headlines": [vars(headline) for headline in self.headlines],
            "figures": [{"title": figure.title, "description": figure.description} for figure in self.figures],
            "facts": dict(self.facts),
            "notes": list(self.all_notes),
            "how_to_repeat": self.how_to_repeat,
        }
