"""What a node model looks at: the word itself, its beginnings and endings, and its shape.

Features have names and numbers, nothing is hashed: two features never share a weight. A word that was never seen still
has endings and a shape that were, and is tagged by those.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from askance.learning.counting.chain_features import WordNames, looks, own_features, word_shape

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_AFFIXES = 4  # letters of the longest prefix and suffix


def word_features(word: str) -> Iterator[str]:
    """Names of a word's features.

    Examples
    --------
    >>> list(word_features("Sat"))[:8]
    ['any', 'form Sat', 'word sat', 'prefix s', 'suffix t', 'prefix sa', 'suffix at', 'shape Xxx']
    >>> list(word_features("Sat"))[8:]
    ['part <sa', 'part sat', 'part at>', 'capital', 'length 3']
    """
    plain = word.lower()
    yield "any"
    yield f"form {word}"
    yield f"word {plain}"
    # An affix as long as the word would only repeat the word.
    for size in range(1, min(_AFFIXES + 1, len(plain))):
        yield f"prefix {plain[:size]}"
        yield f"suffix {plain[-size:]}"
    yield f"shape {word_shape(word)}"
    yield from looks(word)


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """The features of word types: type a has the features ``indices[indptr[a] : indptr[a + 1]]``."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    def matrix(self, features: int) -> "csr_matrix":
        """The same as a sparse table of zeros and ones, word types x features."""
        from scipy.sparse import csr_matrix

        ones = np.ones(len(self.indices), np.float32)
        return csr_matrix((ones, self.indices, self.indptr), shape=(len(self.indptr) - 1, features))


@dataclass(frozen=True, eq=False)
class TokenFeatures:
    """The features that some vocabulary has, numbered in the order of ``names``.

    Examples
    --------
    >>> features = TokenFeatures.of(["cats", "dogs"])
    >>> [features.names[number] for number in features.rows(["Rats"]).indices]
    ['any', 'suffix s', 'suffix ts', 'suffix ats', 'part ats', 'part ts>', 'length 4']
    """

    names: tuple[str, ...]
    own: WordNames | None = None

    @classmethod
    def of(cls, vocabulary: Sequence[str], own: WordNames | None = None) -> "TokenFeatures":
        """Number all features of a vocabulary; ``own`` is the user's own function."""
        names = (name for word in vocabulary for name in (*word_features(word), *own_features(word, own)))
        return cls(tuple(dict.fromkeys(names)), own)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def rows(self, vocabulary: Sequence[str]) -> FeatureRows:
        """Look up the features of word types; those that were never numbered are passed over."""
        indptr, indices = [0], list[int]()
        for word in vocabulary:
            names = (*word_features(word), *own_features(word, self.own))
            indices += [self._numbers[name] for name in names if name in self._numbers]
            indptr.append(len(indices))
        return FeatureRows(np.array(indptr, np.int64), np.array(indices, np.int32))
