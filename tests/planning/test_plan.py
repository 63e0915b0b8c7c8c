"""Planning must agree with estimation: the same formulas, checked by simulation and by hand."""

import json
import math

import numpy as np
import pytest

import askance as ask
from askance.planning.quantities.proportions import covariance_per_respondent

DESIGNS = [
    (ask.Warner(0.8), [0.7, 0.3]),
    (ask.ForcedResponse(1 / 6, 1 / 6), [0.9, 0.1]),
    (ask.Triangular(0.25), [0.8, 0.2]),
    (ask.RandomizedResponse(["a", "b", "c"], epsilon=1.5), [0.5, 0.3, 0.2]),
    # More reports than classes: here the least-variance unbiasing differs from the plain pseudo-inverse.
    (
        ask.FiniteChannel([[0.6, 0.1], [0.3, 0.2], [0.1, 0.7]], ["no", "yes"], ["low", "middle", "high"]),
        [0.65, 0.35],
    ),
]


@pytest.mark.parametrize(("channel", "truth"), DESIGNS, ids=lambda value: type(value).__name__)
def test_planned_errors_are_those_of_the_estimator(channel, truth):
    """800 studies of 2000: the spread of the estimates has a relative error of 2.5%; 15% is six of those."""
    rng = np.random.default_rng(11)
    n, studies = 2000, 800
    planned = ask.plan(channel, truth, n=n).recommended
    law = channel.matrix @ np.array(truth)
    found, stated = [], []
    for counts in rng.multinomial(n, law, size=studies):
        reports = np.repeat(np.array(channel.report_labels), counts)
        fitted = ask.Prevalence(channel, method="moments").fit(reports)
        found.append(fitted.unbiased_)
        stated.append(np.sqrt(np.diag(fitted.covariance_)))
    np.testing.assert_allclose(np.std(found, axis=0), planned.std_errors, rtol=0.15)
    np.testing.assert_allclose(np.mean(stated, axis=0), planned.std_errors, rtol=0.02)
    np.testing.assert_allclose(np.mean(found, axis=0), truth, atol=6 * max(planned.std_errors) / math.sqrt(studies))


def test_warner_by_hand():
    """Warner's own formula: Var = p(1-p)/n + P(1-P)/(n (2P-1)^2)."""
    planned = ask.plan(ask.Warner(0.7), 0.2, n=1000).recommended
    by_hand = math.sqrt((0.2 * 0.8 + 0.7 * 0.3 / 0.4**2) / 1000)
    assert planned.std_errors == pytest.approx((by_hand, by_hand), rel=1e-12)
    assert planned.margin == pytest.approx(1.959963984540054 * by_hand, rel=1e-12)
    assert planned.worth == pytest.approx(0.2 * 0.8 / (1000 * by_hand**2), rel=1e-12)


def test_direct_question_is_binomial():
    planned = ask.plan(ask.Identity(("no", "yes")), 0.5, margin=0.03).recommended
    assert planned.n == math.ceil(1.959963984540054**2 * 0.25 / 0.03**2) == 1068
    assert planned.worth == 1.0


@pytest.mark.parametrize(("channel", "truth"), DESIGNS, ids=lambda value: type(value).__name__)
def test_n_for_a_margin_is_the_smallest(channel, truth):
    n = ask.plan(channel, truth, margin=0.02).recommended.n
    assert ask.plan(channel, truth, n=n).recommended.margin <= 0.02
    assert ask.plan(channel, truth, n=n - 1).recommended.margin > 0.02


def test_variance_of_a_certain_outcome_is_zero():
    """Nobody carries, and a direct answer cannot say otherwise: no error, one respondent."""
    planned = ask.plan(ask.Identity(("no", "yes")), 0.0, margin=0.1).recommended
    assert planned.n == 1
    assert planned.margin == 0.0


def test_covariance_rows_sum_to_zero():
    """Proportions sum to one, so their errors cancel."""
    channel = ask.RandomizedResponse(["a", "b", "c"], epsilon=1.0, base=[0.5, 0.3, 0.2])
    covariance = covariance_per_respondent(channel, np.array([0.2, 0.3, 0.5]))
    np.testing.assert_allclose(covariance.sum(axis=0), 0, atol=1e-12)
    assert np.linalg.eigvalsh(covariance)[0] > -1e-12


class TestComparing:
    designs = {
        "cards": ask.Warner(0.8),
        "coarse": ask.Kuk(0.8, 0.4),  # P(no) is 0.2 or 0.6: epsilon log 3
        "direct": ask.Identity(("no", "yes")),
        "triangle": ask.Triangular(0.25),
    }

    def test_recommends_the_most_precise_that_is_private(self):
        plan = ask.plan(self.designs, 0.3, n=1000)
        assert plan.recommended.name == "cards"
        assert plan.epsilon == pytest.approx(math.log(4))
        assert plan["triangle"].beaten_by == "direct"
        assert plan["cards"].beaten_by is None

    def test_budget(self):
        plan = ask.plan(self.designs, 0.3, n=1000, epsilon=1.2)
        assert plan.recommended.name == "coarse"
        with pytest.raises(ask.InvalidInput, match="no design has an epsilon"):
            ask.plan(self.designs, 0.3, n=1000, epsilon=0.5)

    def test_a_beaten_design_is_named(self):
        """Kuk(.8, .4) has P(no) ratio 3; a randomised response of epsilon 1.0986 is more precise."""
        plan = ask.plan({"kuk": ask.Kuk(0.8, 0.4), "rr": ask.Warner(0.75)}, 0.3, n=1000)
        assert plan["kuk"].beaten_by == "rr"
        assert "kuk is beaten by rr" in str(plan)

    def test_without_privacy_it_says_so(self):
        plan = ask.plan([ask.Triangular(0.25), ask.Mangat(0.7)], 0.3, n=1000)
        assert "none of these designs gives privacy" in str(plan)

    def test_printing_and_json(self):
        plan = ask.plan(self.designs, {"no": 0.7, "yes": 0.3}, margin=0.05, level=0.9)
        text = str(plan)
        assert "90% intervals" in text
        assert "70% no, 30% yes" in text
        assert all(name in text for name in self.designs)
        fields = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
        assert fields["recommended"] == "cards"
        assert fields["designs"][2]["guarantee"]["epsilon"] == "infinite"
        assert fields["designs"][0]["n"] == plan["cards"].n

    def test_equal_designs_keep_apart(self):
        plan = ask.plan([ask.Warner(0.8), ask.Warner(0.8)], 0.3, n=100)
        assert [design.name for design in plan.designs] == ["1. Warner(p=0.8)", "2. Warner(p=0.8)"]

    def test_unknown_name(self):
        with pytest.raises(KeyError):
            ask.plan(self.designs, 0.3, n=1000)["dice"]


@pytest.mark.parametrize(
    ("channels", "options", "message"),
    [
        (ask.Warner(0.8), {}, "neither n, margin nor power"),
        (ask.Warner(0.8), {"n": 100, "margin": 0.1}, "smallest epsilon"),
        (ask.Warner(0.8), {"n": 0}, "1 or more"),
        (ask.Warner(0.8), {"n": 12.5}, "1 or more"),
        (ask.Warner(0.8), {"margin": 3}, "half-width"),
        (ask.Warner(0.8), {"margin": math.nan}, "half-width"),
        (ask.Warner(0.8), {"n": 10, "level": 95}, "confidence level"),
        (ask.Warner(0.8), {"n": 10, "epsilon": 0}, "privacy budget"),
        (ask.Warner(0.8), {"n": 10, "prevalence": 1.2}, "proportion of 'yes' alone"),
        (ask.Warner(0.8), {"n": 10, "prevalence": [0.2, 0.2]}, "sum to 1"),
        (ask.Warner(0.8), {"n": 10, "prevalence": {"maybe": 1.0}}, "sum to 1"),
        (ask.Warner(0.8), {"n": 10, "prevalence": "many"}, "sum to 1"),
        ([], {"n": 10}, "no designs"),
        ("warner", {"n": 10}, "a finite channel"),
        ([ask.Warner(0.8), ask.Warner(0.8, ("a", "b"))], {"n": 10}, "the answers 'no', 'yes'"),
        (ask.DesignPerRow({"a": ask.Warner(0.8)}), {"n": 10}, "as a GroupedDesign"),
    ],
)
def test_absurd_wishes_are_refused(channels, options, message):
    with pytest.raises(ask.InvalidInput, match=message):
        ask.plan(channels, **options)


def test_a_design_that_reports_do_not_determine():
    """Three truths, two reports: no unbiased proportions."""
    channel = ask.FiniteChannel([[0.2, 0.5, 0.8], [0.8, 0.5, 0.2]], ["a", "b", "c"], ["x", "y"])
    with pytest.raises(ask.Unidentifiable, match="cannot be planned with"):
        ask.plan(channel, n=10)
