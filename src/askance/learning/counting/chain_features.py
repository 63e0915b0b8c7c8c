"""What a chain-structured tagger looks at around a token: the word itself in detail, its neighbours more coarsely."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.errors import InvalidInput

WordNames = Callable[[str], Iterable[str]]  # a user's own features of a word, by name

REACH = 2  # words to either side
SHIFTS = range(-REACH, REACH + 1)
EDGE = ""  # stands for words before the first and after the last of a sentence
_AFFIXES = 4  # letters of the longest prefix and suffix of the word itself
_PART = 3  # characters of the parts of a word
_LONG = 12  # letters: words that are longer are alike
_RUN = re.compile(r"(.)\1+")


def word_shape(word: str) -> str:
    """Letters by case, digits by kind, runs shortened to two: how a word looks.

    Examples
    --------
    >>> word_shape("McDonald's"), word_shape("F-16s"), word_shape("1,200")
    ("XxXxx'x", 'X-99x', '9,99')
    """
    kinds = (
        "9" if letter.isdigit() else "X" if letter.isupper() else "x" if letter.isalpha() else letter for letter in word
    )
    return _RUN.sub(r"\1\1", "".join(kinds))


def looks(word: str) -> Iterator[str]:
    """Parts of three characters, digits, a capital and the length: what languages with many forms of a word need.

    Examples
    --------
    >>> list(looks("No1"))
    ['part <no', 'part no1', 'part o1>', 'digit', 'capital', 'length 3']
    """
    closed = f"<{word.lower()}>"
    # A word that has a part twice would move its weight twice as far.
    yield from dict.fromkeys(f"part {closed[place : place + _PART]}" for place in range(len(closed) - _PART + 1))
    if any(letter.isdigit() for letter in word):
        yield "digit"
    if word[:1].isupper():
        yield "capital"
    yield f"length {min(len(word), _LONG)}"


def context_features(word: str, shift: int) -> Iterator[str]:
    """Names of the features that a word gives to the token ``shift`` places before it (0: to itself).

    Examples
    --------
    >>> list(context_features("Ran", 1))
    ['1 word ran', '1 shape Xxx', '1 suffix an', '1 suffix ran']
    """
    plain = word.lower()
    yield f"{shift} word {plain}"
    if word == EDGE or abs(shift) > 1:
        return
    yield f"{shift} shape {word_shape(word)}"
    if shift:
        yield from (f"{shift} suffix {plain[-size:]}" for size in (2, 3))
        return
    yield "0 any"
    yield f"0 form {word}"
    for size in range(1, min(_AFFIXES, len(plain)) + 1):
        yield f"0 prefix {plain[:size]}"
        yield f"0 suffix {plain[-size:]}"
    yield from (f"0 {name}" for name in looks(word))


def own_features(word: str, own: WordNames | None) -> Iterator[str]:
    """Names of the features that a user's function gives to a word; none without one.

    Examples
    --------
    >>> list(own_features("Wien", lambda word: {"-ien"} if word.endswith("ien") else set()))
    ['own -ien']
    """
    if own is None:
        return
    names = own(word)
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise InvalidInput(f"features={named(own)}, which gives {names!r} for {word!r}", "a list of texts for a word")
    for name in dict.fromkeys(names):
        if not isinstance(name, str):
            raise InvalidInput(f"features={named(own)}, which has {name!r} for {word!r}", "a list of texts for a word")
        yield f"own {name}"


def named(own: WordNames) -> str:
    """What a function is called."""
    return str(getattr(own, "__qualname__", type(own).__name__))


@dataclass(frozen=True, eq=False)
class ContextTable:
    """The features that each word type gives to each place around it, by number.

    Row ``(shift + REACH) * (types + 1) + type`` holds ``indices[indptr[row] : indptr[row + 1]]``.
    The last type of a shift stands for the edge of a sentence.

    Examples
    --------
    >>> table = ContextTable.of(["a"], ["0 any", "1 word a", "-1 word "])
    >>> table.indices
    array([2, 0, 1], dtype=int32)
    >>> len(ContextTable.of(["a"]).names)
    21
    """

    names: tuple[str, ...]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @classmethod
    def of(
        cls, vocabulary: Sequence[str], names: Sequence[str] | None = None, own: WordNames | None = None
    ) -> "ContextTable":
        """Look up the features of word types; all that they have, or those with names, in their order."""
        known = {name: number for number, name in enumerate(names or ())}
        indptr, indices = [0], list[int]()
        for shift in SHIFTS:
            for word in (*vocabulary, EDGE):
                found = [*context_features(word, shift)]
                if shift == 0 and word != EDGE:
                    found += [f"0 {name}" for name in own_features(word, own)]
                if names is None:
                    indices += [known.setdefault(name, len(known)) for name in found]
                else:
                    indices += [known[name] for name in found if name in known]
                indptr.append(len(indices))
        return cls(tuple(known), np.array(indptr, np.int64), np.array(indices, np.int32))

    def occurrences(
        self, words: NDArray[np.int32], places: NDArray[np.int64], lows: NDArray[np.int64], highs: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """How many of the tokens at ``places``, in sentences from ``lows`` to ``highs``, have each feature."""
        types = (len(self.indptr) - 1) // len(SHIFTS)
        rows = np.zeros(len(self.indptr) - 1, np.int64)
        for number, shift in enumerate(SHIFTS):
            seen = places + shift
            inside = (seen >= lows) & (seen < highs)
            kinds = np.where(inside, words[np.where(inside, seen, 0)], types - 1)
            rows[number * types : (number + 1) * types] = np.bincount(kinds, minlength=types)
        each = np.repeat(rows, np.diff(self.indptr))
        return np.bincount(self.indices, each, len(self.names)).astype(np.int64)

    def only(self, wanted: NDArray[np.bool_]) -> "ContextTable":
        """The same without the features that are not wanted."""
        kept = wanted[self.indices]
        number = np.cumsum(wanted) - 1
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        names = tuple(name for name, is_wanted in zip(self.names, wanted.tolist(), strict=True) if is_wanted)
        return ContextTable(names, indptr.astype(np.int64), number[self.indices[kept]].astype(np.int32))

    def own_words(self) -> "ContextTable":
        """The same with what a word says about itself alone."""
        return self.only(np.array([name.startswith("0 ") for name in self.names], bool))
