"""Which reports a regression is made of: rows that are hidden, or a hidden outcome with public features."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import InvalidInput
from askance.learning.face.formula import Formula, FormulaColumns
from askance.learning.face.release_records import FeatureReader, NumericColumns, checked_columns, records_of
from askance.learning.numbers.report_sets import Wave
from askance.learning.numbers.second_moments import HiddenOutcome, HiddenRows
from askance.releases.release import Release
from askance.statistics.features import FeatureMoments


@dataclass(frozen=True)
class WaveReader:
    """Finds the outcome and the features that a regression asks for, where they are."""

    outcome: str | None
    features: Sequence[str] | None
    intercept: bool

    def of_release(
        self,
        release: Release,
        engine: Engine,
        question: str | None,
        formula: str | Formula | None,
        features: Sequence[str] | None,
        weight: str | None,
    ) -> Wave:
        """Read one question of a release."""
        parsed = None if formula is None else Formula.of(formula)
        asked = _asked(release, question, None if parsed is None else parsed.left)
        channel = release.question(asked).channel
        if isinstance(channel, PrivateRow):
            outcome, chosen = self.outcome, features
            if parsed is not None:
                outcome, chosen = self._plain_formula(parsed)
            source = records_of(release, asked, NumericColumns(()), weight)
            return self.of_rows(channel, engine.cache(source), outcome, chosen)
        if not isinstance(channel, PrivateNumber):
            raise InvalidInput(
                f"the question {asked!r} is hidden by {channel!r}",
                "a row or a number with public bounds",
                "For answers out of a list of choices use IndirectClassifier.",
            )
        reader: FeatureReader
        if self.outcome not in (None, asked):
            raise InvalidInput(f"outcome={self.outcome!r} for the question {asked!r}", "the same, or none")
        if parsed is None:
            covariates = [c.name for c in release.header.covariates if c.name != weight]
            names = next(chosen for chosen in (features, self.features, covariates) if chosen is not None)
            reader = NumericColumns(checked_columns(release, names))
        else:
            reader = FormulaColumns.learn(parsed, release, engine)
            if not reader.intercept and self.intercept:
                raise InvalidInput(f"the formula {str(formula)!r} without an intercept", "fit_intercept=False")
        held = engine.cache(records_of(release, asked, reader, weight))
        moments = engine.reduce(FeatureMoments(len(reader.names), intercept=True), held)
        if not moments.weight > 0:
            raise InvalidInput("a release without rows of positive weight", "at least one report")
        mean = moments.second[0, 1:] / moments.weight
        spread = np.sqrt(np.maximum(np.diag(moments.second)[1:] / moments.weight - mean**2, 0.0))
        return outcome_wave(channel, held, (*reader.names, asked), mean, spread)

    def _plain_formula(self, formula: Formula) -> tuple[str, list[str]]:
        """The outcome and the features of a formula over hidden columns."""
        terms = [term for term in formula.right if str(term) != "1"]
        if self.intercept and all(str(term) != "1" for term in formula.right):
            raise InvalidInput(f"the formula {str(formula)!r} without an intercept", "fit_intercept=False")
        if any(len(term.factors) != 1 or term.factors[0].eval_method.value != "lookup" for term in terms):
            raise InvalidInput(
                f"the formula {str(formula)!r}",
                "plain names of hidden columns joined by +: only their own products can be told from the reports",
            )
        return formula.left, [str(term) for term in terms]

    def of_rows(
        self, channel: PrivateRow, source: RecordSource, outcome: str | None = None, features: Any = None
    ) -> Wave:
        """Read reports about whole rows."""
        columns = list(channel.bounds.names)
        target = outcome or self.outcome or channel.outcome or columns[-1]
        wanted = features if features is not None else self.features
        used = [name for name in columns if name != target] if wanted is None else list(wanted)
        strangers = [name for name in [*used, target] if name not in columns]
        if strangers or target in used or len({*used}) < len(used):
            raise InvalidInput(
                f"the outcome {target!r} and the features {', '.join(map(repr, used))}",
                f"an outcome and other columns out of {', '.join(columns)}",
            )
        selection = np.zeros((len(used) + 2, len(columns) + 1))
        selection[np.arange(len(used) + 2), [0, *(columns.index(name) + 1 for name in [*used, target])]] = 1.0
        return Wave(channel, HiddenRows(channel), source, (*used, target), selection)


def outcome_wave(
    channel: PrivateNumber | None,
    source: RecordSource,
    names: tuple[str, ...],
    mean: Floats,
    spread: Floats,
    named: bool = True,
) -> Wave:
    """Public features, standardised by their mean and spread, with an outcome that is hidden, or public too."""
    centre, scale = mean.tolist(), np.where(spread > 0, spread, 1.0).tolist()
    if channel is not None:
        centre, scale = [*centre, channel.centre], [*scale, channel.half]
    reader = HiddenOutcome(channel, tuple(centre), tuple(scale))
    return Wave(channel, reader, source, names, np.eye(reader.width), named)


def _asked(release: Release, question: str | None, left: str | None) -> str:
    """The question that is meant: by name, by the left side of a formula, or the only one that hides numbers."""
    if question is None and left is None:
        numbers = [asked for asked in release.header.questions if asked.hides_numbers]
        if len(numbers) == 1:
            return numbers[0].name
    return release.header.question_about(question, left).name
