"""Attributes with a few states: the truth is kept, or becomes any of the other states.

S = a I + b 1 1' for every attribute, with b = flip / (K - 1) and a = 1 - flip - b. The exact level of an attribute is
|log((1 - flip) / b)|, and that of a record the sum over its attributes: 7.74 for a pixel of 256 states that is kept
with probability 0.9, and 6067 for an image of 784 of them ([RR] section 6).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.channels.attributes.coordinate_law import FiniteCoordinate, number_states, refuse_invalid
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.attributes.per_attribute import agreed_width, one_or_each, span
from askance.channels.given_numbers import shown
from askance.channels.labels.channel_matrix import SAME_LAW
from askance.channels.layouts import Bits, Fields, Layout
from askance.channels.rows.vectors import checked_dim
from askance.entropy.thresholds import RESOLUTION
from askance.errors import InvalidInput, Unidentifiable

States = int | tuple[float, ...]

_MOST_STATES = 1 << 12  # their table has 2^24 counts of eight bytes: 128 MB
_SMALL_TABLE = 64  # states whose table is looked at; a larger one is known to be valid, and takes long to decompose


@dataclass(frozen=True, eq=False, repr=False)
class StateFlip(FeatureChannel):
    """Keep each attribute with probability 1 - flip; otherwise report one of its other states, all equally likely.

    Parameters
    ----------
    states : int, or sequence of numbers, or a sequence of sequences
        How many states every attribute has (then they are 0, 1, ..., K - 1), or which; or the states of each
        attribute, such as ``[range(2), range(16)]``.
    flip : float, or one for each attribute
        The probability of another state than the truth. 0 hides nothing; (K - 1) / K loses everything, and is refused.
    dim : int, optional
        How many attributes a record has, where that does not follow from the others; the data may say it later.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import StateFlip
    >>> pixels = StateFlip(states=256, flip=0.1, dim=784)
    >>> print(pixels.guarantee)
    epsilon 6067, protects one row of 784 attributes, each alone 7.738 (any two rows)
    >>> StateFlip(2, 0.2).simulate(np.array([[0, 1, 1, 0]]), np.random.default_rng(1))
    array([[0, 0, 1, 0]], dtype=uint8)

    References
    ----------
    Barber (2020), Private Machine Learning via Randomised Response, section 6.
    """

    states: Any
    flip: Any
    dim: int | None = None

    kind: ClassVar[str] = "state-flip"

    def __post_init__(self) -> None:
        states = _checked_states(self.states)
        flip = one_or_each(self.flip, "flip", "a probability between 0 and 1")
        given = None if self.dim is None else checked_dim(self.dim)
        each = len(states) if _is_each(states) else None
        dim = agreed_width(given, states=each, flip=len(flip) if isinstance(flip, tuple) else None)
        vars(self).update(states=states, flip=flip, dim=dim)
        for number, (one, chance) in enumerate(self._pairs(dim or 1)):
            _checked_flip(_number_of(one), chance, "" if dim is None else f" of attribute {number + 1}")

    def _pairs(self, dim: int) -> list[tuple[States, float]]:
        states = self.states if _is_each(self.states) else (self.states,) * dim
        flips = self.flip if isinstance(self.flip, tuple) else (self.flip,) * dim
        return list(zip(states, flips, strict=True))

    def _laws(self, dim: int) -> list[FiniteCoordinate]:
        made: dict[tuple[States, float], FiniteCoordinate] = {}
        return [made.setdefault(pair, made.get(pair) or _law(*pair)) for pair in self._pairs(dim)]

    @cached_property
    def layout(self) -> Layout:
        states = tuple(len(law.values) for law in self.laws if law.is_finite)
        return Bits(self.width) if set(states) == {2} and self.width > 1 else Fields(states)

    def describe(self) -> str:
        pairs = self._pairs(self.dim or 1)
        counts, flips = [_number_of(states) for states, _ in pairs], [chance for _, chance in pairs]
        whom = "Each attribute" if self.dim is None else f"Each of {self.dim} attributes"
        kept = span([1 - flip for flip in flips])
        return (
            f"{whom} has one of {span(counts)} states. It is reported as it is with probability {kept}, and otherwise "
            "as any of its other states."
        )


def _law(states: States, flip: float) -> FiniteCoordinate:
    values = np.arange(states) if isinstance(states, int) else number_states(states, "an attribute")
    count = len(values)
    other = 0 if flip == 0 else max(1, round(flip / (count - 1) * RESOLUTION))
    counts = np.full((count, count), other, dtype=np.int64)
    np.fill_diagonal(counts, RESOLUTION - (count - 1) * other)
    law = FiniteCoordinate(values, counts)
    if count <= _SMALL_TABLE:  # a and b are positive
        refuse_invalid(law, "an attribute")
    return law


def _is_each(states: Any) -> bool:
    """Whether states are given for each attribute."""
    return isinstance(states, tuple) and isinstance(states[0], tuple)


def _number_of(states: States) -> int:
    return states if isinstance(states, int) else len(states)


def _checked_states(states: Any) -> Any:
    """Return a number of states, a tuple of states, or a tuple of one of these for each attribute."""
    if not isinstance(states, Iterable) or isinstance(states, str | bytes):
        return _checked_count(states)
    listed = list(states)
    nested = [isinstance(one, Sequence | np.ndarray | range) and not isinstance(one, str) for one in listed]
    if not any(nested):
        if not isinstance(states, range) and len(set(listed)) < len(listed):
            raise InvalidInput(
                f"states={listed!r}, some of them twice",
                "the states of an attribute, all different",
                "For a number of states for each attribute write states=[range(2), range(16), ...].",
            )
        return _plain_states(listed)
    each = [
        _plain_states(list(one)) if is_list else _checked_count(one)
        for one, is_list in zip(listed, nested, strict=True)
    ]
    # Written out, so that a list of counts is not taken for a list of states when it is read again.
    return tuple(tuple(range(one)) if isinstance(one, int) else one for one in each)


def _plain_states(states: list[Any]) -> States:
    values = number_states(states, "an attribute")
    if values.dtype.kind == "i" and np.array_equal(values, np.arange(len(values))):
        return _checked_count(len(values))
    _checked_count(len(values))
    return tuple(values.tolist())


def _checked_count(count: Any) -> int:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 2 <= count <= _MOST_STATES:
        raise InvalidInput(
            f"states={shown(count)}",
            f"a whole number of states from 2 to {_MOST_STATES}, or the states themselves",
        )
    return int(count)


def _checked_flip(states: int, flip: float, where: str) -> None:
    if not 0 <= flip <= 1:
        raise InvalidInput(f"flip={flip!r}{where}", "a probability between 0 and 1")
    if abs(flip - (states - 1) / states) < SAME_LAW:
        raise Unidentifiable(
            f"flip={flip:g}{where}: every report then comes with the same probability whatever the truth, so that "
            "everything is lost",
            f"another flip than (K - 1)/K = {(states - 1) / states:.6g} for K = {states} states: the table of "
            "probabilities must be invertible",
        )
    if flip == 1:
        raise InvalidInput(
            f"flip=1{where}: the truth is never reported, so that every report rules a truth out",
            "a flip below 1: the probabilities must be positive",
        )
