"""Which channel labels came through, and their report codes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from askance.channels.base import LabelChannel, refuse_class
from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.labels.finite import FiniteLaw, Identity
from askance.errors import InvalidInput


def as_channel(channel: Any) -> Any:
    """Return a channel; a mapping of named designs becomes a DesignPerRow."""
    refuse_class(channel)
    if channel is None or isinstance(
        channel, FiniteLaw | DesignPerRow | LabelChannel
    ):  # the public door: a protocol, which users may keep, too
        return channel
    if isinstance(channel, Mapping):
        return DesignPerRow(channel)
    raise InvalidInput(f"channel={channel!r}", "a finite channel such as Warner(0.8), or a mapping of named ones")


def encoded_labels(given: Any, y: Any, design: Any, rows: int) -> tuple[LabelChannel, Any]:
    """Return the channel, of the labels themselves if none is given, and the code of each report."""
    channel = as_channel(given)
    if channel is None:
        if getattr(getattr(y, "dtype", None), "kind", "") == "T":  # numpy's new strings, which scikit-learn cannot read
            y = np.asarray(y).astype(object)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        found = np.unique(y)
        if len(found) < 2:
            raise InvalidInput(f"labels of one class only: {found!r}", "labels of at least two classes")
        channel = Identity(found.tolist())
    codes = channel.encode_reports(y, design)
    if len(codes) != rows:
        raise InvalidInput(f"{rows} rows of features and {len(codes)} reports", "one report for each row")
    return channel, codes
