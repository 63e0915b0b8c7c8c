"""The exact level of a channel for numbers, worked out once more from the whole numbers that it draws with.

A level is the largest ratio between the probabilities of one report under two truths. Each function here returns these
two probabilities as fractions, from what the mechanism does and from nothing that the channel says about itself.
"""

import math
from fractions import Fraction
from functools import singledispatch
from itertools import product
from typing import NamedTuple

from askance.channels.rows.coordinate_release import CoordinateRelease
from askance.channels.rows.number_law import NumberLaw
from askance.channels.rows.per_value_flip import PerValueFlip
from askance.channels.rows.priv_unit import PrivUnit
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.channels.rows.sampled_coordinates import SampledCoordinates
from askance.channels.rows.triple_release import TripleRelease
from askance.channels.rows.window_law import WindowLaw
from askance.channels.rows.window_release import WindowRelease
from askance.entropy.bernoulli import NoisyBit
from askance.entropy.thresholds import RESOLUTION
from askance.errors import InvalidInput


class Extremes(NamedTuple):
    """The largest and the smallest probability of the most revealing report, up to a common factor."""

    most: Fraction
    least: Fraction

    @property
    def level(self) -> float:
        """log(most / least)."""
        return math.inf if self.least <= 0 else math.log1p(self.most / self.least - 1)

    def repeated(self, times: int) -> "Extremes":
        """Of so many independent reports together."""
        return Extremes(self.most**times, self.least**times)


def exact_level(channel: object) -> float:
    """Return the level that the whole numbers of a channel give.

    Examples
    --------
    >>> from askance import CoordinateRelease
    >>> exact_level(CoordinateRelease(dim=3, epsilon=1.0, calibration="paper"))
    0.5
    """
    return _extremes(channel).level


@singledispatch
def _extremes(channel: object) -> Extremes:
    raise InvalidInput(f"an audit of {channel!r}", "a channel whose law is known here, such as PrivateNumber")


@_extremes.register
def _(channel: PrivateRow) -> Extremes:
    return _extremes(channel.inner)


@_extremes.register
def _(channel: WindowRelease) -> Extremes:
    return _window(channel.law)


@_extremes.register
def _(channel: PrivateNumber) -> Extremes:
    return _number(channel.law)


@_extremes.register
def _(channel: SampledCoordinates) -> Extremes:
    return _number(channel.law).repeated(channel.k or 1)


@_extremes.register
def _(channel: CoordinateRelease) -> Extremes:
    return _bit(channel.bit)


@_extremes.register
def _(channel: PerValueFlip) -> Extremes:
    # Two rows with at most m values other than zero differ in at most 2 m of them.
    return _bit(channel.bit).repeated(min(2 * (channel.max_ones or channel.dim), channel.dim))


@_extremes.register
def _(channel: PrivUnit) -> Extremes:
    # Whatever the proposals, a truth only decides which of them has which weight.
    weights = channel.selection.counts.tolist()
    if sum(weights) != RESOLUTION:
        raise InvalidInput("weights of proposals that do not add up to 2^62", "a selection that can be drawn from")
    return Extremes(Fraction(max(weights)), Fraction(min(weights))).repeated(channel.rounds)


@_extremes.register
def _(channel: TripleRelease) -> Extremes:
    # Probabilities of the three bits are largest and smallest where the values are extreme, or zero.
    values = [Fraction(step, 2) for step in range(-2 if channel.signed else 0, 3)]
    found: dict[tuple[int, ...], list[Fraction]] = {}
    for a, b in product(values, values):
        fractions = (a * a, (1 + a * b) / 2 if channel.signed else a * b, b * b)
        for report in product((0, 1), repeat=3):
            chance = Fraction(1)
            for bit, fraction in zip(report, fractions, strict=True):
                one = (channel.bit.low + fraction * channel.bit.span) / RESOLUTION
                chance *= one if bit else 1 - one
            found.setdefault(report, []).append(chance)
    return _worst([Extremes(max(chances), min(chances)) for chances in found.values()])


def _bit(bit: NoisyBit) -> Extremes:
    return Extremes(Fraction(RESOLUTION - bit.low), Fraction(bit.low))


def _window(law: WindowLaw) -> Extremes:
    """All codes inside the windows of one truth, and some outside those of another."""
    kappa = Fraction(law.coin, RESOLUTION)
    anywhere = (1 - kappa) / law.codes**law.numbers
    return Extremes(kappa / law.width**law.numbers + anywhere, anywhere)


def _number(law: NumberLaw) -> Extremes:
    """A report says whether a window or a coin was used: each has its own extremes."""
    parts = [] if law.window is None or law.share == 0 else [_window(law.window)]
    parts += [] if law.coin is None or law.share == RESOLUTION else [_bit(law.coin)]
    return _worst(parts)


def _worst(found: list[Extremes]) -> Extremes:
    return max(found, key=lambda extremes: extremes.level)
