"""The least channel that loses nothing: a model that only sees features of the truth needs reports about these alone.

[LM] Proposition 1: whatever is reported about y can be drawn from phi(y) instead. Truths with the same features are
equally likely under the model, so S'(o | phi) = the mean of S(o | y) over the truths with these features gives reports
of the same law, and two groups are told apart no better than their members were.
"""

from typing import Any

import numpy as np

from askance.channels.alphabet import Label
from askance.channels.labels.finite import FiniteChannel, FiniteLaw
from askance.errors import InvalidInput

_BETWEEN = "|"  # the members of a group, in its name


def coarsest(channel: FiniteLaw, features: Any) -> FiniteChannel:
    """Return the channel on groups of truths that a model with these features learns just as much from.

    Parameters
    ----------
    channel : finite channel
    features : array, classes x d
        The features of each truth. Truths with the same features become one.

    Returns
    -------
    FiniteChannel
        Its classes are the groups, named by their members; its reports and their law are the channel's. Its level is at
        most the channel's.

    Examples
    --------
    >>> import askance as ask
    >>> asked = ask.RandomizedResponse(["never", "once", "often"], epsilon=1.0)
    >>> least = ask.coarsest(asked, [[0], [1], [1]])
    >>> least.classes
    ('never', 'once|often')
    >>> round(asked.guarantee.epsilon, 3), round(least.guarantee.epsilon, 3)
    (1.0, 1.0)

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), Proposition 1.
    """
    if not isinstance(channel, FiniteLaw):
        raise InvalidInput(f"channel={channel!r}", "a finite channel")
    table = np.asarray(features, dtype=float)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != len(channel.classes) or not np.isfinite(table).all():
        raise InvalidInput(f"features of shape {table.shape}", f"a row for each of {len(channel.classes)} classes")
    _, first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))[group.ravel()]  # groups in the order of their first member
    if len(first) < 2:
        raise InvalidInput("features that are the same for all truths", "features that differ between some of them")
    members = [
        [label for label, where in zip(channel.classes, place, strict=True) if where == g] for g in range(len(first))
    ]
    names: list[Label] = [one[0] if len(one) == 1 else _BETWEEN.join(map(str, one)) for one in members]
    labels = names if len({type(name) for name in names}) == 1 else [str(name) for name in names]
    mean = np.column_stack([channel.matrix[:, place == g].mean(axis=1) for g in range(len(first))])
    return FiniteChannel(mean, labels, channel.report_labels)
