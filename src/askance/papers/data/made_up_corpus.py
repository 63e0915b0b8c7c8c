"""A small made-up language with tags, for figures where no treebank is at hand.

Words have endings that hint at their tag, some words have two tags, frequencies follow Zipf's law, and tags follow each
other by a grammar: what a tagger can learn from, and what it cannot learn from words alone.
"""

import numpy as np
from numpy.typing import NDArray

from askance.tables.sentences import TaggedSentences

# How many words a tag has, their endings, and the tags that follow it with their weights.
_GRAMMAR: dict[str, tuple[int, tuple[str, ...], dict[str, float]]] = {
    "DET": (6, ("",), {"NOUN": 5, "ADJ": 4, "NUM": 1}),
    "ADJ": (300, ("ous", "al", "y"), {"NOUN": 8, "ADJ": 1, "CONJ": 1}),
    "NOUN": (1200, ("ion", "er", "ment", ""), {"VERB": 5, "ADP": 3, "CONJ": 1, "PUNCT": 2, "NOUN": 1}),
    "PRON": (8, ("",), {"VERB": 8, "ADV": 2}),
    "VERB": (700, ("s", "ed", "ing", ""), {"DET": 4, "ADV": 2, "ADP": 2, "PRON": 1, "PUNCT": 1, "ADJ": 1}),
    "ADV": (150, ("ly", ""), {"VERB": 3, "ADJ": 3, "PUNCT": 2, "ADP": 1}),
    "ADP": (15, ("",), {"DET": 6, "NOUN": 2, "PRON": 1, "NUM": 1}),
    "NUM": (60, ("teen", "ty"), {"NOUN": 9, "PUNCT": 1}),
    "CONJ": (4, ("",), {"DET": 3, "PRON": 3, "NOUN": 2, "ADJ": 2}),
    "PUNCT": (3, ("",), {"DET": 3, "PRON": 3, "CONJ": 2}),
}
# Weights of the tags with which a sentence begins.
_FIRST = {"DET": 4.0, "PRON": 4.0, "ADV": 1.0, "NOUN": 1.0}
_ALSO = {"NOUN": "VERB", "ADJ": "NOUN", "ADP": "ADV"}  # words of the first are now and then used as the second
_AMBIGUOUS = 0.25  # share of such words
_SEED = 7  # the corpus's own: a stand-in is a data set, not a simulation


def synthetic_corpus(sentences: int, part: str = "train") -> TaggedSentences:
    """Return sentences of 4 to 30 words, always the same; "train" and "test" share the language only.

    Examples
    --------
    >>> corpus = synthetic_corpus(2)
    >>> corpus.tags[0][:4]
    ['DET', 'ADJ', 'NOUN', 'VERB']
    """
    words = _lexicon(np.random.default_rng(_SEED))
    rng = np.random.default_rng([_SEED, *part.encode()])
    of_tag = {tag: _Draw(known, 1 / (2.0 + np.arange(len(known)))) for tag, known in words.items()}
    after = {tag: _Draw(list(follows), np.array([*follows.values()])) for tag, (_, _, follows) in _GRAMMAR.items()}
    first = _Draw(list(_FIRST), np.array([*_FIRST.values()]))
    found = TaggedSentences([], [])
    for _ in range(sentences):
        length = int(4 + min(rng.geometric(0.08), 26))
        tags = [first(rng)]
        while len(tags) < length:
            tags.append(after[tags[-1]](rng))
        found.sentences.append([of_tag[tag](rng) for tag in tags])
        found.tags.append(tags)
    return found


class _Draw:
    """Draws one of some texts by their weights."""

    def __init__(self, texts: list[str], weights: NDArray[np.float64]) -> None:
        self._texts = texts
        sums = np.cumsum(weights / weights.sum())
        self._sums = sums / sums[-1]

    def __call__(self, rng: np.random.Generator) -> str:
        return self._texts[int(self._sums.searchsorted(rng.random(), side="right"))]


def _lexicon(rng: np.random.Generator) -> dict[str, list[str]]:
    syllables = [first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou"]
    words: dict[str, list[str]] = {}
    for tag, (count, endings, _) in _GRAMMAR.items():
        fresh: dict[str, None] = {}
        while len(fresh) < count:
            stem = "".join(rng.choice(syllables, int(rng.integers(1, 4))))
            fresh[stem + str(rng.choice(endings))] = None
        words[tag] = list(fresh)
    for tag, also in _ALSO.items():
        shared = [word for word in words[tag] if rng.random() < _AMBIGUOUS]
        for word in shared:
            words[also][int(rng.integers(len(words[also])))] = word
    return words
