"""What stands on the right-hand side of a formula and may mean something else there than it seems to."""

from itertools import groupby

from askance.engines.base import Engine, engine_from
from askance.errors import InvalidInput
from askance.learning.face.formula import Formula
from askance.learning.face.release_records import ReleaseColumns
from askance.releases.release import Release
from askance.statistics.levels import ColumnLevels
from askance.workflows.report_files import OpenReports

_MOST_LEVELS = 1000  # a formula takes no more
_MOST_SHOWN = 5  # levels that are written in several ways


def notes_on_covariates(opened: OpenReports, engine: str | Engine) -> tuple[str, ...]:
    """Say which covariates are hidden themselves, and which have a level in two spellings."""
    formula = opened.request.formula
    if formula is None:
        return ()
    return (*_on_hidden(opened, formula), *_on_spellings(opened.release, formula, engine_from(engine)))


def _on_hidden(opened: OpenReports, formula: Formula) -> tuple[str, ...]:
    """Refuse a question that explains itself; say what it means when other reports explain it."""
    name = opened.asked.name
    if name in formula.columns:
        raise InvalidInput(f"{name!r} on both sides of the formula {str(formula)!r}", "covariates right of ~")
    return tuple(
        f"The covariate {question.name!r} is itself hidden: its coefficient is that of the report, not of the truth, "
        "and nearer to zero."
        for question in opened.release.header.questions
        if question.name in formula.columns
    )


def _on_spellings(release: Release, formula: Formula, engine: Engine) -> tuple[str, ...]:
    """Name levels that differ by case or spaces alone: each is a group of its own, with a coefficient of its own."""
    free = tuple(
        covariate.name
        for covariate in release.header.covariates
        if covariate.type == "category" and not covariate.levels and covariate.name in formula.columns
    )
    found = engine.reduce(ColumnLevels(free, _MOST_LEVELS), ReleaseColumns(release, free)) if free else {}
    notes = []
    for name, levels in found.items():
        words = sorted(map(str, levels.values or ()), key=lambda word: (_plainly(word), word))
        alike = [several for _, group in groupby(words, _plainly) if len(several := [*group]) > 1]
        if alike:
            notes.append(
                f"Levels of {name!r} differ by case or spaces alone, and count as groups of their own: "
                f"{'; '.join(', '.join(map(repr, several)) for several in alike[:_MOST_SHOWN])}. If they are the same, "
                "write them alike, or give the covariate levels and recode in the study file."
            )
    return tuple(notes)


def _plainly(word: str) -> str:
    return " ".join(word.split()).casefold()
