"""Random words by the array, and single bits for the few numbers that need more."""

import numpy as np
from numpy.typing import NDArray

from askance.entropy.bits import BitSource
from askance.entropy.random_bits import RandomIntegers

Words = NDArray[np.uint64]
WORD_BITS = 64  # of a uint64


class RandomWords:
    """Uniform 64-bit words, and random integers of any size, from one source of bits.

    Examples
    --------
    >>> from askance.entropy.bits import system_bits
    >>> RandomWords(system_bits()).draw(3).shape
    (3,)
    """

    def __init__(self, source: BitSource) -> None:
        self._source = source
        self.draw_one = RandomIntegers(source)

    def draw(self, count: int) -> Words:
        """Return fresh words."""
        parts: list[Words] = []
        while count > 0:
            block = self._source.block().view(np.uint64)[:count].copy()  # the source may overwrite it
            parts.append(block)
            count -= len(block)
        return np.concatenate([*parts, np.empty(0, np.uint64)])

    def signed(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give each number a sign, by a fair coin."""
        bits = np.unpackbits(self.draw(-(-len(sizes) // WORD_BITS)).view(np.uint8))[: len(sizes)]
        return np.where(bits == 1, -sizes, sizes)
