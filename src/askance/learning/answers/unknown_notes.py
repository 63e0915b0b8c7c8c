"""What a fit with unknown numbers says of itself: estimates at a border, or outside of what was said to be known."""

from collections.abc import Sequence
from typing import Any

from scipy.special import expit

from askance.channels.alphabet import listed
from askance.learning.answers.unknown_objective import JointModel
from askance.learning.answers.unknown_problem import UnknownProblem
from askance.solvers.newton import Solution


def out_of_bounds(channel: Any, logits: Sequence[float]) -> list[str]:
    """Say which estimates are not where the channel's guarantee says that they must be."""
    found = zip(channel.unknowns.items(), map(float, expit(logits)), strict=True)
    return [
        f"The estimate of {name} is {value:.3g}, and it was said to be known that it is between {unknown.between[0]:g} "
        f"and {unknown.between[1]:g}. The guarantee holds only if it is."
        for (name, unknown), value in found
        if not unknown.between[0] <= value <= unknown.between[1]
    ]


def border_note(name: str, solution: Solution, model: JointModel, problem: UnknownProblem) -> str:
    """Say that the likelihood is highest at a border, for the coefficients or for an unknown number."""
    if name == "the model" and not len(model.columns):
        return (
            f"The likelihood is highest with a share of {listed(problem.channel.classes)} at its border, 0. The log-F "
            "penalty moves the estimate inside; the interval, which includes the border, says what is known."
        )
    if name == "the model":
        return (
            "The likelihood grows without end in some direction of the coefficients (the classes are separated, or "
            "fewer carriers were reported than chance alone would give): there is no finite maximum. The log-F "
            "penalty keeps them finite; read the intervals, which may be open, rather than the estimates."
        )
    places = model.unknown_slices[list(problem.channel.unknowns).index(name)]
    border = 0 if solution.theta[places.start] < 0 else 1
    return (
        f"The likelihood is highest with {name} at its border, {border}. The log-F penalty moves the estimate inside, "
        "so that coefficients take its uncertainty into account; its interval includes the border."
    )
