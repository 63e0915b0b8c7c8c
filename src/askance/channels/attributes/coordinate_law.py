"""How one attribute of a record is hidden, whatever becomes of the others.

What was drawn under such a law can be undone in the mean only if no two distributions of the truth lead to the same
distribution of reports ("spread noise", [RR] section 2). Enough for that is

- for a finite attribute: a square, invertible table of probabilities that are all positive;
- for added noise: a density whose Fourier transform is positive everywhere, as those of normal and Laplace noise are.

A law that hides nothing at all (the identity, noise of size 0) is let through as what it is: its level is infinite.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes, Floats
from askance.channels.alphabet import listed, subtract_first
from askance.channels.labels.finite import FiniteLaw
from askance.compiled import compiled
from askance.entropy.bits import BitSource
from askance.entropy.draws import AliasSampler, BinarySampler, Sampler, code_type
from askance.entropy.thresholds import RESOLUTION, exact_epsilon
from askance.errors import InvalidInput, Unidentifiable

_SMALLEST_SINGULAR_VALUE = 1e-9  # unbiased values of a table with a smaller one have errors of 10^9 states and more


class CoordinateLaw(ABC):
    """The law of one attribute."""

    is_finite: ClassVar[bool]  # whether reports are states, which have codes, or numbers with noise

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The level of this attribute alone; infinite if none can be promised."""

    @property
    def delta(self) -> float:
        """The probability at which the level is stated."""
        return 0.0

    @property
    def shift(self) -> float | None:
        """How far two truths can be apart in standard deviations of normal noise; None for every other law."""
        return None

    @property
    @abstractmethod
    def hides(self) -> bool:
        """Whether a report differs from the truth at all."""

    @abstractmethod
    def wanted(self) -> str:
        """What a truth may be, in words."""

    @abstractmethod
    def read(self, numbers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return what ``draw`` takes of numbers in any shape, and which of them are usable; None if all are."""


@dataclass(frozen=True, eq=False)
class FiniteCoordinate(CoordinateLaw):
    """One of a few numbers, reported as one of the same numbers.

    Parameters
    ----------
    values : array of K numbers
        The states, in ascending order.
    counts : array, K x K
        P(report | truth) in units of 2^-62, reports x truths: what is really drawn from.

    Examples
    --------
    >>> from askance import StateFlip
    >>> law = StateFlip(states=4, flip=0.3, dim=2).laws[0]
    >>> law.values, law.matrix[:, 0].round(3)
    (array([0, 1, 2, 3]), array([0.7, 0.1, 0.1, 0.1]))
    >>> law.a.round(3), law.b.round(3)
    (np.float64(0.6), np.float64(0.1))
    """

    values: NDArray[Any]
    counts: NDArray[np.int64]

    is_finite: ClassVar[Literal[True]] = True

    def __post_init__(self) -> None:
        for array in (self.values, self.counts):
            array.setflags(write=False)

    @classmethod
    def of_channel(cls, channel: FiniteLaw, what: str = "an attribute") -> "FiniteCoordinate":
        """Take a finite channel between numbers; refused if reports under it could not be undone."""
        values = number_states(channel.classes, what)
        if set(channel.report_labels) != set(channel.classes):
            raise InvalidInput(
                f"{what} has the states {listed(channel.classes)} and the reports {listed(channel.report_labels)}",
                "reports that are the states themselves: a square table",
            )
        truths = np.argsort(np.array(channel.classes, dtype=float))
        reports = np.argsort(np.array(channel.report_labels, dtype=float))
        law = cls(values, np.ascontiguousarray(channel.counts[np.ix_(reports, truths)]))
        refuse_invalid(law, what)
        return law

    @cached_property
    def matrix(self) -> Floats:
        """P(report | truth), reports x truths."""
        matrix: Floats = self.counts / RESOLUTION
        matrix.setflags(write=False)
        return matrix

    @cached_property
    def epsilon(self) -> float:
        return exact_epsilon(self.counts)

    @cached_property
    def hides(self) -> bool:
        return bool(np.any(np.diagonal(self.counts) != RESOLUTION))

    @cached_property
    def is_flip(self) -> bool:
        """Whether every state is kept with one probability, and becomes each of the others with another one."""
        others = self.counts[~np.eye(len(self.values), dtype=bool)]
        return bool(np.ptp(np.diagonal(self.counts)) == 0 and np.ptp(others) == 0)

    @property
    def b(self) -> np.float64:
        """The probability of each other state, where :attr:`is_flip`: the matrix is a I + b 1 1'."""
        return np.float64(self._flip_counts[1] / RESOLUTION)

    @property
    def a(self) -> np.float64:
        """By how much the probability of the truth exceeds that of another state, where :attr:`is_flip`."""
        keep, other = self._flip_counts
        return np.float64((keep - other) / RESOLUTION)

    @property
    def _flip_counts(self) -> tuple[int, int]:
        if not self.is_flip:
            raise InvalidInput("a and b of a table of probabilities that is no flip", "law.is_flip; use law.matrix")
        return int(self.counts[0, 0]), int(self.counts[1, 0])

    @cached_property
    def unbiased_values(self) -> Floats:
        """The numbers u with E[u[report] | truth] = truth."""
        unbiased: Floats = np.linalg.solve(self.matrix.T, self.values.astype(float))
        unbiased.setflags(write=False)
        return unbiased

    # -- drawing -------------------------------------------------------------------------------------

    @cached_property
    def sampler(self) -> Sampler:
        """Draws report codes for truth codes."""
        states = len(self.values)
        if states == 2:
            return BinarySampler(np.ascontiguousarray(self.counts[1]))
        if self.is_flip and self._flip_counts[0] >= self._flip_counts[1]:
            # One small table serves every truth: each state with weight b, or the truth with what is left.
            keep, other = self._flip_counts
            weights = np.array([other] * states + [keep - other], dtype=np.int64)
            return AliasSampler.from_counts(weights[:, None], reports=states, truth_outcome=states)
        return AliasSampler.from_counts(self.counts, reports=states)

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """Draw report codes for truth codes, in an array of any shape."""
        flat: Any = np.ascontiguousarray(codes).reshape(-1)
        return self.sampler.draw(flat, bits).reshape(codes.shape)

    # -- codes ---------------------------------------------------------------------------------------

    @cached_property
    def counts_from_zero(self) -> bool:
        """Whether the states are 0, 1, ..., K - 1: then a state is its own code."""
        return self.values.dtype.kind in "iu" and bool(np.array_equal(self.values, np.arange(len(self.values))))

    def encode(self, states: NDArray[Any]) -> tuple[Codes, int]:
        """Return the codes of a flat array of numbers, and where the first stranger is (-1 if there is none)."""
        codes = np.empty(states.shape[0], dtype=code_type(len(self.values)))
        if self.counts_from_zero and states.dtype.kind in "biu":
            numbers = states.view(np.uint8) if states.dtype.kind == "b" else states
            if states.dtype != np.uint64 and subtract_first(numbers, np.int64(0), np.uint64(len(self.values)), codes):
                return codes, -1
        if self.counts_from_zero and states.dtype.kind == "f":
            return codes, _whole_codes(states, len(self.values), codes)
        known = self.values_as(states.dtype)
        codes[:] = np.minimum(np.searchsorted(known, states), len(known) - 1)
        strangers = known[codes] != states
        return codes, int(strangers.argmax()) if strangers.any() else -1

    def read(self, numbers: NDArray[Any]) -> tuple[Codes, NDArray[np.bool_] | None]:
        codes, stranger = self.encode(np.ascontiguousarray(numbers).reshape(-1))
        usable = None if stranger < 0 else np.isin(numbers, self.values_as(numbers.dtype))
        return codes.reshape(numbers.shape), usable

    def values_as(self, kind: np.dtype[Any]) -> NDArray[Any]:
        """The states in the type of the data: one of 0.1 that arrives in single precision is still that state."""
        return self.values.astype(kind) if kind.kind == "f" else self.values

    def wanted(self) -> str:
        """Which states there are, in words."""
        if self.counts_from_zero:
            return f"one of {len(self.values)} states, 0 to {len(self.values) - 1}"
        return f"one of the states {listed(self.values.tolist())}"

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Return states for codes; codes themselves where they are the same."""
        states: NDArray[Any] = codes if self.counts_from_zero else self.values[codes]
        return states


@compiled
def _whole_codes(states, count, codes):  # type: ignore[no-untyped-def]
    """Fill in the codes of numbers that are 0, 1, ..., count - 1; return where the first other one is, or -1."""
    for i in range(states.shape[0]):
        state = states[i]
        if not 0 <= state < count or state != np.floor(state):
            return i
        codes[i] = np.int64(state)
    return -1


def number_states(states: Any, what: str) -> NDArray[Any]:
    """Return states as an ascending array, or say why they are none."""
    plain = [state.item() if isinstance(state, np.generic) else state for state in states]
    for state in plain:
        if isinstance(state, str) or not isinstance(state, int | float) or not math.isfinite(state):
            raise InvalidInput(
                f"{what} has the state {state!r}",
                "finite numbers",
                "Give categories numbers, or a column of zeros and ones each.",
            )
    if len(plain) < 2 or len(set(plain)) < len(plain):
        raise InvalidInput(f"{what} has the states {listed(plain)}", "at least two, all different")
    whole = all(float(state).is_integer() and abs(state) < 1 << 53 for state in plain)
    return np.array(sorted(map(int if whole else float, plain)))


def refuse_invalid(law: FiniteCoordinate, what: str) -> None:
    """Refuse a table under which the truth is lost, or that rules some truths out; see the module's first lines."""
    if not law.hides:
        return
    if law.counts.min() == 0:
        report, truth = np.argwhere(law.counts == 0)[0]
        raise InvalidInput(
            f"under the table of {what} the truth {law.values[truth]!s} is never reported as {law.values[report]!s}",
            "positive probabilities everywhere: else such a report rules truths out for certain, and no level holds",
            "Give every report some chance, or hide nothing at all (flip=0).",
        )
    smallest = float(np.linalg.svd(law.matrix, compute_uv=False)[-1])
    if smallest < _SMALLEST_SINGULAR_VALUE:
        raise Unidentifiable(
            f"the table of {what} cannot be inverted: different distributions of its {len(law.values)} states lead to "
            "the same reports",
            "an invertible table of probabilities",
            "Hide it less.",
        )
