"""The Dask engine, on a real cluster of two worker processes that a nanny restarts when they die."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from distributed import Client, LocalCluster

import askance as ask
from askance.engines.base import Engine, engine_from, running
from askance.engines.dask.cached import CachedRecords
from askance.engines.dask.engine import DaskEngine
from askance.engines.local.engine import LocalEngine
from askance.learning.face.release_records import NumericColumns, records_of
from askance.releases.partition import FilePartition
from askance.statistics.features import FeatureMoments
from engine_laws import FITS, HEADER, EngineLaws, assert_same_numbers, reference, split_release, survey
from engine_laws import releases as releases  # a fixture of the laws
from waiting import PATIENCE, wait_until

ASKANCE = str(Path(sys.executable).parent / "askance")
pytestmark = pytest.mark.xdist_group("dask")  # one cluster for all
NOWHERE = "tcp://127.0.0.1:9"


@pytest.fixture(scope="module")
def cluster():
    """Two workers of one thread, without a dashboard: its port may be taken."""
    scheduler = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=2, threads_per_worker=1, scheduler_kwargs=scheduler) as started:
        yield started


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster, set_as_default=False) as connected:
        yield connected


@pytest.fixture(scope="module")
def engine(client):
    return DaskEngine(client)


class TestLaws(EngineLaws):
    """On a Dask cluster."""


def ages(release):
    return records_of(release, "cheated", NumericColumns(("age", "income")), "w")


@pytest.fixture
def source(tmp_path):
    return ages(ask.read_release(split_release(tmp_path / "release", 100)))


# -- what travels ------------------------------------------------------------------------------------


def test_rows_in_memory_are_not_sent(engine):
    in_memory = ask.Release.from_table(survey(), HEADER)
    for fit in FITS.values():
        with pytest.raises(ask.InvalidInput, match=r"workers of Dask.*[Ww]rite it first"):
            fit(in_memory, engine)


def test_records_stay_on_the_workers_that_read_them(engine, client, source):
    held = engine.cache(source)
    assert isinstance(held, CachedRecords)
    assert engine.cache(held) is held
    assert len(held.partitions()) == 2  # one for each thread, whatever the number of parts
    engine.reduce(FeatureMoments(2, True), held)
    keys = {part.batches.key for part in held.partitions()}
    on_workers = [keys & set(keys_there) for keys_there in client.has_what().values()]
    assert [len(keys_there) for keys_there in on_workers] == [1, 1]
    records = np.concatenate([part.load().features for part in held.partitions()])
    np.testing.assert_array_equal(records, np.concatenate([part.load().features for part in source.partitions()]))


def test_what_does_not_fit_is_read_again_in_every_pass(client, source):
    small = DaskEngine(client, memory_share=1e-6)
    assert small.cache(source) is source
    fitted = FITS["marginal"](source.release, small)
    assert_same_numbers(fitted, reference("marginal"))


def test_a_look_keeps_every_so_many_th_record_of_what_is_held(engine, source):
    looks = [engine.sample(engine.cache(source), 600), engine.sample(source, 600)]
    for look in looks:
        assert look.num_rows == sum(len(part.load()) for part in look.partitions())
        assert engine.reduce(FeatureMoments(2, True), look).rows == look.num_rows
    held = np.concatenate([part.load().features for part in looks[0].partitions()])
    assert 600 <= len(held) <= 602  # every tenth record of each of two groups
    assert set(held[:, 0]) <= set(survey()["age"].to_numpy())


def bytes_moved(client, cluster):
    """Everything that client, scheduler and workers have sent to each other so far."""
    scheduler = cluster.scheduler
    to_workers = sum(stream.byte_count for stream in scheduler.stream_comms.values())
    to_clients = sum(stream.byte_count for stream in scheduler.client_comms.values())
    from_workers = client.run(lambda dask_worker: dask_worker.batched_stream.byte_count)
    results = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
    return (
        client.scheduler_comm.byte_count + to_workers + to_clients + sum(from_workers.values()) + sum(results.values())
    )


def test_bytes_moved_in_a_pass_do_not_grow_with_the_data(engine, client, cluster, tmp_path):
    passes, moved = 20, {}
    for rows in (50_000, 200_000):
        release = ask.read_release(split_release(tmp_path / str(rows), rows // 1000, survey(rows)))
        held = engine.cache(ages(release))
        statistic = FeatureMoments(2, True)
        engine.reduce(statistic, held)  # the reading is over now
        before = bytes_moved(client, cluster)
        for _ in range(passes):
            engine.reduce(statistic, held)
        moved[rows] = (bytes_moved(client, cluster) - before) / passes
    assert 100 < moved[50_000] < 50_000  # 50,000 records are 1.6 megabytes
    assert moved[200_000] < 1.1 * moved[50_000]


# -- what goes wrong ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deadly(FeatureMoments):
    """Sums that kill the worker which computes them: only the first one, if there is a file to remember it by."""

    marker: str = ""

    def observe(self, records):
        if not (self.marker and os.path.exists(self.marker)):
            if self.marker:
                Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().observe(records)


@pytest.mark.parametrize("held", [False, True], ids=["read", "held"])
def test_a_worker_killed_in_the_middle_makes_no_difference(engine, client, source, tmp_path, held):
    before = set(client.nthreads())
    summed = engine.cache(source) if held else source
    found = engine.reduce(Deadly(2, True, marker=str(tmp_path / "killed")), summed)
    expected = LocalEngine().reduce(FeatureMoments(2, True), source)
    assert (tmp_path / "killed").exists()
    assert found.rows == expected.rows
    np.testing.assert_allclose(found.second, expected.second, rtol=1e-12)
    if held:  # and what it held was read again
        np.testing.assert_array_equal(engine.reduce(FeatureMoments(2, True), summed).second, found.second)
    client.wait_for_workers(2, timeout=PATIENCE)
    assert set(client.nthreads()) != before


def test_work_that_kills_every_worker_is_a_clear_error(source):
    """On a cluster of its own, which is a wreck afterwards."""
    scheduler = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, scheduler_kwargs=scheduler) as doomed,
        Client(doomed, set_as_default=False) as client,
    ):
        doomed.scheduler.allowed_failures = 0
        with pytest.raises(ask.AskanceError, match="workers were lost again and again"):
            DaskEngine(client).reduce(Deadly(2, True), source)


def test_a_sum_that_failed_leaves_no_work_behind(engine, cluster, tmp_path):
    opened = ages(ask.read_release(split_release(tmp_path / "release", 100)))
    (tmp_path / "release" / "part-000.parquet").unlink()
    with pytest.raises(ask.ReleaseError, match="part-000") as kept:  # as a notebook keeps the last error
        engine.reduce(FeatureMoments(2, True), opened)
    tasks = cluster.scheduler.tasks
    wait_until(lambda: not any("observe" in str(key) for key in list(tasks)), f"no task is left after {kept}")


def test_a_cluster_that_goes_away_is_a_clear_error(source):
    scheduler = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=0, processes=False, scheduler_kwargs=scheduler) as empty:
        engine = DaskEngine.start(empty.scheduler_address)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("askance.engines.dask.engine._SECONDS_FOR_A_WORKER", 0.2)
            with pytest.raises(ask.AskanceError, match=f"{empty.scheduler_address} has no workers"):
                engine.reduce(FeatureMoments(2, True), source)
        assert "workers=0" in repr(engine)
        engine.close()
        assert repr(engine) == "DaskEngine(closed)"


def test_a_cluster_without_workers_does_not_keep_us_waiting(source, monkeypatch):
    monkeypatch.setattr("askance.engines.dask.engine._SECONDS_BETWEEN_CHECKS", 0.2)
    scheduler = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=1, processes=False, scheduler_kwargs=scheduler) as small,
        Client(small, set_as_default=False) as client,
    ):
        engine = DaskEngine(client)
        held = engine.cache(source)
        assert engine.reduce(FeatureMoments(2, True), held).rows == source.num_rows
        (worker,) = small.workers.values()
        small.sync(worker.close)
        with pytest.raises(ask.AskanceError, match="stopped working before its work was done"):
            engine.reduce(FeatureMoments(2, True), held)


def test_an_unreachable_scheduler_is_named(monkeypatch):
    monkeypatch.setattr("askance.engines.dask.cluster._SECONDS_TO_CONNECT", 0.5)
    with pytest.raises(ask.AskanceError, match=f"no Dask scheduler answers at {NOWHERE}"):
        engine_from(f"dask:{NOWHERE}")


# -- starting and stopping ---------------------------------------------------------------------------


def test_the_program_s_own_client_is_used_and_left_open(cluster, client, source):
    with Client(cluster) as mine:
        with running("dask") as engine:
            assert isinstance(engine, Engine)
            assert engine.client is mine
        assert mine.status == "running"
    with running(f"dask:{cluster.scheduler_address}") as engine:
        assert repr(engine) == f"DaskEngine('{cluster.scheduler_address}', workers=2, threads=2)"
        assert engine.reduce(FeatureMoments(2, True), source).rows == source.num_rows
    assert engine.client.status == "closed"
    assert len(client.nthreads()) == 2  # the cluster is not ours to stop


def test_from_the_command_line(cluster, tmp_path):
    """Privatise with workers of its own, fit on a cluster by its address and from an address, as a user would."""
    (tmp_path / "study.toml").write_text(
        '[questions.cheated]\nchoices = ["no", "yes"]\nchannel = { design = "warner", p = 0.85 }\n'
        '[covariates.age]\ntype = "number"\n'
    )
    table = survey().select(["cheated", "age"])
    (tmp_path / "answers").mkdir()
    for start, stop in pairwise([0, 1000, 3500, 6000]):
        pa.csv.write_csv(table.slice(start, stop - start), tmp_path / "answers" / f"{start}.csv")

    def askance(*words):
        done = subprocess.run(
            [ASKANCE, *words, "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE
        )
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    written = askance("privatize", "study.toml", "answers", "--out", "release", "--engine", "dask")
    assert written["rows"] == 6000
    assert len(list((tmp_path / "release").glob("*.parquet"))) == 3
    fitting = ["fit", (tmp_path / "release").as_uri(), "--formula", "cheated ~ age", "--quiet"]
    ours = askance(*fitting, "--engine", f"dask:{cluster.scheduler_address}")
    theirs = askance(*fitting)
    np.testing.assert_allclose(ours["parameters"]["estimates"], theirs["parameters"]["estimates"], rtol=1e-9)


@pytest.mark.parametrize(
    ("absent", "words", "command"),
    [
        ("distributed", ["RELEASE", "--engine", "dask"], "pip install 'askance[dask]'"),
        ("fsspec", ["file://RELEASE"], "pip install fsspec"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(tmp_path, absent, words, command):
    release = str(split_release(tmp_path / "release", 1))
    words = ["fit", *(word.replace("RELEASE", release) for word in words), "--question", "cheated"]
    program = f"import sys; sys.modules[{absent!r}] = None; from askance.cli.app import main; main(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True)
    assert done.returncode == 2
    assert command in done.stderr
    assert "Traceback" not in done.stderr


# -- addresses ---------------------------------------------------------------------------------------


def test_any_address_that_fsspec_understands(tmp_path):
    import fsspec

    folder = split_release(tmp_path / "release", 7)
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/survey", recursive=True)
    try:
        release = ask.read_release("memory://survey/")
        assert release.path == "memory://survey"
        assert release.to_table().equals(ask.read_release(folder).to_table())
        assert_same_numbers(FITS["marginal"](release, LocalEngine()), reference("marginal"))
        assert ask.read_release("memory://survey/part-000.parquet").num_rows == release.num_rows
        assert all(isinstance(part, FilePartition) and "memory://" in part.path for part in release.partitions())

        memory.pipe("/survey/part-900.parquet", b"PAR1")
        with pytest.raises(ask.ReleaseError, match=r"memory://survey/part-900\.parquet.*its end is missing"):
            ask.read_release("memory://survey")
        memory.rm("/survey/part-000.parquet")
        with pytest.raises(ask.ReleaseError, match=r"memory://survey/part-000\.parquet cannot be read"):
            release.to_table()
    finally:
        memory.rm("/survey", recursive=True)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://nowhere", "there is no release at memory://nowhere"),
        ("telepathy://x/y", r"telepathy://x/y cannot be opened .*telepathy"),
    ],
)
def test_addresses_that_lead_nowhere_are_named(address, message):
    with pytest.raises(ask.ReleaseError, match=message):
        ask.read_release(address)


def test_plain_paths_do_not_import_fsspec(tmp_path):
    path = str(split_release(tmp_path / "release", 2))
    program = "import sys, askance as ask; ask.read_release(sys.argv[1]).to_table(); print('fsspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
