"""Channels from and to JSON: the one place that knows every kind of channel by name."""

from collections.abc import Mapping
from inspect import signature
from typing import Any

from askance.channels.attributes.additive_noise import GaussianNoise, LaplaceNoise
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.attributes.per_coordinate import PerCoordinate
from askance.channels.attributes.row_channel import RowChannel
from askance.channels.attributes.state_flip import StateFlip
from askance.channels.labels.candidate_sets import CandidateSets
from askance.channels.labels.coarsening import Coarsening
from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.labels.finite import FiniteChannel, FiniteLaw, Identity
from askance.channels.labels.memoised import Memoised
from askance.channels.labels.per_token import PerToken
from askance.channels.labels.randomized_response import RandomizedResponse
from askance.channels.labels.repeated import Repeated
from askance.channels.labels.respondents import Anchor, Cheaters, RandomAnswers
from askance.channels.labels.surveys import (
    Crosswise,
    ForcedResponse,
    Kuk,
    Mangat,
    StochasticLieDetector,
    Triangular,
    UnrelatedQuestion,
    Warner,
)
from askance.channels.labels.unknown import unknown_from_spec
from askance.channels.region_counts import RegionCounts
from askance.channels.rows.coordinate_release import CoordinateRelease
from askance.channels.rows.per_value_flip import PerValueFlip
from askance.channels.rows.priv_unit import PrivUnit
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.channels.rows.sampled_coordinates import SampledCoordinates
from askance.channels.rows.triple_release import TripleRelease
from askance.channels.rows.vectors import RowMechanism
from askance.channels.rows.window_release import WindowRelease
from askance.channels.value import SPEC_VERSION, ChannelValue
from askance.errors import InvalidInput

FINITE_CHANNELS: tuple[type[FiniteLaw], ...] = (
    RandomizedResponse,
    FiniteChannel,
    Identity,
    Warner,
    Crosswise,
    ForcedResponse,
    UnrelatedQuestion,
    Mangat,
    StochasticLieDetector,
    Triangular,
    Kuk,
    Cheaters,
    RandomAnswers,
    Anchor,
    Coarsening,
    CandidateSets,
    Repeated,
)
VECTOR_CHANNELS: tuple[type[RowMechanism], ...] = (
    CoordinateRelease,
    PerValueFlip,
    PrivUnit,
    TripleRelease,
    WindowRelease,
    PrivateNumber,
    SampledCoordinates,
)
FEATURE_CHANNELS: tuple[type[FeatureChannel], ...] = (StateFlip, GaussianNoise, LaplaceNoise, PerCoordinate)
EVERY_CHANNEL: tuple[type[ChannelValue], ...] = (
    *FINITE_CHANNELS,
    *VECTOR_CHANNELS,
    PrivateRow,
    RegionCounts,
    *FEATURE_CHANNELS,
    RowChannel,
    DesignPerRow,
    Memoised,
    PerToken,
)
_BY_KIND = {channel.kind: channel for channel in EVERY_CHANNEL}


def channel_from_spec(spec: Mapping[str, Any]) -> Any:
    """Make the channel that a spec describes.

    Examples
    --------
    >>> from askance import Warner, channel_from_spec
    >>> channel_from_spec(Warner(0.8).to_spec())
    Warner(p=0.8, classes=('no', 'yes'))
    """
    if not isinstance(spec, Mapping) or "channel" not in spec:
        raise InvalidInput(f"a channel spec {spec!r}", 'a mapping such as {"channel": "warner", "p": 0.8}')
    version = spec.get("version", SPEC_VERSION)
    if version != SPEC_VERSION:
        raise InvalidInput(
            f"a channel spec of version {version!r}",
            f"version {SPEC_VERSION}",
            "A newer askance wrote it: upgrade, or ask for the older format.",
        )
    kind = spec["channel"]
    parameters = {name: value for name, value in spec.items() if name not in ("channel", "version")}
    if not isinstance(kind, str) or kind not in _BY_KIND:
        raise InvalidInput(f"an unknown channel {kind!r}", f"one of {', '.join(_BY_KIND)}")
    made_by = _BY_KIND[kind]
    known = list(signature(made_by).parameters)
    strangers = sorted(set(parameters) - set(known))
    if strangers:
        raise InvalidInput(f"{kind} has no parameter {', '.join(strangers)}", f"some of {', '.join(known)}")
    for part in (
        "features",
        "label",
        "channels",
        "permanent",
        "instantaneous",
        "device",
    ):  # channels that are made of channels
        if part in parameters:
            parameters[part] = _made(parameters[part])
    if isinstance(parameters.get("designs"), Mapping):
        parameters["designs"] = {name: channel_from_spec(design) for name, design in parameters["designs"].items()}
    parameters = {name: unknown_from_spec(value) for name, value in parameters.items()}
    try:
        return made_by(**parameters)
    except TypeError:
        raise InvalidInput(
            f"a {kind} channel with {', '.join(sorted(parameters)) or 'no parameters'}", f"{', '.join(known)}"
        ) from None


def _made(part: Any) -> Any:
    return [channel_from_spec(one) for one in part] if isinstance(part, list | tuple) else channel_from_spec(part)
