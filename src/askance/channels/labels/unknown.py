"""Numbers of a design that nobody knows beforehand, and that several groups of respondents identify together.

A design may leave open how many people have the harmless trait, lie, or pass the device over. Every such number is a
probability *psi* in which the matrix S(psi) of a design is affine: S(psi) = (1 - psi) S(0) + psi S(1). So it is known
everywhere once it is known at the corners of the cube of all psi, its derivative is a difference of two corners, and
the largest ratio of two of its entries, which is privacy, is reached at a corner.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import Label, listed
from askance.channels.guarantee import Guarantee
from askance.entropy.thresholds import exact_counts, exact_epsilon
from askance.errors import InvalidInput, Unidentifiable

_MOST_UNKNOWNS = 6  # every corner of their cube is a matrix: 64 of them


@dataclass(frozen=True)
class Unknown:
    """Stands in the place of a probability that nobody knows: it is estimated.

    Parameters
    ----------
    name : str, optional
        What it is called in tables. Unknowns of the same name in several designs are one number; without a name it is
        called after what it stands for: "cheaters", "random_answers", "truthful", "unrelated_prevalence".
    between : (float, float)
        What is known about it beforehand. The guarantee holds for every value between these two; the estimate is not
        bound by them.

    Examples
    --------
    >>> import askance as ask
    >>> designs = {name: ask.UnrelatedQuestion(p, prevalence=ask.Unknown()) for name, p in {"a": 0.7, "b": 0.3}.items()}
    >>> ask.DesignPerRow(designs).unknowns
    {'unrelated_prevalence': Unknown()}
    """

    name: str = ""
    between: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InvalidInput(f"Unknown({self.name!r})", "a name, such as Unknown('cheaters'), or nothing")
        try:
            low, high = (float(end) for end in self.between)
        except (TypeError, ValueError):
            raise InvalidInput(f"between={self.between!r}", "two probabilities, such as (0.1, 0.5)") from None
        if not 0 <= low < high <= 1:
            raise InvalidInput(f"between={self.between!r}", "two probabilities, the lower one first")
        vars(self).update(between=(low, high))

    def __repr__(self) -> str:
        given = [repr(self.name)] if self.name else []
        given += [f"between={self.between}"] if self.between != (0.0, 1.0) else []
        return f"Unknown({', '.join(given)})"

    def to_spec(self) -> Any:
        """Return a JSON-able description; :func:`unknown_from_spec` reads it."""
        if self == UNKNOWN:
            return "unknown"
        open_end = {} if self.between == (0.0, 1.0) else {"between": list(self.between)}
        return {"unknown": self.name} | open_end


UNKNOWN = Unknown()  # what designs have where nothing is given


def unknown_from_spec(value: Any) -> Any:
    """Return the Unknown that a value of a spec or of a study file stands for; any other value as it is.

    Examples
    --------
    >>> unknown_from_spec("unknown"), unknown_from_spec({"unknown": "liars", "between": [0, 0.5]}), unknown_from_spec(3)
    (Unknown(), Unknown('liars', between=(0.0, 0.5)), 3)
    """
    if value == "unknown":
        return UNKNOWN
    if isinstance(value, Mapping) and "unknown" in value:
        strangers = sorted(set(value) - {"unknown", "between"})
        if strangers:
            raise InvalidInput(
                f"an unknown number with {', '.join(strangers)}", "unknown = NAME and between = [LOW, HIGH]"
            )
        return Unknown(value["unknown"], tuple(value.get("between", (0.0, 1.0))))
    return value


class HasUnknowns(ABC):
    """What a channel between finite sets says about numbers in it that nobody knows; most have none."""

    classes: tuple[Label, ...]

    @property
    def unknowns(self) -> Mapping[str, Unknown]:
        """The unknown numbers by name."""
        return {}

    @property
    @abstractmethod
    def proof(self) -> str:
        """The page that proves the guarantee."""

    @abstractmethod
    def matrix_at(self, psi: Mapping[str, float]) -> Floats:
        """Return P(report | truth), reports x classes, with the unknown numbers set to ``psi``."""

    @abstractmethod
    def with_values(self, psi: Mapping[str, float]) -> Any:
        """Return the channel with some or all of its unknown numbers set."""

    def without_effect(self, name: str) -> float | None:
        """Return the value of an unknown number at which people do as they were asked; None if there is no such."""
        return None

    @cached_property
    def corners(self) -> Floats:
        """The matrices with every unknown number at 0 or 1: 2 x ... x 2 x reports x classes, unknowns by name."""
        names = list(self.unknowns)
        stacked = [
            self.matrix_at(dict(zip(names, corner, strict=True))) for corner in product((0.0, 1.0), repeat=len(names))
        ]
        corners: Floats = np.array(stacked).reshape((2,) * len(names) + stacked[0].shape)
        return corners

    def matrix_derivative(self, psi: Mapping[str, float], name: str) -> Floats:
        """Return the derivative of :meth:`matrix_at` by one unknown number."""
        low, high = (self.matrix_at(dict(psi) | {name: value}) for value in (0.0, 1.0))
        return high - low

    def worst_guarantee(self) -> Guarantee:
        """Return what holds for every value that the unknown numbers may have."""
        names = list(self.unknowns)
        levels = [
            exact_epsilon(exact_counts(self.matrix_at(dict(zip(names, ends, strict=True)))))
            for ends in product(*(unknown.between for unknown in self.unknowns.values()))
        ]
        ranges = " and ".join(
            name if unknown.between == (0.0, 1.0) else f"{name} from {unknown.between[0]:g} to {unknown.between[1]:g}"
            for name, unknown in self.unknowns.items()
        )
        neighbours = f"any two answers of one person, whatever value {ranges} may have"
        return Guarantee(max(levels), neighbours=neighbours, proof=self.proof)

    def checked_values(self, psi: Any, every: bool) -> dict[str, float]:
        """Return values of the unknown numbers; refuse strange names, what is no probability, and, if all are needed,
        values that are missing."""
        given = {} if psi is None else psi
        if not isinstance(given, Mapping):
            raise InvalidInput(
                f"psi={psi!r}", f"a mapping such as {{{', '.join(f'{n!r}: 0.1' for n in self.unknowns)}}}"
            )
        strangers = [name for name in given if name not in self.unknowns]
        if strangers:
            known = f"among {listed(list(self.unknowns))}" if self.unknowns else "none: nothing here is unknown"
            raise InvalidInput(f"values of {listed(strangers)}", f"unknown numbers {known}")
        missing = [name for name in self.unknowns if name not in given]
        if every and missing:
            raise InvalidInput(
                f"no value for the unknown {', '.join(missing)}",
                f"psi={{{', '.join(f'{name!r}: ...' for name in missing)}}}",
                "What nobody knows is estimated by a fit; simulations must be told it.",
            )
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
                raise InvalidInput(f"{name}={value!r}", "a probability, a number from 0 to 1")
        return {name: float(value) for name, value in given.items()}


def refuse_unknown(channel: Any) -> Unidentifiable:
    """Return the refusal of everything that needs a matrix without unknown numbers."""
    names = ", ".join(channel.unknowns)
    return Unidentifiable(
        f"{channel!r} leaves {names} unknown, so that its matrix is not known",
        "a channel without unknown numbers",
        "Prevalence and IndirectClassifier estimate them; with_values({...}) sets them.",
    )


def joined_unknowns(parts: Iterable[Mapping[str, Unknown]]) -> dict[str, Unknown]:
    """Return the unknown numbers of several designs, each once; refuse two that share a name and nothing else."""
    joined: dict[str, Unknown] = {}
    for part in parts:
        for name, unknown in part.items():
            if joined.setdefault(name, unknown).between != unknown.between:
                raise InvalidInput(
                    f"two unknown numbers {name!r}, between {joined[name].between} and between {unknown.between}",
                    "the same bounds for one number",
                    "Unknown('another name') makes it another number.",
                )
    if len(joined) > _MOST_UNKNOWNS:
        raise InvalidInput(f"{len(joined)} unknown numbers ({listed(list(joined))})", f"at most {_MOST_UNKNOWNS}")
    return joined
