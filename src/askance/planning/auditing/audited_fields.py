"""Any channel as a table of random numbers: truths to try, and the fields of the reports about them.

Whatever a channel hides, its reports are brought into one form, rows x fields, together with the number of the truth
that each field is about. Ranks among all reports about the same truth, with ties broken at random, are even and
independent for every honest channel, whatever its law: so dependence can be tested without believing the law.
"""

from abc import ABC, abstractmethod
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.coordinate_law import FiniteCoordinate
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.attributes.noise_law import NoiseCoordinate
from askance.channels.attributes.row_channel import RowChannel
from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.labels.finite import FiniteLaw
from askance.channels.rows.vectors import NumberChannel
from askance.errors import InvalidInput
from askance.planning.auditing.audited_rows import AuditedRows

Truths = NDArray[np.int64]  # numbers of truths, rows x parts

_MOST_TRUTHS = 6  # of one field: ranks among the reports on one truth need many of these
_MOST_FIELDS = 15  # of a report on a row of numbers, drawn at random where there are more
FAR_APART = 10  # sizes of the noise between truths and the middle, where no bounds say how far apart they may be


class FieldNames(Protocol):
    """What tests of dependence must know about fields."""

    @property
    def names(self) -> list[str]:
        """Of the fields."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many truths each part has."""

    @property
    def part(self) -> NDArray[np.int64]:
        """Which part's truth each field is about."""

    @property
    def independent(self) -> bool:
        """Whether fields of one report are independent, given the truth."""


class AuditedFields(ABC):
    """A channel whose reports are fields: see :class:`FieldNames`."""

    channel: Any
    names: list[str]
    counts: NDArray[np.int64]
    part: NDArray[np.int64]
    independent: bool

    def truths(self, rows: int, rng: np.random.Generator) -> Truths:
        """Draw truths, for every row and part, all equally likely."""
        return rng.integers(0, self.counts, size=(rows, len(self.counts)))

    @abstractmethod
    def asked(self, truths: Truths) -> tuple[Any, ...]:
        """Return what the channel's ``privatize`` takes."""

    def reports(self, truths: Truths) -> Any:
        """Draw reports through ``privatize``, as they come."""
        return self.channel.privatize(*self.asked(truths))

    @abstractmethod
    def values(self, reports: Any, truths: Truths) -> Floats:
        """Return the fields of reports, rows x fields."""

    def surprise(self, values: Floats, truths: Truths) -> Floats | None:
        """Return fields in another order, in which the truth comes first; None if there is none."""
        return None

    def distance(self, reports: Any, truths: Truths) -> Floats:
        """Return how far reports are from the truth, rows x fields: 0 where the truth is told."""
        values = self.values(reports, truths)
        surprise = self.surprise(values, truths)
        return np.abs(values) if surprise is None else surprise

    def rows_of(self, truths: Truths, columns: NDArray[np.intp]) -> Floats:
        """Return the truths of some attributes, where there are any."""
        raise NotImplementedError

    def reported(self, reports: Any) -> Floats:
        """Return the attributes as they were reported, where there are any."""
        raise NotImplementedError

    @property
    def work(self) -> int:
        """About how many numbers are drawn for one row."""
        return len(self.names)


class _Answers(AuditedFields):
    """A finite channel: the code of a report."""

    def __init__(self, channel: FiniteLaw | DesignPerRow, rng: np.random.Generator) -> None:
        self.channel = channel
        self.designs = list(channel.designs.items())
        classes = len(channel.classes)
        chosen = np.arange(classes)
        if classes > _MOST_TRUTHS:
            inner = 1 + rng.choice(classes - 2, size=_MOST_TRUTHS - 2, replace=False)
            chosen = np.array([0, *sorted(inner.tolist()), classes - 1])
        labels = [(name, law, int(k)) for name, law in self.designs for k in chosen]
        self._labels = np.array([channel.classes[k] for _, _, k in labels], dtype=_label_kind(channel.classes))
        self._names = np.array([name for name, _, _ in labels])
        first = dict(zip((name for name, _ in self.designs), self._first_codes(), strict=True))
        # Where each report stands, for each truth, if the likeliest come first.
        self._order = np.zeros((sum(len(law.report_labels) for _, law in self.designs), len(labels)))
        for n, (name, law, k) in enumerate(labels):
            place = np.empty(len(law.report_labels))
            place[np.argsort(-law.counts[:, k], kind="stable")] = np.arange(len(place))
            self._order[first[name] : first[name] + len(place), n] = place
        self.names, self.counts = ["the report"], np.array([len(labels)])
        self.part, self.independent = np.zeros(1, np.int64), True

    def _first_codes(self) -> list[int]:
        sizes = [len(law.report_labels) for _, law in self.designs]
        return [0, *np.cumsum(sizes)[:-1].tolist()]

    def _design(self, truths: Truths) -> tuple[Any, ...]:
        return (self._names[truths[:, 0]],) if self.channel.needs_design else ()

    def labels(self, truths: Truths) -> NDArray[Any]:
        """Return the truths themselves."""
        labels: NDArray[Any] = self._labels[truths[:, 0]]
        return labels

    def asked(self, truths: Truths) -> tuple[Any, ...]:
        return (self.labels(truths), *self._design(truths))

    def values(self, reports: Any, truths: Truths) -> Floats:
        codes = self.channel.encode_reports(reports, *self._design(truths))
        return np.asarray(codes, dtype=float)[:, None]

    def surprise(self, values: Floats, truths: Truths) -> Floats:
        return self._order[values.astype(np.int64), truths]


class _Attributes(AuditedFields):
    """Attributes that are hidden one by one: a state, or the noise that was added."""

    def __init__(self, channel: FeatureChannel, rng: np.random.Generator) -> None:
        self.channel = channel
        self._tried = [_attribute_truths(law, rng) for law in channel.laws]
        self._finite = np.array([law.is_finite for law in channel.laws])
        self._table = np.zeros((max(map(len, self._tried)), channel.width))
        for j, tried in enumerate(self._tried):
            self._table[: len(tried), j] = tried
        self.names = [f"attribute {j + 1}" for j in range(channel.width)]
        self.counts = np.array([len(tried) for tried in self._tried])
        self.part, self.independent = np.arange(channel.width), True

    def rows(self, truths: Truths) -> Floats:
        """Return the truths themselves."""
        return self._table[truths, np.arange(truths.shape[1])]

    def rows_of(self, truths: Truths, columns: NDArray[np.intp]) -> Floats:
        return self._table[truths, columns]

    def reported(self, reports: Any) -> Floats:
        return np.asarray(reports, dtype=float).reshape(-1, self.channel.width)

    def asked(self, truths: Truths) -> tuple[Any, ...]:
        return (self.rows(truths),)

    def values(self, reports: Any, truths: Truths) -> Floats:
        reported = self.reported(reports)
        return np.where(self._finite, reported, reported - self.rows(truths))

    def surprise(self, values: Floats, truths: Truths) -> Floats | None:
        if not self._finite.any():
            return None
        far = values + (np.abs(values).max(axis=0) * 4 + 1) * (values != self.rows(truths))
        return np.where(self._finite, far, np.abs(values))

    def distance(self, reports: Any, truths: Truths) -> Floats:
        values = self.values(reports, truths)
        return np.where(self._finite, values != self.rows(truths), np.abs(values))


class _Records(AuditedFields):
    """Attributes and a label, through the record's own ``privatize``."""

    def __init__(self, channel: RowChannel, rng: np.random.Generator) -> None:
        self.channel = channel
        self._features = _Attributes(channel.features, rng)
        self._label = None if channel.label is None else _Answers(channel.label, rng)
        self.names = [*self._features.names, "the label"][: len(self._features.names) + (self._label is not None)]
        labels = np.array([2]) if self._label is None else self._label.counts
        self.counts = np.concatenate([self._features.counts, labels])
        self.part, self.independent = np.arange(len(self.names)), True

    def _split(self, truths: Truths) -> tuple[Truths, Truths]:
        return truths[:, :-1], truths[:, -1:]

    def rows_of(self, truths: Truths, columns: NDArray[np.intp]) -> Floats:
        return self._features.rows_of(truths, columns)

    def reported(self, reports: Any) -> Floats:
        return self._features.reported(reports[0])

    def asked(self, truths: Truths) -> tuple[Any, ...]:
        features, label = self._split(truths)
        labels = label[:, 0] if self._label is None else self._label.labels(label)
        return ((self._features.rows(features), labels),)

    def values(self, reports: Any, truths: Truths) -> Floats:
        features, label = self._split(truths)
        values = self._features.values(reports[0], features)
        return values if self._label is None else np.hstack([values, self._label.values(reports[1], label)])

    def surprise(self, values: Floats, truths: Truths) -> Floats | None:
        features, label = self._split(truths)
        mine, width = values[:, : features.shape[1]], features.shape[1]
        ordered = self._features.surprise(mine, features)
        if self._label is None:
            return ordered
        ordered = np.abs(mine) if ordered is None else ordered
        return np.hstack([ordered, self._label.surprise(values[:, width:], label)])

    def distance(self, reports: Any, truths: Truths) -> Floats:
        features, label = self._split(truths)
        far = self._features.distance(reports[0], features)
        return far if self._label is None else np.hstack([far, self._label.distance(reports[1], label)])


class _Numbers(AuditedFields):
    """A row of numbers: some fields of its report, and how far its estimates point to the truth."""

    def __init__(self, channel: NumberChannel, rng: np.random.Generator) -> None:
        self.channel, self._rows = channel, AuditedRows(channel)
        tried = list(self._rows.truths.values())
        self._table = np.array(tried)
        expected = np.array([channel.expected(row) for row in tried])
        spread = np.ptp(expected, axis=0)
        self._weights = np.divide(expected, spread**2, out=np.zeros_like(expected), where=spread > 0)
        self._expected = expected
        self._fields = np.sort(rng.permutation(len(channel.layout.states))[:_MOST_FIELDS])
        self.names = [*(f"field {j + 1}" for j in self._fields), "the scale"]
        self.counts, self.independent = np.array([len(tried)]), False
        self.part = np.zeros(len(self.names), np.int64)

    def asked(self, truths: Truths) -> tuple[Any, ...]:
        return (self._table[truths[:, 0]],)

    def values(self, reports: Any, truths: Truths) -> Floats:
        codes = self.channel.encode_reports(reports)
        fields = codes.reshape(len(codes), -1)[:, self._fields].astype(float)
        estimates = self.channel.estimates(codes)
        scale = np.einsum("ij,ij->i", estimates, self._weights[truths[:, 0]])
        return np.column_stack([fields, scale])

    def distance(self, reports: Any, truths: Truths) -> Floats:
        off = self.channel.estimates(reports) - self._expected[truths[:, 0]]
        return np.asarray(np.einsum("ij,ij->i", off, off))[:, None]

    @property
    def work(self) -> int:
        return self._rows.work


@singledispatch
def audited_fields(channel: Any, rng: np.random.Generator) -> AuditedFields:
    """Return a channel in the form that tests of dependence take."""
    raise InvalidInput(f"an audit of {channel!r}", "a channel that draws reports")


audited_fields.register(FiniteLaw, _Answers)
audited_fields.register(DesignPerRow, _Answers)
audited_fields.register(FeatureChannel, _Attributes)
audited_fields.register(RowChannel, _Records)
audited_fields.register(NumberChannel, _Numbers)


def _attribute_truths(law: FiniteCoordinate | NoiseCoordinate, rng: np.random.Generator) -> Floats:
    """Return truths to try for one attribute."""
    if law.is_finite:
        states = law.values.astype(float)
        if len(states) > _MOST_TRUTHS:
            inner = 1 + rng.choice(len(states) - 2, size=_MOST_TRUTHS - 2, replace=False)
            states = states[[0, *sorted(inner.tolist()), -1]]
        return states
    low, high = law.bounds or (-FAR_APART * law.size, FAR_APART * law.size)
    return np.array([low, high, low + (high - low) * rng.random()])


def _label_kind(labels: Any) -> Any:
    return None if len({*map(type, labels)}) == 1 else object


def even_ranks(values: Floats, truths: Truths, part: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Return ranks within each truth, ties broken at random, as numbers between 0 and 1: rows x fields.

    A rank is any number of its own cell, so that groups of odd size have no middle.
    """
    rows, fields = values.shape
    ties, within = rng.random((2, rows, fields))
    ranks = np.empty((rows, fields))
    position = np.arange(rows)
    for j in range(fields):
        group = truths[:, part[j]]
        order = np.lexsort((ties[:, j], values[:, j], group))
        sizes = np.bincount(group)
        starts = np.cumsum(sizes) - sizes
        sorted_group = group[order]
        ranks[order, j] = (position - starts[sorted_group] + within[:, j]) / sizes[sorted_group]
    return ranks
