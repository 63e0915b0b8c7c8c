"""What annotators said, put together: how well they agree, and a release that a tagger learns from."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from askance.collector.annotation_store import ShownWindow
from askance.collector.annotation_task import AnnotationTask, Window
from askance.errors import InvalidInput
from askance.releases.region_release import RegionRelease

_MOST_OTHERS = 50  # other windows of the same width that counts are compared with by chance: enough for two digits
_Z = 1.959963984540054  # of 95%


@dataclass(frozen=True)
class Agreement:
    """How well annotators agree on windows that several of them counted.

    Parameters
    ----------
    windows : int
        Counted by two or more.
    same : int
        In which all said the same.
    words : float
        The share of words that two annotators of a window can have meant alike: an upper bound, since counts do not say
        which word is which. NaN if nothing was counted twice.
    by_chance : float
        The same of two who counted different windows of the same width. NaN if there are none.
    """

    windows: int
    same: int
    words: float
    by_chance: float

    @classmethod
    def of(cls, answers: Sequence[tuple[int, ShownWindow]]) -> "Agreement":
        """Compare all annotators with each other."""
        several = [[shown for _, shown in said] for said in _by_window(answers).values() if len(said) > 1]
        pairs = [pair for said in several for pair in combinations(said, 2)]
        same = sum(all(one.counts == said[0].counts for one in said) for said in several)
        alike = sum(_overlap(one, two) for one, two in pairs)
        words = sum(one.window.width for one, _ in pairs)
        chance = _chance([shown for said in several for shown in said])
        return cls(len(several), same, alike / words if words else math.nan, chance)

    def interval(self) -> tuple[float, float]:
        """Return Wilson's interval of the share of windows in which all said the same, at 95%."""
        n, share = self.windows, self.same / self.windows
        middle, root = share + _Z**2 / (2 * n), math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n * n))
        return (middle - _Z * root) / (1 + _Z**2 / n), (middle + _Z * root) / (1 + _Z**2 / n)

    def __str__(self) -> str:
        if not self.windows:
            return "no window was counted by several annotators: how well they agree is not known"
        low, high = self.interval()
        text = (
            f"annotators agree in {self.same:,} of {self.windows:,} windows that several counted "
            f"({self.same / self.windows:.0%}, 95% interval {low:.0%} to {high:.0%}), and on at most {self.words:.1%} "
            "of their words"
        )
        return text if math.isnan(self.by_chance) else f"{text} (different windows: {self.by_chance:.1%})"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        numbers = {"words": self.words, "by_chance": self.by_chance}
        return {"windows": self.windows, "same": self.same} | {
            name: None if math.isnan(value) else value for name, value in numbers.items()
        }


@dataclass(frozen=True)
class CountedTask:
    """A release of regions, and what became of windows on which annotators disagree."""

    release: RegionRelease
    agreement: Agreement
    disputed: tuple[str, ...]


def collected_regions(
    task: AnnotationTask, answers: Sequence[tuple[int, ShownWindow]], *, everything: bool = False
) -> CountedTask:
    """Make a release of what annotators counted.

    A window that several counted is one region, with what more than half of them said; where there is no such majority
    it is left out: of counts that contradict each other at least one is wrong, and nobody knows which. With
    ``everything`` all counts are written, as many as there are.
    """
    if not answers:
        raise InvalidInput("no window has been counted yet", "at least one")
    records, disputed = [], []
    for said in _by_window(answers).values():
        shown = said[0][1]
        if everything:
            records += [_record(one.window, one.counts or {}) for _, one in said]
            continue
        ways = Counter(tuple(sorted((one.counts or {}).items())) for _, one in said)
        counts, many = ways.most_common(1)[0]
        if 2 * many > len(said):
            records.append(_record(shown.window, dict(counts)))
        else:
            first = shown.window
            where = f"sentence {first.sentence}, tokens {first.start} to {first.start + first.width - 1}"
            disputed.append(f"{where}: {' or '.join(_said(way) for way in ways)}")
    if not records:
        raise InvalidInput(
            "annotators disagree about every window", "one at least on which they agree", "See --all-counts."
        )
    release = RegionRelease.of(records, task.sentences, task.channel.tags, task.channel)
    return CountedTask(release, Agreement.of(answers), tuple(disputed))


def _record(window: Window, counts: Mapping[str, int]) -> dict[str, Any]:
    record = {"sentence": window.sentence, "start": window.start, "width": window.width, "counts": dict(counts)}
    return record if window.tags is None else record | {"tags": list(window.tags)}


def _said(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {tag}" for tag, count in counts) or "none"


def _by_window(answers: Sequence[tuple[int, ShownWindow]]) -> dict[int, list[tuple[int, ShownWindow]]]:
    found = defaultdict[int, list[tuple[int, ShownWindow]]](list)
    for annotator, shown in answers:
        found[shown.number].append((annotator, shown))
    return found


def _overlap(one: ShownWindow, two: ShownWindow) -> int:
    """Words that can have had the same tag for both; those of tags that were not asked for are one class."""
    first, second = (shown.counts or {} for shown in (one, two))
    alike = sum(min(count, second.get(tag, 0)) for tag, count in first.items())
    return alike + min(*(shown.window.width - sum((shown.counts or {}).values()) for shown in (one, two)))


def _chance(shown: Sequence[ShownWindow]) -> float:
    alike = words = 0
    by_width = defaultdict[tuple[int, Any], list[ShownWindow]](list)
    for one in shown:
        by_width[one.window.width, one.window.tags].append(one)
    for same in by_width.values():
        for place, one in enumerate(same):
            others = [other for other in same[place + 1 : place + 1 + _MOST_OTHERS] if other.number != one.number]
            alike += sum(_overlap(one, other) for other in others)
            words += one.window.width * len(others)
    return alike / words if words else math.nan
