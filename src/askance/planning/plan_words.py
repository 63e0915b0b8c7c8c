"""A plan in words: the table that is printed, and paragraphs to quote."""

import math
from typing import TYPE_CHECKING

from askance.planning.quantities.grouped_design import GroupedDesign
from askance.printing import html_notes
from askance.reports.text_table import aligned

if TYPE_CHECKING:
    from askance.planning.study_plan import Plan, PlannedDesign

# A share that lies this many standard errors from zero has about the normal law that a plan takes for granted. Nearer,
# one estimate in 700 or more is below zero, and intervals are lopsided.
_FAR_ENOUGH = 3.0


def plan_html(plan: "Plan") -> str:
    """Return the plan for a notebook: the table of all designs, with what follows from it above."""
    lines = [line for line in plan.text().split("\n") if line.strip()]
    return html_notes(f"Plan for {plan.wanted}", lines, *(([], []) if plan.quantity.is_error else _compared(plan)))


def _compared(plan: "Plan") -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table of all designs."""
    tested = _is_tested(plan)
    heads = ["design", "epsilon", "respondents", "std. error", "margin", *(["power"] if tested else []), "worth"]
    rows = [
        [
            design.name,
            "none" if math.isinf(design.epsilon) else f"{design.epsilon:.4g}",
            f"{design.n:,}",
            f"{max(design.std_errors):.4f}",
            f"±{design.margin:.4f}",
            *([f"{design.power:.3f}"] if tested else []),
            f"{design.worth:.3f}",
        ]
        for design in plan.designs
    ]
    return heads, rows


def plan_table(plan: "Plan") -> str:
    """Return the table of all designs, and what follows from it."""
    if plan.quantity.is_error:
        return _error_table(plan)
    return "\n".join(
        [
            f"Plan for {plan.wanted}, {100 * plan.level:g}% intervals, {plan.quantity.assumption()}",
            *aligned(*_compared(plan)),
            'worth: directly asked people that one respondent stands for; epsilon "none": no guarantee.',
            *_simulated(plan),
            *_advice(plan),
            *_cautions(plan),
        ]
    )


def _error_table(plan: "Plan") -> str:
    """The table where the expected error itself is planned: no intervals, no tests."""
    heads = ["design", "epsilon", "rows", "expected error", "worth"]
    rows = [
        [
            design.name,
            f"{design.epsilon:.4g}",
            f"{design.n:,}",
            f"{max(design.std_errors):.4f}",
            f"{design.worth:.3f}",
        ]
        for design in plan.designs
    ]
    return "\n".join(
        [
            f"Plan for {plan.wanted}, {plan.quantity.assumption()}",
            *aligned(heads, rows),
            "expected error: of all ratios of a new group, added up; worth: rows with exact counts that one is worth.",
            *_simulated(plan),
            *_advice(plan),
        ]
    )


def _is_tested(plan: "Plan") -> bool:
    """Whether a power says something: that some people carry an answer is hardly ever the question."""
    if "power" in plan.wanted:
        return True
    return not plan.quantity.has_border and any(float(value) != plan.quantity.null for value in plan.quantity.values)


def _simulated(plan: "Plan") -> list[str]:
    checked = [(design.name, design.simulated) for design in plan.designs if design.simulated is not None]
    if not checked:
        return []
    if plan.quantity.is_error:
        rows = [[name, f"{found.studies}", f"{max(found.std_errors):.4f}"] for name, found in checked]
        return aligned(["simulated", "studies", "mean error"], rows)
    heads = ["simulated", "studies", "std. error", "stated", "coverage", "power"]
    rows = [
        [
            name,
            f"{found.studies}",
            f"{max(found.std_errors):.4f}",
            f"{max(found.stated):.4f}",
            f"{min(found.coverage):.3f}",
            f"{min(found.power):.3f}",
        ]
        for name, found in checked
    ]
    return aligned(heads, rows)


def _advice(plan: "Plan") -> list[str]:
    best = plan.recommended
    if len(plan.designs) == 1:
        return [str(best.channel.guarantee)]
    beaten = [
        f"{design.name} is beaten by {design.beaten_by}: more precise, and no less private."
        for design in plan.designs
        if design.beaten_by
    ]
    if math.isinf(best.epsilon):
        return [*beaten, f"Most precise: {best.name}; none of these designs gives privacy."]
    alike = f" As precise: {', '.join(plan.equals)}; take the one that people understand." if plan.equals else ""
    if " and " in plan.wanted:
        return [*beaten, f"Recommended: {best.name}, which needs the smallest epsilon, {best.epsilon:.4g}.{alike}"]
    return [
        *beaten,
        f"Recommended: {best.name}, the most precise with epsilon at most {plan.epsilon:.4g}.{alike}",
    ]


def _assumed(design: "PlannedDesign") -> str:
    """What the design takes for granted about numbers that nobody knows."""
    values = design.channel.psi if isinstance(design.channel, GroupedDesign) else {}
    return ", ".join(f"{name} = {value:.4g}" for name, value in values.items())


def _cautions(plan: "Plan") -> list[str]:
    best = plan.recommended
    taken = [f"Assumed under {design.name}: {_assumed(design)}." for design in plan.designs if _assumed(design)]
    near = [
        name
        for name, value, error in zip(plan.quantity.names, plan.quantity.values, best.std_errors, strict=True)
        if plan.quantity.has_border and 0 < value < _FAR_ENOUGH * error
    ]
    if not near:
        return taken
    return [
        *taken,
        f"Caution: {', '.join(near)} would be fewer than {_FAR_ENOUGH:g} standard errors from zero. Estimates below "
        "zero will occur, and intervals are lopsided there: check the plan by simulation.",
    ]


def plan_text(plan: "Plan") -> str:
    """Return paragraphs for an ethics board or a grant."""
    best = plan.recommended
    known = "rows of known counts" if plan.quantity.is_error else "directly asked people"
    return "\n\n".join([_size(plan, best), _privacy(best, known), _basis(plan, best)])


def _size(plan: "Plan", best: "PlannedDesign") -> str:
    if plan.quantity.is_error:
        return (
            f"The bags will have {best.n:,} rows in all, and their counts are released by the design {best.name}. "
            f"{plan.quantity.assumption().capitalize()}, the ratios of a new group will be off by "
            f"{max(best.std_errors):.3g}, all errors added up, in expectation."
        )
    # Of two answers the second is what is asked about, and both have the same margin.
    widest = max(range(len(best.margins)), key=lambda i: (round(best.margins[i], 12), i))
    name, value = plan.quantity.names[widest], float(plan.quantity.values[widest])
    given = ", and ".join(part for part in (plan.quantity.assumption().capitalize(), _assumed(best)) if part)
    sentence = (
        f"The study will ask {best.n:,} people by the design {best.name}. {given}, the estimate of {name!r} (assumed "
        f"to be {value:.4g}) will have a standard error of {best.std_errors[widest]:.3g}, so that its "
        f"{100 * plan.level:g}% interval reaches {best.margins[widest]:.3g} to each side."
    )
    if _is_tested(plan):
        size, null = 100 * (1 - plan.level), plan.quantity.null
        sentence += f" A test of size {size:.3g}% will tell it from {null:g} with probability {best.power:.2f}."
    return sentence


def _privacy(best: "PlannedDesign", known: str) -> str:
    guarantee = best.channel.guarantee
    if math.isinf(best.epsilon):
        return "This design gives no formal guarantee: some answers tell the truth about a respondent."
    direct = f"{math.ceil(best.n * best.worth):,} {known} would tell as much: that is the price."
    if guarantee.protects == "one label":  # the owner of the labels draws the noise, not a respondent
        but = f", but for a chance of {guarantee.delta:g}" if guarantee.delta else ""
        return (
            f"Each label is protected: {guarantee}. What is released can change the odds between two labels of a row "
            f"by a factor of at most {math.exp(best.epsilon):.3g}{but}, whatever else is known, as long as the labels "
            "and the noise stay with their owner. Every further release about the same labels adds its own epsilon. "
            f"{direct}"
        )
    return f"Each answer is protected: {guarantee}. {guarantee.in_words()} {direct}"


def _basis(plan: "Plan", best: "PlannedDesign") -> str:
    checked = best.simulated
    if checked is None and plan.quantity.is_error:
        return "This follows from a formula for large bags."
    if checked is None:
        return "These figures follow from the variance formula of the estimator that will be used."
    if plan.quantity.is_error:
        return (
            f"This follows from a formula for large bags; {checked.studies} simulated studies were off by "
            f"{max(checked.std_errors):.3g} in the mean."
        )
    return (
        f"These figures follow from the variance formula of the estimator that will be used; {checked.studies} "
        f"simulated studies had a standard error of {max(checked.std_errors):.3g}, a coverage of "
        f"{min(checked.coverage):.2f} and a power of {min(checked.power):.2f}."
    )
