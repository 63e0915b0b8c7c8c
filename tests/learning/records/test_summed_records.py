"""Fits to a release on an engine: sums over its parts give what the records in memory give."""

import numpy as np
import pytest
from scipy.special import expit

import askance as ask
from askance.engines.local.engine import LocalEngine
from askance.errors import InvalidInput
from askance.learning.records import summed_records
from askance.learning.records.record_sums import packed, unpacked
from askance.releases import Header, Question

THREE = ask.RandomizedResponse(["a", "b", "c"], truth_probability=0.8)


def released(channel, X, y, rng, path, parts=3):
    """Reports of records, as a release of several files."""
    channel = channel.for_width(X.shape[1])
    reports, labels = channel.simulate((X, y), rng)
    names = tuple(f"x{place}" for place in range(X.shape[1]))
    header = Header((Question("x", channel.features, columns=names), Question("y", channel.label)), ())
    path.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(X)), parts)):
        table = {"x": channel.features.store(channel.features.encode_reports(reports[rows])), "y": labels[rows]}
        ask.Release.from_table(table, header).write(path / f"part-{number}.parquet")
    return ask.read_release(path)


def narrow(features, label, path, rows=3_000, width=4):
    rng = np.random.default_rng(0)
    numbers = "Noise" in type(features).__name__
    X = rng.normal(2, 1, (rows, width)) if numbers else rng.integers(0, 2, (rows, width))
    slopes = np.linspace(-1, 1, width * len(label.classes)).reshape(-1, width)
    chosen = ((X - X.mean(axis=0)) @ slopes.T + rng.gumbel(size=(rows, len(slopes)))).argmax(axis=1)
    return released(ask.RowChannel(features, label), X, np.array(label.classes)[chosen], rng, path)


def wide(path, rows=600, width=30):
    """Correlated attributes, more than the reports determine."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(rows, 3))
    X = np.clip(np.rint(4 + scores @ rng.normal(size=(3, width)) + rng.normal(size=(rows, width))), 0, 8)
    y = np.where(rng.random(rows) < expit(3 * scores[:, 0]), "yes", "no")
    return released(ask.RowChannel(ask.StateFlip(9, 0.2), ask.Warner(0.9)), X.astype(int), y, rng, path)


@pytest.mark.parametrize(
    ("features", "label", "options"),
    [
        (ask.StateFlip(2, 0.1), ask.Warner(0.9), {}),
        (ask.StateFlip(2, 0.1), THREE, {}),
        (ask.StateFlip(2, 0.1), ask.Warner(0.9), {"method": "collapsed", "prior": "flat"}),
        (ask.StateFlip(2, 0.1), ask.Warner(0.9), {"method": "collapsed", "fit_intercept": False, "ridge": 0}),
        (
            [ask.StateFlip(2, 0.1), ask.GaussianNoise(0.5), *[ask.StateFlip(2, 0.1)] * 2],
            ask.Warner(0.9),
            {"method": "collapsed"},
        ),
        (ask.LaplaceNoise(0.5), ask.Warner(0.9), {}),
        (ask.GaussianNoise(0.5), ask.Warner(0.9), {"prior": {"mean": 2, "variance": 1}}),
        (ask.GaussianNoise(0.5), THREE, {"method": "collapsed"}),
    ],
)
def test_what_needs_no_ridge_is_the_same_to_rounding(features, label, options, tmp_path):
    release = narrow(features, label, tmp_path / "release")
    here = ask.SpreadClassifier(**options).fit_release(release)
    there = ask.SpreadClassifier(**options).fit_release(release, LocalEngine(threads=2))
    assert there.method_ == here.method_
    assert there.ridge_ == here.ridge_ == 0
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(there.intercept_, here.intercept_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(there.standard_errors_, here.standard_errors_, rtol=1e-5)
    assert there.log_likelihood_ == pytest.approx(here.log_likelihood_, rel=1e-9)
    assert there.guarantee_ == here.guarantee_
    assert there.n_reports_ == here.n_reports_ == 3_000
    for one, other in zip(there.prior_, here.prior_, strict=True):
        for name, values in one.items():
            np.testing.assert_allclose(values, other[name], rtol=1e-9)


@pytest.mark.filterwarnings("ignore:The attributes depend")
@pytest.mark.parametrize("method", ["collapsed", "spectral", "auto"])
def test_cross_validation_on_an_engine_chooses_alike(method, tmp_path):
    """Ridges of the intercept are estimated from some pairs of records in memory, and from all of them by sums."""
    release = wide(tmp_path / "release")
    here = ask.SpreadClassifier(method=method).fit_release(release)
    there = ask.SpreadClassifier(method=method).fit_release(release, LocalEngine(threads=1))
    assert there.method_ == here.method_
    assert there.ridges_ == pytest.approx(here.ridges_)
    assert there.cv_results_["method"] == here.cv_results_["method"]
    for name in ("log_likelihood", "behind", "behind_error"):
        np.testing.assert_allclose(there.cv_results_[name], here.cv_results_[name], atol=2e-3)
    assert np.abs(there.coef_ - here.coef_).max() < 0.01 * np.abs(here.coef_).max()
    drawn = ask.SpreadClassifier(method=method, random_state=0).fit_release(release, LocalEngine(threads=1))
    assert np.isfinite(drawn.coef_).all()


def test_a_ridge_that_is_given(tmp_path):
    release = wide(tmp_path / "release")
    here = ask.SpreadClassifier(ridge=0.1).fit_release(release)
    there = ask.SpreadClassifier(ridge=0.1).fit_release(release, LocalEngine(threads=1))
    assert there.method_ == here.method_  # a ridge that is given chooses no method
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-3)


def test_what_an_engine_cannot_do_is_refused(tmp_path, monkeypatch):
    release = wide(tmp_path / "release", rows=60, width=5)
    with pytest.raises(InvalidInput, match="sampling goes over all rows together"):
        ask.SpreadClassifier(method="sampling").fit_release(release, "dask")
    wider = wide(tmp_path / "wider", rows=60, width=9)
    with pytest.raises(InvalidInput, match="possible feature vectors"):
        ask.SpreadClassifier(method="enumerate").fit_release(wider, LocalEngine())
    monkeypatch.setattr(summed_records, "MOST_ATTRIBUTES", 4)
    with pytest.raises(InvalidInput, match="5 attributes on an engine"):
        ask.SpreadClassifier().fit_release(release, LocalEngine())


def test_labels_that_are_all_the_same_are_refused(tmp_path):
    channel = ask.RowChannel(ask.StateFlip(2, 0.1, dim=2), ask.Warner(0.9))
    header = Header((Question("x", channel.features), Question("y", channel.label)), ())
    table = {"x": channel.features.store(channel.features.encode_reports(np.eye(2, dtype=int))), "y": ["no", "no"]}
    release = ask.Release.from_table(table, header)
    for engine in ("local", LocalEngine()):
        with pytest.raises(InvalidInput, match="all the same"):
            ask.SpreadClassifier().fit_release(release, engine)


def test_records_are_packed_in_small_numbers():
    small = np.arange(6, dtype=np.uint8).reshape(3, 2)
    records = packed(small, np.array([0, 1, 1], np.uint8), np.array([0, 1, 0], np.uint8))
    assert records.codes.dtype == np.uint8
    reports, labels, folds = unpacked(records)
    assert (reports == small).all()
    assert labels.tolist() == [0, 1, 1]
    assert folds.tolist() == [0, 1, 0]
    assert packed(small + 0.5, labels, folds).codes.dtype == np.float64


@pytest.mark.parametrize("engine", ["local", LocalEngine()], ids=["in memory", "on an engine"])
@pytest.mark.parametrize("raw", ["features", "labels"])
def test_records_that_were_not_hidden_are_refused_wherever_they_are(raw, engine, tmp_path):
    rng = np.random.default_rng(5)
    channel = ask.RowChannel(ask.StateFlip(2, 0.2, dim=4), ask.Warner(0.7))
    X = (rng.random((4_000, 4)) < 0.05).astype(int) if raw == "features" else rng.integers(0, 2, (4_000, 4))
    y = np.where(rng.random(4_000) < expit(6 * X[:, 0] - 3 + 4 * X[:, 1]), "yes", "no")
    reports, labels = channel.simulate((X, y), rng)
    told = {"features": (X, labels), "labels": (reports, y)}[raw]
    header = Header((Question("x", channel.features), Question("y", channel.label)), ())
    table = {"x": channel.features.store(channel.features.encode_reports(told[0])), "y": told[1]}
    ask.Release.from_table(table, header).write(tmp_path / "r", rows_per_part=1_500)
    with pytest.raises(InvalidInput, match="feature reports with" if raw == "features" else "label reports that are"):
        ask.SpreadClassifier().fit_release(tmp_path / "r", engine)
