"""Several designs in one data set: every row says under which design it was asked.

Half of a survey may use Warner's device with one probability, half with another, and a third group may
have been asked directly. The learner sees one stacked report alphabet: a code names design and report.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes
from askance.channels.alphabet import Alphabet, Label
from askance.channels.base import Spec
from askance.channels.columns import as_column, some_rows
from askance.channels.guarantee import Guarantee
from askance.channels.labels.finite import FiniteLaw, unbiasing_matrix
from askance.channels.value import SPEC_VERSION
from askance.entropy.bits import BitSource, GeneratorBits, system_bits
from askance.entropy.draws import code_type
from askance.errors import InvalidInput


@dataclass(frozen=True, repr=False, eq=False)
class DesignPerRow:
    """A set of named designs over the same classes.

    Parameters
    ----------
    designs : mapping from name to finite channel
        All must have the same classes in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import DesignPerRow, Identity, Warner
    >>> channel = DesignPerRow({"cards": Warner(0.8), "direct": Identity(["no", "yes"])})
    >>> channel.likelihood(["yes", "yes"], design=["cards", "direct"])
    array([[0.2, 0.8],
           [0. , 1. ]])
    """

    designs: Mapping[str, FiniteLaw]

    kind: ClassVar[str] = "design-per-row"

    def __post_init__(self) -> None:
        if not isinstance(self.designs, Mapping):
            raise InvalidInput(f"designs={self.designs!r}", "a mapping such as {'cards': Warner(0.8)}")
        designs = dict(self.designs)
        if not designs:
            raise InvalidInput("no designs", "at least one, such as DesignPerRow({'cards': Warner(0.8)})")
        for name, channel in designs.items():
            if not isinstance(name, str) or not isinstance(channel, FiniteLaw):
                raise InvalidInput(f"the design {name!r}: {channel!r}", "names with finite channels")
        first = next(iter(designs.values()))
        for name, channel in designs.items():
            if channel.classes != first.classes:
                raise InvalidInput(
                    f"design {name!r} has the classes {channel.classes!r}",
                    f"the same classes in every design, here {first.classes!r}",
                )
        vars(self).update(designs=MappingProxyType(designs))

    @property
    def classes(self) -> tuple[Label, ...]:
        return next(iter(self.designs.values())).classes

    @cached_property
    def _names(self) -> list[str]:
        return list(self.designs)

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        """Where each design's reports begin in the stacked alphabet, and where the last ends."""
        return np.cumsum([0] + [len(channel.report_labels) for channel in self.designs.values()])

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """The designs' matrices, stacked: each block of rows is one design."""
        stacked = np.vstack([channel.matrix for channel in self.designs.values()])
        stacked.setflags(write=False)
        return stacked

    @cached_property
    def guarantee(self) -> Guarantee:
        """The weakest guarantee that any respondent gets."""
        return max((channel.guarantee for channel in self.designs.values()), key=lambda g: g.epsilon)

    def _blocks(self) -> list[slice]:
        return [slice(int(a), int(b)) for a, b in zip(self._offsets[:-1], self._offsets[1:], strict=True)]

    def _encode_design(self, design: Any, rows: int) -> Codes:
        if design is None and len(self._names) == 1:
            return np.zeros(rows, dtype=np.uint8)
        if design is None:
            raise InvalidInput(
                "no design for the rows, with a channel that has several",
                f"design= an array that names one of {self._names} for each row",
            )
        codes = Alphabet(tuple(self._names), "design").encode(design)
        if len(codes) != rows:
            raise InvalidInput(f"{len(codes)} designs for {rows} rows", "one design for each row")
        return codes

    def encode_reports(self, reports: Any, design: Any = None) -> Codes:
        """Turn reports and designs into row numbers of :attr:`matrix`."""
        column = as_column(reports, "report")
        which = self._encode_design(design, len(column))
        out = np.empty(len(column), dtype=code_type(int(self._offsets[-1])))
        for number, (name, channel) in enumerate(self.designs.items()):
            rows = np.flatnonzero(which == number)
            try:
                codes = channel.encode_reports(some_rows(column, rows))
            except InvalidInput as problem:
                raise InvalidInput(f"among the rows asked under {name!r}: {problem}") from None
            out[rows] = codes + self._offsets[number]
        return out

    def likelihood(self, reports: Any, design: Any = None) -> NDArray[np.float64]:
        """Return P(report_i | truth k) under row i's design, n x classes."""
        likelihood: NDArray[np.float64] = self.matrix[self.encode_reports(reports, design)]
        return likelihood

    def unbias(
        self, reports: Any, design: Any = None, report_law: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return b, n x classes, with E[b_i | truth_i] = the indicator of truth_i."""
        unbiased: NDArray[np.float64] = self.unbiasing_matrix(report_law).T[self.encode_reports(reports, design)]
        return unbiased

    def unbiasing_matrix(
        self, report_law: NDArray[np.float64] | None = None, features: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the designs' unbiasing matrices side by side; only proportions within a design matter."""
        blocks = []
        for rows in self._blocks():
            law = None if report_law is None else np.asarray(report_law)[rows]
            if law is not None:  # of a design that no row was asked under, nothing needs to be precise
                law = law / law.sum() if law.sum() > 0 else None
            blocks.append(unbiasing_matrix(self.matrix[rows], self.classes, law, features))
        return np.hstack(blocks)

    def privatize(self, truth: Any, design: Any) -> NDArray[Any]:
        """Draw a report for each true answer under its row's design, with the operating system's entropy."""
        return self._report(truth, design, system_bits())

    def simulate(self, truth: Any, rng: np.random.Generator, design: Any) -> NDArray[Any]:
        """Draw reports reproducibly, for planning and tests; never for real answers."""
        return self._report(truth, design, GeneratorBits(rng))

    def _report(self, truth: Any, design: Any, bits: BitSource) -> NDArray[Any]:
        answers = Alphabet(self.classes, "answer").encode(truth)
        which = self._encode_design(design, len(answers))
        alphabets = [channel._reports.array for channel in self.designs.values()]
        same_kind = len({alphabet.dtype.kind for alphabet in alphabets}) == 1
        out = np.empty(len(answers), dtype=np.result_type(*alphabets) if same_kind else object)
        for number, channel in enumerate(self.designs.values()):
            rows = np.flatnonzero(which == number)
            out[rows] = channel._reports.decode(channel._sampler.draw(answers[rows], bits))
        return out

    def describe(self) -> str:
        parts = "; ".join(f"{name!r}: {channel.describe()}" for name, channel in self.designs.items())
        return f"Every respondent was asked under one of {len(self._names)} designs. {parts}"

    def to_spec(self) -> Spec:
        """Return a JSON-able description; :func:`askance.channel_from_spec` reads it."""
        designs = {name: channel.to_spec() for name, channel in self.designs.items()}
        return {"channel": self.kind, "version": SPEC_VERSION, "designs": designs}

    def __repr__(self) -> str:
        return f"DesignPerRow({dict(self.designs)!r})"

    def __eq__(self, other: object) -> bool:
        # In the same order, too: it decides which row of the matrix is which.
        return isinstance(other, DesignPerRow) and list(self.designs.items()) == list(other.designs.items())

    def __hash__(self) -> int:
        return hash(tuple(self.designs.items()))

    def __deepcopy__(self, memo: Any) -> "DesignPerRow":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return DesignPerRow, (dict(self.designs),)
