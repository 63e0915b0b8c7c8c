"""True answers to a question: which columns they come in, and what the channel draws reports for."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyarrow as pa

from askance.arrays import Codes
from askance.channels.alphabet import Label
from askance.channels.channel import Prepared
from askance.entropy.draws import code_type
from askance.releases.attribute_columns import ArrayColumn, AttributeColumn, attribute_rows
from askance.releases.declarations import Question
from askance.tables.column_kinds import Column, LabelColumn, NumberColumn
from askance.tables.sequence_columns import LabelsColumn


@dataclass(frozen=True)
class Answers(ABC):
    """The answers to one question."""

    question: Question

    @property
    def channel(self) -> Any:
        """How they are hidden."""
        return self.question.channel

    @cached_property
    @abstractmethod
    def columns(self) -> Sequence[Column]:
        """The columns that they come in, and how each is converted."""

    @abstractmethod
    def prepared(self, arrays: Mapping[str, pa.Array]) -> Prepared:
        """Return what the channel draws reports for, of converted columns: nothing is checked again."""


class Choices(Answers):
    """One of a few labels."""

    @cached_property
    def columns(self) -> Sequence[Column]:
        return [LabelColumn(self.question.name, self.channel.classes, recode=self.question.recode)]

    def prepared(self, arrays: Mapping[str, pa.Array]) -> Prepared:
        answers = _codes(arrays[self.question.name], self.channel.classes)
        if self.question.design_column is None:
            return Prepared(answers)
        return Prepared((answers, _codes(arrays[self.question.design_column], tuple(self.channel.designs))))


class Numbers(Answers):
    """A number, or several that are hidden together."""

    @cached_property
    def columns(self) -> Sequence[Column]:
        labels, decimal = self.channel.categories, self.question.decimal
        return [
            LabelColumn(name, labels[name]) if name in labels else NumberColumn(name, decimal=decimal)
            for name in self.question.sources
        ]

    def prepared(self, arrays: Mapping[str, pa.Array]) -> Prepared:
        if self.channel.categories:
            names = self.question.sources
            return cast(Prepared, self.channel.prepare({name: arrays[name].to_numpy(False) for name in names}))
        table = np.column_stack([arrays[name].to_numpy() for name in self.question.sources])
        return cast(Prepared, self.channel.prepare(table))


class Attributes(Answers):
    """Attributes that are hidden one by one."""

    @cached_property
    def columns(self) -> Sequence[AttributeColumn | ArrayColumn]:
        if self.question.columns is None:
            return [ArrayColumn(self.question.name, self.channel)]
        laws = self.channel.laws
        each = zip(self.question.columns, laws, strict=True)
        return [AttributeColumn(name, decimal=self.question.decimal, law=law) for name, law in each]

    def prepared(self, arrays: Mapping[str, pa.Array]) -> Prepared:
        inside, clipped = self.channel.clip(attribute_rows(self.columns, arrays))
        return Prepared(inside, {"": clipped} if clipped else {})


class LabelSequences(Answers):
    """A list of labels, such as the tags of a sentence."""

    @cached_property
    def columns(self) -> Sequence[Column]:
        return [LabelsColumn(self.question.name, labels=self.channel.classes)]

    def prepared(self, arrays: Mapping[str, pa.Array]) -> Prepared:
        design = arrays[self.question.design_column] if self.question.design_column else None
        prepared: Prepared = (
            self.channel.prepare(arrays[self.question.name])
            if design is None
            else self.channel.prepare(arrays[self.question.name], design)
        )
        return prepared


_KINDS: dict[str, type[Answers]] = {
    "labels": Choices,
    "numbers": Numbers,
    "attributes": Attributes,
    "sequences": LabelSequences,
}


def answers_to(question: Question) -> Answers:
    """Return how the answers to a question are read."""
    return _KINDS[question.channel.hides](question)


def _codes(column: pa.DictionaryArray, labels: tuple[Label, ...]) -> Codes:
    """Return the codes of a converted column, by the order of some labels."""
    places = np.array([labels.index(label) for label in column.dictionary.to_pylist()], code_type(len(labels)))
    codes: Codes = places[column.indices.to_numpy()]
    return codes
