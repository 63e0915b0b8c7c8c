"""The publisher's advice: the predicted error is the error, and membership is paid for."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import askance as ask
from askance.entropy.bits import GeneratorBits
from askance.errors import InvalidInput, Unidentifiable
from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.balanced_counts import BalancedLaplace
from askance.mechanisms.counts.count_mechanisms import best_noise
from askance.planning.bag_advice import BagAdvice
from askance.planning.bag_plot import plot_bag_advice
from askance.planning.theory.ratio_error import equally_apart, expected_ratio_error, measured_apart, sum_zero_basis


def class_means(classes, separation, dim):
    """Means that all lie equally far apart."""
    return np.eye(classes, dim) * separation / math.sqrt(2)


def least_squares_ratios(bag_means, sizes, proportions, new_mean):
    """Class means by weighted least squares, then the mixture of them that is nearest to the new mean."""
    root = np.sqrt(sizes)[:, None]
    means = np.linalg.lstsq(proportions * root, bag_means * root, rcond=None)[0]
    basis = sum_zero_basis(len(means))
    equal = np.full(len(means), 1 / len(means))
    step = np.linalg.lstsq((basis.T @ means).T, new_mean - equal @ means, rcond=None)[0]
    return equal + basis @ step


# 1,500 estimates: their mean L1 error has a standard error of about 2 per cent; the formula is of first order.
@pytest.mark.parametrize(
    ("proportions", "sizes", "epsilon"),
    [
        (np.array([[0.9, 0.1], [0.1, 0.9]]), [400, 400], "0.1"),
        (np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]), [300, 500, 400], "0.2"),
        (np.array([[0.7, 0.3], [0.3, 0.7], [0.6, 0.4], [0.4, 0.6]]), [300, 300, 200, 200], "1"),
    ],
)
def test_the_predicted_error_is_the_error(proportions, sizes, epsilon):
    rng = np.random.default_rng(1)
    classes, dim, new_rows = proportions.shape[1], 5, 500
    means, sizes = class_means(classes, 2.0, dim), np.array(sizes)
    law = BalancedLaplace.calibrated(classes, Budget.of(epsilon))
    noise = law.covariance(np.zeros(classes)) / sizes[:, None, None] ** 2
    root = np.linalg.cholesky(noise[:, :-1, :-1])
    missed = []
    for _ in range(1500):
        # Means of Gaussian rows are Gaussian: they are drawn as such. Ratios are those of the rows that were drawn.
        bag_means = proportions @ means + rng.normal(size=(len(sizes), dim)) / np.sqrt(sizes)[:, None]
        part = np.einsum("jkl,jl->jk", root, rng.normal(size=(len(sizes), classes - 1)))
        told = proportions + np.column_stack([part, -part.sum(axis=1)])
        truth = rng.dirichlet(np.ones(classes))
        new_mean = truth @ means + rng.normal(size=dim) / math.sqrt(new_rows)
        missed.append(np.abs(least_squares_ratios(bag_means, sizes, told, new_mean) - truth).sum())
    predicted = expected_ratio_error(proportions, sizes, noise, means @ means.T, new_rows)
    assert np.mean(missed) == pytest.approx(predicted.total, rel=0.1)
    assert predicted.total**2 == pytest.approx(predicted.sampling**2 + predicted.noise**2, rel=0.05)


def test_the_whole_chain_errs_as_advised():
    # Labels, bags by response, counts released, ratios of a new group: 250 times, a standard error of about 5 per cent.
    rng = np.random.default_rng(2)
    means = class_means(2, 2.0, 2)
    y = np.repeat(["no", "yes"], [900, 600])
    codes = (y == "yes").astype(int)
    advice = ask.advise_bags(y, epsilon=1, new_rows=400)
    assert advice.best.membership == "response"
    spent = advice.channel.guarantee.epsilon + advice.best.epsilon_counts
    assert spent == pytest.approx(1, abs=1e-9)
    law = best_noise(2, Budget.of(Fraction(str(advice.best.epsilon_counts))))
    missed, source = [], GeneratorBits(rng)
    for _ in range(250):
        x = means[codes] + rng.normal(size=(1500, 2))
        bag = advice.assign(y, rng)
        sizes = np.bincount(bag, minlength=2)
        true = np.array([np.bincount(codes[bag == j], minlength=2) for j in range(2)])
        told = np.array([law.draw(row.tolist(), source) for row in true]) / sizes[:, None]
        share = rng.random()
        rows = rng.random(400) < share
        new = (means[rows.astype(int)] + rng.normal(size=(400, 2))).mean(axis=0)
        bag_means = np.array([x[bag == j].mean(axis=0) for j in range(2)])
        found = least_squares_ratios(bag_means, sizes, told, new)
        missed.append(np.abs(found - [1 - rows.mean(), rows.mean()]).sum())
    assert np.mean(missed) == pytest.approx(advice.error, rel=0.2)


def test_more_skew_costs_more_and_there_is_an_optimum():
    advice = ask.advise_bags({"a": 3000, "b": 3000, "c": 3000}, 1.0, separation=3.0)
    mine = sorted((o for o in advice.alternatives if o.bags == 3), key=lambda o: o.skew)
    sampling, noise = ([getattr(o, part) for o in mine] for part in ("sampling_error", "noise_error"))
    assert sampling == sorted(sampling, reverse=True)
    assert noise[-1] > min(noise)  # what is left for the counts runs out
    errors = [o.error for o in mine]
    assert 0 < errors.index(min(errors)) < len(errors) - 1
    assert advice.best.error == min(o.error for o in advice.alternatives)
    for option in mine:
        assert option.epsilon_membership + option.epsilon_counts == pytest.approx(1)
        # Randomised response of the label: own bag with the skew, any other with the rest.
        assert option.epsilon_membership == pytest.approx(math.log(option.skew / ((1 - option.skew) / 2)))
    assert advice.best.bags == 3  # few large bags, as the paper says


def test_exact_proportions_say_that_membership_has_no_guarantee():
    y = np.repeat([0, 1, 2], [300, 400, 500])
    advice = ask.advise_bags(y, 1.0, membership="exact")
    assert "NO guarantee" in advice.covered
    assert "NO guarantee" in str(advice)
    assert math.isinf(advice.best.epsilon_membership)
    assert advice.best.epsilon_counts == 1
    bags = advice.assign(y, np.random.default_rng(0))
    counts = np.array([[(y[bags == j] == k).sum() for k in range(3)] for j in range(3)])
    np.testing.assert_allclose(counts, advice.people, atol=1.01)
    with pytest.raises(InvalidInput, match="only then is there a channel"):
        advice.channel  # noqa: B018


# 12,000 people: each of the shares within five standard errors.
@pytest.mark.parametrize("rng", [None, np.random.default_rng(4)])
def test_people_are_dealt_as_advised(rng):
    y = np.repeat(["x", "y", "z"], [6000, 4000, 2000])
    advice = ask.advise_bags(y, 2.0)
    bags = advice.assign(y, rng)
    assert set(np.unique(bags)) == set(range(advice.best.bags))
    counts = np.array([[(y[bags == j] == k).sum() for k in advice.classes] for j in range(advice.best.bags)])
    np.testing.assert_allclose(counts, advice.people, atol=5 * math.sqrt(6000 / 4))
    assert advice.channel.guarantee.epsilon == pytest.approx(advice.best.epsilon_membership)
    assert advice.proportions.sum(axis=1) == pytest.approx(1)
    assert advice.sizes.sum() == pytest.approx(12_000)


def test_bags_are_split_without_a_look_at_labels():
    advice = ask.advise_bags({"a": 50, "b": 50}, 1.0)
    four = next(o for o in advice.alternatives if o.bags == 4)
    split = BagAdvice(advice.classes, four, advice.alternatives, np.full((4, 2), 12.5))
    y = np.repeat(["a", "b"], 4000)
    bags = split.assign(y, np.random.default_rng(1))
    first = np.bincount(bags[y == "a"], minlength=4) / 4000
    assert first[0] == pytest.approx(first[1], abs=0.06)
    assert first[0] + first[1] == pytest.approx(four.skew, abs=0.06)


def test_a_public_column_is_compared():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 1000)
    telling = np.where(rng.random(2000) < 0.95, y, 1 - y)
    advice = ask.advise_bags(y, 0.2, public_bags=np.array(["n", "s"])[telling])
    assert advice.best.membership == "public"
    assert advice.best.epsilon_counts == 0.2
    assert "do not depend on the labels" in advice.covered
    np.testing.assert_array_equal(advice.assign(y), telling)
    useless = ask.advise_bags(y, 0.2, public_bags=rng.integers(0, 2, 2000))
    assert useless.best.membership == "response"


def test_classes_that_lie_further_apart_are_learned_sooner():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 3000)
    X = (class_means(3, 3.0, 4)[y] + rng.normal(size=(3000, 4))) @ rng.normal(size=(4, 4))
    basis = sum_zero_basis(3)
    found = basis.T @ measured_apart(X, y, 3) @ basis
    np.testing.assert_allclose(found, basis.T @ equally_apart(3, 3.0) @ basis, atol=0.5)  # five standard errors
    measured = ask.advise_bags(y, 1.0, X=X)
    assert measured.error == pytest.approx(ask.advise_bags(y, 1.0, separation=3.0).error, rel=0.1)
    assert measured.error < ask.advise_bags(y, 1.0, separation=1.5).error


@pytest.mark.parametrize("width", [2, 50, 150, 400])
def test_many_features_do_not_seem_to_tell_more(width):
    rng = np.random.default_rng(8)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, width))
    X[y == 1, 0] += 2.0
    apart = measured_apart(X, y, 2)
    # Two classes 2 apart: the error is about .2 for few features, and main components lose distance.
    assert 0.1 < np.sqrt(np.trace(apart) - 2 * apart[0, 1]) < 2.6


def test_features_that_do_not_tell_the_classes_apart_are_refused():
    with pytest.raises(Unidentifiable, match="1 features in which some of 3 classes"):
        ask.advise_bags(np.arange(300) % 3, 1.0, X=np.random.default_rng(0).normal(size=(300, 1)))


def test_advice_is_fit_for_json():
    advice = ask.advise_bags({"a": 100, "b": 100}, 1.0, membership="exact")
    told = json.loads(json.dumps(advice.to_dict(), allow_nan=False))
    assert told["best"]["epsilon_membership"] is None
    assert advice.best.epsilon_membership == np.inf


def test_an_error_out_of_reach_is_said():
    advice = ask.advise_bags({"a": 100, "b": 100}, 0.1, error=0.01)
    assert not advice.good_enough
    assert "out of reach" in str(advice)
    assert advice.to_dict()["good_enough"] is False
    assert ask.advise_bags({"a": 10**6, "b": 10**6}, 1.0, error=0.05).good_enough


def test_the_figure_shows_every_number_of_bags_and_the_advice(tmp_path):
    y = np.repeat([0, 1], 500)
    advice = ask.advise_bags(y, 1.0, error=0.1, public_bags=np.arange(1000) % 3 == y)
    axes = plot_bag_advice(advice)
    labels = axes.get_legend_handles_labels()[1]
    for wanted in (
        "2 bags",
        "4 bags",
        "8 bags",
        "2 bags, sampling only",
        "2 bags, noise only",
        "wanted",
        "2 public bags",
    ):
        assert wanted in labels
    axes.figure.savefig(tmp_path / "advice.png")


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (([0, 1, 0, 1], 0), {}, "epsilon=0"),
        (([0, 0, 0], 1), {}, "at least two classes"),
        (({"a": 5, "b": 0}, 1), {}, "a class of nobody"),
        (({"a": 5, "b": 5}, 1), {"classes": ["a", "c"]}, "one for each of the classes"),
        (([0, 1], 1), {}, "at least 4"),
        (([0, 1, 0, 1], 1), {"membership": "free"}, "membership='free'"),
        (([0, 1, 0, 1], 1), {"error": 0}, "error=0"),
        (([0, 1, 0, 1], 1), {"new_rows": 1}, "new_rows=1"),
        (([0, 1, 0, 1], 1), {"separation": 0}, "separation=0"),
        (([0, 1, 0, 1], 1), {"X": np.ones((3, 2))}, "features of shape"),
        (({"a": 5, "b": 5}, 1), {"X": np.ones((10, 2))}, "features without labels"),
        (({"a": 5, "b": 5}, 1), {"public_bags": [1] * 10}, "public bags without labels"),
        (([0, 1, 0, 1], 1), {"public_bags": [1, 2]}, "2 bags for 4 labels"),
        (([0, 1, 0, 1], 1), {"public_bags": [1, None, 1, None]}, "of several kinds"),
        (([0, None, "a", 1], 1), {}, "of several kinds"),
        (([0, 1, 0, 1], 1), {"public_bags": [1.0, 2.0, 1.0, np.nan]}, "public bags that are missing"),
        (({"a": "many", "b": 5}, 1), {}, "not numbers"),
        (([0, 1, 0, 1], 1), {"error": "small"}, "error='small'"),
        (([0, 1, 0, 1], 1), {"new_rows": None}, "new_rows=None"),
        (([0, 1, 0, 1], 1), {"separation": "far"}, "separation='far'"),
        (([0, 1, 0, 1], 1), {"X": [["x"]] * 4}, "features that are not numbers"),
        (([0, 1, 0, 1], 1), {"X": np.ones((4, 2))}, "constant"),
    ],
)
def test_bad_input(arguments, options, says):
    with pytest.raises(InvalidInput, match=says):
        ask.advise_bags(*arguments, **options)


def test_bags_that_are_all_alike_are_refused():
    with pytest.raises(Unidentifiable, match="Leave public_bags out"):
        ask.advise_bags([0, 1] * 20, 1.0, public_bags=np.repeat([0, 1], 20))
    with pytest.raises(Unidentifiable, match="Raise epsilon"):
        ask.advise_bags({"a": 50, "b": 50}, "1e-6")


def test_a_small_level_leaves_out_only_what_is_of_no_use():
    advice = ask.advise_bags({"a": 2000, "b": 6000, "c": 500}, "1e-3")
    assert 0 < len(advice.alternatives) < 57
    assert advice.best.epsilon_membership + advice.best.epsilon_counts == pytest.approx(1e-3, rel=1e-12)
