"""Annotated regions on disk: sentences and counts as JSON lines, or as one Parquet file.

JSON lines: a header, then a line for each sentence and for each region. Without a header the tags are those that
occur, so a tool can write regions line by line and nothing else. In Parquet a row is what a line is.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import askance
from askance.channels.alphabet import as_labels, listed
from askance.channels.guarantee import Guarantee
from askance.channels.region_counts import RegionCounts
from askance.channels.specs import channel_from_spec
from askance.errors import AskanceError, InvalidInput, ReleaseError
from askance.files.kinds import FileKind
from askance.files.location import UNREADABLE, Location, StrPath, first_line
from askance.files.targets import check_target, written_whole
from askance.releases.region_checks import check_invalid, every, settled
from askance.releases.restated import DIGEST, content_digest, once_each
from askance.tables.counted_region import CountedRegion, Sentences, checked_sentences, is_writable
from askance.tables.region_conflicts import conflicting_regions
from askance.tables.region_records import check_rows, records_of_regions

_HEADER = {"format", "version", "askance", "tags", "channel", DIGEST}  # what the first line says
_EXPECTED = "regions as JSON lines (.jsonl) or Parquet"


@dataclass(frozen=True, eq=False)
class RegionRelease:
    """Regions whose tags were counted, and the sentences that they lie in.

    Made by :meth:`of` or :meth:`read`.

    Parameters
    ----------
    regions : tuple of CountedRegion
    tags : tuple of str
        All tags that there are.
    sentences : tuple of tuples of str, optional
        The words; None if they are kept elsewhere.
    channel : RegionCounts, optional
        How the windows were drawn, where that is known.
    dropped : tuple of str
        What was wrong with regions that were left out (``invalid="drop"``).

    Examples
    --------
    >>> from askance import RegionRelease
    >>> counted = [{"sentence": 0, "start": 1, "width": 2, "counts": {"JJ": 1, "NN": 1}}]
    >>> release = RegionRelease.of(counted, [["the", "quick", "fox"]])
    >>> release
    RegionRelease(1 region of 1 sentence; 2 tags: 'JJ', 'NN')
    >>> release.regions[0].counts
    {'JJ': 1, 'NN': 1}
    """

    FORMAT: ClassVar[str] = "askance-regions"
    VERSION: ClassVar[int] = 1
    WHAT: ClassVar[str] = "a release of counted regions"
    FOR: ClassVar[str] = "Counted regions are for CountTagger."
    METADATA_KEY: ClassVar[bytes] = FORMAT.encode()

    regions: tuple[CountedRegion, ...]
    tags: tuple[str, ...]
    sentences: Sentences | None = None
    channel: RegionCounts | None = None
    dropped: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        regions: "Iterable[Any] | RegionRelease",
        sentences: Iterable[Sequence[str]] | None = None,
        tags: Sequence[str] | None = None,
        channel: RegionCounts | None = None,
        *,
        invalid: str = "refuse",
    ) -> "RegionRelease":
        """Check regions against their sentences. A release has been checked already: only what is new is.

        Parameters
        ----------
        regions : RegionRelease, list of mappings, list of such lists by sentence, or frame
            ``{"sentence": 0, "start": 2, "width": 3, "counts": {"NN": 2}, "tags": ["NN", "DT"]}``, without ``tags``
            where all were asked for, or ``{"sentence": 1, "labels": ["DT", "NN"]}``. Numbers count from 0. Lists by
            sentence need no ``sentence``. A frame (pandas, polars, Arrow) has a row for each region: ``sentence``,
            ``start``, ``width`` and ``counts``, or a column for each tag, where what is missing was not asked for.
        sentences : list of lists of words, or a column of them (pandas, polars, Arrow), optional
        tags : sequence of str, optional
            All tags that there are. Those of the channel, or those that occur in the regions, if not given.
        channel : RegionCounts, optional
        invalid : {"refuse", "list", "drop"}
            What to do about regions that cannot be: an error that names the first, an error that names all, or go on
            without them, with a warning. ``dropped`` names all of those.
        """
        check_invalid(invalid)
        dropped: tuple[str, ...] = ()
        if isinstance(regions, RegionRelease):
            dropped = regions.dropped
            same_tags = tags is None or tuple(tags) == regions.tags
            if sentences is None and channel is None and same_tags:
                return regions  # checked when it was made
            sentences = regions.sentences if sentences is None else sentences
            tags = regions.tags if tags is None else _checked_tags(tags)
            channel = regions.channel if channel is None else channel
            if (sentences, tags, channel) == (regions.sentences, regions.tags, regions.channel):
                return regions
            regions = regions.regions
        check_rows(regions, sentences)
        words = None if sentences is None else checked_sentences(sentences)
        records = records_of_regions(regions, None if words is None else len(words))
        problems = dict[int, str]()
        read = every(records, CountedRegion.parse, problems)
        if not records:
            raise InvalidInput("no regions", "one or more, with counts or labels")
        if problems:  # the tags that occur are those of all regions: what cannot be read is told first
            read = settled(read, problems, invalid)
            dropped += tuple(problems.values())
        if tags is None:
            tags = channel.tags if channel is not None else _occurring(read)
        known = _checked_tags(tags)
        lengths = None if words is None else [*map(len, words)]
        tag_set = frozenset(known)
        problems = {}
        every(read, lambda region: region.check(lengths, tag_set), problems)
        if problems:
            read = settled(read, problems, invalid)
            dropped += tuple(problems.values())
        return cls(tuple(read), known, words, channel, dropped)

    @classmethod
    def read(cls, path: StrPath, *, invalid: str = "refuse") -> "RegionRelease":
        """Read JSON lines, or Parquet; ``invalid`` as of :meth:`of`."""
        place = Location.of(path)
        try:
            return _assembled(_from_parquet(place) if _is_parquet(place) else _from_lines(place), invalid)
        except ReleaseError:
            raise
        except AskanceError as error:
            raise ReleaseError(f"{path}: {error}") from error

    def write(self, path: StrPath, *, overwrite: bool = False) -> None:
        """Write JSON lines, or Parquet if the name ends with .parquet; whole or not at all.

        Only regions are ever overwritten.
        """
        kind = FileKind.of_format(self.FORMAT)
        check_target(Path(path), kind, overwrite=overwrite)
        with written_whole(path, kind) as temporary:
            if _is_parquet_name(os.fspath(path)):
                self._write_parquet(temporary)
            else:
                lines = (json.dumps(record, ensure_ascii=False) for record in (self.to_dict(), *self._records()))
                temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")

    def consistent(self, invalid: str = "refuse") -> "RegionRelease":
        """The same, if no two regions contradict each other; else an error, or the same without those that do."""
        conflicts = conflicting_regions(self.regions)
        if not conflicts:
            return self
        problems = {second: what for _, second, what in reversed(conflicts)}
        problems |= {first: what for first, _, what in reversed(conflicts)}
        # Which of the two is right nobody knows: both go.
        messages = list(dict.fromkeys(what for *_, what in conflicts))
        kept = settled(list(self.regions), problems, invalid, messages)
        return replace(self, regions=tuple(kept), dropped=(*self.dropped, *messages))

    def by_sentence(self) -> list[list[dict[str, Any]]]:
        """The regions of each sentence: what scikit-learn can split, together with the sentences.

        Examples
        --------
        >>> from askance import RegionRelease
        >>> counted = [{"sentence": 1, "start": 0, "width": 2, "counts": {"NN": 1, "VB": 1}}]
        >>> RegionRelease.of(counted, [["hm"], ["dogs", "bark"]]).by_sentence()
        [[], [{'start': 0, 'width': 2, 'counts': {'NN': 1, 'VB': 1}}]]
        """
        many = 1 + max(region.sentence for region in self.regions) if self.sentences is None else len(self.sentences)
        found: list[list[dict[str, Any]]] = [[] for _ in range(many)]
        for region in self.regions:
            record = region.to_dict()
            found[record.pop("sentence")].append(record)
        return found

    @property
    def guarantee(self) -> Guarantee:
        """The privacy of the tags: none, counts are exact."""
        return (self.channel or RegionCounts(self.tags)).guarantee

    def to_dict(self) -> dict[str, Any]:
        """Return what the first line of a file says."""
        return {
            "format": self.FORMAT,
            "version": self.VERSION,
            "askance": askance.__version__,
            "tags": list(self.tags),
            "channel": None if self.channel is None else self.channel.to_spec(),
            DIGEST: self.digest,
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the tags, the channel, the sentences and the regions, whatever file they are in."""
        channel = None if self.channel is None else self.channel.to_spec()
        return content_digest({"tags": list(self.tags), "channel": channel, "records": [*self._records()]})

    def _records(self) -> Iterator[dict[str, Any]]:
        for number, words in enumerate(self.sentences or ()):
            yield {"sentence": number, "words": list(words)}
        for region in self.regions:
            yield region.to_dict()

    def _write_parquet(self, path: Path) -> None:
        import pyarrow as pa

        from askance.releases.sealed_parquet import SealingWriter

        words, number = pa.list_(pa.string()), pa.int64()
        kinds = {
            "sentence": number, "words": words, "start": number, "width": number,
            "counts": pa.map_(pa.string(), number), "tags": words, "labels": words,
        }  # fmt: skip
        rows = [
            {name: list(value.items()) if name == "counts" else value for name, value in record.items()}
            for record in self._records()
        ]
        schema = pa.schema(list(kinds.items()), {self.METADATA_KEY: json.dumps(self.to_dict()).encode()})
        writer = SealingWriter(path, schema, part=False, compression="zstd")
        writer.write_table(pa.Table.from_pylist(rows, schema), row_group_size=max(1, len(rows)))
        writer.close()

    def __repr__(self) -> str:
        many = len(self.regions)
        few = len({region.sentence for region in self.regions}) if self.sentences is None else len(self.sentences)
        return (
            f"RegionRelease({many:,} region{'s' * (many != 1)} of {few:,} sentence{'s' * (few != 1)}; "
            f"{len(self.tags)} tags: {listed(self.tags, 4)})"
        )


def is_region_release(path: StrPath) -> bool:
    """Whether a file is meant to hold regions: JSON lines, or Parquet with our header."""
    place = Location.of(path)
    if is_lines_name(place.name):
        return True
    try:
        with place.parquet() as file:
            return RegionRelease.METADATA_KEY in (file.metadata.metadata or {})
    except UNREADABLE:
        return False


def is_lines_name(name: str) -> bool:
    """Whether a file has the name of JSON lines."""
    return name.lower().endswith((".jsonl", ".ndjson"))


def _is_parquet_name(name: str) -> bool:
    return name.lower().endswith(".parquet")


def _is_parquet(place: Location) -> bool:
    try:
        return _is_parquet_name(place.name) or place.first_bytes(4) == b"PAR1"
    except UNREADABLE:
        return False  # reading it says why


def _checked_tags(tags: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(tags, str) and isinstance(tags, Sequence) and len(tags) < 2:
        raise InvalidInput(
            f"{len(tags)} tags: {listed(tags)}",
            "two or more",
            "Name every tag there is: with tags=, or in the first line of a file.",
        )
    known = tuple(map(str, as_labels(tags, "tags")))
    for tag in known:
        # An array of text would lose a zero at the end.
        if not tag or not is_writable(tag) or tag.endswith("\0"):
            raise InvalidInput(f"the tag {tag!r}", "text")
    return known


def _occurring(regions: Iterable[CountedRegion]) -> list[str]:
    return sorted({tag for region in regions for tag in (*region.counts, *(region.tags or ()), *(region.labels or ()))})


def _from_lines(place: Location) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(place.read(_EXPECTED).split(b"\n"), 1):
        try:
            record = json.loads(line, object_pairs_hook=once_each) if line.strip() else {}
        except InvalidInput as error:
            raise InvalidInput(f"line {number}: {error}") from None
        except json.JSONDecodeError as error:
            raise InvalidInput(f"line {number} is not JSON ({error.msg})", "one JSON object a line") from None
        except UnicodeDecodeError:
            raise InvalidInput(f"line {number} is not UTF-8", "text in UTF-8") from None
        if not isinstance(record, dict):
            raise InvalidInput(f"line {number} is no JSON object", "one object a line")
        if record:
            yield record


def _from_parquet(place: Location) -> Iterator[dict[str, Any]]:
    from askance.releases.sealed_parquet import checked_parquet

    try:
        with checked_parquet(place) as (file, _):
            table = file.read()
    except FileNotFoundError:
        raise ReleaseError(f"there is no file {place}", _EXPECTED) from None
    except ReleaseError:
        raise
    except UNREADABLE as error:
        raise ReleaseError(f"{place} cannot be read as Parquet ({first_line(error)})", _EXPECTED) from error
    said = (table.schema.metadata or {}).get(RegionRelease.METADATA_KEY)
    if said is not None:
        yield json.loads(said)
    for number, row in enumerate(table.to_pylist()):
        record = {name: value for name, value in row.items() if value is not None}
        if isinstance(record.get("counts"), list):
            try:
                record["counts"] = once_each(record["counts"])
            except (TypeError, ValueError) as error:
                raise InvalidInput(
                    f"row {number}: counts that cannot be read ({error})", "a map of tag to count"
                ) from None
        yield record


def _assembled(records: Iterable[dict[str, Any]], invalid: str) -> RegionRelease:
    """Sort records into header, sentences and regions; one record may hold a sentence and a region of it."""
    tags, channel, digest = None, None, None
    sentences: dict[int, Any] = {}
    regions = []
    for record in records:
        if "format" in record:
            if record["format"] != RegionRelease.FORMAT:
                raise InvalidInput(f"a file of format {record['format']!r}", RegionRelease.FORMAT)
            if record.get("version") != RegionRelease.VERSION:
                raise InvalidInput(
                    f"format version {record.get('version')!r}", f"version {RegionRelease.VERSION}", "Upgrade askance."
                )
            unknown = record.keys() - _HEADER
            if unknown and "askance" in record:
                raise InvalidInput(f"a header with {listed(sorted(unknown))}", listed(sorted(_HEADER)))
            tags, digest = record.get("tags"), record.get(DIGEST)
            channel = None if record.get("channel") is None else channel_from_spec(record["channel"])
            continue
        if "words" in record:
            number = record.get("sentence")
            if not isinstance(number, int) or isinstance(number, bool) or number in sentences:
                raise InvalidInput(f"words of sentence {number!r}", "each sentence once, by its number from 0")
            sentences[number] = record.pop("words")
            if set(record) == {"sentence"}:
                continue
        regions.append(record)
    missing = set(range(len(sentences))) - set(sentences)
    if missing:
        raise InvalidInput(f"no words of sentence {min(missing)}", f"sentences 0 to {len(sentences) - 1}")
    words = [sentences[number] for number in range(len(sentences))] or None
    release = RegionRelease.of(regions, words, tags, channel, invalid=invalid)
    if digest is not None and digest != release.digest:
        raise InvalidInput(
            "its content is not what its digest was made of",
            "a file as it was written",
            "Ask for it again; or, if you changed it yourself, take the digest out of its first line.",
        )
    return release
