"""One door for every kind of release: the file itself says which it is."""

import json
from typing import Any, TypeVar

from pyarrow.fs import FileType

from askance.errors import InvalidInput, ReleaseError
from askance.files.location import UNREADABLE, Location, StrPath
from askance.releases.any_release import AnyRelease
from askance.releases.counts_release import CountsRelease
from askance.releases.mean_operator_release import MeanOperatorRelease
from askance.releases.region_release import RegionRelease, is_lines_name
from askance.releases.release import Release, read_footers

KINDS: tuple[type[AnyRelease], ...] = (Release, RegionRelease, CountsRelease, MeanOperatorRelease)
_OF_JSON: dict[str, type[CountsRelease | MeanOperatorRelease]] = {
    kind.FORMAT: kind for kind in (CountsRelease, MeanOperatorRelease)
}
_FIRST_LINE_BYTES = 1 << 16  # the header of regions is their first line: a few hundred tags take a few kilobytes
_ANY = "a release written by askance"
_OTHER_FORMATS = {"askance-model": "It is a fitted model: load_model reads it."}

Kind = TypeVar("Kind", bound=AnyRelease)


def read_release(path: StrPath) -> Release | RegionRelease | CountsRelease | MeanOperatorRelease:
    """Open a release of any kind.

    Reports are one Parquet file or a folder of part files, of which no rows are read yet; counted regions are JSON
    lines or Parquet; counts and mean operators are JSON. Besides a path on this machine it may be an address that
    fsspec understands, such as ``s3://bucket/survey``.

    Hidden and temporary files in a folder (names that begin with "." or "_", or end with ".tmp") are
    passed over.

    Returns
    -------
    Release, RegionRelease, CountsRelease or MeanOperatorRelease

    Raises
    ------
    ReleaseError
        If there is no such release, or a file is damaged, foreign, or does not belong with the others.

    Examples
    --------
    >>> import tempfile
    >>> import askance as ask
    >>> from askance.releases import privatize_table
    >>> study = ask.Study.parse('''
    ... [questions.cheated]
    ... choices = ["no", "yes"]
    ... channel = { design = "warner", p = 0.8 }
    ... ''')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = privatize_table(study, {"cheated": ["no", "yes"]}).write(f"{folder}/survey.parquet")
    ...     ask.release_counts([30, 70], epsilon=1.0).write(f"{folder}/counts.json")
    ...     ask.read_release(f"{folder}/survey.parquet").channel(), ask.read_release(f"{folder}/counts.json").totals
    (Warner(p=0.8, classes=('no', 'yes')), (100,))
    """
    place = Location.of(path)
    if _is_file(place):
        if is_lines_name(place.name):
            return RegionRelease.read(path)
        beginning = _beginning(place)
        if beginning.startswith(b"{"):
            return _read_json(place, beginning)
        _refuse_other_files(place, beginning)
    footers = read_footers(place)
    if len(footers) == 1 and RegionRelease.METADATA_KEY in (footers[0].metadata.metadata or {}):
        return RegionRelease.read(path)
    return Release.of_footers(place, footers)


def open_release(release: Any, *kinds: type[Kind]) -> Kind:
    """Return a release of a kind that is wanted: the given one, or what is at a path or address.

    Examples
    --------
    >>> import askance as ask
    >>> open_release(ask.release_counts([30, 70], epsilon=1.0), ask.Release)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    askance.errors.InvalidInput: a release of counts; expected a release of reports. Counts are for RatioEstimator...
    """
    wanted = " or ".join(kind.WHAT for kind in kinds)
    opened = release if isinstance(release, KINDS) else _read(release, wanted)
    if not isinstance(opened, kinds):
        said = opened.WHAT if opened is release else f"{release} is {opened.WHAT}"
        raise InvalidInput(said, wanted, opened.FOR)
    return opened


def _read(path: Any, wanted: str) -> AnyRelease:
    try:
        return read_release(path)
    except TypeError:  # no path
        raise InvalidInput(f"a {type(path).__name__}", f"{wanted}, or the path of one") from None


def _is_file(place: Location) -> bool:
    try:
        return bool(place.info().type == FileType.File)
    except UNREADABLE:
        return False  # opening it says why


def _beginning(place: Location) -> bytes:
    try:
        return place.first_bytes(_FIRST_LINE_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    except UNREADABLE:
        return b""


def _read_json(place: Location, beginning: bytes) -> RegionRelease | CountsRelease | MeanOperatorRelease:
    """Read an object that names its format, or lines of objects, of which the first does."""
    try:
        first = json.loads(beginning.partition(b"\n")[0])
    except (ValueError, RecursionError):  # one object over many lines
        first = place.read_json(_ANY)
    declared = first.get("format", RegionRelease.FORMAT if "sentence" in first else "")
    if declared == RegionRelease.FORMAT:
        return RegionRelease.read(place.text)
    kind = _OF_JSON.get(str(declared))
    if kind is None:
        what = f"has the format {declared!r}" if declared else "is JSON that does not say what it is"
        raise ReleaseError(f"{place} {what}", _ANY, _OTHER_FORMATS.get(str(declared), ""))
    return kind.read(place.text)


def _refuse_other_files(place: Location, beginning: bytes) -> None:
    """Say what else of ours it is, where it is no release."""
    if beginning.startswith(b"SQLite format 3"):
        raise ReleaseError(f"{place} is a ledger", _ANY, "Open it with Ledger, or askance ledger.")
    if place.name.endswith(".toml"):
        raise ReleaseError(f"{place} is a study file", _ANY, "Read it with Study.read.")
