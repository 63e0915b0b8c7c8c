"""Whom the entries of a ledger are about: everybody's keyed hash is kept once, and a bit for each group of people."""

import hashlib
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.errors import ReleaseError

_REMEDY = "Ask who holds the file; an untouched copy goes on from where it was."
_DAMAGED = "a ledger whose people cannot be read"
Members = NDArray[np.bool_]


class StoredGroup(NamedTuple):
    """Some people that at least one entry is about, as they are kept in the file.

    Parameters
    ----------
    number : int
        1, 2, ... in the order in which they came.
    added : bytes
        The hashes of those who were new, in ascending order. Everybody's number is their place in all of these.
    members : bytes
        A compressed bit for each number: who belongs to the group.
    """

    number: int
    added: bytes
    members: bytes

    def seal(self, key: bytes) -> str:
        """Return a hash of all of it and of the ledger's key, which the entry of the group holds."""
        lengths = f"{self.number} {len(self.added)} {len(self.members)} ".encode()
        return hashlib.sha256(lengths + key + self.added + self.members).hexdigest()


@dataclass(frozen=True, eq=False)
class KnownPeople:
    """Everybody whom a ledger knows, and the groups in which they came."""

    groups: tuple[StoredGroup, ...] = ()

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """The hash of each person, by number."""
        if any(len(group.added) % 8 for group in self.groups):
            raise ReleaseError(_DAMAGED, remedy=_REMEDY)
        return np.frombuffer(b"".join(group.added for group in self.groups), dtype="<u8").astype(np.uint64)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def members(self, number: int) -> Members:
        """Return who belongs to a group, by person."""
        return self._members[number - 1]

    @cached_property
    def _members(self) -> list[Members]:
        return [_unpacked(group.members, len(self)) for group in self.groups]

    def group_of(self, keys: NDArray[np.uint64]) -> StoredGroup:
        """Return the group of exactly these people, by hash: one that is there already, or a new one."""
        known = np.zeros(len(self), dtype=bool)
        new = keys
        if len(self):
            ordered = self.keys[self._order]
            places = np.minimum(np.searchsorted(ordered, keys), len(self) - 1)
            found = ordered[places] == keys
            known[self._order[places[found]]] = True
            new = keys[~found]
        if not len(new):
            for group, members in zip(self.groups, self._members, strict=True):
                if np.array_equal(members, known):
                    return group
        bits = np.packbits(np.append(known, np.ones(len(new), dtype=bool)))
        return StoredGroup(len(self.groups) + 1, new.astype("<u8").tobytes(), zlib.compress(bits.tobytes()))

    def with_group(self, group: StoredGroup) -> "KnownPeople":
        """Return these people and those of a group, which may be among them."""
        return self if group.number <= len(self.groups) else KnownPeople((*self.groups, group))

    def check(self, key: bytes | None, seals: dict[int, str], where: str) -> None:
        """Refuse groups that are not those which the entries sealed."""
        whole = key is not None and all(
            seals.get(group.number) == group.seal(key) and group.number == number
            for number, group in enumerate(self.groups, start=1)
        )
        if (self.groups and not whole) or set(seals) != {group.number for group in self.groups}:
            raise ReleaseError(f"{where} was changed: its people are not those of its entries", remedy=_REMEDY)


def distinct_pasts(
    touched: list[tuple[Members, int]], people: int, kinds: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group people by how often they were touched by each kind of entry.

    Parameters
    ----------
    touched : list of (members, kind)
        Whom each entry is about, and of which kind it is.
    people, kinds : int
        How many there are.

    Returns
    -------
    codes : array, people
        The group of each person.
    pasts : array, groups x kinds
        How often its people were touched by each kind.
    """
    codes = np.zeros(people, dtype=np.int64)
    pasts = np.zeros((1 if people else 0, kinds), dtype=np.int64)
    for kind in range(kinds):
        counts = np.zeros(people, dtype=np.int64)
        for members, of_kind in touched:
            if of_kind == kind:
                counts += members
        if not counts.any():
            continue
        width = int(counts.max()) + 1
        mixed = codes * width + counts
        if len(pasts) * width <= 4 * people:  # counting is ten times as fast as sorting, where there is room for it
            used = np.flatnonzero(np.bincount(mixed, minlength=len(pasts) * width))
            place = np.zeros(len(pasts) * width, dtype=np.int64)
            place[used] = np.arange(len(used))
            codes = place[mixed]
        else:
            used, codes = np.unique(mixed, return_inverse=True)
        pasts = pasts[used // width]
        pasts[:, kind] = used % width
    return codes, pasts


def _unpacked(members: bytes, people: int) -> Members:
    """Bits by person; those who came later belong to no earlier group. Never more memory than people need."""
    most = people // 8 + 1
    try:
        packed = zlib.decompressobj().decompress(members, most)
    except zlib.error:
        raise ReleaseError(_DAMAGED, remedy=_REMEDY) from None
    bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8))[:people].astype(bool)
    return np.append(bits, np.zeros(people - len(bits), dtype=bool))
