"""Designs with something unknown: against an independent likelihood, at borders, and with what cannot be known."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import askance as ask
from askance import AskanceWarning, InvalidInput, Unidentifiable
from oracles import numeric_gradient

# Each named design: the channel, its unknown number, and by hand P(yes | carrier), P(yes | non-carrier) by group.
NAMED = {
    "unrelated question": (
        {name: ask.UnrelatedQuestion(p, prevalence=ask.Unknown()) for name, p in {"a": 0.7, "b": 0.3}.items()},
        {"unrelated_prevalence": 0.25},
        lambda r: {"a": (0.7 + 0.3 * r, 0.3 * r), "b": (0.3 + 0.7 * r, 0.7 * r)},
    ),
    "lie detector": (
        {"a": ask.StochasticLieDetector(0.8), "b": ask.StochasticLieDetector(0.4)},
        {"truthful": 0.7},
        lambda t: {"a": (t, 0.2), "b": (t, 0.6)},
    ),
    "cheaters": (
        {"a": ask.Cheaters(ask.ForcedResponse(0.05, 0.2)), "b": ask.Cheaters(ask.ForcedResponse(0.1, 0.6))},
        {"cheaters": 0.15},
        lambda c: {"a": ((1 - c) * 0.95, (1 - c) * 0.2), "b": ((1 - c) * 0.9, (1 - c) * 0.6)},
    ),
    "extended crosswise": (
        {"a": ask.Cheaters(ask.Crosswise(0.2), says="yes"), "b": ask.Cheaters(ask.Crosswise(0.8), says="yes")},
        {"cheaters": 0.1},
        lambda c: {"a": ((1 - c) * 0.2 + c, (1 - c) * 0.8 + c), "b": ((1 - c) * 0.8 + c, (1 - c) * 0.2 + c)},
    ),
    "anchor": (
        {"a": ask.RandomAnswers(ask.Crosswise(0.2)), "b": ask.Anchor(ask.RandomAnswers(ask.Crosswise(0.7)))},
        {"random_answers": 0.15},
        lambda s: {"a": ((1 - s) * 0.2 + s / 2, (1 - s) * 0.8 + s / 2), "b": ((1 - s) * 0.3 + s / 2,) * 2},
    ),
    "direct group": (
        {"a": ask.Crosswise(ask.Unknown("birthday")), "b": ask.Identity(["no", "yes"])},
        {"birthday": 0.3},
        lambda p: {"a": (p, 1 - p), "b": (1.0, 0.0)},
    ),
}
EVERY = pytest.mark.parametrize(("designs", "psi", "law"), NAMED.values(), ids=NAMED.keys())


def survey(designs, psi, seed, n=1200, base=-0.8, slope=0.9):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(50, 10, n), rng.integers(0, 2, n)])
    eta = base + slope * (X[:, 0] - 50) / 10 - 0.5 * X[:, 1]
    truth = np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    design = rng.choice(list(designs), n)
    return X, ask.DesignPerRow(designs).simulate(truth, rng, design, psi), design


def oracle(X, reports, design, law, start, Z=None, weights=None):
    """Maximise the plain likelihood; return parameters and both covariances, psi as a logit."""
    yes, group = reports == "yes", design == "b"
    columns = np.column_stack([np.ones(len(yes)), X])
    Z = np.ones((len(yes), 1)) if Z is None else Z
    weights = np.ones(len(yes)) if weights is None else weights

    def each(theta):
        carrier = 1 / (1 + np.exp(-columns @ theta[: columns.shape[1]]))
        psi = 1 / (1 + np.exp(-Z @ theta[columns.shape[1] :]))
        a, b = law(psi)["a"], law(psi)["b"]
        p1, p0 = np.where(group, b[0], a[0]), np.where(group, b[1], a[1])
        p = p1 * carrier + p0 * (1 - carrier)
        return weights * np.log(np.where(yes, p, 1 - p))

    def negative(theta):
        return -each(theta).sum()

    def gradient(theta):
        return numeric_gradient(negative, theta, 1e-4)

    theta = optimize.minimize(negative, start, method="BFGS", jac=gradient, options={"gtol": 1e-5}).x
    for _ in range(4):
        theta = theta - np.linalg.solve(numeric_gradient(gradient, theta, 1e-3), gradient(theta))
    bread = np.linalg.inv(numeric_gradient(gradient, theta, 1e-3))
    scores = numeric_gradient(each, theta, 1e-4)
    return theta, bread, bread @ (scores.T @ scores) @ bread, -negative(theta)


@EVERY
def test_it_is_the_maximum_of_the_likelihood_with_the_right_errors(designs, psi, law):
    X, reports, design = survey(designs, psi, 31)
    X = (X - [50, 0]) / [10, 1]  # numeric derivatives want columns of one size
    fitted = ask.IndirectClassifier(designs).fit(X, reports, design=design)
    (name,) = psi
    start = np.append([-0.8, 0.9, -0.5], np.log(psi[name] / (1 - psi[name])))
    theta, covariance, _, top = oracle(X, reports, design, law, start)
    value = 1 / (1 + np.exp(-theta[-1]))
    assert fitted.parameters_ == pytest.approx(theta[:3], abs=1e-6)
    assert fitted.unknowns_[name] == pytest.approx(value, abs=1e-6)
    assert fitted.standard_errors_ == pytest.approx(np.sqrt(np.diag(covariance))[:3], rel=1e-5)
    table = fitted.summary().to_frame()
    assert table.loc[name, "estimate"] == pytest.approx(value, abs=1e-6)
    assert table.loc[name, "std_error"] == pytest.approx(value * (1 - value) * np.sqrt(covariance[-1, -1]), rel=1e-5)
    assert fitted.log_likelihood_ == pytest.approx(top, abs=1e-7)
    assert table.loc[name, "lower"] < value < table.loc[name, "upper"]


@EVERY
@pytest.mark.parametrize("kept", ["a", "b"])
def test_one_of_two_groups_does_not_tell_the_unknown(designs, psi, law, kept):
    """Only who was asked directly tells anything alone; a lie detector of .8 was once taken for one that does."""
    X, reports, design = survey(designs, psi, 39, n=600)
    alone = design == kept
    for made in (ask.Prevalence(designs), ask.IndirectClassifier(designs)):
        rows = (reports[alone],) if isinstance(made, ask.Prevalence) else (X[alone], reports[alone])
        with pytest.raises(ask.Unidentifiable, match="No row was asked under"):
            made.fit(*rows, design=design[alone])


def test_weights_give_the_sandwich_and_their_unit_does_not_matter():
    designs, psi, law = NAMED["cheaters"]
    X, reports, design = survey(designs, psi, 32)
    X = (X - [50, 0]) / [10, 1]
    weights = np.random.default_rng(33).gamma(2, 1, len(X))
    theta, _, sandwich, _ = oracle(X, reports, design, law, np.array([-0.8, 0.9, -0.5, -1.7]), weights=weights)
    tables = []
    for unit in (1, 1000):
        fitted = ask.IndirectClassifier(designs).fit(X, reports, unit * weights, design=design)
        assert fitted.parameters_ == pytest.approx(theta[:3], abs=1e-6)
        assert fitted.standard_errors_ == pytest.approx(np.sqrt(np.diag(sandwich))[:3], rel=1e-3)
        tables.append(fitted.summary().values)
    assert tables[0] == pytest.approx(tables[1], rel=1e-6, nan_ok=True)


def test_the_unknown_number_may_depend_on_covariates():
    designs, psi, law = NAMED["extended crosswise"]
    X, reports, design = survey(designs, psi, 34, n=4000)
    frame = pd.DataFrame((X - [50, 0]) / [10, 1], columns=["age", "female"])
    fitted = ask.IndirectClassifier(designs, unknowns={"cheaters": ["female"]}).fit(frame, reports, design=design)
    Z = np.column_stack([np.ones(len(X)), X[:, 1]])
    theta, covariance, _, _ = oracle(frame.to_numpy(), reports, design, law, np.array([-0.8, 0.9, -0.5, -2, 0]), Z)
    table = fitted.summary().to_frame()
    assert table.index.tolist() == ["Intercept", "age", "female", "cheaters: Intercept", "cheaters: female"]
    assert table["estimate"].to_numpy() == pytest.approx(theta, abs=1e-6)
    assert table["std_error"].to_numpy() == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-5)
    at_mean = 1 / (1 + math.exp(-(theta[3] + theta[4] * frame["female"].mean())))
    assert fitted.unknowns_["cheaters"] == pytest.approx(at_mean, abs=1e-6)


@EVERY
def test_shares_without_covariates_have_a_closed_form(designs, psi, law):
    # Two shares of "yes" and two numbers: the estimate gives exactly the shares that came.
    channel = ask.DesignPerRow(designs)
    (name,) = psi
    expected = {group: 0.3 * p1 + 0.7 * p0 for group, (p1, p0) in law(psi[name]).items()}
    counts = {group: round(100_000 * share) for group, share in expected.items()}
    reports = [r for group in "ab" for r in ["yes"] * counts[group] + ["no"] * (100_000 - counts[group])]
    design = ["a"] * 100_000 + ["b"] * 100_000
    fitted = ask.Prevalence(channel).fit(reports, design=design)
    assert fitted.proportions_[1] == pytest.approx(0.3, abs=2e-4)
    assert fitted.unknowns_[name] == pytest.approx(psi[name], abs=2e-4)
    found = fitted.channel_at_estimate_.matrix @ fitted.proportions_
    assert found[[1, 3]] == pytest.approx([counts["a"] / 1e5, counts["b"] / 1e5], abs=1e-9)
    # The delta method by hand: shares have binomial variances, the estimate is a function of the shares.
    solve = np.linalg.inv(
        np.array([[p1 - p0, 0.3 * d1 + 0.7 * d0] for (p1, p0), (d1, d0) in zip(*_by_psi(law, psi[name]), strict=True)])
    )
    shares = np.array(list(expected.values()))
    covariance = solve @ np.diag(shares * (1 - shares) / 1e5) @ solve.T
    assert fitted.standard_errors_[1] == pytest.approx(math.sqrt(covariance[0, 0]), rel=2e-2)
    assert fitted.summary().to_frame().loc[name, "std_error"] == pytest.approx(math.sqrt(covariance[1, 1]), rel=2e-2)


def _by_psi(law, value, step=1e-5):
    here, up, down = (np.array(list(law(value + shift).values())) for shift in (0, step, -step))
    return here, (up - down) / (2 * step)


# -- borders ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cheaters", "lie detector"])
def test_everybody_complies(name):
    designs, psi, _ = NAMED[name]
    ((unknown, _),) = psi.items()
    obedient = 1.0 if unknown == "truthful" else 0.0
    found = []
    for seed in range(41, 43):
        X, reports, design = survey(designs, {unknown: obedient}, seed)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fitted = ask.IndirectClassifier(designs).fit(X, reports, design=design)
        row = fitted.summary().to_frame().loc[unknown]
        at_border = any("at its border" in str(note.message) for note in said)
        assert at_border == np.isnan(row["std_error"])
        assert (row["upper"] == 1 if obedient else row["lower"] == 0) or not at_border
        assert 0 <= row["lower"] <= row["estimate"] <= row["upper"] <= 1
        slope = fitted.summary().to_frame().loc["x0"]
        assert slope["lower"] < slope["estimate"] < slope["upper"]
        assert slope["upper"] - slope["lower"] < 0.4
        found.append((at_border, row["p_value"]))
    assert any(border for border, _ in found)  # half of all sets are at the border; the seeds are fixed
    assert all(p == 1.0 or p > 0.45 for border, p in found if border)


def test_the_test_of_no_cheaters_is_half_a_chi_square():
    designs, psi, _ = NAMED["extended crosswise"]
    X, reports, design = survey(designs, psi, 47)
    X = (X - [50, 0]) / [10, 1]
    fitted = ask.IndirectClassifier(designs).fit(X, reports, design=design)
    plain = {"a": ask.Crosswise(0.2), "b": ask.Crosswise(0.8)}
    without = ask.IndirectClassifier(plain).fit(X, reports, design=design)
    ratio = 2 * (fitted.log_likelihood_ - without.log_likelihood_)
    table = fitted.summary()
    assert table.to_frame().loc["cheaters", "p_value"] == pytest.approx(stats.chi2.sf(ratio, 1) / 2, rel=1e-6)
    assert dict(table.facts)["test of cheaters = 0"].startswith(f"likelihood ratio {ratio:.2f}")


def test_an_estimate_outside_of_what_was_known_is_said():
    known = ask.Unknown(between=(0.4, 0.6))
    designs = {name: ask.UnrelatedQuestion(p, known) for name, p in {"a": 0.7, "b": 0.3}.items()}
    _, reports, design = survey(*NAMED["unrelated question"][:2], 53)
    with pytest.warns(AskanceWarning, match=r"unrelated_prevalence is 0\.2.*between 0\.4 and 0\.6.*guarantee"):
        ask.Prevalence(designs).fit(reports, design=design)


def test_intervals_cover_and_the_test_keeps_its_size():
    # A sample of benchmarks/unknowns.py without covariates. 20 sets with coverage .95: fewer than 16 have a probability
    # of 0.003, and so has a test of size .05 that rejects more than 4. The seeds are fixed.
    designs, (name, value, none) = NAMED["extended crosswise"][0], ("cheaters", 0.1, 0.0)
    covered = rejected = 0
    for seed in range(20):
        for truth in (value, none):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AskanceWarning)
                _, reports, design = survey(designs, {name: truth}, 500 + seed, n=600)
                row = ask.Prevalence(designs).fit(reports, design=design).summary().to_frame().loc[name]
            covered += truth == value and row["lower"] <= value <= row["upper"]
            rejected += truth == none and row["p_value"] < 0.05
    assert covered >= 16
    assert rejected <= 4


# -- what cannot be known --------------------------------------------------------------------------------


def reports_of(channel, rows=200):
    """Any reports, the same number under every design."""
    names = list(channel.designs)
    return ["yes", "no"] * (rows // 2) * len(names), [name for name in names for _ in range(rows)]


@pytest.mark.parametrize(
    ("designs", "message"),
    [
        (
            {"a": ask.RandomAnswers(ask.Crosswise(0.2)), "b": ask.RandomAnswers(ask.Crosswise(0.8))},
            "random_answers.*shares of 'yes' under 'a' and 'b' add up to 1.*anchor",
        ),
        ({"a": ask.UnrelatedQuestion(0.7, ask.Unknown())}, "one share of reports is observed, and 2 numbers"),
        (dict.fromkeys("ab", ask.Cheaters(ask.Warner(0.8))), "cannot tell cheaters"),
        ({"a": ask.Cheaters(ask.Warner(0.8)), "b": ask.Cheaters(ask.Warner(0.7), ask.Unknown("other"))}, "3 numbers"),
        ({"a": ask.Anchor(ask.RandomAnswers(ask.Warner(0.8))), "b": ask.Anchor(ask.Warner(0.8))}, "cannot tell"),
    ],
)
def test_what_the_designs_do_not_determine_is_refused_by_name(designs, message):
    channel = ask.DesignPerRow(designs)
    reports, design = reports_of(channel)
    X = np.random.default_rng(0).normal(size=(len(reports), 2))  # with covariates it would look as if it were known
    with pytest.raises(Unidentifiable, match=message):
        ask.Prevalence(channel).fit(reports, design=design)
    with pytest.raises(Unidentifiable, match=message):
        ask.IndirectClassifier(channel).fit(X, reports, design=design)


def test_a_group_that_is_missing_is_named():
    designs, _, _ = NAMED["unrelated question"]
    with pytest.raises(Unidentifiable, match="No row was asked under 'b'"):
        ask.Prevalence(designs).fit(["yes", "no"] * 50, design=["a"] * 100)
    with pytest.raises(InvalidInput, match="'c'"):
        ask.Prevalence(designs).fit(["yes", "no"] * 50, design=["a", "c"] * 50)


def test_designs_with_equal_columns_are_fine_when_another_identifies():
    designs = {"question": ask.Crosswise(0.2), "anchor": ask.Anchor(ask.Crosswise(0.2))}
    reports = ["yes"] * 620 + ["no"] * 380 + ["yes"] * 80 + ["no"] * 20
    fitted = ask.Prevalence(designs).fit(reports, design=["question"] * 1000 + ["anchor"] * 100)
    assert fitted.proportions_[1] == pytest.approx(0.3)
    alone = ask.Anchor(ask.Crosswise(0.2))
    for model in (ask.Prevalence(alone).fit, lambda reports: ask.IndirectClassifier(alone).fit([[0.0]] * 4, reports)):
        with pytest.raises(Unidentifiable):
            model(["yes", "no", "no", "no"])


def test_columns_that_say_nothing_are_left_out_by_name():
    designs, psi, _ = NAMED["cheaters"]
    X, reports, design = survey(designs, psi, 52, n=800)
    frame = pd.DataFrame(X, columns=["age", "female"])
    alone = ask.IndirectClassifier(designs, unknowns={"cheaters": ["female"]}).fit(frame, reports, design=design)
    more = frame.assign(year=2026.0, months=12 * frame["age"])
    both = ask.IndirectClassifier(designs, unknowns={"cheaters": ["year", "female"]})
    with pytest.warns(AskanceWarning, match=r"Left out.*: (year, months|cheaters: year)\."):
        both.fit(more, reports, design=design)
    shown, table = (model.summary().to_frame() for model in (alone, both))
    assert table.loc[shown.index].to_numpy() == pytest.approx(shown.to_numpy(), rel=1e-4, abs=1e-6)
    rest = table.drop(shown.index)
    assert rest.index.tolist() == ["year", "months", "cheaters: year"]
    assert np.all(rest["estimate"] == 0)
    assert rest.drop(columns="estimate").isna().to_numpy().all()


def test_a_group_of_one_row_does_no_harm():
    designs, psi, _ = NAMED["anchor"]
    direct = designs | {"direct": ask.Identity(["no", "yes"])}
    X, reports, design = survey(designs, psi, 48)
    more = [np.vstack([X, X[:1]]), np.append(reports, "no"), np.append(design.astype(object), "direct")]
    fitted = ask.IndirectClassifier(direct).fit(more[0], more[1], design=more[2])
    alone = ask.IndirectClassifier(designs).fit(X, reports, design=design)
    assert fitted.parameters_ == pytest.approx(alone.parameters_, abs=0.1)
    with pytest.warns(AskanceWarning, match="at its border"):
        one = ask.Prevalence(designs).fit(["yes"] * 60 + ["no"] * 40 + ["yes"], design=["a"] * 100 + ["b"])
    low, high = one.summary().to_frame().loc["random_answers", ["lower", "upper"]]
    assert high - low > 0.5


# -- the face ----------------------------------------------------------------------------------------------


def test_it_is_saved_shown_and_scored(tmp_path):
    designs, psi, _ = NAMED["anchor"]
    X, reports, design = survey(designs, psi, 49, n=1500)
    for fitted in (
        ask.IndirectClassifier(designs).fit(X, reports, design=design),
        ask.Prevalence(designs).fit(reports, design=design),
    ):
        path = tmp_path / f"{type(fitted).__name__}.json"
        fitted.save(path)
        again = ask.load_model(path)
        assert str(again.summary(0.9)) == str(fitted.summary(0.9))
        assert again.unknowns_ == fitted.unknowns_
        assert "random_answers" in str(fitted.summary())
        assert "random_answers" in fitted.conf_int().index
        assert "whatever value random_answers may have" in fitted.privacy_statement_
        fitted.report(path.with_suffix(".html"))
        page = path.with_suffix(".html").read_text()
        assert "random_answers" in page
        assert "test of random_answers = 0" in page
    model = ask.IndirectClassifier(designs).fit(X, reports, design=design)
    assert 0.4 < model.score(X, reports, design=design) < 1.1


def test_other_ways_to_fit_say_that_they_do_not_know_the_unknown():
    designs, psi, _ = NAMED["cheaters"]
    X, reports, design = survey(designs, psi, 50, n=400)
    with pytest.raises(InvalidInput, match="method='moments' with cheaters unknown"):
        ask.Prevalence(designs, method="moments").fit(reports, design=design)
    with pytest.raises(InvalidInput, match="method='moments' with cheaters unknown"):
        ask.IndirectClassifier(designs, method="moments").fit(X, reports, design=design)
    with pytest.raises(InvalidInput, match="covariates for 'liars'"):
        ask.IndirectClassifier(designs, unknowns={"liars": ["x0"]}).fit(X, reports, design=design)
    with pytest.raises(InvalidInput, match="features among 'x0', 'x1'"):
        ask.IndirectClassifier(designs, unknowns={"cheaters": ["age"]}).fit(X, reports, design=design)
    with pytest.raises(InvalidInput, match="covariates for 'cheaters'; expected none"):
        ask.IndirectClassifier(ask.Warner(0.8), unknowns={"cheaters": ["x0"]}).fit(X, reports)
    few = np.where(np.arange(400) % 5 < 2, "yes", "no")  # 40% in both groups: fewer than people who comply would say
    with pytest.raises(Unidentifiable, match=r"no finite maximum.*ridge"):
        ask.IndirectClassifier(NAMED["extended crosswise"][0], ridge=0.0).fit(X, few, design=design)


def test_penalty_and_intervals_are_those_that_were_asked_for():
    designs, psi, _ = NAMED["cheaters"]
    X, reports, design = survey(designs, psi, 54, n=800)
    tables = {}
    for options in ({"intervals": "wald"}, {"intervals": "profile"}, {"penalty": "log-f"}, {"ridge": 0.0}):
        fitted = ask.IndirectClassifier(designs, **options).fit(X, reports, design=design)
        (said,) = options.values()
        tables[said] = fitted.summary().to_frame()
        assert set(fitted.intervals_) == {"profile" if said in ("profile", "log-f") else "wald"}
        words = "profile likelihood ratio" if "profile" in fitted.intervals_ else None
        assert fitted.summary().fact("intervals") == words
        assert fitted.penalty_ == ("log-f" if said == "log-f" else "none")
    wald, profile, shrunk = (tables[said] for said in ("wald", "profile", "log-f"))
    reach = 1.959964 * wald["std_error"]
    assert wald["upper"][:3].to_numpy() == pytest.approx((wald["estimate"] + reach)[:3].to_numpy(), rel=1e-6)
    assert profile["estimate"].to_numpy() == pytest.approx(tables[0.0]["estimate"].to_numpy(), rel=1e-6)
    assert profile[["lower", "upper"]].to_numpy() == pytest.approx(wald[["lower", "upper"]].to_numpy(), abs=0.5)
    assert shrunk["std_error"].isna().all()
    assert abs(shrunk.loc["x0", "estimate"]) < abs(profile.loc["x0", "estimate"])


def test_a_fit_of_a_plain_channel_forgets_the_unknown_numbers_of_an_earlier_one():
    designs, psi, _ = NAMED["cheaters"]
    X, reports, design = survey(designs, psi, 51, n=600)
    model = ask.IndirectClassifier(designs).fit(X, reports, design=design)
    model.set_params(channel={"a": ask.Warner(0.8), "b": ask.Warner(0.7)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)
        assert "cheaters" not in str(model.fit(X, reports, design=design).summary())
