"""Whole numbers from random bits: the only draws that exact samplers are made of."""

from askance.entropy.bits import BitSource


class RandomIntegers:
    """Draws uniform whole numbers of any size from a source of bits.

    Examples
    --------
    >>> import numpy as np
    >>> from askance.entropy.bits import GeneratorBits
    >>> draw = RandomIntegers(GeneratorBits(np.random.default_rng(0)))
    >>> all(0 <= draw.below(10**30) < 10**30 for _ in range(100))
    True
    """

    def __init__(self, source: BitSource) -> None:
        self._source = source
        self._bytes = b""
        self._used = 0

    def bits(self, count: int) -> int:
        """Return a whole number of ``count`` random bits."""
        size = -(-count // 8)
        while len(self._bytes) - self._used < size:
            # A copy: the source may overwrite its block.
            self._bytes = self._bytes[self._used :] + self._source.block().tobytes()
            self._used = 0
        piece = self._bytes[self._used : self._used + size]
        self._used += size
        return int.from_bytes(piece, "little") >> (8 * size - count)

    def below(self, bound: int) -> int:
        """Return one of 0 .. bound - 1, each with the same probability; what is too large is drawn again."""
        count = (bound - 1).bit_length()
        number = self.bits(count)
        while number >= bound:
            number = self.bits(count)
        return number
