"""What a file of a mean operator says, checked: all that follows from the mechanism and public numbers is recomputed.

Facts that nothing follows from are the values themselves, the names of classes and columns, how many people there are,
how long their rows are and how they were shaped, the mechanism, and the level that was asked for. With randomised
response the covariance of the noise follows from features, which are not in the file: of it the size is checked, and
that it can be one.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import Label, as_labels
from askance.errors import InvalidInput
from askance.mechanisms.budget import Budget
from askance.mechanisms.sums.label_shape import LabelShape
from askance.mechanisms.sums.label_sums import LabelSums
from askance.mechanisms.sums.mean_operator_mechanisms import SumMechanism, choose_sum_mechanism
from askance.releases.counts_facts import exact_level, read_exact_level

RESPONSE = "response"
_PUBLIC = ("step_bits", "one_norm", "squared_two_norm", "squared_sum")
_ROUNDING = 1e-9  # relative: of sums of doubles, and of squares of roots
_FARTHEST_BITS = 1100  # binary places of a double, before or after the point
_MOST_STEPS = 1 << 80  # a norm of 2^27 features of 2^53 steps each


class ToldSums(NamedTuple):
    """What is public about sums of features by label, and what follows from it."""

    sums: LabelSums
    mechanism: SumMechanism
    predicted: dict[str, float]


def told_sums(sums: LabelSums, asked: Budget) -> dict[str, Any]:
    """Return the public facts from which a reader recomputes the rest."""
    return {"asked": exact_level(asked), "sums": {name: getattr(sums, name) for name in _PUBLIC}}


def norms_of(sums: LabelSums) -> dict[str, float]:
    """Return the largest norms of a row, in the units of the features."""
    return {"one": sums.one_norm * sums.step, "two": float(sums.squared_two_norm) ** 0.5 * sums.step}


def read_sums(fields: Mapping[str, Any]) -> ToldSums:
    """Return the mechanism that a file tells of, calibrated anew from the public facts."""
    classes = as_labels(fields["classes"], "classes")
    rows, intercept = fields["rows"], fields["intercept"]
    if type(rows) is not int or not 1 <= rows <= 1 << 53:
        raise InvalidInput(f"rows = {rows!r:.40}", "how many people there are: 1 to 2^53")
    if not isinstance(intercept, bool):
        raise InvalidInput(f"intercept = {intercept!r:.40}", "true or false")
    shape = read_shape(fields)
    width = (len(fields["columns"]) if shape is None else shape.width) + intercept
    name = str(fields["mechanism"])
    earlier = fields["version"] == 1
    public = _public_of_version_1(fields) if earlier else fields["sums"]
    sums = _checked_sums(public, (len(classes), width), rows, intercept)
    if shape is not None and sums.squared_two_norm * sums.step**2 - intercept > shape.longest * (1 + _ROUNDING):
        raise InvalidInput("rows that are longer than their shape allows", f"at most {shape.longest**0.5:.6g} long")
    said = {str(key): float(value) for key, value in fields["predicted"].items()}
    if earlier:
        asked = Budget.of(fields["guarantee"]["epsilon"], fields["guarantee"]["delta"])
        chosen, predicted = _of_version_1(name, said, sums, asked, classes)
    else:
        asked = read_exact_level(fields["asked"])
        chosen, predicted = choose_sum_mechanism("auto" if len(said) > 1 else name, sums, asked, classes)
    if chosen.name != name:
        raise InvalidInput(f"the mechanism {name!r:.40}", f"{chosen.name}, which errs least")
    return ToldSums(sums, chosen, predicted)


def read_shape(fields: Mapping[str, Any]) -> LabelShape | None:
    """Return what a file says was done to the features before labels were added up with them."""
    if fields["version"] < 3:
        return None
    shape = LabelShape.from_dict(fields["shape"])
    if shape.columns != len(fields["columns"]):
        raise InvalidInput(f"a shape for {shape.columns} features", f"one for the {len(fields['columns'])} columns")
    return shape


def read_covariance(fields: Mapping[str, Any], released: ToldSums) -> Any:
    """Return the covariance of the noise: recomputed, or checked for what it must be."""
    known = released.mechanism.covariance(released.sums)
    if known is not None:
        return known
    size = math.prod(released.sums.shape) // (2 if released.sums.shape[0] == 2 else 1)
    said = fields["noise_covariance"]
    if said is None:
        said = np.diag(np.array(fields["noise_variance"], dtype=float).ravel())
    covariance: Floats = np.array(said, dtype=float)
    if covariance.shape != (size, size) or not np.isfinite(covariance).all():
        raise InvalidInput(f"a noise covariance of shape {covariance.shape}", f"{(size, size)}")
    total = released.predicted[RESPONSE] if RESPONSE in released.predicted else released.mechanism.error(released.sums)
    if not math.isclose(float(np.trace(covariance)), total, rel_tol=_ROUNDING):
        raise InvalidInput(
            f"noise of variance {np.trace(covariance):.6g}, all values together", f"{total:.6g}, as its mechanism has"
        )
    if fields["intercept"]:
        # Everybody's first feature is 1: the variance of its values follows from the level alone.
        sums = replace(released.sums, squared_sum=released.sums.rows * math.ldexp(1.0, 2 * released.sums.step_bits))
        first = float(np.diag(covariance)[:: released.sums.shape[1]].sum())
        if not math.isclose(first, released.mechanism.error(sums), rel_tol=_ROUNDING):
            raise InvalidInput(f"noise of variance {first:.6g} on the mean label", "that of the level that is said")
    slack = _ROUNDING * total
    if np.abs(covariance - covariance.T).max() > slack or np.linalg.eigvalsh(covariance)[0] < -slack:
        raise InvalidInput("a noise covariance that no noise has", "a symmetric matrix without negative variances")
    return covariance


def check_on_grid(values: Floats, released: ToldSums) -> None:
    """Refuse values that are no noisy sums of whole steps."""
    if released.mechanism.name == RESPONSE:
        return
    sums = released.sums
    denominator = sums.rows * (1 if sums.shape[0] == 2 else sums.shape[0])
    for value in values.ravel():
        exact = Fraction(float(value)) * denominator * Fraction(2) ** sums.step_bits
        if math.ldexp(round(exact) / denominator, -sums.step_bits) != value:
            raise InvalidInput(f"the value {value!r}", "a whole number of steps, divided by the number of people")


def _checked_sums(public: Mapping[str, Any], shape: tuple[int, int], rows: int, intercept: bool) -> LabelSums:
    bits, one, squared = (public[name] for name in _PUBLIC[:3])
    squared_sum = float(public["squared_sum"])
    whole = all(type(number) is int for number in (bits, one, squared))
    # A square beyond 2^53 is rounded up.
    possible = whole and 0 < one <= _MOST_STEPS and 0 < squared <= one * one * (1 + _ROUNDING)
    if not possible or abs(bits) > _FARTHEST_BITS:
        raise InvalidInput("sums with norms or a grid that cannot be", "whole numbers of steps of a power of two")
    if squared * shape[1] < one * one * (1 - _ROUNDING) or (intercept and squared < math.ldexp(1.0, 2 * bits)):
        raise InvalidInput("a 1-norm and a 2-norm that no row has", "norms of rows of the features that are named")
    if not squared * (1 - _ROUNDING) <= squared_sum <= rows * squared * (1 + _ROUNDING):
        raise InvalidInput("squares that do not fit the longest row", "the squared norms of all rows, added up")
    return LabelSums(np.zeros(shape, dtype=object), bits, rows, one, squared, squared_sum)


def _public_of_version_1(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the public facts that version 1 wrote as norms, a step and expected errors."""
    step, norms, rows = float(fields["step"]), fields["norms"], fields["rows"]
    fraction, exponent = math.frexp(step)
    if fraction != 0.5:
        raise InvalidInput(f"step = {step!r}", "a power of two")
    squared = round((float(norms["two"]) / step) ** 2)
    return {
        "step_bits": 1 - exponent,
        "one_norm": round(float(norms["one"]) / step),
        "squared_two_norm": squared,
        "squared_sum": float(rows * squared),  # it was not written: as if all rows were as long as the longest
    }


def _of_version_1(
    name: str, said: Mapping[str, float], sums: LabelSums, asked: Budget, classes: tuple[Label, ...]
) -> tuple[SumMechanism, dict[str, float]]:
    """Calibrate the mechanism, and all others that it was compared with and whose level is known."""
    if name not in said or not all(0 < error < math.inf for error in said.values()):
        raise InvalidInput("expected errors that cannot be", "a positive number for each mechanism that was looked at")
    chosen, _ = choose_sum_mechanism(name, sums, asked, classes)
    predicted = dict(said)
    for other in said:
        if other == RESPONSE:
            most = choose_sum_mechanism(other, sums, Budget(asked.epsilon), classes)[1][other]
            if said[other] > most * (1 + _ROUNDING):
                raise InvalidInput(f"an expected error of {said[other]:.6g} for {other}", f"at most {most:.6g}")
        elif other != "gaussian" or asked.delta:
            level = asked if other == "gaussian" else Budget(asked.epsilon)
            predicted |= choose_sum_mechanism(other, sums, level, classes)[1]
    return chosen, predicted
