"""Reports about several hidden answers of the same people, and several reports about one answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from askance.arrays import Floats, Integers
from askance.channels.alphabet import Label, listed
from askance.channels.base import LabelChannel
from askance.channels.guarantee import Guarantee
from askance.channels.labels.design_per_row import DesignPerRow
from askance.errors import InvalidInput
from askance.learning.surveys.survey_sample import SurveySample
from askance.releases.header import whole_person

_IMPOSSIBLE = 4.0  # standard errors below zero: by chance once in 30,000 data sets
# Where all reports are equal their standard error is zero: a share that is so little below zero is that of a channel
# with hardly any noise, or rounding. Tests are the same without it and at 1e-7.
_ROUNDING = 1e-9
MOST_STATES = 1024  # of all answers together: ten questions of yes or no; more have fewer than a person for each


@dataclass(frozen=True, eq=False)
class HiddenAnswer:
    """One hidden answer of every person, and the reports about it.

    Parameters
    ----------
    name : str
    channels : tuple of finite channels
        One for each report about it.
    codes : tuple of arrays, n
        The reports, as rows of the channels' matrices.
    """

    name: str
    channels: tuple[LabelChannel, ...]
    codes: tuple[Integers, ...]

    @property
    def classes(self) -> tuple[Label, ...]:
        """The possible answers."""
        return self.channels[0].classes

    @cached_property
    def log_likelihood(self) -> Floats:
        """log P(all reports of person i | answer k), n x classes."""
        with np.errstate(divide="ignore"):
            parts = [np.log(c.matrix)[codes] for c, codes in zip(self.channels, self.codes, strict=True)]
        return np.asarray(sum(parts))

    @cached_property
    def unbiased(self) -> Floats:
        """Numbers whose mean given the answer is its indicator, n x classes: of several reports the average."""
        parts = []
        for channel, codes in zip(self.channels, self.codes, strict=True):
            counts = np.bincount(codes, minlength=channel.matrix.shape[0]) + 0.5  # none is impossible
            parts.append(channel.unbiasing_matrix(counts / counts.sum()).T[codes])
        return np.asarray(np.mean(parts, axis=0))

    def unbiased_shares(self, weights: Floats | None, sample: SurveySample | None = None) -> tuple[Floats, Floats]:
        """The unbiased share of each class with its standard error, by how people came into the sample."""
        heft = np.ones(len(self.unbiased)) if weights is None else weights
        share = heft @ self.unbiased / heft.sum()
        influence = heft[:, None] * (self.unbiased - share) / heft.sum()
        spread = influence.T @ influence if sample is None else sample.plain_covariance(influence)
        return share, np.sqrt(np.maximum(np.diag(spread), 0.0))

    @property
    def guarantee(self) -> Guarantee:
        """What all reports about this answer give away together."""
        if len(set(map(str, self.channels))) == 1:
            return self.channels[0].guarantee.repeated(len(self.channels))
        worst = whole_person(channel.guarantee for channel in self.channels)
        return Guarantee(worst.epsilon, worst.delta, f"one answer, reported {len(self.channels)} times")


def answers_told(answers: Sequence[HiddenAnswer]) -> tuple[float, ...]:
    """Return how many people reports put into each class: the same for the same reports of the same channels."""
    return tuple(round(float(people), 6) for answer in answers for people in answer.unbiased.sum(axis=0))


def hidden_answers(
    channels: Any, reports: Any, same: Mapping[str, Sequence[str]] | None = None, design: Any = None
) -> list[HiddenAnswer]:
    """Read reports about one or more hidden answers.

    Parameters
    ----------
    channels : mapping from a column's name to its channel
        A mapping of named designs instead of a channel is a design for each row.
    reports : data frame or mapping of columns
    same : mapping from an answer's name to columns, optional
        Columns that are reports about the same answer. The others are about an answer each, of the column's name.
    design : mapping from a column's name to the designs of its rows, optional
    """
    if not isinstance(channels, Mapping) or not channels:
        raise InvalidInput(
            f"channels={channels!r}", "a channel for each column of reports, such as {'cheated': Warner(0.8)}"
        )
    designs = design or {}
    columns = {name: _read(name, channel, reports, designs.get(name)) for name, channel in channels.items()}
    lengths = {name: len(codes) for name, (_, codes) in columns.items()}
    if len(set(lengths.values())) != 1 or not min(lengths.values()):
        raise InvalidInput(f"columns of {listed(list(lengths.values()))} reports", "one report of each person in each")
    groups = _groups(list(channels), same or {})
    found = []
    for name, members in groups.items():
        used = [columns[member] for member in members]
        answer = HiddenAnswer(name, tuple(channel for channel, _ in used), tuple(codes for _, codes in used))
        others = zip(members, used, strict=True)
        strangers = [member for member, (channel, _) in others if channel.classes != answer.classes]
        if strangers:
            raise InvalidInput(
                f"the reports {listed(strangers)} about {name!r} with other classes than {members[0]!r}",
                f"the same classes, {listed(answer.classes)}",
            )
        found.append(answer)
    states = int(np.prod([len(answer.classes) for answer in found]))
    if states > MOST_STATES:
        raise InvalidInput(
            f"{len(found)} hidden answers with {states:,} combinations",
            f"at most {MOST_STATES:,}",
            "Choose fewer questions, or merge classes.",
        )
    return found


def notes_on_reports(
    answers: Sequence[HiddenAnswer], weights: Floats | None, sample: SurveySample | None = None
) -> list[str]:
    """Say which reports the channels can hardly give, whatever the truth is."""
    notes = []
    for answer in answers:
        heft = np.ones(len(answer.unbiased)) if weights is None else weights
        share, error = answer.unbiased_shares(weights, sample)
        # Few reports of a kind also look more alike than they are: what errors would be at the border counts, too.
        error = np.maximum(error, error_at_border(answer, share, heft))
        if np.any(share < -_IMPOSSIBLE * error - _ROUNDING):
            k = int(share.argmin())
            notes.append(
                f"The reports about {answer.name!r} are impossible under the channel: they put the share of "
                f"{answer.classes[k]!r} at {share[k]:.3f} (standard error {error[k]:.3f}). People did not follow it, "
                "or it is another one. Estimates are at the border of what it allows, and not to be trusted."
            )
    return notes


def error_at_border(answer: HiddenAnswer, share: Floats, heft: Floats) -> Floats:
    """Standard errors of unbiased shares if the truth were the nearest that is possible.

    Given the truth the reports of one person are independent: of their average only what varies with the truth stays.
    """
    possible = np.maximum(share, 0.0)
    possible = possible / possible.sum()
    of_truth = possible * (1 - possible)
    spread = of_truth
    for channel in answer.channels:
        law = np.maximum(
            channel.matrix @ possible, 0.5 / len(heft)
        )  # a report that nobody gave is rare, not impossible
        law = law / law.sum()
        unbiasing = channel.unbiasing_matrix(law)
        of_report = unbiasing**2 @ law - (unbiasing @ law) ** 2
        spread = spread + (of_report - of_truth) / len(answer.channels) ** 2
    errors: Floats = np.sqrt(np.maximum(spread, 0.0) * float(heft @ heft)) / float(heft.sum())
    return errors


def guarantee_of(answers: Sequence[HiddenAnswer]) -> Guarantee:
    """What all reports of one person give away together."""
    return whole_person(answer.guarantee for answer in answers)


def joint_log_likelihood(answers: Sequence[HiddenAnswer]) -> Floats:
    """log P(all reports | answers), n x combinations; the last answer changes fastest."""
    total = answers[0].log_likelihood
    for answer in answers[1:]:
        total = (total[:, :, None] + answer.log_likelihood[:, None, :]).reshape(len(total), -1)
    return total


def joint_unbiased(answers: Sequence[HiddenAnswer]) -> Floats:
    """Numbers whose mean given the answers is the indicator of their combination: Kronecker's product by row."""
    total = answers[0].unbiased
    for answer in answers[1:]:
        total = (total[:, :, None] * answer.unbiased[:, None, :]).reshape(len(total), -1)
    return total


def combinations(answers: Sequence[HiddenAnswer]) -> Integers:
    """Which class each answer has in every combination, combinations x answers."""
    return np.indices([len(answer.classes) for answer in answers]).reshape(len(answers), -1).T


def _read(name: Any, channel: Any, reports: Any, design: Any) -> tuple[LabelChannel, Integers]:
    known = DesignPerRow(channel) if isinstance(channel, Mapping) else channel
    if not isinstance(known, LabelChannel):
        raise InvalidInput(f"the channel of {name!r} is {channel!r}", "a finite channel such as Warner(0.8)")
    try:
        column = reports[name]
    except (KeyError, IndexError, TypeError, ValueError):
        raise InvalidInput(
            f"reports without a column {name!r}", "a data frame or mapping with a column for each channel"
        ) from None
    try:
        return known, known.encode_reports(column, design).astype(np.int64)
    except InvalidInput as problem:
        raise InvalidInput(f"in the column {name!r}: {problem}") from None


def _groups(columns: list[str], same: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The columns of each answer, in the order of the first of them."""
    taken: dict[str, str] = {}
    for answer, members in same.items():
        for member in [members] if isinstance(members, str) else members:
            if member not in columns or member in taken:
                raise InvalidInput(
                    f"{member!r} among the reports about {answer!r}", f"columns among {listed(columns)}, each once"
                )
            taken[member] = answer
    groups: dict[str, list[str]] = {}
    for column in columns:
        groups.setdefault(taken.get(column, column), []).append(column)
    return groups
