"""Annotated sentences as the flat arrays that solvers take."""

import os
from typing import Any

import numpy as np

from askance.errors import InvalidInput
from askance.learning.counting.counted_regions import Corpus, Regions, join, labelled
from askance.releases.reading import open_release
from askance.releases.region_release import RegionRelease, is_region_release
from askance.tables.counted_region import CountedRegion


def opened(release: Any, invalid: str) -> RegionRelease:
    """A release of regions, read from where it is; what cannot be is refused or left out there already."""
    is_path = isinstance(release, str | os.PathLike)
    if invalid != "refuse" and is_path and is_region_release(release):
        return RegionRelease.read(release, invalid=invalid)
    return open_release(release, RegionRelease)


def as_arrays(release: RegionRelease) -> tuple[Corpus, Regions]:
    """Number words and tags; labels become regions of width one.

    Examples
    --------
    >>> release = RegionRelease.of([{"sentence": 0, "start": 1, "width": 2, "counts": {"B": 2}},
    ...     {"sentence": 1, "labels": ["A"]}], [["x", "y", "y"], ["x"]])
    >>> corpus, regions = as_arrays(release)
    >>> regions.width, regions.tag, regions.count
    (array([2, 1]), array([1, 0], dtype=int32), array([2, 1], dtype=int32))
    """
    if release.sentences is None:
        raise InvalidInput("regions without their sentences", "the words of every sentence")
    numbers = {tag: number for number, tag in enumerate(release.tags)}
    counted = [region for region in release.regions if region.labels is None]
    known = [region for region in release.regions if region.labels is not None]
    parts = []
    if counted:
        parts.append(_counts(counted, numbers))
    if known:
        sentence = np.repeat([region.sentence for region in known], [region.width for region in known])
        place = np.concatenate([np.arange(region.width) for region in known])
        tag = [numbers[label] for region in known for label in region.labels or ()]
        parts.append(labelled(sentence, place, tag, len(numbers)))
    return Corpus.of(release.sentences), join(parts)


def _counts(counted: list[CountedRegion], numbers: dict[str, int]) -> Regions:
    subsets: dict[tuple[str, ...] | None, int] = {}
    subset = [
        subsets.setdefault(None if region.tags is None else tuple(sorted(region.tags)), len(subsets))
        for region in counted
    ]
    asked = np.ones((len(subsets), len(numbers)), bool)
    for tags, row in subsets.items():
        if tags is not None:
            asked[row] = False
            asked[row, [numbers[tag] for tag in tags]] = True
    offsets = np.concatenate([[0], np.cumsum([len(region.counts) for region in counted])])
    return Regions(
        np.array([region.sentence for region in counted], np.int64),
        np.array([region.start for region in counted], np.int64),
        np.array([region.width for region in counted], np.int64),
        offsets.astype(np.int64),
        np.array([numbers[tag] for region in counted for tag in region.counts], np.int32),
        np.array([count for region in counted for count in region.counts.values()], np.int32),
        np.array(subset, np.int64),
        asked,
    )
