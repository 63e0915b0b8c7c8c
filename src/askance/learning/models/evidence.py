"""What reports say about truths: P(report | truth), or unbiased features of the truth, by report code.

Every channel comes down to a table and a code for each record: of a finite channel the table is its own, with as many
rows as there are reports; of others it has a row for each record.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes, Floats
from askance.channels.alphabet import Label
from askance.channels.base import LabelChannel, refuse_class
from askance.channels.rows.vectors import VectorChannel
from askance.errors import InvalidInput, NotAvailable, Unidentifiable
from askance.learning.answers.report_law import ReportLaw
from askance.statistics.frequencies import counted


class Evidence(NamedTuple):
    """A table by report code, and the code of each record.

    Parameters
    ----------
    table : codes x states of P(report | state) by the marginal method; codes x features of the truth by moments
    codes : n
    """

    table: Floats
    codes: Codes

    def rows(self) -> Floats:
        """The table's row of each record."""
        return np.ascontiguousarray(self.table[self.codes])


@dataclass(frozen=True, eq=False)
class RecordReports:
    """Reports that are looked at one by one, as a law with one row for each: every record is a report of its own.

    Parameters
    ----------
    channel : channel
    truths : array, states x features
    classes : labels of the states
    reports : n reports
    likelihood_needed : bool
        Whether channels without a likelihood are refused. Otherwise theirs is taken to say nothing.
    """

    channel: Any
    truths: Floats
    classes: tuple[Label, ...]
    reports: Any
    likelihood_needed: bool

    @cached_property
    def matrix(self) -> Floats:
        """P(report | state), n x states."""
        if not self.likelihood_needed and not _has_likelihood(self.channel):
            return np.broadcast_to(1.0, (len(self._unbiased), len(self.truths)))
        return likelihood(self.channel, self.truths, self.reports, None).table

    @cached_property
    def _unbiased(self) -> Floats:
        return np.asarray(self.channel.unbias(self.reports))

    def unbiasing_matrix(self, report_law: Floats | None = None, features: Floats | None = None) -> Floats:
        """Return b with E[b | state] = the state's indicator, or its features; one column for each record."""
        if hides_labels(self.channel):
            return self._unbiased.T if features is None else np.asarray(features @ self._unbiased.T)
        if features is None:
            raise Unidentifiable("reports about features of the truth", "one of these features, and not a truth")
        return self._unbiased.T


def report_law(
    channel: Any, truths: Floats, classes: Any, reports: Any, design: Any, method: str
) -> tuple[ReportLaw, Codes]:
    """Return the law of the reports, and the code of each record in it."""
    codes = encoded(channel, reports, design)
    if is_finite(channel):
        return channel, codes
    law = RecordReports(channel, truths, tuple(classes), reports, likelihood_needed=method == "marginal")
    return law, np.arange(len(law.matrix))


def _has_likelihood(channel: Any) -> bool:
    return hides_labels(channel) or hasattr(channel, "likelihood_of_rows")


def hides_labels(channel: Any) -> bool:
    """Whether a truth is one of a few labels: a channel of ours says so, a user's own is known by what it can do."""
    return getattr(channel, "hides", None) == "labels" or isinstance(channel, LabelChannel)


def is_finite(channel: Any) -> bool:
    """Whether a channel hides one of a few labels, by a table."""
    return hides_labels(channel) and getattr(channel, "is_listed", True)


def checked_channel(channel: Any, classes: int, width: int) -> Any:
    """Refuse a channel that does not fit to so many truths with so many features."""
    refuse_class(channel)
    if hides_labels(channel):
        if getattr(channel, "unknowns", None):
            raise InvalidInput(
                "a channel with unknown numbers",
                "one without",
                "IndirectClassifier and Prevalence estimate such numbers.",
            )
        if len(channel.classes) != classes:
            raise InvalidInput(f"a channel of {len(channel.classes)} classes", f"one of {classes}, as the family has")
    elif isinstance(channel, VectorChannel):
        if channel.dim != width:
            raise InvalidInput(f"a channel of rows of {channel.dim} numbers", f"{width}: the features of a truth")
    else:
        raise InvalidInput(
            f"channel={channel!r}", "a finite channel such as Warner(0.8), or one on features, such as PerValueFlip"
        )
    return channel


def encoded(channel: Any, reports: Any, design: Any) -> Any:
    """Return report codes, and nothing where a channel has none: its reports are then looked at one by one."""
    return channel.encode_reports(reports, design) if getattr(channel, "is_listed", True) else None


def likelihood(channel: Any, truths: Floats, reports: Any, codes: Any) -> Evidence:
    """Return P(report | state); ``truths`` are the features of the states, which a structured response is about."""
    if is_finite(channel):
        return Evidence(np.ascontiguousarray(channel.matrix), codes)
    if not _has_likelihood(channel):
        raise NotAvailable(
            f"the likelihood of reports by {type(channel).__name__}",
            "method='moments', or a channel that has one: PerValueFlip, CoordinateRelease, SampledCoordinates",
        )
    rows = channel.likelihood(reports) if hides_labels(channel) else channel.likelihood_of_rows(reports, truths)
    return Evidence(np.ascontiguousarray(rows), np.arange(len(rows)))


def unbiased(channel: Any, truths: Floats, reports: Any, codes: Any) -> Evidence:
    """Return b with E[b | state k] = truths[k]; refused where reports do not determine that ([LM] section 6)."""
    if is_finite(channel):
        seen, _ = counted(codes, None, len(channel.matrix))
        return Evidence(table_for_law(channel, truths, seen), codes)
    rows = channel.unbias(reports)
    rows = rows @ truths if hides_labels(channel) else rows
    return Evidence(np.ascontiguousarray(rows), np.arange(len(rows)))


def table_for_law(channel: Any, truths: Floats, seen: NDArray[np.float64]) -> Floats:
    """The table of b by report code, of least variance for the reports that came, from how often each did."""
    # A half for each report: no report may have probability zero in the weights.
    law = (seen + 0.5) / (seen + 0.5).sum()
    return np.ascontiguousarray(channel.unbiasing_matrix(law, truths.T).T)
