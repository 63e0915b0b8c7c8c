"""Counts drawn from a Dirichlet law with a public scale and a public pseudo-count: [CR] section 3 made sound.

theta ~ Dir(s (eta + a)) with s and a that do not depend on the counts eta. A label that changes from i to j changes
the law of x = theta_i / (theta_i + theta_j) only, from Beta(A, B) to Beta(A - s, B + s) with A = s (eta_i + a), B = s
(eta_j + a), and the ratio of densities rises with x: delta is a difference of two incomplete beta functions.

The worst counts are known. If X ~ Beta(A, B) and Y ~ Beta(A + B, C) are independent, then X Y ~ Beta(A, B + C), and A
+ B is the same for both neighbours. So X Y is X with more noise, and delta falls when A or B grows. It is largest at
eta_i = 1, eta_j = 0 if there are three classes or more; with two, eta_i + eta_j = m, and all m pairs are looked at.

The release is the outcome of a Polya urn: N draws, each with probabilities (s (eta + a) + what was drawn) / total, in
whole numbers. That is a multinomial sample of size N of theta, so it is as private as theta is, and no double is
involved.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from askance.arrays import Floats
from askance.entropy.bits import BitSource
from askance.entropy.random_bits import RandomIntegers
from askance.errors import InvalidInput
from askance.mechanisms.budget import Budget

_MOST_DRAWS = 20_000  # from an urn: they take less than a tenth of a second a bag
_SLACK = 1e-5  # relative: far beyond the rounding errors, of levels from 10^-6 on
_LARGE = 1e4  # where three terms of Stirling's series are exact to the last digit
_SMALL = -600.0  # the logarithm of a number whose first power is all that counts
_WIDER = 1.05  # of two classes, counts are looked at in blocks that are so much wider as they are further from the ends


@dataclass(frozen=True)
class SoundDirichlet:
    """A Polya urn that starts with s (eta + a) of each class."""

    scale: Fraction
    pseudo_count: Fraction
    draws: int
    total: int
    classes: int

    name: ClassVar[str] = "dirichlet"
    how_known: ClassVar[str] = (
        "an urn whose scale and pseudo-count are public, drawn in whole numbers: delta is that of the Dirichlet law at "
        "the worst counts there can be, by incomplete beta functions"
    )

    @classmethod
    def calibrated(cls, total: int, classes: int, budget: Budget) -> Self:
        """Return the law of least expected distortion, at equal shares, that is (epsilon, delta)-private."""
        budget.require_delta(cls.name)
        epsilon, delta = float(budget.epsilon), float(budget.delta)
        least = _least_pseudo_count(epsilon, delta)
        found = []
        for pseudo_count in np.geomspace(1.01 * least, max(100 * least, 30 * total / classes), 24):
            prior = _few_digits(pseudo_count)
            scale = _largest_scale(float(prior), total, classes, epsilon, delta)
            if scale is not None:
                found.append(cls(scale, prior, cls.draws_of(scale, prior, total, classes), total, classes))
        if not found:
            raise InvalidInput(
                f"mechanism={cls.name!r} with epsilon={epsilon:g} and delta={delta:g}",
                "a level that some scale can give",
            )
        return min(found, key=lambda law: law.distortion)

    @staticmethod
    def draws_of(scale: Fraction, pseudo_count: Fraction, total: int, classes: int) -> int:
        """Return how often to draw: a sample adds about (urn + 1) / draws to the variance, a tenth unless that takes
        too long.
        """
        return min(10 * math.ceil(scale * (total + classes * pseudo_count) + 1), _MOST_DRAWS)

    @property
    def _whole(self) -> Fraction:
        """All people and pseudo-people."""
        return self.total + self.classes * self.pseudo_count

    def variance(self, share: float | Floats) -> Floats:
        """Return the variance of the unbiased count of a class that has a share of the urn."""
        size = float(self.scale * self._whole)
        spread = 1 / (size + 1) + size / (size + 1) / self.draws
        return np.asarray(float(self._whole) ** 2 * np.asarray(share) * (1 - np.asarray(share)) * spread)

    @property
    def distortion(self) -> float:
        """The expected sum of absolute errors of all counts, at equal shares: the worst there are."""
        size = float(self.scale * self._whole)
        sampled = 1 + size / self.draws  # the urn's own part of the variance
        own = dirichlet_distortion(np.full(self.classes, size / self.classes))
        return float(self._whole) * own * math.sqrt(sampled)

    def draw(self, counts: Sequence[int], source: BitSource) -> Floats:
        """Draw from the urn, and take the pseudo-count away: unbiased counts."""
        drawn = polya_urn([self.scale * (count + self.pseudo_count) for count in counts], self.draws, source)
        return np.array([float(Fraction(n, self.draws) * self._whole - self.pseudo_count) for n in drawn])

    def covariance(self, raw: Floats) -> Floats:
        """Return the covariance of the errors of unbiased counts, by the shares that they are themselves."""
        # A little towards equal shares, so that a class that never came up has a variance.
        drawn = (raw + float(self.pseudo_count)) / float(self._whole) * self.draws
        shares = (drawn + 1) / (self.draws + self.classes)
        return 4 * float(self.variance(0.5)) * (np.diag(shares) - np.outer(shares, shares))


def dirichlet_distortion(parameters: Floats) -> float:
    """Return the expected L1 distance of a draw of a Dirichlet law from its mean.

    Each share X ~ Beta(a, b) of mean p has E|X - p| = 2 E(p - X)+ = 2 p (P(X <= p) - P(X' <= p)), X' ~ Beta(a + 1, b).

    Examples
    --------
    >>> round(dirichlet_distortion(np.array([1.0, 1.0])), 3)
    0.5
    """
    from scipy.special import betainc

    a, b = parameters, parameters.sum() - parameters
    mean = a / parameters.sum()
    return float((2 * mean * (betainc(a, b, mean) - betainc(a + 1, b, mean))).sum())


def polya_urn(start: Sequence[Fraction], draws: int, source: BitSource) -> list[int]:
    """Draw from an urn that gets one more of what is drawn; return how often each came up.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> sum(polya_urn([Fraction(1, 2), Fraction(3)], 10, system_bits()))
    10
    """
    unit = math.lcm(*(part.denominator for part in start))
    contents = [part.numerator * (unit // part.denominator) for part in start]
    size = sum(contents)
    draw = RandomIntegers(source)
    drawn = [0] * len(contents)
    for _ in range(draws):
        ticket = draw.below(size)
        kind = 0
        while ticket >= contents[kind]:
            ticket -= contents[kind]
            kind += 1
        contents[kind] += unit
        drawn[kind] += 1
        size += unit
    return drawn


def dirichlet_delta(scale: float, pseudo_count: float, total: int, classes: int, epsilon: float) -> float:
    """Return the delta of Dir(s (eta + a)) at epsilon: the largest for any counts of a total, and any label.

    Examples
    --------
    >>> round(dirichlet_delta(0.05, 50.0, 1000, 5, 0.1), 4)
    0.0005
    """
    return float(dirichlet_profile(scale, pseudo_count, total, classes, np.array([epsilon]))[0])


def dirichlet_profile(scale: float, pseudo_count: float, total: int, classes: int, epsilon: Floats) -> Floats:
    """Return the delta of Dir(s (eta + a)) by epsilon."""
    if classes > 2:
        return _moved_delta(scale * pseudo_count, scale * pseudo_count, scale, epsilon)
    half = np.unique(np.ceil(np.append(_WIDER ** np.arange(math.log(total) / math.log(_WIDER)), total))).astype(int)
    ends = half[half <= (total + 1) // 2]
    first = np.unique(np.concatenate([ends, total + 1 - ends]))
    last = np.append(first[1:] - 1, total)
    # A block is never worse than its least A with its least B.
    least = scale * (first - 1 + pseudo_count), scale * (total - last + pseudo_count)
    return np.asarray(_moved_delta(*least, scale, epsilon[:, None]).max(axis=1))


def beta_delta(first: float | Floats, second: float | Floats, shift: float, epsilon: float) -> Floats:
    """Return the hockey-stick divergence of Beta(A, B) from Beta(A - s, B + s), at e^epsilon."""
    return _moved_delta(np.asarray(first, dtype=float) - shift, second, shift, epsilon)


def _moved_delta(first: float | Floats, second: float | Floats, shift: float, epsilon: float | Floats) -> Floats:
    """Return the divergence of Beta(A + s, B) from Beta(A, B + s): A may be too small beside s to be a difference."""
    from scipy.special import log_expit

    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    # log(x / (1 - x)) beyond which the ratio of densities is above e^epsilon, and log(1 - x) there
    border = (epsilon + _log_rise(a, shift) - _log_rise(b, shift)) / shift
    rest = log_expit(-border)
    here, there = _log_below(b, a + shift, rest), epsilon + _log_below(b + shift, a, rest)
    with np.errstate(invalid="ignore"):  # of two that are zero
        excess = -np.exp(here) * np.expm1(np.minimum(there - here, 0.0))
    return np.asarray(np.where(here == -np.inf, 0.0, excess))


def _log_rise(start: Floats, step: float) -> Floats:
    """Return log(Gamma(x + s) / Gamma(x)), which keeps its digits where both are large: by Stirling's series."""
    from scipy.special import gammaln

    x = np.maximum(start, _LARGE)
    rest = (1 / (x + step) - 1 / x) / 12 - (1 / (x + step) ** 3 - 1 / x**3) / 360
    large = step * np.log(x) + (x + step - 0.5) * np.log1p(step / x) - step + rest
    return np.asarray(np.where(start > _LARGE, large, gammaln(start + step) - gammaln(start)))


def _log_below(first: Floats, second: Floats, log_x: Floats) -> Floats:
    """Return log of the probability that a beta number is below x, where x may be smaller than any double."""
    from scipy.special import betainc, betaln

    with np.errstate(divide="ignore"):
        inside = np.log(betainc(first, second, np.exp(np.maximum(log_x, _SMALL))))
    return np.asarray(np.where(log_x < _SMALL, first * log_x - np.log(first) - betaln(first, second), inside))


def _least_pseudo_count(epsilon: float, delta: float) -> float:
    """Return the pseudo-count below which no scale is small enough.

    As s becomes small, delta at eta_i = 1, eta_j = 0 falls to exp(-a epsilon) / (1 + 2 a).
    """
    low, high = 0.0, math.log(1 / delta) / epsilon
    for _ in range(60):  # to the last digit of a double
        middle = (low + high) / 2
        low, high = (low, middle) if math.exp(-middle * epsilon) <= delta * (1 + 2 * middle) else (middle, high)
    return high


def largest_useful_scale(pseudo_count: float, total: int, classes: int) -> float:
    """Return where the search for a scale ends: an urn that hardly changes in all its draws is a sample of the counts,
    and a larger one tells no more.
    """
    return 100 * _MOST_DRAWS / (total + classes * pseudo_count)


def _largest_scale(pseudo_count: float, total: int, classes: int, epsilon: float, delta: float) -> Fraction | None:
    def private(scale: float) -> bool:
        return dirichlet_delta(scale, pseudo_count, total, classes, epsilon) * (1 + _SLACK) <= delta

    most = largest_useful_scale(pseudo_count, total, classes)
    low, high = 1e-9, 1e-9  # a scale at which a person changes nothing
    if not private(low):
        return None
    while private(high) and high < most:
        low, high = high, high * 4
    for _ in range(24):  # of a factor of four: beyond the six digits that are kept
        middle = math.sqrt(low * high)
        low, high = (middle, high) if private(middle) else (low, middle)
    scale = _few_digits(low)
    return scale if private(float(scale)) else None


def _few_digits(number: float) -> Fraction:
    """Round down to six digits: small numerators make a fast urn."""
    places = 5 - math.floor(math.log10(number))
    return Fraction(math.floor(number * 10.0**places)) / Fraction(10) ** places
