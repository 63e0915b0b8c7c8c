"""A plan in words: the table that is printed, and paragraphs to quote."""

import math
from typing import TYPE_CHECKING

from askance.reports.text_table import aligned

if TYPE_CHECKING:
    from askance.planning.study_plan import Plan, PlannedDesign

# A share that lies this many standard errors from zero has about the normal law that a plan takes for granted. Nearer,
# one estimate in 700 or more is below zero, and intervals are lopsided.
_FAR_ENOUGH = 3.0


def plan_table(plan: "Plan") -> str:
    """Return the table of all designs, and what follows from it."""
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
    return "\n".join(
        [
            f"Plan for {plan.wanted}, {100 * plan.level:g}% intervals, {plan.quantity.assumption()}",
            *aligned(heads, rows),
            'worth: directly asked people that one respondent stands for; epsilon "none": no guarantee.',
            *_simulated(plan),
            *_advice(plan),
            *_cautions(plan),
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


def _cautions(plan: "Plan") -> list[str]:
    best = plan.recommended
    near = [
        name
        for name, value, error in zip(plan.quantity.names, plan.quantity.values, best.std_errors, strict=True)
        if plan.quantity.has_border and 0 < value < _FAR_ENOUGH * error
    ]
    if not near:
        return []
    return [
        f"Caution: {', '.join(near)} would be fewer than {_FAR_ENOUGH:g} standard errors from zero. Estimates below "
        "zero will occur, and intervals are lopsided there: check the plan by simulation."
    ]


def plan_text(plan: "Plan") -> str:
    """Return paragraphs for an ethics board or a grant."""
    best = plan.recommended
    return "\n\n".join([_size(plan, best), _privacy(best), _basis(plan, best)])


def _size(plan: "Plan", best: "PlannedDesign") -> str:
    # Of two answers the second is what is asked about, and both have the same margin.
    widest = max(range(len(best.margins)), key=lambda i: (round(best.margins[i], 12), i))
    name, value = plan.quantity.names[widest], float(plan.quantity.values[widest])
    sentence = (
        f"The study will ask {best.n:,} people by the design {best.name}. {plan.quantity.assumption().capitalize()}, "
        f"the estimate of {name!r} (assumed to be {value:.4g}) will have a standard error of "
        f"{best.std_errors[widest]:.3g}, so that its {100 * plan.level:g}% interval reaches {best.margins[widest]:.3g} "
        f"to each side."
    )
    if _is_tested(plan):
        size, null = 100 * (1 - plan.level), plan.quantity.null
        sentence += f" A test of size {size:.3g}% will tell it from {null:g} with probability {best.power:.2f}."
    return sentence


def _privacy(best: "PlannedDesign") -> str:
    guarantee = best.channel.guarantee
    if math.isinf(best.epsilon):
        return "This design gives no formal guarantee: some answers tell the truth about a respondent."
    direct = f"{math.ceil(best.n * best.worth):,} directly asked people would tell as much: that is the price."
    return f"Each answer is protected: {guarantee}. {guarantee.in_words()} {direct}"


def _basis(plan: "Plan", best: "PlannedDesign") -> str:
    checked = best.simulated
    if checked is None:
        return "These figures follow from the variance formula of the estimator that will be used."
    return (
        f"These figures follow from the variance formula of the estimator that will be used; {checked.studies} "
        f"simulated studies had a standard error of {max(checked.std_errors):.3g}, a coverage of "
        f"{min(checked.coverage):.2f} and a power of {min(checked.power):.2f}."
    )
