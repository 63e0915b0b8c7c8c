"""Regressions from releases of hidden numbers: however the rows are split, and wherever the sums run."""

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance.releases.privatizing import privatize_table

STUDY = ask.Study.parse("""
[questions.home]
columns = { income = [0, 15], rooms = [0, 10], value = [0, 5] }
channel = { design = "private-row", epsilon = 12.0, outcome = "value" }

[questions.rent]
bounds = [0, 3000]
channel = { design = "private-number", epsilon = 3.0 }

[questions.owner]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }

[covariates.age]
type = "number"

[covariates.town]
type = "category"
""")


def people(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    income, age = rng.uniform(1, 14, n), rng.uniform(20, 80, n)
    rooms = 2 + 0.3 * income + rng.uniform(-2, 2, n)
    town = rng.choice(["north", "south"], n)
    return pd.DataFrame(
        {
            "income": income,
            "rooms": rooms,
            "value": 0.5 + 0.2 * income + 0.1 * rooms + rng.uniform(-0.4, 0.4, n),
            "rent": 500 + 10 * age + 300 * (town == "south") + rng.uniform(-100, 100, n),
            "owner": rng.choice(["no", "yes"], n),
            "age": age,
            "town": town,
        }
    )


@pytest.fixture(scope="module")
def release():
    return privatize_table(STUDY, people())


def test_only_reports_and_covariates_leave(release):
    assert release.columns == ["home", "rent", "owner", "age", "town"]
    assert release.header.guarantee.epsilon == pytest.approx(12 + 3 + np.log(4), abs=1e-5)


def test_a_header_needs_nothing_else(release, tmp_path):
    release.write(tmp_path / "r.parquet")
    again = ask.read_release(tmp_path / "r.parquet")
    assert again.channel("home") == STUDY.channels["home"]
    assert again.channel("home").bounds.to_dict() == {"income": [0, 15], "rooms": [0, 10], "value": [0, 5]}
    fitted = ask.IndirectRegressor().fit_release(again, question="home")
    assert fitted.coef_ == pytest.approx([0.2, 0.1], abs=5 * fitted.standard_errors_[1:].max())
    assert fitted.outcome_ == "value"


def test_a_release_is_fitted_as_its_reports_are(release):
    channel = release.channel("home")
    reports = channel.encode_reports(release.to_table(["home"])["home"])
    known = ask.IndirectRegressor(channel).fit(reports)
    fitted = ask.IndirectRegressor().fit_release(release, question="home")
    np.testing.assert_allclose(fitted.parameters_, known.parameters_, rtol=1e-9)
    np.testing.assert_allclose(fitted.covariance_, known.covariance_, rtol=1e-7)


@pytest.mark.parametrize("rows_per_part", [6000, 1000, 77])
def test_any_split_gives_the_same(release, tmp_path, rows_per_part):
    whole = ask.IndirectRegressor().fit_release(release, formula="value ~ income + rooms")
    release.write(tmp_path / "r", rows_per_part=rows_per_part)
    split = ask.IndirectRegressor().fit_release(tmp_path / "r", formula="value ~ income + rooms")
    np.testing.assert_allclose(split.parameters_, whole.parameters_, rtol=1e-9)
    np.testing.assert_allclose(split.covariance_, whole.covariance_, rtol=1e-9)


def test_an_outcome_by_public_covariates(release):
    fitted = ask.IndirectRegressor().fit_release(release, formula="rent ~ age + C(town)")
    assert fitted.parameter_names_ == ("Intercept", "age", "C(town)[T.south]")
    assert np.all(np.abs(fitted.parameters_ - [500, 10, 300]) < 4.5 * fitted.standard_errors_)
    assert fitted.feature_names_in_.tolist() == ["age", "C(town)[T.south]"]
    numeric = ask.IndirectRegressor().fit_release(release, question="rent", features=["age"])
    assert numeric.predict(pd.DataFrame({"age": [50.0]})) == pytest.approx(numeric.intercept_ + 50 * numeric.coef_[0])
    assert numeric.coef_[0] == pytest.approx(10, abs=4.5 * numeric.standard_errors_[1])


def test_several_releases_are_combined(release):
    tighter = ask.Study.parse("""
        [questions.home]
        columns = { income = [0, 14], rooms = [0, 9], value = [0, 5] }
        channel = { design = "private-row", epsilon = 6.0, outcome = "value" }
    """)
    other = privatize_table(tighter, people(seed=1))
    both = ask.IndirectRegressor().fit_release([release, other], formula="value ~ income + rooms")
    assert both.n_reports_ == 12_000
    assert np.all(np.abs(both.coef_ - [0.2, 0.1]) < 4.5 * both.standard_errors_[1:])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda r: ask.Prevalence().fit_release(r, question="home"), "hides numbers"),
        (lambda r: ask.IndirectClassifier().fit_release(r, formula="rent ~ age"), "hides numbers"),
        (lambda r: ask.IndirectRegressor().fit_release(r, formula="owner ~ age"), "IndirectClassifier|questions"),
        (lambda r: ask.IndirectRegressor().fit_release(r, question="owner"), "IndirectClassifier"),
        (lambda r: ask.IndirectRegressor().fit_release(r, formula="value ~ log(income)"), "plain names"),
        (lambda r: ask.IndirectRegressor().fit_release(r, formula="value ~ age"), "'age'"),
        (lambda r: ask.IndirectRegressor().fit_release(r, formula="value ~ income - 1"), "fit_intercept=False"),
        (lambda r: ask.IndirectRegressor(outcome="zz").fit_release(r, question="rent", features=["age"]), "'zz'"),
        (lambda r: ask.IndirectRegressor().fit_release(r, formula="rent ~ age", features=["age"]), "one of them"),
    ],
)
def test_the_wrong_estimator_is_refused(release, make, message):
    with pytest.raises(ask.InvalidInput, match=message):
        make(release)
