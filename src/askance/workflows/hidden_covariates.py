"""Reports on the right-hand side of a formula: what they mean there, and when they mean nothing."""

from askance.errors import InvalidInput
from askance.learning.face.formula import Formula
from askance.releases.header import Question
from askance.releases.release import Release


def notes_on_hidden_covariates(release: Release, asked: Question, formula: str) -> tuple[str, ...]:
    """Refuse a question that explains itself; say what it means when other reports explain it."""
    columns = Formula(formula).columns
    if asked.name in columns:
        raise InvalidInput(f"{asked.name!r} on both sides of the formula {formula!r}", "covariates right of ~")
    return tuple(
        f"The covariate {question.name!r} is itself hidden: its coefficient is that of the report, not of the truth, "
        "and nearer to zero."
        for question in release.header.questions
        if question.name in columns
    )
