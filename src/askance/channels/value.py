"""A channel as a fixed value: comparable, hashable, printable, savable as JSON, never changed."""

import json
from dataclasses import FrozenInstanceError, fields
from functools import cached_property
from typing import Any, ClassVar, Self

from askance.channels.alphabet import listed
from askance.channels.base import Spec
from askance.channels.guarantee import proof_page
from askance.errors import AskanceError
from askance.printing import html_notes

SPEC_VERSION = 1  # of the form in which channels are written down
_SHOWN = 12  # rows and columns of a table of probabilities: larger ones are for programs


class ChannelValue:
    """Identity shared by all channels: what a channel was made with says which channel it is.

    A subclass is a frozen dataclass of its parameters, or overrides :meth:`parameters`.
    """

    kind: ClassVar[str]

    def parameters(self) -> dict[str, Any]:
        """What the channel was made with: plain, JSON-able values by argument name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @property
    def proof(self) -> str:
        """The page of the documentation that proves the guarantee."""
        return proof_page(self.kind)

    def to_spec(self) -> Spec:
        """Return a JSON-able description; :func:`askance.channel_from_spec` reads it."""
        given = {name: value for name, value in self.parameters().items() if value is not None}
        return {"channel": self.kind, "version": SPEC_VERSION} | {
            name: list(value) if isinstance(value, tuple) else value.to_spec() if hasattr(value, "to_spec") else value
            for name, value in given.items()
        }

    def __repr__(self) -> str:
        given = (
            f"{name}=({listed(value)})" if isinstance(value, tuple) else f"{name}={value!r}"
            for name, value in self.parameters().items()
            if value is not None
        )
        return f"{type(self).__name__}({', '.join(given)})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the channel, how it hides a truth, what that promises, and a small table."""
        channel: Any = self  # not every channel has a sentence about itself, or a table
        try:
            lines = [channel.describe()] if hasattr(channel, "describe") else []
            lines.append(f"{channel.guarantee}. {channel.guarantee.in_words()}")
            matrix = getattr(channel, "matrix", None)
        except AskanceError:  # a channel that leaves something open: it is what it says it is, and no more
            return html_notes(repr(self), [])
        if matrix is None or max(matrix.shape) > _SHOWN:
            return html_notes(repr(self), lines)
        heads = ["report", *(f"if {label!r} is true" for label in channel.classes)]
        reports = [str(label) for label in channel.report_labels]
        if len(reports) != len(matrix):  # of several designs, one after the other
            return html_notes(repr(self), lines)
        rows = [[report, *(f"{value:.4f}" for value in row)] for report, row in zip(reports, matrix, strict=True)]
        return html_notes(repr(self), lines, heads, rows)

    @cached_property
    def identity(self) -> str:
        """Text that equal channels share, and no others."""
        # Text, because Python holds the classes (0, 1) and (False, True) for equal, and a file does not.
        return json.dumps(self.to_spec(), sort_keys=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChannelValue) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot change {name}: a channel is a fixed value; make another one")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # a frozen value: scikit-learn's clone may share it

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), self.parameters())


def _made_again(channel: type[ChannelValue], parameters: dict[str, Any]) -> ChannelValue:
    return channel(**parameters)
