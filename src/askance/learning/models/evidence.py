"""What reports say about truths: P(report | truth), or unbiased features of the truth, by report code.

Every channel comes down to a table and a code for each record: of a finite channel the table is its own, with as many
rows as there are reports; of others it has a row for each record.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes, Floats
from askance.channels.base import LabelChannel
from askance.channels.rows.vectors import VectorChannel
from askance.errors import InvalidInput, NotAvailable
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


def hides_labels(channel: Any) -> bool:
    """Whether a truth is one of a few labels: a channel of ours says so, a user's own is known by what it can do."""
    return getattr(channel, "hides", None) == "labels" or isinstance(channel, LabelChannel)


def is_finite(channel: Any) -> bool:
    """Whether a channel hides one of a few labels, by a table."""
    return hides_labels(channel) and getattr(channel, "is_listed", True)


def checked_channel(channel: Any, classes: int, width: int) -> Any:
    """Refuse a channel that does not fit to so many truths with so many features."""
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
    if hides_labels(channel):
        rows = channel.likelihood(reports)
    elif hasattr(channel, "likelihood_of_rows"):
        rows = channel.likelihood_of_rows(reports, truths)
    else:
        raise NotAvailable(
            f"the likelihood of reports by {type(channel).__name__}",
            "method='moments', PerValueFlip or CoordinateRelease",
        )
    return Evidence(np.ascontiguousarray(rows), np.arange(len(rows)))


def unbiased(channel: Any, truths: Floats, reports: Any, codes: Any, weights: Floats | None = None) -> Evidence:
    """Return b with E[b | state k] = truths[k]; refused where reports do not determine that ([LM] section 6)."""
    if is_finite(channel):
        return Evidence(unbiased_table(channel, truths, codes, weights), codes)
    rows = channel.unbias(reports)
    rows = rows @ truths if hides_labels(channel) else rows
    return Evidence(np.ascontiguousarray(rows), np.arange(len(rows)))


def unbiased_table(channel: Any, truths: Floats, codes: Codes, weights: Floats | None) -> Floats:
    """The table of b by report code, of least variance for the reports that came."""
    seen, _ = counted(codes, weights, len(channel.matrix))
    return table_for_law(channel, truths, seen)


def table_for_law(channel: Any, truths: Floats, seen: NDArray[np.float64]) -> Floats:
    """The same, from how often each report came."""
    # A half for each report: no report may have probability zero in the weights.
    law = (seen + 0.5) / (seen + 0.5).sum()
    return np.ascontiguousarray(channel.unbiasing_matrix(law, truths.T).T)
