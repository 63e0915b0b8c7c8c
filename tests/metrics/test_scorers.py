"""Scorers for scikit-learn: about the truth, wherever the model stands; scikit-learn's own are not silent."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay, RocCurveDisplay, make_scorer, recall_score, roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import askance as ask

CHANNEL = ask.RandomizedResponse(["no", "yes"], epsilon=1.0)


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3)) * [1, 10, 100]
    truth = np.where(rng.random(6000) < 1 / (1 + np.exp(-2.5 * X[:, 0])), "yes", "no")
    return X, truth, CHANNEL.simulate(truth, rng)


def test_a_named_scorer_of_scikit_learn_warns_and_ours_is_about_the_truth(study):
    X, truth, reports = study
    model = ask.IndirectClassifier(CHANNEL)
    with pytest.warns(ask.AskanceWarning, match=r"askance\.scorer\('roc_auc'\)"):
        noisy = cross_val_score(model, X, reports, scoring="roc_auc", cv=2).mean()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = cross_val_score(model, X, reports, scoring=ask.scorer("roc_auc"), cv=2).mean()
        clean = roc_auc_score(truth == "yes", model.fit(X, reports).predict_proba(X)[:, 1])
    assert noisy < clean - 0.1
    assert abs(ours - clean) < 0.06


@pytest.mark.parametrize("name", sorted(ask.metrics.SCORERS))
def test_every_scorer_works_in_searches_and_pipelines(study, name):
    X, truth, reports = study
    pipe = make_pipeline(StandardScaler(), ask.IndirectClassifier(CHANNEL))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(
            pipe, {"indirectclassifier__method": ["marginal", "moments"]}, scoring=ask.scorer(name), cv=2
        )
        search.fit(X, reports)
        assert np.isfinite(search.best_score_)
        scored = ask.scorer(name).estimate(search, X, reports)
        known = ask.scorer(name, of="truth").estimate(search, X, truth)
    assert abs(scored.value - known.value) < 4 * scored.std_error
    assert pickle.loads(pickle.dumps(ask.scorer(name))) == ask.scorer(name)


def test_any_classifier_can_be_scored_with_a_channel(study):
    X, truth, reports = study
    naive = LogisticRegression().fit(X, reports)
    found = ask.scorer("accuracy", CHANNEL).estimate(naive, X, reports)
    assert abs(found.value - naive.score(X, truth)) < 4 * found.std_error
    with pytest.raises(ask.InvalidInput, match="does not know how labels were hidden"):
        ask.scorer("accuracy")(naive, X, reports)
    both = {"ours": ask.scorer("accuracy"), "loss": ask.scorer("neg_log_loss")}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = cross_validate(ask.IndirectClassifier(CHANNEL), X, reports, scoring=both, cv=2)
    assert (table["test_loss"] < 0).all()


def test_designs_and_weights_are_routed_to_scorers(study):
    X, truth, _ = study
    rng = np.random.default_rng(5)
    channel = ask.DesignPerRow({"a": ask.Warner(0.8), "b": ask.Warner(0.95)})
    design = rng.choice(["a", "b"], len(X))
    given = {"design": design, "sample_weight": rng.random(len(X))}
    reports = channel.simulate(truth, rng, design)
    halves = KFold(2)
    with sklearn.config_context(enable_metadata_routing=True):
        model = ask.IndirectClassifier(channel).set_fit_request(design=True, sample_weight=False)
        model.set_score_request(design=True, sample_weight=True)
        two = {"area": ask.scorer("roc_auc").set_score_request(sample_weight=False), "loss": ask.scorer("neg_log_loss")}
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(model, X, reports, scoring=two, cv=halves, params=given)
        two["loss"] = two["loss"].set_score_request(sample_weight=True)
        found = cross_validate(model, X, reports, scoring=two, cv=halves, params=given)
        grid = GridSearchCV(model, {"ridge": [0.0]}, scoring=ask.scorer("roc_auc"), cv=halves)
        assert grid.fit(X, reports, design=design).best_score_ == pytest.approx(found["test_area"].mean())
    learn, test = next(halves.split(X))
    model.fit(X[learn], reports[learn], design=design[learn])
    for name, weights in (("area", None), ("loss", given["sample_weight"][test])):
        known = two[name](model, X[test], reports[test], weights, design[test])
        assert found[f"test_{name}"][0] == pytest.approx(known)


def test_a_scorer_that_was_made_by_hand_warns_too_and_clean_labels_do_not(study):
    X, truth, reports = study
    model = ask.IndirectClassifier(CHANNEL).fit(X, reports)
    hand_made = make_scorer(roc_auc_score, response_method="predict_proba")
    with pytest.warns(ask.AskanceWarning, match="compares predictions of the truth"):
        hand_made(model, X, reports)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_val_score(ask.IndirectClassifier(), X, truth, scoring="roc_auc", cv=2)
        model.predict_proba(X)


def test_classes_are_those_that_a_model_says(study):
    X, truth, reports = study
    unsure = FixedThresholdClassifier(ask.IndirectClassifier(CHANNEL), threshold=0.9, pos_label="yes").fit(X, reports)
    found = ask.scorer("recall", CHANNEL).estimate(unsure, X, reports)
    assert found == ask.metrics.recall(reports, unsure.predict(X), CHANNEL)
    assert abs(found.value - recall_score(truth, unsure.predict(X), pos_label="yes")) < 4 * found.std_error
    machine = LinearSVC().fit(X, reports)  # without probabilities
    assert ask.scorer("accuracy", CHANNEL)(machine, X, reports) > 0.6
    with pytest.raises(ask.InvalidInput, match="without predict_proba"):
        ask.scorer("roc_auc", CHANNEL)(machine, X, reports)


def test_metrics_of_one_class_are_refused_for_more_than_two():
    channel = ask.RandomizedResponse([0, 1, 2], epsilon=2.0)
    rng = np.random.default_rng(4)
    X, reports = rng.normal(size=(600, 1)), channel.simulate(rng.integers(0, 3, 600), rng)
    model = ask.IndirectClassifier(channel).fit(X, reports)
    with pytest.raises(ask.InvalidInput, match=r"scorer 'recall' for the classes \[0, 1, 2\].*balanced_accuracy"):
        ask.scorer("recall")(model, X, reports)


NUMBERED = ask.RandomizedResponse([0, 1], epsilon=1.0)  # ensembles number classes before they fit
COMPARED = {
    "calibration": (
        "probabilities will be those of reports",
        lambda m, X, y: CalibratedClassifierCV(m, cv=2).fit(X, y),
    ),
    "calibration without folds": (
        "probabilities will be those of reports",
        lambda m, X, y: CalibratedClassifierCV(FrozenEstimator(m.fit(X, y))).fit(X, y),
    ),
    "stack": ("probabilities will be those of reports", lambda m, X, y: StackingClassifier([("m", m)], cv=2).fit(X, y)),
    "bag": ("ensemble of scikit-learn", lambda m, X, y: BaggingClassifier(m, 2).fit(X, y).score(X, y)),
    "vote": ("ensemble of scikit-learn", lambda m, X, y: VotingClassifier([("m", m)]).fit(X, y).score(X, y)),
    "curve": ("draw askance.metrics", lambda m, X, y: RocCurveDisplay.from_estimator(m.fit(X, y), X, y)),
    "matrix": ("draw askance.metrics", lambda m, X, y: ConfusionMatrixDisplay.from_estimator(m.fit(X, y), X, y)),
    "groups": ("draw askance.metrics", lambda m, X, y: CalibrationDisplay.from_estimator(m.fit(X, y), X, y)),
}


@pytest.mark.parametrize("who", COMPARED)
def test_whoever_compares_predictions_with_reports_is_noticed(study, who):
    X, _, reports = study
    says, compare = COMPARED[who]
    pipe = make_pipeline(StandardScaler(), ask.IndirectClassifier(NUMBERED))
    with pytest.warns(ask.AskanceWarning, match=says):
        compare(pipe, X[:1000], (reports[:1000] == "yes").astype(int))


def test_ensembles_predict_and_search_without_a_word(study):
    X, _, reports = study
    model, numbers = ask.IndirectClassifier(NUMBERED), (reports == "yes").astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bag = BaggingClassifier(model, 2).fit(X, numbers)
        bag.predict_proba(X)
        assert ask.scorer("accuracy", NUMBERED)(bag, X, numbers) > 0.7
        assert GridSearchCV(model, {"ridge": [0.0]}, cv=2).fit(X[:4000], numbers[:4000]).score(X[4000:], numbers[4000:])


def test_hidden_records_are_scored_from_their_reports():
    rng = np.random.default_rng(1)
    X = (rng.random((4000, 4)) < 0.5).astype(int)
    truth = np.where(rng.random(4000) < 1 / (1 + np.exp(2 - 4 * X[:, 0])), 1, 0)
    channel = ask.RowChannel(features=ask.StateFlip(2, 0.1), label=ask.RandomizedResponse([0, 1], epsilon=2.0))
    features, labels = channel.simulate((X, truth), rng)
    model = ask.SpreadClassifier(channel, ridge=1.0).fit(features, labels)
    found = ask.scorer("roc_auc").estimate(model, features, labels)
    clean = roc_auc_score(truth, model.predict_proba_reports(features)[:, 1])
    assert abs(found.value - clean) < 4 * found.std_error
    assert model.score(features, labels) == model.score_estimate(features, labels).value


def test_a_name_that_is_none_is_refused():
    with pytest.raises(ask.InvalidInput, match="neg_log_loss"):
        ask.scorer("log_loss")
    with pytest.raises(ask.InvalidInput, match="of='both'"):
        ask.scorer("roc_auc", of="both")


@pytest.mark.parametrize("name", ["accuracy", "roc_auc", "neg_log_loss"])
@pytest.mark.parametrize("model", [ask.AnswerRegression(CHANNEL), ask.IndirectModel(ask.States(), CHANNEL)])
def test_models_that_are_no_classifiers_of_scikit_learn_are_scored(study, model, name):
    X, truth, reports = study
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = cross_val_score(model, X, reports, scoring=ask.scorer(name), cv=2)
        assert np.isfinite(scores).all()
        scored = ask.scorer(name).estimate(model.fit(X, reports), X, reports)
        known = ask.scorer(name, of="truth").estimate(model, X, truth)
    assert abs(scored.value - known.value) < 4 * scored.std_error


def test_named_designs_of_such_a_model_are_its_channel(study):
    X, truth, _ = study
    rng = np.random.default_rng(8)
    designs = {"a": CHANNEL, "b": ask.Warner(0.8, list(CHANNEL.classes))}
    channel, design = ask.DesignPerRow(designs), rng.choice(["a", "b"], len(X))
    reports = channel.simulate(truth, rng, design)
    model = ask.AnswerRegression(designs).fit(X, reports, design=design)
    scored = ask.scorer("accuracy").estimate(model, X, reports, design=design)
    assert abs(scored.value - np.mean(model.predict(X) == truth)) < 4 * scored.std_error
