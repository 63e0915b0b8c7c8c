"""Regions that contradict each other: no tagging of the sentence has the counts of both."""

from collections import defaultdict
from collections.abc import Sequence

from askance.tables.counted_region import CountedRegion


def conflicting_regions(regions: Sequence[CountedRegion]) -> list[tuple[int, int, str]]:
    """Return pairs of regions that cannot both be right, by their numbers, with what is wrong.

    Of the tokens that two windows share, each window says how many can have a tag: at most its count, and at least its
    count less the tokens that it has elsewhere. Where these do not meet, one of them is wrong.

    Examples
    --------
    >>> twice = [{"sentence": 0, "start": 0, "width": 2, "counts": {"N": n, "V": 2 - n}} for n in (1, 2)]
    >>> conflicting_regions([CountedRegion.parse(region) for region in twice])
    [(0, 1, "regions 0 and 1, both the tokens 0 to 1 of sentence 0, have 1 and 2 of 'N'")]
    """
    by_sentence = defaultdict[int, list[int]](list)
    for number, region in enumerate(regions):
        by_sentence[region.sentence].append(number)
    found = []
    for numbers in by_sentence.values():
        numbers.sort(key=lambda number: regions[number].start)
        for place, first in enumerate(numbers):
            end = regions[first].start + regions[first].width
            for second in numbers[place + 1 :]:
                if regions[second].start >= end:
                    break
                wrong = _conflict(min(first, second), max(first, second), regions)
                if wrong:
                    found.append(wrong)
    return sorted(found)


def _conflict(one: int, two: int, regions: Sequence[CountedRegion]) -> tuple[int, int, str] | None:
    first, second = regions[one], regions[two]
    begin = max(first.start, second.start)
    end = min(first.start + first.width, second.start + second.width)
    for tag in dict.fromkeys((*_tags(first), *_tags(second))):
        if not (_asked(first, tag) and _asked(second, tag)):
            continue
        ranges = [_possible(region, tag, begin, end) for region in (first, second)]
        if max(low for low, _ in ranges) > min(high for _, high in ranges):
            counts = " and ".join(str(_count(region, tag)) for region in (first, second))
            if (first.start, first.width) == (second.start, second.width):
                where = f"both the tokens {begin} to {end - 1} of sentence {first.sentence}, have"
            else:
                spans = [f"{region.start} to {region.start + region.width - 1}" for region in (first, second)]
                where = f"the tokens {spans[0]} and {spans[1]} of sentence {first.sentence}, cannot have"
            return one, two, f"regions {one} and {two}, {where} {counts} of {tag!r}"
    return None


def _tags(region: CountedRegion) -> tuple[str, ...]:
    return (*region.counts, *(region.labels or ()))


def _asked(region: CountedRegion, tag: str) -> bool:
    return region.tags is None or tag in region.tags


def _count(region: CountedRegion, tag: str) -> int:
    return region.counts.get(tag, 0) if region.labels is None else region.labels.count(tag)


def _possible(region: CountedRegion, tag: str, begin: int, end: int) -> tuple[int, int]:
    """How many of the tokens from begin to end can have a tag."""
    if region.labels is not None:
        count = region.labels[begin - region.start : end - region.start].count(tag)
        return count, count
    count = _count(region, tag)
    return max(0, count - (region.width - (end - begin))), min(count, end - begin)
