"""Designs with something unknown in weighted, clustered and stratified samples, and with replicate weights."""

import numpy as np
import pyarrow as pa
import pytest

import askance as ask
from askance.releases import Covariate, Header, Question
from askance.statistics import GroupedJointScores, JointScore, Records

DESIGNS = {
    "few": ask.Cheaters(ask.ForcedResponse(0.1, 0.2)),
    "many": ask.Cheaters(ask.ForcedResponse(0.1, 0.6)),
}
CHANNEL = ask.DesignPerRow(DESIGNS)


def survey(rng, clusters=40, size=50):
    g = np.repeat(np.arange(clusters), size)
    x, mood = rng.normal(size=len(g)), 0.8 * rng.normal(size=clusters)[g]
    truth = np.where(rng.random(len(g)) < 1 / (1 + np.exp(0.8 - mood - 0.7 * x)), "yes", "no")
    design = rng.choice(list(DESIGNS), len(g))
    return g, x[:, None], CHANNEL.simulate(truth, rng, design, {"cheaters": 0.1}), design


@pytest.fixture(scope="module")
def data():
    return survey(np.random.default_rng(0))


def fits(data, **sample):
    _, X, reports, design = data
    model = ask.IndirectClassifier(DESIGNS).fit(X, reports, design=design, **sample)
    shares = ask.Prevalence(DESIGNS).fit(reports, design=design, **sample)
    return model.summary().to_frame(), shares.summary().to_frame()


def test_equal_weights_leave_intervals_alone(data):
    """A scale that is taken anew at every point of a profile moved the ends, and left some where they were."""
    ones = np.ones(len(data[0]))
    for plain, weighted in zip(fits(data), fits(data, sample_weight=3 * ones), strict=True):
        ends = ["lower", "upper"]
        np.testing.assert_allclose(weighted.loc["cheaters", ends], plain.loc["cheaters", ends], rtol=0.02)


def test_clusters_of_one_person_are_no_clusters(data):
    for plain, single in zip(fits(data), fits(data, cluster=np.arange(len(data[0]))), strict=True):
        np.testing.assert_allclose(single["std_error"], plain["std_error"], rtol=0.05)
        np.testing.assert_allclose(single[["lower", "upper"]], plain[["lower", "upper"]], rtol=0.05)


def test_clusters_agree_with_a_jackknife_of_them(data):
    g = data[0]
    units = np.unique(g)
    left_out = np.column_stack([np.where(g == unit, 0.0, len(units) / (len(units) - 1)) for unit in units])
    for clustered, replicated in zip(fits(data, cluster=g), fits(data, replicate_weights=left_out), strict=True):
        np.testing.assert_allclose(clustered["std_error"], replicated["std_error"], rtol=0.03)
        np.testing.assert_allclose(clustered[["lower", "upper"]], replicated[["lower", "upper"]], rtol=0.05)
    plain, clustered = fits(data)[1], fits(data, cluster=g)[1]
    assert clustered.loc["yes", "std_error"] > 1.1 * plain.loc["yes", "std_error"]  # pupils of one school are alike


def test_what_is_said_of_the_sample(data):
    g, X, reports, design = data
    model = ask.IndirectClassifier(DESIGNS, unknowns={"cheaters": ["x0"]})
    model.fit(X, reports, design=design, cluster=g, strata=g % 4)
    text = str(model.summary())
    for words in ("cluster (CR2)", "40 clusters, 4 strata", "degrees of freedom: Intercept"):
        assert words in text
    assert len(model.degrees_) == len(model.design_effects_) == 2
    stratified = ask.Prevalence(DESIGNS).fit(reports, design=design, strata=g % 4)
    assert "4 strata" in str(stratified.summary())
    assert stratified.degrees_ == ()


def test_saved_models_keep_their_degrees_of_freedom(data, tmp_path):
    g, X, reports, design = data
    model = ask.IndirectClassifier(DESIGNS).fit(X, reports, design=design, cluster=g)
    model.save(tmp_path / "model.json")
    assert str(ask.load_model(tmp_path / "model.json").summary()) == str(model.summary())


def test_columns_of_a_release_are_the_same(data):
    g, X, reports, design = data
    header = Header(
        (Question("cheated", CHANNEL, design_column="form"),), (Covariate("age"), Covariate("school", "category"))
    )
    table = pa.table({"cheated": reports, "form": design, "age": X[:, 0], "school": g.astype(str)})
    release = ask.Release.from_table(table, header)
    model = ask.IndirectClassifier().fit_release(release, formula="cheated ~ age", cluster="school")
    here = ask.IndirectClassifier(DESIGNS).fit(X, reports, design=design, cluster=g)
    np.testing.assert_allclose(model.covariance_, here.covariance_, rtol=1e-6)
    shares = ask.Prevalence().fit_release(release, cluster="school")
    np.testing.assert_allclose(shares.covariance_, fits_covariance(data), rtol=1e-6)


def fits_covariance(data):
    g, _, reports, design = data
    return ask.Prevalence(DESIGNS).fit(reports, design=design, cluster=g).covariance_


def test_information_of_units_is_the_mean_of_squared_scores():
    """By enumeration: every report that a record's design can give, by its probability."""
    rng = np.random.default_rng(3)
    codes = np.array([0, 1, 2, 3])
    features = np.column_stack([rng.normal(size=4), [0, 1, 1, 0]])
    columns = np.array([0])
    score = JointScore(
        np.array([[0.2, 0.5]]), [np.array([-1.0])], CHANNEL.corners, columns, [columns[:0]], True, np.zeros(2)
    )
    weights = np.array([1.0, 2.0, 0.5, 1.5])
    sums = GroupedJointScores(score, ((0, 2), (2, 4)), 2).observe(Records(features, codes, weights))
    expected = np.zeros((2, 3, 3))
    for row in range(4):
        for report in (0, 1) if codes[row] < 2 else (2, 3):
            one = Records(features[row : row + 1], np.array([report]))
            s, p = score.record_scores(one)[0], score.record_likelihoods(one)[0]
            expected[int(features[row, 1])] += weights[row] * p * np.outer(s, s)
    np.testing.assert_allclose(sums.second, expected)
    assert sums.weight.tolist() == [2.5, 2.5]
