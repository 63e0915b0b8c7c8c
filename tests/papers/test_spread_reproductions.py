"""Reproductions of [RR] on digits, and the baselines they compare with; without a data folder."""

import csv
import json

import numpy as np
import pytest

import askance as ask
from askance.errors import InvalidInput
from askance.papers.data.data_folder import FOLDER
from askance.papers.data.digits import handwritten_digits
from askance.papers.randomised_response.baselines import reconstruct, reconstruction, train_on_noise
from askance.papers.registry import run_entry, select

NAMES = [
    f"randomised-response/{item}"
    for item in ("appendix-b", "figure-1", "figure-2", "figure-3", "figure-4", "section-6-1")
]


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv(FOLDER, raising=False)


# Seeds are fixed. Over seeds, about 40 simulated numbers are checked to 4 standard errors: a correct program fails
# for one seed in 400.
@pytest.mark.parametrize("name", NAMES)
def test_entry_passes(name, tmp_path):
    (entry,) = select([name])
    outcome = run_entry(entry, tmp_path, seed=0, quick=True)
    assert outcome.passes, [finding for finding in outcome.findings if not finding.passes]
    for plot in outcome.plots:
        assert plot.read_bytes().startswith(b"\x89PNG")
    for table in outcome.data:
        rows = list(csv.reader(table.read_text(encoding="utf-8").splitlines()))
        assert len(rows) > 3
        assert len({len(row) for row in rows}) == 1
    account = json.loads((tmp_path / f"{name}.json").read_text())
    assert account["passes"] is True
    if "Digits" in account["note"]:
        assert "in place of MNIST" in account["note"]


def test_the_printed_curvature_would_be_noticed(tmp_path, monkeypatch):
    """The checks can fail: put (107) as printed in place of the one term."""
    from askance.papers.randomised_response import appendix_b as appendix

    monkeypatch.setattr(appendix, "curvature", appendix.curvature_as_printed)
    (entry,) = select(["randomised-response/appendix-b"])
    wrong = [f.quantity for f in run_entry(entry, tmp_path, seed=0, quick=True).findings if not f.passes]
    assert wrong == [f"s={scale:g}: curvature of L', one term" for scale in appendix.SCALES]


def test_a_posterior_that_does_not_follow_theta_would_be_noticed(tmp_path, monkeypatch):
    from askance.papers.randomised_response import figure_1

    monkeypatch.setattr(figure_1, "posterior_of_one", lambda theta, report, flip: np.full(np.shape(theta), 0.5))
    (entry,) = select(["randomised-response/figure-1"])
    assert not run_entry(entry, tmp_path, seed=0, quick=True).passes


def test_wrong_flips_would_be_noticed(tmp_path, monkeypatch):
    from askance.papers.randomised_response import figure_2

    right = figure_2.StateFlip
    monkeypatch.setattr(figure_2, "StateFlip", lambda states, flip, dim: right(states, 1.1 * flip, dim))
    (entry,) = select(["randomised-response/figure-2"])
    wrong = [f.quantity for f in run_entry(entry, tmp_path, seed=0, quick=True).findings if not f.passes]
    assert "p_f=0.4: share of pixels kept" in wrong
    assert "p_f=0.4: exact epsilon" in wrong


# -- digits ------------------------------------------------------------------------------------------------


def test_small_digits_stand_in_for_mnist():
    digits = handwritten_digits()
    assert digits.stand_in
    assert digits.classes == (7, 9)
    assert digits.pictures.max() <= digits.states - 1
    split = digits.split(50, 40, np.random.default_rng(0))
    assert np.bincount(split.y)[[7, 9]].tolist() == [50, 50]
    assert np.bincount(split.y_test)[[7, 9]].tolist() == [40, 40]
    rows = {tuple(row) for row in split.X.tolist()}
    assert len(rows & {tuple(row) for row in split.X_test.tolist()}) <= 1  # no picture twice, but for equal ones
    with pytest.raises(InvalidInput, match="pictures of 7"):
        digits.split(170, 40, np.random.default_rng(0))


def test_mnist_is_read_from_the_folder(tmp_path, monkeypatch):
    (tmp_path / "mnist").mkdir()
    pictures = np.arange(3 * 28 * 28, dtype=np.uint64).reshape(3, 28, 28).astype(np.uint8)
    np.savez(tmp_path / "mnist" / "mnist.npz", x_train=pictures, y_train=np.array([7, 1, 9]))
    monkeypatch.setenv(FOLDER, str(tmp_path))
    digits = handwritten_digits()
    assert not digits.stand_in
    assert "CC BY-SA" in digits.source
    assert digits.labels.tolist() == [7, 9]
    np.testing.assert_array_equal(digits.pictures[1], pictures[2].ravel())


# -- baselines ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (4_000, 2))
    y = np.where(rng.random(4_000) < 1 / (1 + np.exp(2.0 - 2 * X[:, 0])), "yes", "no")
    channel = ask.RowChannel(ask.StateFlip(3, 0.3), label=ask.Warner(0.8))
    return channel, X, y, *channel.simulate((X, y), rng)


def test_training_on_noise_shrinks_and_reconstruction_does_not_mend_it(records):
    """The truth is 2; both baselines are 10 and more standard errors (.05) below it."""
    channel, _, _, reports, labels = records
    for fitted in (train_on_noise(channel, reports, labels), reconstruction(channel, reports, labels)):
        assert list(fitted.classes_) == ["no", "yes"]
        assert 0.2 < fitted.coef_[0, 0] < 1.5
        assert abs(fitted.coef_[0, 1]) < 0.2


def test_a_reconstruction_is_bayes_rule(records):
    channel, _, _, reports, _ = records
    prior = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    law = np.full((3, 3), 0.15) + 0.55 * np.eye(3)
    expected = np.empty((2, 3))
    for j in range(2):
        joint = law * prior[j]
        expected[j] = joint @ [0, 1, 2] / joint.sum(axis=1)
    found = reconstruct(channel, reports, prior=prior)
    np.testing.assert_allclose(found, np.column_stack([expected[j][reports[:, j]] for j in range(2)]))


def test_without_noise_baselines_are_logistic_regression(records):
    from sklearn.linear_model import LogisticRegression

    _, X, y, _, _ = records
    clear = ask.RowChannel(ask.StateFlip(3, 0.0), label=ask.Identity(["no", "yes"]))
    known = LogisticRegression(max_iter=5000).fit(X, y)
    np.testing.assert_allclose(train_on_noise(clear, X, y).coef_, known.coef_, atol=1e-3)
    np.testing.assert_allclose(reconstruction(clear, X, y).coef_, known.coef_, atol=1e-3)
    told = ask.RowChannel(ask.StateFlip(3, 0.0))
    np.testing.assert_allclose(reconstruction(told, X, y).coef_, known.coef_, atol=1e-3)


def test_the_ridge_of_a_baseline_can_be_chosen(records):
    channel, _, _, reports, labels = records
    few = slice(0, 200)
    assert train_on_noise(channel, reports[few], labels[few], ridge="auto").C in 1 / np.logspace(0, 3.5, 8)
    assert reconstruction(channel, reports[few], labels[few], ridge="auto").C in 1 / np.logspace(0, 3.5, 8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ["perhaps"] * 4_000}, "perhaps"),
        ({"labels": ["yes"] * 4_000}, "one class only"),
        ({"ridge": -1.0}, "ridge=-1.0"),
        ({"channel": ask.Warner(0.8)}, "a RowChannel"),
    ],
)
@pytest.mark.parametrize("baseline", [train_on_noise, reconstruction])
def test_baselines_refuse_what_they_cannot_use(records, baseline, change, message):
    channel, _, _, reports, labels = records
    given = {"channel": channel, "labels": labels, "ridge": 1.0} | change
    with pytest.raises(InvalidInput, match=message):
        baseline(given["channel"], reports, given["labels"], ridge=given["ridge"])


def test_states_among_numbers_are_reconstructed_as_states():
    channel = ask.RowChannel([ask.StateFlip((10, 20), 0.2), ask.GaussianNoise(0.5)])
    reports = np.array([[10.0, 1.0], [20.0, -1.0]])
    alone = reconstruct(ask.StateFlip((10, 20), 0.2), reports[:, :1], prior="flat")
    np.testing.assert_allclose(alone[:, 0], [12.0, 18.0])
    np.testing.assert_allclose(reconstruct(channel, reports, prior="flat")[:, 0], [12.0, 18.0])
