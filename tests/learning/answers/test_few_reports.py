"""Few reports, equal reports, clusters that tell nothing, weights that leave nothing: none of them is exact."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom

import askance as ask

FORCED = ask.ForcedResponse(1 / 6, 1 / 6)


def test_equal_reports_are_not_exact():
    few = quietly(ask.Prevalence(FORCED).fit, ["no"] * 5)
    lower, upper = few.interval()[1]
    assert lower == 0
    assert upper > 0.3
    assert few.standard_errors_[1] > 0.1
    with pytest.warns(ask.AskanceWarning, match="Fewer reports"):
        model = ask.IndirectClassifier(FORCED).fit(np.arange(5.0)[:, None], ["no"] * 5)
    assert abs(model.intercept_[0]) < 10


@pytest.mark.parametrize(("n", "rule_of_three"), [(30, 0.0997), (100, 0.0300)])
def test_nobody_among_many_is_not_nobody_at_all(n, rule_of_three):
    upper = ask.Prevalence(ask.Identity(["no", "yes"])).fit(["no"] * n).interval()[1, 1]
    assert rule_of_three < upper < 1.4 * rule_of_three


def test_score_intervals_cover_where_reports_of_one_kind_are_few():
    """Exact coverage, by the binomial law of the reports: at least .92 at every prevalence (Wald's has .0 at 0)."""
    channel, n = ask.ForcedResponse(0.1, 0.02), 60
    low, high = channel.matrix[1]
    limits = []
    for count in range(n + 1):
        reports = ["yes"] * count + ["no"] * (n - count)
        ends = quietly(ask.Prevalence(channel).fit, reports).interval()[1]
        limits.append(ends if np.isfinite(ends).all() else (0.0, 1.0))
    table = np.array(limits)
    for prevalence in (0.0, 0.01, 0.05, 0.1, 0.2):
        law = binom.pmf(np.arange(n + 1), n, low + (high - low) * prevalence)
        covered = (table[:, 0] <= prevalence + 1e-12) & (prevalence - 1e-12 <= table[:, 1])
        assert law @ covered > 0.92


def test_what_clusters_cannot_tell_has_no_error():
    rng = np.random.default_rng(5)
    cluster = np.arange(600) % 4
    reports = FORCED.simulate(np.where(rng.random(600) < 0.3, "yes", "no"), rng)
    with pytest.warns(ask.AskanceWarning, match="not enough clusters"):
        model = ask.IndirectClassifier(FORCED).fit(np.eye(4)[cluster][:, 1:], reports, cluster=cluster)
    assert np.isnan(model.standard_errors_).all()
    two = ask.IndirectClassifier(FORCED).fit(rng.normal(size=(600, 1)), reports, cluster=cluster % 2)
    assert "tell little about the errors" in " ".join(two.notes_)


def quietly(fit, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        return fit(*data, **options)


def test_one_weight_above_all_is_said():
    rng = np.random.default_rng(6)
    reports = FORCED.simulate(np.where(rng.random(300) < 0.3, "yes", "no"), rng)
    heavy = np.r_[1e6, np.ones(299)]
    shares = quietly(ask.Prevalence(FORCED).fit, reports, sample_weight=heavy)
    model = quietly(ask.IndirectClassifier(FORCED).fit, rng.normal(size=(300, 1)), reports, heavy)
    for fitted in (shares, model):
        assert "tell as much as 1.0 of equal weight" in " ".join(fitted.notes_)


def test_wald_intervals_of_a_penalised_fit_have_no_z():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(400, 1))
    reports = FORCED.simulate(np.where(rng.random(400) < 0.3, "yes", "no"), rng)
    values = ask.IndirectClassifier(FORCED, penalty="log-f", intervals="wald").fit(x, reports).summary().values
    assert np.isnan(values[:, 2:4]).all()
    assert np.isfinite(values[:, 4:6]).all()


def test_equal_weights_do_not_change_profiles():
    """Observed information at a constrained fit, near the border, is not even positive: it made p = .15 of .0001."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=1200)
    truth = np.where(rng.random(1200) < 1 / (1 + np.exp(3 - x)), "yes", "no")
    reports = FORCED.simulate(truth, rng)
    plain, weighted = (
        ask.IndirectClassifier(FORCED, penalty="log-f").fit(x[:, None], reports, w).summary().values
        for w in (None, np.full(1200, 2.0))
    )
    np.testing.assert_allclose(weighted[:, 4:6], plain[:, 4:6], rtol=0.03)
    np.testing.assert_allclose(weighted[:, 0], plain[:, 0], rtol=1e-6)
