"""A finite population: what is known of it needs no sampling error, and the device's error stays."""

import numpy as np
import pytest

import askance as ask

FORCED = ask.ForcedResponse(1 / 6, 1 / 6)
PSI = {"few": ask.Cheaters(ask.ForcedResponse(0.1, 0.2)), "many": ask.Cheaters(ask.ForcedResponse(0.1, 0.6))}


def town(rng, people):
    x = rng.normal(size=people)
    return x[:, None], np.where(rng.random(people) < 1 / (1 + np.exp(1 - 0.8 * x)), "yes", "no")


def test_a_census_of_plain_answers_has_no_error_and_one_of_hidden_answers_has():
    _, truth = town(np.random.default_rng(0), 400)
    everybody = np.full(400, 1.0)
    plain = ask.Prevalence(ask.Identity(["no", "yes"])).fit(truth, strata=everybody, fpc=everybody)
    np.testing.assert_allclose(plain.standard_errors_, 0, atol=1e-9)
    reports = FORCED.simulate(truth, np.random.default_rng(1))
    hidden = ask.Prevalence(FORCED).fit(reports, strata=everybody, fpc=everybody)
    share = hidden.proportions_[1]
    yes, no = FORCED.matrix[1, 1], FORCED.matrix[1, 0]
    device = np.sqrt((share * yes * (1 - yes) + (1 - share) * no * (1 - no)) / 400) / (yes - no)
    assert hidden.standard_errors_[1] == pytest.approx(device, rel=1e-6)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_errors_are_those_of_samples_from_one_town(share):
    """One town, sampled and asked 300 times: stated errors are the spread of the estimates within 10%, which is missed
    by chance once in seventy; the old ones were too small by a factor of 1.4 and by all."""
    rng = np.random.default_rng(3)
    _, truth = town(rng, 800)
    size = round(800 * share)
    found, stated = [], []
    for _ in range(300):
        kept = rng.choice(800, size, replace=False)
        reports = FORCED.simulate(truth[kept], rng)
        fitted = ask.Prevalence(FORCED).fit(reports, strata=np.ones(size), fpc=np.full(size, share))
        found.append(fitted.proportions_[1])
        stated.append(fitted.standard_errors_[1])
    assert np.mean(stated) == pytest.approx(np.std(found), rel=0.1)


def test_regressions_know_it_too():
    """A census of one town: its own regression is known but for the device."""
    rng = np.random.default_rng(4)
    X, truth = town(rng, 1500)
    everybody = np.ones(1500)
    found, stated = [], []
    for _ in range(60):
        model = ask.IndirectClassifier(FORCED, intervals="wald")
        model.fit(X, FORCED.simulate(truth, rng), strata=everybody, fpc=everybody)
        found.append(model.parameters_)
        stated.append(model.standard_errors_)
    # 60 sets know a spread to 9%: off by 30% by chance once in a thousand.
    np.testing.assert_allclose(np.mean(stated, axis=0), np.std(found, axis=0), rtol=0.3)
    simple = model.covariance_information_
    assert np.mean(stated, axis=0)[1] < 0.95 * np.sqrt(simple[1, 1])
    with pytest.raises(ask.InvalidInput, match="fpc with method='moments'"):
        ask.IndirectClassifier(FORCED, method="moments").fit(X, truth, strata=everybody, fpc=everybody)


def test_so_do_designs_with_something_unknown():
    rng = np.random.default_rng(5)
    _, truth = town(rng, 2000)
    group = rng.choice(list(PSI), 2000)
    reports = ask.DesignPerRow(PSI).simulate(truth, rng, group, {"cheaters": 0.1})
    ones = np.ones(2000)
    whole = ask.Prevalence(PSI).fit(reports, design=group, strata=ones, fpc=ones)
    some = ask.Prevalence(PSI).fit(reports, design=group, strata=ones)
    assert 0.5 < whole.standard_errors_[1] / some.standard_errors_[1] < 1
