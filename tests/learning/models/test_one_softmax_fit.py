"""IndirectModel(States()) and IndirectClassifier are one fit; so is any other table of features of the same model."""

import warnings
from itertools import product

import numpy as np
import pytest

import askance as ask
from askance.learning.answers.truth_features import TruthFeatures
from askance.solvers.log_f import LogF

CLASSES = {2: ("no", "yes"), 3: ("a", "b", "c")}
CHANNELS = {
    "response": lambda classes: ask.RandomizedResponse(classes, epsilon=1.5),
    "skewed": lambda classes: ask.FiniteChannel(
        [[0.8, 0.3], [0.2, 0.7]] if len(classes) == 2 else [[0.7, 0.1, 0.2], [0.1, 0.6, 0.1], [0.2, 0.3, 0.7]], classes
    ),
}
# Rows, and log-odds of each class but the first where x is zero; -3.5 is a prevalence of about .03.
DATA = {"plenty": (1200, -0.3), "rare": (900, -3.5), "few": (14, 0.0), "separated": (60, None)}


def people(classes, channel, kind, weighted):
    rng = np.random.default_rng(17)
    n, intercept = DATA[kind]
    X = rng.normal(size=(n, 2)) * [1.0, 30.0] + [0.0, 400.0]  # in units of their own
    if intercept is None:
        truth = (X[:, 0] > 0).astype(int)  # nobody is of the third
        return X, np.array(classes)[truth], _weights(rng, n, weighted)
    slopes = np.array([[1.0, 0.02], [-0.5, 0.01]])[: len(classes) - 1]
    scores = np.column_stack([np.zeros(n), intercept + (X - [0.0, 400.0]) @ slopes.T])
    truth = np.array(classes)[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]
    return X, channel.simulate(truth, rng), _weights(rng, n, weighted)


def _weights(rng, n, weighted):
    return rng.uniform(0.5, 2.0, size=n) if weighted else None


def fitted(model, X, reports, weights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        return model.fit(X, reports, sample_weight=weights)


def assert_same(model, classifier, turn=None):
    """All that is reported; ``turn`` makes the classifier's parameters of the model's."""
    turn = np.eye(len(model.parameters_)) if turn is None else turn
    sizes = np.maximum(classifier.standard_errors_, 1e-3)
    assert (turn @ model.parameters_ - classifier.parameters_) / sizes == pytest.approx(0, abs=1e-8)
    turned = turn @ model.covariance_ @ turn.T
    assert (turned - classifier.covariance_) / np.outer(sizes, sizes) == pytest.approx(0, abs=1e-8)
    assert (model.penalty_, model.converged_) == (classifier.penalty_, classifier.converged_)
    assert model.log_likelihood_ == pytest.approx(classifier.log_likelihood_, abs=1e-8)


@pytest.mark.parametrize(
    ("count", "channel", "method", "kind", "weighted"),
    [
        (count, channel, method, kind, weighted)
        for count, channel, method, kind, weighted in product(
            (2, 3), CHANNELS, ("marginal", "moments"), DATA, (False, True)
        )
        if (channel, kind) != ("skewed", "separated")  # what separates is not hidden, by any channel
    ],
)
def test_both_faces_say_the_same(count, channel, method, kind, weighted):
    hidden = CHANNELS[channel](CLASSES[count]) if kind != "separated" else ask.Identity(CLASSES[count])
    data = people(CLASSES[count], hidden, kind, weighted)
    model = fitted(ask.IndirectModel(ask.States(), hidden, method), *data)
    classifier = fitted(ask.IndirectClassifier(hidden, method), *data)
    assert_same(model, classifier)
    assert model.notes_ == classifier.notes_
    assert model.intervals_ == classifier.intervals_
    one, other = model.summary(0.9), classifier.summary(0.9)
    assert one.values == pytest.approx(other.values, rel=1e-8, abs=1e-8, nan_ok=True)
    assert (one.facts, one.alerts, one.names) == (other.facts, other.alerts, other.names)
    assert model.conf_int().to_numpy() == pytest.approx(classifier.conf_int().to_numpy(), rel=1e-8, nan_ok=True)
    assert model.predict_proba(data[0][:9]) == pytest.approx(classifier.predict_proba(data[0][:9]), abs=1e-12)


@pytest.mark.parametrize(("kind", "ridge"), [("plenty", "auto"), ("rare", "auto"), ("few", "auto"), ("rare", 0.0)])
@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_other_features_of_the_same_truths_are_the_same_model(kind, ridge, method):
    """Thresholds instead of indicators: theta_b and theta_b + theta_c are the log-odds against a."""
    hidden = CHANNELS["response"](CLASSES[3])
    data = people(CLASSES[3], hidden, kind, weighted=True)
    steps = ask.States([[0, 0], [1, 0], [1, 1]])
    try:
        classifier = fitted(ask.IndirectClassifier(hidden, method, ridge), *data)
    except ask.InvalidInput as refusal:
        with pytest.raises(ask.InvalidInput, match=str(refusal)[:9]):
            fitted(ask.IndirectModel(steps, hidden, method, ridge), *data)
        return
    model = fitted(ask.IndirectModel(steps, hidden, method, ridge), *data)
    if classifier.penalty_ == "shrunk":  # its strength is the noise of the truths, of which the first is one here
        assert model.penalty_ == "shrunk"
        return
    turn = np.kron([[1, 0], [1, 1]], np.eye(3))
    sizes = np.maximum(classifier.standard_errors_, 1e-3)
    # The searches go other ways, and end within 1e-8 standard errors of the maximum or a bit more.
    assert (turn @ model.parameters_ - classifier.parameters_) / sizes == pytest.approx(0, abs=1e-6)
    turned = turn @ model.covariance_ @ turn.T
    assert (turned - classifier.covariance_) / np.outer(sizes, sizes) == pytest.approx(0, abs=1e-6)
    assert model.penalty_ == classifier.penalty_
    same = [0, 1, 2]  # b against a is a parameter of both
    mine, theirs = model.conf_int().to_numpy()[same], classifier.conf_int().to_numpy()[same]
    assert mine == pytest.approx(theirs, rel=1e-4, abs=1e-4, nan_ok=True)


def test_features_that_repeat_each_other_have_no_errors_of_their_own():
    hidden = CHANNELS["response"](CLASSES[3])
    X, reports, _ = people(CLASSES[3], hidden, "plenty", weighted=False)
    twice = ask.States(np.eye(3), names=["is a", "is b", "is c"])
    with pytest.warns(ask.AskanceWarning, match="collinear, or the same for all truths.*is a, is b, is c"):
        model = ask.IndirectModel(twice, hidden).fit(X, reports)
    plain = ask.IndirectModel(ask.States(), hidden).fit(X, reports)
    assert model.predict_proba(X) == pytest.approx(plain.predict_proba(X), abs=1e-8)
    assert np.isnan(model.standard_errors_).all()
    assert np.isfinite(plain.standard_errors_).all()


def test_bits_are_kept_finite_as_truths_are():
    """Log-F on the logits of all combinations of bits is log-F on the parameters of each bit."""
    bits = np.array(list(product([0, 1], repeat=3)), dtype=float)
    theta, alone, each = np.array([0.7, -2.0, 4.0]), LogF.about(np.zeros(3)), TruthFeatures(bits, ("x", "y", "z"))
    of_truths = LogF(np.zeros((7, 1)), np.ones(1))(each.contrasts @ theta)
    assert of_truths.value == pytest.approx(alone(theta).value)
    assert each.pulled(of_truths.gradient) == pytest.approx(alone(theta).gradient)
    assert each.pulled_square(of_truths.information) == pytest.approx(alone(theta).information)
    truth = np.tile([0, 1, 2, 3], 10)  # nobody has the first bit
    with pytest.warns(ask.AskanceWarning, match="no finite estimate of 't0'"):
        model = ask.IndirectModel(ask.States(bits), ask.Identity(range(8))).fit(None, truth)
    assert model.penalty_ == "log-f"
    assert -9 < model.parameters_[0] < -2
    assert model.parameters_[1:] == pytest.approx(0, abs=1e-6)


def test_designs_that_were_not_used_tell_no_truths_apart():
    rng = np.random.default_rng(5)
    groups = ask.Coarsening({"ab": ["a", "b"], "c": ["c"]})
    both = ask.DesignPerRow({"coarse": groups, "exact": ask.Identity(["a", "b", "c"])})
    truth, design = np.array(["a", "b", "c"])[rng.integers(0, 3, 90)], np.full(90, "coarse")
    reports = both.simulate(truth, rng, design)
    for model in (ask.IndirectModel(ask.States(), both), ask.IndirectClassifier(both)):
        with pytest.raises(ask.Unidentifiable, match="'a', 'b' lead to reports of the same law"):
            model.fit(rng.normal(size=(90, 1)), reports, design=design)


def test_both_notice_answers_that_nobody_hid():
    """Raw answers whose shares are possible; they follow x more closely than Warner's .75 lets any answer do."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(800, 1))
    raw = np.where(3 * X[:, 0] + rng.logistic(size=800) > 0, "yes", "no")
    alerts = []
    for model in (ask.IndirectModel(ask.States(), ask.Warner(0.75)), ask.IndirectClassifier(ask.Warner(0.75))):
        with pytest.warns(ask.AskanceWarning, match="follow the features more closely"):
            model.fit(X, raw)
        alerts.append(model.summary().alerts)
    assert alerts[0] == alerts[1] != ()
