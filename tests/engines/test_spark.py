"""The Spark engine, on a real session with two worker processes: the laws of all engines, and what is Spark's own."""

import gc
import json
import os
import secrets
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import askance as ask
from askance.engines.base import engine_from
from askance.engines.local.engine import LocalEngine
from askance.engines.spark.engine import SparkEngine
from askance.engines.spark.rows import spark_release
from askance.learning.face.release_records import NumericColumns, records_of
from askance.releases.header import Covariate, Header, Question
from askance.statistics.features import FeatureMoments
from askance.statistics.softmax_score import SoftmaxScore
from askance.workflows.analysis import analyse
from dying import Dying
from engine_laws import FITS, HEADER, EngineLaws, assert_same_numbers, reference, split_release, survey
from engine_laws import releases as releases  # a fixture
from waiting import PATIENCE, wait_until

JAVA = shutil.which("java") or os.environ.get("JAVA_HOME")
# For a Java that lives two minutes: no long optimising, one thread that collects, and Spark's own classes are trusted.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
pytestmark = [
    pytest.mark.skipif(not JAVA, reason="NO JAVA: install Java 17 (Debian: default-jre-headless) to test Spark"),
    pytest.mark.xdist_group("spark"),  # one session for all
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # py4j leaves them to the collector
]


@pytest.fixture(scope="module")
def engine():
    """Two workers, and two attempts at each task. Workers find the statistics of this file through PYTHONPATH."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
        environment.setenv("SPARK_SUBMIT_OPTS", QUICK)
        started = SparkEngine.start("local[2,2]")
    yield replace(started, tasks=2)
    started.close()


@pytest.fixture(scope="module")
def folder(engine, tmp_path_factory):
    return split_release(tmp_path_factory.mktemp("spark") / "release", 7)


@pytest.fixture(scope="module")
def dataframe(engine, folder):
    """The same rows as Spark reads them, of which askance's header is no part."""
    return engine.session.read.parquet(str(folder))


class TestLaws(EngineLaws):
    """See engine_laws.py."""


# -- sums --------------------------------------------------------------------------------------------


def test_many_sums_are_merged_on_the_executors_in_the_same_order_every_time(engine, tmp_path, monkeypatch):
    monkeypatch.setattr("askance.engines.spark.engine._MERGED_HERE", 3)
    release = ask.read_release(split_release(tmp_path / "release", 100))
    source = records_of(release, "cheated", NumericColumns(("age", "income")), "w")
    statistic = FeatureMoments(2, True)
    wide = replace(engine, tasks=12)  # of which 4, and then 2, are left
    first, second = (wide.reduce(statistic, source) for _ in range(2))
    assert first.rows == release.num_rows
    np.testing.assert_allclose(first.second, LocalEngine().reduce(statistic, source).second, rtol=1e-12)
    np.testing.assert_array_equal(first.second, second.second)


def test_what_is_held_is_let_go(engine, folder):
    def cached():
        return set(engine.session.sparkContext._jsc.getPersistentRDDs())

    before = cached()  # what earlier tests held may go at any time
    held = engine.cache(records_of(ask.read_release(folder), "cheated", NumericColumns(("age",)), None))
    assert engine.cache(held) is held
    (mine,) = cached() - before
    del held
    gc.collect()
    wait_until(lambda: mine not in cached(), "Spark lets go of its cache")


# -- what moves --------------------------------------------------------------------------------------


def moved_by(engine, work):
    """Bytes that tasks sent back or exchanged, and bytes of records that they took from the cache."""
    context = engine.session.sparkContext
    group = secrets.token_hex()
    context.setJobGroup(group, "")
    work()
    context.setJobGroup("", "")
    store, tracker = context._jsc.sc().statusStore(), context.statusTracker()
    context._jsc.sc().listenerBus().waitUntilEmpty()
    stages = {stage for job in tracker.getJobIdsForGroup(group) for stage in tracker.getJobInfo(job).stageIds}
    tasks = [task for stage in stages for task in _all(store.taskList(stage, 0, 1000))]
    metrics = [task.taskMetrics().get() for task in tasks]
    moved = sum(one.resultSize() + one.shuffleWriteMetrics().bytesWritten() for one in metrics)
    return moved, sum(one.inputMetrics().bytesRead() for one in metrics)


def _all(scala_sequence):
    return [scala_sequence.apply(number) for number in range(scala_sequence.size())]


def test_bytes_of_an_iteration_do_not_grow_with_the_records(engine, tmp_path):
    from pyspark import cloudpickle

    from askance.engines.spark.workers import ReadBlocks, Sum

    statistic = SoftmaxScore(np.zeros((1, 3)), ask.Warner(0.85).matrix, "marginal", True)
    assert len(cloudpickle.dumps(Sum(statistic, ReadBlocks()))) < 2000  # what goes to a task
    moved, read = {}, {}
    for rows in (6000, 60_000):
        release = ask.read_release(split_release(tmp_path / str(rows), 7, survey(rows)))
        held = engine.cache(records_of(release, "cheated", NumericColumns(("age", "income")), None))
        moved[rows], read[rows] = moved_by(engine, lambda: engine.reduce(statistic, held))  # noqa: B023
    assert read[60_000] > 9 * read[6000] > 9 * 6000 * 16  # the records were there, and were summed where they are
    assert abs(moved[60_000] - moved[6000]) < 500
    assert moved[60_000] < 20_000


# -- DataFrames --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fit",
    ["prevalence, weighted", "marginal, formula", "design per row", "three classes", "hidden rows", "hidden outcome"],
)
def test_a_dataframe_is_fitted_like_files_and_arrays(engine, dataframe, fit):
    assert_same_numbers(FITS[fit](spark_release(dataframe, HEADER), engine), reference(fit))


@pytest.mark.parametrize("right", ["center(age) + C(school)", "1"])
def test_formulas_learn_from_all_rows_of_a_dataframe(engine, dataframe, folder, right):
    here = ask.IndirectClassifier().fit_release(folder, formula=f"cheated ~ {right}")
    there = ask.IndirectClassifier().fit_release(spark_release(dataframe, HEADER), engine, formula=f"cheated ~ {right}")
    np.testing.assert_allclose(there.parameters_, here.parameters_, rtol=1e-9)
    assert there.parameter_names_ == here.parameter_names_


def test_a_formula_that_mixes_rows_is_refused(engine, dataframe):
    with pytest.raises(ask.InvalidInput, match=r"mean`\(\.\.\.\)' in the formula"):
        ask.IndirectClassifier().fit_release(
            spark_release(dataframe, HEADER), engine, formula="cheated ~ I(age - age.mean())"
        )


def test_a_dataframe_has_a_report_like_any_release(engine, dataframe, folder):
    here, there = (
        analyse(source, question="cheated", engine=where).report.to_dict()
        for source, where in ((ask.read_release(folder), "local"), (spark_release(dataframe, HEADER), engine))
    )
    assert json.dumps(there) == json.dumps(here)


def test_columns_of_a_dataframe_are_taken_as_the_header_says(engine):
    """Numbers that arrive as text, categories as numbers, a name that Spark would take for a path."""
    header = Header(
        (Question("cheated", ask.Warner(0.8)),),
        (Covariate("age.now", "number"), Covariate("wave", "category")),
    )
    rng = np.random.default_rng(0)
    reports, ages, waves = rng.choice(["no", "yes"], 500), rng.integers(18, 80, 500), rng.integers(1, 4, 500)
    rows = list(zip(reports.tolist(), ages.astype(str).tolist(), waves.tolist(), strict=True))
    odd = engine.session.createDataFrame(rows, "cheated string, `age.now` string, wave int").repartition(3)
    plain = ask.Release.from_table(pa.table({"cheated": reports, "age.now": ages, "wave": waves}), header)
    for terms in ({"features": ["age.now"]}, {"formula": "cheated ~ wave"}):
        found = ask.IndirectClassifier().fit_release(spark_release(odd, header), engine, **terms)
        expected = ask.IndirectClassifier().fit_release(plain, **terms)
        np.testing.assert_allclose(found.parameters_, expected.parameters_, rtol=1e-9)
        assert found.parameter_names_ == expected.parameter_names_


def test_faults_in_a_dataframe_are_told(engine, dataframe):
    header = Header((Question("cheated", ask.Warner(0.8)),))
    with pytest.raises(ask.InvalidInput, match="the DataFrame has no column 'stolen'"):
        spark_release(dataframe, Header((Question("stolen", ask.Warner(0.8)),)))
    wrong = engine.session.createDataFrame([("no",), ("maybe",)], "cheated string")
    for fit in (ask.Prevalence(), ask.IndirectClassifier()):
        with pytest.raises(ask.InvalidInput, match=r"column 'cheated', row .*: 'maybe' is not one of"):
            fit.fit_release(spark_release(wrong, header), engine)
    with pytest.raises(ask.InvalidInput, match="no records"):
        ask.IndirectClassifier().fit_release(spark_release(wrong.limit(0), header), engine)
    broken = dataframe.selectExpr("raise_error('no such table') as cheated")
    with pytest.raises(ask.AskanceError, match=r"Spark gave up \(.*no such table") as caught:
        ask.Prevalence().fit_release(spark_release(broken, header), engine)
    assert "\n" not in str(caught.value)


def test_only_spark_reads_a_dataframe(dataframe):
    release = spark_release(dataframe, HEADER)
    for fit in (ask.Prevalence(), ask.IndirectClassifier()):
        with pytest.raises(ask.InvalidInput, match="outside of Spark; expected engine='spark'"):
            fit.fit_release(release, question="cheated", **({} if fit.__class__ is ask.Prevalence else _AGE))


_AGE = {"features": ["age"]}


def test_rows_in_memory_do_not_travel(engine):
    release = ask.Release.from_table(survey(), HEADER)
    with pytest.raises(ask.InvalidInput, match=r"for the workers of Spark; .* Write it first"):
        ask.Prevalence().fit_release(release, engine, question="cheated")


# -- sessions ----------------------------------------------------------------------------------------


def test_the_session_of_the_program_is_used_and_left_running(engine, folder):
    found = []
    other = threading.Thread(target=lambda: found.append(engine_from("spark")))
    other.start()
    other.join()
    for same in (*found, engine_from("spark"), SparkEngine.start("local[2,2]"), SparkEngine(engine.session)):
        assert same.session.sparkContext is engine.session.sparkContext
        same.close()
    ask.Prevalence().fit_release(folder, "spark", question="cheated")
    assert engine.session.range(3).count() == 3
    with pytest.raises(ask.InvalidInput, match="this program has a session at local"):
        engine_from("spark:local[3]")


def elsewhere(code, **environment):
    """Run code in a process of its own, which has no session yet; return the last line that it said."""
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment, timeout=PATIENCE
    )
    return said.stderr.strip().splitlines()[-1]


def test_spark_that_does_not_start_is_said_with_its_reason():
    start = "from askance.engines.base import engine_from; engine_from({!r})"
    assert "no Spark master answers at spark://localhost:9" in elsewhere(start.format("spark:spark://localhost:9"))
    said = elsewhere(start.format("spark"), JAVA_HOME="/nowhere")
    assert "Spark did not start at local[*]" in said
    assert "/nowhere/bin/java" in said
    assert "default-jre-headless" in said


def test_a_missing_extra_names_the_command_that_installs_it(monkeypatch):
    for name in ("pyspark", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ask.AskanceError, match=r"pip install 'askance\[spark\]'"):
        engine_from("spark")


def test_at_the_command_line(folder):
    askance = str(Path(sys.executable).with_name("askance"))
    command = [askance, "fit", str(folder), "--question", "cheated", "--engine", "spark:local[1]", "--json"]
    environment = os.environ | {"SPARK_SUBMIT_OPTS": QUICK}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    here = analyse(ask.read_release(folder), question="cheated").report.to_dict()
    assert json.loads(done.stdout)["prevalence"] == json.loads(json.dumps(here["prevalence"]))


# -- failures: last, because the workers that replace dead ones have to import everything again -------


def test_a_worker_that_dies_is_replaced(engine, folder, tmp_path):
    source = records_of(ask.read_release(folder), "cheated", NumericColumns(()), None)
    for number, records in enumerate((source, engine.cache(source))):
        marker = tmp_path / str(number)
        assert engine.reduce(Dying(str(marker)), records) == source.num_rows
        assert marker.exists()


def test_workers_that_always_die_are_an_error_of_one_line(engine, folder, tmp_path):
    source = records_of(ask.read_release(folder), "cheated", NumericColumns(()), None)
    with pytest.raises(ask.AskanceError, match=r"Spark gave up \(Python worker exited unexpectedly") as caught:
        replace(engine, tasks=1).reduce(Dying(str(tmp_path / "marker"), always=True), source)
    assert "\n" not in str(caught.value)
