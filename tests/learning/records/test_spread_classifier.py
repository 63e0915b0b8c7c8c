"""SpreadClassifier: recovery, coverage, every method, bad input, saving, scikit-learn's habits."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import askance as ask
from askance.errors import InvalidInput, NotAvailable

FLIPS = ask.RowChannel(ask.StateFlip(4, 0.2), ask.Warner(0.8))


def people(rows, weights, seed, states=4):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, states, size=(rows, len(weights)))
    y = np.where(rng.random(rows) < expit((X - (states - 1) / 2) @ weights), "yes", "no")
    return X, y, rng


def test_recovers_parameters_and_covers_them():
    # 40 simulations x 5 parameters: 95% intervals cover 200 times with standard deviation 3.1; the limits are beyond
    # three of them (error rate below 0.2%).
    weights, hits, found = np.array([0.8, -0.6, 0.4, 0.0]), 0, []
    for seed in range(40):
        X, y, rng = people(4_000, weights, seed)
        model = ask.SpreadClassifier(FLIPS, "collapsed").fit(*FLIPS.simulate((X, y), rng))
        truth = np.concatenate([[-1.5 * weights.sum()], weights])
        hits += int((np.abs(model.parameters_ - truth) < 1.96 * model.standard_errors_).sum())
        found.append(model.coef_[0])
    assert model.ridge_ == 0
    assert 180 <= hits <= 199
    assert np.linalg.norm(np.mean(found, axis=0) - weights) / np.linalg.norm(weights) < 0.08


def test_noise_that_is_ignored_biases_and_the_spread_likelihood_does_not():
    from askance.papers.randomised_response.baselines import train_on_noise

    weights = np.array([1.0, -1.0, 0.5, 0.5, -0.5])
    X, y, rng = people(20_000, weights, 7)
    reports = FLIPS.simulate((X, y), rng)
    ours = ask.SpreadClassifier(FLIPS).fit(*reports).coef_[0]
    assert np.linalg.norm(ours - weights) < 0.15 * np.linalg.norm(weights)
    assert np.linalg.norm(train_on_noise(FLIPS, *reports).coef_[0]) < 0.5 * np.linalg.norm(weights)


THREE = np.array([[1.0, 0.0, -0.5, 0.0], [-1.0, 1.0, 0.0, 0.3], [0.0, -1.0, 0.5, -0.3]])


def three_classes(flip, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(20_000, 4))
    logits = (X - 1.5) @ THREE.T
    y = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    channel = ask.RowChannel(ask.StateFlip(4, flip), ask.RandomizedResponse([0, 1, 2], truth_probability=0.7))
    return X, y, logits.argmax(axis=1), ask.SpreadClassifier(channel).fit(*channel.simulate((X, y), rng))


def test_three_classes():
    X, _, _, model = three_classes(0.01, 3)
    assert model.coef_.shape == (3, 4)
    assert model.coef_.sum(axis=0) == pytest.approx(np.zeros(4), abs=1e-8)
    assert model.covariance_.shape == (10, 10)
    wrong = model.parameters_.reshape(2, 5)[:, 1:] - (THREE[1:] - THREE[0])
    assert np.abs(wrong / model.standard_errors_.reshape(2, 5)[:, 1:]).max() < 4
    assert model.predict_proba(X[:5]).sum(axis=1) == pytest.approx(np.ones(5))


def test_three_classes_under_strong_noise():
    X, _, best, model = three_classes(0.15, 3)
    cosine = (model.coef_ * THREE).sum() / np.linalg.norm(model.coef_) / np.linalg.norm(THREE)
    assert cosine > 0.99
    assert np.linalg.norm(model.coef_) == pytest.approx(np.linalg.norm(THREE), rel=0.1)
    assert np.mean(model.predict(X) == best) > 0.95
    wrong = model.parameters_.reshape(2, 5)[:, 1:] - (THREE[1:] - THREE[0])
    assert np.abs(wrong / model.standard_errors_.reshape(2, 5)[:, 1:]).max() < 4


@pytest.mark.parametrize("noise", [ask.GaussianNoise(0.8), ask.LaplaceNoise(0.5)])
def test_added_noise(noise):
    rng = np.random.default_rng(4)
    X = rng.normal(2, 1, size=(20_000, 4))
    y = np.where(rng.random(20_000) < expit((X - 2) @ [1.0, -1.0, 0.5, 0.0]), "yes", "no")
    channel = ask.RowChannel(noise, ask.Warner(0.8))
    model = ask.SpreadClassifier(channel).fit(*channel.simulate((X, y), rng))
    assert model.coef_[0] == pytest.approx([1, -1, 0.5, 0], abs=0.15)
    given = clone(model).set_params(prior={"mean": 2, "variance": [1.0, 1.0, 1.0, 1.0]})
    assert given.fit(*channel.simulate((X, y), rng)).coef_[0] == pytest.approx([1, -1, 0.5, 0], abs=0.15)


@pytest.mark.parametrize("method", ["auto", "collapsed"])
def test_a_number_that_does_not_vary_ruins_no_other_coefficient(method):
    # It had a coefficient of 10^5, and the others were 30 to 300 times too large, with standard errors.
    channel = ask.RowChannel(ask.GaussianNoise(0.8), ask.Warner(0.8, classes=(0, 1)))
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(6_000, 3))
        X[:, 1] = 3.0
        y = (rng.random(len(X)) < expit(X @ [1.0, 0.0, -0.7])).astype(int)
        reports, labels = channel.simulate((X, y), rng)
        named = pd.DataFrame(reports, columns=["age", "height", "dose"])
        model = ask.SpreadClassifier(channel, method).fit(named, labels)
        assert model.covariance_ is None
        assert "the reports of 'height' vary no more than their noise" in model.notes_[0]
        np.testing.assert_allclose(model.coef_[0, [0, 2]], [1.0, -0.7], atol=0.4)
        assert abs(model.coef_[0, 1]) < 3
        assert model.score(pd.DataFrame(X, columns=named.columns), y, of="truth") > 0.6


def test_a_state_that_does_not_vary_has_no_coefficient_of_many_digits():
    # Minus 160,800 with a standard error of 1.5, beside others that were right: its share was exactly one.
    channel = ask.RowChannel(ask.StateFlip(2, 0.2), ask.Warner(0.8, classes=(0, 1)))
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(6_000, 9)) + 2.0 * (rng.random((6_000, 1)) < 0.3) > 0.5).astype(int)
    X[:, 1] = 1
    y = (rng.random(len(X)) < expit(X @ [0.9, 0, 0.6, -0.6, 0.4, -0.4, 0.7, 0.3, -0.5] - 0.5)).astype(int)
    reports, labels = channel.simulate((X, y), rng)
    reports[:, 1] = 1
    reports[rng.permutation(6_000)[:1_150], 1] = 0  # a little less than the noise makes
    model = ask.SpreadClassifier(channel).fit(reports, labels)
    assert model.covariance_ is None
    assert "the reports of 'x1' vary no more than their noise" in model.notes_[0]
    assert np.abs(model.coef_).max() < 5


def test_few_binary_attributes_are_enumerated():
    channel = ask.RowChannel(ask.StateFlip(2, 0.2), ask.Warner(0.85))
    X, y, rng = people(20_000, [2.0, -1.0], 5, states=2)
    reports = channel.simulate((X, y), rng)
    model = ask.SpreadClassifier(channel).fit(*reports)
    assert model.method_ == "enumerate"
    assert np.all(np.abs(model.coef_[0] - [2, -1]) < 4 * model.standard_errors_[1:])
    flat = ask.SpreadClassifier(channel, prior="flat").fit(*reports)
    given = ask.SpreadClassifier(channel, prior=[[0.5, 0.5]] * 2).fit(*reports)
    assert flat.coef_ == pytest.approx(given.coef_)


def wide(seed=6, rows=300, width=60):
    """Correlated attributes, more than the reports determine."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(rows + 2_000, 3))
    X = np.clip(np.rint(4 + scores @ rng.normal(size=(3, width)) + rng.normal(size=(rows + 2_000, width))), 0, 8)
    y = np.where(scores[:, 0] + 0.3 * rng.normal(size=len(X)) > 0, "yes", "no")
    channel = ask.RowChannel(ask.StateFlip(9, 0.3), ask.Warner(0.8))
    return channel, channel.simulate((X[:rows].astype(int), y[:rows]), rng), X[rows:], y[rows:]


def test_methods_on_wide_records():
    channel, reports, X, y = wide()
    model = ask.SpreadClassifier(channel).fit(*reports)
    assert model.score(X, y, of="truth") > 0.85
    assert set(model.cv_results_["method"]) == {"spectral", "collapsed"}
    assert model.covariance_ is None
    assert model.covariance_note_
    with pytest.raises(NotAvailable, match="standard errors"):
        _ = model.standard_errors_
    assert "No standard errors" in str(model.summary())
    assert any("No standard errors" in note and "shrunk" in note for note in model.notes_)
    with pytest.warns(ask.AskanceWarning, match="depend on each other"):
        ask.SpreadClassifier(channel, method="collapsed", ridge=0.1).fit(*reports)
    for method, least in (("collapsed", 0.82), ("spectral", 0.85), ("sampling", 0.75)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ask.AskanceWarning)
            one = ask.SpreadClassifier(channel, method=method, random_state=0).fit(*reports)
        assert one.method_ == method
        assert one.score(X, y, of="truth") > least
        assert one.covariance_ is None
    again = clone(one).fit(*reports)
    assert again.coef_ == pytest.approx(one.coef_)


def test_classes_that_are_not_equally_frequent():
    channel, (X_reports, y_reports), X, y = wide(rows=1_200)
    rare = np.flatnonzero(y_reports == "yes")[::3]  # one in three of those who say yes
    kept = np.sort(np.concatenate([rare, np.flatnonzero(y_reports == "no")]))
    model = ask.SpreadClassifier(channel).fit(X_reports[kept], y_reports[kept])
    even = ask.SpreadClassifier(channel).fit(X_reports, y_reports)
    assert model.predict_proba(X)[:, 1].mean() < even.predict_proba(X)[:, 1].mean() - 0.1
    assert even.score(X, y, of="truth") > 0.88


def test_any_classifier_by_sampling():
    channel, reports, X, y = wide(rows=600)
    model = ask.SpreadClassifier(channel, "sampling", base_estimator=GaussianNB(), rounds=5, random_state=1)
    assert model.fit(*reports).score(X, y, of="truth") > 0.7
    assert "GaussianNB" in str(model.summary())
    with pytest.raises(NotAvailable, match="decision_function"):
        model.decision_function(X)
    with pytest.raises(InvalidInput, match="method='sampling'"):
        clone(model).set_params(method="auto").fit(*reports)


def test_probabilities_of_reports_know_the_noise():
    weights = np.array([1.5, -1.5, 1.0, 1.0, -1.0])
    X, y, rng = people(30_000, weights, 8)
    X_reports, y_reports = FLIPS.simulate((X, y), rng)
    model = ask.SpreadClassifier(FLIPS).fit(X_reports, y_reports)
    told = model.predict_proba_reports(X_reports)[:, 1]
    # Calibrated: among reports of like probability, the truth is as frequent. 2,000 or more in each bin: 5 errors.
    for low in (0.1, 0.3, 0.5, 0.7):
        there = (told > low) & (told <= low + 0.2)
        assert np.mean(y[there] == "yes") == pytest.approx(told[there].mean(), abs=0.05)
    taken_for_clean = model.predict_proba(X_reports)[:, 1]
    assert np.abs(taken_for_clean - 0.5).mean() > np.abs(told - 0.5).mean() + 0.05
    assert model.score_reports(X_reports, y_reports) == pytest.approx(model.log_likelihood_ / 30_000, abs=1e-6)


def test_what_is_fitted_is_saved_and_deployed(tmp_path):
    X, y, rng = people(3_000, [1.0, -1.0, 0.5, 0.2], 9)
    reports = FLIPS.simulate((X, y), rng)
    model = ask.SpreadClassifier(FLIPS).fit(*reports)
    model.save(tmp_path / "model.json")
    again = ask.load_model(tmp_path / "model.json")
    assert again.predict_proba(X) == pytest.approx(model.predict_proba(X))
    assert again.predict_proba_reports(reports[0]) == pytest.approx(model.predict_proba_reports(reports[0]))
    assert str(again.summary()) == str(model.summary())
    assert "epsilon" in str(model.summary())
    plain = model.to_sklearn()
    assert plain.predict_proba(X) == pytest.approx(model.predict_proba(X))
    kept = {name for name, value in vars(model).items() if isinstance(value, np.ndarray) and len(value) == len(X)}
    assert not kept


def test_wide_fits_are_saved_too(tmp_path):
    channel, reports, X, _ = wide()
    model = ask.SpreadClassifier(channel).fit(*reports)
    model.save(tmp_path / "model.json")
    again = ask.load_model(tmp_path / "model.json")
    assert again.decision_function(X) == pytest.approx(model.decision_function(X))
    assert again.cv_results_ == model.cv_results_


def test_images_are_laid_out_in_rows():
    channel = ask.RowChannel(ask.StateFlip(2, 0.1), ask.Warner(0.9, classes=(0, 1)))
    rng = np.random.default_rng(10)
    images = rng.integers(0, 2, size=(2_000, 2, 3))
    y = (images[:, 0, 0] + images[:, 1, 2] + 0.4 * rng.normal(size=2_000) > 1.5).astype(int)
    told, labels = channel.simulate((images.reshape(2_000, -1), y), rng)
    model = ask.SpreadClassifier(channel).fit(told.reshape(images.shape), labels)
    assert model.coef_.shape == (1, 6)
    assert model.score(images, y, of="truth") > 0.75


def test_bad_input_is_refused_with_a_reason():
    X, y, rng = people(200, [1.0, -1.0, 0.5, 0.2], 11)
    told, labels = FLIPS.simulate((X, y), rng)
    model = ask.SpreadClassifier(FLIPS)
    with pytest.raises(InvalidInput, match="row 1, column 1"):
        model.fit(np.where(np.arange(800).reshape(200, 4) == 0, 9, told), labels)
    with pytest.raises(InvalidInput, match="all the same"):
        model.fit(told, np.full(200, "yes"))
    with pytest.raises(InvalidInput, match="row 1, column 1"):
        ask.SpreadClassifier(
            ask.RowChannel([ask.StateFlip(4, 0.2), *[ask.GaussianNoise(1.0)] * 3], ask.Warner(0.8))
        ).fit(told + 0.5, labels)
    with pytest.raises(InvalidInput, match="4 columns"):
        ask.SpreadClassifier(ask.RowChannel(ask.StateFlip(4, 0.2, dim=3), ask.Warner(0.8))).fit(told, labels)
    with pytest.raises(InvalidInput, match="RowChannel"):
        ask.SpreadClassifier(ask.Warner(0.8)).fit(told, labels)
    with pytest.raises(InvalidInput, match="label report"):
        model.fit(told, labels[:-1])
    for wrong in ({"method": "magic"}, {"prior": "magic"}, {"ridge": -1}, {"cv": 1}, {"samples": 0}, {"max_iter": 0.5}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            ask.SpreadClassifier(FLIPS, **wrong).fit(told, labels)
    noise = ask.RowChannel(ask.GaussianNoise(1.0), ask.Warner(0.8))
    with pytest.raises(InvalidInput, match="enumerate"):
        ask.SpreadClassifier(noise, method="enumerate").fit(told + rng.normal(size=told.shape), labels)


@pytest.mark.parametrize("method", ["collapsed", "spectral", "auto"])
def test_where_zero_is_does_not_matter(method):
    """Numbers may be dates or the like: far from zero beside how much they vary."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 8))
    y = np.where(rng.random(600) < expit(X @ np.linspace(-1, 1, 8)), "yes", "no")
    for noise in (ask.GaussianNoise(0.5), ask.LaplaceNoise(0.4)):
        channel = ask.RowChannel(noise, ask.Warner(0.8))
        told, labels = channel.simulate((X, y), rng)
        here = ask.SpreadClassifier(channel, method=method).fit(told, labels)
        far = ask.SpreadClassifier(channel, method=method).fit(told + 1e8, labels)
        assert far.ridges_ == pytest.approx(here.ridges_)
        assert far.coef_ == pytest.approx(here.coef_, abs=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_ridge_means_the_same_to_every_method(classes):
    """Features as they are: all likelihoods are then the same, and no class is special."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 4, size=(2_000, 2))
    slopes = np.array([[0.8, -0.5], [-0.8, 0.2], [0.0, 0.4]])[:classes]
    y = (X @ slopes.T + rng.gumbel(size=(2_000, classes))).argmax(axis=1)
    found = {}
    for order in (range(classes), range(classes)[::-1]):
        channel = ask.RowChannel(ask.StateFlip(4, 0.0), ask.RandomizedResponse(list(order), epsilon=2.0))
        reports = ask.RandomizedResponse(range(classes), epsilon=2.0).simulate(y, np.random.default_rng(5))
        for method, options in (("collapsed", {}), ("enumerate", {}), ("sampling", {"samples": 20, "rounds": 30})):
            model = ask.SpreadClassifier(channel, method=method, ridge=0.1, random_state=0, **options)
            chance = model.fit(X, reports).predict_proba(X)
            found[method, order[0]] = chance[:, np.argsort(model.classes_)]
    reference = found["collapsed", 0]
    for (method, _), chance in found.items():
        assert chance == pytest.approx(reference, abs=0.03 if method == "sampling" else 1e-3)


def test_few_reports_on_few_attributes_are_penalised():
    channel = ask.RowChannel(ask.StateFlip(3, 0.1), ask.Warner(0.9))
    X, y, _ = people(8, [1.0, -1.0], 0, states=3)
    model = ask.SpreadClassifier(channel).fit(X, y)
    assert model.method_ == "enumerate"
    assert model.ridge_ > 0
    assert np.abs(model.coef_).max() < 5
    assert "ridge" in model.covariance_note_
    assert ask.SpreadClassifier(channel, ridge=0).fit(X, y).ridge_ == 0


@pytest.mark.parametrize("method", ["auto", "spectral", "collapsed"])
def test_a_handful_of_reports_gives_numbers(method):
    """Fewer rows than attributes, none of which varies more than noise would make it."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (5, 9))
    for rows in (2, 3, 5):
        model = ask.SpreadClassifier(FLIPS, method=method).fit(X[:rows], ["yes", "no", "no", "yes", "no"][:rows])
        assert np.isfinite(model.coef_).all()


def test_a_flat_prior_of_numbers_leaves_the_collapsed_method():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 25))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=200) > 0, "yes", "no")
    channel = ask.RowChannel(ask.GaussianNoise(0.5), ask.Warner(0.9))
    reports = channel.simulate((X, y), rng)
    model = ask.SpreadClassifier(channel, prior="flat").fit(*reports)
    assert model.coef_[0].argmax() == 0
    with pytest.raises(InvalidInput, match="flat prior"):
        ask.SpreadClassifier(channel, prior="flat", method="spectral").fit(*reports)


@pytest.mark.parametrize("prior", [{"mean": [0.0] * 9, "variance": 1.0}, [[0.5, 0.5]] * 9])
def test_a_prior_for_other_attributes_is_refused(prior):
    features = ask.GaussianNoise(0.5) if isinstance(prior, dict) else ask.StateFlip(2, 0.1)
    channel = ask.RowChannel(features, ask.Warner(0.9))
    X, y, _ = people(50, [1.0] * 5, 0, states=2)
    with pytest.raises(InvalidInput, match="9 attributes; expected one for each of the 5"):
        ask.SpreadClassifier(channel, prior=prior).fit(X, y)


def test_standard_errors_of_another_classifier_are_refused():
    X, y, _ = people(200, [1.0, 0.5], 0)
    model = ask.SpreadClassifier(FLIPS, method="sampling", rounds=2, base_estimator=GaussianNB(), random_state=0)
    with pytest.raises(NotAvailable, match="base_estimator"):
        _ = model.fit(X, y).standard_errors_


def scored(seed, classes=("no", "yes")):
    """A fitted model and 4,000 more records, with their reports."""
    channel = ask.RowChannel(ask.StateFlip(4, 0.3), ask.Warner(0.75, classes=classes))
    X, y, rng = people(12_000, [1.5, -1.5, 1.0], seed)
    y = np.array(classes)[(y == "yes").astype(int)]
    reports, labels = channel.simulate((X, y), rng)
    model = ask.SpreadClassifier(channel).fit(reports[4_000:], labels[4_000:])
    return model, X[:4_000], y[:4_000], reports[:4_000], labels[:4_000]


@pytest.mark.parametrize("classes", [("no", "yes"), (7, 9)])
def test_a_score_is_about_the_truth(classes):
    model, X, y, reports, labels = scored(12, classes)
    from_reports = model.score(reports, y, of="truth", features="reports")
    from_clean = model.score(X, y, of="truth")
    assert from_reports == np.mean(model.classes_[model.predict_proba_reports(reports).argmax(axis=1)] == y)
    assert from_clean == np.mean(model.predict(X) == y)
    assert from_clean > from_reports + 0.05
    # The estimates have a standard error of .014: four of them.
    assert model.score(reports, labels) == pytest.approx(from_reports, abs=0.055)
    assert model.score(X, labels, features="clean") == pytest.approx(from_clean, abs=0.055)
    assert np.mean(model.predict(X) == labels) < from_clean - 0.1
    assert model.score(X[:10], y[:10], np.arange(10) == 0, of="truth") == float(model.predict(X[:1])[0] == y[0])
    with pytest.raises(InvalidInput, match="features='noisy'"):
        model.score(X, labels, features="noisy")
    with pytest.raises(InvalidInput, match="as many of both"):
        model.score(reports, labels[1:])


def test_the_score_of_reports_is_unbiased():
    """Over 200 draws of the noise its mean is the accuracy: within four standard errors (error rate 0.006%)."""
    model, X, y, _, _ = scored(13)
    rng, estimates, truths = np.random.default_rng(14), [], []
    for _ in range(200):
        reports, labels = model.channel.simulate((X[:300], y[:300]), rng)
        estimates.append(model.score(reports, labels))
        truths.append(model.score(reports, y[:300], of="truth", features="reports"))
    gap = np.array(estimates) - truths
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(200)


@pytest.mark.filterwarnings("ignore:The attributes depend")
def test_grid_search_selects_by_the_truth():
    """Wide records: hardly any ridge fits the noise. What is shown is the accuracy on the truth, not on the reports."""
    channel, (X_reports, y_reports), X, y = wide(rows=400)
    grid = GridSearchCV(ask.SpreadClassifier(channel, "collapsed"), {"ridge": [1e-6, 0.3]}, cv=3)
    grid.fit(X_reports, y_reports)
    assert grid.best_params_["ridge"] == 0.3
    reports, _ = channel.simulate((X.astype(int), y), np.random.default_rng(0))
    truth = [
        ask.SpreadClassifier(channel, "collapsed", ridge=ridge)
        .fit(X_reports, y_reports)
        .score(reports, y, of="truth", features="reports")
        for ridge in (1e-6, 0.3)
    ]
    assert truth[1] > truth[0] + 0.02
    # Of 400 reports an estimate has a standard error of .038, and folds learn from a third fewer.
    assert grid.best_score_ == pytest.approx(truth[1], abs=0.12)


def test_a_pipeline_as_learner():
    X, y, rng = people(1_500, [1.5, -1.5, 1.0], 15)
    reports, labels = FLIPS.simulate((X, y), rng)
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    model = ask.SpreadClassifier(FLIPS, "sampling", rounds=5, base_estimator=learner, random_state=0)
    model.fit(reports[:1_000], labels[:1_000])
    assert model.score(X, y, of="truth") > 0.75
    # From feature reports: averaged over what the features may have been. 500 label reports: a standard error of .037.
    known = model.score(reports[1_000:], y[1_000:], of="truth", features="reports")
    assert known > 0.65
    assert model.score(reports[1_000:], labels[1_000:]) == pytest.approx(known, abs=0.15)
    assert "LogisticRegression on hidden records" in str(model.summary())
    assert model.summary().privacy == str(FLIPS.for_width(3).guarantee)
    with pytest.raises(InvalidInput, match="sample_weight"):
        ask.SpreadClassifier(FLIPS, "sampling", base_estimator=KNeighborsClassifier()).fit(reports, labels)


MIXED = [ask.StateFlip(2, 0.1), ask.GaussianNoise(0.5), ask.StateFlip(3, 0.1)]


@pytest.mark.parametrize(
    "features", [ask.StateFlip(4, 0.2), MIXED, ask.FiniteChannel([[0.8, 0.3], [0.2, 0.7]], [2, 5])]
)
def test_a_release_is_fitted_like_its_reports(features, tmp_path):
    from askance.releases import Header, Question

    channel = ask.RowChannel(features, ask.Warner(0.8)).for_width(3)
    rng = np.random.default_rng(16)
    X = np.column_stack([rng.choice([2, 5] if "Finite" in str(features) else 2, 2_000) for _ in range(3)])
    y = np.where(rng.random(2_000) < expit(1.5 * (X[:, 0] - X[:, 1])), "yes", "no")
    reports, labels = channel.simulate((X, y), rng)
    questions = Question("x", channel.features, columns=("a", "b", "c")), Question("y", channel.label)
    table = {"x": channel.features.store(channel.features.encode_reports(reports)), "y": labels}
    ask.Release.from_table(table, Header(questions, ())).write(tmp_path / "release")
    fitted = ask.SpreadClassifier().fit_release(tmp_path / "release")
    plain = ask.SpreadClassifier(channel).fit(reports, labels)
    np.testing.assert_array_equal(fitted.coef_, plain.coef_)
    assert fitted.method_ == plain.method_
    assert fitted.guarantee_ == plain.guarantee_
    assert fitted.parameter_names_ == ("Intercept", "a", "b", "c")
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    assert fitted.score(pd.DataFrame(reports, columns=list("abc")), labels) == plain.score(reports, labels)


def test_the_page_of_a_wide_fit(tmp_path):
    channel, reports, _, _ = wide()
    model = ask.SpreadClassifier(channel).fit(*reports)
    model.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "dotted: what was taken" in page
    assert len(model.plot().lines) == 2  # the coefficients, and zero


def test_a_release_of_other_questions_or_noise_is_refused():
    from askance.releases import Header, Question

    row = ask.RowChannel(ask.StateFlip(2, 0.1, dim=2), ask.Warner(0.8))
    X, y = np.array([[0, 1], [1, 0], [1, 1]]), np.array(["yes", "no", "no"])
    table = {
        "x": row.features.store(row.features.encode_reports(X)),
        "more": row.features.store(row.features.encode_reports(X)),
        "y": y,
        "z": y,
    }
    names = {"x": row.features, "more": row.features, "y": row.label, "z": row.label}
    release = ask.Release.from_table(table, Header(tuple(Question(*pair) for pair in names.items()), ()))
    with pytest.raises(InvalidInput, match=r"2 questions about features \(x, more\).*features="):
        ask.SpreadClassifier().fit_release(release)
    with pytest.raises(InvalidInput, match=r"2 questions about a label.*label="):
        ask.SpreadClassifier().fit_release(release, features="x")
    with pytest.raises(InvalidInput, match="questions 'y' and 'z'"):
        ask.SpreadClassifier().fit_release(release, features="y", label="z")
    assert ask.SpreadClassifier(ridge=1.0).fit_release(release, features="x", label="z").n_reports_ == 3
    other = ask.RowChannel(ask.StateFlip(2, 0.2), ask.Warner(0.8))
    with pytest.raises(InvalidInput, match="release's own channel"):
        ask.SpreadClassifier(other).fit_release(release, features="x", label="z")
