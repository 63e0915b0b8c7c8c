"""One annotation of a sentence, read from whatever a tool wrote and checked, with errors that name the sentence."""

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, NoReturn, TypeGuard

import numpy as np

from askance.channels.alphabet import listed
from askance.errors import InvalidInput
from askance.frames import lists_of_rows


@dataclass(frozen=True)
class CountedRegion:
    """A window of a sentence and how often some tags occur in it; or the labels of a whole sentence.

    Parameters
    ----------
    sentence : int
        Which sentence, counted from 0.
    start, width : int
        Its first token, counted from 0, and how many tokens it has.
    counts : dict
        How often a tag occurs; a tag that was asked for and is not listed does not occur.
    tags : tuple of str, optional
        The tags that were asked for; all if not given.
    labels : tuple of str, optional
        The tag of every token of the sentence, in place of counts.

    Examples
    --------
    >>> CountedRegion.parse({"sentence": 0, "start": 1, "width": 2, "counts": {"NN": 2}})
    CountedRegion(sentence=0, start=1, width=2, counts={'NN': 2}, tags=None, labels=None)
    >>> CountedRegion.parse({"sentence": 7, "start": 1, "width": 2, "counts": {"NN": 3}})
    Traceback (most recent call last):
    askance.errors.InvalidInput: sentence 7: 3 tags were counted in a window of 2 tokens; expected at most 2
    """

    sentence: int
    start: int
    width: int
    counts: Mapping[str, int]
    tags: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, record: Any) -> "CountedRegion":
        """Read a mapping, and check all that can be checked without the sentence."""
        if isinstance(record, cls):
            return record
        if not isinstance(record, Mapping):
            raise InvalidInput(f"a region {record!r}", 'a mapping such as {"sentence": 0, "start": 2, "width": 3, ...}')
        sentence = record.get("sentence")
        if not _is_whole(sentence) or sentence < 0:
            raise InvalidInput(f"a region of sentence {sentence!r}", "the sentence's number, counted from 0")
        strangers = set(record) - {"sentence", "start", "width", "counts", "tags", "labels"}
        if strangers:
            _refuse(sentence, f"the key {sorted(map(str, strangers))[0]!r}", "start, width, counts, tags or labels")
        if record.get("labels") is not None:
            return cls._parse_labels(int(sentence), record)
        return cls._parse_counts(int(sentence), record)

    @classmethod
    def _parse_labels(cls, sentence: int, record: Mapping[str, Any]) -> "CountedRegion":
        if any(record.get(name) is not None for name in ("start", "width", "counts", "tags")):
            _refuse(sentence, "labels together with counts", "one of them in a record")
        labels = _texts(record["labels"], sentence, "labels")
        return cls(sentence, 0, len(labels), {}, None, labels)

    @classmethod
    def _parse_counts(cls, sentence: int, record: Mapping[str, Any]) -> "CountedRegion":
        start, width, counts = (record.get(name) for name in ("start", "width", "counts"))
        if not _is_whole(start) or start < 0:
            _refuse(sentence, f"start={start!r}", "the first token's number, counted from 0")
        if not _is_whole(width) or width < 1:
            _refuse(sentence, f"width={width!r}", "1 or more tokens")
        if not isinstance(counts, Mapping):
            _refuse(sentence, f"counts={counts!r}", 'a mapping such as {"NN": 2}')
        for tag, count in counts.items():
            if not isinstance(tag, str) or not tag or not is_writable(tag):
                _refuse(sentence, f"the tag {tag!r}", "text")
            if not _is_whole(count) or count < 0:
                _refuse(sentence, f"{count!r} as the count of {tag!r}", "0 or a positive whole number")
        counted = sum(map(int, counts.values()))
        if counted > width:
            _refuse(sentence, f"{counted} tags were counted in a window of {width} tokens", f"at most {width}")
        tags = None if record.get("tags") is None else _texts(record["tags"], sentence, "tags")
        if tags is not None:
            if len(set(tags)) < len(tags):
                _refuse(sentence, f"tags={listed(tags)}", "tags that all differ")
            unasked = [tag for tag in counts if tag not in tags]
            if unasked:
                _refuse(
                    sentence, f"a count of {unasked[0]!r}, which was not asked for", f"counts of {listed(tags)} only"
                )
        kept = {tag: int(count) for tag, count in counts.items() if count}
        return cls(sentence, int(start), int(width), kept, tags)

    def check(self, lengths: Sequence[int] | None, known: frozenset[str]) -> None:
        """Check against the sentences and the tag set: what cannot be is refused, never passed over."""
        if lengths is not None:
            if self.sentence >= len(lengths):
                raise InvalidInput(
                    f"a region of sentence {self.sentence}",
                    f"sentences 0 to {len(lengths) - 1}: there are {len(lengths)}",
                )
            length = lengths[self.sentence]
            if self.labels is not None and len(self.labels) != length:
                _refuse(self.sentence, f"{len(self.labels)} labels for {length} words", "one label a word")
            if self.start + self.width > length:
                window = f"a window of the tokens {self.start} to {self.start + self.width - 1}"
                _refuse(self.sentence, window, f"tokens 0 to {length - 1}: it has {length} words")
        for tag in (*self.counts, *(self.tags or ()), *(self.labels or ())):
            if tag not in known:
                _refuse(self.sentence, f"the tag {tag!r}", f"tags among {listed(sorted(known))}")
        counted = sum(self.counts.values())
        everything = self.labels is None and (self.tags is None or len(self.tags) == len(known))
        if everything and counted != self.width:
            raise InvalidInput(
                f"sentence {self.sentence}: all {len(known)} tags were asked for, and {counted} were counted in a "
                f"window of {self.width} tokens",
                f"{self.width}, one for each token",
                "If some tags were not counted, say which were with `tags`, and name every tag there is: with tags=, "
                "or in the first line of a file.",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        if self.labels is not None:
            return {"sentence": self.sentence, "labels": list(self.labels)}
        region = {"sentence": self.sentence, "start": self.start, "width": self.width, "counts": dict(self.counts)}
        return region if self.tags is None else region | {"tags": list(self.tags)}


class Sentences(tuple[tuple[str, ...], ...]):
    """Sentences that have been checked: words of each."""


def checked_sentences(sentences: Any, *, blank: bool = False) -> Sentences:
    """Read sentences, each a sequence of words; one without words is refused, unless it may be ``blank``."""
    if isinstance(sentences, Sentences):
        return sentences
    sentences = lists_of_rows(sentences, "lists of words")
    if isinstance(sentences, str | bytes | Mapping) or not isinstance(sentences, Iterable):
        raise InvalidInput(f"sentences={sentences!r}", "a list of sentences, each a list of words")
    read = Sentences(
        () if blank and _is_blank(sentence) else _texts(sentence, number, "words")
        for number, sentence in enumerate(sentences)
    )
    if not read:
        raise InvalidInput("no sentences", "one or more, each a list of words")
    return read


def _is_blank(sentence: Any) -> bool:
    return isinstance(sentence, Sized) and not isinstance(sentence, str | bytes | Mapping) and len(sentence) == 0


def _texts(values: Any, sentence: int, what: str) -> tuple[str, ...]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        _refuse(sentence, f"{what}={values!r}", f"a list of {what}")
    read = tuple(values)
    if not read:
        _refuse(sentence, f"no {what}", "one or more" if what != "words" else "no empty sentence")
    for value in read:
        if not isinstance(value, str) or not value or not is_writable(value):
            _refuse(sentence, f"{value!r} among the {what}", f"{what} that are text")
    return read


def is_writable(text: str) -> bool:
    """Whether UTF-8 can hold a text: halves of surrogate pairs, which JSON can name, are no characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _refuse(sentence: Any, arrived: str, expected: str) -> NoReturn:
    raise InvalidInput(f"sentence {sentence}: {arrived}", expected)
