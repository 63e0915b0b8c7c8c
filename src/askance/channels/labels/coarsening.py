"""Coarsening: only the group that the truth belongs to is reported, such as a superclass or a broad occupation.

Nothing is left to chance: S[o, k] = 1 if k belongs to o. Truths of one group lead to reports of the same law, so
whether something can be learned about them is a question for the model: one that only needs the groups, or in which
public features or rows with exact labels tell the members of a group apart, can be fitted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from askance.channels.alphabet import Label, as_labels, listed
from askance.channels.labels.finite import FiniteLaw
from askance.entropy.thresholds import exact_counts
from askance.errors import InvalidInput


@dataclass(frozen=True, eq=False, repr=False)
class Coarsening(FiniteLaw):
    """Report the group that the truth belongs to.

    Parameters
    ----------
    groups : mapping from report to labels
        Which truths are reported under which name; every truth belongs to one group.
    classes : sequence of labels, optional
        The truths in the order in which models list them; as the groups name them if not given.

    Examples
    --------
    >>> from askance import Coarsening
    >>> channel = Coarsening({"noun": ["NOUN", "PROPN"], "verb": ["VERB", "AUX"]})
    >>> channel.privatize(["PROPN", "AUX", "NOUN"])
    array(['noun', 'verb', 'noun'], dtype='<U4')
    >>> channel.guarantee.epsilon
    inf

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), section 6: deterministic supervision.
    """

    groups: Mapping[str, tuple[Label, ...]]
    classes: tuple[Label, ...] | None = None  # type: ignore[assignment]

    kind: ClassVar[str] = "coarsening"

    def __post_init__(self) -> None:
        if not isinstance(self.groups, Mapping) or not all(isinstance(name, str) for name in self.groups):
            raise InvalidInput(
                f"groups={self.groups!r}", "a mapping such as {'noun': ['NOUN', 'PROPN'], 'verb': ['VERB', 'AUX']}"
            )
        members = {name: _members(name, labels) for name, labels in self.groups.items()}
        named = as_labels([label for labels in members.values() for label in labels], "labels of groups")
        classes = named if self.classes is None else as_labels(self.classes, "classes")
        if set(map(repr, classes)) != set(map(repr, named)):
            raise InvalidInput(f"groups of {listed(named)}", f"a group for each of {listed(classes)}, and for no other")
        if len(members) < 2:
            raise InvalidInput(f"{len(members)} group", "at least two: one alone would report nothing")
        # In the order of the classes, so that the same groups in another order are the same channel.
        first = {name: min(map(classes.index, labels)) for name, labels in members.items()}
        ordered = {name: tuple(sorted(members[name], key=classes.index)) for name in sorted(members, key=first.get)}  # type: ignore[arg-type]
        vars(self).update(groups=ordered, classes=classes)

    @property
    def report_labels(self) -> tuple[Label, ...]:
        return tuple(self.groups)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        belongs = [[label in labels for label in self.classes] for labels in self.groups.values()]  # type: ignore[union-attr]
        return exact_counts(np.array(belongs, dtype=float))

    def parameters(self) -> dict[str, Any]:
        return {"groups": {name: list(labels) for name, labels in self.groups.items()}, "classes": self.classes}

    def describe(self) -> str:
        return f"Of {len(self.classes)} answers only the group is reported: one of {listed(tuple(self.groups))}."  # type: ignore[arg-type]


def _members(name: str, labels: Any) -> tuple[Any, ...]:
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise InvalidInput(f"the group {name!r} with {labels!r}", "a list of labels")
    members = tuple(labels)
    if not members:
        raise InvalidInput(f"the group {name!r} without a label", "at least one truth in every group")
    return members
