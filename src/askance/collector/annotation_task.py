"""A task for annotators: sentences, tags, and the windows that are shown. Counts of them make a tagger."""

import hashlib
import json
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from askance.channels.alphabet import listed
from askance.channels.region_counts import RegionCounts
from askance.collector.page_settings import only, strings, table
from askance.collector.texts import page_words, text_of
from askance.errors import InvalidInput
from askance.tables.counted_region import CountedRegion, Sentences
from askance.tables.sentences import read_sentences

TABLE = "annotation"
_KEYS = (
    "name", "title", "instructions", "sentences", "tags", "describe", "width", "ask", "windows", "shared", "times",
    "language", "words",
)  # fmt: skip
_MOST_TAGS = 60  # more than anybody can look through; the Penn treebank has 45
_MOST_TIMES = 9  # nothing else depends on it: a shared window that more people count is stored in the same way


@dataclass(frozen=True)
class Window:
    """A part of a sentence that is shown, which tags are asked for, and how many annotators should count it."""

    sentence: int
    start: int
    width: int
    tags: tuple[str, ...] | None = None
    wanted: int = 1


class RefusedCounts(InvalidInput):
    """Counts that the page cannot have sent."""


@dataclass(frozen=True)
class AnnotationTask:
    """What annotators are shown and asked.

    Parameters
    ----------
    sentences : tuple of tuples of str
    channel : RegionCounts
        All tags, the width of windows, and which tags are asked for.
    windows : tuple of CountedRegion, optional
        Windows that were chosen; drawn by the channel if not given, one in each sentence.
    shared : float
        The share of windows that several annotators count.
    times : int
        How many of them.
    title, instructions : str
    describe : mapping
        What a tag means, in words.
    language : str
    words : mapping
        The words of the page.

    Examples
    --------
    >>> task = AnnotationTask((("dogs", "bark"),), RegionCounts(["NN", "VB"]))
    >>> task.drawn()
    [Window(sentence=0, start=0, width=2, tags=None, wanted=2)]
    """

    sentences: Sequence[tuple[str, ...]]
    channel: RegionCounts
    windows: tuple[CountedRegion, ...] | None = None
    shared: float = 0.1
    times: int = 2
    title: str = ""
    instructions: str = ""
    describe: Mapping[str, str] = field(default_factory=dict)
    language: str = "en"
    words: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "AnnotationTask":
        """Read a task file; the files that it names are beside it."""
        said = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        only(said, (TABLE,), str(path))
        task, where = table(said, TABLE, str(path)), f"[{TABLE}]"
        only(task, _KEYS, where)
        tags = strings(task.get("tags"), f"{where} tags")
        if not 2 <= len(tags) <= _MOST_TAGS:
            raise InvalidInput(f"{where} has {len(tags)} tags", f"2 to {_MOST_TAGS}: all that there are")
        ask = task.get("ask")
        channel = RegionCounts(tags, task.get("width"), tuple(ask) if isinstance(ask, list) else ask)
        if "sentences" not in task:
            raise InvalidInput(f"{where} has no sentences", 'a file beside it, such as sentences = "text.txt"')
        sentences = read_sentences(path.parent / text_of(task, "sentences", where))
        if not sentences:
            raise InvalidInput(f"{text_of(task, 'sentences', where)} has no sentences", "one or more")
        describe = table(task, "describe", where)
        only(describe, tags, f"{where} describe")
        language = text_of(task, "language", where) or "en"
        return cls(
            sentences,
            channel,
            _chosen_windows(path, task, sentences, tags),
            _share(task.get("shared", 0.1)),
            _times(task.get("times", 2)),
            text_of(task, "title", where) or text_of(task, "name", where) or path.stem,
            text_of(task, "instructions", where),
            {tag: text_of(describe, tag, f"{where} describe") for tag in describe},
            language,
            page_words(task, language, where, "annotator"),
        )

    @cached_property
    def digest(self) -> str:
        """Say which task this is: what is shown and asked, not how the page words it."""
        whole = [self.channel.to_spec(), list(map(list, self.sentences)), self.shared, self.times]
        chosen = [region.to_dict() for region in self.windows or ()]
        return hashlib.sha256(json.dumps([*whole, chosen]).encode()).hexdigest()[:32]

    def drawn(self) -> list[Window]:
        """Draw windows and who shares them, in an order that says nothing; never the same twice."""
        chance = secrets.SystemRandom()
        windows = []
        for number, words in enumerate(self.sentences if self.windows is None else ()):
            width = min(self.channel.width or len(words), len(words))
            windows.append(Window(number, chance.randrange(len(words) - width + 1), width, self._drawn_tags(chance)))
        for region in self.windows or ():
            windows.append(Window(region.sentence, region.start, region.width, region.tags or self._drawn_tags(chance)))
        chance.shuffle(windows)
        # At least one, if any: a task in which nobody can be compared says nothing about its annotators.
        many = min(len(windows), -int(-self.shared * len(windows) // 1)) if self.times > 1 else 0
        shared = [Window(one.sentence, one.start, one.width, one.tags, self.times) for one in windows[:many]]
        whole = shared + windows[many:]
        chance.shuffle(whole)
        return whole

    def _drawn_tags(self, chance: secrets.SystemRandom) -> tuple[str, ...] | None:
        ask, tags = self.channel.ask, self.channel.tags
        if not isinstance(ask, int):
            return ask
        return tuple(tags[place] for place in sorted(chance.sample(range(len(tags)), ask)))

    def checked(self, window: Window, counts: Any) -> dict[str, int]:
        """Check what an annotator sent about a window; tags that do not occur are left out."""
        asked = window.tags or self.channel.tags
        if not isinstance(counts, dict) or not set(counts) <= set(asked):
            raise RefusedCounts("counts of other tags than were asked for", f"some of {listed(asked)}")
        for count in counts.values():
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= window.width:
                raise RefusedCounts("a count that cannot be", f"whole numbers from 0 to {window.width}")
        total = sum(counts.values())
        everything = len(asked) == len(self.channel.tags)
        if total > window.width or (everything and total < window.width):
            most = f"{window.width} words" if everything else f"at most {window.width} words"
            raise RefusedCounts(f"{total} words were counted", most)
        return {tag: counts[tag] for tag in asked if counts.get(tag)}


def toml_tables(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file; none if it is no such file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}


def _chosen_windows(
    path: Path, task: Mapping[str, Any], sentences: Sentences, tags: Sequence[str]
) -> tuple[CountedRegion, ...] | None:
    """Windows that somebody chose: JSON lines as regions have them, without counts."""
    name = text_of(task, "windows", f"[{TABLE}]")
    if not name:
        return None
    if "width" in task:
        raise InvalidInput(f"[{TABLE}] has width and windows", "a width to draw windows of, or a file of them")
    lengths, known, found = [*map(len, sentences)], frozenset(tags), []
    try:
        lines = (path.parent / name).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the windows {name} cannot be read ({error})", "JSON lines in UTF-8") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if not isinstance(record, dict) or "format" in record or record.keys() & {"counts", "labels", "words"}:
                raise InvalidInput(
                    "no window", '{"sentence": 0, "start": 2, "width": 3}, and "tags" if not all are asked'
                )
            region = CountedRegion.parse(record | {"counts": {}})
            strangers = [tag for tag in region.tags or () if tag not in known]
            if strangers or region.tags == ():
                raise InvalidInput(f"tags {listed(region.tags or ())}", f"some of {listed(tags)}")
            CountedRegion(region.sentence, region.start, region.width, {}, ()).check(lengths, known)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"line {number} of {name}: {error}", "a window a line") from None
        found.append(region)
    if not found:
        raise InvalidInput(f"{name} has no windows", "one or more")
    return tuple(found)


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"[{TABLE}] has shared = {value!r}", "the share of windows that several count: 0 to 1")
    return float(value)


def _times(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_TIMES:
        raise InvalidInput(f"[{TABLE}] has times = {value!r}", f"how many count a shared window: 1 to {_MOST_TIMES}")
    return value
