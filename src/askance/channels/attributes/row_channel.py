"""Both parts of a record, hidden independently: every attribute of its features, and its label.

S(label', x' | label, x) = S_label(label' | label) product over j of S_j(x'_j | x_j) ([RR] (45)). All parts are told at
once, so their levels add up to that of the record, exactly.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.attributes.per_coordinate import as_feature_channel
from askance.channels.base import Spec
from askance.channels.channel import Channel, Prepared, Truth, refuse_design
from askance.channels.guarantee import Guarantee, each_alone
from askance.channels.labels.finite import FiniteLaw
from askance.channels.report_columns import ReportColumn
from askance.channels.value import SPEC_VERSION
from askance.entropy.bits import BitSource
from askance.errors import InvalidInput
from askance.frames import column_names, in_named_order, like, refuse_other_rows

Record = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class RowChannel(Channel):
    """Hide the features of a record attribute by attribute, and its label.

    Parameters
    ----------
    features : StateFlip, GaussianNoise, LaplaceNoise, a finite channel between numbers, or a sequence of these
        How attributes are hidden: one channel for all, or one for each column.
    label : finite channel, optional
        How the label is hidden; labels are told as they are if not given.
    columns : sequence of str, optional
        The names of the attributes, if they come as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import RowChannel, StateFlip, Warner
    >>> channel = RowChannel(StateFlip(256, flip=0.1, dim=784), label=Warner(0.9, classes=(7, 9)))
    >>> print(channel.guarantee)
    epsilon 6069, protects one record of 784 attributes and a label, each alone at most 7.738 (any two records)
    >>> round(channel.guarantee.repeated(3).epsilon)
    18208
    >>> rng = np.random.default_rng(0)
    >>> images, digits = channel.simulate((np.zeros((2, 784), np.uint8), [7, 9]), rng)
    >>> images.shape, digits
    ((2, 784), array([7, 9]))

    References
    ----------
    Barber (2020), Private Machine Learning via Randomised Response, section 5.
    """

    features: Any
    label: Any = None
    columns: Any = None

    kind: ClassVar[str] = "row"
    hides: ClassVar[Truth] = "records"

    def __post_init__(self) -> None:
        features = as_feature_channel(self.features)
        if self.label is not None:
            if not isinstance(self.label, FiniteLaw):
                raise InvalidInput(
                    f"label={self.label!r}", "a finite channel such as Warner(0.8), or None: labels as they are"
                )
            self.label.unbiasing_matrix()  # refuses labels that no number of reports could tell apart
        columns = None if self.columns is None else checked_columns(self.columns)
        if columns is not None:
            features = features.for_width(len(columns))
        vars(self).update(features=features, columns=columns)

    # -- width ---------------------------------------------------------------------------------------

    @property
    def dim(self) -> int | None:
        """How many attributes there are; None if that was not said."""
        dim: int | None = self.features.dim
        return dim

    def for_width(self, dim: int) -> "RowChannel":
        """Return this channel for so many attributes; refused if it was made for another number of them."""
        features: FeatureChannel = self.features.for_width(dim)
        return self if features is self.features else RowChannel(features, self.label, self.columns)

    # -- privacy -------------------------------------------------------------------------------------

    @cached_property
    def guarantee(self) -> Guarantee:
        """Exact privacy of the whole record. The last level of ``per_attribute`` is the label's."""
        features = self.features.guarantee
        if self.label is None:
            return Guarantee(
                epsilon=features.epsilon,
                delta=features.delta,
                protects=f"{features.protects}; the label is told as it is",
                neighbours=f"{features.neighbours}, with the same label",
                per_attribute=features.per_attribute,
                proof=self.proof,
            )
        levels = (*features.per_attribute, self.label.guarantee.epsilon)
        width = self.features.width
        return Guarantee(
            epsilon=features.epsilon + levels[-1],
            delta=features.delta,
            protects=f"one record of {width} attribute{'s' if width > 1 else ''} and a label{each_alone(levels)}",
            neighbours=features.neighbours.replace("rows", "records").replace("values", "records"),
            per_attribute=levels,
            proof=self.proof,
        )

    def describe(self) -> str:
        """How the truth was hidden, and what that is worth, in words."""
        label = "The label is told as it is." if self.label is None else f"Label: {self.label.describe()}"
        if self.dim is None:
            return f"{self.features.describe()} {label}"
        return f"{self.features.describe()} {label} {self.guarantee}. {self.guarantee.in_words()}"

    def guarantee_of(self, attributes: int) -> Guarantee:
        return self.for_width(attributes - (self.label is not None)).guarantee

    # -- the respondent's side -----------------------------------------------------------------------

    def prepare(self, record: Any) -> Prepared:
        """Return the prepared parts of (features, labels)."""
        if not isinstance(record, tuple | list) or len(record) != 2:
            raise InvalidInput(f"a {type(record).__name__}", "the two parts of the records: (features, labels)")
        refuse_other_rows(features=record[0], labels=record[1])
        features, labels = self._table(record[0]), np.asarray(record[1])
        if labels.ndim != 1 or len(labels) != len(features):
            raise InvalidInput(
                f"{len(features)} rows of features and labels of shape {labels.shape}", "one label for each row"
            )
        if self.label is not None:
            labels = self.label.prepare(labels).values
        values, clipped, _ = self.features.prepare(features)
        return Prepared((values, labels), clipped)

    def draw(self, values: Record, bits: BitSource) -> Record:
        """Draw reports of both parts."""
        features, labels = values
        reports = self.features.draw(features, bits)
        return reports, labels if self.label is None else self.label.draw(labels, bits)

    def decode_reports(self, codes: Record) -> Record:
        """Return states, or numbers with noise, and labels."""
        features, labels = codes
        reports = self.features.decode_reports(features)
        return reports, labels if self.label is None else self.label.decode_reports(labels)

    def _like(self, truth: Any, reports: Any) -> Any:
        # The columns of the truth were taken by name: their own order is not that of the reports.
        return like(truth[0], reports[0], self.columns), like(truth[1], reports[1])

    def in_order(self, features: Any) -> Any:
        """Return a frame of reports in the order of the attributes, if its columns are called by their names."""
        return features if self.columns is None else in_named_order(features, self.columns)

    def _table(self, features: Any) -> Any:
        """Take columns by name, where they have names on both sides."""
        named = column_names(features)
        if named is None or self.columns is None:
            return features if hasattr(features, "__len__") else np.asarray(features)
        absent = [name for name in self.columns if name not in named]
        if absent:
            raise InvalidInput(f"no column {', '.join(map(repr, absent))}", f"{', '.join(self.columns)}")
        return np.column_stack([np.asarray(features[name]) for name in self.columns])

    # -- the learner's side --------------------------------------------------------------------------

    def encode_reports(self, reports: Any, design: Any = None) -> Record:
        """Check reports on (features, labels); labels that are told as they are stay so."""
        refuse_design(design)
        features, labels = _both_parts(reports)
        codes = self.features.encode_reports(self.in_order(features))
        return codes, _one_each(codes, np.asarray(labels) if self.label is None else self.label.encode_reports(labels))

    def report_columns(self, reports: Any) -> list[ReportColumn]:
        """Return what reports say about the truth of every attribute, and of the label."""
        if self.label is None:
            raise InvalidInput(f"{self!r}, which tells labels as they are", "a label channel, such as Identity([...])")
        features, labels = _both_parts(reports)
        columns: list[ReportColumn] = self.features.report_columns(self.in_order(features))
        (label,) = self.label.report_columns(labels)
        _one_each(columns[0][-1], label[-1])
        return [*columns, label]

    # -- identity ------------------------------------------------------------------------------------

    def to_spec(self) -> Spec:
        """Return a JSON-able description; :func:`askance.channel_from_spec` reads it."""
        spec: Spec = {"channel": self.kind, "version": SPEC_VERSION, "features": self.features.to_spec()}
        if self.label is not None:
            spec["label"] = self.label.to_spec()
        return spec if self.columns is None else spec | {"columns": list(self.columns)}

    def __repr__(self) -> str:
        label = "" if self.label is None else f", label={self.label!r}"
        columns = "" if self.columns is None else f", columns={list(self.columns)!r}"
        return f"RowChannel({self.features!r}{label}{columns})"


def _both_parts(reports: Any) -> Any:
    if not isinstance(reports, tuple) or len(reports) != 2:
        raise InvalidInput(f"a {type(reports).__name__} of reports for a RowChannel", "the pair (features, labels)")
    return reports


def _one_each(features: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    if len(labels) != len(features):
        raise InvalidInput(f"{len(features)} rows of features and {len(labels)} labels", "one label for each row")
    return labels


def checked_columns(columns: Any) -> tuple[str, ...]:
    """Return names of columns, or say why they are none."""
    names = tuple(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else ()
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise InvalidInput(f"columns={columns!r}", "the names of the attributes, each once")
    return names
