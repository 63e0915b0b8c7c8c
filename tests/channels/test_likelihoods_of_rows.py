"""P(report | row) of channels that report k of d numbers: every cell, against enumeration and against draws."""

from itertools import product

import numpy as np
import pytest

import askance as ask
from askance.channels.rows.number_law import NumberLaw
from askance.channels.rows.window_law import WindowLaw
from askance.entropy.thresholds import RESOLUTION

# At .4 each number is a coin: k of d bits. At 3 it is a window of 254 codes, or a coin.
CHANNELS = [
    ask.SampledCoordinates(4, 0.4),
    ask.SampledCoordinates(4, 0.9, k=2),
    ask.SampledCoordinates(3, 0.9, k=3),
    ask.SampledCoordinates(3, 3.0, k=1, bound=2.0),
    ask.PrivateNumber(-1.0, 3.0, 2.0),
    ask.PrivateNumber(-1.0, 3.0, 2.0, "piecewise"),
]


def every_report(channel):
    return channel.every_report() if hasattr(channel, "every_report") else np.arange(channel.law.codes)


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_every_cell_is_what_the_law_of_single_numbers_says(channel):
    low, high = channel.range
    rows = np.random.default_rng(0).uniform(low, high, size=(3, channel.dim))
    rows[0, 0], rows[1, 0] = low, high
    reports = every_report(channel)
    table = channel.likelihood_of_rows(reports, rows)
    assert table.min() >= 0
    assert table.sum(axis=0) == pytest.approx(1.0)
    # Its own unbiased estimates have the rows as their mean: a law with a wrong cell would not.
    assert table.T @ channel.unbias(reports).reshape(len(reports), -1) == pytest.approx(rows)
    worst = np.log(table[:, :, None] / table[:, None, :]).max()
    assert worst <= channel.guarantee.epsilon + 1e-9


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_draws_have_that_law(channel):
    low, high = channel.range
    row = np.linspace(low, high, channel.dim + 2)[1:-1][None]
    reports = every_report(channel)
    law = channel.likelihood_of_rows(reports, row)[:, 0]
    n = 40_000
    drawn = channel.simulate(np.repeat(row, n, axis=0), np.random.default_rng(1))
    place = {tuple(np.atleast_1d(one).tolist()): number for number, one in enumerate(reports)}
    counts = np.bincount([place[tuple(np.atleast_1d(one).tolist())] for one in drawn], minlength=len(law))
    # Chi-square over its degrees of freedom, normal for so many draws: beyond 5 deviates once in 3 million.
    chi2 = float(((counts - n * law) ** 2 / (n * law)).sum())
    spread = np.sqrt(2 * len(law) + (1 / (n * law)).sum())
    assert abs(chi2 - len(law) + 1) < 5 * spread


def test_numbers_that_share_a_coin_are_counted_together():
    """A window release of two of three numbers, with so few codes that all reports can be listed."""
    channel = ask.WindowRelease(3, 2.0, k=2)
    small = WindowLaw(9, 4, 2, RESOLUTION // 3)
    vars(channel)["law"] = small  # the law is drawn from by its own numbers; here it is only counted
    rows = np.array([[-1.0, 0.3, 1.0], [0.0, -0.2, 0.9]])
    reports = channel.every_report()
    table = channel.likelihood_of_rows(reports, rows)
    assert len(table) == 3 * 81
    assert table.sum(axis=0) == pytest.approx(1.0)
    inside = [small.inside(row) for row in rows]
    for number, (i, j, a, b) in enumerate(reports.tolist()):
        for k in range(2):
            together = inside[k][i, a] * inside[k][j, b] / 3 + (2 / 3) / 81
            assert table[number, k] == pytest.approx(together / 3)
    # As the truth is, on average: the start of a window is rounded so that its mean is right.
    assert small.inside(rows[0]) @ small.values == pytest.approx(rows[0])
    drawn = ask.WindowRelease(3, 2.0, k=2)
    said = drawn.likelihood_of_rows(drawn.simulate(rows[:1].repeat(50, axis=0), np.random.default_rng(2)), rows)
    assert said.shape == (50, 2)
    assert said.min() > 0


def test_a_window_or_a_coin_is_a_law():
    for mechanism, epsilon in product(("hybrid", "piecewise", "duchi"), (0.3, 2.0)):
        law = NumberLaw.within(epsilon, mechanism)
        z = np.array([-1.0, -0.37, 0.0, 1.0])
        table = law.probabilities(z)
        assert table.sum(axis=1) == pytest.approx(1.0)
        assert table @ law.values == pytest.approx(z)
        assert table @ law.values**2 - z**2 == pytest.approx(law.variance(z))


def test_labels_are_hidden_by_some_of_their_features():
    tags = ["noun", "verb", "other"]
    signs = np.array([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    hidden = ask.on_features(ask.SampledCoordinates(3, 0.9, k=2), signs, tags)
    assert hidden.matrix.shape == (12, 3)
    assert hidden.report_labels[:2] == ("0,1=0,0", "0,1=0,1")
    assert hidden.guarantee.epsilon == pytest.approx(0.9)
    with pytest.raises(ask.InvalidInput, match="different reports"):
        ask.on_features(ask.SampledCoordinates(3, 3.0, k=2), signs, tags)
    # For classes, and for the tags of sequences, by both methods.
    rng = np.random.default_rng(4)
    X = rng.normal(size=(4000, 1))
    truth = np.array(tags)[(np.column_stack([0 * X, X, -X]) + rng.gumbel(size=(4000, 3))).argmax(axis=1)]
    reports = hidden.simulate(truth, rng)
    fits = [ask.IndirectModel(ask.States(), hidden, method).fit(X, reports) for method in ("marginal", "moments")]
    for fit in fits:
        # Four deviates beyond 4.5: fewer than one in 30,000.
        assert np.abs((fit.parameters_ - [0, 1, 0, -1]) / fit.standard_errors_).max() < 4.5
    sentences, words = truth.reshape(-1, 4).tolist(), [[["x"]] * 4 for _ in range(1000)]
    tokens = ask.PerToken(hidden)
    said = tokens.simulate(sentences, rng)
    assert ask.IndirectModel(ask.Chain(tags), tokens, ridge=1.0).fit(words, said).converged_
