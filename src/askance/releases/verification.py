"""Whether a release is what it says: its format, its digest, its guarantee, who paid for it, and who signed it."""

import hashlib
import json
import math
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from askance.channels.guarantee import Guarantee
from askance.errors import AskanceError, AskanceWarning, ReleaseError
from askance.files.location import Location, StrPath
from askance.mechanisms.ledger import Ledger
from askance.releases.any_release import AnyRelease
from askance.releases.json_release import JsonRelease, read_json_object
from askance.releases.reading import read_release
from askance.releases.region_release import RegionRelease
from askance.releases.release import Release, read_footers
from askance.releases.restated import DIGEST
from askance.releases.sealed_parquet import check_segments, checked_parquet
from askance.releases.signatures import read_public_key, read_signature

NO_DIGEST = "no digest: written by an earlier version"
_SAME = 1e-8  # relative: a ledger writes computed levels with nine digits, rounded up


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Parameters
    ----------
    name : str
    verdict : {"good", "wrong", "unknown"}
    words : str
        What was found.
    """

    name: str
    verdict: Literal["good", "wrong", "unknown"]
    words: str


@dataclass(frozen=True)
class Verification:
    """All that was looked at, and whether nothing of it is wrong.

    Parameters
    ----------
    path : str
    checks : tuple of Check
    digest : str, optional
        What a ledger and a signature know the release by.
    """

    path: str
    checks: tuple[Check, ...]
    digest: str | None = None

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong."""
        return all(check.verdict != "wrong" for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        checks = [{"check": each.name, "verdict": each.verdict, "words": each.words} for each in self.checks]
        return {"path": self.path, "good": self.is_good, "digest": self.digest, "checks": checks}


def verify_release(path: StrPath, *, ledger: StrPath | None = None, key: StrPath | None = None) -> Verification:
    """Check a release of any kind, as a whole.

    Parameters
    ----------
    path : path
        The file or folder.
    ledger : path, optional
        The ledger that should have paid for it.
    key : path, optional
        The public key (PEM) of who should have signed it.

    Returns
    -------
    Verification

    Raises
    ------
    ReleaseError
        If there is nothing at the path, or the ledger or the key cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import askance as ask
    >>> path = os.path.join(tempfile.mkdtemp(), "counts.json")
    >>> ask.release_counts([30, 70], epsilon=1.0).write(path)
    >>> [(check.name, check.verdict) for check in verify_release(path).checks]
    [('format', 'good'), ('digest', 'good'), ('guarantee', 'good'), ('signature', 'unknown')]
    """
    if not os.path.lexists(path) and not Location.of(path).is_address:
        raise ReleaseError(f"there is no release at {path}", "a file or a folder")
    public, book = None if key is None else read_public_key(key), None if ledger is None else Ledger(ledger)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", AskanceWarning)
            release: Any = read_release(path)
    except AskanceError as error:
        return Verification(str(path), (Check("format", "wrong", str(error)),))
    checks = [Check("format", "good", f"{release.WHAT}, format {release.FORMAT}")]
    checks += [Check("note", "unknown", str(each.message)) for each in warned]
    digest = getattr(release, "digest", None)
    checks.append(_digest(path, release, digest))
    promise = _promise(release)
    checks.append(Check("guarantee", "good", f"recomputed from the mechanism: {promise}"))
    if book is not None:
        checks.append(_paid(path, promise, digest, book))
    checks.append(_signed(path, digest, public))
    return Verification(str(path), tuple(checks), digest)


def _promise(release: Any) -> Guarantee:
    """What it promises to a person; of sequences, with all tokens of the longest."""
    try:
        promised: Guarantee = release.whole_person if isinstance(release, Release) else release.guarantee
    except AskanceError:  # rows that cannot be read are what another check is about
        promised = release.guarantee
    return promised


def _digest(path: StrPath, release: AnyRelease, digest: str | None) -> Check:
    try:
        if isinstance(release, Release):
            place = Location.of(path)
            files = [footer.file for footer in read_footers(place)]
            seals = [check_segments(file, os.cpu_count() or 1) for file in files]
            if any(seal is None for seal in seals):
                return Check("digest", "unknown", NO_DIGEST)
            if files == [place] and any(seal is not None and seal.part for seal in seals):
                return Check("digest", "unknown", f"{digest}; but it is one part of a release in several files")
            if files != [place] and not any(seal is not None and seal.part for seal in seals):
                return Check("digest", "unknown", f"{digest}; but no manifest says which files belong together")
        elif not any(DIGEST in said for said in _said(path, release)):
            return Check("digest", "unknown", NO_DIGEST)
    except AskanceError as error:
        return Check("digest", "wrong", str(error))
    return Check("digest", "good", f"sha256 {digest}")


def _said(path: StrPath, release: AnyRelease) -> Iterator[dict[str, Any]]:
    """Yield what a file says about itself."""
    place = Location.of(path)
    if isinstance(release, JsonRelease):
        yield read_json_object(place, release.WHAT)
    elif place.first_bytes(4) == b"PAR1":
        with checked_parquet(place) as (file, _):
            yield json.loads((file.metadata.metadata or {}).get(RegionRelease.METADATA_KEY, b"{}"))
    else:
        yield json.loads(place.read(release.WHAT).lstrip(b"\xef\xbb\xbf").partition(b"\n")[0])


def _paid(path: StrPath, promise: Any, digest: str | None, ledger: Ledger) -> Check:
    known = {digest, *_file_digest(path)}
    paid = [entry for entry in ledger.entries if entry.release is not None and entry.release in known]
    if not paid:
        return Check("ledger", "wrong", f"the ledger of {ledger.data_set!r} has no entry for this release")
    entry = paid[0]
    epsilon, delta = float(entry.level.epsilon), float(entry.level.delta)
    words = f"entry {entry.number} of {ledger.data_set!r}, {entry.time}: {entry.level}"
    levels = ((epsilon, promise.epsilon), (delta, promise.delta))
    if not all(math.isclose(spent, given, rel_tol=_SAME) for spent, given in levels):
        given = f"epsilon {promise.epsilon:g}, delta {promise.delta:g}"
        return Check("ledger", "wrong", f"{words}; but the release has {given}")
    return Check("ledger", "good", words)


def _file_digest(path: StrPath) -> list[str]:
    """Return what a ledger of version 0.1.0 knows a release by: the SHA-256 of its file."""
    if not os.path.isfile(path):
        return []
    with open(path, "rb") as file:
        return [hashlib.file_digest(file, "sha256").hexdigest()]


def _signed(path: StrPath, digest: str | None, public: bytes | None) -> Check:
    try:
        found = None if Location.of(path).is_address else read_signature(path)
    except AskanceError as error:
        return Check("signature", "wrong", str(error))
    if found is None:
        return Check("signature", "unknown" if public is None else "wrong", "it is not signed")
    if digest is None or found.digest != digest or not found.holds(digest):
        return Check("signature", "wrong", "the signature beside it is not one of this release")
    if public is None:
        words = f"signed by the key {found.fingerprint}; give --key to see whether that is theirs"
        return Check("signature", "unknown", words)
    if found.public_key != public:
        return Check("signature", "wrong", f"it was signed by another key, {found.fingerprint}")
    return Check("signature", "good", f"signed by the key {found.fingerprint}")
