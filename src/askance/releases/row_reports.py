"""Reports about features and labels, read back from a release for whoever learns from both."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from askance.arrays import Codes
from askance.channels.attributes.row_channel import RowChannel
from askance.errors import InvalidInput
from askance.releases.header import Question
from askance.releases.release import Release


@dataclass(frozen=True, eq=False)
class RowReports:
    """What a release says about features and labels.

    Parameters
    ----------
    channel : RowChannel
        How they were hidden.
    feature_codes : array, n x attributes
        Codes of reports on the features, as the channel encodes them; numbers where some attributes have noise.
    label_codes : array of n
        Codes of reports on the labels.
    """

    channel: RowChannel
    feature_codes: NDArray[Any]
    label_codes: Codes

    @cached_property
    def features(self) -> NDArray[Any]:
        """Reports on the features: states (bytes where these are 0, 1, ..., 255 at most), or numbers with noise."""
        states: NDArray[Any] = self.channel.features.decode_reports(self.feature_codes)
        return states

    @cached_property
    def labels(self) -> NDArray[Any]:
        """Reports on the labels, as labels."""
        labels: NDArray[Any] = self.channel.label.decode_reports(self.label_codes)
        return labels


@dataclass(frozen=True)
class RowQuestions:
    """The two questions of a release that make up a record: about its features, and about its label."""

    features: Question
    label: Question

    @property
    def channel(self) -> RowChannel:
        """How both were hidden."""
        return RowChannel(self.features.channel, self.label.channel, self.features.columns)

    @property
    def columns(self) -> tuple[str, str]:
        """The columns of a release that hold the reports."""
        return self.features.name, self.label.name

    def reports(self, table: pa.Table) -> RowReports:
        """Unpack the reports of some rows that have these columns."""
        features, label = (self.features.channel, self.features.name), (self.label.channel, self.label.name)
        return RowReports(
            self.channel, *(channel.encode_reports(table.column(name)) for channel, name in (features, label))
        )


def row_questions(release: Release, features: str | None = None, label: str | None = None) -> RowQuestions:
    """Find the question about features and the question about a label; parameters are those of read_row_reports."""
    asked = _one(release, features, "features", hides_features=True)
    answered = _one(release, label, "a label", hides_features=False)
    if not asked.hides_features or answered.hides_numbers or answered.channel.needs_design:
        raise InvalidInput(
            f"the questions {asked.name!r} and {answered.name!r}",
            "a question whose attributes are hidden one by one, and one with choices and one design",
        )
    return RowQuestions(asked, answered)


def read_row_reports(release: Release, features: str | None = None, label: str | None = None) -> RowReports:
    """Read the reports of a question about features and of a question about a label.

    Parameters
    ----------
    release : Release
    features, label : str, optional
        The questions; needed where there are several of the kind.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import Study
    >>> from askance.releases.privatizing import privatize_table
    >>> study = Study.parse('''
    ... [questions.image]
    ... width = 4
    ... channel = { design = "state-flip", states = 2, flip = 0.2 }
    ... [questions.digit]
    ... choices = [7, 9]
    ... channel = { design = "warner", p = 0.8 }
    ... ''')
    >>> release = privatize_table(study, {"image": [[0, 1, 1, 0], [1, 1, 0, 0]], "digit": [7, 9]})
    >>> reports = read_row_reports(release)
    >>> reports.features.shape, reports.labels.shape, reports.channel.label
    ((2, 4), (2,), Warner(p=0.8, classes=(7, 9)))
    """
    asked = row_questions(release, features, label)
    return asked.reports(release.to_table(list(asked.columns)))


def _one(release: Release, name: str | None, what: str, hides_features: bool) -> Question:
    if name is not None:
        return release.question(name)
    fitting = [
        question
        for question in release.header.questions
        if question.hides_features == hides_features and (hides_features or not question.hides_numbers)
    ]
    if len(fitting) != 1:
        names = ", ".join(question.name for question in fitting)
        raise InvalidInput(
            f"a release with {len(fitting)} questions about {what}{f' ({names})' if names else ''}",
            f"one of them by name: {'features' if hides_features else 'label'}=...",
        )
    return fitting[0]
