"""Several designs in one data set: every row says under which design it was asked.

Half of a survey may use Warner's device with one probability, half with another, and a third group may
have been asked directly. The learner sees one stacked report alphabet: a code names design and report.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.arrays import Codes, Floats
from askance.channels.alphabet import Alphabet, Label
from askance.channels.base import Spec
from askance.channels.channel import Prepared, Truth
from askance.channels.columns import as_column, some_rows
from askance.channels.guarantee import Guarantee
from askance.channels.labels.channel_matrix import unbiasing_matrix
from askance.channels.labels.finite import FiniteLaw, refuse_other_classes
from askance.channels.labels.unknown import HasUnknowns, Unknown, joined_unknowns
from askance.channels.question_channel import QuestionChannel
from askance.channels.report_columns import ReportColumn, label_reports
from askance.channels.value import SPEC_VERSION
from askance.entropy.bits import BitSource, GeneratorBits, system_bits
from askance.entropy.draws import code_type
from askance.errors import InvalidInput
from askance.frames import like, refuse_other_rows


@dataclass(frozen=True, repr=False, eq=False)
class DesignPerRow(QuestionChannel, HasUnknowns):
    """A set of named designs over the same classes.

    Parameters
    ----------
    designs : mapping from name to finite channel
        All must have the same classes in the same order. Numbers that are :class:`Unknown` and have the same name are
        one number in all of them.

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
    hides: ClassVar[Truth] = "labels"
    needs_design: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.designs, Mapping):
            raise InvalidInput(f"designs={self.designs!r}", "a mapping such as {'cards': Warner(0.8)}")
        designs = dict(self.designs)
        if not designs:
            raise InvalidInput("no designs", "at least one, such as DesignPerRow({'cards': Warner(0.8)})")
        for name, channel in designs.items():
            if not isinstance(name, str) or not isinstance(channel, FiniteLaw):
                raise InvalidInput(f"the design {name!r}: {channel!r}", "names with finite channels")
        refuse_other_classes(designs)
        joined_unknowns(channel.unknowns for channel in designs.values())
        vars(self).update(designs=MappingProxyType(designs))

    @property
    def classes(self) -> tuple[Label, ...]:  # type: ignore[override]
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
        weakest = max((channel.guarantee for channel in self.designs.values()), key=lambda g: g.epsilon)
        return replace(weakest, proof=self.proof)

    @property
    def unknowns(self) -> Mapping[str, Unknown]:
        return joined_unknowns(channel.unknowns for channel in self.designs.values())

    def matrix_at(self, psi: Mapping[str, float]) -> Floats:
        return np.vstack([channel.matrix_at(psi) for channel in self.designs.values()])

    def with_values(self, psi: Mapping[str, float]) -> "DesignPerRow":
        values = self.checked_values(psi, every=False)
        return DesignPerRow(
            {
                name: channel.with_values({n: value for n, value in values.items() if n in channel.unknowns})
                for name, channel in self.designs.items()
            }
        )

    @cached_property
    def telling(self) -> NDArray[np.bool_]:
        """Which report codes belong to designs that determine the truth by themselves: not those of an anchor."""
        classes = len(self.classes)
        each = [np.linalg.matrix_rank(channel.matrix) == classes for channel in self.designs.values()]
        return np.repeat(each, np.diff(self._offsets))

    def only_telling(self) -> "DesignPerRow":
        """Return the designs that determine the truth by themselves."""
        informative = self.telling[self._offsets[:-1]]
        kept = {
            name: channel for (name, channel), tells in zip(self.designs.items(), informative, strict=True) if tells
        }
        return DesignPerRow(kept)

    @property
    def as_asked(self) -> "DesignPerRow":
        """The designs that people are asked to follow, which :meth:`privatize` draws from."""
        if not self.unknowns:
            return self
        return DesignPerRow({name: channel.as_asked for name, channel in self.designs.items()})

    def without_effect(self, name: str) -> float | None:
        said = [channel.without_effect(name) for channel in self.designs.values() if name in channel.unknowns]
        return said[0] if len({*said}) == 1 else None

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
        refuse_other_rows(reports=reports, design=design)
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

    def report_columns(self, reports: Any) -> list[ReportColumn]:
        """Return :attr:`matrix` and the row of it that each report is; for a channel with a single design."""
        return [label_reports(self.matrix, self.encode_reports(reports))]

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

    def prepare(self, truth: Any, design: Any = None) -> Prepared:
        """Return the codes of true answers and of the designs of their rows; refuse what is none."""
        refuse_other_rows(truth=truth, design=design)
        answers = Alphabet(self.classes, "answer").encode(truth)
        return Prepared((answers, self._encode_design(design, len(answers))))

    def draw(self, values: tuple[Codes, Codes], bits: BitSource) -> Codes:
        """Draw report codes under the design of each row."""
        answers, which = values
        codes = np.empty(len(answers), dtype=code_type(int(self._offsets[-1])))
        for number, channel in enumerate(self.designs.values()):
            rows = np.flatnonzero(which == number)
            codes[rows] = channel.draw(answers[rows], bits) + codes.dtype.type(self._offsets[number])
        return codes

    def decode_reports(self, codes: Codes) -> NDArray[Any]:
        """Return the labels of report codes."""
        return self._report_labels[codes]

    @cached_property
    def _report_labels(self) -> NDArray[Any]:
        """The report labels of all designs, in the order of their codes."""
        alphabets = [channel.report_alphabet.array for channel in self.designs.values()]
        same_kind = len({alphabet.dtype.kind for alphabet in alphabets}) == 1
        return np.concatenate([alphabet if same_kind else alphabet.astype(object) for alphabet in alphabets])

    @cached_property
    def report_labels(self) -> tuple[Label, ...]:
        """Every report that some design can give."""
        return tuple(dict.fromkeys(label for channel in self.designs.values() for label in channel.report_labels))

    @property
    def arrow_type(self) -> pa.DataType:
        return self._kept_as[0].arrow_type

    def store(self, codes: Codes) -> pa.Array:
        """Pack the labels of report codes; the designs of the rows have a column of their own."""
        alphabet, places = self._kept_as
        return alphabet.to_arrow(places[codes])

    @cached_property
    def _kept_as(self) -> tuple[Alphabet, NDArray[np.int32]]:
        """The labels of all designs, each once, and where the label of each report code is among them."""
        stacked = [label for channel in self.designs.values() for label in channel.report_labels]
        return Alphabet(self.report_labels, "report"), np.array([*map(self.report_labels.index, stacked)], np.int32)

    def declaration(self) -> dict[str, Any]:
        designs = {name: channel.design("classes") for name, channel in self.designs.items()}
        return {"choices": self.classes, "designs": designs}

    def privatize(self, truth: Any, design: Any = None) -> Any:
        """Draw a report for each true answer under its row's design, with the operating system's entropy."""
        return like(truth, self.decode_reports(self.draw(self.prepare(truth, design).values, system_bits())))

    def simulate(
        self, truth: Any, rng: np.random.Generator, design: Any = None, psi: Mapping[str, float] | None = None
    ) -> Any:
        """Draw reports reproducibly, for planning and tests; never for real answers.

        Parameters
        ----------
        truth : true answers
        rng : numpy.random.Generator
        design : n names
            The design of each row.
        psi : mapping from name to number, optional
            The values of the designs' unknown numbers, if they have some.
        """
        bits, known = GeneratorBits(rng), self.with_values(self.checked_values(psi, every=True))
        return like(truth, self.decode_reports(known.draw(self.prepare(truth, design).values, bits)))

    def describe(self) -> str:
        parts = " ".join(f"{name!r}: {channel.describe()}" for name, channel in self.designs.items())
        return f"Every respondent was asked under one of {len(self._names)} designs. {parts}"

    def to_spec(self) -> Spec:
        """Return a JSON-able description; :func:`askance.channel_from_spec` reads it."""
        designs = {name: channel.to_spec() for name, channel in self.designs.items()}
        return {"channel": self.kind, "version": SPEC_VERSION, "designs": designs}

    def __repr__(self) -> str:
        return f"DesignPerRow({dict(self.designs)!r})"

    @cached_property
    def identity(self) -> str:
        # In the order of the designs, too: it decides which row of the matrix is which.
        return json.dumps([self.kind, [(name, channel.to_spec()) for name, channel in self.designs.items()]])

    def parameters(self) -> dict[str, Any]:
        return {"designs": dict(self.designs)}
