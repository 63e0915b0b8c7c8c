"""Whole-numbered noise that sums to zero, with an exact law.

The counts of a bag sum to a number that everybody knows. Noise that changes this sum hides nothing more, so noise is
drawn from the vectors z of whole numbers with sum zero only:

- balanced Laplace: P(z) proportional to exp(-|z|_1 / scale), optionally up to a largest size |z|_1 / 2;
- balanced Gaussian: P(z) proportional to exp(-|z|_2^2 / (2 variance)).

All numbers but one are drawn independently, the last one is minus their sum, and it is kept with the probability that
is its own share of the law. No double is involved; see ``entropy.noise``.
"""

from fractions import Fraction

from askance.entropy.bits import BitSource
from askance.entropy.noise import gaussian_number, geometric, happens, laplace_number
from askance.entropy.random_bits import RandomIntegers


def balanced_laplace(scale: Fraction, count: int, source: BitSource, radius: int | None = None) -> list[int]:
    """Draw ``count`` whole numbers with sum zero, P(z) proportional to exp(-sum |z| / scale).

    Parameters
    ----------
    scale : Fraction
    count : int
        At least two.
    source : BitSource
    radius : int, optional
        The largest sum of the positive numbers; vectors beyond it are drawn again.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> sum(balanced_laplace(Fraction(5, 2), 4, system_bits()))
    0
    """
    draw = RandomIntegers(source)
    # Up to a radius R in n dimensions, nearly all numbers of a wide law would be beyond it. What is drawn then is
    # narrower, 2 R / n at most, and kept the sooner the larger it is: about once in sqrt(2 pi n).
    inner = scale if radius is None else min(scale, Fraction(max(2 * radius, 1), count - 1))
    slope = 1 / inner - 1 / scale
    while True:
        free = [laplace_number(inner.numerator, inner.denominator, draw) for _ in range(count - 1)]
        last = -sum(free)
        size = sum(map(abs, free)) + abs(last)
        if radius is not None and size > 2 * radius:
            continue
        keep = abs(last) / inner + (0 if radius is None else (2 * radius - size) * slope)
        if happens(keep.numerator, keep.denominator, draw):
            return [*free, last]


def balanced_gaussian(variance: Fraction, count: int, source: BitSource) -> list[int]:
    """Draw ``count`` whole numbers with sum zero, P(z) proportional to exp(-sum z^2 / (2 variance)).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> sum(balanced_gaussian(Fraction(9, 4), 4, system_bits()))
    0
    """
    draw = RandomIntegers(source)
    while True:
        free = [gaussian_number(variance, draw) for _ in range(count - 1)]
        last = -sum(free)
        keep = last * last / (2 * variance)
        if happens(keep.numerator, keep.denominator, draw):
            return [*free, last]


def rounded_laplace(scale: Fraction, count: int, source: BitSource) -> list[int]:
    """Draw round(w) for independent Laplace numbers w of a scale: real noise, rounded after it is in.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> len(rounded_laplace(Fraction(3), 4, system_bits()))
    4
    """
    draw = RandomIntegers(source)
    half = 1 / (2 * scale)
    numbers = []
    for _ in range(count):
        size = 0
        if happens(half.numerator, half.denominator, draw):  # |w| > 1/2, and beyond that it has no memory
            size = 1 + geometric(scale.numerator, scale.denominator, draw)
        numbers.append(-size if draw.bits(1) else size)
    return numbers
