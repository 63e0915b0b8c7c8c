"""Reports on the right-hand side of a formula: what they mean there, and when they mean nothing."""

from askance.errors import InvalidInput
from askance.workflows.report_files import OpenReports


def notes_on_hidden_covariates(opened: OpenReports) -> tuple[str, ...]:
    """Refuse a question that explains itself; say what it means when other reports explain it."""
    formula, name = opened.request.formula, opened.asked.name
    if formula is None:
        return ()
    if name in formula.columns:
        raise InvalidInput(f"{name!r} on both sides of the formula {str(formula)!r}", "covariates right of ~")
    return tuple(
        f"The covariate {question.name!r} is itself hidden: its coefficient is that of the report, not of the truth, "
        "and nearer to zero."
        for question in opened.release.header.questions
        if question.name in formula.columns
    )
