"""Real columns: constant, nearly constant, sparse, collinear, and more of them than reports can tell apart."""

import numpy as np
import pytest

import askance as ask
from askance.engines.local.engine import LocalEngine
from askance.learning.answers import interval_choice, penalised_fit, softmax_fit
from askance.learning.answers.information_inverse import inverse_information
from askance.statistics.softmax_score import SoftmaxScore


def pixels(rng, rows, columns):
    """Sparse columns as images have them: some never lit, some in a few rows, neighbours alike."""
    share = np.concatenate([np.zeros(5), np.full(5, 2 / rows), np.linspace(0.005, 0.5, columns - 10)])
    smooth = rng.normal(size=(rows, columns + 4))
    smooth = sum(smooth[:, k : k + columns] for k in range(5)) / np.sqrt(5)
    lit = smooth > np.quantile(smooth, 1 - share, axis=0).diagonal()
    return np.where(lit, rng.random((rows, columns)), 0.0)


def reported(rng, X, channel):
    slopes = rng.normal(size=X.shape[1]) * (np.arange(X.shape[1]) % 7 == 0)
    truth = (rng.random(len(X)) < 1 / (1 + np.exp(-(X - X.mean(axis=0)) @ slopes))).astype(int)
    return channel.simulate(truth, rng)


def test_sparse_pixels_take_few_passes_and_the_fit_says_what_it_does_not_know(monkeypatch):
    rng = np.random.default_rng(0)
    X, channel = pixels(rng, 1_200, 120), ask.RandomizedResponse([0, 1], epsilon=1.0)
    monkeypatch.setattr(interval_choice, "_MOST_WORK", 3e10)  # in proportion to so few rows and columns
    reports, passes, reduce = reported(rng, X, channel), [], LocalEngine.reduce

    def counted(self, statistic, source):
        passes.append(type(statistic))
        return reduce(self, statistic, source)

    monkeypatch.setattr(LocalEngine, "reduce", counted)
    with pytest.warns(ask.AskanceWarning):
        model = ask.IndirectClassifier(channel).fit(X, reports)
    # A search from three starts, and a profile of every column, made it more than ten thousand: here profiles begin,
    # take a thousand evaluations each between many hills, and are given up.
    assert passes.count(SoftmaxScore) < 1_600
    assert model.converged_
    assert np.isfinite(model.parameters_).all()
    said = " ".join(model.notes_)
    for words in (
        "constant and says nothing of its own: x0, x1, x2, x3, x4.",
        "no finite estimate of",
        "No interval for",
    ):
        assert words in said
    unknown = np.isnan(model.standard_errors_)
    assert unknown[1:6].all()
    assert unknown.sum() == 5 or "collinear" in said
    assert "none" in model.intervals_
    assert "intervals='profile'" in str(model.summary())


def test_a_nearly_constant_column_is_named_without_a_search():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=600), np.zeros(600)])
    X[[3, 99, 500], 1] = [0.5, 2.0, 1.0]
    channel = ask.RandomizedResponse([0, 1], epsilon=2.0)
    reports = np.asarray(reported(rng, X, channel))
    reports[[3, 99, 500]] = 1
    with pytest.warns(ask.AskanceWarning, match="no finite estimate of 'x1'"):
        model = ask.IndirectClassifier(channel).fit(X, reports)
    low, high = model.profiles_[2].interval()
    assert model.penalty_ == "log-f"
    assert np.isfinite(low)
    assert high == np.inf
    with pytest.raises(ask.InvalidInput, match="no finite estimate of 'x1'"):
        ask.IndirectClassifier(channel, ridge=0).fit(X, reports)
    # One of the others with another report, and there is a maximum.
    reports[99] = 0
    assert ask.IndirectClassifier(channel).fit(X, reports).penalty_ == "none"


def test_a_column_is_separated_towards_any_of_several_classes():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=900), np.ones(900)])
    X[:4, 1] = 0.0
    channel = ask.RandomizedResponse(["a", "b", "c"], epsilon=3.0)
    reports = np.asarray(channel.simulate(rng.choice(["a", "b", "c"], size=900), rng))
    reports[:4] = "c"
    with pytest.warns(ask.AskanceWarning, match=r"no finite estimate of 'c: x1'|no finite estimate of 'x1"):
        model = ask.IndirectClassifier(channel).fit(X, reports)
    assert model.penalty_ == "log-f"


def test_slopes_lead_a_wide_penalised_fit_to_the_maximum_that_newtons_method_finds(monkeypatch):
    rng = np.random.default_rng(3)
    X, channel = pixels(rng, 3_000, 300), ask.RandomizedResponse([0, 1], epsilon=5.0)
    reports = reported(rng, X, channel)
    fits = []
    for slopes_from in (penalised_fit._BY_SLOPES, 10_000):
        monkeypatch.setattr(penalised_fit, "_BY_SLOPES", slopes_from)
        with pytest.warns(ask.AskanceWarning):
            fits.append(ask.IndirectClassifier(channel, intervals="wald").fit(X, reports))
    assert all(fit.converged_ and fit.penalty_ == "log-f" for fit in fits)
    known = np.isfinite(fits[0].standard_errors_)
    gap = (fits[0].parameters_ - fits[1].parameters_)[known] / fits[0].standard_errors_[known]
    assert np.abs(gap).max() < 1e-6
    assert fits[0].n_iter_ <= 4 < fits[1].n_iter_


def test_thousands_of_parameters_that_run_away_are_shrunk_to_predict_by(monkeypatch):
    """Log-F there took minutes, and predicted worse: 1,500 pictures of digits of level 3, .49 against .70."""
    monkeypatch.setattr(softmax_fit, "CURVED", 300)
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 4, 400)
    X = pixels(rng, 400, 110) + 2.0 * (np.arange(110) % 4 == labels[:, None]) * rng.random((400, 110))
    channel = ask.RandomizedResponse(list(range(4)), epsilon=3)
    reports = channel.simulate(labels, rng)
    with pytest.warns(ask.AskanceWarning, match="There is no finite estimate.* there to predict"):
        model = ask.IndirectClassifier(channel).fit(X, reports)
    assert model.penalty_ == "shrunk"
    assert set(model.intervals_) == {"none"}
    assert model.score(X, labels, of="truth") > 0.9


def test_an_inverse_passes_over_columns_that_are_left_out():
    rng = np.random.default_rng(9)
    root = rng.normal(size=(40, 12)) * 10.0 ** rng.uniform(-6, 6, 12)
    information = root.T @ root
    information[[0, 7]], information[:, [0, 7]] = 0.0, 0.0
    inverse, seen = inverse_information(information), np.delete(np.arange(12), [0, 7])
    assert not inverse[[0, 7]].any()
    np.testing.assert_allclose(inverse[np.ix_(seen, seen)] @ information[np.ix_(seen, seen)], np.eye(10), atol=1e-6)
    np.testing.assert_array_equal(inverse, inverse.T)
    assert not inverse_information(np.zeros((3, 3))).any()
    assert np.isnan(inverse_information(np.diag([1.0, np.nan]))).all()
    np.testing.assert_allclose(inverse_information(np.ones((3, 3))), np.full((3, 3), 1 / 9))
