"""What a file of counts says, checked: all that follows from the mechanism and its numbers is recomputed from them.

Facts that nothing follows from are the raw counts, the names of classes and bags, the totals, the mechanism with its
parameters, and the level that was asked for. Those must fit each other; everything else is theirs.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import Label, as_labels
from askance.channels.guarantee import OTHER_LABEL, Guarantee
from askance.errors import InvalidInput
from askance.mechanisms.budget import Budget, written
from askance.mechanisms.counts.count_levels import fits_level
from askance.mechanisms.counts.count_mechanisms import (
    CountMechanism,
    expected_distortion,
    from_parameters,
    mean_distortion,
)
from askance.mechanisms.counts.count_noise import CountNoise
from askance.mechanisms.counts.scaled_dirichlet import NAME as PAPER
from askance.releases.counts_within import CountGroups, Grouping, consistent_counts, read_groupings
from askance.solvers.simplex import project_to_simplex
from askance.tables.count_tables import bag_names

PROTECTS = "one person's label"
NEIGHBOURS = f"{OTHER_LABEL}; who is in which bag is public, and so is how many"

# Levels for which mechanisms are calibrated in doubles: e^500 and 10^-100 times a probability are still some, and below
# 10^-6 the differences that a delta is summed from are smaller than the errors of rounding.
_LEAST_EPSILON = Fraction(1, 10**6)
_MOST_EPSILON = 500
_LEAST_DELTA = Fraction(1, 10**100)
_ROUNDING = 1e-12  # relative: counts are doubles of up to 2^53 people, moved to their total
_ROUNDING_THEN = 1e-6  # of versions 1 and 2, whose counts would not follow from raw ones that are off
_MOST_DIGITS = 400  # of an exact level: a fraction of two numbers as long as a double can be


def check_count_level(budget: Budget) -> None:
    """Refuse levels that doubles cannot be trusted to calibrate noise for: they round, or fall to zero."""
    if not _LEAST_EPSILON <= budget.epsilon <= _MOST_EPSILON:
        raise InvalidInput(
            f"epsilon={written(budget.epsilon)}", f"a level from {float(_LEAST_EPSILON):g} to {_MOST_EPSILON}"
        )
    if budget.delta and not _LEAST_DELTA <= budget.delta <= 1 - _LEAST_EPSILON:
        raise InvalidInput(
            f"delta={written(budget.delta)}", f"0, or a number from {float(_LEAST_DELTA):g} to less than 1"
        )


def counts_guarantee(mechanism: str, cost: Budget) -> Guarantee:
    """Return the promise of a mechanism at a level; the published one has none."""
    level = (math.inf, 0.0) if mechanism == PAPER else (float(cost.epsilon), float(cost.delta))
    return Guarantee(*level, protects=PROTECTS, neighbours=NEIGHBOURS)


def of_all_bags(one: Budget, bags: int, disjoint: bool) -> Budget:
    """Return the level of all bags together: that of one if nobody is in two of them."""
    times = 1 if disjoint else bags
    return Budget.of(one.epsilon * times, one.delta * times)


def of_one_level(asked: Budget, levels: int) -> Budget:
    """Return the part of a level that each of several levels of groups has."""
    return Budget.of(asked.epsilon / levels, asked.delta / levels)


def possible_counts(raw: Floats, totals: Sequence[int]) -> Floats:
    """Return the nearest counts that are not negative and sum to the totals, bag by bag: what versions 1 and 2 wrote.

    They are not whole, and their sums over bags are biased: where noise is larger than a count, it is never too small.
    """
    return np.array([project_to_simplex(row / total) * total for row, total in zip(raw, totals, strict=True)])


def exact_level(budget: Budget) -> dict[str, str]:
    """Write a level as exact fractions."""
    return {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}


def read_exact_level(said: Mapping[str, Any]) -> Budget:
    """Read what :func:`exact_level` wrote."""
    numbers = []
    for name in ("epsilon", "delta"):
        text = said[name]
        if not isinstance(text, str) or len(text) > _MOST_DIGITS or not set(text) <= set("0123456789/"):
            raise InvalidInput(f"asked.{name} = {text!r:.40}", "an exact fraction as text, such as '1/2'")
        numbers.append(Fraction(text))
    return Budget.of(*numbers)


def read_counts_facts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a release of counts is made of, from what a file says: recomputed wherever that is possible."""
    classes = as_labels(fields["classes"], "classes")
    totals = _whole_numbers(fields["totals"])
    bags = bag_names(fields["bags"], len(totals))
    raw = np.array(fields["raw"], dtype=float)
    name = str(fields["mechanism"])
    parameters = tuple({str(key): str(text) for key, text in each.items()} for each in fields["parameters"])
    shape = (len(bags), len(classes))
    if raw.shape != shape or len(parameters) != len(totals) or not np.isfinite(raw).all():
        raise InvalidInput(f"counts of shape {raw.shape} for {shape[0]} bags of {shape[1]} classes", "one for each")
    _check_sums(raw, np.array(totals), fields["version"])
    known: dict[CountMechanism, CountMechanism] = {}
    read = (from_parameters(name, each, total, len(classes)) for total, each in zip(totals, parameters, strict=True))
    laws = [known.setdefault(law, law) for law in read]  # noise is the same for bags of all sizes: looked at once
    asked, disjoint = _level(fields, name, len(bags))
    groupings, above = _read_within(fields, bags, raw.shape[1])
    share = of_one_level(asked, len(groupings) + 1)
    if groupings and (not disjoint or not isinstance(laws[0], CountNoise) or len(known) > 1):
        raise InvalidInput("larger groups of bags that cannot have any", "disjoint bags, and noise that is added")
    if name != PAPER and not all(fits_level(law, share) for law in known.values()):
        raise InvalidInput(
            f"noise that {asked} does not ask for", "parameters, mechanism and level that belong together"
        )
    cost = of_all_bags(asked, len(bags), disjoint)
    sizes = [np.array(totals, dtype=np.int64)]
    for grouping in groupings:
        sizes.append(grouping.summed(sizes[-1]))
    for noisy, size in zip(above, sizes[1:], strict=True):
        _check_sums(noisy, size, fields["version"])
    counts, larger = consistent_counts(raw, sizes[0], groupings, above)
    within = tuple(
        CountGroups(each.level, each.groups, each.holder, size, noisy, whole)
        for each, size, noisy, whole in zip(groupings, sizes[1:], above, larger, strict=True)
    )
    return {
        "classes": classes,
        "bags": bags,
        "totals": tuple(totals),
        "counts": counts,
        "raw": raw,
        "guarantee": counts_guarantee(name, cost),
        "mechanism": name,
        "how_known": laws[0].how_known,
        "parameters": parameters,
        "predicted": _predicted(fields, name, laws, totals),
        "asked": asked if "asked" in fields else None,
        "disjoint": disjoint,
        "askance": str(fields["askance"]),
        "within": within,
        "version": fields["version"],
    }


def _check_sums(raw: Floats, totals: Any, version: int) -> None:
    off = np.abs(raw.sum(axis=1) - totals)
    if (off > (_ROUNDING if version > 2 else _ROUNDING_THEN) * (np.abs(raw).sum(axis=1) + totals)).any():
        raise InvalidInput("raw counts that do not sum to the totals", "counts of all people")


def _read_within(
    fields: Mapping[str, Any], bags: Sequence[Label], classes: int
) -> tuple[tuple[Grouping, ...], list[Floats]]:
    """Return which groups hold which, and their noisy counts; versions 1 and 2 had none."""
    said = fields["within"] if fields["version"] > 2 else []
    if not said:
        return (), []
    place, of_bag = np.arange(len(bags)), {}
    for each in said[:-1]:
        holder = np.array(each["holder"])
        if holder.ndim != 1 or holder.dtype.kind not in "iu" or len(holder) <= place.max() or holder.min() < 0:
            raise InvalidInput("groups that hold no groups", "the number of its group for each group below")
        place = holder[place]
        of_bag[each["level"]] = [each["groups"][number] for number in place.tolist()]
    groupings = read_groupings(of_bag, bags)
    if len(groupings) != len(said):
        raise InvalidInput(f"{len(said)} levels of groups", f"{len(groupings)}, with that of everybody")
    raw = [np.array(each["raw"], dtype=float) for each in said]
    for noisy, grouping in zip(raw, groupings, strict=True):
        if noisy.shape != (len(grouping.groups), classes) or not np.isfinite(noisy).all():
            raise InvalidInput(f"counts of shape {noisy.shape} of {len(grouping.groups)} groups", "one for each class")
    return groupings, raw


def _level(fields: Mapping[str, Any], mechanism: str, bags: int) -> tuple[Budget, bool]:
    """Return the level of one bag that was asked for, and whether nobody is in two bags."""
    if fields["version"] != 1:
        disjoint = fields["disjoint"]
        if not isinstance(disjoint, bool) or bags == 1 > disjoint:
            raise InvalidInput(f"disjoint = {disjoint!r:.40} of {bags} bags", "whether nobody is in two of them")
        asked = read_exact_level(fields["asked"])
        check_count_level(asked)
        return asked, disjoint
    said = fields["guarantee"]
    if mechanism == PAPER:
        return Budget.of(1), True  # its guarantee is none, whatever it was asked for
    asked = Budget.of(said["epsilon"], said["delta"])
    # Version 1 did not say whether people may be in several bags: the parameters of the first tell.
    first = fields["parameters"][0]
    law = from_parameters(mechanism, first, fields["totals"][0], len(fields["classes"]))
    disjoint = bags == 1 or fits_level(law, asked)
    return (asked if disjoint else Budget.of(asked.epsilon / bags, asked.delta / bags)), disjoint


def _predicted(
    fields: Mapping[str, Any], mechanism: str, laws: Sequence[CountMechanism], totals: Sequence[int]
) -> dict[str, float]:
    """Return the expected distortions: that of the mechanism recomputed, those of others as they were looked at."""
    others = {str(name): float(value) for name, value in fields["predicted"].items()}
    if mechanism == PAPER:
        return {}
    if not all(0 < value < math.inf for value in others.values()) or mechanism not in others:
        raise InvalidInput("expected errors that cannot be", "a positive number for each mechanism that was looked at")
    expected = mean_distortion if fields["version"] < 3 else expected_distortion
    return {name: expected(laws, totals) if name == mechanism else value for name, value in others.items()}


def _whole_numbers(said: Any) -> list[int]:
    totals = list(said)
    if not all(type(total) is int and 1 <= total <= 2**53 for total in totals):
        raise InvalidInput("a bag of nobody, or of a number of people that nobody can count", "1 to 2^53 in every bag")
    return totals
