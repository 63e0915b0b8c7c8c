"""Replicate weights, as survey packages read them."""

import numpy as np
import pyarrow as pa
import pytest

import askance as ask
from askance.releases import Covariate, Header, Question

PLAIN = ask.Identity(["no", "yes"])
FORCED = ask.ForcedResponse(1 / 6, 1 / 6)


def survey(rng, clusters=14, size=15):
    g = np.repeat(np.arange(clusters), size)
    x = rng.normal(size=len(g))
    p = 1 / (1 + np.exp(-(-0.3 + 0.6 * rng.normal(size=clusters)[g] + 0.5 * x)))
    return g, x[:, None], np.where(rng.random(len(g)) < p, "yes", "no")


def jackknife(g):
    """One cluster left out at a time, the others weighing more."""
    units = np.unique(g)
    return np.column_stack([np.where(g == unit, 0.0, len(units) / (len(units) - 1)) for unit in units])


def test_a_jackknife_of_equal_clusters_is_the_variance_of_their_means():
    g, _, y = survey(np.random.default_rng(1))
    fitted = ask.Prevalence(PLAIN).fit(y, replicate_weights=jackknife(g))
    means = np.array([(y[g == unit] == "yes").mean() for unit in range(14)])
    assert fitted.standard_errors_[1] == pytest.approx(means.std(ddof=1) / np.sqrt(14), rel=1e-6)
    assert fitted.degrees_ == (13.0, 13.0)
    assert "14 replicate weights (jk1)" in str(fitted.summary())


def test_a_regression_agrees_with_refits_and_with_cr2():
    rng = np.random.default_rng(2)
    g, X, truth = survey(rng, 30, 25)
    reports = FORCED.simulate(truth, rng)
    weights = jackknife(g)
    fitted = ask.IndirectClassifier(FORCED).fit(X, reports, replicate_weights=weights)
    again = [
        ask.IndirectClassifier(FORCED, ridge=0.0, intervals="wald").fit(X, reports, w).parameters_ for w in weights.T
    ]
    gaps = np.array(again) - fitted.parameters_
    np.testing.assert_allclose(fitted.covariance_, 29 / 30 * gaps.T @ gaps, rtol=1e-4)
    clustered = ask.IndirectClassifier(FORCED).fit(X, reports, cluster=g)
    np.testing.assert_allclose(fitted.standard_errors_, clustered.standard_errors_, rtol=0.1)


def test_the_factors_of_all_methods():
    rng = np.random.default_rng(3)
    g, _, y = survey(rng)
    weights = rng.gamma(2.0, size=(len(g), 8))
    share = [np.average(y == "yes", weights=w) for w in weights.T]
    spread = np.sum((np.array(share) - np.mean(y == "yes")) ** 2)
    for method, options, factor in (
        ("jk1", {}, 7 / 8),
        ("brr", {}, 1 / 8),
        ("bootstrap", {}, 1 / 8),
        ("fay", {"rho": 0.3}, 1 / (8 * 0.49)),
        ("jkn", {"rscales": [0.5] * 8}, 0.5),
    ):
        fitted = ask.Prevalence(PLAIN).fit(y, replicate_weights=weights, replicate_method=method, **options)
        assert fitted.covariance_[1, 1] == pytest.approx(factor * spread)
        assert fitted.degrees_[1] == 7


def test_columns_of_a_release_are_the_same():
    g, X, y = survey(np.random.default_rng(5))
    weights = jackknife(g)
    names = [f"rw{i}" for i in range(14)]
    header = Header((Question("cheated", PLAIN),), (Covariate("age"), *map(Covariate, names)))
    columns = {"cheated": y, "age": X[:, 0]} | dict(zip(names, weights.T, strict=True))
    release = ask.Release.from_table(pa.table(columns), header)
    one = ask.IndirectClassifier().fit_release(release, replicate_weights=names)
    np.testing.assert_allclose(
        one.covariance_, ask.IndirectClassifier(PLAIN).fit(X, y, replicate_weights=weights).covariance_
    )
    assert one.parameter_names_ == ("Intercept", "age")
    share = ask.Prevalence().fit_release(release, replicate_weights=names)
    np.testing.assert_allclose(share.covariance_, ask.Prevalence(PLAIN).fit(y, replicate_weights=weights).covariance_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicate_method": "magic"}, "replicate_method='magic'"),
        ({"replicate_method": "fay"}, "0 <= rho < 1"),
        ({"replicate_method": "jkn"}, "rscales=None"),
        ({"replicate_method": "jkn", "rscales": [1.0]}, "1 rscales for 14 replicates"),
        ({"cluster": "given"}, "one of them"),
        ({"replicate_weights": np.ones(10)}, "replicate weights of shape"),
        ({"replicate_weights": -np.ones((210, 3))}, "negative"),
    ],
)
def test_absurd_replicates_are_refused(options, message):
    g, X, y = survey(np.random.default_rng(4))
    given = {"replicate_weights": jackknife(g)} | options
    given |= {"cluster": g} if "cluster" in options else {}
    with pytest.raises(ask.InvalidInput, match=message):
        ask.Prevalence(PLAIN).fit(y, **given)
    with pytest.raises(ask.InvalidInput, match=message):
        ask.IndirectClassifier(PLAIN).fit(X, y, **given)


def test_profiles_of_replicates_agree_with_those_of_clusters():
    """Both divide likelihood ratios by what the sample does to the variance, where carriers are few."""
    rng = np.random.default_rng(11)
    g = np.repeat(np.arange(30), 40)
    x = rng.normal(size=len(g))
    truth = np.where(rng.random(len(g)) < 1 / (1 + np.exp(3 - x)), "yes", "no")
    reports = FORCED.simulate(truth, rng)
    profiled = {"penalty": "log-f", "intervals": "profile"}
    clustered = ask.IndirectClassifier(FORCED, **profiled).fit(x[:, None], reports, cluster=g)
    replicated = ask.IndirectClassifier(FORCED, **profiled).fit(x[:, None], reports, replicate_weights=jackknife(g))
    ends = [fitted.summary().values[:, 4:6] for fitted in (clustered, replicated)]
    np.testing.assert_allclose(ends[0], ends[1], rtol=0.15)
