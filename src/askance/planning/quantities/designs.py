"""All designs that can be asked at a given level, each with the parameters that give exactly that level."""

import math
from collections.abc import Sequence
from fractions import Fraction
from inspect import signature
from typing import Any

from askance.channels.alphabet import Label, listed
from askance.channels.labels.finite import FiniteChannel, FiniteLaw
from askance.channels.labels.randomized_response import RandomizedResponse
from askance.channels.labels.surveys import Crosswise, ForcedResponse, Kuk, UnrelatedQuestion, Warner
from askance.channels.specs import FINITE_CHANNELS, channel_from_spec
from askance.errors import InvalidInput, did_you_mean
from askance.planning.quantities.grouped_design import GroupedDesign
from askance.planning.quantities.list_design import ListDesign

_BORN_IN_A_QUARTER = 0.25  # an innocuous trait whose share is known, if dates of birth are spread evenly


def checked_level(epsilon: Any) -> float:
    """Return a level that designs can be made for."""
    try:
        level = float(epsilon)
    except (TypeError, ValueError):
        raise InvalidInput(f"epsilon={epsilon!r}", "a positive number, such as 1.0") from None
    if not (0 < level < math.inf):
        raise InvalidInput(f"epsilon={epsilon!r}", "a positive privacy level, such as 1.0")
    return level


def answer_designs(epsilon: float, classes: Sequence[Label]) -> dict[str, FiniteLaw]:
    """Return every design for a list of answers whose exact level is ``epsilon``.

    Every binary design of a level is a coarsening of Warner's with the same level, so none can be more precise than it.
    Designs that protect one answer only (Mangat, triangular) have no finite level and are not among them.

    Examples
    --------
    >>> [round(design.guarantee.epsilon, 6) for design in answer_designs(1.0, ("no", "yes")).values()]
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    level = checked_level(epsilon)
    answers: Any = tuple(classes)
    response = RandomizedResponse(answers, epsilon=level)
    if len(answers) != 2:
        return {"randomised response": response}
    kept = 1 / (1 + math.exp(-level))
    lost = 1 - kept
    quarter = _BORN_IN_A_QUARTER
    # Of an unrelated question with trait r, asked with probability 1 - t: the larger of the two log ratios is
    # log(1 + t / ((1 - t) m)) with m = min(r, 1 - r); solved for t.
    odds = math.expm1(level) * quarter
    return {
        "randomised response": response,
        "Warner": Warner(kept, answers),
        "crosswise": Crosswise(lost, answers),
        "forced response": ForcedResponse(lost, lost, answers),
        "unrelated question, even odds": UnrelatedQuestion(kept - lost, 0.5, answers),
        "unrelated question, one in four": UnrelatedQuestion(odds / (1 + odds), quarter, answers),
        "Kuk's two decks": Kuk(kept, lost, answers),
    }


def check_answer_design(design: Any, classes: tuple[Label, ...], *, grouped: bool = True) -> None:
    """Refuse what is no design for these answers: the public door, where what a user hands in is looked at."""
    expected = "a finite channel such as Warner(0.8)" + (", or a GroupedDesign" if grouped else "")
    if not isinstance(design, FiniteLaw | GroupedDesign) or (isinstance(design, GroupedDesign) and not grouped):
        raise InvalidInput(f"the design {design!r}", expected, "Plan the designs of a DesignPerRow as a GroupedDesign.")
    if isinstance(design, FiniteLaw) and design.unknowns:
        raise InvalidInput(
            f"the design {design!r}, with something unknown in it", "a GroupedDesign, which assumes a value for it"
        )
    if tuple(design.classes) != tuple(classes):
        raise InvalidInput(
            f"the design {design.short_name} with the answers {listed(design.classes)}",
            f"the answers {listed(classes)}",
        )


def design_from_text(text: str, classes: Sequence[Label] = ("no", "yes")) -> Any:
    """Return the design that somebody wrote in a line, as ``warner p=0.25`` or ``list items=.5,.3,.4``.

    Examples
    --------
    >>> design_from_text("forced-response p_no=1/6 p_yes=1/6").guarantee.epsilon.__round__(3)
    1.609
    """
    kind, *given = text.split() or [""]
    parameters: dict[str, Any] = {}
    for part in given:
        name, found, value = part.partition("=")
        if not found or name in parameters:
            raise InvalidInput(f"{part!r} in the design {text!r}", "each parameter once, as in: warner p=0.25")
        numbers = [_number(one, text) for one in value.split(",")]
        parameters[name] = numbers if len(numbers) > 1 or name == "items" else numbers[0]
    if kind == "list":
        if not set(parameters) <= {"items", "share"} or "items" not in parameters:
            raise InvalidInput(f"the design {text!r}", "a list, as in: list items=.5,.3,.4,.2")
        return ListDesign(**parameters)
    kinds = _answer_kinds()
    if kind not in kinds:
        known = ("list", *kinds)
        near = did_you_mean(kind, known)
        raise InvalidInput(f"the design {text!r}", f"one of {', '.join(known)}, with its parameters", near)
    taken = signature(kinds[kind]).parameters
    lacking = [name for name, one in taken.items() if one.default is one.empty and name not in (*parameters, "classes")]
    if lacking:
        simple = all("float" in str(taken[name].annotation) for name in lacking)
        example = " ".join(f"{name}={value}" for name, value in zip(lacking, (0.2, 0.4), strict=False))
        raise InvalidInput(
            f"the design {text!r} without {', '.join(lacking)}",
            f"its numbers, as in: {kind} {example}" if simple else "a study file that describes such a design",
        )
    if "classes" in taken:
        parameters["classes"] = list(classes)
    return channel_from_spec({"channel": kind, **parameters})


def _answer_kinds() -> dict[str, type[FiniteLaw]]:
    """The kinds of designs that numbers alone describe."""
    return {channel.kind: channel for channel in FINITE_CHANNELS if channel is not FiniteChannel}


def _number(text: str, design: str) -> float:
    try:
        return float(Fraction(text.strip()))
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(f"{text!r} in the design {design!r}", "a number, such as 0.25 or 1/6") from None
