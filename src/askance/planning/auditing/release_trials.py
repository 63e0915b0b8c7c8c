"""Draws of a release on several data sets, and the tests that its noise must pass on all of them."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.entropy.replay import Replay, Tape
from askance.errors import InvalidInput
from askance.planning.auditing.audit_questions import RELEASE_SHARES, AuditQuestion, Finding, most_striking
from askance.planning.auditing.noise_audit import uniform_findings
from askance.planning.auditing.noise_vectors import Uniforms, VectorLaw
from askance.planning.auditing.sign_tests import SignSequence, lag_findings, pair_finding
from askance.releases.paid_release import nothing_handed_on

_SECONDS = 4.0  # of drawing, where nobody says how many releases
_LEAST, _MOST = 12, 1000  # releases of each data set, then
_FEWEST = 10  # that a user may ask for
_TAPES = 4  # of random bytes that are played on all data sets
_NO_NOISE = 1e-10  # of the scale: sums in doubles are exact to less
_CONTINUOUS = 1e-3  # of the scale, that rounding is at most where noise is next to continuous
_ASKS = {
    "law": "Does the noise of all data sets have the law that the guarantee is known by?",
    "neighbouring data sets": "Is the noise the same for data sets that differ in labels?",
    "repeated releases": "Is the noise of every release drawn afresh?",
    "values": "Are the values of one release hidden as their law says, together too?",
    "this release": "May the noise of the release that was made be of its law?",
    "leaks": "Does anything but the labels and the random bytes decide a release?",
}


@dataclass(frozen=True)
class DataSet:
    """One data set to try.

    Parameters
    ----------
    draw : function
        Release it, and return what the law is about, such as the noise: a vector.
    law : VectorLaw, optional
        Of that vector; None where none is known.
    """

    draw: Callable[[], Floats]
    law: VectorLaw | None


@dataclass(frozen=True)
class ReleaseTrial:
    """A release on several data sets.

    Parameters
    ----------
    sets : mapping from names to data sets
        The first is as it was given.
    added : bool
        Whether noise is added, so that the same random bytes give the same noise on all data sets.
    rounding : float
        By how much it may differ then: doubles round.
    note : str
        What could not be judged.
    made : tuple of Finding
        What was found about one release that was really made.
    size : float
        The scale of noise that is next to continuous; 0 where it is whole numbers, of which zero is one.
    """

    sets: Mapping[str, DataSet]
    added: bool
    rounding: float
    note: str = ""
    made: tuple[Finding, ...] = ()
    size: float = 0.0

    def questions(self, draws: Any, error_rate: float) -> tuple[tuple[AuditQuestion, ...], int]:
        """Draw releases and test them; also return how many there were of each data set."""
        rng = np.random.default_rng()
        if draws is not None and (
            isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < _FEWEST
        ):
            raise InvalidInput(f"draws={draws!r}", f"a whole number of releases, at least {_FEWEST}")
        with nothing_handed_on():
            found: dict[str, list[Finding]] = {name: [] for name in RELEASE_SHARES}
            found["this release"] += self.made
            if self.added:
                found["neighbouring data sets"] += self._replayed_noise()
            found["leaks"] += self._played_twice()
            drawn, each = self._drawn(None if draws is None else int(draws))
        if self.added and self.rounding < _CONTINUOUS * self.size:
            found["leaks"].append(self._without_noise(drawn))
        uniforms: dict[str, list[Uniforms]] = {}
        for name, one in self.sets.items():
            if one.law is not None:
                uniforms[name] = one.law.uniforms(drawn[name], rng)
        if uniforms:
            self._judge(uniforms, found)
        return tuple(
            AuditQuestion.judged(name, _ASKS[name], found[name], error_rate, share, self.note if name == "law" else "")
            for name, share in RELEASE_SHARES.items()
            if found[name]
        ), each

    def _drawn(self, draws: int | None) -> tuple[dict[str, Floats], int]:
        """Draw releases of all data sets in turn."""
        drawn: dict[str, list[Floats]] = {name: [] for name in self.sets}
        start, each = time.perf_counter(), 0
        while each < (_MOST if draws is None else math.ceil(draws / len(self.sets))):
            for name, one in self.sets.items():
                drawn[name].append(one.draw())
            each += 1
            if draws is None and each >= _LEAST and time.perf_counter() - start > _SECONDS:
                break
        return {name: np.array(vectors) for name, vectors in drawn.items()}, each

    def _without_noise(self, drawn: Mapping[str, Floats]) -> Finding:
        """Count releases of which no value has noise: one value has as little by chance once in 10^10 releases."""
        bare = [int((np.abs(noise).max(axis=1) < _NO_NOISE * self.size).sum()) for noise in drawn.values()]
        releases, width = sum(map(len, drawn.values())), next(iter(drawn.values())).shape[1]
        what = f"{sum(bare)} of {releases} releases have no noise"
        return Finding(what, min(1.0, releases * _NO_NOISE**width) if sum(bare) else 1.0)

    def _replayed_noise(self) -> list[Finding]:
        found = []
        for _ in range(_TAPES):
            tape = Tape()
            noise = {}
            for name, one in self.sets.items():
                with Replay(tape):
                    noise[name] = one.draw()
                    if not tape.was_read:
                        return []
            first, *others = noise.values()
            apart = max(float(np.abs(other - first).max()) for other in others)
            if apart > self.rounding:
                what = f"the same random bytes give other noise for other labels: it differs by {apart:.3g}"
                return [Finding(what, 0.0)]
            found.append(Finding("the noise of the same random bytes", 1.0))
        return found

    def _played_twice(self) -> list[Finding]:
        draw = next(iter(self.sets.values())).draw
        for _ in range(_TAPES):
            tape = Tape()
            pair = []
            for _ in range(2):
                with Replay(tape):
                    pair.append(draw())
            if tape.was_read and np.any(pair[0] != pair[1]):
                return [Finding("the same labels and random bytes give another release: something else decides", 0.0)]
        return [Finding("two releases from the same random bytes", 1.0, _TAPES)]

    def _judge(self, uniforms: dict[str, list[Uniforms]], found: dict[str, list[Finding]]) -> None:
        for way, (first, *_) in enumerate(zip(*uniforms.values(), strict=True)):
            each = [one[way] for one in uniforms.values()]
            below, above = (np.concatenate([getattr(one, side) for one in each]) for side in ("below", "above"))
            found["law"] += uniform_findings(below, above, "the noise", first.names)
            # Releases of the data sets took turns.
            in_turn = np.stack([one.below for one in each], axis=1).reshape(-1, below.shape[1])
            signs = [np.where(in_turn < 0.5, -1.0, 1.0), np.where(np.abs(in_turn - 0.5) < 0.25, -1.0, 1.0)]
            for what, table in zip(("values", "sizes of values"), signs, strict=True):
                found["repeated releases"] += lag_findings(SignSequence(table.ravel()), None, what)
                if table.shape[1] > 1:
                    names = partial(_together, what, first.names)
                    found["values"].append(pair_finding(table, table, names, same=True))
        for name, ways in uniforms.items():
            one = ways[0]
            found["neighbouring data sets"] += uniform_findings(one.below, one.above, f"the noise of {name}")


def _together(what: str, names: list[str], i: int, j: int) -> str:
    return f"{what}: {names[i]} and {names[j]} go together"


def findings_of_one(uniforms: Iterable[Uniforms], what: str) -> list[Finding]:
    """Test one release that was made: is its noise impossibly large, or impossibly small?"""
    found = []
    for one in uniforms:
        nearer = 2 * np.minimum(one.below, one.above).ravel()
        names = [f"{what}: {name}" for name in one.names] * len(one.below)
        found.append(most_striking(nearer, lambda n, names=names: f"{names[n]} has far more noise than its law"))
        found.append(most_striking(1 - nearer, lambda n, names=names: f"{names[n]} has hardly any noise"))
    return found
