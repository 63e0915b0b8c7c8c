"""Clusters and strata of survey models: what is known exactly, a little coverage, and what is refused."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, ndtr

import askance as ask
from askance.errors import AskanceWarning, InvalidInput

N = 400
pytestmark = pytest.mark.filterwarnings("ignore::askance.AskanceWarning")


def words(flags):
    return np.where(flags, "yes", "no")


@pytest.fixture(scope="module")
def survey():
    rng = np.random.default_rng(11)
    x = rng.normal(size=N)
    a = rng.random(N) < 0.35
    b = rng.random(N) < np.where(a, 0.6, 0.2)
    treated = rng.random(N) < 0.5
    return {
        "x": x,
        "a": ask.Warner(0.85).simulate(words(a), rng),
        "b": ask.Warner(0.9).simulate(words(b), rng),
        "y": 0.5 + 0.4 * x + a + rng.normal(size=N),
        "treated": treated,
        "counts": rng.binomial(3, 0.5, N) + (a & treated),
        "double": np.column_stack([rng.binomial(3, 0.5, N) + (a & treated), rng.binomial(3, 0.5, N) + (a & ~treated)]),
    }


def joint(data, **sample):
    return ask.JointTable({"a": ask.Warner(0.85), "b": ask.Warner(0.9)}).fit(data, **sample)


def predictor(method):
    def fit(data, **sample):
        model = ask.HiddenPredictor({"a": ask.Warner(0.85)}, method=method, intervals="wald")
        return model.fit(data["x"][:, None], data["y"], {"a": data["a"]}, **sample)

    return fit


def listed(method, counts="counts"):
    def fit(data, **sample):
        X = None if method == "difference" else data["x"][:, None]
        model = ask.ListExperiment(3, method, intervals="wald")
        return model.fit(X, data[counts], data["treated"], **sample)

    return fit


def probit(data, **sample):
    model = ask.AnswerRegression(ask.Warner(0.85), "probit", intervals="wald")
    return model.fit(data["x"][:, None], data["a"], **sample)


MODELS = {
    "joint table": joint,
    "predictor": predictor("likelihood"),
    "predictor, corrected scores": predictor("moments"),
    "list, difference": listed("difference"),
    "list, linear": listed("linear"),
    "list, likelihood": listed("likelihood"),
    "double list": listed("difference", "double"),
    "probit": probit,
}


@pytest.mark.parametrize("name", MODELS)
def test_people_who_were_written_down_twice_are_no_more_people(survey, name):
    fit = MODELS[name]
    once = fit(survey, cluster=np.arange(N))
    twice = {key: np.concatenate([values, values]) for key, values in survey.items()}
    again = fit(twice, cluster=np.tile(np.arange(N), 2))
    np.testing.assert_allclose(again.parameters_, once.parameters_, atol=1e-4)
    np.testing.assert_allclose(again.standard_errors_, once.standard_errors_, rtol=0.01)  # CR2 is of units, too
    naive = fit(twice)
    np.testing.assert_allclose(naive.standard_errors_ * np.sqrt(2), again.standard_errors_, rtol=0.35)
    shown = again.summary()
    assert shown.fact("sample") == f"{N} clusters"
    assert "design effects" in dict(shown.facts)
    # As many degrees of freedom as unequal scores leave of 400 units; sums over all cells have none.
    assert 20 < min(again.degrees_) <= N


@pytest.mark.parametrize("name", MODELS)
def test_clusters_of_one_are_people(survey, name):
    fit = MODELS[name]
    plain, alone = fit(survey).standard_errors_, fit(survey, cluster=np.arange(N)).standard_errors_
    np.testing.assert_allclose(alone, plain, rtol=0.35)  # a sandwich against an information
    np.testing.assert_allclose(np.median(alone / plain), 1.0, atol=0.08)


def test_strata_take_out_what_differs_between_them():
    rng = np.random.default_rng(5)
    stratum = np.repeat(["north", "south"], [600, 400])
    share = np.where(stratum == "north", 0.05, 0.9)
    channels = {"a": ask.Warner(0.95), "b": ask.Warner(0.95)}
    reports = {name: channel.simulate(words(rng.random(1000) < share), rng) for name, channel in channels.items()}
    strata = ask.JointTable(channels).fit(reports, strata=stratum)
    said = reports["a"] == "yes"
    parts = [
        (stratum == name).mean() ** 2 * said[stratum == name].var(ddof=1) / (stratum == name).sum()
        for name in set(stratum)
    ]
    wanted = np.sqrt(sum(parts)) / 0.9  # of the unbiased share; the likelihood of the table knows a little more
    found = strata.summary().to_frame().loc["a=yes", "std_error"]
    assert found == pytest.approx(wanted, rel=0.05)
    assert found < 0.75 * ask.JointTable(channels).fit(reports).summary().to_frame().loc["a=yes", "std_error"]
    assert strata.summary().fact("sample") == "2 strata"
    assert strata.degrees_ == ()


def test_one_stratum_is_a_simple_sample(survey):
    whole = joint(survey, strata=np.zeros(N, dtype=int))
    np.testing.assert_allclose(whole.standard_errors_, joint(survey).standard_errors_, rtol=0.02)


def test_intervals_cover_in_clusters():
    # 60 sets of 20 clusters, coverage .95: fewer than 50 have a probability of 1e-4. Without clusters .6 to .8 cover.
    clusters, each, covered, naive = 20, 20, [], []
    cluster = np.repeat(np.arange(clusters), each)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        shared = np.repeat(rng.normal(size=clusters), each)
        x = np.repeat(rng.normal(size=clusters), each)
        latent = np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.normal(size=len(x))
        truth = words(ndtr(latent) < ndtr(0.4 * x))
        channel = ask.Warner(0.9)
        reports = channel.simulate(truth, rng)
        for kept, sample in ((covered, {"cluster": cluster}), (naive, {})):
            fitted = ask.AnswerRegression(channel, "probit").fit(x[:, None], reports, **sample)
            low, high = fitted.summary().to_frame().loc["x0", ["lower", "upper"]]
            kept.append(low <= 0.4 <= high)
    assert sum(covered) >= 50
    assert sum(naive) < sum(covered)


def test_odds_ratios_and_independence_know_of_clusters(survey):
    twice = {key: np.concatenate([values, values]) for key, values in survey.items()}
    once, again = joint(survey).associations_["a x b"], joint(twice, cluster=np.tile(np.arange(N), 2))
    again = again.associations_["a x b"]
    assert joint(twice).associations_["a x b"]["p_value"] < once["p_value"] / 3
    assert again["p_value"] == pytest.approx(once["p_value"], rel=0.5)
    np.testing.assert_allclose(again["errors"], once["errors"], rtol=0.1)


def test_profiles_widen_with_clusters(survey):
    twice = {key: np.concatenate([values, values]) for key, values in survey.items()}
    X = twice["x"][:, None]
    model = ask.AnswerRegression(ask.Warner(0.85), intervals="profile")
    once = model.fit(survey["x"][:, None], survey["a"]).summary().to_frame()
    again = model.fit(X, twice["a"], cluster=np.tile(np.arange(N), 2)).summary().to_frame()
    widths = [float(table.loc["x0", "upper"] - table.loc["x0", "lower"]) for table in (once, again)]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_random_intercepts_within_clusters():
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(40), 15)
    x = rng.normal(size=600)
    truth = words(rng.random(600) < expit(0.8 * x + 0.9 * rng.normal(size=40)[group]))
    channel = ask.Warner(0.9)
    reports = channel.simulate(truth, rng)
    model = ask.AnswerRegression(channel, nodes=5, intervals="wald")
    plain = model.fit(x[:, None], reports, group).standard_errors_
    same = model.fit(x[:, None], reports, group, cluster=group)
    np.testing.assert_allclose(same.standard_errors_[:2], plain[:2], rtol=0.5)
    assert same.n_groups_ == 40
    assert same.summary().fact("sample") == "40 clusters"
    with pytest.raises(InvalidInput, match="each lies in one cluster"):
        model.fit(x[:, None], reports, group, cluster=np.arange(600) % 7)
    with pytest.raises(InvalidInput, match="cluster= the groups"):
        model.fit(x[:, None], reports, group, strata=group % 2)


def test_clusters_that_cannot_be(survey):
    with pytest.raises(InvalidInput, match="a sample of one cluster"):
        joint(survey, cluster=np.zeros(N))
    with pytest.raises(InvalidInput, match="3 values of cluster for 400 rows"):
        joint(survey, cluster=[1, 2, 3])
    with pytest.raises(InvalidInput, match="1 values of 'strata' are missing"):
        joint(survey, strata=[None, *["a"] * (N - 1)])


def test_what_clusters_determine_has_no_error(survey):
    # Two clusters, and a covariate that tells them apart.
    cluster = np.arange(N) % 2
    X = np.column_stack([cluster, survey["x"]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)
        fitted = ask.AnswerRegression(ask.Warner(0.85), "probit", intervals="wald").fit(X, survey["a"], cluster=cluster)
    assert "not enough clusters" in " ".join(fitted.notes_)
    assert np.isnan(fitted.summary().to_frame().loc["x0", "std_error"])


def test_a_saved_model_knows_its_sample(survey, tmp_path):
    fitted = joint(survey, cluster=np.arange(N) // 10)
    fitted.save(tmp_path / "model.json")
    again = ask.load_model(tmp_path / "model.json")
    assert str(again.summary()) == str(fitted.summary())
