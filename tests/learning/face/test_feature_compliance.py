"""Reports that follow the features more closely than their channel lets them."""

import numpy as np
import pytest

import askance as ask
from askance.learning.face import Design, feature_evidence
from askance.learning.face.feature_compliance import _bets
from askance.statistics.base import Records

WARNER = ask.Warner(0.75)
THREE = ask.RandomizedResponse(["a", "b", "c"], epsilon=1.0)


def drawn(n, slope, channel, seed, *, raw=False, columns=3):
    """Features, and codes of reports; of raw ones the truth itself."""
    rng = np.random.default_rng(seed)
    X, steps = rng.normal(size=(n, columns)), np.linspace(0, slope, len(channel.classes))
    truth = (X[:, :1] * steps + rng.gumbel(size=(n, len(steps)))).argmax(axis=1)
    if raw:
        return X, truth
    hidden = channel.simulate([channel.classes[k] for k in truth], rng)
    return X, channel.encode_reports(hidden)


def evidence(channel, X, codes):
    found = feature_evidence(
        Records(X, codes.astype(np.uint8)), [Design(channel.matrix, slice(0, len(channel.matrix)))]
    )
    return found.log_evidence


@pytest.mark.parametrize(("reports", "classes"), [(2, 2), (3, 3), (5, 3), (2, 3)])
def test_no_truth_gives_a_bet_a_mean_above_one(reports, classes):
    rng = np.random.default_rng(reports)
    matrix = rng.dirichlet(np.ones(reports), classes).T
    laws = np.vstack([rng.dirichlet(np.full(reports, 0.3), 200), np.eye(reports)])
    bets = _bets(laws, matrix)
    assert (bets @ matrix).max() <= 1 + 1e-12
    # At laws that the channel gives there is nothing to win; far outside there is.
    inside = rng.dirichlet(np.full(classes, 5.0), 50) @ matrix.T
    assert np.abs((_bets(inside, matrix) * inside).sum(axis=1) - 1).max() < 0.02
    assert bets[-reports:].max() > 1.05


@pytest.mark.parametrize("channel", [WARNER, THREE])
@pytest.mark.parametrize("n", [100, 2000])
def test_honest_reports_give_evidence_of_mean_one_at_most(channel, n):
    """Of 100 sets, whose mean misses one by four of its errors with a chance of 1 in 30,000."""
    found = np.exp([evidence(channel, *drawn(n, 4.0, channel, seed)) for seed in range(100)])
    assert found.mean() < 1 + 4 * found.std() / 10
    assert found.max() < 1000


@pytest.mark.parametrize("channel", [WARNER, THREE])
def test_raw_answers_are_seen_in_few_records(channel):
    for seed in range(5):
        assert evidence(channel, *drawn(600, 3.0, channel, seed, raw=True)) > np.log(1000)


@pytest.mark.parametrize("row", [10, 11])  # a record that teaches, and one that is asked
def test_an_outlier_hides_no_raw_answers(row):
    X, codes = drawn(600, 3.0, WARNER, 6, raw=True)
    before = evidence(WARNER, X, codes)
    X[row], codes[row] = 1e9, 0
    assert evidence(WARNER, X, codes) > before - 6


def test_a_channel_with_more_noise_than_was_drawn_is_seen():
    X, codes = drawn(4000, 3.0, ask.Warner(0.9), 1)
    assert evidence(WARNER, X, codes) > np.log(1000)


def test_where_features_say_nothing_there_is_no_evidence():
    X, codes = drawn(500, 0.0, WARNER, 2, raw=True)
    assert evidence(WARNER, X, codes) < 1
    assert evidence(WARNER, np.ones_like(X), codes) < 1
    assert evidence(WARNER, X[:20], codes[:20]) == 0
    assert evidence(WARNER, X[:, :0], codes) == 0


def test_a_fit_to_raw_answers_says_so_first_and_warns():
    X, truth = drawn(2000, 2.0, WARNER, 3, raw=True)
    labels = np.array(WARNER.classes)[truth]
    with pytest.warns(ask.AskanceWarning, match="follow the features more closely"):
        model = ask.IndirectClassifier(WARNER).fit(X, labels)
    assert "whatever the truth is" in model.summary().alerts[0]
    assert "given the features" in str(model.summary())
    assert model.design_test_.p_value < 1e-9


def test_designs_per_row_are_asked_each_by_itself():
    channel = ask.DesignPerRow({"a": ask.Warner(0.75), "b": ask.ForcedResponse(0.1, 0.2)})
    X, truth = drawn(3000, 3.0, WARNER, 4, raw=True)
    design = np.where(np.arange(len(X)) % 3, "a", "b")
    labels = np.array(["no", "yes"])[truth]
    rng = np.random.default_rng(4)
    honest = channel.simulate(labels, rng, design)
    assert not ask.IndirectClassifier(channel).fit(X, honest, design=design).design_test_.alert
    raw_in_a = np.where(design == "a", labels, honest)
    with pytest.warns(ask.AskanceWarning, match="under 'a'"):
        ask.IndirectClassifier(channel).fit(X, raw_in_a, design=design)
