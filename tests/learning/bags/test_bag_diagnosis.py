"""What bags can tell: known values, and laws under chance."""

import numpy as np
import pytest
from scipy.stats import chi2

from askance.learning.bags.bag_diagnosis import BagDiagnosis, diagnose_bags
from askance.learning.bags.bags import read_bags


def rows_of(sizes, shares, rng, classes=2, d=4):
    """Rows of normal classes in bags of given sizes, and true proportions."""
    y = np.concatenate([rng.choice(classes, n, p=share) for n, share in zip(sizes, shares, strict=True)])
    bags = np.repeat(np.arange(len(sizes)), sizes)
    table = np.array([np.bincount(y[bags == b], minlength=classes) / n for b, n in enumerate(sizes)])
    return rng.normal(size=(len(y), d)) + 1.5 * np.eye(classes, d)[y], bags, table


def diagnosed(X, bags, table, noise=None):
    return diagnose_bags(X, read_bags(bags, table, None, noise, len(X)))


def test_proportions_are_measured_as_a_chi_square_test_does():
    from scipy.stats import chi2_contingency

    rng = np.random.default_rng(0)
    counts = np.array([[30, 50, 20], [10, 70, 40], [25, 25, 50], [80, 10, 10]])
    bags = np.repeat(np.arange(4), counts.sum(axis=1))
    found = diagnosed(rng.normal(size=(len(bags), 2)), bags, counts / counts.sum(axis=1, keepdims=True))
    expected = chi2_contingency(counts)
    assert found.overdispersion == pytest.approx(expected.statistic / 6)
    assert found.overdispersion_p == pytest.approx(expected.pvalue)
    assert found.labels_worth == pytest.approx(expected.statistic / 2)


def test_pure_bags_are_worth_their_rows():
    X = np.random.default_rng(0).normal(size=(40, 2))
    found = diagnosed(X, np.arange(40), np.arange(40) % 2)
    assert found.labels_worth == pytest.approx(40)
    assert found.correlation == 0 or found.correlation == 1  # bags of one row: nothing says how alike its labels are


@pytest.mark.parametrize("classes", [2, 3])
def test_bags_dealt_at_random_are_neither_different_nor_unlike(classes):
    rng = np.random.default_rng(classes)
    shares = np.full((12, classes), 1 / classes)
    found = [diagnosed(*rows_of(rng.integers(20, 60, 12), shares, rng, classes)) for _ in range(40)]
    # Chi-squares of 11 or 22 degrees of freedom: their mean over 40 sets is within .07 of one, at one standard error.
    assert np.mean([each.overdispersion for each in found]) == pytest.approx(1, abs=0.2)
    assert np.mean([each.misfit for each in found]) == pytest.approx(0.9, abs=0.15)  # classes' own distance is in it
    assert sum(each.alike is False for each in found) <= 1
    assert sum(each.misfit_p < 0.1 for each in found) <= 10  # 4 expected


def test_bags_that_differ_by_class_alone_are_alike_and_by_an_attribute_are_not():
    rng = np.random.default_rng(1)
    shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.4, 0.6], [0.1, 0.9]])
    X, bags, table = rows_of([100, 40, 200, 80, 60], shares, rng)
    found = diagnosed(X, bags, table)
    assert found.alike
    assert found.informative
    assert not found.at_random
    X[:, 3] += 0.5 * bags
    assert diagnosed(X, bags, table).alike is False


def test_two_bags_of_two_classes_cannot_show_whether_they_are_alike():
    rng = np.random.default_rng(2)
    found = diagnosed(*rows_of([50, 50], [[0.8, 0.2], [0.3, 0.7]], rng))
    assert found.alike is None
    assert "cannot be seen" in dict(found.facts)["bags alike"]


def test_known_noise_is_chance():
    rng = np.random.default_rng(3)
    X, bags, table = rows_of(np.full(30, 50), np.full((30, 2), 0.5), rng)
    noisy = table[:, 1] + 0.2 * rng.normal(size=30)
    found = diagnosed(X, bags, noisy, 0.04)
    assert found.overdispersion * 29 < chi2.ppf(0.999, 29)
    assert found.drowned
    assert not found.informative
    assert "noise alone" in found.notes[0]
    assert found.labels_worth < 60  # 29 expected; with the noise taken for differences 250
    assert found.alike


def test_bags_of_equal_proportions_are_said_to_tell_nothing():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 2))
    found = diagnosed(X, np.repeat([0, 1, 2], 1000), [0.5, 0.501, 0.499])
    assert not found.informative
    assert "nearly the same" in found.notes[0]
    assert dict(found.facts)["bags informative"].startswith("no")


def test_constant_and_many_columns_do_no_harm():
    rng = np.random.default_rng(5)
    X, bags, table = rows_of([60, 60, 60, 60], np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5], [0.1, 0.9]]), rng, d=300)
    X[:, 7] = 1e6
    found = diagnosed(X, bags, table)
    assert found.alike
    assert np.isfinite(found.misfit)
    assert np.isnan(diagnosed(np.ones((240, 2)), bags, table).misfit)
    assert BagDiagnosis.from_dict(found.to_dict()) == found
