"""Response on features of a label ([LM] section 3.2), as a finite channel of the labels themselves.

A truth y of a few is hidden by releasing T(y), a row of zeros and ones, through a channel of bits. Where its reports
can be listed, that is a channel like any other: for classes, for the tags of sequences, in a study, with both methods.
Its level is that between the rows that occur, which may be below that of all rows.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import Label, as_labels
from askance.channels.labels.finite import FiniteChannel
from askance.channels.rows.coordinate_release import CoordinateRelease
from askance.channels.rows.per_value_flip import PerValueFlip
from askance.channels.rows.subset_channel import SubsetChannel
from askance.errors import InvalidInput

_MOST_BITS = 12  # of a report of all bits: 4,096 reports, which a table and a question of a study can still list


def on_features(
    channel: PerValueFlip | CoordinateRelease | SubsetChannel, features: Any, classes: Sequence[Any]
) -> FiniteChannel:
    """Return the channel of labels that hides each by a response on its features.

    Parameters
    ----------
    channel : PerValueFlip, CoordinateRelease, SampledCoordinates or WindowRelease
        How a row of features is hidden; the last two report k of them, and lie on both sides of zero.
    features : array, classes x dim
        The features of each label, within the channel's bounds; "identity": one for each label, which is then
        the only one that is not zero.
    classes : sequence of labels

    Returns
    -------
    FiniteChannel
        Reports of all bits read "010"; those of one coordinate "2=1", with its number; those of several "0,2=5,1",
        with a code for each.

    Examples
    --------
    >>> import askance as ask
    >>> tags = ["noun", "verb", "other"]
    >>> hidden = ask.on_features(ask.PerValueFlip(3, epsilon=2.0, max_ones=1), "identity", tags)
    >>> hidden.report_labels[:3], round(hidden.guarantee.epsilon, 6)
    (('000', '001', '010'), 2.0)
    >>> ask.on_features(ask.CoordinateRelease(2, epsilon=1.0), [[0, 0], [0, 1], [1, 1]], tags).report_labels
    ('0=0', '0=1', '1=0', '1=1')

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), section 3.2.
    """
    labels = as_labels(classes, "classes")
    if not isinstance(channel, PerValueFlip | CoordinateRelease | SubsetChannel):
        raise InvalidInput(
            f"channel={channel!r}", "PerValueFlip(...), CoordinateRelease(...), SampledCoordinates(...) or such"
        )
    low, high = channel.range
    table = high * np.eye(len(labels)) if isinstance(features, str) and features == "identity" else features
    rows = np.asarray(table, dtype=float)
    if rows.shape != (len(labels), channel.dim):
        raise InvalidInput(
            f"features of shape {rows.shape}",
            f"({len(labels)}, {channel.dim}): a row for each label, as the channel hides",
        )
    if not np.isfinite(rows).all() or rows.min() < low or rows.max() > high:
        raise InvalidInput("features outside of what the channel hides", f"numbers from {low:g} to {high:g}")
    if isinstance(channel, CoordinateRelease):
        names = [f"{place}={bit}" for place in range(channel.dim) for bit in (0, 1)]
        return FiniteChannel(
            channel.likelihood_of_rows(np.arange(2 * channel.dim, dtype=np.uint32), rows), labels, names
        )
    if isinstance(channel, SubsetChannel):
        return _of_some(channel, rows, labels)
    if channel.dim > _MOST_BITS:
        raise InvalidInput(
            f"reports of {channel.dim} bits",
            f"at most {_MOST_BITS}",
            "CoordinateRelease reports one bit of any number.",
        )
    most = channel.max_ones
    if most is not None and (np.count_nonzero(rows, axis=1) > most).any():
        raise InvalidInput(
            f"labels with more than {most} features that are not zero", f"at most {most}, as the channel has"
        )
    outcomes = np.array(list(product((0, 1), repeat=channel.dim)), dtype=np.uint8)
    names = ["".join(map(str, bits)) for bits in outcomes.tolist()]
    return FiniteChannel(channel.likelihood_of_rows(outcomes, rows), labels, names)


def _of_some(channel: Any, rows: Floats, labels: tuple[Label, ...]) -> FiniteChannel:
    """The channel of labels whose reports are about k of the numbers."""
    if channel.report_count > 1 << _MOST_BITS:
        raise InvalidInput(
            f"{channel.report_count:,} different reports",
            f"at most {1 << _MOST_BITS:,}, all of which a table lists",
            "A smaller epsilon or k, or fewer features, make them fewer; IndirectModel learns from any number of them, "
            "as the channel itself draws them.",
        )
    return FiniteChannel(channel.likelihood_of_rows(channel.every_report(), rows), labels, channel.report_names())
