"""The local engine: every way of splitting gives the same sums, faults come back, memory stays bounded."""

import threading

import numpy as np
import pytest

import askance as ask
from askance.engines.base import engine_from
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import ArraySource, cached_in_memory, concatenate, thinned
from askance.statistics.base import Records
from askance.statistics.features import FeatureMoments
from statistic_examples import EXAMPLES, close


class Parts:
    """A source whose partitions are given batches, and which remembers how many were read at a time."""

    def __init__(self, batches, fail_at=None):
        self.batches, self.fail_at = batches, fail_at
        self.reads, self.held, self.most_held = 0, 0, 0
        self.lock = threading.Lock()

    @property
    def num_rows(self):
        return sum(len(batch) for batch in self.batches)

    def partitions(self):
        return [Part(self, number) for number in range(len(self.batches))]


class Part:
    def __init__(self, source, number):
        self.source, self.number = source, number

    @property
    def num_rows(self):
        return len(self.source.batches[self.number])

    def load(self):
        with self.source.lock:
            self.source.reads += 1
        if self.number == self.source.fail_at:
            raise ask.ReleaseError(f"part {self.number} is damaged")
        return self.source.batches[self.number]


def data(rows=1000, weighted=True, seed=0):
    rng = np.random.default_rng(seed)
    return Records(rng.normal(size=(rows, 2)), rng.integers(0, 3, rows), rng.random(rows) if weighted else None)


def split(records, borders):
    return [records.rows(a, b) for a, b in zip([0, *borders], [*borders, len(records)], strict=True)]


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
@pytest.mark.parametrize("borders", [[], [500], [3, 3, 10, 400, 999, 1000], list(range(10, 1000, 10))])
def test_any_split_gives_the_same_sums(threads, borders):
    records = data()
    statistic = FeatureMoments(2, True)
    whole = statistic.observe(records)
    total = LocalEngine(threads).reduce(statistic, Parts(split(records, borders)))
    assert total.rows == whole.rows
    np.testing.assert_allclose(total.second, whole.second, rtol=1e-9)


def test_results_are_repeatable_to_the_last_bit():
    parts = Parts(split(data(20_000), list(range(100, 20_000, 700))))
    statistic = FeatureMoments(2, True)
    results = [LocalEngine(4).reduce(statistic, parts).second for _ in range(5)]
    assert all((result == results[0]).all() for result in results)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_damaged_part_is_an_error_and_not_a_wrong_sum(threads):
    parts = Parts(split(data(), list(range(10, 1000, 10))), fail_at=7)
    with pytest.raises(ask.ReleaseError, match="part 7 is damaged"):
        LocalEngine(threads).reduce(FeatureMoments(2, True), parts)
    assert parts.reads < 20  # the rest is not read in vain


def test_no_records_at_all():
    assert LocalEngine().reduce(FeatureMoments(2, True), ArraySource(data(0))).rows == 0
    assert LocalEngine().reduce(FeatureMoments(2, True), Parts([])).rows == 0


def test_a_progress_bar_does_not_change_the_result(capsys):
    parts = Parts(split(data(), [100, 200, 700]))
    shown = LocalEngine(progress=True).reduce(FeatureMoments(2, True), parts)
    plain = LocalEngine().reduce(FeatureMoments(2, True), parts)
    np.testing.assert_array_equal(shown.second, plain.second)
    assert capsys.readouterr().out == ""  # standard output belongs to results


def test_a_sample_is_spread_over_the_whole():
    records = Records(np.arange(100_000.0)[:, None], np.zeros(100_000, dtype=int))
    look = thinned(ArraySource(records, 1000), 500)
    looked_at = np.concatenate([part.load().features[:, 0] for part in look.partitions()])
    assert look.num_rows == len(looked_at)
    assert 250 <= len(looked_at) <= 1000
    assert looked_at.min() < 5_000
    assert looked_at.max() > 95_000


def test_what_fits_is_read_once():
    parts = Parts(split(data(), [100, 200]))
    held = cached_in_memory(parts, 10**6)
    np.testing.assert_array_equal(held.data.features, data().features)
    assert parts.reads == 3
    assert cached_in_memory(parts, 100) is parts
    assert len(concatenate([data(3, weighted=False), data(0, weighted=False)])) == 3


def test_large_parts_are_kept_as_they_were_read():
    large = Records(np.ones((3, 50_000)), np.zeros(3, dtype=int))
    held = cached_in_memory(Parts([large, large]), 10**7)
    assert [len(part.load()) for part in held.partitions()] == [3, 3]
    assert all(np.shares_memory(part.load().features, large.features) for part in held.partitions())


def test_of_many_columns_there_are_more_partitions():
    wide = Records(np.zeros((100, 1 << 17)), np.zeros(100, dtype=int))
    parts = ArraySource(wide).partitions()
    assert len(parts) == 4
    assert sum(len(part.load()) for part in parts) == 100


def test_engines_by_name():
    assert engine_from("local") == LocalEngine()
    mine = LocalEngine(threads=1)
    assert engine_from(mine) is mine
    for wrong in ("cluster", "local:host", 3):
        with pytest.raises(ask.InvalidInput, match="engine="):
            engine_from(wrong)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", [name for name, (_, batch) in EXAMPLES.items() if isinstance(batch(0), Records)])
def test_every_statistic_is_the_same_however_rows_are_split(name, threads):
    statistic, batch = EXAMPLES[name]
    records = batch(500, seed=1)
    close(LocalEngine(threads).reduce(statistic, ArraySource(records, 37)), statistic.observe(records))
