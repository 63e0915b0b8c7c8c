"""Learning from label proportions: exact on small cases, unbiased in simulation, at home in scikit-learn."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import askance as ask
from askance.errors import NotAvailable
from askance.learning.bags.alternating_mean_map import consistent_labels
from askance.learning.bags.bag_fit import bag_fit
from askance.learning.bags.bag_likelihood import BagCounts
from askance.learning.bags.label_counts import labels_given_counts
from askance.learning.bags.mean_map import bagwise_class_means
from askance.learning.bags.released_bags import bag_data
from askance.releases.privatizing import privatize_table
from askance.solvers.bag_means import class_means

LINEAR = ("mean-map", "laplacian", "alternating", "bag-likelihood", "linear-committee")


def people(n=1200, bags=60, classes=2, seed=0, skew=1.0):
    """Rows of a softmax model, in bags that differ in their classes and in nothing else."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    theta = np.array([[0, 0, 0], [2, -1, 0], [-1, 2, 0.5], [0, -2, 2]], dtype=float)[:classes]
    logits = X @ theta.T + rng.gumbel(size=(n, classes))
    y = logits.argmax(axis=1)
    mix = rng.dirichlet(np.full(bags, skew), size=classes)
    bag = np.array([rng.choice(bags, p=mix[label]) for label in y])
    bag = np.unique(bag, return_inverse=True)[1]
    table = np.array([np.bincount(y[bag == j], minlength=classes) / np.sum(bag == j) for j in range(bag.max() + 1)])
    return X, y, bag, table


# -- the law of labels given counts -----------------------------------------------------------------------


@pytest.mark.parametrize("counts", [[2, 4], [3, 0], [2, 1, 3], [0, 2, 3], [0, 4, 0], [1, 2, 2, 1], [1]])
def test_labels_given_counts_are_those_of_enumeration(counts):
    rng = np.random.default_rng(0)
    counts = np.array([*counts, 0] if len(counts) == 1 else counts)
    rows, classes = counts.sum(), len(counts)
    logits = 3 * rng.normal(size=(rows, classes))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    total, expected = 0.0, np.zeros((rows, classes))
    for labels in product(range(classes), repeat=int(rows)):
        if np.array_equal(np.bincount(labels, minlength=classes), counts):
            chance = np.prod(shares[np.arange(rows), labels])
            total += chance
            expected[np.arange(rows), labels] += chance
    given = labels_given_counts(logits, np.array([0, rows]), counts[None])
    np.testing.assert_allclose(given.probabilities, expected / total, atol=1e-12)
    assert given.log_likelihood[0] == pytest.approx(np.log(total), abs=1e-10)


def test_labels_given_counts_never_underflow():
    logits = np.column_stack([np.zeros(500), np.linspace(-900, -700, 500)])
    given = labels_given_counts(logits, np.array([0, 500]), np.array([[400, 100]]))
    assert given.probabilities[:, 1].sum() == pytest.approx(100)
    assert given.probabilities[0, 1] < 1e-3 < 0.99 < given.probabilities[-1, 1]
    assert np.isfinite(given.log_likelihood[0])
    assert given.log_likelihood[0] < -60_000


def test_a_large_bag_is_tilted_with_little_error():
    rng = np.random.default_rng(1)
    logits = np.column_stack([np.zeros(2000), rng.normal(-1, 2, 2000)])
    bag, counts = np.array([0, 2000]), np.array([[1400, 600]])
    exact = labels_given_counts(logits, bag, counts)
    tilted = labels_given_counts(logits, bag, counts, largest_table=0)
    np.testing.assert_allclose(tilted.probabilities, exact.probabilities, atol=1e-3)
    assert tilted.probabilities[:, 1].sum() == pytest.approx(600)
    assert tilted.log_likelihood[0] == pytest.approx(exact.log_likelihood[0], abs=5)


@pytest.mark.parametrize("largest_table", [10**6, 0])
@pytest.mark.parametrize("classes", [2, 3])
def test_gradient_of_the_bag_likelihood(classes, largest_table):
    X, y, bags, _ = people(60, 8, classes)
    order = np.argsort(bags, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(bags))])
    counts = np.array([np.bincount(y[bags == j], minlength=classes) for j in range(bags.max() + 1)])
    rows = np.column_stack([np.ones(60), X])[order]
    told = BagCounts(rows, starts, counts, True, largest_table)
    shape = (classes - 1, 4)

    def value(flat):
        return told.score(flat.reshape(shape))[0].sum()

    def slope(flat):
        return told.bag_scores(flat.reshape(shape)).sum(axis=0)

    for seed in range(3):
        assert check_grad(value, slope, np.random.default_rng(seed).normal(size=shape).ravel()) < 1e-4


def test_information_of_single_rows_is_that_of_logistic_regression():
    X, y, _, _ = people(50)
    told = BagCounts(X, np.arange(51), np.column_stack([1 - y, y]), False)
    theta = np.array([[0.5, -1.0, 0.3]])
    share = 1 / (1 + np.exp(-X @ theta[0]))
    information = (X * (share * (1 - share))[:, None]).T @ X
    np.testing.assert_allclose(told.expected_information(theta), information, rtol=1e-8)
    np.testing.assert_allclose(told.observed_information(theta), information, rtol=1e-5, atol=1e-6)


# -- mean maps --------------------------------------------------------------------------------------------


def test_class_means_are_exact_when_bag_means_are():
    rng = np.random.default_rng(2)
    truth, table = rng.normal(size=(3, 4)), rng.dirichlet(np.ones(3), size=7)
    np.testing.assert_allclose(class_means(table @ truth, np.arange(1.0, 8), table), truth, atol=1e-10)


def test_a_very_smooth_laplacian_is_the_plain_mean_map():
    X, _, bags, table = people(2000, 12)
    sizes = np.bincount(bags).astype(float)
    means = np.array([X[bags == j].mean(axis=0) for j in range(len(table))])
    smooth = bagwise_class_means(means, sizes, table, smoothness=1e7, width=100.0)
    np.testing.assert_allclose(smooth.std(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(smooth[0], class_means(means, sizes, table), atol=2e-2)


def test_class_means_are_unbiased_and_so_they_are_with_noisy_proportions():
    rng = np.random.default_rng(3)
    truth = np.array([[0.0, 1.0], [2.0, -1.0]])
    share = np.linspace(0.2, 0.8, 30)
    sizes = np.full(30, 40)
    noise = 0.01
    plain, corrected, ignored = [], [], []
    for _ in range(400):
        counts = rng.binomial(sizes, share)
        table = np.column_stack([sizes - counts, counts]) / 40
        means = table @ truth + rng.normal(size=(30, 2)) / np.sqrt(40)
        plain.append(class_means(means, sizes, table))
        told = table + rng.normal(0, np.sqrt(noise), 30)[:, None] * [-1, 1]
        ignored.append(class_means(means, sizes, told))
        corrected.append(class_means(means, sizes, told, np.tile([[noise, -noise], [-noise, noise]], (30, 1, 1))))

    # Four means each, within 5 standard errors: fails by chance less than once in 10^5.
    for estimates, slack in ((plain, 0.0), (corrected, 0.03)):  # the correction's own bias falls as 1 / bags
        error = np.abs(np.mean(estimates, axis=0) - truth)
        assert np.all(error <= 5 * np.std(estimates, axis=0) / np.sqrt(400) + slack)
    assert np.abs(np.mean(ignored, axis=0) - truth).max() > 0.12


def test_noise_as_large_as_the_spread_is_refused():
    X, _, bags, table = people()
    with pytest.raises(ask.Unidentifiable, match="as large as their spread"):
        ask.ProportionClassifier("mean-map").fit(X, bags, table, noise=1.0)


def test_labels_have_the_bags_counts_and_the_largest_score():
    rng = np.random.default_rng(4)
    for classes in (2, 3):
        scores, counts = rng.normal(size=(7, classes)), np.array([[2, 1, 0], [1, 1, 2]])
        counts = counts if classes == 3 else np.array([[1, 2], [3, 1]])
        starts = np.array([0, 3, 7])
        labels = consistent_labels(scores, starts, counts)
        for bag in range(2):
            part, told = scores[starts[bag] : starts[bag + 1]], counts[bag]
            allowed = [
                each
                for each in product(range(classes), repeat=len(part))
                if np.array_equal(np.bincount(each, minlength=classes), told)
            ]
            best = max(allowed, key=lambda each, part=part: part[np.arange(len(part)), each].sum())
            np.testing.assert_array_equal(labels[starts[bag] : starts[bag + 1]], best)


# -- the classifier ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", LINEAR)
@pytest.mark.parametrize("classes", [2, 3])
def test_bags_of_one_row_are_labels(method, classes):
    X, y, _, _ = people(250, classes=classes)
    table = np.eye(classes)[y]
    fitted = ask.ProportionClassifier(method, ridge=2.0).fit(X, np.arange(250), table)
    clean = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(X, y)
    close = {"rtol": 1e-3, "atol": 2e-3}
    if method in ("mean-map", "laplacian"):  # they see the class means only, but so does a linear-odd risk
        close = {"rtol": 1e-3, "atol": 2e-3} if method == "mean-map" else {"atol": 0.35}
    np.testing.assert_allclose(fitted.coef_, clean.coef_, **close)
    np.testing.assert_allclose(fitted.intercept_, clean.intercept_, **close)


@pytest.mark.parametrize("method", [*LINEAR, "auto"])
def test_neither_the_order_of_rows_nor_the_names_of_bags_matter(method):
    X, _, bags, table = people(400, 20)
    first = ask.ProportionClassifier(method, ridge=1.0).fit(X, bags, table)
    rng = np.random.default_rng(5)
    order, names = rng.permutation(400), rng.permutation(len(table))
    shares = {f"bag {names[j]}": table[j] for j in range(len(table))}
    second = ask.ProportionClassifier(method, ridge=1.0).fit(X[order], [f"bag {names[j]}" for j in bags[order]], shares)
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize("method", [*LINEAR, "bag-classifier", "relabel", "committee"])
@pytest.mark.parametrize("classes", [2, 4])
def test_every_method_learns(method, classes):
    X, y, bags, table = people(1000, 12, classes, seed=1, skew=0.4)
    labels = np.array(["north", "east", "south", "west"])[:classes]
    frame = pd.DataFrame(table, columns=labels)
    fitted = ask.ProportionClassifier(method, random_state=0).fit(X, bags, frame)
    clean = LogisticRegression().fit(X, y).score(X, y)
    assert fitted.score(X, labels[y], of="truth") > clean - 0.08
    shares = fitted.predict_proba(X)
    assert shares.shape == (1000, classes)
    assert np.allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[shares.argmax(axis=1)])
    assert not any(isinstance(value, np.ndarray) and 1000 in value.shape for value in vars(fitted).values())


@pytest.mark.parametrize("loss", ["square", "matsushita", "unhinged", lambda z: np.log1p(np.exp(-z))])
@pytest.mark.parametrize("classes", [2, 3])
def test_mean_maps_take_any_linear_odd_loss(loss, classes):
    X, y, bags, table = people(800, 10, classes, skew=0.4)
    for method in ("mean-map", "alternating"):
        fitted = ask.ProportionClassifier(method, loss, ridge=20.0, fit_intercept=loss != "unhinged").fit(
            X, bags, table
        )
        assert np.mean(fitted.predict(X) == y) > 0.65
    if loss == "unhinged":
        with pytest.raises(ask.AskanceError, match="probabilities"):
            fitted.predict_proba(X)
    else:
        assert np.allclose(fitted.predict_proba(X).sum(axis=1), 1)


def test_standard_errors_over_bags_cover():
    truth, hits, trials = np.array([-0.5, 1.0, -1.0]), np.zeros(3), 30
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(720, 2))
        y = rng.random(720) < 1 / (1 + np.exp(-truth[0] - X @ truth[1:]))
        bags = np.arange(720) // 6
        fitted = ask.ProportionClassifier("bag-likelihood", ridge=0.0).fit(X, bags, np.bincount(bags, y) / 6)
        table = fitted.summary()
        hits += (table.values[:, 4] < truth) & (truth < table.values[:, 5])
    # 90 intervals of 95%: fewer than 87% would happen by chance once in several hundred; the seeds are fixed.
    assert 0.87 <= hits.sum() / (3 * trials) <= 1.0
    assert table.names == ("Intercept", "x0", "x1")


@pytest.mark.parametrize(
    ("bags", "skew", "expected"),
    [(200, 1.0, "bag-likelihood"), (20, 1e6, "linear-committee"), (20, 1e6, "alternating"), (10, 0.3, "committee")],
)
def test_auto_chooses_by_the_bags(bags, skew, expected):
    X, y, bag, table = people(1000, bags, seed=3, skew=skew)
    X[:, 2] = np.abs(X[:, 0]) if expected == "committee" else X[:, 2]
    if expected == "alternating":  # more parameters than bags
        X = np.column_stack([X, 0.1 * np.random.default_rng(0).normal(size=(1000, 20))])
    fitted = ask.ProportionClassifier(random_state=0).fit(X, bag, table)
    assert fitted.method_ in (expected, "bag-likelihood")
    if expected != "committee":  # which must also prove itself on the bags
        assert fitted.method_ == expected
    assert np.mean(fitted.predict(X) == y) > 0.7


def stratified(y, bags, rng):
    """Bags of equal proportions, but for what does not divide."""
    dealt = np.empty(len(y), dtype=int)
    for label in (0, 1):
        rows = rng.permutation(np.flatnonzero(y == label))
        dealt[rows] = np.arange(len(rows)) % bags
    return dealt, np.bincount(dealt, y) / np.bincount(dealt)


@pytest.mark.filterwarnings("ignore::askance.AskanceWarning")
@pytest.mark.parametrize("bags", [3, 7])
def test_bags_of_nearly_equal_proportions_never_turn_the_classes_upside_down(bags):
    for seed in range(4):
        X, y, _, _ = people(500, 10, seed=seed)
        dealt, shares = stratified(y, bags, np.random.default_rng(seed))
        fitted = ask.ProportionClassifier(random_state=0).fit(X, dealt, shares)
        # Either the mix of all rows, which is right for the more frequent class, or a model that is right more often.
        assert fitted.score(X, y, of="truth") > 0.48
        if fitted.method_ == "overall-mix":
            np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], y.mean())
            assert "do not tell the classes apart" in fitted.notes_[0]
            assert "do not tell" in str(fitted.summary())


def test_labels_of_a_model_that_is_sure_of_the_opposite():
    logits = np.array([[0.0, 5000.0], [0.0, 4000.0], [0.0, -3000.0], [0.0, 10.0]])
    given = labels_given_counts(logits, np.array([0, 4]), np.array([[4, 0]]))
    np.testing.assert_allclose(given.probabilities[:, 0], 1)
    assert np.isfinite(given.log_likelihood).all()


def test_proportions_that_are_noise_leave_the_overall_mix():
    X, _, bags, table = people(1000, 6, seed=8, skew=3.0)
    noisy = table[:, 1] + 0.4 * np.random.default_rng(0).normal(size=len(table))
    with pytest.warns(ask.AskanceWarning, match="noise alone"):
        fitted = ask.ProportionClassifier().fit(X, bags, noisy, 0.16)
    assert fitted.method_ == "overall-mix"


def test_of_two_hills_the_likelier_is_taken():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    y = (X @ [3.0, -2.0, 0.0] + rng.logistic(size=400) > 0).astype(int)
    dealt, shares = stratified(y, 40, rng)
    fitted = ask.ProportionClassifier("bag-likelihood").fit(X, dealt, shares)
    assert fitted.score(X, y, of="truth") > 0.8


def test_methods_that_bags_do_not_suit_say_so():
    rng = np.random.default_rng(4)
    X, y, _, _ = people(600, 10, seed=4)
    X[:, 2] *= 3
    attribute = (X[:, 2] * 1.5 + rng.normal(size=600)).round().clip(-2, 2).astype(int)
    X = np.column_stack([X, attribute])
    shares = {level: y[attribute == level].mean() for level in set(attribute.tolist())}
    with pytest.warns(ask.AskanceWarning, match="differ in more than their proportions"):
        ask.ProportionClassifier("mean-map").fit(X, attribute, shares)
    dealt, equal = stratified(y, 3, rng)
    with pytest.warns(ask.AskanceWarning, match="may be upside down"):
        ask.ProportionClassifier("bag-likelihood").fit(X, dealt, equal)
    with pytest.warns(ask.AskanceWarning, match="nearly the same"):
        ask.ProportionClassifier("mean-map").fit(X[:, :3], dealt, equal)


def test_bags_by_an_attribute_get_the_linear_committee_and_both_answers_are_shown(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    y = (X[:, 0] + X[:, 1] + rng.logistic(size=2000) > 0).astype(int)
    bands = np.digitize(X[:, 1] + X[:, 2], [-1.5, -0.5, 0.5, 1.5])
    with pytest.warns(
        ask.AskanceWarning, match="what tells bags apart passes for what tells classes apart, and 5 bags"
    ):
        fitted = ask.ProportionClassifier(random_state=0).fit(X, bands, np.bincount(bands, y) / np.bincount(bands))
    assert fitted.method_ == "linear-committee"
    assert fitted.bag_diagnosis_.alike is False
    assert fitted.bag_diagnosis_.informative
    shown = str(fitted.summary())
    assert "bags informative" in shown
    assert "bags alike" in shown
    fitted.save(tmp_path / "model.json")
    again = ask.load_model(tmp_path / "model.json")
    assert again.bag_diagnosis_ == fitted.bag_diagnosis_
    np.testing.assert_allclose(again.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("method", ["relabel", "bag-classifier"])
def test_rows_that_are_repeated_are_held_out_together(method):
    X, y, bags, table = people(250, 4, seed=6, skew=1.0)
    twice = np.concatenate([np.arange(250), np.arange(250)])
    fitted = ask.ProportionClassifier(method, random_state=0).fit(X[twice], bags[twice], table)
    assert fitted.score(X, y, of="truth") > 0.65


def test_a_base_estimator_of_ones_own():
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    X, y, bags, table = people(800, 8, skew=0.3)
    for method, base in (
        ("relabel", DecisionTreeRegressor(min_samples_leaf=20)),
        ("relabel", DecisionTreeClassifier(min_samples_leaf=20)),
        ("bag-classifier", LogisticRegression()),
    ):
        fitted = ask.ProportionClassifier(method, base_estimator=base).fit(X, bags, table)
        assert np.mean(fitted.predict(X) == y) > 0.75
        assert not hasattr(base, "classes_")
        assert not hasattr(base, "tree_")
        with pytest.raises(ask.AskanceError, match="linear method"):
            fitted.to_sklearn()
        with pytest.raises(ask.AskanceError, match="linear method"):
            fitted.to_json()
        with pytest.raises(ask.AskanceError, match="predict_proba"):
            fitted.decision_function(X)


def test_a_pipeline_as_base_estimator():
    from sklearn.linear_model import LinearRegression

    X, y, bags, table = people(800, 8, skew=0.3)
    for method, base in (
        ("relabel", LogisticRegression()),
        ("relabel", LinearRegression()),
        ("bag-classifier", LogisticRegression()),
    ):
        model = ask.ProportionClassifier(method, base_estimator=make_pipeline(StandardScaler(), base))
        assert np.mean(model.fit(1000 * X, bags, table).predict(1000 * X) == y) > 0.75


@pytest.mark.parametrize("method", ["relabel", "bag-classifier"])
def test_a_base_estimator_that_cannot_do_it_is_refused(method):
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import LinearSVC

    X, _, bags, table = people(200, 8, skew=0.3)
    base = KNeighborsClassifier() if method == "relabel" else LinearSVC()
    with pytest.raises(ask.InvalidInput, match="base_estimator="):
        ask.ProportionClassifier(method, base_estimator=base).fit(X, bags, table)


# -- released counts, privacy, the page ----------------------------------------------------------------------


def released(X, y, bags, epsilon=2.0):
    counts = {bag: np.bincount(y[bags == bag], minlength=2).tolist() for bag in np.unique(bags).tolist()}
    return ask.release_counts(counts, epsilon=epsilon, classes=(0, 1))


def test_released_counts_bring_their_noise_and_their_guarantee():
    X, y, bags, _ = people(1200, 12, skew=0.5)
    release = released(X, y, bags)
    fitted = ask.ProportionClassifier("mean-map").fit(X, bags, release)
    shares = {bag: row[1] for bag, row in release.by_bag(release.raw_proportions).items()}
    by_hand = ask.ProportionClassifier("mean-map").fit(X, bags, shares, release.by_bag(release.noise))
    np.testing.assert_allclose(fitted.parameters_, by_hand.parameters_, rtol=1e-10)
    assert fitted.guarantee_ == release.guarantee
    assert by_hand.guarantee_.epsilon == np.inf
    assert "epsilon 2" in str(fitted.summary())
    with pytest.raises(ask.InvalidInput, match="its own noise"):
        ask.ProportionClassifier().fit(X, bags, release, noise=0.1)


def test_fit_release_says_what_it_wants(tmp_path):
    X, y, bags, _ = people(400, 8)
    release = released(X, y, bags)
    with pytest.raises(ask.InvalidInput, match="X= and bags="):
        ask.ProportionClassifier().fit_release(release, X=X)
    with pytest.raises(ask.InvalidInput, match="engine='local': learning from bags"):
        ask.ProportionClassifier().fit_release(release, "dask", X=X, bags=bags)
    with pytest.raises(ask.InvalidInput, match="expected a release of counts or a release of reports"):
        ask.ProportionClassifier().fit_release(ask.release_mean_operator(X, y, 1.0, classes=(0, 1)))


def test_fit_release_takes_a_release_of_answers_too():
    release = privatize_table(ask.Study.parse(RELEASED), districts())
    fitted = ask.ProportionClassifier("mean-map").fit_release(release, bags="district")
    again = ask.ProportionClassifier("mean-map").fit(release, "district")
    np.testing.assert_array_equal(fitted.coef_, again.coef_)
    assert fitted.guarantee_ == release.question().channel.guarantee
    with pytest.raises(ask.InvalidInput, match="the features are its covariates"):
        ask.ProportionClassifier().fit_release(release, X=[[1.0]], bags="district")


def test_proportions_do_not_tell_accuracy():
    X, y, bags, table = people(400, 40)
    model = ask.ProportionClassifier("mean-map").fit(X, bags, table)
    with pytest.raises(NotAvailable, match=r"proportions do not tell which rows are right.*log_likelihood_"):
        model.score(X, y)
    assert model.score(X, y, of="truth") == np.mean(model.predict(X) == y)


@pytest.mark.parametrize("method", ["bag-likelihood", "bag-classifier", "committee"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_page_shows_how_well_bags_are_explained(method, classes, tmp_path):
    X, _, bags, table = people(600, 12, classes=classes, skew=0.5)
    model = ask.ProportionClassifier(method, random_state=0).fit(X, bags, table)
    number, predicted, given, rows = model.bag_fit_.T
    assert set(number) == set(range(classes))
    for k in range(classes):
        assert rows[number == k].sum() == 600
        assert np.average(given[number == k], weights=rows[number == k]) == pytest.approx(
            np.bincount(bags) @ table[:, k] / 600
        )
        assert (
            np.corrcoef(predicted[number == k], given[number == k])[0, 1] > 0.6
        )  # some eight points, .74 and more here
    model.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "by the features of their rows" in page
    assert ("Estimates with 95% intervals" in page) == (method == "bag-likelihood")


@pytest.mark.parametrize("seed", range(20))
def test_groups_of_bags_are_never_small_however_uneven_bags_are(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.geometric(rng.choice([0.02, 0.3, 1.0]), size=60)
    shares = rng.dirichlet([1, 1, 1], size=60)
    for k in range(3):
        rows = bag_fit(shares, shares, sizes)
        mine = rows[rows[:, 0] == k]
        assert mine[:, 3].sum() == sizes.sum()
        assert mine[:, 3].min() >= 20
        assert len(mine) <= 10
    assert len(bag_fit(shares[:3], shares[:3], np.array([5, 5, 5]))) == 3  # too few rows for two groups of a class


def test_nobodys_label_is_kept_of_bags_of_one_row():
    X, y, _, _ = people(60)
    model = ask.ProportionClassifier("bag-likelihood").fit(X, np.arange(60), y.astype(float))
    assert model.bag_fit_[:, 3].min() >= 20


def test_saving_and_deployment(tmp_path):
    X, _, bags, table = people(400, 40)
    for method in LINEAR:
        fitted = ask.ProportionClassifier(method, classes=("no", "yes")).fit(X, bags, table)
        fitted.save(tmp_path / "model.json")
        again = ask.load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
        np.testing.assert_array_equal(fitted.to_sklearn().predict(X), fitted.predict(X))
    assert str(again.summary()) == str(fitted.summary())
    plain = ask.ProportionClassifier("mean-map").fit(X, bags, table)
    assert "no standard errors: method='bag-likelihood' has them" in str(plain.summary())
    assert np.isnan(plain.conf_int()).all(axis=None)
    with pytest.raises(ask.AskanceError, match="more bags than parameters"):
        _ = plain.standard_errors_


def test_in_a_pipeline_and_cloned():
    X, y, bags, table = people(400, 40)
    model = make_pipeline(StandardScaler(), ask.ProportionClassifier("bag-likelihood"))
    model.fit(1000 * X, bags, proportionclassifier__proportions=table)
    assert np.mean(model.predict(1000 * X) == y) > 0.75
    copy = clone(model[-1])
    assert copy.get_params() == model[-1].get_params()
    assert not hasattr(copy, "coef_")
    named = ask.ProportionClassifier("mean-map").fit(pd.DataFrame(X, columns=list("uvw")), bags, table)
    assert named.parameter_names_ == ("Intercept", "u", "v", "w")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "magic"}, "method='magic'"),
        ({"ridge": -1.0}, "ridge=-1.0"),
        ({"ridge": "much"}, "ridge='much'"),
        ({"smoothness": 0.0}, "smoothness=0.0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"loss": "hinge"}, "loss='hinge'"),
        ({"method": "bag-likelihood", "loss": "square"}, "mean maps"),
        ({"method": "relabel", "base_estimator": StandardScaler()}, "base_estimator"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, _, bags, table = people(100, 5)
    with pytest.raises(ask.InvalidInput, match=message):
        ask.ProportionClassifier(**parameters).fit(X, bags, table)


def test_bad_data_are_refused():
    X, _, bags, table = people(100, 5)
    with pytest.raises(ValueError, match="NaN"):
        ask.ProportionClassifier().fit(np.where(X > 2, np.nan, X), bags, table)
    with pytest.raises(ask.Unidentifiable, match="same proportions"):
        ask.ProportionClassifier().fit(X, bags, np.full(len(table), 0.3))
    with pytest.raises(ask.InvalidInput, match="sum to"):
        ask.ProportionClassifier().fit(X, bags, 0.9 * table)
    X, _, bags, table = people(400, 20, skew=0.3)
    with pytest.raises(ask.AskanceWarning, match="raise max_iter"):
        ask.ProportionClassifier("bag-likelihood", max_iter=1).fit(X, bags, table)


# -- bags of a release -----------------------------------------------------------------------------------------------


def districts(n=6000, bags=60, seed=3):
    rng = np.random.default_rng(seed)
    district = rng.integers(bags, size=n)
    level = np.linspace(-2, 2, bags)
    x = rng.normal(size=n) + level[district]
    truth = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * x)), "yes", "no")
    return pd.DataFrame({"ill": truth, "x": x, "z": rng.normal(size=n), "district": [f"d{d}" for d in district]})


RELEASED = """
[questions.ill]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.9 }
[covariates.x]
type = "number"
[covariates.z]
type = "number"
[covariates.district]
type = "category"
"""


def test_a_release_brings_features_bags_and_noisy_proportions():
    people = districts()
    release = privatize_table(ask.Study.parse(RELEASED), people)
    fitted = ask.ProportionClassifier("mean-map").fit(release, "district")
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.feature_names_in_.tolist() == ["x", "z"]
    assert np.mean(fitted.predict(people[["x", "z"]]) == people["ill"]) > 0.8
    given = people.groupby("district")["ill"].apply(lambda labels: (labels == "yes").mean())
    known = ask.ProportionClassifier("mean-map", classes=["no", "yes"]).fit(release, "district", given)
    assert np.mean(known.predict(people[["x", "z"]]) == people["ill"]) > 0.8


def test_the_noise_of_released_proportions_is_the_channels():
    people = districts(400, 2)
    study, truth = ask.Study.parse(RELEASED), {}
    for name, rows in people.groupby("district"):
        truth[name] = (rows["ill"] == "yes").mean()
    told = [bag_data(privatize_table(study, people), "district", None, None) for _ in range(300)]
    for name, share in truth.items():
        estimates = np.array([one.proportions[name]["yes"] for one in told])
        stated = np.mean([one.noise[name][1, 1] for one in told])
        # Real entropy: five standard errors, one failure in a million.
        assert abs(estimates.mean() - share) < 5 * np.sqrt(stated / 300)
        assert stated == pytest.approx(estimates.var(), rel=5 * np.sqrt(2 / 300))


@pytest.mark.parametrize(("bags", "message"), [(["d1"], "the name of a column"), ("village", "no column 'village'")])
def test_bags_of_a_release_are_a_column(bags, message):
    release = privatize_table(ask.Study.parse(RELEASED), districts(100, 3))
    with pytest.raises(ask.InvalidInput, match=message):
        ask.ProportionClassifier().fit(release, bags)
