"""Finite truths under every kind of channel."""

from itertools import product

import numpy as np
import pytest

import askance as ask

BITS = np.array(list(product([0, 1], repeat=3)), dtype=float)


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    scores = np.column_stack([np.zeros(n), X @ [1.5, 0.5], 0.5 - X @ [0.5, 1.0]])
    return rng, X, np.array(["a", "b", "c"])[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]


# Deviations in standard errors: one of 3 beyond 4.5 in each of 9 fits has a probability below 2e-4.
@pytest.mark.parametrize(
    ("channel", "method"),
    [
        (ask.PerValueFlip(3, 3.0), "marginal"),
        (ask.PerValueFlip(3, 3.0), "moments"),
        (ask.CoordinateRelease(3, 3.0), "marginal"),
        (ask.CoordinateRelease(3, 3.0), "moments"),
        (ask.SampledCoordinates(3, 3.0, k=2), "marginal"),
        (ask.SampledCoordinates(3, 3.0), "moments"),
        (ask.WindowRelease(3, 3.0), "marginal"),
        (ask.RandomizedResponse(range(8), epsilon=3.0), "marginal"),
        (ask.RandomizedResponse(range(8), epsilon=3.0), "moments"),
    ],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)
def test_a_response_on_features_tells_the_parameters(channel, method):
    rng, theta = np.random.default_rng(5), np.array([0.5, -1.0, 0.3])
    law = np.exp(BITS @ theta)
    truth = rng.choice(8, 3000, p=law / law.sum())
    reports = channel.simulate(BITS[truth] if channel.hides == "numbers" else truth, rng)
    model = ask.IndirectModel(ask.States(BITS, names=["x", "y", "z"]), channel, method).fit(None, reports)
    assert np.abs((model.parameters_ - theta) / model.standard_errors_).max() < 4.5
    assert model.parameter_names_ == ("x", "y", "z")
    assert model.guarantee_ == channel.guarantee


def test_likelihoods_of_rows_are_probabilities():
    every = (np.arange(8)[:, None] >> np.arange(3) & 1).astype(np.uint8)
    assert ask.PerValueFlip(3, 2.0).likelihood_of_rows(every, BITS).sum(axis=0) == pytest.approx(1.0)
    codes = np.arange(6, dtype=np.uint8)
    assert ask.CoordinateRelease(3, 2.0).likelihood_of_rows(codes, BITS).sum(axis=0) == pytest.approx(1.0)
    rng = np.random.default_rng(6)
    flip = ask.PerValueFlip(3, 2.0)
    drawn = flip.simulate(np.tile(BITS[5], (20_000, 1)), rng)
    counts = np.bincount(drawn @ (1 << np.arange(3)), minlength=8) / 20_000
    # A normal deviate beyond 5 in one of 8 cells: five in a million.
    assert np.abs(counts - flip.likelihood_of_rows(every, BITS)[:, 5]).max() < 5 * 0.5 / np.sqrt(20_000)


def test_groups_are_enough_for_features_of_groups_and_refused_otherwise():
    rng, X, truth = people()
    groups = ask.Coarsening({"ab": ["a", "b"], "c": ["c"]})
    reports = groups.simulate(truth, rng)
    wanted = ask.States([[0], [0], [1]])
    by_moments = ask.IndirectModel(wanted, groups, "moments").fit(X, reports)
    by_likelihood = ask.IndirectModel(wanted, groups).fit(X, reports)
    assert by_moments.parameters_ == pytest.approx(by_likelihood.parameters_, abs=1e-6)
    for method in ("moments", "marginal"):
        with pytest.raises(ask.Unidentifiable, match="'a', 'b' lead to reports of the same law"):
            ask.IndirectModel(ask.States(), groups, method).fit(X, reports)
    # Ordered features tell a and b apart through x alone: no exchange of the two is a change of parameters.
    ordered = ask.States([[0], [1], [2]])
    ask.IndirectModel(ordered, groups).fit(X, reports)
    with pytest.raises(ask.Unidentifiable, match="rank 2 for 3"):
        ask.IndirectModel(ordered, groups, "moments").fit(X, reports)
    # Without x, two groups have one number, and two parameters are too many.
    two = ask.Coarsening({"ab": ["a", "b"], "cd": ["c", "d"]})
    with pytest.raises(ask.Unidentifiable, match=r"do not determine 1 of 2 parameters"):
        ask.IndirectModel(ask.States([[0, 0], [1, 0], [2, 1], [0, 3]]), two).fit(None, two.simulate(truth, rng))
    both = ask.DesignPerRow({"coarse": groups, "exact": ask.Identity(["a", "b", "c"])})
    design = np.where(rng.random(len(X)) < 0.2, "exact", "coarse")
    model = ask.IndirectModel(ask.States(), both).fit(X, both.simulate(truth, rng, design), design=design)
    assert model.score(X, truth, of="truth") > 0.6


@pytest.mark.parametrize(
    "channel",
    [
        ask.CandidateSets(("a", "b", "c"), size=2),
        ask.CandidateSets(("a", "b", "c")),
        ask.CandidateSets(("a", "b", "c"), inclusion=0.3),
    ],
    ids=repr,
)
def test_candidate_sets_are_learned_from(channel):
    rng, X, truth = people()
    reports = channel.simulate(truth, rng)
    # As texts, as lists and as a table.
    sets = [tuple(text.split("|")) for text in reports]
    flags = np.array([[label in one for label in "abc"] for one in sets])
    fits = [ask.IndirectModel(ask.States(), channel).fit(X, form) for form in (reports, sets, flags.astype(int))]
    for fit in fits[1:]:
        assert fit.parameters_ == pytest.approx(fits[0].parameters_)
    moments = ask.IndirectModel(ask.States(), channel, "moments").fit(X, reports)
    distance = (moments.parameters_ - fits[0].parameters_) / moments.standard_errors_
    assert np.abs(distance).max() < 4.5  # both estimate the same: a rule of thumb with a margin


def test_truths_that_are_together_in_every_set_are_refused():
    # Superclasses as sets: a was told from b with z = 19, by chance. A few exact labels are enough.
    rng, X, truth = people(600)
    sets = np.array(["c", "a|b"])[(truth != "c").astype(int)]
    channel = ask.CandidateSets(("a", "b", "c"))
    for model in (ask.IndirectModel(ask.States(), channel), ask.IndirectClassifier(channel)):
        with pytest.raises(ask.Unidentifiable, match="'a', 'b' lead to reports of the same law"):
            model.fit(X, sets)
        exact = np.where(rng.random(600) < 0.3, truth, sets)
        assert model.fit(X, exact).score(X, truth, of="truth") > 0.6
    # Classes that no set has are nobody's, and there is nothing to exchange.
    wide = ask.CandidateSets(("a", "b", "c", "d", "e"))
    with pytest.warns(ask.AskanceWarning):
        model = ask.IndirectModel(ask.States(), wide).fit(X, truth)
    assert model.predict_proba(X)[:, 3:].max() < 0.05


def test_an_assumed_selection_of_sets_is_not_tested():
    _, X, truth = people(300)
    channel = ask.CandidateSets(("a", "b", "c"))
    for model in (ask.IndirectModel(ask.States(), channel), ask.IndirectClassifier(channel)):
        summary = model.fit(X, truth).summary()  # sets of one: the assumed law has every third so
        assert summary.fact("fit of the design") == "not tested: the law of the reports is assumed"
        assert not summary.alerts


def test_sets_of_many_classes_are_read_without_a_table():
    rng, X, _ = people(500)
    classes = list(range(40))
    truth = rng.integers(0, 3, 500)
    sets = np.zeros((500, 40), dtype=int)
    sets[np.arange(500), truth] = 1
    sets[np.arange(500), 3 + rng.integers(0, 37, 500)] = 1
    model = ask.IndirectModel(ask.States(), ask.CandidateSets(classes), ridge=1.0).fit(X[:, :1], sets)
    assert set(model.predict(X[:, :1]).tolist()) <= {0, 1, 2}
    with pytest.raises(ask.InvalidInput, match="possible sets of 40 classes"):
        ask.CandidateSets(classes).simulate([1], rng)


def test_repeated_reports_say_more_than_one():
    rng, X, truth = people()
    once, often = ask.RandomizedResponse(["a", "b", "c"], epsilon=1.0), None
    often = ask.Repeated(once, 3)
    table = np.column_stack([once.simulate(truth, rng) for _ in range(3)])
    model = ask.IndirectModel(ask.States(), often).fit(X, table)
    single = ask.IndirectModel(ask.States(), once).fit(X, table[:, 0])
    assert model.standard_errors_.max() < single.standard_errors_.max()
    assert model.guarantee_.epsilon == pytest.approx(3.0)


class Softmax:
    """The softmax model, said as a family of one's own."""

    classes, size = ("a", "b", "c"), 6

    def log_partition(self, theta, X, likelihood=None):
        features = np.einsum("kr,nd->nkrd", np.eye(3)[:, 1:], np.column_stack([np.ones(len(X)), X])).reshape(
            len(X), 3, 6
        )
        with np.errstate(divide="ignore"):
            scores = features @ theta + (0 if likelihood is None else np.log(likelihood))
        top = scores.max(axis=1)
        power = np.exp(scores - top[:, None])
        return top + np.log(power.sum(axis=1)), np.einsum("nk,nkp->np", power / power.sum(axis=1)[:, None], features)


def test_a_family_and_features_of_ones_own_are_the_same_model():
    rng, X, truth = people(800)
    channel = ask.RandomizedResponse(["a", "b", "c"], epsilon=2.0)
    reports = channel.simulate(truth, rng)
    wanted = ask.IndirectModel(ask.States(), channel).fit(X, reports)
    features = ask.States(lambda x: np.kron(np.eye(3)[:, 1:], np.concatenate([[1.0], x])))
    for family in (Softmax(), features):
        model = ask.IndirectModel(family, channel).fit(X, reports)
        assert model.parameters_ == pytest.approx(wanted.parameters_, abs=1e-4)
        assert model.covariance_ == pytest.approx(wanted.covariance_, rel=1e-3)
        assert model.predict_proba(X[:5]) == pytest.approx(wanted.predict_proba(X[:5]), abs=1e-4)
        with pytest.raises(ask.AskanceError):
            model.to_json()
    with pytest.raises(ask.AskanceError, match="weighted_features"):
        ask.IndirectModel(Softmax(), channel, "moments").fit(X, reports)


def test_a_separable_fit_is_penalised_and_says_so():
    X = np.linspace(-1, 1, 40)[:, None]
    channel = ask.Identity(["no", "yes"])
    with pytest.warns(ask.AskanceWarning, match="log-F"):
        ask.IndirectModel(ask.States(), channel).fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    with pytest.raises(ask.InvalidInput, match="no finite estimate"):
        ask.IndirectModel(ask.States(), channel, ridge=0.0).fit(X, np.where(X[:, 0] > 0, "yes", "no"))


def test_the_least_channel_has_the_same_reports_at_a_lower_level():
    rng = np.random.default_rng(8)
    S = rng.dirichlet(np.ones(5), size=4).T
    channel = ask.FiniteChannel(S, list("abcd"), list("vwxyz"))
    least = ask.coarsest(channel, [[0, 1], [1, 0], [0, 1], [1, 1]])
    assert least.classes == ("a|c", "b", "d")
    law = np.array([0.2, 0.1, 0.2, 0.5])  # the same within a group
    assert channel.matrix @ law == pytest.approx(least.matrix @ [0.4, 0.1, 0.5], abs=1e-15)
    assert least.guarantee.epsilon <= channel.guarantee.epsilon
    for features in ([[1], [1], [1], [1]], [[1], [2]]):
        with pytest.raises(ask.InvalidInput):
            ask.coarsest(channel, features)


def test_responses_are_compared_exactly():
    table = ask.compare_responses(BITS, [1.0, 6.0])
    # At theta = 0 bits are independent: one that is right with odds e^t has 1 / tanh(t / 2)^2 times the variance.
    assert table.factors["per-value"][0] == pytest.approx(1 / np.tanh(1 / 6) ** 2)
    assert table.factors["coordinate"][0] == pytest.approx(3 / np.tanh(0.5) ** 2)
    told = np.expm1(1.0) / (np.expm1(1.0) + 8)
    assert table.factors["classic"][0] == pytest.approx(1 / told**2)
    assert table.best == ("coordinate", "classic")
    with pytest.raises(ask.InvalidInput, match="zeros and ones"):
        ask.compare_responses(BITS / 2, [1.0])


def test_features_in_which_no_states_differ_are_refused():
    with pytest.raises(ask.InvalidInput, match=r"features=4; expected an array.*said by the channel"):
        ask.States(4)
    with pytest.raises(ask.InvalidInput, match="the same for all states"):
        ask.States([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])


def test_a_score_has_the_error_of_the_classifier():
    rng, channel = np.random.default_rng(9), ask.RandomizedResponse(["no", "yes"], epsilon=1.5)
    X = rng.normal(size=(1500, 1))
    reports = channel.simulate(np.where(rng.random(1500) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no"), rng)
    model = ask.IndirectModel(ask.States(), channel).fit(X[:1000], reports[:1000])
    found = model.score_estimate(X[1000:], reports[1000:])
    same = ask.IndirectClassifier(channel).fit(X[:1000], reports[:1000]).score_estimate(X[1000:], reports[1000:])
    assert (found.value, found.std_error) == pytest.approx((same.value, same.std_error))
    assert model.score(X[1000:], reports[1000:]) == found.value
    tags = ask.PerToken(ask.RandomizedResponse(["A", "B"], epsilon=3.0))
    sentences, truth = [["x", "y"]] * 80, [["A", "B"]] * 80
    chain = ask.IndirectModel(ask.Chain(["A", "B"], features="words"), tags).fit(sentences, tags.simulate(truth, rng))
    with pytest.raises(ask.AskanceError, match="go together in a sentence"):
        chain.score_estimate(sentences, tags.simulate(truth, rng))
