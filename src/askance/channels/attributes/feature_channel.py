"""Vectors whose attributes are hidden one by one, independently of each other.

S(report | truth) = product over attributes j of S_j(report_j | truth_j). So the level of the whole record is exactly
the sum of the levels of its attributes: there are two records and a report for which every attribute reveals the most
it can. Many attributes that are well hidden each may hide the record not at all, and the guarantee says so.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.arrays import Codes
from askance.channels.attributes.coordinate_law import FiniteCoordinate
from askance.channels.attributes.gaussian_level import gaussian_epsilon
from askance.channels.attributes.noise_law import Law
from askance.channels.channel import Prepared, Truth, refuse_design
from askance.channels.columns import NOT_ARROW
from askance.channels.guarantee import HOWEVER_FAR_APART, Guarantee, each_alone
from askance.channels.layouts import Layout, is_arrow
from askance.channels.question_channel import QuestionChannel
from askance.channels.report_columns import ReportColumn, StateReports, number_reports
from askance.channels.rows.vectors import as_matrix, checked_dim
from askance.entropy.bits import BitSource
from askance.entropy.draws import code_type
from askance.errors import InvalidInput

Group = tuple[Law, NDArray[np.intp]]


class FeatureChannel(QuestionChannel):
    """Hides each attribute of a vector by a law of its own; a subclass is a frozen dataclass of its parameters.

    Parameters that are one number hold for every attribute; how many there are may be said later, by
    :meth:`for_width`, or by the data.
    """

    hides: ClassVar[Truth] = "attributes"
    dim: int | None

    # -- what a mechanism must say -------------------------------------------------------------------

    @abstractmethod
    def _laws(self, dim: int) -> Sequence[Law]:
        """The laws of so many attributes; attributes that share a law share the object."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """How reports are kept in a file."""

    # -- width ---------------------------------------------------------------------------------------

    def for_width(self, dim: int) -> Self:
        """Return this channel for so many attributes; refused if it was made for another number of them."""
        width = checked_dim(dim)
        if self.dim == width:
            return self
        if self.dim is not None:
            raise InvalidInput(
                f"data with {width} columns and a channel for {self.dim} attributes",
                f"{self.dim} columns",
                "One law for each column, in the order of the columns.",
            )
        return self._by_width.setdefault(width, replace(self, dim=width))  # type: ignore[type-var]

    @cached_property
    def _by_width(self) -> dict[int, Self]:
        """Copies of this channel that :meth:`for_width` made: their tables of draws are worth keeping."""
        return {}

    def for_columns(self, columns: Sequence[str]) -> Self:
        return self.for_width(len(columns))

    @property
    def width(self) -> int:
        """How many attributes there are; refused if that was not said."""
        if self.dim is None:
            raise InvalidInput(
                f"{self!r}, which does not say how many attributes there are", "dim=...", "Or channel.for_width(d)."
            )
        return self.dim

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The law of each attribute."""
        return tuple(self._laws(self.width))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Each different law, with the numbers of the attributes that it is for."""
        members: dict[int, list[int]] = {}
        for number, law in enumerate(self.laws):
            members.setdefault(id(law), []).append(number)
        return tuple((self.laws[numbers[0]], np.array(numbers)) for numbers in members.values())

    @property
    def is_finite(self) -> bool:
        """Whether every attribute has finitely many states: then reports have codes."""
        return all(law.is_finite for law, _ in self.groups)

    # -- privacy -------------------------------------------------------------------------------------

    @cached_property
    def guarantee(self) -> Guarantee:
        """Exact privacy of the whole vector, and of each attribute."""
        levels = tuple(law.epsilon for law in self.laws)
        level, delta = composed_level(self.laws)
        return Guarantee(
            epsilon=level,
            delta=delta,
            protects=f"one row of {self.width} attributes{each_alone(levels)}" if self.width > 1 else "one attribute",
            neighbours=f"any two {'rows' if self.width > 1 else 'values'}{self._how_far_apart}",
            per_attribute=levels,
            proof=self.proof,
        )

    @property
    def _how_far_apart(self) -> str:
        """What is known about the distance of two truths."""
        noise = [law for law, _ in self.groups if not law.is_finite]
        if any(law.bounds is None and law.hides for law in noise):
            return HOWEVER_FAR_APART
        return " within the public bounds" if noise else ""

    def guarantee_of(self, attributes: int) -> Guarantee:
        return self.for_width(attributes).guarantee

    # -- the respondent's side -----------------------------------------------------------------------

    def clip(self, truth: Any) -> tuple[NDArray[Any], int]:
        """Return the truth with every number inside its public bounds, if it has some, and how many were not."""
        rows = as_rows(truth, self.width)
        if self.is_finite:
            return rows, 0
        inside, clipped = as_matrix(rows, self.width), 0
        for law, columns in self.groups:
            if not law.is_finite and law.bounds is not None:
                block = inside[:, columns]
                moved = np.clip(block, *law.bounds)
                clipped += int(np.count_nonzero(moved != block))
                inside = inside.copy() if inside is rows else inside
                inside[:, columns] = moved
        return inside, clipped

    def prepare(self, truth: Any) -> Prepared:
        """Return codes of states, and numbers inside their public bounds, n x dim."""
        rows = as_rows(truth)
        channel = self.for_width(rows.shape[1])
        inside, clipped = channel.clip(rows)
        values = channel.codes_and_numbers(inside) if any(channel._finite_groups()) else inside
        return Prepared(values, {"": clipped} if clipped else {})

    def draw(self, values: NDArray[Any], bits: BitSource) -> NDArray[Any]:
        """Draw reports: codes where all attributes have states, else the numbers that are reported."""
        channel = self.for_width(values.shape[1])
        if channel.is_finite:
            return channel._draw_codes(values, bits)
        reports = np.empty(values.shape)
        for law, columns in channel.groups:
            if law.is_finite:
                codes = values[:, columns].astype(code_type(len(law.values)))
                reports[:, columns] = law.values[law.draw(codes, bits)]
            else:
                reports[:, columns] = law.draw(values[:, columns], bits)
        return reports

    def decode_reports(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the states that codes stand for; numbers with noise are reports as they are."""
        channel = self.for_width(codes.shape[1])
        return channel.decode(codes) if channel.is_finite else codes

    # -- the learner's side --------------------------------------------------------------------------

    def encode(self, states: Any) -> Codes:
        """Return the codes of states, n x dim: code k is the k-th smallest state of its attribute.

        Raises
        ------
        InvalidInput
            On a number that is no state of its attribute, naming column, row and value.
        """
        rows = as_rows(states)
        return self.for_width(rows.shape[1])._codes_of(rows)

    def codes_and_numbers(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the codes of attributes that have states, and the numbers of others, n x dim."""
        channel = self.for_width(rows.shape[1])
        if channel.is_finite:
            return channel._codes_of(rows)
        values = rows.astype(float)
        for law, columns in channel._finite_groups():
            values[:, columns] = _encoded(law, rows[:, columns], columns)
        return values

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Return the states that codes stand for, n x dim."""
        channel = self.for_width(codes.shape[1])
        channel._refuse_endless()
        if all(law.counts_from_zero for law, _ in channel._finite_groups()):
            return codes
        kinds = [law.values.dtype for law, _ in channel._finite_groups()]
        states = np.empty(codes.shape, dtype=np.result_type(*kinds))
        for law, columns in channel._finite_groups():
            states[:, columns] = law.values[codes[:, columns]]
        return states

    def encode_reports(self, reports: Any, design: Any = None) -> NDArray[Any]:
        """Check reports, or unpack those of a file: codes where there are finitely many states, else numbers."""
        refuse_design(design)
        if is_arrow(reports):
            return self.layout.from_arrow(reports).reshape(-1, self.width)
        rows = as_rows(reports)
        channel = self.for_width(rows.shape[1])
        return channel._codes_of(rows) if channel.is_finite else rows.astype(float)

    @property
    def arrow_type(self) -> pa.DataType:
        return self.layout.arrow_type

    def declaration(self) -> dict[str, Any]:
        return {"width": self.width, "channel": self.design("dim")}

    def store(self, codes: NDArray[Any]) -> Any:
        """Pack what :meth:`draw` or :meth:`encode_reports` returned for a file."""
        # One field of whole numbers is a plain column.
        return self.layout.to_arrow(codes[:, 0] if self.width == 1 and self.is_finite else codes)

    def report_columns(self, reports: Any) -> list[ReportColumn]:
        """Return what reports say about the truth of every attribute."""
        rows = as_rows(reports)
        channel = self.for_width(rows.shape[1])
        read = channel.codes_and_numbers(rows)
        return [
            StateReports(law.matrix, law.values.astype(float), read[:, j].astype(np.int64))
            if law.is_finite
            else number_reports(law, read[:, j], j)
            for j, law in enumerate(channel.laws)
        ]

    def unbias(self, reports: Any) -> NDArray[np.float64]:
        """Return b, n x dim, with E[b | truth] = truth."""
        rows = as_rows(reports)
        channel = self.for_width(rows.shape[1])
        unbiased = rows.astype(float)
        for law, columns in channel._finite_groups():
            codes = _encoded(law, rows[:, columns], columns)
            unbiased[:, columns] = law.unbiased_values[codes]
        return unbiased

    def _finite_groups(self) -> Iterator[tuple[FiniteCoordinate, NDArray[np.intp]]]:
        for law, columns in self.groups:
            if law.is_finite:
                yield law, columns

    def _refuse_endless(self) -> None:
        if not self.is_finite:
            raise InvalidInput("codes of numbers to which noise was added", "a channel with finitely many states")

    def _codes_of(self, rows: NDArray[Any]) -> Codes:
        self._refuse_endless()
        groups = list(self._finite_groups())
        # Laws that differ in what becomes of the states, and not in the states, are encoded together.
        if len({(law.values.dtype, law.values.tobytes()) for law, _ in groups}) == 1:
            return _encoded(groups[0][0], rows, np.arange(self.width))
        codes = np.empty(rows.shape, dtype=code_type(max(len(law.values) for law, _ in groups)))
        for law, columns in groups:
            codes[:, columns] = _encoded(law, rows[:, columns], columns)
        return codes

    def _draw_codes(self, codes: Codes, bits: BitSource) -> Codes:
        """Draw report codes for truth codes, law by law."""
        groups = list(self._finite_groups())
        if len(groups) == 1:
            return groups[0][0].draw(codes, bits)
        columns_first: Any = np.ascontiguousarray(codes.T)  # drawn one after the other: let each lie in one piece
        reports = np.empty_like(columns_first)
        for law, columns in groups:
            reports[columns] = law.draw(columns_first[columns], bits)
        return np.ascontiguousarray(reports.T)


def composed_level(laws: Sequence[Law]) -> tuple[float, float]:
    """Return epsilon and delta of attributes that are told together.

    Levels add up. Attributes with normal noise are taken together first: they are one normal vector.
    """
    normal = [law for law in laws if law.shift]
    level = math.fsum(law.epsilon for law in laws if not law.shift)
    if not normal or math.isinf(level):
        return level, 0.0
    delta = max(law.delta for law in normal)
    return level + gaussian_epsilon(1 / math.sqrt(math.fsum((law.shift or 0.0) ** 2 for law in normal)), delta), delta


def _encoded(law: FiniteCoordinate, rows: NDArray[Any], columns: NDArray[np.intp]) -> Codes:
    """Encode some columns that share a law, or say where the first stranger is."""
    codes, stranger = law.encode(np.ascontiguousarray(rows).reshape(-1))
    if stranger >= 0:
        row, column = divmod(stranger, rows.shape[1])
        value = rows[row, column]
        missing = value != value
        raise InvalidInput(
            f"{'a missing value' if missing else value!s} in row {row + 1}, column {columns[column] + 1}",
            law.wanted(),
            "Drop or impute rows with missing values before they are hidden."
            if missing
            else "Round the data to the states of the channel, or give the channel the states of the data.",
        )
    return codes.reshape(rows.shape)


def as_rows(table: Any, width: int | None = None) -> NDArray[Any]:
    """Return an array of numbers, n x width; what has more dimensions (images) is laid out in one row each."""
    try:
        rows = np.asarray(table)
        if rows.dtype.kind not in "biuf":
            rows = rows.astype(float)
    except (*NOT_ARROW,):
        raise InvalidInput(f"a {type(table).__name__} that is not a table of numbers", "one row a record") from None
    if rows.ndim > 2:
        rows = rows.reshape(len(rows), -1)
    if rows.ndim != 2 or (width is not None and rows.shape[1] != width):
        raise InvalidInput(
            f"an array of shape {rows.shape}",
            f"one row a record: shape (n, {'attributes' if width is None else width})",
        )
    return rows
