"""Which reports a regression is made of: rows that are hidden, or a hidden outcome with public features."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np

from askance.arrays import Floats
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import InvalidInput
from askance.learning.face.formula import Formula
from askance.learning.face.release_records import NumericColumns, records_of
from askance.learning.face.release_regression import RegressionTerms
from askance.learning.numbers.folds import FoldedRecords
from askance.learning.numbers.moment_readers import HiddenOutcome, HiddenRows
from askance.learning.numbers.report_sets import ReportSet
from askance.releases.header import Question
from askance.releases.release import Release
from askance.statistics.features import FeatureMoments


def hides_rows(channel: Any) -> TypeGuard[PrivateRow]:
    """Whether reports are about whole rows, rather than about an outcome beside public features."""
    # No method of the channel: this difference is the regression's own. Rows tell products of any two columns.
    return isinstance(channel, PrivateRow)


def hides_outcome(channel: Any) -> TypeGuard[PrivateNumber]:
    """Whether reports are about one number."""
    return isinstance(channel, PrivateNumber)  # in the units of the data, and perhaps with its square


@dataclass(frozen=True)
class ReportSetReader:
    """Finds the outcome and the features that a regression asks for, where they are."""

    outcome: str | None
    features: Sequence[str] | None
    intercept: bool

    def of_release(self, release: Release, terms: RegressionTerms, engine: Engine) -> ReportSet:
        """Read one question of a release."""
        asked = _asked(release, terms)
        channel, formula = asked.channel, terms.formula
        if hides_rows(channel):
            about = self if formula is None else replace(self, outcome=formula.left)
            features = terms.features if formula is None else self._plain_terms(formula)
            source = engine.cache(FoldedRecords(records_of(release, asked, NumericColumns(()), terms.weight)))
            return about.of_rows(channel, source, features)
        if not hides_outcome(channel):
            raise InvalidInput(
                f"the question {asked.name!r} is hidden by {channel!r}",
                "a row or a number with public bounds",
                "For answers out of a list of choices use IndirectClassifier.",
            )
        if self.outcome not in (None, asked.name):
            raise InvalidInput(f"outcome={self.outcome!r} for the question {asked.name!r}", "the same, or none")
        reader = terms.reader(release, engine, self.features)
        if not reader.intercept:
            self._refuse_intercept(formula)
        source = engine.cache(FoldedRecords(records_of(release, asked, reader, terms.weight)))
        # The number of the fold is a column more.
        moments = engine.reduce(FeatureMoments(len(reader.names) + 1, intercept=True), source)
        if not moments.weight > 0:
            raise InvalidInput("a release without rows of positive weight", "at least one report")
        mean = moments.second[0, 1:-1] / moments.weight
        spread = np.sqrt(np.maximum(np.diag(moments.second)[1:-1] / moments.weight - mean**2, 0.0))
        return outcome_reports(channel, source, (*reader.names, asked.name), mean, spread)

    def _plain_terms(self, formula: Formula) -> list[str]:
        """The features of a formula over hidden columns."""
        terms = [term for term in formula.right if str(term) != "1"]
        if len(terms) == len(list(formula.right)):
            self._refuse_intercept(formula)
        if any(len(term.factors) != 1 or term.factors[0].eval_method.value != "lookup" for term in terms):
            raise InvalidInput(
                f"the formula {str(formula)!r}",
                "plain names of hidden columns joined by +: reports tell no other products than theirs",
            )
        return [str(term) for term in terms]

    def _refuse_intercept(self, formula: Formula | None) -> None:
        if self.intercept:
            raise InvalidInput(f"the formula {str(formula)!r} without an intercept", "fit_intercept=False")

    def of_rows(self, channel: PrivateRow, source: RecordSource, features: Sequence[str] | None = None) -> ReportSet:
        """Read reports about whole rows."""
        columns = list(channel.names)
        asked = channel.hidden(self.outcome or outcome_of(channel))
        target = asked[0] if len(asked) == 1 else str(self.outcome)
        wanted = features if features is not None else self.features
        used = [name for name in columns if name != target]
        if wanted is not None:  # a column of categories stands for its indicators
            used = [hidden for name in wanted for hidden in channel.hidden(name)]
        strangers = [name for name in [*used, target] if name not in columns]
        if strangers or target in used or len({*used}) < len(used):
            raise InvalidInput(
                f"the outcome {target!r} and the features {', '.join(map(repr, used))}",
                f"an outcome and other columns out of {', '.join(columns)}",
            )
        selection = np.zeros((len(used) + 2, len(columns) + 1))
        selection[np.arange(len(used) + 2), [0, *(columns.index(name) + 1 for name in [*used, target])]] = 1.0
        return ReportSet(channel, HiddenRows(channel), source, (*used, target), selection)


def outcome_of(channel: PrivateRow) -> str:
    """Return the column of a row that is predicted unless another is asked for."""
    return channel.outcome or channel.names[-1]


def outcome_reports(
    channel: PrivateNumber | None,
    source: RecordSource,
    names: tuple[str, ...],
    mean: Floats,
    spread: Floats,
    named: bool = True,
) -> ReportSet:
    """Public features, standardised by their mean and spread, with an outcome that is hidden, or public too."""
    centre, scale = mean.tolist(), np.where(spread > 0, spread, 1.0).tolist()
    if channel is not None:
        centre, scale = [*centre, channel.centre], [*scale, channel.half]
    reader = HiddenOutcome(channel, tuple(centre), tuple(scale))
    return ReportSet(channel, reader, source, names, np.eye(reader.width), named)


def _asked(release: Release, terms: RegressionTerms) -> Question:
    """The question that is meant: by name, by the left side of a formula, or the only one that hides numbers."""
    if terms.question is None and terms.formula is None:
        numbers = [asked for asked in release.header.questions if asked.hides_numbers]
        if len(numbers) == 1:
            return numbers[0]
    return terms.asked(release)
