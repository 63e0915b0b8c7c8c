"""Every quantity that can be planned for: against closed forms, against the estimator, and by simulation."""

import math

import numpy as np
import pytest

import askance as ask
from askance.planning import (
    ClassRatios,
    Coefficients,
    Difference,
    GroupedDesign,
    LabelTotals,
    ListDesign,
    Mean,
    PredictorEffect,
    Proportions,
    RowCoefficients,
    TotalsCoefficients,
)
from askance.planning.quantities.designs import answer_designs, design_from_text

AGE = np.linspace(20, 70, 300)
PILOT = {"age": AGE, "income": 2 + 0.1 * AGE + np.tile([-1.5, 0.5, 1.0], 100)}
ROWS = {"age": (0.0, 100.0), "income": (0.0, 15.0)}

LIES = ask.StochasticLieDetector(0.8)  # truthful = .2 leaves the share without any effect, but for rounding
CHEATERS = {"few": ask.Cheaters(ask.ForcedResponse(0.1, 0.2)), "many": ask.Cheaters(ask.ForcedResponse(0.1, 0.6))}

# Each with a design and a number of respondents at which the normal law holds.
CHECKED = [
    (Proportions(0.3), ask.Warner(0.8), 800),
    (Proportions([0.5, 0.3, 0.2], ("a", "b", "c")), ask.RandomizedResponse(["a", "b", "c"], epsilon=2.0), 800),
    (Proportions(0.2), ListDesign([0.5, 0.4, 0.3]), 600),
    (Proportions(0.3), GroupedDesign(CHEATERS, psi={"cheaters": 0.2}), 4000),
    (Coefficients({"x": 0.8}, 0.3), GroupedDesign(CHEATERS, psi={"cheaters": 0.2}), 6000),
    (Difference(0.2, 0.4, 0.3), ask.ForcedResponse(1 / 6, 1 / 6), 800),
    (Coefficients({"x": 0.7}, 0.3), ask.Warner(0.85), 2000),
    (PredictorEffect(0.8, 0.4), ask.Warner(0.85), 600),
    (PredictorEffect(1.0, 0.4, "logistic"), ask.Warner(0.9), 1500),
    (PredictorEffect(0.6, 0.4, "poisson"), ask.Warner(0.85), 800),
    (Mean(40, 12, 0, 100), ask.PrivateNumber(0, 100, epsilon=1.0), 500),
    (RowCoefficients(PILOT, ROWS, "income"), ask.PrivateRow(ROWS, epsilon=6.0, outcome="income"), 4000),
    (TotalsCoefficients({"x": 0.7}, 0.3), LabelTotals(1.0, "laplace"), 1500),
]


@pytest.mark.parametrize(("quantity", "design", "n"), CHECKED, ids=lambda value: type(value).__name__)
def test_planned_errors_are_those_of_simulated_studies(quantity, design, n):
    """Sixty studies: a deviation is known to 9%, its stated one much better; 36% and 12% are four of those."""
    found = ask.plan({"design": design}, quantity, n=n, check=60, seed=5).recommended
    np.testing.assert_allclose(found.simulated.std_errors, found.std_errors, rtol=0.36)
    np.testing.assert_allclose(found.simulated.stated, found.std_errors, rtol=0.12)
    assert min(found.simulated.coverage) >= 0.83  # of .95 in 60: once in 10,000
    bias = np.abs(found.simulated.bias) / np.array(found.std_errors)
    assert bias.max() < 0.75  # a median of 60 has an error of .16


class TestClosedForms:
    def test_difference_is_two_proportions(self):
        warner, share = ask.Warner(0.8), 0.3
        variances = [ask.plan(warner, p, n=1).recommended.std_errors[1] ** 2 for p in (0.1, 0.25)]
        planned = ask.plan(warner, Difference(0.1, 0.25, share), n=1000).recommended
        assert planned.std_errors[0] == pytest.approx(math.sqrt((variances[0] / 0.3 + variances[1] / 0.7) / 1000))

    def test_coefficient_of_a_binary_covariate_is_a_log_odds_ratio(self):
        """Asked directly, its variance is the sum of one over each expected cell."""
        quantity = Coefficients({"treated": 0.8}, 0.3, {"treated": "binary(0.5)"})
        intercept = quantity._theta[0]
        shares = [1 / (1 + math.exp(-intercept)), 1 / (1 + math.exp(-intercept - 0.8))]
        cells = [0.5 * share for p in shares for share in (p, 1 - p)]
        assert np.mean(shares) == pytest.approx(0.3, abs=1e-9)
        expected = math.sqrt(sum(1 / cell for cell in cells) / 400)
        assert quantity.standard_errors(None)(400)[0] == pytest.approx(expected, rel=1e-9)

    def test_coefficients_of_a_large_fit(self):
        quantity = Coefficients({"a": 0.8, "b": -0.5}, 0.25)
        rng = np.random.default_rng(2)
        estimate = quantity.simulate(ask.Warner(0.8), 200_000, rng)
        np.testing.assert_allclose(
            quantity.standard_errors(ask.Warner(0.8))(200_000), estimate.standard_errors, rtol=0.03
        )

    def test_effect_of_an_open_predictor(self):
        """Asked directly, a linear effect is a difference of two means."""
        planned = PredictorEffect(0.5, 0.2).standard_errors(None)(1000)
        assert planned[0] == pytest.approx(math.sqrt((1 / 0.2 + 1 / 0.8) / 1000), rel=1e-6)
        logistic = PredictorEffect(0.7, 0.3, "logistic", base=0.2).standard_errors(None)(1000)
        higher = 1 / (1 + math.exp(-math.log(0.25) - 0.7))
        variance = 1 / (0.7 * 0.2 * 0.8) + 1 / (0.3 * higher * (1 - higher))
        assert logistic[0] == pytest.approx(math.sqrt(variance / 1000), rel=1e-6)
        rate = PredictorEffect(0.4, 0.3, "poisson", base=2.0).standard_errors(None)(1000)
        assert rate[0] == pytest.approx(math.sqrt((1 / (0.7 * 2) + 1 / (0.3 * 2 * math.exp(0.4))) / 1000), rel=1e-6)

    def test_mean_by_duchis_coin(self):
        """A coin of two values has second moment c^2, whatever the truth."""
        channel = ask.PrivateNumber(0, 100, epsilon=1.0, mechanism="duchi")
        coin = 50 * (math.e + 1) / (math.e - 1)
        planned = Mean(40, 12, 0, 100).standard_errors(channel)(100)
        assert planned[0] == pytest.approx(math.sqrt((coin**2 - 10**2) / 100), rel=1e-4)

    def test_rows_that_are_seen(self):
        """With the rows themselves it is least squares, whose residuals here have variance 7/6, whatever the age."""
        planned = RowCoefficients(PILOT, ROWS, "income").standard_errors(None)(1000)
        assert planned[0] == pytest.approx(math.sqrt(7 / 6 / AGE.var() / 1000), rel=0.03)

    def test_totals_are_clean_where_epsilon_is_large(self):
        quantity = TotalsCoefficients({"x": 0.7}, 0.3)
        np.testing.assert_allclose(
            quantity.standard_errors(LabelTotals(1e4, "laplace"))(1000), quantity.standard_errors(None)(1000), rtol=1e-3
        )

    def test_the_noise_of_totals_is_that_of_the_largest_norm_of_so_many_people(self):
        """A binary covariate that one in a hundred has: 10 people have it once in ten times, 10,000 surely."""
        quantity = TotalsCoefficients({"x": 0.7}, 0.3, {"x": np.repeat([0.0, 3.0], [99, 1])})
        noisy, clean = (quantity.standard_errors(design) for design in (LabelTotals(0.5, "gaussian"), None))
        few, many = ((noisy(n)[0] ** 2 - clean(n)[0] ** 2) * n**2 for n in (10, 10_000))
        largest = 1 + 9 * (1 - 0.99**10)  # the mean of the largest squared norm, 1 + 9 where somebody has it
        assert few / many == pytest.approx(largest / 10, rel=1e-3)

    def test_rows_of_many_people_have_the_error_of_the_formula_and_of_few_a_larger_one(self):
        """400 drawn studies of 60, 150 and 400 people had 1.13, 1.04 and 1.02 times the formula's, known to 4%."""
        quantity, design = RowCoefficients(PILOT, ROWS, "income"), ask.PrivateRow(ROWS, epsilon=6.0, outcome="income")
        formula = quantity.values / quantity.shifts(design)(1)
        errors = quantity.standard_errors(design)
        assert errors(1e8)[0] * 1e4 == pytest.approx(formula[0], rel=1e-3)
        wider = [errors(n)[0] * math.sqrt(n) / formula[0] for n in (60, 150, 400)]
        np.testing.assert_allclose(wider, [1.13, 1.04, 1.02], atol=0.1)
        assert wider == sorted(wider, reverse=True)

    def test_list_by_hand(self):
        variance = 2 * (0.25 + 0.25 + 0.1 * 0.9) + 2 * (0.25 + 0.25)
        assert ask.plan([ListDesign([0.5, 0.5])], 0.1, n=1000).recommended.std_errors[1] == pytest.approx(
            math.sqrt(variance / 1000)
        )


class TestDesignsAtALevel:
    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
    def test_levels_are_exact(self, epsilon):
        levels = [design.guarantee.epsilon for design in answer_designs(epsilon, ("no", "yes")).values()]
        np.testing.assert_allclose(levels, epsilon, rtol=1e-9)

    @pytest.mark.parametrize("prevalence", [0.02, 0.3, 0.9])
    def test_none_beats_warner(self, prevalence):
        """Every binary design of a level is a coarsening of Warner's."""
        plan = ask.plan(None, prevalence, epsilon=1.0, n=1000)
        assert max(design.worth for design in plan.designs) == pytest.approx(plan["Warner"].worth)
        assert plan["unrelated question, one in four"].beaten_by == "randomised response"
        assert "crosswise" in plan.equals

    @pytest.mark.parametrize(
        ("quantity", "wish"),
        [
            (Proportions(0.2), {"margin": 0.05}),
            (Difference(0.1, 0.3), {"power": 0.8}),
            (Coefficients({"x": 1.0}, 0.3), {"power": 0.9}),
            (Mean(40, 12, 0, 100), {"margin": 2.0}),
            (TotalsCoefficients({"x": 1.0}, 0.3), {"margin": 0.3}),
            (ClassRatios([[0.8, 0.2], [0.4, 0.6]]), {"margin": 0.1}),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_smallest_epsilon_just_works(self, quantity, wish):
        plan = ask.plan(None, quantity, n=3000, **wish)
        best = plan.recommended
        below = dict(quantity.designs_at(0.97 * best.epsilon))[best.name]
        short = ask.plan({"less": below}, quantity, n=3000).recommended
        assert best.margin <= wish.get("margin", math.inf) < short.margin or "power" in wish
        assert best.power >= wish.get("power", 0) > short.power or "margin" in wish
        assert "smallest epsilon" in str(plan) or len(plan.designs) == 1

    def test_out_of_reach(self):
        with pytest.raises(ask.InvalidInput, match="no design reaches this"):
            ask.plan(None, 0.2, n=10, margin=0.001)
        with pytest.raises(ask.InvalidInput, match="respondents would be needed"):
            ask.plan(ask.Warner(0.8), Difference(0.2, 0.2), power=0.8)


class TestWords:
    def test_text_to_quote(self):
        text = ask.plan({"cards": ask.Warner(0.8)}, Difference(0.1, 0.2), n=2000, check=20).text()
        assert "will ask 2,000 people by the design cards" in text
        assert "epsilon 1.386" in text
        assert "20 simulated studies" in text
        assert "tell it from 0 with probability" in text

    def test_labels_that_are_added_up_have_no_respondent_with_a_coin(self):
        for quantity in (ClassRatios([[0.8, 0.2], [0.4, 0.6]]), TotalsCoefficients({"x": 0.7}, 0.3)):
            text = ask.plan({"sums": LabelTotals(1.0, "gaussian")}, quantity, n=2000).text()
            assert "the coin" not in text
            assert "at most 2.72, but for a chance of 1e-06" in text

    def test_no_privacy_is_said(self):
        assert "no formal guarantee" in ask.plan([ListDesign([0.5])], 0.1, n=500).text()

    def test_a_share_near_zero_is_cautioned(self):
        assert "Caution: yes" in str(ask.plan(ask.Warner(0.6), 0.02, n=500))
        assert "Caution" not in str(ask.plan(ask.Warner(0.8), 0.5, n=5000))
        assert "Caution" not in str(ask.plan(ask.Warner(0.8), Difference(0.3, 0.31), n=500))

    def test_an_expected_error_has_neither_interval_nor_test(self):
        """30 studies of error .041: their mean has a standard error of .006, four of which are .024."""
        plan = ask.plan(None, ClassRatios([[0.8, 0.2], [0.4, 0.6]]), epsilon=1.0, n=2000, check=30)
        assert plan.recommended.simulated.std_errors[0] == pytest.approx(plan.recommended.margin, abs=0.024)
        assert "interval" not in str(plan) + plan.text()
        assert "power" not in str(plan) + plan.text()
        assert "30 simulated studies were off by" in plan.text()
        assert plan.plot().get_ylabel().startswith("expected error")
        assert plan.to_dict()["designs"][0]["simulated"]["coverage"] == [None]

    def test_who_counts_cheaters_is_not_beaten_by_who_takes_them_for_none(self):
        plan = ask.plan({"both": GroupedDesign(CHEATERS, {"cheaters": 0.1}), "one": ask.Warner(0.85)}, 0.2, n=2000)
        assert plan["both"].beaten_by is None

    def test_what_is_assumed_of_unknown_numbers_is_said(self):
        plan = ask.plan(GroupedDesign(CHEATERS, {"cheaters": 0.1}), 0.2, n=2000)
        assert "20% yes, and cheaters = 0.1, the estimate" in plan.text()
        assert "Assumed under GroupedDesign(few, many): cheaters = 0.1." in str(plan)

    def test_plot_has_a_curve_for_each_precision(self):
        axes = ask.plan(None, 0.2, epsilon=1.0, n=1000).plot()
        assert len(axes.lines) == 3  # six equal designs, one other, and the plan
        assert axes.get_xscale() == "log"

    def test_json(self):
        import json

        fields = ask.plan(ask.Warner(0.8), Coefficients({"age": 0.5}, 0.2), power=0.8, check=3).to_dict()
        again = json.loads(json.dumps(fields, allow_nan=False))
        assert again["designs"][0]["powers"]["age"] >= 0.8
        assert again["designs"][0]["simulated"]["studies"] == 3


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Proportions(7), "7 per cent are 0.07"),
        (lambda: Difference(10, 0.2), "For 10 per cent write 0.1"),
        (lambda: Difference(0.1, 0.2, 1.0), "share"),
        (lambda: Difference(0.1, 0.2, classes=("a", "b", "c")), "two"),
        (lambda: Coefficients({}, 0.2), "a mapping"),
        (lambda: Coefficients({"x": "big"}, 0.2), "a number for each"),
        (lambda: Coefficients({"x": 1.0}, 0.0), "above 0"),
        (lambda: Coefficients({"x": 1.0}, 0.2, of="y"), "one of x"),
        (lambda: Coefficients({"x": 1.0}, 0.2, {"x": "cauchy(1)"}), "normal"),
        (lambda: Coefficients({"x": 1.0}, 0.2, {"y": "normal"}), "no effect"),
        (lambda: Coefficients({"x": 1.0}, 0.2, {"x": ["a", "b"]}), "not made of numbers"),
        (lambda: Coefficients({"x": 1.0}, 0.2, np.ones((5, 1))).standard_errors(ask.Warner(0.8)), "vary"),
        (lambda: PredictorEffect(0.5, 0.2, "gamma"), "linear"),
        (lambda: PredictorEffect(0.5, 0.2, "logistic", base=2), "a share"),
        (lambda: Mean(140, 12, 0, 100), "within the bounds"),
        (lambda: Mean(40, 90, 0, 100), "the most that bounds and mean allow"),
        (lambda: RowCoefficients(PILOT, ROWS, "wealth"), "one of at least two columns"),
        (lambda: RowCoefficients({"age": AGE}, ROWS, "income"), "without some column"),
        (lambda: ClassRatios([[0.5, 0.6]]), "summing to 1"),
        (lambda: ask.plan(None, ClassRatios([[0.5, 0.5], [0.5, 0.5]]), epsilon=1, n=100), "cannot be planned"),
        (lambda: ask.plan(None, Proportions(0.2), n=100), "no designs and no epsilon"),
        (lambda: ask.plan(None, Proportions(0.2), epsilon=math.inf, n=100), "positive privacy level"),
        (lambda: ask.plan(ask.Warner(0.8), Mean(40, 12, 0, 100), n=100), "PrivateNumber"),
        (lambda: ask.plan(ask.PrivateNumber(0, 50, epsilon=1.0), Mean(40, 5, 0, 100), n=100), "PrivateNumber"),
        (lambda: ask.plan(ask.Warner(0.8), 0.2, power=80), "a probability"),
        (lambda: ask.plan(ask.Warner(0.8), 0.2, power=0.04), "by chance"),
        (lambda: ask.plan(ask.Warner(0.8), 0.2, n=100, check=1), "at least 2 studies"),
        (lambda: ask.plan(None, ClassRatios([[0.8, 0.2], [0.4, 0.6]]), epsilon=1, power=0.8), "has no test"),
        (lambda: ListDesign([1.5]), "harmless item"),
        (lambda: GroupedDesign(CHEATERS), "cheaters"),
        (lambda: GroupedDesign(CHEATERS, {"cheaters": 0.1}, {"few": 1.0}), "one for each of few, many"),
        (lambda: ask.plan(CHEATERS["few"], 0.2, n=100), "something unknown"),
        (lambda: ask.plan(GroupedDesign({"few": CHEATERS["few"]}, {"cheaters": 0.1}), 0.2, n=9), "do not determine"),
        (lambda: ask.plan(GroupedDesign({"a": LIES}, {"truthful": 0.2}), 0.3, n=9), "do not determine"),
        (lambda: design_from_text("wraner p=0.2"), "one of list"),
        (lambda: design_from_text("warner p"), "each parameter once"),
        (lambda: design_from_text("warner p=x"), "a number"),
        (lambda: design_from_text("list share=.5"), "a list"),
        (lambda: design_from_text(""), "one of list"),
    ],
)
def test_bad_wishes_say_what_is_meant(made, message):
    with pytest.raises(ask.AskanceError, match=message):
        made()


def test_the_power_of_a_coefficient_is_that_of_its_test():
    """Against an enumeration: 2000 likelihood fits of a table with a binary covariate, of which counts are enough."""
    from scipy.optimize import brentq
    from scipy.special import expit

    design, rng, n = ask.Warner(0.75), np.random.default_rng(4), 600
    effects = Coefficients({"x": 0.9}, 0.3, {"x": "binary(0.5)"})
    (planned,) = ask.plan(design, effects, n=n).recommended.powers
    low = float(brentq(lambda a: (expit(a) + expit(a + 0.9)) / 2 - 0.3, -5, 5))
    chances = 0.25 + 0.5 * expit(np.array([low, low + 0.9]))
    found = []
    for _ in range(2000):
        people = rng.binomial(n, 0.5)
        said = rng.binomial([n - people, people], chances) / np.array([n - people, people])
        share = (said - 0.25) / 0.5  # two shares and two parameters: the fit is exact inside
        if not ((share > 0.005) & (share < 0.995)).all():
            continue  # where a fit is penalised: less than one in a hundred here
        logits = np.log(share / (1 - share))
        errors = said * (1 - said) / np.array([n - people, people]) / (0.5 * share * (1 - share)) ** 2
        found.append(abs(logits[1] - logits[0]) > 1.96 * np.sqrt(errors.sum()))
    assert len(found) > 1960
    assert np.mean(found) == pytest.approx(planned, abs=0.03)  # .01 by chance, and half of what Wald's shift misses


def test_a_coefficient_that_is_not_there_is_found_as_often_as_a_test_errs():
    assert ask.plan(ask.Warner(0.8), Coefficients({"x": 0.0}, 0.2), n=500).recommended.power == pytest.approx(0.05)
