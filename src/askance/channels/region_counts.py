"""Counting instead of labelling: an annotator sees a window of a sentence and tells how often some tags occur in it.

The law of [LM] section 4, with starts on 1..L-w+1: the paper's 1..L-w never covers the last token. A sentence that is
shorter than the window is counted whole.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.channels.alphabet import as_labels, listed
from askance.channels.guarantee import Guarantee
from askance.channels.value import ChannelValue
from askance.errors import InvalidInput
from askance.frames import lists_of_rows

Region = dict[str, Any]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class RegionCounts(ChannelValue):
    """Counts of tags in a window: what an annotator is asked for, who does not label tokens one by one.

    Not a privacy mechanism. Counts are exact, so a window of one token, or of equal tags, tells every tag in it.

    Parameters
    ----------
    tags : sequence of str
        All tags that there are.
    width : int, optional
        How many tokens a window has; whole sentences if not given. Where it begins is drawn evenly from all places
        that it fits in. A shorter sentence is counted whole.
    ask : int or sequence of str, optional
        Which tags are counted: these, or so many, drawn for every window. All if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import RegionCounts
    >>> channel = RegionCounts(["DT", "JJ", "NN"], width=3)
    >>> channel.simulate([["DT", "JJ", "NN"]], np.random.default_rng(0))
    [{'sentence': 0, 'start': 0, 'width': 3, 'counts': {'DT': 1, 'JJ': 1, 'NN': 1}}]
    >>> RegionCounts(["DT", "JJ", "NN"], ask=["NN"]).simulate([["NN", "NN"]], np.random.default_rng(0))
    [{'sentence': 0, 'start': 0, 'width': 2, 'counts': {'NN': 2}, 'tags': ['NN']}]
    >>> print(channel.guarantee)
    no privacy guarantee (epsilon is infinite) for the tags of a counted window

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), section 4.
    """

    kind: ClassVar[str] = "region-counts"

    tags: tuple[str, ...]
    width: int | None
    ask: int | tuple[str, ...] | None

    def __init__(self, tags: Any, width: int | None = None, ask: Any = None) -> None:
        known = as_labels(tags, "tags")
        if not all(isinstance(tag, str) and tag for tag in known):
            raise InvalidInput(f"tags={listed(known)}", "tags that are text")
        if width is not None and (isinstance(width, bool) or not isinstance(width, int | np.integer) or width < 1):
            raise InvalidInput(f"width={width!r}", "1 or more tokens, or None for whole sentences")
        vars(self).update(tags=known, width=None if width is None else int(width), ask=_checked_ask(ask, known))

    @property
    def guarantee(self) -> Guarantee:
        """None: counts are exact."""
        return Guarantee(
            math.inf,
            protects="the tags of a counted window",
            neighbours="any two taggings of one sentence",
            proof=self.proof,
        )

    def describe(self) -> str:
        """How the truth was hidden, in a sentence."""
        asked = (
            "every tag" if self.ask is None
            else f"{self.ask} tags drawn anew each time" if isinstance(self.ask, int)
            else listed(self.ask)
        )  # fmt: skip
        window = "Whole sentences" if self.width is None else f"Windows of {self.width} tokens"
        return f"{window}, in which {asked} were counted. This saves work and protects nobody."

    def simulate(self, tagged_sentences: Sequence[Sequence[Any]], rng: np.random.Generator) -> list[Region]:
        """Draw one window for each sentence and count the asked tags in it.

        Parameters
        ----------
        tagged_sentences : sequence of sentences, or a column of them (pandas, polars, Arrow)
            Each a sequence of tags, or of pairs (word, tag).
        rng : numpy Generator

        Returns
        -------
        list of dict
            ``sentence`` and ``start``, counted from 0, ``width``, ``counts`` of the tags that occur; ``tags``, those
            that were asked for, where not all were.
        """
        if not isinstance(rng, np.random.Generator):
            raise InvalidInput(f"rng={rng!r}", "a numpy Generator, such as numpy.random.default_rng(0)")
        tagged_sentences = lists_of_rows(tagged_sentences, "lists of tags")
        if isinstance(tagged_sentences, str) or not isinstance(tagged_sentences, Iterable):
            raise InvalidInput(f"tagged_sentences={tagged_sentences!r}", "a list of sentences, each a list of tags")
        return [self._count(i, _tags_of(i, sentence), rng) for i, sentence in enumerate(tagged_sentences)]

    def _count(self, number: int, tags: list[str], rng: np.random.Generator) -> Region:
        if not tags:
            raise InvalidInput(f"sentence {number} is empty", "sentences of one token or more")
        strangers = [tag for tag in tags if tag not in self._known]
        if strangers:
            raise InvalidInput(f"sentence {number} has the tag {strangers[0]!r}", f"tags among {listed(self.tags)}")
        width = len(tags) if self.width is None else min(self.width, len(tags))
        start = int(rng.integers(len(tags) - width + 1))
        asked = self._draw_asked(rng)
        window = tags[start : start + width]
        counts = {tag: window.count(tag) for tag in (asked or self.tags) if tag in window}
        region = {"sentence": number, "start": start, "width": width, "counts": counts}
        return region if asked is None else region | {"tags": list(asked)}

    def _draw_asked(self, rng: np.random.Generator) -> tuple[str, ...] | None:
        if isinstance(self.ask, int):
            return tuple(self.tags[place] for place in sorted(rng.choice(len(self.tags), self.ask, replace=False)))
        return self.ask

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.tags)


def _tags_of(number: int, sentence: Any) -> list[str]:
    if isinstance(sentence, str) or not isinstance(sentence, Iterable):
        raise InvalidInput(f"sentence {number}: {sentence!r}", "a list of tags, or of pairs (word, tag)")
    tokens = list(sentence)
    tags = [
        token[-1] if isinstance(token, tuple | list | np.ndarray) and len(token) == 2 else token for token in tokens
    ]
    for token, tag in zip(tokens, tags, strict=True):
        if not isinstance(tag, str):
            raise InvalidInput(f"sentence {number}: the token {token!r}", "a tag that is text, or a pair (word, tag)")
    return tags


def _checked_ask(ask: Any, tags: tuple[Any, ...]) -> int | tuple[str, ...] | None:
    if ask is None:
        return None
    if isinstance(ask, int | np.integer) and not isinstance(ask, bool):
        if not 1 <= ask <= len(tags):
            raise InvalidInput(f"ask={ask}", f"1 to {len(tags)} of the tags")
        return int(ask)
    if isinstance(ask, np.ndarray):
        ask = ask.tolist()
    if isinstance(ask, str) or not isinstance(ask, Sequence) or not ask:
        raise InvalidInput(f"ask={ask!r}", "some of the tags, how many of them, or None for all")
    if not all(tag in tags for tag in ask) or len(set(ask)) < len(ask):
        raise InvalidInput(f"ask={listed(ask)}", f"different tags among {listed(tags)}")
    return tuple(ask)
