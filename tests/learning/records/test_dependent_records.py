"""Hidden attributes that depend on each other: latent classes, their likelihood and slopes, and what is refused."""

import numpy as np
import pytest
from scipy.special import expit

import askance as ask
from askance.engines.local.engine import LocalEngine
from askance.errors import InvalidInput, NotAvailable
from askance.learning.records.latent_classes import LatentPrior, learn_classes
from askance.learning.records.latent_data import LatentData
from askance.learning.records.mixture_likelihood import MixtureLikelihood
from askance.learning.records.reading import SpreadRecords
from askance.learning.records.report_checks import check_reports
from askance.releases import Header, Question

BITS = ask.RowChannel(ask.StateFlip(2, 0.2), ask.Warner(0.85, classes=(0, 1)))
SLOPES = np.array([0.9, -0.9, 0.6, -0.6, 0.4, -0.4, 0.7, 0.3, -0.5])


def dependent(rows, seed, width=9, correlation=0.5):
    """Bits of correlated normal numbers, a label that depends on them, and the generator."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(size=(rows, 1)), rng.normal(size=(rows, width))
    X = (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own > 0.2).astype(int)
    slopes = np.resize(SLOPES, width)
    y = (rng.random(rows) < expit((X - 0.5) @ slopes)).astype(int)
    return X, y, slopes, rng


# -- the likelihood and its derivatives ----------------------------------------------------------------

MIXED = (
    ask.StateFlip(2, 0.1),
    ask.StateFlip(3, 0.2),
    ask.GaussianNoise(0.5),
    ask.GaussianNoise(0.8),
    ask.LaplaceNoise(0.4),
    ask.FiniteChannel([[0.7, 0.2, 0.1], [0.2, 0.6, 0.3], [0.1, 0.2, 0.6]], [0, 1, 2]),
)


def mixed_data(label, nominal=(False, True, False, False, False, False), rows=80):
    rng = np.random.default_rng(0)
    channel = ask.RowChannel(list(MIXED), label).for_width(6)
    states = np.column_stack([rng.integers(0, k, rows) for k in (2, 3, 3)])
    numbers = rng.normal(size=(rows, 3)) + states[:, [1]]
    X = np.column_stack([states[:, :2], numbers, states[:, 2]])
    y = np.array(label.classes)[rng.integers(0, len(label.classes), rows)]
    told, labels = channel.simulate((X, y), rng)
    weights = rng.uniform(0.5, 2.0, rows)
    codes = channel.features.codes_and_numbers(np.asarray(told))
    return LatentData(
        SpreadRecords(channel.features, codes, channel.label, channel.label.encode_reports(labels), weights), nominal
    )


def likelihood_of(label, classes=2):
    data = mixed_data(label)
    prior = learn_classes(data.reports, classes).chosen
    # Away from the border, so that every probability is a parameter.
    parts = [
        {name: 0.9 * value + 0.1 / 3 if name == "weights" else value for name, value in part.items()}
        for part in prior.parts
    ]
    states = data.reports.blocks[0]
    total = np.add.reduceat(parts[0]["weights"], states.first, axis=1)
    parts[0]["weights"] = parts[0]["weights"] / total[:, states.attribute]
    return data, LatentPrior(prior.shares, tuple(parts))


THREE = ask.RandomizedResponse(["a", "b", "c"], truth_probability=0.8)


@pytest.mark.parametrize("label", [ask.Warner(0.8), THREE], ids=["two classes", "three classes"])
def test_gradients_and_scores_are_derivatives(label):
    data, prior = likelihood_of(label)
    likelihood = data.row_likelihood(prior, intercept=True)
    rng = np.random.default_rng(1)
    theta = rng.normal(scale=0.5, size=(1, likelihood.rows, likelihood.width + 1))
    if likelihood.rows > 1:
        theta -= theta.mean(axis=1, keepdims=True)
    shares = likelihood.shares(None)
    _, gradient = likelihood.data_loss(theta, shares)
    for _ in range(5):
        step = rng.normal(size=theta.shape)
        if likelihood.rows > 1:
            step -= step.mean(axis=1, keepdims=True)
        ends = [likelihood.data_loss(theta + sign * 1e-5 * step, shares)[0] for sign in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(float((gradient * step).sum()), rel=1e-4, abs=1e-7)
    # Scores of single reports, weighted, add up to the gradient by the free parameters.
    free = likelihood._free(theta[0])
    pull = likelihood._pull(likelihood.label_chances(free), likelihood.counts)
    summed = likelihood.features.row_slopes(free, pull).sum(axis=0)
    assert summed == pytest.approx(likelihood.features.pulled(free, pull))


def test_scores_by_the_prior_are_derivatives():
    data, prior = likelihood_of(ask.Warner(0.8))
    likelihood = data.row_likelihood(prior, intercept=True)
    theta = np.random.default_rng(2).normal(scale=0.5, size=(1, likelihood.width + 1))
    chances = likelihood.label_chances(theta)
    own = likelihood.features.responsibilities
    shift = own * (chances.each / chances.mixed[:, None] - 1)
    pull = likelihood._pull(chances, np.ones(len(own)))

    def changed(block, name, place, by):
        parts = [dict(part) for part in prior.parts]
        parts[block][name] = parts[block][name].copy()
        for index, sign in place:
            parts[block][name][index] += sign * by
        return LatentPrior(prior.shares, tuple(parts))

    def both(moved):
        """Log-likelihoods of feature reports, and of label reports given them."""
        there = MixtureLikelihood.of(moved, likelihood_reports, likelihood.label_likelihood, intercept=False)
        centred = theta.copy()
        centred[:, 0] -= theta[:, 1:] @ likelihood.centre
        return moved.responsibilities(likelihood_reports)[1], np.log(there.label_chances(centred).mixed)

    weights = data.records.weights
    likelihood_reports = type(data.reports).of(
        data.records.features, data.records.reports, weights, weights**2, data.nominal
    )
    law = prior.parts[0]["weights"]
    first_free = int(law[0, :2].argmin())
    cases = [
        (0, "weights", [((0, first_free), 1), ((0, int(law[0, :2].argmax())), -1)], 0),
        (1, "mean", [((0, 1), 1)], 1),
        (1, "covariance", [((0, 1, 0), 1), ((0, 0, 1), 1)], 2 + 1),
        (2, "mean", [((0, 0), 1)], 0),
        (2, "variance", [((0, 0), 1)], 1),
    ]
    for block, name, place, column in cases:
        columns = likelihood.features.columns[block]
        found = likelihood.features.posteriors[block].prior_scores(theta[:, 1 + columns], own, shift, pull, slice(None))
        ahead, back = (both(changed(block, name, place, by)) for by in (1e-5, -1e-5))
        for kind in (0, 1):
            slope = (ahead[kind] - back[kind]) / 2e-5
            assert found[kind][:, column] == pytest.approx(slope, rel=2e-3, abs=2e-5), (name, kind)


# -- classes -------------------------------------------------------------------------------------------


def test_independent_attributes_have_one_class_and_dependent_ones_more():
    for correlation, more in ((0.0, False), (0.4, True)):
        X, y, _, rng = dependent(4_000, 3, correlation=correlation)
        model = ask.SpreadClassifier(BITS, ridge=0.0).fit(*BITS.simulate((X, y), rng))
        assert (model.method_ == "mixture") is more
        assert (model.latent_classes_ is not None) is more


def test_dependent_bits_are_recovered_and_the_collapsed_fit_says_that_it_is_biased(tmp_path):
    """One set of 16,000: every coefficient within four standard errors (error rate 6e-4)."""
    X, y, slopes, rng = dependent(16_000, 4)
    reports, labels = BITS.simulate((X, y), rng)
    model = ask.SpreadClassifier(BITS).fit(reports, labels)
    assert model.method_ == "mixture"
    assert np.abs((model.coef_[0] - slopes) / model.standard_errors_[1:]).max() < 4
    assert "latent classes" in str(model.summary())
    with pytest.warns(ask.AskanceWarning, match="depend on each other"):
        biased = ask.SpreadClassifier(BITS, "collapsed").fit(reports, labels)
    assert biased.covariance_ is None
    with pytest.raises(NotAvailable, match="depend on each other"):
        _ = biased.standard_errors_
    assert np.linalg.norm(biased.coef_[0] - slopes) > np.linalg.norm(model.coef_[0] - slopes)
    assert model.score_reports(reports, labels) == pytest.approx(model.log_likelihood_ / len(X), abs=1e-9)
    model.save(tmp_path / "model.json")
    again = ask.load_model(tmp_path / "model.json")
    assert again.predict_proba_reports(reports[:50]) == pytest.approx(model.predict_proba_reports(reports[:50]))
    assert again.latent_classes_ == model.latent_classes_
    # A ridge that is given forces no method.
    assert ask.SpreadClassifier(BITS, ridge=1e-4).fit(reports, labels).method_ == "mixture"


def test_numbers_that_are_correlated_or_skewed():
    """Correlated normal numbers need one class with covariances; every coefficient within four standard errors."""
    rng = np.random.default_rng(5)
    X = 0.8 * rng.normal(size=(8_000, 1)) + 0.6 * rng.normal(size=(8_000, 3))
    slopes = np.array([1.0, -1.0, 0.5])
    y = (rng.random(8_000) < expit(X @ slopes)).astype(int)
    channel = ask.RowChannel(ask.GaussianNoise(0.8), ask.Warner(0.85, classes=(0, 1)))
    model = ask.SpreadClassifier(channel).fit(*channel.simulate((X, y), rng))
    assert model.method_ == "mixture"
    assert np.abs((model.coef_[0] - slopes) / model.standard_errors_[1:]).max() < 4


def test_the_posterior_of_three_dependent_bits_is_that_of_their_joint_law():
    rng = np.random.default_rng(6)
    law = np.array([0.4, 0.05, 0.03, 0.02, 0.02, 0.03, 0.05, 0.4])
    X = (rng.choice(8, p=law, size=60_000)[:, None] >> np.array([2, 1, 0])) & 1
    y = (rng.random(len(X)) < expit(X @ [1.5, -1.0, 0.8] - 0.5)).astype(int)
    reports, labels = BITS.simulate((X, y), rng)
    model = ask.SpreadClassifier(BITS).fit(reports, labels)
    kinds, place = np.unique(np.asarray(reports) @ [4, 2, 1], return_inverse=True)
    told = model.predict_proba_reports((kinds[:, None] >> np.array([2, 1, 0])) & 1)[:, 1]
    seen = np.bincount(place, y) / np.bincount(place)
    # About 3,000 of the rarest report: a standard error of .009, and as much for the fit; four of these.
    assert told == pytest.approx(seen, abs=0.05)
    assert np.average(np.abs(told - seen), weights=np.bincount(place)) < 0.015


# -- levels and weights --------------------------------------------------------------------------------


def test_states_can_be_levels():
    rng = np.random.default_rng(7)
    X = rng.integers(0, 4, size=(12_000, 5))
    effect = np.array([0.0, 1.5, -1.5, 0.5])
    y = np.where(rng.random(12_000) < expit(effect[X[:, 0]] + 0.6 * (X[:, 1] - 1.5)), "yes", "no")
    channel = ask.RowChannel(ask.StateFlip(4, 0.2), ask.Warner(0.85))
    reports = channel.simulate((X, y), rng)
    model = ask.SpreadClassifier(channel, nominal=[0]).fit(*reports)
    assert model.parameter_names_[:5] == ("Intercept", "x0=1", "x0=2", "x0=3", "x1")
    wanted = np.array([1.5, -1.5, 0.5, 0.6, 0.0, 0.0, 0.0])
    assert np.abs((model.coef_[0] - wanted) / model.standard_errors_[1:]).max() < 4
    assert model.predict_proba(X[:20])[:, 1] == pytest.approx(
        expit(effect[X[:20, 0]] + 0.6 * (X[:20, 1] - 1.5)), abs=0.15
    )
    assert model.score(X, y, of="truth") > 0.7
    with pytest.raises(NotAvailable, match="nominal"):
        model.to_sklearn()
    few = ask.SpreadClassifier(channel, nominal="all").fit(np.asarray(reports[0])[:, :2], reports[1])
    assert few.method_ == "enumerate"
    assert np.abs((few.coef_[0, :3] - effect[1:]) / few.standard_errors_[1:4]).max() < 4
    with pytest.raises(InvalidInput, match="nominal"):
        ask.SpreadClassifier(channel, nominal=["colour"]).fit(*reports)


@pytest.mark.parametrize("method", ["collapsed", "mixture", "enumerate"])
def test_weights_are_repeated_rows(method):
    X, y, _, rng = dependent(1_500, 8, width=4, correlation=0.0)
    reports, labels = (np.asarray(part) for part in BITS.simulate((X, y), rng))
    weights = rng.integers(0, 4, len(X))
    options = {"method": method, "ridge": 0.0, "latent_classes": 2 if method == "mixture" else "auto"}
    weighted = ask.SpreadClassifier(BITS, **options).fit(reports, labels, sample_weight=weights)
    repeated = ask.SpreadClassifier(BITS, **options).fit(
        np.repeat(reports, weights, axis=0), np.repeat(labels, weights)
    )
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-2 if method == "mixture" else 1e-5)
    scaled = ask.SpreadClassifier(BITS, **options).fit(reports, labels, sample_weight=1e-3 * weights)
    assert scaled.standard_errors_ == pytest.approx(weighted.standard_errors_, rel=1e-6)
    # Unequal weights tell less than as many equal ones, and repeated rows do not know that.
    assert (weighted.standard_errors_ > repeated.standard_errors_).all()


# -- reports that are none -----------------------------------------------------------------------------


def test_clean_data_are_refused_where_noise_must_be():
    rng = np.random.default_rng(9)
    common = rng.normal(size=(2_000, 1))
    X = (common + 0.4 * rng.normal(size=(2_000, 6)) > 0).astype(int)
    y = (X.sum(axis=1) + rng.normal(size=2_000) > 3).astype(int)
    with pytest.raises(InvalidInput, match=r"pair of states.*privatize"):
        ask.SpreadClassifier(BITS).fit(X, y)
    rare = (rng.random((2_000, 6)) < 0.05).astype(int)
    with pytest.raises(InvalidInput, match="the state 1 of x"):
        ask.SpreadClassifier(BITS).fit(rare, y)
    numbers = ask.RowChannel(ask.GaussianNoise(2.0), ask.Warner(0.85, classes=(0, 1)))
    with pytest.raises(InvalidInput, match=r"variance of x\d .* its noise"):
        ask.SpreadClassifier(numbers).fit(rng.normal(size=(2_000, 3)), y)
    nearly = np.hstack([3 * common, 3 * common + 0.1 * rng.normal(size=(2_000, 1))])
    with pytest.raises(InvalidInput, match="sum of numbers"):
        ask.SpreadClassifier(numbers).fit(nearly, y)
    with pytest.warns(ask.AskanceWarning, match="ties"):
        model = ask.SpreadClassifier(numbers, ridge=0.1).fit(np.rint(3 * rng.normal(size=(400, 3))), y[:400])
    assert "ties" in model.notes_[0]


def test_labels_that_are_surer_than_their_noise_are_refused():
    """Fair independent bits look like reports of such; their labels do not."""
    rng = np.random.default_rng(13)
    X = rng.integers(0, 2, (4_000, 9))
    y = (rng.random(4_000) < expit(4 * (X - 0.5) @ SLOPES)).astype(int)
    with pytest.raises(InvalidInput, match="label reports that are"):
        ask.SpreadClassifier(BITS, ridge=0.01).fit(X, y)


def test_proper_reports_are_not_suspected():
    """60 sets of proper reports at borders of what is possible: none is remarked on (five errors: 2e-5 each)."""
    warner = ask.Warner(0.8, classes=(0, 1))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 300)
        one = np.repeat(rng.integers(0, 2, (300, 1)), 3, axis=1)  # copies of one bit, and a constant
        for features, X in (
            (ask.StateFlip(2, 0.2), np.column_stack([one, np.zeros(300, int)])),
            (ask.GaussianNoise(1.0), np.zeros((300, 3))),
            (ask.LaplaceNoise(1.0), np.column_stack([one, one[:, 0]])),
        ):
            channel = ask.RowChannel(features, warner)
            reports, labels = channel.simulate((X, y), rng)
            codes = channel.features.codes_and_numbers(np.asarray(reports))
            features = channel.features.for_width(X.shape[1])
            records = SpreadRecords(features, codes, warner, warner.encode_reports(labels))
            assert check_reports(records, list("abcd")) == ()


# -- engines -------------------------------------------------------------------------------------------


def released(channel, X, y, rng, path):
    channel = channel.for_width(X.shape[1])
    reports, labels = channel.simulate((X, y), rng)
    header = Header((Question("x", channel.features), Question("y", channel.label)), ())
    path.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(X)), 3)):
        table = {"x": channel.features.store(channel.features.encode_reports(reports[rows])), "y": labels[rows]}
        ask.Release.from_table(table, header).write(path / f"part-{number}.parquet")
    return ask.read_release(path)


def test_dependent_records_on_an_engine(tmp_path):
    X, y, _, rng = dependent(6_000, 10)
    release = released(BITS, X, y, rng, tmp_path / "few")
    here = ask.SpreadClassifier(ridge=0.0).fit_release(release)
    there = ask.SpreadClassifier(ridge=0.0).fit_release(release, LocalEngine(threads=1))
    assert there.method_ == here.method_ == "mixture"
    assert there.coef_ == pytest.approx(here.coef_, abs=1e-5)
    assert there.standard_errors_ == pytest.approx(here.standard_errors_, rel=1e-4)
    wide = released(BITS, *dependent(2_000, 11, width=24)[:2], rng, tmp_path / "many")
    with pytest.warns(ask.AskanceWarning, match="depend on each other"):
        alone = ask.SpreadClassifier(method="collapsed", ridge=0.0).fit_release(wide, LocalEngine(threads=1))
    assert alone.covariance_ is None
    with pytest.raises(InvalidInput, match="engine='local'"):
        ask.SpreadClassifier(method="mixture").fit_release(wide, LocalEngine(threads=1))


def test_what_cannot_be_a_number_of_classes_is_refused():
    X, y, _, rng = dependent(200, 12, width=3)
    for wrong in (0, -1, 1.5, True, "many", 1000):
        with pytest.raises(InvalidInput, match="latent_classes"):
            ask.SpreadClassifier(BITS, latent_classes=wrong).fit(X, y)
    with pytest.raises(InvalidInput, match="five records for each parameter"):
        ask.SpreadClassifier(BITS, method="mixture").fit(*BITS.simulate((X[:20], y[:20]), rng))
