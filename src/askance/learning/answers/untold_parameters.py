"""Parameters that reports say nothing about, although true labels would: counted, and refused or said."""

import numpy as np

from askance.arrays import Floats
from askance.errors import Unidentifiable

# Curvature of the reports' likelihood along a direction, as a share of that which true labels would give there: with
# less, the reports do not tell the parameters of that direction apart. Response among 17 tags at level .1 leaves 4e-5.
NO_INFORMATION = 1e-6
_DEPENDENT = 1e-12  # relative eigenvalue of the products of likelihoods below which truths' laws are combinations


def laws_are_independent(matrix: Floats) -> bool:
    """Whether no truth's reports have a law that mixes those of others: then reports tell what labels would."""
    scaled = matrix / np.maximum(matrix.max(axis=1, keepdims=True), np.finfo(float).tiny)
    sizes = np.linalg.eigvalsh(scaled.T @ scaled)
    return bool(sizes[0] > _DEPENDENT * sizes[-1])


def untold_directions(information: Floats, complete: Floats, rounding: float = 1e-13) -> int:
    """Return along how many directions reports say nothing, although true labels would.

    Parameters
    ----------
    information : summed squares of the scores of the reports
        These are zero where reports say nothing. The curvature may be below zero also where they say something.
    complete : of true labels
    rounding : float
        The relative error of both. Directions along which true labels themselves say so little that it matters are not
        judged.
    """
    values, vectors = np.linalg.eigh(complete)
    known = values > rounding / NO_INFORMATION * max(values.max(initial=0.0), np.finfo(float).tiny)
    root = vectors[:, known] / np.sqrt(values[known])
    shares = np.linalg.eigvalsh(root.T @ information @ root)
    return int(np.count_nonzero(shares < NO_INFORMATION))


def untold_refusal(count: int, parameters: int) -> Unidentifiable:
    """What is raised where so many directions are not told, and nothing else decides about them."""
    return Unidentifiable(
        _said(count, parameters),
        "features that differ only between truths that reports tell apart, or some rows with exact labels",
        "Leave out the features that tell such truths apart, or set a ridge, which then decides about them.",
    )


def untold_note(count: int, parameters: int, by: str) -> str:
    """What is said where a penalty decides about them."""
    said = _said(count, parameters)
    return f"{said[0].upper()}{said[1:]}; {by} decides about these."


def _said(count: int, parameters: int) -> str:
    return (
        f"the reports do not determine {count} of {parameters} parameters: truths that they do not tell apart differ "
        "in them"
    )
