"""Draws by tables of exact probabilities: laws, and what happens where 64 bits do not decide."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from askance.entropy.bits import BLOCK_BYTES, GeneratorBits
from askance.entropy.exact_tables import SizeTable, exp_coins
from askance.entropy.noise_arrays import (
    GaussianSizes,
    GeometricLaw,
    LaplaceSizes,
    gaussian_array,
    geometric_array,
    laplace_array,
)
from askance.entropy.words import RandomWords


class Script:
    """Words that are told, then bytes of one kind without end."""

    rng = None

    def __init__(self, first, then):
        self.blocks = [np.array(first, dtype=np.uint64)]
        self.then = then

    def block(self):
        if self.blocks:
            words = np.zeros(BLOCK_BYTES // 8, dtype=np.uint64)
            told = self.blocks.pop()
            words[: len(told)] = told
            return words.view(np.uint8)
        return np.full(BLOCK_BYTES, self.then, dtype=np.uint8)


def words(seed=0):
    return RandomWords(GeneratorBits(np.random.default_rng(seed)))


def fits(numbers, support, law):
    """The p-value of a chi-square test; what is beyond the support is one cell."""
    found = np.append([(numbers == k).sum() for k in support], np.isin(numbers, support, invert=True).sum())
    expected = len(numbers) * np.append(law, max(1 - law.sum(), 0))
    often = expected > 8
    table = [np.append(part[often], part[~often].sum()) for part in (found, expected)]
    return stats.chisquare(*(part if table[1][-1] > 0 else part[:-1] for part in table)).pvalue


# Chi-square tests: a correct program fails one of them in 10,000. Wide laws are drawn in two parts, or by rejection.
@pytest.mark.parametrize("scale", ["1/3", "5/2", "40", "300", "5000"])
def test_laplace_and_geometric_numbers_have_their_law(scale):
    scale = Fraction(scale)
    reach = max(4, int(3 * scale))
    step = max(1, reach // 30)
    z = np.arange(-reach, reach + 1)
    ratio = np.exp(-1 / float(scale))
    law = ratio ** np.abs(z) * (1 - ratio) / (1 + ratio)
    numbers = laplace_array(scale, 40_000, words())
    cells = (z + reach) // step
    summed = np.bincount(cells, law)
    inside = np.abs(numbers) <= reach
    assert fits(np.where(inside, (numbers + reach) // step, -1), np.arange(len(summed)), summed) > 1e-4
    sizes = geometric_array(scale, 40_000, words(1))
    law = ratio ** np.arange(reach + 1) * (1 - ratio)
    summed = np.bincount(np.arange(reach + 1) // step, law)
    assert fits(np.where(sizes <= reach, sizes // step, -1), np.arange(len(summed)), summed) > 1e-4


@pytest.mark.parametrize(("variance", "count"), [("1/4", 40_000), ("9/2", 40_000), ("3000", 40_000), ("400000", 3000)])
def test_gaussian_numbers_have_their_law(variance, count):
    variance = Fraction(variance)
    reach = max(4, int(4 * float(variance) ** 0.5))
    step = max(1, reach // 20)
    z = np.arange(-reach, reach + 1)
    every = np.arange(-4 * reach, 4 * reach + 1)
    law = np.exp(-(z**2) / (2 * float(variance))) / np.exp(-(every**2) / (2 * float(variance))).sum()
    summed = np.bincount((z + reach) // step, law)
    numbers = gaussian_array(variance, count, words(2))
    inside = np.abs(numbers) <= reach
    assert fits(np.where(inside, (numbers + reach) // step, -1), np.arange(len(summed)), summed) > 1e-4


@pytest.mark.parametrize("law", [GeometricLaw(Fraction(3)), GeometricLaw(Fraction(3), 5), LaplaceSizes(Fraction(2))])
def test_where_64_bits_are_those_of_a_threshold_more_are_drawn(law):
    with localcontext(prec=60):
        floors = [int(value * 2**64) for value in law.cumulatives(50)][:4]
    table = SizeTable(law)
    for j, floor in enumerate(floors):
        # U begins like the probability of at most j. Its next bits are zeros, or ones.
        assert table.draw(1, RandomWords(Script([floor], 0))).tolist() == [j]
        assert table.draw(1, RandomWords(Script([floor], 255))).tolist() == [j + 1]
        assert table.draw(2, RandomWords(Script([floor - 1, floor + 1], 0))).tolist() == [j, j + 1]


def test_the_far_tail_is_reached():
    for law in (GeometricLaw(Fraction(3)), GaussianSizes(Fraction(5))):
        with localcontext(prec=60):
            values = law.cumulatives(50)
            sure = sum(value < 1 - Decimal(2) ** -64 for value in values)
        drawn = SizeTable(law).draw(1, RandomWords(Script([2**64 - 1], 127)))
        assert drawn[0] >= sure


def test_coins_are_as_probable_as_they_say():
    sizes = np.arange(6).repeat(20_000)
    for power, unit in ((1, Fraction(2, 5)), (2, Fraction(1, 7))):
        heads = exp_coins(sizes, unit, words(3), power).reshape(6, -1).sum(axis=1)
        for size, count in enumerate(heads.tolist()):
            chance = np.exp(-(size**power) * float(unit))
            assert stats.binomtest(count, 20_000, min(chance, 1.0)).pvalue > 1e-5
    floor = int(Decimal(-1).exp() * 2**64)
    assert exp_coins(np.array([1]), Fraction(1), RandomWords(Script([floor], 0))).all()
    assert not exp_coins(np.array([1]), Fraction(1), RandomWords(Script([floor], 255))).any()
    assert exp_coins(np.array([0, 10**7]), Fraction(1), RandomWords(Script([2**64 - 1, 0], 255))).tolist() == [
        True,
        False,
    ]
