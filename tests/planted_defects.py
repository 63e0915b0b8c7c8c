"""Channels and releases with one defect each, as a programmer could make it: what an audit has to find.

Each is a real channel or release with something changed around it. The table of their power is measured by
``make bench ARGS=audit``; a few draws of each are in the tests.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

import askance as ask
from askance.entropy.bits import system_bits


def fresh() -> np.random.Generator:
    """Randomness that is not the channel's, and of which no two calls and processes have the same."""
    return np.random.default_rng()


class SameStream(ask.Warner):
    """Begins with the same random bits in every call."""

    def privatize(self, truth: Any) -> Any:
        return self.simulate(truth, np.random.default_rng(7))


class SameStreamInAChild(ask.Warner):
    """A forked process goes on with the bits of its parent."""

    def privatize(self, truth: Any) -> Any:
        kept = vars(self).setdefault("_stream", np.random.default_rng())
        if "_parent" not in vars(self):
            vars(self)["_parent"] = os.getpid()
        return self.simulate(truth, kept)


class ShiftedStream(ask.Warner):
    """The next call goes back 100 rows in the same stream."""

    def privatize(self, truth: Any) -> Any:
        start = vars(self).get("_start", 0)
        vars(self)["_start"] = (start + 100) % 400
        uniform = np.random.default_rng(11).random(start + len(truth))[start:]
        return np.where(uniform < self.p, truth, np.where(np.asarray(truth) == "no", "yes", "no"))


def _coins(channel: Any, truth: Any, uniform: Any) -> Any:
    return np.where(uniform < channel.p, truth, np.where(np.asarray(truth) == "no", "yes", "no"))


class SharedByNeighbours(ask.Warner):
    """Two neighbouring rows share a coin."""

    def privatize(self, truth: Any) -> Any:
        return _coins(self, truth, np.repeat(fresh().random(len(truth) // 2 + 1), 2)[: len(truth)])


class SharedByHalves(ask.Warner):
    """Row i and row i + n/2 share a coin."""

    def privatize(self, truth: Any) -> Any:
        half = fresh().random(len(truth) // 2 + 1)
        return _coins(self, truth, np.concatenate([half, half])[: len(truth)])


class ResetBlocks(ask.Warner):
    """The stream begins again every 4096 rows."""

    def privatize(self, truth: Any) -> Any:
        return _coins(self, truth, np.resize(fresh().random(4096), len(truth)))


class RareLiesShared(ask.Warner):
    """Lies are rare, and come in pairs at distance 64."""

    def privatize(self, truth: Any) -> Any:
        uniform = fresh().random(len(truth))
        later = np.arange(len(truth)) // 64 % 2 == 1
        uniform[later] = np.roll(uniform, 64)[later]
        return _coins(self, truth, uniform)


class NeighboursTruth(ask.Warner):
    """One row in ten reports on the person before."""

    def privatize(self, truth: Any) -> Any:
        mixed = np.where(fresh().random(len(truth)) < 0.1, np.roll(truth, 1), truth)
        return super().privatize(mixed)


class SameSignsForEqualTruths(ask.RandomizedResponse):
    """The lie is drawn once for all who answer the same in a block of 32."""

    def privatize(self, truth: Any) -> Any:
        reports = np.asarray(super().privatize(truth))
        blocks = np.arange(len(reports)) // 32
        for label in self.classes:
            mine = np.flatnonzero(np.asarray(truth) == label)
            first = {}
            for row in mine:
                first.setdefault(blocks[row], reports[row])
            reports[mine] = [first[blocks[row]] for row in mine]
        return reports


class AlwaysTold(ask.Warner):
    """The truth of every 200th person is told, always."""

    def privatize(self, truth: Any) -> Any:
        reports = super().privatize(truth)
        return np.where(np.arange(len(reports)) % 200 == 3, truth, reports)


class LeaksByOtherChance(ask.Warner):
    """The truth of one in a thousand is told, by a coin of its own."""

    def privatize(self, truth: Any) -> Any:
        reports = super().privatize(truth)
        return np.where(fresh().random(len(reports)) < 0.001, truth, reports)


class LeaksByEntropy(ask.Warner):
    """The truth of one in a thousand is told, by the random bytes themselves."""

    def privatize(self, truth: Any) -> Any:
        reports = super().privatize(truth)
        words = np.concatenate([system_bits().block().view(np.uint32).copy() for _ in range(len(reports) // 16384 + 1)])
        return np.where(words[: len(reports)] % 1000 == 0, truth, reports)


class OffByOne(ask.RandomizedResponse):
    """The last class is never reported by chance."""

    def privatize(self, truth: Any) -> Any:
        reports = np.asarray(super().privatize(truth))
        lied = (reports == self.classes[-1]) & (np.asarray(truth) != self.classes[-1])
        return np.where(lied, self.classes[0], reports)


class SharedByAttributes(ask.StateFlip):
    """All attributes of a row are flipped together."""

    def privatize(self, truth: Any) -> Any:
        rows = np.asarray(truth)
        return np.where(fresh().random((len(rows), 1)) < self.flip, 1 - rows, rows)


class OtherAttributesTruth(ask.StateFlip):
    """Now and then the second attribute tells the first."""

    def privatize(self, truth: Any) -> Any:
        rows = np.array(truth)
        mixed = fresh().random(len(rows)) < 0.1
        rows[mixed, 1] = rows[mixed, 0]
        return super().privatize(rows)


class LabelSharesACoin(ask.RowChannel):
    """Drawn part by part it is honest; as a record, the label is flipped with the first attribute."""

    def privatize(self, record: Any) -> Any:
        features, _ = super().privatize(record)
        kept = np.asarray(features)[:, 0] == np.asarray(record[0])[:, 0]
        return features, np.where(kept, record[1], np.where(np.asarray(record[1]) == "no", "yes", "no"))


class ClampedTails(ask.LaplaceNoise):
    """Noise is cut off at eight scales: a tail of 1/3000."""

    def draw(self, values: Any, bits: Any) -> Any:
        low = np.asarray(values, dtype=float)
        return np.clip(super().draw(values, bits), low - 8 * self.scale, low + 8 * self.scale)


class DoubleNoise(ask.LaplaceNoise):
    """Noise is added in floating point."""

    def privatize(self, truth: Any) -> Any:
        return np.asarray(truth, dtype=float) + fresh().laplace(scale=self.scale, size=np.shape(truth))


class CoarseNoise(ask.LaplaceNoise):
    """Noise is drawn on a grid that is four times too coarse."""

    def privatize(self, truth: Any) -> Any:
        step = 1 / 1024
        return np.rint(np.asarray(super().privatize(truth)) / step / 4) * 4 * step


class SignBias(ask.GaussianNoise):
    """Noise is positive a little too often: 52%."""

    def privatize(self, truth: Any) -> Any:
        rows = np.asarray(truth, dtype=float)
        noise = np.asarray(super().privatize(rows)) - rows
        flipped = (noise < 0) & (fresh().random(noise.shape) < 0.04)
        return rows + np.where(flipped, -noise, noise)


class NumbersShareACoin(ask.PrivateNumber):
    """Reports on hidden numbers are drawn for two people at once."""

    def privatize(self, truth: Any) -> Any:
        rows = np.asarray(truth, dtype=float).reshape(len(truth), -1)
        half = len(rows) // 2
        seed = int(fresh().integers(1 << 62))
        parts = [rows[:half], rows[half:]]
        return np.concatenate([self.simulate(part, np.random.default_rng(seed)) for part in parts])


CHANNELS: dict[str, Any] = {
    "the same stream in every call": SameStream(0.75),
    "the same stream after a fork": SameStreamInAChild(0.75),
    "a stream that is shifted by 100 rows": ShiftedStream(0.75),
    "neighbouring rows share a coin": SharedByNeighbours(0.75),
    "rows i and i + n/2 share a coin": SharedByHalves(0.75),
    "a stream that begins again every 4096 rows": ResetBlocks(0.75),
    "rare lies come in pairs": RareLiesShared(0.98),
    "one row in ten tells its neighbour's truth": NeighboursTruth(0.75),
    "equal truths of a block have equal reports": SameSignsForEqualTruths(("a", "b", "c"), epsilon=1.0),
    "every 200th person is always told": AlwaysTold(0.75),
    "one in a thousand is told, by a coin of its own": LeaksByOtherChance(0.75),
    "one in a thousand is told, by the random bytes": LeaksByEntropy(0.75),
    "a class that is never reported by chance": OffByOne(("a", "b", "c"), epsilon=1.0),
    "attributes share a coin": SharedByAttributes(2, 0.3, dim=3),
    "an attribute tells another": OtherAttributesTruth(2, 0.3, dim=3),
    "the label shares a coin with an attribute": LabelSharesACoin(ask.StateFlip(2, 0.2, dim=2), ask.Warner(0.8)),
    "noise is cut off at 8 scales": ClampedTails(1.0, dim=4, bounds=(0, 1)),
    "noise in floating point": DoubleNoise(1.0, dim=2, bounds=(0, 1)),
    "noise on a coarse grid": CoarseNoise(1.0, dim=2, bounds=(0, 1)),
    "noise is positive in 52%": SignBias(1.0, dim=4, bounds=(0, 1)),
    "two people's numbers share their bits": NumbersShareACoin(0.0, 1.0, 2.0),
}


# -- releases ------------------------------------------------------------------------------------------


def _scaled_by_labels(X: Any, y: Any, *rest: Any, **options: Any) -> Any:
    """The noise is smaller if few labels are positive."""
    share = np.mean(np.asarray(y) == 1)
    truth = np.mean(np.column_stack([np.ones(len(X)), X]) * np.asarray(y)[:, None], axis=0)
    done = ask.release_mean_operator(X, y, *rest, **options)
    return replace(
        done, operator=replace(done.operator, values=truth + (0.7 + 0.3 * share) * (done.operator.values - truth))
    )


def _half_noise(X: Any, y: Any, *rest: Any, **options: Any) -> Any:
    """Forgets that a label moves the sum by 2 x."""
    truth = np.mean(np.column_stack([np.ones(len(X)), X]) * np.asarray(y)[:, None], axis=0)
    done = ask.release_mean_operator(X, y, *rest, **options)
    return replace(done, operator=replace(done.operator, values=(done.operator.values + truth) / 2))


def _shared_values(X: Any, y: Any, *rest: Any, **options: Any) -> Any:
    """All values get the same noise."""
    truth = np.mean(np.column_stack([np.ones(len(X)), X]) * np.asarray(y)[:, None], axis=0)
    done = ask.release_mean_operator(X, y, *rest, **options)
    return replace(done, operator=replace(done.operator, values=truth + (done.operator.values - truth)[0]))


def _told_once(X: Any, y: Any, *rest: Any, **options: Any) -> Any:
    """One release in forty has no noise."""
    truth = np.mean(np.column_stack([np.ones(len(X)), X]) * np.asarray(y)[:, None], axis=0)
    done = ask.release_mean_operator(X, y, *rest, **options)
    return replace(done, operator=replace(done.operator, values=truth)) if fresh().random() < 0.025 else done


_LAST: list[Any] = []


def _cached_noise(X: Any, y: Any, *rest: Any, **options: Any) -> Any:
    """Noise is used twice."""
    truth = np.mean(np.column_stack([np.ones(len(X)), X]) * np.asarray(y)[:, None], axis=0)
    if _LAST:
        done, noise = _LAST.pop()
        return replace(done, operator=replace(done.operator, values=truth + noise))
    done = ask.release_mean_operator(X, y, *rest, **options)
    _LAST.append((done, done.operator.values - truth))
    return done


def _counts_with_too_little(counts: Any, *rest: Any, **options: Any) -> Any:
    """Noise of half the scale."""
    done = ask.release_counts(counts, *rest, **options)
    true = np.array([counts], dtype=float)
    return replace(done, raw=true + np.rint((done.raw - true) / 2))


def _counts_never_negative(counts: Any, *rest: Any, **options: Any) -> Any:
    """Noise is drawn again until no count is negative: it tells which counts are small."""
    while True:
        done = ask.release_counts(counts, *rest, **options)
        if done.raw.min() >= 0:
            return done


RELEASES: dict[str, Callable[[int], Any]] = {}


def _sums(name: str, release: Callable[..., Any], mechanism: str = "laplace") -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(np.arange(40) % 3, 1, -1)
    RELEASES[name] = lambda draws: ask.audit_mean_operator(X, y, 1, 0, mechanism, draws=draws, release=release)


def _counts(name: str, release: Callable[..., Any], counts: list[int]) -> None:
    RELEASES[name] = lambda draws: ask.audit_counts(counts, Fraction(1), draws=draws, release=release)


_sums("noise whose scale depends on the labels", _scaled_by_labels)
_sums("noise of half the scale", _half_noise, "knorm")
_sums("the same noise for all values", _shared_values)
_sums("one release in forty without noise", _told_once)
_sums("noise that is used twice", _cached_noise)
_counts("counts with noise of half the scale", _counts_with_too_little, [30, 50, 20])
_counts("counts that are never negative", _counts_never_negative, [1, 12, 20])
