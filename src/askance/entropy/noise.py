"""Whole-numbered noise with an exact law: discrete Laplace and discrete Gaussian.

Noise that is added in floating point does not have the law that privacy was proved for: its low bits tell what it was
added to (Mironov, 2012). Here sums are whole numbers, noise is a whole number, and every coin has a rational
probability or one of the form exp(-rational). No double is involved, so the law is exactly the one that is written.
The algorithms are those of Canonne, Kamath & Steinke, The Discrete Gaussian for Differential Privacy (2020).
"""

import math
from fractions import Fraction

from askance.entropy.bits import BitSource
from askance.entropy.random_bits import RandomIntegers


def discrete_laplace(scale: Fraction, count: int, source: BitSource) -> list[int]:
    """Draw whole numbers z with P(z) proportional to exp(-|z| / scale).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> len(discrete_laplace(Fraction(5, 2), 3, system_bits()))
    3
    """
    draw = RandomIntegers(source)
    return [laplace_number(scale.numerator, scale.denominator, draw) for _ in range(count)]


def discrete_gaussian(variance: Fraction, count: int, source: BitSource) -> list[int]:
    """Draw whole numbers z with P(z) proportional to exp(-z^2 / (2 variance)).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> len(discrete_gaussian(Fraction(9, 4), 3, system_bits()))
    3
    """
    draw = RandomIntegers(source)
    return [gaussian_number(variance, draw) for _ in range(count)]


def discrete_laplace_variance(scale: Fraction) -> float:
    """Return the variance 2 q / (1 - q)^2 with q = exp(-1 / scale), which is about 2 scale^2 - 1/6.

    Examples
    --------
    >>> from fractions import Fraction
    >>> round(discrete_laplace_variance(Fraction(10)), 3)
    199.833
    """
    half = 0.5 / float(scale)
    # q / (1 - q)^2 = 1 / (4 sinh^2(1 / (2 scale))), which keeps its digits for large scales. Beyond
    # 350 it is below e^-700, next to the smallest double.
    return 0.5 / math.sinh(half) ** 2 if half < 350 else 0.0


def geometric(numerator: int, denominator: int, draw: RandomIntegers) -> int:
    """Draw g = 0, 1, ... with P(g) proportional to exp(-g denominator / numerator)."""
    while True:
        # u + numerator v has a geometric law with exp(-1 / numerator): v counts whole units, u the rest.
        u = draw.below(numerator)
        if happens(u, numerator, draw):
            break
    v = 0
    while happens(1, 1, draw):
        v += 1
    return (u + numerator * v) // denominator


def laplace_number(numerator: int, denominator: int, draw: RandomIntegers) -> int:
    """Draw one discrete Laplace number of scale numerator / denominator."""
    while True:
        size = geometric(numerator, denominator, draw)
        negative = draw.bits(1)
        if size or not negative:  # else zero would come up twice
            return -size if negative else size


def gaussian_number(variance: Fraction, draw: RandomIntegers) -> int:
    """Draw one discrete Gaussian number."""
    # The proposal is about as wide as what is wanted: five in eight are accepted, whatever the variance.
    width = math.isqrt(variance.numerator // variance.denominator) + 1
    while True:
        z = laplace_number(width, 1, draw)
        gap = abs(z) - variance / width
        loss = gap * gap / (2 * variance)
        if happens(loss.numerator, loss.denominator, draw):
            return z


def happens(numerator: int, denominator: int, draw: RandomIntegers) -> bool:
    """Toss a coin that is true with probability exp(-numerator / denominator)."""
    for _ in range(numerator // denominator):
        if not _happens_within_one(1, 1, draw):
            return False
    return _happens_within_one(numerator % denominator, denominator, draw)


def _happens_within_one(numerator: int, denominator: int, draw: RandomIntegers) -> bool:
    # For r in [0, 1]: the first k for which a coin of r / k fails is odd with probability
    # 1 - r + r^2/2! - r^3/3! + ... = exp(-r).
    k = 1
    while draw.below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
