"""Columns of a release, all rows together, as survey models want them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from askance.arrays import Floats, Integers
from askance.channels.alphabet import listed
from askance.channels.labels.finite import Identity
from askance.engines.local.engine import LocalEngine
from askance.errors import InvalidInput
from askance.learning.face.formula import Formula, FormulaColumns
from askance.learning.face.release_records import (
    FeatureReader,
    NumericColumns,
    checked_columns,
    refuse_other_channel,
)
from askance.learning.face.sampling_design import refuse_cluster_as_covariate
from askance.learning.surveys.hidden_answers import HiddenAnswer, hidden_answers
from askance.learning.surveys.survey_sample import SurveySample
from askance.releases.header import Question
from askance.releases.reading import open_release
from askance.releases.release import Release


@dataclass(frozen=True, eq=False)
class SurveyTable:
    """All rows of a release in memory, with the covariates that a formula or a list of columns makes."""

    release: Release
    table: pa.Table
    reader: FeatureReader
    formula: Formula | None
    weight: str | None
    strata: str | None = None
    cluster: str | None = None

    @classmethod
    def of(
        cls,
        release: Any,
        formula: str | Formula | None,
        features: Sequence[str],
        weight: str | None,
        strata: str | None = None,
        cluster: str | None = None,
    ) -> "SurveyTable":
        """Open a release, and read it."""
        opened: Release = open_release(release, Release)
        parsed = None if formula is None else Formula.of(formula)
        if parsed is not None and features:
            raise InvalidInput(f"formula={parsed.text!r} and features={list(features)!r}", "one of them")
        checked_columns(opened, [name for name in (weight, strata, cluster) if name])
        reader: FeatureReader = NumericColumns(checked_columns(opened, features))
        if parsed is not None:
            reader = FormulaColumns.learn(parsed, opened, LocalEngine())
            if not reader.intercept:
                raise InvalidInput(f"the formula {parsed.text!r} without an intercept", "one with an intercept")
        refuse_cluster_as_covariate(cluster, reader.columns)
        return cls(opened, opened.to_table(), reader, parsed, weight, strata, cluster)

    @property
    def features(self) -> Any:
        """The covariates as a data frame with their names; None if there are none."""
        import pandas as pd

        if not self.reader.names:
            return None
        return pd.DataFrame(self.reader.matrix(self.table), columns=list(self.reader.names))

    @property
    def weights(self) -> Floats | None:
        """The weights of rows, if a column of them was named."""
        return None if self.weight is None else NumericColumns((self.weight,)).matrix(self.table)[:, 0]

    @property
    def sample(self) -> SurveySample | None:
        """Clusters and strata, if columns of them were named."""
        named = (self.strata, self.cluster)
        strata, cluster = (None if name is None else self.table[name].to_pylist() for name in named)
        return SurveySample.of(self.table.num_rows, strata, cluster)

    def left_or_only(self) -> str:
        """The name left of the formula's ~; the only question without a formula."""
        return self.release.question().name if self.formula is None else self.formula.left

    def column(self, name: str) -> pa.ChunkedArray:
        """A column as it is; refused if it holds reports of a channel."""
        checked_columns(self.release, [name])
        asked = {question.name: question for question in self.release.header.questions}.get(name)
        # One channel alone publishes its column as it is; others without a guarantee still change answers.
        if asked is not None and not isinstance(asked.channel, Identity):
            raise InvalidInput(
                f"the column {name!r}, which a channel hides ({asked.channel!r})",
                "a column that is published as it is",
            )
        return self.table[name]

    def whole_numbers(self, name: str) -> Integers:
        """A column of numbers; whether they are whole is seen where they are used."""
        column = self.column(name)
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise InvalidInput(f"the column {name!r}, which holds {column.type}", "how many items are true: numbers")
        return np.asarray(column.to_numpy())

    def largest(self, name: str) -> int:
        """The largest choice of a question of numbers; refused where the release does not say."""
        asked = {question.name: question for question in self.release.header.questions}.get(name)
        if asked is None:
            raise InvalidInput(f"no items= for the counts {name!r}, which are no question", "items= how many there are")
        return int(max(asked.label_channel.classes))

    def answers(
        self,
        names: Sequence[str] | None,
        known: Mapping[str, Any] | None = None,
        same: Mapping[str, Sequence[str]] | None = None,
    ) -> list[HiddenAnswer]:
        """Hidden answers to some questions, to all with choices if none are named.

        Channels that the estimator ``known`` before must be those of the release.
        """
        chosen = self._questions(names or ())
        channels = {question.name: question.label_channel for question in chosen}
        for name, channel in (known or {}).items():
            refuse_other_channel(channel, channels.get(name, channel))
        designs = {q.name: self.table[q.design_column] for q in chosen if q.design_column}
        return hidden_answers(channels, self.table, same, designs)

    def _questions(self, names: Sequence[str]) -> list[Question]:
        chosen = [self.release.question(name) for name in names] or list(self.release.header.questions)
        hidden = [question.name for question in chosen if question.hides_numbers]
        if hidden:
            raise InvalidInput(f"the question {listed(hidden)}, which hides numbers", "questions with choices")
        return chosen
