"""Whole rows of numbers, hidden together: every person sends one report about all columns at once.

What a linear model needs of a row are its second moments: with a = (1, z) the entries of a a', where z are the
columns. So a row channel, whatever its mechanism, says how to get an unbiased estimate of a a' out of one report.

- ``window`` hides the columns themselves, some of them a person, and estimates products from products of reports;
- ``unit``, ``sampled``, ``coordinate`` and ``per-value`` hide the vector of all first and second moments;
- ``triple`` hides three bits about two columns.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.channel import Prepared
from askance.channels.guarantee import Guarantee
from askance.channels.layouts import Bits, Fields, Reports
from askance.channels.question_channel import QuestionChannel
from askance.channels.rows.bounds import Bounds
from askance.channels.rows.coordinate_release import CoordinateRelease
from askance.channels.rows.per_value_flip import PerValueFlip
from askance.channels.rows.priv_unit import PrivUnit
from askance.channels.rows.report_views import ReportView
from askance.channels.rows.row_columns import RowColumns
from askance.channels.rows.sampled_coordinates import SampledCoordinates
from askance.channels.rows.triple_release import TripleRelease
from askance.channels.rows.vectors import NumberChannel, RowMechanism, checked_epsilon, product_names, products
from askance.channels.rows.window_release import WindowRelease
from askance.entropy.bits import BitSource
from askance.errors import InvalidInput

MECHANISMS = ("window", "unit", "sampled", "coordinate", "per-value", "triple")


@dataclass(frozen=True, eq=False, repr=False)
class PrivateRow(NumberChannel, QuestionChannel):
    """Hide all columns of a row in one report.

    Parameters
    ----------
    columns : mapping from names to (lower, upper), or to a list of categories
        Public bounds: known to everybody, and not computed from the data. Values outside are clipped. A column of
        categories is hidden as one indicator for each but the first, such as ``town[south]``.
    epsilon : float
        The level of the whole row.
    mechanism : str
        "window" (k of the columns, each within a window), "unit" (a random direction that points near the moments),
        "sampled" (k of the moments by the hybrid mechanism), "coordinate", "per-value" and "triple" (those of the
        paper). "auto" is "window".
    outcome : str, optional
        The column that a model will be asked to predict; of two categories, the second is predicted. The window
        mechanism reports it about every person.
    k : int, optional
        How many columns ("window") or moments ("sampled") a report speaks of; chosen if not given.
    radius : float, optional
        For "unit": moments are shortened to this length. The public bound if not given.
    calibration : "tight" or "paper"
        For the paper's mechanisms: the exact level, or the one that the paper's formula gives.

    Examples
    --------
    >>> from askance import PrivateRow
    >>> row = PrivateRow({"age": (0, 100), "income": (0, 500)}, epsilon=8, outcome="income")
    >>> print(row.guarantee)
    epsilon 8, protects one row of 2 numbers: age, income (any two rows within the public bounds)
    """

    columns: Any
    epsilon: float
    mechanism: str = "auto"
    outcome: str | None = None
    k: int | None = None
    radius: float | None = None
    calibration: Literal["tight", "paper"] = "tight"

    kind: ClassVar[str] = "private-row"

    def __post_init__(self) -> None:
        columns = RowColumns.of(self.columns)
        bounds, outcome = columns.bounds, self.outcome
        epsilon = checked_epsilon(self.epsilon)
        name = "window" if self.mechanism == "auto" else self.mechanism
        if name not in MECHANISMS:
            raise InvalidInput(f"mechanism={self.mechanism!r}", f"one of {', '.join(('auto', *MECHANISMS))}")
        if outcome is not None and outcome not in bounds.names:
            hidden = columns.hidden(outcome) if outcome in columns.names else ()
            if len(hidden) != 1:
                said = ", which has more than two categories" if hidden else ""
                raise InvalidInput(f"outcome={outcome!r}{said}", f"one of the columns {', '.join(bounds.names)}")
            outcome = hidden[0]
        if len(columns.names) < 2:
            raise InvalidInput(
                f"a row of one column, {columns.names[0]!r}",
                "at least two",
                "For one number use PrivateNumber, for one of several categories RandomizedResponse.",
            )
        if self.calibration not in ("tight", "paper"):
            raise InvalidInput(f"calibration={self.calibration!r}", "'tight' or 'paper'")
        for option, value, users in (
            ("k", self.k, ("window", "sampled")),
            ("radius", self.radius, ("unit",)),
            ("calibration", self.calibration if self.calibration == "paper" else None, MECHANISMS[3:]),
        ):
            if value is not None and name not in users:
                raise InvalidInput(f"{option}={value!r} for the mechanism {name!r}", f"{option} for {', '.join(users)}")
        vars(self).update(columns=tuple(columns.to_list()), outcome=outcome)
        vars(self).update(epsilon=epsilon, mechanism=name)
        # What was chosen is part of the channel: another version may choose otherwise.
        vars(self).update({name: getattr(self.inner, name) for name in ("k", "radius") if hasattr(self.inner, name)})

    # -- what is hidden ------------------------------------------------------------------------------

    @cached_property
    def _read(self) -> RowColumns:
        return RowColumns.of(self.columns)

    @cached_property
    def bounds(self) -> Bounds:
        """Names and public bounds of the numbers that are hidden: columns, and indicators of categories."""
        return self._read.bounds

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The columns that are no numbers, with their categories."""
        return {name: labels for name, labels in zip(self._read.names, self._read.categories, strict=True) if labels}

    def hidden(self, column: str) -> tuple[str, ...]:
        """Return the numbers that a column is hidden as: itself, or the indicators of all categories but the first."""
        return self._read.hidden(column)

    def numbers(self, table: Any) -> Floats:
        """Return the numbers that are hidden of a table: its columns, and indicators of categories."""
        return self._read.values(table)

    @cached_property
    def _signed(self) -> bool:
        """Whether columns are taken on [-1, 1], around the middle of their bounds, or on [0, 1] as in the paper."""
        return self.mechanism in ("window", "unit", "sampled")

    @cached_property
    def _square_scale(self) -> float:
        # z^2 - 1/2 makes a short vector. What is hidden coordinate by coordinate may as well fill [-1, 1].
        return 0.5 if self.mechanism == "sampled" else 1.0

    @cached_property
    def inner(self) -> RowMechanism:
        """The channel that draws the reports: of the columns, or of their moments."""
        width = len(self.bounds.names)
        moments = width + width * (width + 1) // 2
        always = () if self.outcome is None else (self.bounds.names.index(self.outcome),)
        made: dict[str, Callable[[], RowMechanism]] = {
            "window": lambda: WindowRelease(width, self.epsilon, k=self.k, always=always),
            "unit": lambda: PrivUnit(moments, self.epsilon, radius=self.radius or self._longest),
            "sampled": lambda: SampledCoordinates(moments, self.epsilon, k=self.k),
            "coordinate": lambda: CoordinateRelease(moments, self.epsilon, calibration=self.calibration),
            "per-value": lambda: PerValueFlip(moments, self.epsilon, moments, calibration=self.calibration),
            "triple": lambda: TripleRelease(width + 1, self.epsilon, calibration=self.calibration),
        }
        return made[self.mechanism]()

    @cached_property
    def _longest(self) -> float:
        """The length of the longest vector of moments that the public bounds allow."""
        width = len(self.bounds.names)
        return float(np.sqrt(width + width * (width - 1) / 2 + width / 4))

    @property
    def shortens(self) -> bool:
        """Whether moments are cut to a radius that some rows exceed, which moves estimates towards the middle."""
        return self.radius is not None and self.radius < self._longest * (1 - 1e-12)

    @cached_property
    def guarantee(self) -> Guarantee:
        """Exact privacy of the whole row."""
        names, kind = self._read.names, "columns" if self._read.has_categories else "numbers"
        return Guarantee(
            epsilon=self.inner.guarantee.epsilon,
            protects=f"one row of {len(names)} {kind}: {', '.join(names)}",
            neighbours="any two rows within the public bounds",
            proof=self.proof,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the numbers that are hidden: columns, and indicators of categories."""
        return self.bounds.names

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """The lower and the upper bounds of the numbers that are hidden."""
        return np.array(self.bounds.lower), np.array(self.bounds.upper)

    @property
    def layout(self) -> Fields | Bits:
        """How reports are kept."""
        return self.inner.layout

    def sources(self, question: str) -> tuple[str, ...]:
        return self._read.names

    def public_bounds(self, question: str) -> dict[str, tuple[float, float]]:
        return {name: (low, high) for name, (low, high) in self.bounds.to_dict().items()}

    def declaration(self) -> dict[str, Any]:
        return {"columns": self._read.to_dict(), "channel": self.design("columns")}

    def describe(self) -> str:
        """How the truth was hidden, in a sentence."""
        return f"The columns {', '.join(self._read.names)} are hidden together. {self.inner.describe()}"

    def numbers_of(self, table: Any, wanted: Sequence[str]) -> Floats:
        """Return some of the numbers that are hidden, of a table that has the columns that these need."""
        return self._read.only(wanted, table)

    # -- the respondent's side -----------------------------------------------------------------------

    def clip(self, table: Any) -> tuple[Floats, dict[str, int]]:
        """Return the columns inside their bounds, and how many values of which column were not."""
        inside, clipped = self.bounds.clip(self.numbers(table))
        if self.shortens:
            _, shortened = self.inner.shortened(self._statistics(inside))
            clipped |= {"rows beyond the radius": shortened} if shortened else {}
        return inside, clipped

    def prepare(self, table: Any) -> Prepared:
        """Return what the inner channel hides, of columns inside their bounds."""
        inside, clipped = self.bounds.clip(self.numbers(table))
        short, shortened = self.inner.shortened(self._statistics(inside))
        return Prepared(short, clipped, shortened)

    def draw(self, values: Floats, bits: BitSource) -> Reports:
        """Draw a report for each row of what the inner channel hides."""
        return self.inner.draw(values, bits)

    def _clipped_in_words(self, clipped: Mapping[str, int]) -> str:
        counted = ", ".join(f"{count} of {name}" for name, count in clipped.items())
        return f"values outside their public bounds were clipped before they were hidden: {counted}"

    def _statistics(self, inside: Floats) -> Floats:
        """What the mechanism hides, of rows in data units and inside their bounds."""
        columns = self.bounds.standardise(inside)
        if not self._signed:
            columns = (columns + 1) / 2
        if self.mechanism == "window":
            return columns
        if self.mechanism == "triple":
            return np.column_stack([np.ones(len(columns)), columns])
        first, second = np.triu_indices(columns.shape[1])
        moments = np.column_stack([columns, columns[:, first] * columns[:, second]])
        return (moments - self._offset) / self._scale

    @cached_property
    def _squares(self) -> NDArray[np.bool_]:
        first, second = np.triu_indices(len(self.bounds.names))
        return np.concatenate([np.zeros(len(self.bounds.names), dtype=bool), first == second])

    @cached_property
    def _offset(self) -> Floats:
        return np.where(self._squares & self._signed, 0.5, 0.0)

    @cached_property
    def _scale(self) -> Floats:
        return np.where(self._squares & self._signed, self._square_scale, 1.0)

    # -- the learner's side --------------------------------------------------------------------------

    def encode_reports(self, reports: Any, design: Any = None) -> Reports:
        """Check reports, or unpack those of a file."""
        return self.inner.encode_reports(reports, design)

    def moments(self, reports: Any) -> Floats:
        """Return b, n x (m + 1)(m + 2) / 2, with E[b | row] = the upper triangle of a a', where a = (1, columns).

        Columns are on the mechanism's own scale; :attr:`to_units` leads to that of the data.
        """
        estimates = self.inner.estimates(reports)
        if self.mechanism == "triple":
            estimates[:, 0] = 1.0  # the product of the constant with itself needs no estimate
            return estimates
        if self.mechanism != "window":
            estimates = self._offset + self._scale * estimates
        return np.hstack([np.ones((len(estimates), 1)), estimates])

    def moment_sums(self, reports: Any, weights: Any = None) -> tuple[float, float, Floats, Floats] | None:
        """Return the sums of w, w^2, w b and (w b)^2 over reports, with b of :meth:`moments`.

        None where nothing is quicker than to sum the moments themselves.
        """
        sums = self.inner.estimate_sums(reports, weights)
        if sums is None:
            return None
        weight, squared, total, squares = sums
        return weight, squared, np.concatenate([[weight], total]), np.concatenate([[squared], squares])

    @property
    def estimated(self) -> list[str]:
        return [*self.names, *product_names(self.names)]

    def estimates(self, reports: Any) -> Floats:
        return self.moments(reports)[:, 1:]

    def expected(self, row: Floats) -> Floats:
        own = np.linalg.solve(self.to_units, np.concatenate([[1.0], row]))[1:]
        moments = np.concatenate([own, products(own)])
        if self.mechanism != "unit":
            return moments
        short, _ = self.inner.shortened(((moments - self._offset) / self._scale)[None])
        expected: Floats = self._offset + self._scale * short[0]
        return expected

    @property
    def report_views(self) -> tuple[ReportView, ...]:
        if self.mechanism == "window":
            return self.inner.views_of(self.names)
        return self.inner.views_of(["1", *self.names] if self.mechanism == "triple" else self.estimated)

    @property
    def work(self) -> int:
        return self.inner.work

    @cached_property
    def to_units(self) -> Floats:
        """L with (1, columns in the units of the data) = L (1, columns on the mechanism's own scale)."""
        bounds = self.bounds
        matrix = np.diag(np.concatenate([[1.0], bounds.half if self._signed else 2 * bounds.half]))
        matrix[1:, 0] = bounds.centre if self._signed else bounds.lower
        return matrix

    # -- identity ------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        # A list, because the order of columns matters and that of a JSON object may get lost.
        return super().parameters() | {"columns": [_as_list(column) for column in self.columns]}

    def __repr__(self) -> str:
        given = {name: value for name, value in self.parameters().items() if value is not None}
        given["columns"] = self._read.to_dict()
        if self.calibration == "tight":
            del given["calibration"]
        return f"PrivateRow({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def _as_list(column: tuple[Any, ...]) -> list[Any]:
    """A column as JSON gives it back."""
    return [list(part) if isinstance(part, tuple) else part for part in column]
