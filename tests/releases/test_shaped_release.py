"""Releases whose features were shaped first: recomputed when read, audited, previewed, refused where worth nothing."""

import json

import numpy as np
import pytest

import askance as ask
from askance.errors import AskanceWarning, InvalidInput, ReleaseError
from askance.releases.mean_operator_release import MeanOperatorRelease
from askance.releases.restated import content_digest

RNG = np.random.default_rng(13)
X = RNG.normal(size=(600, 3)) * [1e5, 1, 1e-2]
Y = np.where(RNG.random(600) < 1 / (1 + np.exp(-X[:, 1])), 1, -1)


@pytest.fixture(scope="module")
def release():
    done = ask.release_mean_operator(X, Y, 1)
    assert done.shape is not None
    return done


def test_a_shaped_release_says_version_3_and_an_unshaped_one_2(release):
    assert release.to_dict()["version"] == 3
    assert ask.release_mean_operator(X, Y, 1, shape="none").to_dict()["version"] == 2
    assert MeanOperatorRelease.from_dict(release.to_dict()).to_dict() == release.to_dict()
    assert "standardised" in str(release)


def test_the_total_is_that_of_the_shaped_rows(release):
    many = ask.release_mean_operator(X, Y, 10**6, mechanism="laplace", shape=release.shape)
    rows = np.column_stack([np.ones(600), release.shape.rows(X)])
    np.testing.assert_allclose(many.operator.values, Y @ rows / 600, atol=1e-6)
    assert many.norms["two"] == pytest.approx(np.sqrt((rows**2).sum(axis=1).max()), rel=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told["shape"].update(scale=[1.0, 1.0]),
        lambda told: told["shape"].update(cap=1),  # rows would be shorter than the norms say
        lambda told: told.pop("shape"),
        lambda told: told.update(version=2),
        lambda told: told.update(columns=["a", "b"]),
        lambda told: told["shape"].update(axes=[[1]] * 3),
    ],
)
def test_forged_shapes_are_refused(release, change, tmp_path):
    told = json.loads(release.to_json())
    if "cap" in told["shape"] and told["shape"]["cap"] is None and told["shape"]["axes"] is None:
        told["shape"].update(axes=[[1 << 20, 0, 0], [0, 1 << 20, 0], [0, 0, 1 << 20]], shift=20)
    change(told)
    told.pop("digest")
    path = tmp_path / "mu.json"
    path.write_text(json.dumps(told | {"digest": content_digest(told)}))
    with pytest.raises(ReleaseError):
        ask.read_release(path)


def test_an_audit_of_shaped_releases_passes_and_finds_too_little_noise(release):
    done = ask.audit_mean_operator(X, Y, 1, mechanism=release.mechanism, made=release, draws=100, error_rate=1e-6)
    assert done.passed

    def quiet(X, y, epsilon, *rest, **options):
        return ask.release_mean_operator(X, y, 4 * float(epsilon), *rest, **options)

    found = ask.audit_mean_operator(
        X, Y, 1, mechanism="laplace", shape=release.shape, release=quiet, draws=100, error_rate=1e-6
    )
    assert not found.passed


def test_a_release_near_guessing_is_warned_of_before_it_is_paid_for(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 1, data_set="d")
    few, labels = RNG.normal(size=(40, 30)), RNG.choice([-1, 1], 40)
    with pytest.warns(AskanceWarning, match="near guessing"):
        ask.release_mean_operator(few, labels, 0.01, ledger=ledger)
    preview = ask.preview_mean_operator(few, 0.01)
    assert preview.is_near_guessing
    assert "near guessing" in str(preview)


def test_a_preview_needs_no_labels_and_tells_what_will_be_done(release):
    preview = ask.preview_mean_operator(X, 1)
    assert preview.shape.to_dict() == release.shape.to_dict()
    assert preview.mechanism == release.mechanism
    assert preview.guarantee == release.guarantee
    assert 0.8 < preview.accuracy() <= 0.85
    assert preview.gained() == pytest.approx((preview.accuracy() - 0.5) / 0.35)
    assert not preview.is_near_guessing
    assert set(preview.to_dict()["predicted_accuracy"]) == {"0.7", "0.85", "0.95"}
    with pytest.raises(InvalidInput, match=r"clean_accuracy=0\.5"):
        preview.accuracy(0.5)


def test_as_large_numbers_as_doubles_hold_are_released():
    odd = X.copy()
    odd[3, 0] = 1e300
    release = ask.release_mean_operator(odd, Y, 1)
    assert release.shape is not None
    assert np.isfinite(release.operator.values).all()
