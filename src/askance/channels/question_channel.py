"""Channels that can hide the answers to a question of a study: where the truth comes from, how reports are kept."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import pyarrow as pa

from askance.channels.base import Spec
from askance.channels.channel import Channel
from askance.errors import InvalidInput


class QuestionChannel(Channel):
    """What studies and releases ask of a channel."""

    @property
    @abstractmethod
    def arrow_type(self) -> pa.DataType:
        """The type of a column of reports."""

    @abstractmethod
    def store(self, codes: Any) -> pa.Array:
        """Pack what :meth:`draw` or :meth:`encode_reports` returned for a file."""

    @abstractmethod
    def declaration(self) -> dict[str, Any]:
        """Return what a study file says about it: what a truth is, and the design."""

    def sources(self, question: str) -> tuple[str, ...]:
        """Return the columns that the truth comes in, if the question's name does not say it."""
        return (question,)

    def public_bounds(self, question: str) -> dict[str, tuple[float, float]]:
        """Return the public bounds of the columns that the truth comes in; nothing where it has none."""
        return {}

    def for_columns(self, columns: Sequence[str]) -> Self:
        """Return this channel for attributes that come in so many columns."""
        raise InvalidInput(
            f"the columns {', '.join(map(repr, columns))} and the channel {self!r}",
            "a channel that hides attributes one by one, such as StateFlip",
        )

    def design(self, *elsewhere: str) -> Spec:
        """Return name and parameters as a study file has them, without those that stand elsewhere in it."""
        spec = self.to_spec()
        outside = ("channel", "version", *elsewhere)
        return {"design": spec["channel"]} | {name: value for name, value in spec.items() if name not in outside}
