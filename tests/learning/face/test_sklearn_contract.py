"""The estimators behave as scikit-learn's own: its checks, pipelines, model selection."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.utils import estimator_checks as checks

import askance as ask
from askance.learning.face import ESTIMATORS

# Estimators that can learn from plain rows and labels (or outcomes) pass all of scikit-learn's checks but these.
WHY_NO_SCORE = "what it learns from does not tell which rows are right: score wants of='truth'"
NO_SCORE = dict.fromkeys(("check_fit_score_takes_y", "check_pipeline_consistency"), WHY_NO_SCORE)
# The check hands over lists of splits; folds are a number here, and of rows as they come.
FOLDS = dict.fromkeys(
    (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")),
    "cv is a number of folds, not a list of splits",
)
# Where few rows are separated, a penalty weighs as much as one person; weights are those of a sample, and tell less
# than as many people would.
SAMPLES = {"check_sample_weight_equivalence_on_dense_data": "weights are of a sample, not numbers of people"}
NOT_FOR = {"MeanOperatorClassifier": NO_SCORE, "SpreadClassifier": FOLDS}


def expected_failures(estimator):
    penalised = isinstance(estimator, ask.IndirectClassifier) and estimator.ridge == "auto"
    return SAMPLES if penalised else NOT_FOR.get(type(estimator).__name__, {})


CHECKED = [
    ask.IndirectClassifier(),
    ask.IndirectClassifier(method="moments", ridge=1.0),
    ask.IndirectRegressor(),
    ask.MeanOperatorClassifier(),
    ask.MeanOperatorClassifier("matsushita"),
    ask.MeanOperatorClassifier("square", ridge=0.01),
    ask.SpreadClassifier(),
    ask.SpreadClassifier(method="spectral"),
]
# The others take something else, which the checks cannot make up: they pass those that need no fit.
NO_PLAIN_ROWS = {
    "AnswerRegression": "learns from reports, whose channel it must be given",
    "CountTagger": "learns from sentences and counts of tags in windows",
    "EcologicalInference": "learns from tables of counts by unit",
    "IndirectModel": "learns from reports, whose channel it must be given",
    "HiddenPredictor": "learns from outcomes and reports, both beside features",
    "JointTable": "learns from reports alone, without any features",
    "ListExperiment": "learns from counts of items in two groups",
    "Prevalence": "learns from reports alone, without any features",
    "ProportionClassifier": "learns from bags and their proportions, not from labels",
    "RatioEstimator": "learns from bags and their proportions, and predicts those of a set of rows",
}
WITHOUT_FIT = (
    checks.check_parameters_default_constructible,
    checks.check_no_attributes_set_in_init,
    checks.check_estimator_cloneable,
    checks.check_estimator_repr,
    checks.check_get_params_invariance,
    checks.check_set_params,
    checks.check_do_not_raise_errors_in_init_or_set_params,
    checks.check_valid_tag_types,
    checks.check_mixin_order,
)


def test_every_estimator_is_checked_or_it_is_said_why_not():
    assert {type(estimator).__name__ for estimator in CHECKED} == set(ESTIMATORS) - set(NO_PLAIN_ROWS)


@pytest.mark.filterwarnings("ignore::askance.AskanceWarning")
@checks.parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", WITHOUT_FIT, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", NO_PLAIN_ROWS)
def test_scikit_learn_checks_without_a_fit(name, check):
    check(name, getattr(ask, name)())


def survey(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 70, n)
    school = rng.choice(["north", "south", "west"], n)
    logit = (age - 40) / 10 + (school == "south")
    truth = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no")
    channel = ask.Warner(0.85)
    return pd.DataFrame({"age": age, "school": school}), truth, channel.simulate(truth, rng), channel


def test_in_a_pipeline_with_mixed_columns():
    frame, truth, reports, channel = survey()
    columns = ColumnTransformer(
        [("age", StandardScaler(), ["age"]), ("school", OneHotEncoder(drop="first"), ["school"])]
    )
    model = make_pipeline(columns, ask.IndirectClassifier(channel)).fit(frame, reports)
    assert np.mean(model.predict(frame) == truth) > 0.7
    assert model.score(frame, reports) == pytest.approx(np.mean(model.predict(frame) == truth), abs=0.05)
    assert model[-1].coef_[0][0] == pytest.approx(frame["age"].std() / 10, abs=0.3)


def test_grid_search_selects_without_the_truth():
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, (6000, 1))
    truth = np.where(rng.random(6000) < 1 / (1 + np.exp(-3 * (x[:, 0] ** 2 - 1.3))), "yes", "no")
    channel = ask.RandomizedResponse(["no", "yes"], epsilon=2.0)
    reports = channel.simulate(truth, rng)
    pipeline = make_pipeline(PolynomialFeatures(include_bias=False), ask.IndirectClassifier(channel))
    grid = GridSearchCV(
        pipeline, {"polynomialfeatures__degree": [1, 2], "indirectclassifier__method": ["marginal", "moments"]}
    )
    grid.fit(x, reports)
    assert grid.best_params_["polynomialfeatures__degree"] == 2
    assert grid.best_score_ == pytest.approx(np.mean(grid.predict(x) == truth), abs=0.05)


def test_cross_validation_and_clone():
    frame, _, reports, channel = survey()
    estimator = ask.IndirectClassifier(channel, ridge=1.0)
    assert clone(estimator).get_params() == estimator.get_params()
    scores = cross_val_score(estimator, frame[["age"]], reports, cv=3)
    assert scores.mean() == pytest.approx(0.72, abs=0.06)


def test_designs_are_routed_through_model_selection():
    frame, truth, _, _ = survey()
    rng = np.random.default_rng(3)
    channel = ask.DesignPerRow({"cards": ask.Warner(0.8), "direct": ask.Identity()})
    design = rng.choice(["cards", "direct"], size=len(frame))
    reports = channel.simulate(truth, rng, design)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = ask.IndirectClassifier(channel).set_fit_request(design=True).set_score_request(design=True)
        grid = GridSearchCV(estimator, {"ridge": [0.0, 10.0]}, cv=KFold(3))
        grid.fit(frame[["age"]], reports, design=design)
    assert grid.best_score_ == pytest.approx(0.72, abs=0.06)
