"""Strata, clusters, finite populations and missing values: against brute force, and by simulation."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import linalg, stats

import askance as ask
from askance.learning.face.cluster_covariance import ClusterSpread
from askance.releases import Covariate, Header, Question
from askance.statistics import GroupSums

FORCED = ask.ForcedResponse(1 / 6, 1 / 6)


def clustered(rng, sizes, channel=FORCED, spread=0.6):
    g = np.repeat(np.arange(len(sizes)), sizes)
    effect, between = rng.normal(size=len(sizes)) * spread, rng.normal(size=len(sizes))
    x = rng.normal(size=len(g))
    p = 1 / (1 + np.exp(-(-0.5 + effect[g] + 0.5 * between[g] + 0.5 * x)))
    truth = np.where(rng.random(len(g)) < p, "yes", "no")
    return g, np.column_stack([between[g], x]), channel.simulate(truth, rng)


def by_hand(X, y, g, coef):
    """CR2 and Bell-McCaffrey of a logistic regression, with matrices as large as the data."""
    Z = np.column_stack([np.ones(len(X)), X])
    p = 1 / (1 + np.exp(-Z @ coef))
    root = np.sqrt(p * (1 - p))
    A, e = root[:, None] * Z, (y - p) / root
    M = np.linalg.inv(A.T @ A)
    H = A @ M @ A.T
    rows, form = [], []
    keep = np.eye(len(y)) - H
    for unit in np.unique(g):
        mine = g == unit
        adjust = linalg.inv(linalg.sqrtm(np.eye(mine.sum()) - H[np.ix_(mine, mine)]).real)
        rows.append(M @ A[mine].T @ adjust @ e[mine])
        form.append(keep[:, mine] @ adjust @ A[mine] @ M)  # n x k
    covariance = np.array(rows).T @ np.array(rows)
    degrees = []
    for j in range(Z.shape[1]):
        P = np.column_stack([f[:, j] for f in form])
        omega = P.T @ P
        degrees.append(np.trace(omega) ** 2 / (omega**2).sum())
    return covariance, degrees


def test_cr2_and_its_degrees_of_freedom_are_those_of_large_matrices():
    rng = np.random.default_rng(1)
    g, X, y = clustered(rng, [5, 30, 12, 40, 8, 25, 9], ask.Identity(["no", "yes"]))
    ours = ask.IndirectClassifier().fit(X, y, cluster=g)
    covariance, degrees = by_hand(X, (y == "yes").astype(float), g, ours.parameters_)
    np.testing.assert_allclose(ours.covariance_, covariance, rtol=1e-6)
    np.testing.assert_allclose(ours.degrees_, degrees, rtol=1e-6)
    table = ours.summary()
    reach = stats.t.ppf(0.975, degrees) * np.sqrt(np.diag(covariance))
    if set(ours.intervals_) == {"wald"}:
        np.testing.assert_allclose(table["upper"] - table["estimate"], reach, rtol=1e-6)
    assert "7 clusters" in dict(table.facts)["sample"]


def test_a_mean_has_the_textbook_variance_of_strata_and_a_finite_population():
    rng = np.random.default_rng(2)
    strata = np.repeat(["a", "b"], [60, 140])
    y = np.where(rng.random(200) < np.where(strata == "a", 0.2, 0.6), "yes", "no")
    population = np.where(strata == "a", 300.0, 7000.0)
    weights = np.where(strata == "a", 300 / 60, 7000 / 140)
    fitted = ask.Prevalence(ask.Identity(["no", "yes"])).fit(y, sample_weight=weights, strata=strata, fpc=population)
    share = np.array([300, 7000]) / 7300
    own = [(y[strata == s] == "yes").astype(float) for s in "ab"]
    variance = sum(
        w**2 * (1 - len(o) / n) * o.var(ddof=1) / len(o) for w, o, n in zip(share, own, (300, 7000), strict=True)
    )
    assert fitted.proportions_[1] == pytest.approx(share @ [o.mean() for o in own])
    assert fitted.standard_errors_[1] == pytest.approx(np.sqrt(variance), rel=1e-6)
    fraction = ask.Prevalence(ask.Identity(["no", "yes"])).fit(
        y, sample_weight=weights, strata=strata, fpc=np.where(strata == "a", 60 / 300, 140 / 7000)
    )
    np.testing.assert_allclose(fraction.covariance_, fitted.covariance_)


def test_a_mean_of_clusters_has_the_linearised_variance():
    rng = np.random.default_rng(3)
    g, _, y = clustered(rng, [20] * 15, ask.Identity(["no", "yes"]))
    fitted = ask.Prevalence(ask.Identity(["no", "yes"])).fit(y, cluster=g)
    means = np.array([(y[g == unit] == "yes").mean() for unit in range(15)])
    # Clusters of one size: CR2 is then the variance of their means, exactly.
    assert fitted.standard_errors_[1] == pytest.approx(means.std(ddof=1) / np.sqrt(15), rel=1e-6)
    assert fitted.degrees_[1] == pytest.approx(14, rel=1e-6)
    assert fitted.design_effects_[1] > 1
    regression = ask.IndirectClassifier().fit(np.random.default_rng(0).normal(size=(300, 1)), y, cluster=g)
    assert regression.design_effects_[0] > 1


def test_strata_take_out_what_differs_between_them():
    rng = np.random.default_rng(4)
    g, _, reports = clustered(rng, [25] * 24, spread=0.2)
    strata = np.where(g < 12, "poor", "rich")
    reports[(strata == "poor") & (rng.random(len(g)) < 0.6)] = "yes"
    plain = ask.Prevalence(FORCED).fit(reports, cluster=g)
    within = ask.Prevalence(FORCED).fit(reports, cluster=g, strata=strata)
    assert within.standard_errors_[1] < 0.8 * plain.standard_errors_[1]
    assert within.degrees_[1] < plain.degrees_[1]
    finite = ask.Prevalence(FORCED).fit(reports, cluster=g, strata=strata, fpc=np.full(len(g), 16))
    # 12 of 16 are seen, which halves the errors of sampling, and leaves those of the device.
    assert 0.5 * within.standard_errors_[1] < finite.standard_errors_[1] < within.standard_errors_[1]
    names = np.char.add(strata, (g % 12).astype(str))  # the same names of clusters in both strata
    again = ask.Prevalence(FORCED).fit(reports, cluster=g % 12, strata=strata)
    np.testing.assert_allclose(
        again.covariance_, ask.Prevalence(FORCED).fit(reports, cluster=names, strata=strata).covariance_
    )


def test_the_unit_of_weights_does_not_matter_and_clusters_of_one_are_a_sandwich():
    rng = np.random.default_rng(5)
    _, X, reports = clustered(rng, [1] * 400)
    weights = rng.gamma(2.0, size=400)
    alone = ask.IndirectClassifier(FORCED).fit(X, reports, weights, cluster=np.arange(400))
    plain = ask.IndirectClassifier(FORCED).fit(X, reports, weights)
    np.testing.assert_allclose(alone.standard_errors_, plain.standard_errors_, rtol=0.05)
    scaled = ask.IndirectClassifier(FORCED).fit(X, reports, 1e3 * weights, cluster=np.arange(400))
    np.testing.assert_allclose(scaled.covariance_, alone.covariance_, rtol=1e-6)
    np.testing.assert_allclose(scaled.degrees_, alone.degrees_, rtol=1e-6)
    np.testing.assert_allclose(scaled.design_effects_, alone.design_effects_, rtol=1e-6)


def test_few_carriers_in_clusters_have_wider_profiles():
    rng = np.random.default_rng(6)
    g = np.repeat(np.arange(20), 40)
    x = np.repeat(rng.normal(size=20), 40)
    truth = np.where(rng.random(800) < 0.04, "yes", "no")
    truth[np.isin(g, [3, 7])] = "yes"
    reports = ask.Warner(0.2).simulate(truth, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        plain, grouped = (
            ask.IndirectClassifier(ask.Warner(0.2), penalty="log-f").fit(x[:, None], reports, **k)
            for k in ({}, {"cluster": g})
        )
    assert grouped.intervals_ == ("profile", "profile")
    widths = [np.ptp(model.summary().values[1, 4:6]) for model in (plain, grouped)]
    assert widths[1] > 1.2 * widths[0]


def test_releases_and_engines_give_the_same(tmp_path):
    rng = np.random.default_rng(7)
    g, X, reports = clustered(rng, [20, 31, 12, 40, 25, 22])
    strata = np.where(g < 3, "a", "b")
    header = Header(
        (Question("cheated", FORCED),),
        (Covariate("age"), Covariate("rich"), Covariate("psu", "category"), Covariate("area", "category")),
    )
    table = pa.table({"cheated": reports, "age": X[:, 1], "rich": X[:, 0], "psu": g.astype(str), "area": strata})
    ask.Release.from_table(table, header).write(tmp_path / "parts", rows_per_part=40)
    options = {"formula": "cheated ~ rich + age", "cluster": "psu", "strata": "area"}
    streamed = ask.IndirectClassifier().fit_release(tmp_path / "parts", **options)
    plain = ask.IndirectClassifier(FORCED).fit(X, reports, cluster=g, strata=strata)
    np.testing.assert_allclose(streamed.covariance_, plain.covariance_, rtol=1e-6)
    np.testing.assert_allclose(streamed.degrees_, plain.degrees_, rtol=1e-6)
    share = ask.Prevalence().fit_release(tmp_path / "parts", cluster="psu", strata="area")
    np.testing.assert_allclose(
        share.covariance_, ask.Prevalence(FORCED).fit(reports, cluster=g, strata=strata).covariance_
    )
    with pytest.raises(ask.InvalidInput, match="both the cluster and a covariate"):
        ask.IndirectClassifier().fit_release(tmp_path / "parts", formula="cheated ~ C(psu)", cluster="psu")


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ({"cluster": ["a"] * 40}, "a sample of one cluster"),
        ({"cluster": list("ab") * 20, "strata": ["x", "y"] * 20}, "2 strata have a single cluster: x, y"),
        ({"cluster": [None] * 3 + ["a", "b"] * 18 + ["a"]}, "3 values of 'cluster' are missing"),
        ({"cluster": ["a", "b"]}, "2 values of cluster for 40 rows"),
        ({"strata": ["x"] + ["y"] * 39}, "strata of one person: x"),
        ({"strata": ["x"] * 40, "fpc": [10.0] * 40}, "fpc 10, and 40 sampled from it"),
        ({"strata": ["x"] * 40, "fpc": [100.0] * 39 + [90.0]}, "one positive number for each stratum"),
    ],
)
def test_samples_that_cannot_be_are_refused(sample, message):
    reports = ["yes", "no"] * 20
    with pytest.raises(ask.InvalidInput, match=message):
        ask.Prevalence(FORCED).fit(reports, **sample)
    with pytest.raises(ask.InvalidInput, match=message):
        ask.IndirectClassifier(FORCED).fit(np.arange(40.0)[:, None], reports, **sample)


def test_saved_models_keep_their_degrees_of_freedom(tmp_path):
    rng = np.random.default_rng(8)
    g, X, reports = clustered(rng, [20] * 10)
    for model in (
        ask.IndirectClassifier(FORCED).fit(X, reports, cluster=g),
        ask.Prevalence(FORCED).fit(reports, cluster=g),
    ):
        model.save(tmp_path / "model.json")
        assert str(ask.load_model(tmp_path / "model.json").summary()) == str(model.summary())


def test_missing_values_are_counted_and_left_out(tmp_path):
    rng = np.random.default_rng(9)
    _, X, reports = clustered(rng, [10] * 30)
    age = X[:, 1].tolist()
    age[3] = age[200] = None
    school = ["north", "south", "east"] * 100
    school[7] = None
    header = Header(
        (Question("cheated", FORCED),),
        (Covariate("age", missing=True), Covariate("school", "category", ("south", "north", "east"), missing=True)),
    )
    release = ask.Release.from_table(pa.table({"cheated": reports, "age": age, "school": school}), header)
    release.write(tmp_path / "parts", rows_per_part=64)
    for kept in (release, ask.read_release(tmp_path / "parts")):
        with pytest.raises(ask.InvalidInput, match="are missing"):
            ask.IndirectClassifier().fit_release(kept, formula="cheated ~ age + school")
        with pytest.warns(ask.AskanceWarning, match="3 of 300 rows lack a value and were left out: age 2, school 1"):
            fitted = ask.IndirectClassifier().fit_release(kept, formula="cheated ~ age + school", missing="drop")
        assert fitted.n_reports_ == 297
        # The first declared level is the reference, not the first of the alphabet.
        assert fitted.parameter_names_ == ("Intercept", "age", "school[T.north]", "school[T.east]")
    with pytest.raises(ask.InvalidInput, match="missing='guess'"):
        ask.IndirectClassifier().fit_release(release, formula="cheated ~ age", missing="guess")


def test_a_unit_that_alone_determines_a_parameter_does_no_harm():
    sums = GroupSums(np.ones(3), np.ones(3), np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 0.0]]), np.zeros((3, 2, 2)))
    sums.second[0] = np.diag([1.0, 1.0])
    sums.second[1:] = np.diag([0.0, 1.0])
    spread = ClusterSpread.of(sums, np.zeros(3, dtype=int), np.zeros(3))
    assert np.isfinite(spread.meat()).all()
    assert np.isfinite(spread.degrees(np.eye(2))).all()


def test_intervals_of_clustered_samples_cover():
    """60 sets of 30 clusters of 20 people: prevalence and a cluster's slope are covered in at least 50, which fails one
    honest program in two thousand; taken as a simple random sample they are covered in about .8."""
    rng = np.random.default_rng(10)
    covered = np.zeros(2)
    # The slope of the average person over clusters, from a population of 20,000 clusters.
    g, X, truth = clustered(rng, [20] * 20_000, ask.Identity(["no", "yes"]))
    slope, share = ask.IndirectClassifier(intervals="wald").fit(X, truth).coef_[0, 0], np.mean(truth == "yes")
    for _ in range(60):
        g, X, reports = clustered(rng, [20] * 30)
        low, high = ask.Prevalence(FORCED).fit(reports, cluster=g).interval()[1]
        covered[0] += low <= share <= high
        row = ask.IndirectClassifier(FORCED).fit(X, reports, cluster=g).summary().values[1]
        covered[1] += row[4] <= slope <= row[5]
    assert (covered >= 50).all(), covered


def test_pandas_columns_are_taken_as_they_are():
    rng = np.random.default_rng(11)
    g, X, reports = clustered(rng, [20] * 10)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    fitted = ask.IndirectClassifier(FORCED).fit(frame, reports, cluster=pd.Series(g).astype("category"))
    np.testing.assert_allclose(
        fitted.covariance_, ask.IndirectClassifier(FORCED).fit(X, reports, cluster=g).covariance_
    )
