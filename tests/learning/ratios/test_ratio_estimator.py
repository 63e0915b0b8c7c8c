"""The estimator of class ratios: every form of data, groups, intervals, diagnostics, saving, refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import askance as ask
from askance.errors import NotAvailable
from askance.learning.ratios.diagnosis import RatioDiagnosis
from askance.learning.ratios.kernel_functions import kernel_function

SHARES = {"a": 0.1, "b": 0.9, "c": 0.2, "d": 0.8}


def rows(ill, well, rng, d=3):
    return rng.normal(size=(ill + well, d)) + np.repeat([2.0, 0.0], [ill, well])[:, None] * np.eye(d)[0]


def towns(size=150, seed=0):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rows(round(share * size), size - round(share * size), rng) for share in SHARES.values()])
    return X, np.repeat(list(SHARES), size), rng


def quick(**parameters):
    return ask.RatioEstimator(**{"method": "mmd", "bandwidth": 2.0, "features": 48, "random_state": 0} | parameters)


@pytest.fixture(scope="module")
def fitted():
    X, bags, _ = towns()
    return quick(classes=("well", "ill")).fit(X, bags, SHARES)


# -- estimates ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"solution": "paper"},
        {"features": "exact"},
        {"kernel": "laplace", "bandwidth": 4.0},
        {"kernel": "laplace", "bandwidth": 4.0, "features": "exact", "solution": "paper"},
        {"kernel": "linear"},
        {"bandwidth": "auto"},
        {"bandwidth": "auto", "features": "auto"},
        {"kernel": kernel_function("rbf", 3.0), "bandwidth": "auto"},
    ],
    ids=lambda given: "-".join("own" if callable(value) else str(value) for value in given.values()) or "defaults",
)
def test_every_kernel_and_solution_tells_the_ratios(parameters):
    X, bags, rng = towns()
    model = quick(**parameters).fit(X, bags, SHARES)
    for ill in (0, 60, 180):
        new = rows(ill, 200 - ill, rng)
        ratios = model.predict(new)
        assert ratios.sum() == pytest.approx(1)
        assert ratios.min() >= 0
        # The standard error is about .05, training rows included; 4 of it, 27 times.
        assert ratios[1] == pytest.approx(ill / 200, abs=0.2)
        low, high = model.predict_interval(new, level=0.999).T
        assert np.all((low <= [1 - ill / 200, ill / 200]) & (high >= [1 - ill / 200, ill / 200]))


def test_random_features_agree_with_the_exact_kernel():
    X, bags, rng = towns()
    exact, own, random = (
        quick(features="exact").fit(X, bags, SHARES),
        quick(
            features="exact", kernel=lambda a, b: kernel_function("rbf", 2.0)(a / X.std(axis=0), b / X.std(axis=0))
        ).fit(X, bags, SHARES),
        quick(features=4000).fit(X, bags, SHARES),
    )
    new = rows(50, 150, rng)
    np.testing.assert_allclose(exact.predict(new), own.predict(new), atol=1e-9)
    np.testing.assert_allclose(exact.predict(new), random.predict(new), atol=0.02)
    for other in (own, random):
        close = {"rtol": 0.15}  # some rows stand for all in the scatter
        np.testing.assert_allclose(exact.estimate(new).covariance, other.estimate(new).covariance, **close)
        assert exact.estimate(new).misfit == pytest.approx(other.estimate(new).misfit, rel=0.15)


def test_three_classes():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(np.full((3, 3), 0.1) + 0.7 * np.eye(3), columns=["x", "y", "z"], index=["p", "q", "r"])
    spots = 2.0 * np.eye(3)
    X = np.concatenate([np.repeat(spots, (150 * row).round().astype(int), axis=0) for row in table.to_numpy()])
    X = X + rng.normal(size=X.shape)
    model = quick().fit(X, np.repeat(["p", "q", "r"], 150), table)
    new = np.repeat(spots, [20, 60, 120], axis=0) + rng.normal(size=(200, 3))
    assert model.classes_.tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(model.predict(new), [0.1, 0.3, 0.6], atol=0.15)
    ends = model.predict_interval(new, level=0.999)
    assert ends.shape == (3, 2)
    assert np.all((ends[:, 0] <= [0.1, 0.3, 0.6]) & (ends[:, 1] >= [0.1, 0.3, 0.6]))
    assert np.isnan(model.diagnose().bag_misfit_p)  # three bags fit three classes in any case


def test_the_bag_classifier_is_watched_by_a_kernel():
    X, bags, _ = towns(100)
    model = ask.RatioEstimator(base_estimator=LogisticRegression(), random_state=0).fit(X, bags, SHARES)
    new = rows(30, 90, np.random.default_rng(123))  # one group in a hundred would be called shifted, and warn
    assert model.predict(new)[1] == pytest.approx(0.25, abs=0.15)
    low, high = model.predict_interval(new)[1]
    assert 0 <= low < model.predict(new)[1] < high <= 1
    assert 0 < model.estimate(new).misfit_p < 1
    assert not model.diagnose(new).shifted
    assert model.diagnose(new + np.array([0.0, 3.0, 0.0])).shifted
    with pytest.raises(ask.AskanceError, match="base_estimator"):
        model.to_json()


# -- groups and frames --------------------------------------------------------------------------------------------


def test_many_groups_at_once_are_as_one_at_a_time(fitted):
    rng = np.random.default_rng(2)
    X = np.concatenate([rows(20, 60, rng), rows(70, 10, rng)])
    groups = np.repeat(["south", "north"], 80)
    mixed = rng.permutation(160)
    ratios = fitted.predict(X[mixed], groups=groups[mixed])
    np.testing.assert_allclose(ratios, [fitted.predict(X[80:]), fitted.predict(X[:80])], atol=1e-6)
    ends = fitted.predict_interval(X[mixed], groups=groups[mixed])
    assert ends.shape == (2, 2, 2)
    np.testing.assert_allclose(ends[1], fitted.predict_interval(X[:80]), atol=1e-5)


def test_frames_give_frames_and_keep_their_columns():
    X, bags, rng = towns()
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    model = quick(classes=("well", "ill")).fit(frame, bags, SHARES)
    new = pd.DataFrame(rows(40, 80, rng), columns=["u", "v", "w"])
    groups = pd.Series(np.repeat(["south", "north"], 60))
    table = model.predict(new, groups=groups)
    assert table.index.tolist() == ["north", "south"]
    assert table.columns.tolist() == ["well", "ill"]
    ends = model.predict_interval(new, groups=groups)
    assert ends.columns.tolist() == ["estimate", "lower", "upper"]
    assert ends.loc[("south", "ill"), "estimate"] == pytest.approx(table.loc["south", "ill"])
    assert model.predict_interval(new).index.tolist() == ["well", "ill"]
    assert isinstance(model.predict(new), np.ndarray)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(new.rename(columns={"w": "z"}))


# -- errors -------------------------------------------------------------------------------------------------------


def test_the_sources_of_error_add_up_and_the_population_is_less_certain(fitted):
    rng = np.random.default_rng(3)
    new = rows(30, 90, rng)
    found = fitted.estimate(new)
    np.testing.assert_allclose(sum(found.parts.values()), found.covariance)
    assert set(found.parts) == {"group", "training", "proportions"}
    assert not found.parts["proportions"].any()
    assert found.parts["group"][0, 0] > 0
    assert found.parts["training"][0, 0] > 0
    np.testing.assert_allclose(found.covariance.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(found.draw, np.outer([1, -1], [1, -1]) * found.ratios.prod() / 120)
    widths = [
        np.ptp(clone(fitted).set_params(target=t).fit(*towns()[:2], SHARES).predict_interval(new)[0])
        for t in ("group", "population")
    ]
    assert widths[1] > 1.1 * widths[0]
    more = fitted.estimate(np.concatenate([new] * 4))
    np.testing.assert_allclose(more.parts["group"], found.parts["group"] / 4, rtol=1e-3)


def test_the_population_is_covered_when_rows_are_drawn():
    hits = []
    for seed in range(60):
        rng = np.random.default_rng([5, seed])
        X, bags, _ = towns(60, seed=[6, seed])
        model = quick(target="population", features=16).fit(X, bags, SHARES)
        ill = rng.binomial(80, 0.3)
        low, high = model.predict_interval(rows(ill, 80 - ill, rng))[1]
        hits.append(low <= 0.3 <= high)
    # 60 intervals of 95%: fewer than 52 hits happen about once in a hundred; the seeds are fixed.
    assert np.sum(hits) >= 52


def test_released_counts_bring_their_noise():
    X, bags, rng = towns()
    counts = {name: [150 - round(150 * share), round(150 * share)] for name, share in SHARES.items()}
    release = ask.release_counts(pd.DataFrame(counts, index=["well", "ill"]).T, epsilon=1.0)
    model = quick().fit(X, bags, release)
    assert model.classes_.tolist() == ["well", "ill"]
    new = rows(40, 160, rng)
    found = model.estimate(new)
    assert found.parts["proportions"][0, 0] > 0
    assert model.predict(new)[1] == pytest.approx(0.2, abs=0.2)
    assert model.diagnose().lemma_4 > 0
    assert model.guarantee_ == release.guarantee
    assert str(release.guarantee) in str(model.summary(new))
    by_hand = quick(classes=("well", "ill")).fit(
        X, bags, release.by_bag(release.raw_proportions), release.by_bag(release.noise)
    )
    np.testing.assert_array_equal(by_hand.predict(new), model.predict(new))
    with pytest.raises(ask.InvalidInput, match="its own noise"):
        quick().fit(X, bags, release, noise=0.1)


def test_the_score_is_minus_the_mean_absolute_error(fitted):
    rng = np.random.default_rng(2)
    X = np.concatenate([rows(20, 60, rng), rows(70, 10, rng)])
    groups = np.repeat(["south", "north"], 80)
    error = np.abs(fitted.predict(X, groups) - [[0.125, 0.875], [0.75, 0.25]]).mean()
    assert fitted.score(X, groups, {"south": 0.25, "north": 0.875}, of="truth") == pytest.approx(-error)
    shares = pd.DataFrame({"ill": [0.25, 0.875], "well": [0.75, 0.125]}, index=["south", "north"])
    assert fitted.score(X, groups, shares, of="truth") == pytest.approx(-error)


@pytest.mark.parametrize("of", ["reports", "truth"])
def test_noisy_proportions_are_no_truth_to_score_against(fitted, of):
    X, bags, _ = towns()
    release = ask.release_counts(dict.fromkeys(SHARES, (75, 75)), epsilon=1.0, classes=("well", "ill"))
    with pytest.raises(NotAvailable, match="the noise of the groups' proportions would count as error"):
        fitted.score(X, bags, release, of=of)


def test_progress_is_told_after_every_group(fitted):
    rng, told = np.random.default_rng(3), []
    X, groups = np.concatenate([rows(30, 30, rng) for _ in range(3)]), np.repeat(["a", "b", "c"], 60)
    fitted.estimate_groups(X, groups, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_without_a_group_the_summary_is_of_the_fit(fitted):
    summary = fitted.summary()
    assert summary.names == ()
    facts = dict(summary.facts)
    assert facts["classes"] == "'well', 'ill'"
    assert facts["trained on"] == "4 bags (600 rows), method mmd"
    assert str(fitted.diagnose()).splitlines()[1:] == [f"{name}: {text}" for name, text in summary.facts[2:]]
    assert "no privacy guarantee" in summary.privacy
    ends = fitted.conf_int(rows(40, 80, np.random.default_rng(4)), 0.9)
    assert ends.index.tolist() == ["well", "ill"]


@pytest.mark.parametrize("solution", ["class", "paper"])
def test_the_bags_own_ratios_are_near_what_is_known_of_them(solution):
    X, bags, _ = towns(600)
    model = quick(solution=solution).fit(X, bags, SHARES)
    np.testing.assert_allclose(model.model_.bag_ratios()[:, 1], list(SHARES.values()), atol=0.1)


def test_the_page_shows_groups_bags_and_bandwidths(tmp_path):
    X, bags, rng = towns()
    model = quick(bandwidth="auto", classes=("well", "ill")).fit(X, bags, SHARES)
    new, groups = rows(60, 100, rng), np.repeat(["south", "north"], 80)
    model.report(tmp_path / "fit.html")
    model.report(tmp_path / "group.html", new)
    model.report(tmp_path / "groups.html", new, groups)
    pages = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    for page in pages.values():
        assert "nearest to their rows" in page
        assert "Error of held-out bags" in page
    assert "Class ratios with" not in pages["fit"]
    assert "<h2>Estimates" in pages["group"]
    assert all(f">{name}<" in pages["groups"] for name in ("north: well", "north: ill", "south: well", "south: ill"))
    assert model.plot(X=new, groups=groups).get_xlabel() == "share of ill, with 95% intervals"


def test_a_pipeline_as_base_estimator():
    X, bags, rng = towns(100)
    base = make_pipeline(StandardScaler(), LogisticRegression())
    model = ask.RatioEstimator(base_estimator=base, random_state=0).fit(X, bags, SHARES)
    assert model.predict(rows(30, 90, rng))[1] == pytest.approx(0.25, abs=0.15)
    with pytest.raises(ask.InvalidInput, match="with predict_proba"):
        ask.RatioEstimator(base_estimator=LinearSVC()).fit(X, bags, SHARES)


# -- diagnostics --------------------------------------------------------------------------------------------------


def test_released_counts_keep_the_names_of_their_classes():
    X, bags, rng = towns()
    release = ask.release_counts(
        {name: (round(150 * (1 - share)), round(150 * share)) for name, share in SHARES.items()},
        epsilon=5,
        classes=("well", "ill"),
    )
    new = rows(20, 100, rng)
    other = quick(classes=("ill", "well")).fit(X, bags, release)
    assert other.classes_.tolist() == ["ill", "well"]
    np.testing.assert_allclose(other.predict(new)[::-1], quick().fit(X, bags, release).predict(new), atol=1e-6)
    assert other.predict(new)[0] < 0.4
    with pytest.raises(ask.InvalidInput, match="proportions of 'well', 'ill'"):
        quick(classes=("well", "sick")).fit(X, bags, release)


def test_the_diagnosis_says_what_limits_the_ratios(fitted):
    rng = np.random.default_rng(4)
    found = fitted.diagnose(rows(40, 80, rng))
    assert isinstance(found, RatioDiagnosis)
    assert (found.bags, found.rows, found.classes, found.rank, found.group_rows) == (4, 600, 2, 2, 120)
    table = np.array([[1 - share, share] for share in SHARES.values()])
    assert found.condition == pytest.approx(np.linalg.cond(table))
    assert found.q == pytest.approx(np.linalg.norm(table, 2) / found.bag_separation)
    assert found.theorem_1 > fitted.diagnose().theorem_1 > 0
    assert found.class_separation > 0.3
    assert np.isnan(found.lemma_4)
    assert not found.shifted
    assert "no sign of a shift" in str(found)
    assert "rank 2" in str(fitted.diagnose())
    assert "new group" not in str(fitted.diagnose())


def test_a_shift_of_the_classes_is_told(fitted):
    rng = np.random.default_rng(5)
    moved = rows(60, 60, rng) + np.array([0.0, 3.0, 0.0])
    assert fitted.diagnose(moved).shifted
    with pytest.warns(ask.AskanceWarning, match="P\\(x \\| y\\) has shifted"):
        fitted.predict_interval(moved)
    both = np.concatenate([moved, rows(60, 60, rng)])
    with pytest.warns(ask.AskanceWarning, match="1 of 2 groups \\('odd'\\)"):
        fitted.predict_interval(both, groups=np.repeat(["odd", "plain"], 120))


def test_bags_that_differ_in_features_are_told():
    X, bags, _ = towns()
    X = X + 2.0 * np.array([0.0, 1.0, 0.0]) * np.isin(bags, ["c", "d"])[:, None]
    with pytest.warns(ask.AskanceWarning, match="differ in more than their proportions"):
        model = quick().fit(X, bags, SHARES)
    assert model.diagnose().bags_differ_in_features
    assert model.notes_


def test_classes_that_look_alike_are_told():
    rng = np.random.default_rng(7)  # of 20 sets of alike classes one would seem to differ
    with pytest.warns(ask.AskanceWarning, match="look alike"):
        quick().fit(rng.normal(size=(200, 2)), np.repeat(list(SHARES), 50), SHARES)


@pytest.mark.parametrize("seed", [1, 3])  # with the second, the posteriors are the same for all rows
def test_the_bag_classifier_says_that_it_tells_nothing(seed, tmp_path):
    rng = np.random.default_rng(seed)
    told = np.array([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7], [0.4, 0.3, 0.3]])
    X, new = rng.normal(size=(800, 3)), rng.normal(size=(300, 3))
    with pytest.warns(ask.AskanceWarning, match="look alike"):
        model = ask.RatioEstimator(random_state=0).fit(X, np.repeat(np.arange(4), 200), told)
    assert model.notes_
    found = model.predict_interval(new)
    assert (found[:, 1] - found[:, 0] > 0.8).all()
    np.testing.assert_allclose(model.predict(new), model.estimate(new).ratios)
    np.testing.assert_allclose(model.estimate(new).covariance.sum(axis=0), 0, atol=1e-9)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(ask.load_model(tmp_path / "model.json").predict_interval(new), found)


@pytest.mark.parametrize("method", ["mmd", "bag-classifier"])
def test_values_far_away_are_far_away(method):
    X, bags, rng = towns()
    model = quick(method=method).fit(X, bags, SHARES)
    new = rows(30, 90, rng)
    for value in (1e20, 1e60):
        odd = np.concatenate([new, [[value, 0.0, 0.0]]])
        assert np.isfinite(model.estimate(odd).covariance).all()
        np.testing.assert_allclose(model.predict(odd), model.predict(new), atol=0.05)
    with pytest.raises(ask.InvalidInput, match=r"a feature of 1e\+200"):
        model.predict(np.concatenate([new, [[-1e200, 0.0, 0.0]]]))


def test_theorem_1_is_for_normalised_kernels_and_grows_with_noise(fitted):
    X, bags, _ = towns(40)
    for kernel in ("linear", lambda a, b: 2 * kernel_function("rbf", 3.0)(a, b)):
        found = quick(kernel=kernel).fit(X, bags, SHARES).diagnose()
        assert np.isnan(found.theorem_1)
        assert "not for kernels" in str(found)
    assert quick(kernel=kernel_function("rbf", 3.0)).fit(X, bags, SHARES).diagnose().theorem_1 > 0
    X, bags, _ = towns()
    noisy = quick(classes=("well", "ill")).fit(X, bags, SHARES, noise=0.001).diagnose()
    assert noisy.theorem_1 > fitted.diagnose().theorem_1 + noisy.lemma_4 / noisy.bag_separation


def test_the_summary_is_a_table(fitted):
    rng = np.random.default_rng(7)
    new = rows(40, 80, rng)
    table = fitted.summary(new, level=0.9)
    assert table.names == ("well", "ill")
    np.testing.assert_allclose(table.values[:, 4:], fitted.predict_interval(new, level=0.9))
    assert "4 bags (600 rows)" in str(table)


# -- scikit-learn and saving ----------------------------------------------------------------------------------------


def test_models_are_saved_without_their_rows(fitted, tmp_path):
    rng = np.random.default_rng(8)
    new = rows(40, 80, rng)
    X, bags, _ = towns()
    for number, parameters in enumerate([{}, {"solution": "paper"}, {"kernel": "linear"}, {"bandwidth": "auto"}]):
        model = quick(**parameters).fit(X, bags, SHARES, noise=0.001)
        model.save(tmp_path / f"{number}.json")
        again = ask.load_model(tmp_path / f"{number}.json")
        np.testing.assert_array_equal(again.predict(new), model.predict(new))
        np.testing.assert_array_equal(again.predict_interval(new), model.predict_interval(new))
        assert str(again.diagnose(new)) == str(model.diagnose(new))
        assert again.get_params() == model.get_params()
    values = json.loads(fitted.to_json())["fitted"]["model_"]["content"]["mapping"]
    assert 600 not in [len(value["array"]) for value in values.values() if isinstance(value, dict) and "array" in value]
    with pytest.raises(ask.InvalidInput, match="keeps the training rows"):
        quick(features="exact").fit(X, bags, SHARES).to_json()
    with pytest.raises(ask.InvalidInput, match="kernel of one's own"):
        quick(kernel=lambda a, b: a @ b.T).fit(X, bags, SHARES).save(tmp_path / "own.json")
    assert not (tmp_path / "own.json").exists()


def test_clones_and_repeats(fitted):
    X, bags, rng = towns()
    new = rows(30, 50, rng)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(ValueError, match="not fitted"):
        copy.predict(new)
    np.testing.assert_array_equal(copy.fit(X, bags, SHARES).predict(new), fitted.predict(new))
    order = rng.permutation(len(X))
    again = clone(fitted).fit(X[order], bags[order], SHARES)
    np.testing.assert_allclose(again.predict(new), fitted.predict(new), atol=1e-4)
    drawn = clone(fitted).set_params(random_state=np.random.default_rng(1)).fit(X, bags, SHARES)
    np.testing.assert_allclose(drawn.predict(new), fitted.predict(new), atol=0.1)


def test_scales_of_features_do_not_matter():
    X, bags, rng = towns()
    new, scale = rows(30, 50, rng), np.array([1e-3, 1.0, 1e6])
    plain, scaled = quick().fit(X, bags, SHARES), quick().fit(X * scale + 100, bags, SHARES)
    np.testing.assert_allclose(plain.predict(new), scaled.predict(new * scale + 100), atol=1e-4)


# -- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "magic"}, "method='magic'"),
        ({"kernel": "cubic"}, "kernel='cubic'"),
        ({"bandwidth": 0.0}, "bandwidth=0.0"),
        ({"bandwidth": "wide"}, "bandwidth='wide'"),
        ({"features": 0}, "features=0"),
        ({"features": 2.5}, "features=2.5"),
        ({"features": True}, "features=True"),
        ({"features": np.array([1, 2])}, "features=array"),
        ({"solution": "best"}, "solution='best'"),
        ({"target": "world"}, "target='world'"),
        ({"level": 95}, "level=95"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, bags, _ = towns(20)
    with pytest.raises(ask.InvalidInput, match=message):
        quick(**parameters).fit(X, bags, SHARES)


def test_bad_training_data_are_refused():
    X, bags, _ = towns(20)
    fit = quick().fit
    with pytest.raises(ask.InvalidInput, match="outside of"):
        fit(X, bags, SHARES | {"a": 1.2})
    with pytest.raises(ask.InvalidInput, match="without rows: 'e'"):
        fit(X, bags, SHARES | {"e": 0.5})
    with pytest.raises(ask.InvalidInput, match="without proportions: 'd'"):
        fit(X, bags, {name: SHARES[name] for name in "abc"})
    with pytest.raises(ask.InvalidInput, match="rows without a bag"):
        fit(X, np.where(bags == "a", None, bags), SHARES)
    with pytest.raises(ask.InvalidInput, match="bags of shape"):
        fit(X, bags[1:], SHARES)
    with pytest.raises(ask.Unidentifiable, match="same proportions along"):
        fit(X, bags, dict.fromkeys(SHARES, 0.4))
    with pytest.raises(ask.Unidentifiable, match="no bag with any of"):
        fit(X, bags, dict.fromkeys(SHARES, 1.0))  # one class only
    with pytest.raises(ask.Unidentifiable, match=r"do not vary along .*\+1 1 -1 2|do not vary along .*-1 1 \+1 2"):
        fit(X, bags, {name: [1 - share, share / 2, share / 2] for name, share in SHARES.items()})
    with pytest.raises(ask.InvalidInput, match="constant"):
        fit(np.ones_like(X), bags, SHARES)
    with pytest.raises(ValueError, match="NaN"):
        fit(np.where(X > 2, np.nan, X), bags, SHARES)
    with pytest.raises(ask.InvalidInput, match="sparse"):
        fit(csr_array(X), bags, SHARES)
    with pytest.raises(ask.InvalidInput, match="no proportions"):
        fit(X, bags)


def test_bad_new_groups_are_refused(fitted):
    rng = np.random.default_rng(9)
    new = rows(3, 4, rng)
    with pytest.raises(ask.InvalidInput, match="a group of 1 row"):
        fitted.predict(new[:1])
    with pytest.raises(ask.InvalidInput, match="the group 'x' of 1 row"):
        fitted.predict(new, groups=["x", *"yyyyyy"])
    with pytest.raises(ask.InvalidInput, match="rows without a group"):
        fitted.predict(new, groups=[None, *"yyyyyy"])
    with pytest.raises(ask.InvalidInput, match="groups of shape"):
        fitted.predict_interval(new, groups=["x"])
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict(np.full((4, 3), np.nan))
    with pytest.raises(ValueError, match="features"):
        fitted.predict(new[:, :2])
    with pytest.raises(ask.InvalidInput, match="level=1;"):
        fitted.predict_interval(new, level=1.0)
