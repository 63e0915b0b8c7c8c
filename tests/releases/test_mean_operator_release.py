"""Releases of the mean operator: exact sums, exact levels, honest variances."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

import askance as ask
from askance.errors import InvalidInput, ReleaseError
from askance.mechanisms.budget import Budget
from askance.mechanisms.sums.label_sums import LabelSums, sum_by_label
from askance.mechanisms.sums.mean_operator_mechanisms import choose_sum_mechanism, sensitivity, values_from
from askance.mechanisms.total_noise import (
    Sensitivity,
    TotalGaussian,
    TotalLaplace,
    TotalRadial,
    gaussian_delta,
    gaussian_deviation,
)
from askance.planning.theory.mean_operator_bounds import noise_bound, parameter_bound, risk_bound
from askance.releases.mean_operator_release import MeanOperatorRelease, simulate_mean_operator_release
from askance.releases.restated import content_digest

pytestmark = pytest.mark.filterwarnings("ignore:A model from this release would be near guessing")

RNG = np.random.default_rng(11)
X = RNG.standard_normal((200, 3))
Y = RNG.choice([-1, 1], 200)
MECHANISMS = ("laplace", "knorm", "gaussian", "response")


def delta_of(mechanism):
    return "1e-6" if mechanism == "gaussian" else 0


# -- exact sums ------------------------------------------------------------------------------------------------------


def codes(y, classes=(-1, 1)):
    return np.array([classes.index(label) for label in y], dtype=np.uint8)


def test_sums_are_exact_whatever_the_order_and_layout():
    sums = sum_by_label(X, codes(Y), 2, True)
    step = Fraction(2) ** -sums.step_bits
    for label, line in zip((-1, 1), sums.totals, strict=True):
        rows = [[1.0, *row] for row in X[label == Y]]
        exact = [sum(round(Fraction(row[j]) / step) for row in rows) for j in range(4)]
        assert line.tolist() == exact
    order = RNG.permutation(200)
    for table in (X[order], np.asfortranarray(X[order]), np.repeat(X[order], 2, axis=1)[:, ::2]):
        again = sum_by_label(table, codes(Y[order]), 2, True)
        assert again.step_bits == sums.step_bits
        assert (again.totals == sums.totals).all()


def test_norms_are_those_of_the_rounded_rows():
    sums = sum_by_label(X, codes(Y), 2, True)
    whole = [[round(Fraction(v) * 2**sums.step_bits) for v in (1.0, *row)] for row in X]
    assert sums.one_norm == max(sum(map(abs, row)) for row in whole)
    exact = max(sum(v * v for v in row) for row in whole)
    assert exact <= sums.squared_two_norm <= exact * (1 + 1e-12)


def test_norms_of_more_columns_than_doubles_add_exactly_are_rounded_up():
    wide = np.random.default_rng(3).standard_normal((2, 5000))
    for scale in range(1, 20):  # before, every second one was too small
        sums = sum_by_label(wide * scale, np.array([0, 1], dtype=np.uint8), 2, True)
        whole = [[round(Fraction(v) * 2**sums.step_bits) for v in (1.0, *row * scale)] for row in wide]
        exact = max(sum(map(abs, row)) for row in whole)
        assert exact <= sums.one_norm <= exact * (1 + 1e-11)


def test_sums_below_two_to_the_53rd_and_as_fine_as_that_allows():
    for scale in (1e-8, 1.0, 1e6):
        sums = sum_by_label(X * scale, codes(Y), 2, False)
        largest = np.abs(X).max() * scale / sums.step * 200
        assert 2**48 < largest <= 2**53


def test_a_row_larger_than_the_grid_was_made_for_is_noticed():
    odd = X.copy()
    odd = np.tile(odd, (50, 1))
    odd[1, 2] = 1e9  # not among the rows that are looked at first
    sums = sum_by_label(odd, np.zeros(len(odd), dtype=np.uint8), 2, True)
    assert sums.one_norm * sums.step == pytest.approx(np.abs(odd[1]).sum() + 1)
    assert float(sums.totals[0, 3]) * sums.step == pytest.approx(odd[:, 2].sum())


def test_integers_and_small_floats_are_taken_as_they_are():
    whole = RNG.integers(-5, 5, (50, 2))
    labels = np.zeros(50, dtype=np.uint8)
    for table in (whole, whole.astype(np.float32), whole.astype(np.int8)):
        sums = sum_by_label(table, labels, 2, False)
        assert (sums.totals[0] * sums.step).astype(float).tolist() == whole.sum(axis=0).tolist()


# -- exact levels ----------------------------------------------------------------------------------------------------


def tiny(rows, labels, classes=2):
    """Sums on a grid of whole numbers, so that all outputs can be looked at."""
    rows = np.array(rows, dtype=object)
    totals = np.zeros((classes, rows.shape[1]), dtype=object)
    for row, code in zip(rows, labels, strict=True):
        totals[code] += row
    one = max(sum(abs(v) for v in row) for row in rows)
    two = max(sum(v * v for v in row) for row in rows)
    return LabelSums(totals, 0, len(rows), one, two, 0.0)


def log_law(noise, shift):
    """The logarithm of the probability of each output near the centre, of noise moved by a vector."""
    grid = np.array(list(itertools.product(range(-25, 26), repeat=noise.count)))
    away = grid - np.array(shift)
    if isinstance(noise, TotalLaplace):
        return -np.abs(away).sum(axis=1) / float(noise.scale)  # the same constant for every shift
    deviation = float(noise.deviation)
    tails = np.log(stats.norm.cdf((away + 0.5) / deviation) - stats.norm.cdf((away - 0.5) / deviation))
    return tails.sum(axis=1)


@pytest.mark.parametrize("rows", [[[3], [1], [-2]], [[1, 2], [2, -2], [0, 1]]])
def test_the_level_of_laplace_noise_by_looking_at_every_output(rows):
    budget = Budget.of("0.7")
    worst = 0.0
    for labels in itertools.product((0, 1), repeat=len(rows)):
        here = tiny(rows, labels)
        plan, _ = choose_sum_mechanism("laplace", here, budget, (-1, 1))
        for i in range(len(rows)):
            there = tiny(rows, [1 - c if j == i else c for j, c in enumerate(labels)])
            ratio = log_law(plan.noise, here.totals[1]) - log_law(plan.noise, there.totals[1])
            worst = max(worst, ratio.max())
    assert worst == pytest.approx(0.7, abs=1e-12)  # reached, and not exceeded


def test_two_labelled_rows_move_in_a_release_of_three_classes():
    rows = [[2], [1]]
    here, there = tiny(rows, [0, 1], 3), tiny(rows, [2, 1], 3)
    plan, _ = choose_sum_mechanism("laplace", here, Budget.of(1), ("a", "b", "c"))
    assert sensitivity(here) == Sensitivity(one=4, squared_two=8, count=3)
    gap = log_law(plan.noise, here.totals.ravel()) - log_law(plan.noise, there.totals.ravel())
    assert gap.max() == pytest.approx(1.0, abs=1e-12)


def test_the_delta_of_gaussian_noise_by_looking_at_every_output():
    for count, shift in ((1, [5]), (2, [3, 4])):
        noise = TotalGaussian.calibrated(Sensitivity(7, 25, count), Budget.of(1, "0.05"))
        here, there = np.exp(log_law(noise, [0] * count)), np.exp(log_law(noise, shift))
        exact = np.maximum(here - math.e * there, 0).sum()
        assert exact <= 0.05
        assert exact > 0.045  # rounding hides a little, not much


def test_the_gaussian_formula_against_an_integral():
    for deviation, epsilon in ((0.7, 1.0), (4.0, 0.1), (1.5, 2.0)):
        density = stats.norm(scale=deviation).pdf

        def excess(w, density=density, epsilon=epsilon):
            return density(w) - math.exp(epsilon) * density(w - 1)

        border = 0.5 - epsilon * deviation**2  # below it the excess is positive
        integral, _ = integrate.quad(excess, -60, border, points=[border - deviation], limit=500)
        assert gaussian_delta(deviation, epsilon) == pytest.approx(integral, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-10), (1.0, 1e-6), (20.0, 1e-3), (1.0, 0.5), (1e-3, 1e-30)])
def test_the_gaussian_deviation_is_the_least(epsilon, delta):
    deviation = gaussian_deviation(epsilon, delta)
    assert gaussian_delta(deviation, epsilon) <= delta
    assert gaussian_delta(deviation * (1 - 1e-5), epsilon) > delta


def test_the_scale_of_radial_noise_is_never_below_the_norm():
    for squared in (1, 2, 25, 3**70):
        noise = TotalRadial.calibrated(Sensitivity(1, squared, 2), Budget.of("0.1"))
        ratio = Fraction(squared) / (noise.scale * Fraction(1, 10)) ** 2
        assert 1 - Fraction(1, 10**8) < ratio <= 1


def test_response_gives_the_level_of_its_channel():
    release = ask.release_mean_operator(X, Y, 0.1, mechanism="response")
    assert release.guarantee.epsilon <= 0.1
    assert release.guarantee.epsilon == pytest.approx(0.1, abs=1e-12)


# -- unbiased, with the variance that is said ------------------------------------------------------------------------


def truth(X, y, classes):
    table = np.column_stack([np.ones(len(X)), X])
    if len(classes) == 2:
        return (np.where(np.array(y) == classes[1], 1, -1)[:, None] * table).mean(axis=0)
    return np.array([((np.array(y) == label)[:, None] * table).mean(axis=0) for label in classes])


# 400 releases of at most 12 values: means within 4.5 standard errors (one in 10,000 for all of them), the mean of all
# squared standardised errors within 30 per cent of 1 (beyond five of its standard errors, kurtosis of Laplace).
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("classes", [(-1, 1), ("a", "b", "c")])
def test_releases_are_unbiased_and_vary_as_they_say(mechanism, classes):
    rng = np.random.default_rng(7)
    y = rng.choice(classes, 200, p=None if len(classes) == 2 else [0.6, 0.3, 0.1])
    made = [
        simulate_mean_operator_release(
            X, y, 1, delta_of(mechanism), mechanism, rng=rng, classes=classes, shape="none"
        ).operator
        for _ in range(400 if mechanism != "knorm" else 200)
    ]
    mu, values = truth(X, y, classes), np.array([operator.values for operator in made])
    variance = np.mean([operator.noise_variance for operator in made], axis=0)
    assert np.abs((values.mean(axis=0) - mu) / np.sqrt(variance / len(made))).max() < 4.5
    assert ((values - mu) ** 2 / variance).mean() == pytest.approx(1, abs=0.3)
    # Values that go together do so as they say: all entries of the covariance, within a third of the largest.
    covariance = np.mean([operator.noise_covariance for operator in made], axis=0)
    found = np.cov((values - mu).reshape(len(made), -1), rowvar=False)
    np.testing.assert_allclose(found, covariance, atol=covariance.max() / 3)
    if len(classes) == 3:
        np.testing.assert_allclose(
            values.sum(axis=1), np.broadcast_to(mu.sum(axis=0), values.sum(axis=1).shape), atol=1e-9
        )


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("classes", [(-1, 1), (0, 1, 2)])
def test_the_predicted_error_is_the_sum_of_the_variances(mechanism, classes):
    y = RNG.choice(classes, 200)
    release = ask.release_mean_operator(X, y, 1, delta_of(mechanism), mechanism, classes=classes)
    tolerance = 0.2 if (mechanism, len(classes)) == ("response", 3) else 1e-9  # shares of classes are estimated there
    assert release.operator.noise_variance.sum() == pytest.approx(release.predicted[mechanism], rel=tolerance)


def test_the_scale_of_laplace_noise_is_that_of_the_paper():
    release = ask.release_mean_operator(X, Y, 0.5, mechanism="laplace", shape="none")
    scale = 2 * (np.abs(X).sum(axis=1).max() + 1) / (200 * 0.5)
    assert release.operator.noise_variance == pytest.approx(np.full(4, 2 * scale**2), rel=1e-6)
    assert release.norms["one"] == pytest.approx(np.abs(X).sum(axis=1).max() + 1)
    assert release.norms["two"] == pytest.approx(math.sqrt((X**2).sum(axis=1).max() + 1))


# -- auto ------------------------------------------------------------------------------------------------------------


def test_auto_takes_the_least_error():
    dense = ask.release_mean_operator(np.ones((10_000, 40)), [1, -1] * 5000, 1)
    assert dense.mechanism == "knorm"  # all coordinates alike: the 2-norm is small beside the 1-norm
    sparse = ask.release_mean_operator(
        np.repeat(np.eye(40), 50, axis=0), [1, -1] * 1000, 1, fit_intercept=False, shape="none"
    )
    assert sparse.mechanism == "laplace"
    wide = ask.release_mean_operator(RNG.standard_normal((60, 200)), [1, -1] * 30, 1, shape="none")
    assert wide.mechanism == "response"  # fewer people than d^2
    relaxed = ask.release_mean_operator(np.ones((1000, 40)), [1, -1] * 500, 1, 1e-3)
    assert relaxed.mechanism == "gaussian"
    for release in (dense, sparse, wide, relaxed):
        assert release.predicted[release.mechanism] == min(release.predicted.values())
        assert release.guarantee.delta == (1e-3 if release is relaxed else 0)


def test_auto_spends_no_delta_that_it_does_not_use(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 1, "1e-9", data_set="d")
    release = ask.release_mean_operator(np.ones((4, 1)), [1, 1, -1, 1], 0.5, "1e-9", ledger=ledger)
    assert release.mechanism != "gaussian"
    assert ledger.entries[0].delta == "0"


def test_a_large_epsilon_leaves_little_noise():
    release = ask.release_mean_operator(X, Y, 10_000)
    assert "response" not in release.predicted
    np.testing.assert_allclose(release.operator.values, truth(X, Y, (-1, 1)), atol=1e-3)


# -- files -----------------------------------------------------------------------------------------------------------


def test_a_release_comes_back_from_its_file(tmp_path):
    path = tmp_path / "mu.json"
    release = ask.release_mean_operator(X, Y, 1, columns=["a", "b", "c"], ids=range(200))
    release.write(path)
    again = MeanOperatorRelease.read(path)
    assert again.to_dict() == release.to_dict()
    assert again.digest == release.digest
    assert again.columns == ("a", "b", "c")
    assert again.guarantee.protects == "one person's label"
    assert "features and the number of people are public" in again.guarantee.neighbours
    with pytest.raises(ReleaseError, match="exists already"):
        release.write(path)
    assert "200 labels" in str(again)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "other"}, "is not the release"),
        ({"version": 4}, "format version 4"),
        ({"values": [1.0]}, "damaged"),
        ({"values": None}, "damaged"),
        ({"rows": "many"}, "damaged"),
        ({"intercept": 1}, "damaged"),
        ({"guarantee": {}}, "damaged"),
        ({"columns": ["a"]}, "damaged"),
    ],
)
def test_damaged_files_are_refused(change, says, tmp_path):
    path = tmp_path / "mu.json"
    content = ask.release_mean_operator(X, Y, 1).to_dict() | change
    path.write_text(json.dumps(content | {"digest": content_digest(content)}))
    with pytest.raises(ReleaseError, match=says):
        MeanOperatorRelease.read(path)


def test_files_that_are_no_release(tmp_path):
    with pytest.raises(ReleaseError, match="there is no file"):
        MeanOperatorRelease.read(tmp_path / "none")
    (tmp_path / "text").write_text("{")
    with pytest.raises(ReleaseError, match="not a JSON file"):
        MeanOperatorRelease.read(tmp_path / "text")


# -- the digest ------------------------------------------------------------------------------------------------------


def test_features_are_known_by_their_digest():
    names = ["a", "b", "c"]
    release = ask.release_mean_operator(X, Y, 1, columns=names, ids=range(200))
    order = RNG.permutation(200)
    release.check_features([str(i) for i in order], names, X[order])
    changed = X.copy()
    changed[3, 1] += 1e-9
    cases = [
        (range(200), names, changed, "the values of 'b' differ"),
        (range(1, 201), names, X, "identifiers of the 200 rows are others"),
        (range(199), names, X[:199], "there are 199 rows and not 200"),
        (range(200), ["a", "b", "d"], X, "lacks the columns 'c' and has other columns"),
        (range(200), ["b", "a", "c"], X[:, [1, 0, 2]], "another order"),
    ]
    for ids, columns, table, says in cases:
        with pytest.raises(InvalidInput, match=says):
            release.check_features(ids, columns, table)
    with pytest.raises(InvalidInput, match="without a digest"):
        ask.release_mean_operator(X, Y, 1).check_features(range(200), names, X)


# -- bad input spends nothing ----------------------------------------------------------------------------------------


def with_value(value):
    table = X.copy()
    table[150, 1] = value
    return table


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        ((X, [*Y[:-1], 0], 1), {}, "labels are not among"),
        ((X, ["yes"] * 200, 1), {"classes": ["no", "maybe"]}, "labels are not among"),
        ((X, Y[:-1], 1), {}, "199 labels for 200 rows"),
        ((with_value(np.nan), Y, 1), {}, "row 151, feature 2 is not a finite number"),
        ((with_value(np.inf), Y, 1), {}, "row 151, feature 2"),
        ((with_value(1e300), Y, 1), {"shape": "none"}, "features as large as"),
        ((X, Y, 1), {"shape": "round"}, "shape='round'"),
        ((X[:, 0], Y, 1), {}, "shape"),
        ((X[:0], Y[:0], 1), {}, "shape"),
        ((np.array([["a"]] * 200), Y, 1), {}, "table of numbers"),
        ((np.zeros((200, 1)), Y, 1), {"fit_intercept": False}, "all zero"),
        ((X, Y, 0), {}, "epsilon=0"),
        ((X, Y, -1), {}, "epsilon=-1"),
        ((X, Y, "x"), {}, "epsilon="),
        ((X, Y, 1, 2), {}, "delta=2"),
        ((X, Y, 1, 1e-6, "laplace"), {}, "delta=1e-06"),
        ((X, Y, 1, 0, "gaussian"), {}, "delta=0"),
        ((X, Y, 1, 0, "magic"), {}, "mechanism='magic'"),
        ((X, Y, 1), {"ids": [1] * 200}, "identifier '1' occurs more than once"),
        ((X, Y, 1), {"ids": range(199)}, "199 identifiers for 200 rows"),
        ((X, Y, 1), {"ids": [0.5] * 200}, "identifiers of type double"),
        ((X, Y, 1), {"ids": ["", *range(199)]}, "identifier"),
        ((X, Y, 1), {"columns": ["a"]}, "1 column names for 3"),
        ((X, Y, 1), {"classes": ["a"]}, "at least two classes"),
    ],
)
def test_what_is_refused_spends_nothing(arguments, options, says, tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 10, "0.1", data_set="d")
    with pytest.raises(InvalidInput, match=says):
        ask.release_mean_operator(*arguments, ledger=ledger, **options)
    assert ledger.entries == ()


def test_a_budget_is_that_of_people_and_not_of_a_table(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 2, data_set="d")
    ask.release_mean_operator(X, Y, 1, ids=range(200), ledger=ledger)
    ask.release_mean_operator(X[::-1], Y[::-1], 1, ids=range(200)[::-1], ledger=tmp_path / "l")
    for ids in (range(1, 201), None):
        with pytest.raises(ask.BudgetSpent, match="epsilon 0 left"):
            ask.release_mean_operator(X, Y, 1, ids=ids, ledger=ledger)
    ask.release_mean_operator(X, Y, 2, ids=range(200, 400), ledger=ledger)
    assert len(ledger.entries) == 3


def test_noise_is_never_seeded():
    first, second = (ask.release_mean_operator(X, Y, 1).operator.values for _ in range(2))
    assert not np.any(first == second)
    np.random.seed(0)  # noqa: NPY002 - numpy's global state must not matter
    third = ask.release_mean_operator(X, Y, 1).operator.values
    np.random.seed(0)  # noqa: NPY002
    assert not np.any(third == ask.release_mean_operator(X, Y, 1).operator.values)


def test_values_of_three_classes_add_up_to_the_public_total():
    sums = tiny([[2], [1], [5]], [0, 1, 2], 3)
    values = values_from(sums, [1, 2, 6])
    np.testing.assert_allclose(values.ravel(), np.array([0.0, 0.0, 8.0]) / 3)


# -- what noise does to a model --------------------------------------------------------------------------------------


def test_parameters_move_no_further_than_theorem_6_says():
    rng = np.random.default_rng(3)
    ridge = 0.1
    table = X / np.linalg.norm(X, axis=1).max()
    mu = (Y[:, None] * table).mean(axis=0)

    def fitted(values):
        model = ask.MeanOperatorClassifier(ridge=ridge, fit_intercept=False).fit(table, values, classes=(-1, 1))
        return model.coef_[0]

    here = fitted(mu)
    for size in (1e-3, 1e-2, 0.1):
        other = mu + size * rng.standard_normal(3)
        moved, distance = np.linalg.norm(fitted(other) - here), np.linalg.norm(other - mu)
        bound = parameter_bound(distance, ridge)
        assert moved <= bound
        assert moved > bound / 20  # the bound says something


# The bound fails with probability 0.05 at most; of 2,000 draws 140 are 4 standard errors more.
@pytest.mark.parametrize("width", [1, 5, 31])
def test_noise_stays_within_its_bound(width):
    norms = np.linalg.norm(np.random.default_rng(width).laplace(scale=2.0, size=(2000, width)), axis=1)
    assert (norms > noise_bound(width, 2.0, 0.05)).sum() < 140
    assert risk_bound(width, 100, 0.5, 3.0, 0.05, odd=-4) == pytest.approx(6 * noise_bound(width, 0.04, 0.05))


@pytest.mark.parametrize(
    "call",
    [
        lambda: parameter_bound(1.0, 0.0),
        lambda: parameter_bound(-1.0, 1.0),
        lambda: noise_bound(0, 1.0, 0.5),
        lambda: noise_bound(1, 1.0, 1.0),
        lambda: risk_bound(1, 0, 1.0, 1.0, 0.5),
        lambda: risk_bound(1, 1, 0.0, 1.0, 0.5),
    ],
)
def test_bounds_refuse_what_has_no_meaning(call):
    with pytest.raises(InvalidInput):
        call()
