"""Fitting releases: the same numbers as fitting arrays, by column and by formula, split in any way."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.formula.api as smf

import askance as ask
from askance.engines.local.engine import LocalEngine
from askance.releases.header import Covariate, Header, Question


@pytest.fixture(scope="module")
def survey():
    rng = np.random.default_rng(0)
    n = 3000
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n).astype(float),
            "income": rng.lognormal(3, 0.5, n),
            "school": rng.choice(["north", "south", "west"], n),
            "wave": rng.choice([1.0, 2.0], n),
            "w": rng.random(n) + 0.5,
        }
    )
    logit = (frame["age"] - 40) / 10 + (frame["school"] == "south")
    frame["truth"] = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no")
    channel = ask.Warner(0.85)
    frame["cheated"] = channel.simulate(frame["truth"].to_numpy(), rng)
    return frame, channel


def released(frame, channel, parts=None, where=None):
    covariates = [Covariate(c, "number") for c in ("age", "income", "wave", "w")]
    header = Header((Question("cheated", channel),), (*covariates, Covariate("school", "category")))
    table = pa.table({name: frame[name].to_numpy() for name in header.schema.names})
    release = ask.Release.from_table(table, header)
    return release if where is None else release.write(where, rows_per_part=parts)


@pytest.mark.parametrize("parts", [None, 3000, 1501, 400, 31])
def test_however_the_release_is_split_it_is_the_fit_of_the_arrays(survey, parts, tmp_path):
    frame, channel = survey
    release = released(frame, channel, parts, tmp_path / "release")
    fitted = ask.IndirectClassifier().fit_release(release, features=["age", "income"])
    plain = ask.IndirectClassifier(channel).fit(frame[["age", "income"]], frame["cheated"])
    np.testing.assert_allclose(fitted.parameters_, plain.parameters_, rtol=1e-9)
    np.testing.assert_allclose(fitted.covariance_, plain.covariance_, rtol=1e-8)
    assert fitted.parameter_names_ == ("Intercept", "age", "income")
    assert fitted.channel_ == channel
    by_path = ask.IndirectClassifier(method="moments").fit_release(tmp_path / "release", features=["age"])
    np.testing.assert_allclose(
        by_path.parameters_,
        ask.IndirectClassifier(channel, "moments").fit(frame[["age"]], frame["cheated"]).parameters_,
        rtol=1e-9,
    )


def test_streaming_from_disk_gives_the_same_as_reading_once(survey, tmp_path):
    frame, channel = survey
    release = released(frame, channel, 400, tmp_path / "release")
    once = ask.IndirectClassifier().fit_release(release, formula="cheated ~ age + C(school)")
    engine = LocalEngine(memory=0)
    streamed = ask.IndirectClassifier().fit_release(release, engine, formula="cheated ~ age + C(school)")
    np.testing.assert_allclose(streamed.parameters_, once.parameters_, rtol=1e-9)


@pytest.mark.parametrize(
    "right",
    [
        "age",
        "age + C(school)",
        "age * C(school) + np.log(income)",
        "center(age) + I(age ** 2 / 100)",
        "C(wave) + age",
        "0 + age + C(school)",
        "school",
        "1",
    ],
)
@pytest.mark.parametrize("parts", [None, 171])
def test_formulas_mean_what_they_mean_elsewhere(survey, right, parts, tmp_path):
    """Without noise, the same formula through patsy and statsmodels gives the same fit."""
    frame, _ = survey
    clean = frame.assign(cheated=frame["truth"])
    release = released(clean, ask.Identity(), parts, tmp_path / "release" if parts else None)
    fitted = ask.IndirectClassifier().fit_release(release, formula=f"cheated ~ {right}")
    patsy_text = right.replace("center(age)", "I(age - np.mean(age))")
    theirs = smf.logit(f"y ~ {patsy_text}", clean.assign(y=(clean["truth"] == "yes").astype(int)))
    result = theirs.fit(disp=0, tol=1e-12, maxiter=100)
    np.testing.assert_allclose(fitted.log_likelihood_, result.llf, rtol=1e-10)
    np.testing.assert_allclose(sorted(fitted.parameters_), sorted(result.params), atol=1e-5)
    np.testing.assert_allclose(sorted(np.sqrt(np.diag(fitted.covariance_))), sorted(result.bse), rtol=1e-4)


@pytest.mark.parametrize("right", ["poly(income, 2)", "scale(income) + I(income ** 2)"])
def test_transforms_that_learn_from_a_continuous_column_see_all_of_it(survey, right):
    release = released(*survey)
    fitted = ask.IndirectClassifier().fit_release(release, formula=f"cheated ~ {right}")
    plain = ask.IndirectClassifier().fit_release(release, formula="cheated ~ income + I(income ** 2)")
    np.testing.assert_allclose(fitted.log_likelihood_, plain.log_likelihood_, rtol=1e-10)


@pytest.mark.parametrize("right", ["I(age - age.mean())", "I(age / np.max(age))"])
def test_a_formula_that_mixes_rows_is_refused(survey, right):
    with pytest.raises(ask.InvalidInput, match=r"(mean|max)`?\(\.\.\.\)' in the formula"):
        ask.IndirectClassifier().fit_release(released(*survey), formula=f"cheated ~ {right}")


def test_weights_come_from_a_column(survey):
    frame, channel = survey
    release = released(frame, channel)
    fitted = ask.IndirectClassifier(covariance="sandwich").fit_release(release, features=["age"], weight="w")
    plain = ask.IndirectClassifier(channel, covariance="sandwich").fit(
        frame[["age"]], frame["cheated"], sample_weight=frame["w"]
    )
    np.testing.assert_allclose(fitted.parameters_, plain.parameters_, rtol=1e-9)
    np.testing.assert_allclose(fitted.covariance_, plain.covariance_, rtol=1e-9)
    proportions = ask.Prevalence().fit_release(release, weight="w").proportions_
    expected = ask.Prevalence(channel).fit(frame["cheated"], sample_weight=frame["w"]).proportions_
    np.testing.assert_allclose(proportions, expected, rtol=1e-9)


def test_designs_come_from_a_column(survey):
    frame, _ = survey
    rng = np.random.default_rng(4)
    channel = ask.DesignPerRow({"cards": ask.Warner(0.8), "direct": ask.Identity()})
    design = rng.choice(["cards", "direct"], size=len(frame))
    reports = channel.simulate(frame["truth"].to_numpy(), rng, design)
    header = Header((Question("cheated", channel, design_column="group"),), (Covariate("age", "number"),))
    table = pa.table({"cheated": reports, "group": design, "age": frame["age"].to_numpy()})
    release = ask.Release.from_table(table, header)
    fitted = ask.IndirectClassifier().fit_release(release)
    plain = ask.IndirectClassifier(channel).fit(frame[["age"]], reports, design=design)
    np.testing.assert_allclose(fitted.parameters_, plain.parameters_, rtol=1e-9)
    np.testing.assert_allclose(
        ask.Prevalence().fit_release(release).proportions_,
        ask.Prevalence(channel).fit(reports, design=design).proportions_,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"formula": "cheated ~ height"}, "no column 'height'"),
        ({"formula": "stole ~ age"}, "no question 'stole'"),
        ({"formula": "cheated ~ age +"}, "cannot be read"),
        ({"formula": "cheated ~ log("}, "cannot be read"),
        ({"formula": "cheated"}, "a question, ~ and covariates"),
        ({"formula": "cheated ~ nonsense(age)"}, "nonsense"),
        ({"formula": "cheated ~ np.log(age - 30)"}, "not finite|null values"),
        ({"formula": "cheated ~ age", "question": "stole"}, "no question 'stole'"),
        ({"features": ["school"]}, "C\\(school\\)"),
        ({"features": ["heigth"]}, "no column 'heigth'"),
        ({"features": ["age"], "weight": "mass"}, "no column 'mass'"),
        ({"features": ["age"], "engine": "abacus"}, "engine='abacus'"),
        ({}, "C\\(school\\)"),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_the_reason(survey, arguments, message):
    frame, channel = survey
    with pytest.raises(ask.AskanceError, match=message):
        ask.IndirectClassifier().fit_release(released(frame, channel), **arguments)


def test_a_release_knows_its_own_channel(survey):
    frame, channel = survey
    release = released(frame, channel)
    with pytest.raises(ask.InvalidInput, match="Leave channel=None"):
        ask.IndirectClassifier(ask.Warner(0.7)).fit_release(release, features=["age"])
    ask.IndirectClassifier(channel).fit_release(release, features=["age"])


def test_missing_covariates_are_refused(survey):
    _frame, channel = survey
    header = Header(
        (Question("cheated", channel),), (Covariate("age", "number", missing=True), Covariate("school", "category"))
    )
    table = pa.table({"cheated": ["no", "yes"], "age": [None, 30.0], "school": ["north", "south"]})
    release = ask.Release.from_table(table, header)
    for arguments in ({"features": ["age"]}, {"formula": "cheated ~ age"}):
        with pytest.raises(ask.InvalidInput, match="1 values of 'age' are missing"):
            ask.IndirectClassifier().fit_release(release, **arguments)
