"""Any law for any attribute: a sequence of one-attribute channels, or one finite channel for all of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from askance.channels.attributes.coordinate_law import FiniteCoordinate
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.attributes.noise_law import Law
from askance.channels.attributes.per_attribute import agreed_width
from askance.channels.base import Spec
from askance.channels.labels.finite import FiniteLaw
from askance.channels.layouts import Bits, Fields, Layout, Numbers
from askance.channels.rows.vectors import checked_dim
from askance.channels.value import SPEC_VERSION
from askance.errors import InvalidInput

_MOST_LISTED = 12  # numbers of attributes in a sentence
OneAttribute = FiniteLaw | FeatureChannel


@dataclass(frozen=True, eq=False, repr=False)
class PerCoordinate(FeatureChannel):
    """Hide every attribute by a channel of its own.

    Parameters
    ----------
    channels : finite channel between numbers, or a sequence of one-attribute channels
        One for all attributes, or one for each: finite channels, StateFlip, GaussianNoise or LaplaceNoise.
    dim : int, optional
        How many attributes a record has, if one channel is for all; the data may say it later.

    Examples
    --------
    >>> from askance import FiniteChannel, GaussianNoise, StateFlip
    >>> from askance.channels.attributes.per_coordinate import PerCoordinate
    >>> mixed = PerCoordinate([StateFlip(2, 0.2), GaussianNoise(0.5), FiniteChannel([[0.8, 0.3], [0.2, 0.7]], [0, 1])])
    >>> [law.is_finite for law in mixed.laws]
    [True, False, True]
    """

    channels: Any
    dim: int | None = None

    kind: ClassVar[str] = "per-coordinate"

    def __post_init__(self) -> None:
        several = isinstance(self.channels, Iterable)
        if several:
            vars(self).update(channels=tuple(self.channels))
            if not self.channels:
                raise InvalidInput("no channels", "one for each attribute")
        given = None if self.dim is None else checked_dim(self.dim)
        vars(self).update(dim=agreed_width(given, channels=len(self.channels) if several else None))
        self._given  # noqa: B018 - a law that is not valid is refused here, not at the first report

    @cached_property
    def _given(self) -> tuple[Law, ...]:
        """The laws of the channels as they were given; equal channels share one, so that they are drawn together."""
        if not isinstance(self.channels, tuple):
            return (_law(self.channels, "an attribute"),)
        laws: dict[Any, Law] = {}
        for number, channel in enumerate(self.channels):
            if not isinstance(channel, OneAttribute) or channel not in laws:
                laws[channel] = _law(channel, f"attribute {number + 1}")
        return tuple(laws[channel] for channel in self.channels)

    def _laws(self, dim: int) -> Sequence[Law]:
        return self._given if isinstance(self.channels, tuple) else self._given * dim

    @cached_property
    def layout(self) -> Layout:
        if not self.is_finite:
            return Numbers(self.width)
        states = tuple(len(law.values) for law in self.laws if law.is_finite)
        return Bits(self.width) if set(states) == {2} and self.width > 1 else Fields(states)

    def declaration(self) -> dict[str, Any]:
        if not isinstance(self.channels, tuple):
            return {"width": self.width, "channel": self.channels.design("dim")}
        return {"width": self.width, "channels": [channel.design("dim") for channel in self.channels]}

    def describe(self) -> str:
        if not isinstance(self.channels, tuple):
            return f"Each attribute is hidden by itself. {self.channels.describe()}"
        alike: dict[str, list[str]] = {}
        for number, channel in enumerate(self.channels, 1):
            alike.setdefault(channel.describe(), []).append(str(number))
        said = [words if len(alike) == 1 else f"Number {_listed(each)}: {words}" for words, each in alike.items()]
        return f"Each of {len(self.channels)} attributes is hidden by a channel of its own. {' '.join(said)}"

    def to_spec(self) -> Spec:
        channels = self.channels
        specs = [one.to_spec() for one in channels] if isinstance(channels, tuple) else channels.to_spec()
        spec = {"channel": self.kind, "version": SPEC_VERSION, "channels": specs}
        return spec if self.dim is None or isinstance(channels, tuple) else spec | {"dim": self.dim}

    def __repr__(self) -> str:
        dim = "" if self.dim is None or isinstance(self.channels, tuple) else f", dim={self.dim}"
        return f"PerCoordinate({list(self.channels) if isinstance(self.channels, tuple) else self.channels!r}{dim})"


def _listed(numbers: Sequence[str]) -> str:
    """Numbers of attributes in words; of many, the first."""
    return ", ".join(numbers) if len(numbers) <= _MOST_LISTED else f"{', '.join(numbers[:_MOST_LISTED])} and more"


def as_feature_channel(given: Any) -> FeatureChannel:
    """Take whatever says how features are hidden as one channel."""
    return given if isinstance(given, FeatureChannel) else PerCoordinate(given)


def _law(channel: Any, what: str) -> Law:
    if isinstance(channel, FiniteLaw):
        return FiniteCoordinate.of_channel(channel, what)
    if isinstance(channel, FeatureChannel):
        return channel.for_width(1).laws[0]
    raise InvalidInput(
        f"{what} is hidden by {channel!r}",
        "a channel for one attribute: StateFlip, GaussianNoise, LaplaceNoise or a finite channel between numbers",
    )
