"""Laws that every finite channel keeps: what is declared is what is drawn, promised and undone."""

import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import (
    Crosswise,
    FiniteChannel,
    ForcedResponse,
    Guarantee,
    Identity,
    InvalidInput,
    Kuk,
    Mangat,
    RandomizedResponse,
    Triangular,
    Unidentifiable,
    UnrelatedQuestion,
    Warner,
    channel_from_spec,
)
from askance.channels import OTHER_LABEL
from channel_examples import EXAMPLES

GOLDEN = Path(__file__).parents[1] / "golden" / "channel-specs-v1.json"
EVERY = pytest.mark.parametrize("channel", EXAMPLES.values(), ids=EXAMPLES.keys())


def full_rank(channel):
    return np.linalg.matrix_rank(channel.matrix) == len(channel.classes)


IDENTIFIED = {name: channel for name, channel in EXAMPLES.items() if full_rank(channel)}
EVERY_IDENTIFIED = pytest.mark.parametrize("channel", IDENTIFIED.values(), ids=IDENTIFIED.keys())


# -- what is declared is what is drawn ---------------------------------------------------------------


def improbable_cells(reports_of, channel, draws, alarm, matrix=None):
    """Cells whose frequency is too far from the matrix; all together wrongly named with probability alarm."""
    matrix = channel.matrix if matrix is None else matrix
    bad = []
    for truth, label in enumerate(channel.classes):
        answers = np.array([label], dtype=object if len({*map(type, channel.classes)}) > 1 else None).repeat(draws)
        counts = np.bincount(channel.encode_reports(reports_of(answers)), minlength=matrix.shape[0])
        low = scipy.stats.binom.cdf(counts, draws, matrix[:, truth])
        high = scipy.stats.binom.sf(counts - 1, draws, matrix[:, truth])
        bad += [(o, truth) for o in np.flatnonzero(2 * np.minimum(low, high) < alarm / matrix.size)]
    return bad


@EVERY
def test_every_cell_of_simulated_reports(channel):
    # The generator is fixed; a correct channel fails for one generator in a million.
    rng = np.random.default_rng(11)
    draws = 200_000 if len(channel.classes) < 50 else 20_000
    assert improbable_cells(lambda truth: channel.simulate(truth, rng), channel, draws, 1e-6) == []


@EVERY
def test_every_cell_of_private_reports(channel):
    # Real entropy: over all examples a false alarm about once in 10^9 runs.
    draws = 60_000 if len(channel.classes) < 50 else 10_000
    assert improbable_cells(channel.privatize, channel, draws, 1e-9 / len(EXAMPLES)) == []


def test_the_check_of_cells_notices_one_per_cent():
    channel = EXAMPLES["finite-5x7"]
    wrong = channel.matrix.copy()
    wrong[2, 3] += 0.01
    wrong[4, 3] -= 0.01
    rng = np.random.default_rng(12)
    found = improbable_cells(lambda truth: channel.simulate(truth, rng), channel, 200_000, 1e-6, wrong)
    assert sorted(found) == [(2, 3), (4, 3)]


@EVERY
def test_every_row_is_drawn_by_itself(channel):
    """Reports of neighbouring rows are independent."""
    rng = np.random.default_rng(13)
    draws, width = 25_000, 3  # more than one block of random bits, so its borders are among the rows
    answers = np.array(channel.classes, dtype=object)[np.tile([0, -1, 0], draws)]
    reports = channel.encode_reports(channel.simulate(answers, rng)).reshape(draws, width)
    law = channel.matrix[:, [0, -1, 0]]
    for row in range(width):
        counts = np.bincount(reports[:, row], minlength=len(law))
        assert scipy.stats.binom.cdf(counts, draws, law[:, row]).min() > 1e-9
        assert scipy.stats.binom.sf(counts - 1, draws, law[:, row]).min() > 1e-9
    for a, b in ((0, 1), (1, 2), (0, 2)):
        same = np.mean(reports[:, a] == reports[:, b])
        expected = law[:, a] @ law[:, b]
        # A normal deviate beyond 6: two in a thousand million.
        assert abs(same - expected) <= 6 * np.sqrt(expected * (1 - expected) / draws) + 1e-12


@EVERY
def test_columns_of_counts_sum_to_the_resolution(channel):
    assert channel.counts.shape == (len(channel.report_labels), len(channel.classes))
    assert {sum(column) for column in channel.counts.T.tolist()} == {2**62}
    assert channel.counts.min() >= 0
    assert np.array_equal(channel.matrix, channel.counts / 2**62)
    for table in (channel.counts, channel.matrix):
        with pytest.raises(ValueError, match="read-only"):
            table[0, 0] = 0


@EVERY
def test_reports_are_labels_and_every_form_of_truth_gives_the_same(channel):
    truth = [channel.classes[i % len(channel.classes)] for i in range(1000)]
    reports = channel.simulate(truth, np.random.default_rng(14))
    assert set(reports.tolist()) <= set(channel.report_labels)
    assert len(reports) == 1000
    again = channel.simulate(np.array(truth, dtype=object), np.random.default_rng(14))
    assert np.array_equal(reports, again)
    assert not np.shares_memory(reports, channel.simulate(truth, np.random.default_rng(14)))


def test_nothing_is_drawn_before_everything_is_checked():
    rng = np.random.default_rng(15)
    with pytest.raises(InvalidInput, match="first in row 99999"):
        Warner(0.8).simulate(["no"] * 99_999 + ["never"], rng)
    assert rng.bit_generator.state == np.random.default_rng(15).bit_generator.state


# -- privacy -----------------------------------------------------------------------------------------


def brute_force_epsilon(channel):
    rows = [row for row in channel.counts.tolist() if any(row)]
    if any(0 in row for row in rows):
        return math.inf
    worst = max(max(Fraction(a, b) for a, b in product(set(row), repeat=2)) for row in rows)
    with localcontext() as context:
        context.prec = 50
        return float((Decimal(worst.numerator) / Decimal(worst.denominator)).ln())


@EVERY
def test_epsilon_is_the_worst_ratio_of_counts(channel):
    exact = brute_force_epsilon(channel)
    if channel.kind in ("cheaters", "random-answers"):  # what others do does not protect somebody who complies
        assert exact <= channel.guarantee.epsilon == channel.device.guarantee.epsilon
    else:
        assert channel.guarantee.epsilon == pytest.approx(exact, rel=1e-15, abs=1e-16)
    assert channel.guarantee.delta == 0


@pytest.mark.parametrize("k", [2, 3, 10, 1000])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.5, 1.0, math.log(3), 2.0, 5.0, 10.0])
def test_an_asked_epsilon_is_kept_and_used_up(k, epsilon):
    channel = RandomizedResponse(range(k), epsilon=epsilon)
    given = channel.guarantee.epsilon
    assert given <= epsilon
    assert given == pytest.approx(epsilon, abs=1e-12)
    truth = (math.exp(epsilon) - 1) / (math.exp(epsilon) - 1 + k)
    assert channel.matrix[0, 0] == pytest.approx(truth + (1 - truth) / k, rel=1e-12)
    assert len(set(channel.counts[np.eye(k, dtype=bool)].tolist())) == 1  # no class is treated differently


@given(
    st.integers(2, 12),
    st.floats(0.01, 0.99),
    st.integers(0, 2**32 - 1),
)
def test_classic_response_has_its_closed_form_level(k, truth, seed):
    base = np.random.default_rng(seed).dirichlet(np.full(k, 2.0))
    channel = RandomizedResponse(range(k), truth_probability=truth, base=base)
    expected = np.log1p(truth / ((1 - truth) * base.min()))
    assert channel.guarantee.epsilon == pytest.approx(expected, rel=1e-9)
    assert channel.matrix == pytest.approx(truth * np.eye(k) + (1 - truth) * np.outer(base, np.ones(k)))


@given(st.integers(2, 12), st.floats(0.001, 12), st.integers(0, 2**32 - 1))
def test_an_asked_epsilon_is_kept_for_any_base_law(k, epsilon, seed):
    base = np.random.default_rng(seed).dirichlet(np.full(k, 3.0))
    channel = RandomizedResponse(range(k), epsilon=epsilon, base=base)
    assert channel.guarantee.epsilon <= epsilon
    assert brute_force_epsilon(channel) <= epsilon * (1 + 1e-15)
    assert channel.guarantee.epsilon == pytest.approx(epsilon, abs=1e-9)
    off_diagonal = channel.matrix[:, 0][1:] / channel.matrix[:, 0][1:].sum()
    assert off_diagonal == pytest.approx(base[1:] / base[1:].sum(), rel=1e-9)


P, R = 0.3, 0.6
CLOSED_FORMS = [
    (Warner(P), P, 1 - P),
    (Crosswise(P), P, 1 - P),
    (ForcedResponse(0.2, 0.1), 0.8, 0.1),
    (UnrelatedQuestion(P, R), P + (1 - P) * R, (1 - P) * R),
    (Mangat(P), 1.0, 1 - P),
    (Triangular(P), 1.0, P),
    (Kuk(0.9, 0.4), 0.9, 0.4),
]


@pytest.mark.parametrize(("design", "carrier", "other"), CLOSED_FORMS, ids=lambda d: getattr(d, "kind", ""))
def test_survey_designs_are_the_published_ones(design, carrier, other):
    assert design.matrix == pytest.approx(np.array([[1 - other, 1 - carrier], [other, carrier]]), abs=1e-15)
    level = math.inf
    if carrier < 1:
        level = max(abs(math.log(carrier / other)), abs(math.log((1 - carrier) / (1 - other))))
    assert design.guarantee.epsilon == pytest.approx(level)
    # Two candidates: f = (f~ - P10) / (1 - P10 - P01).
    reported_yes = 0.37 * carrier + 0.63 * other
    unbiased = design.unbiasing_matrix() @ [1 - reported_yes, reported_yes]
    assert unbiased == pytest.approx([0.63, 0.37])


def test_equal_designs_by_another_name():
    assert np.array_equal(Warner(0.8).counts, Crosswise(0.8).counts)
    same = RandomizedResponse(("no", "yes"), truth_probability=0.5)
    assert Warner(0.75).matrix == pytest.approx(same.matrix)
    assert UnrelatedQuestion(0.5, 0.5).matrix == pytest.approx(same.matrix)
    assert ForcedResponse(0.25, 0.25).matrix == pytest.approx(same.matrix)


# -- unbiasing ---------------------------------------------------------------------------------------


@EVERY_IDENTIFIED
def test_unbiasing_undoes_the_matrix(channel):
    k = len(channel.classes)
    law = channel.matrix @ np.full(k, 1 / k)
    for report_law in (None, law) if law.min() > 0 else (None,):
        undo = channel.unbiasing_matrix(report_law)
        assert undo.shape == (k, len(channel.report_labels))
        assert undo @ channel.matrix == pytest.approx(np.eye(k), abs=1e-9)
    assert channel.unbias(channel.report_labels) == pytest.approx(channel.unbiasing_matrix().T)


@EVERY_IDENTIFIED
def test_unbiased_reports_have_the_truth_as_their_mean(channel):
    # A normal deviate beyond 6 in each of k columns: below one in a million generators.
    rng = np.random.default_rng(16)
    for truth in (0, len(channel.classes) - 1):
        answers = np.array([channel.classes[truth]] * 20_000, dtype=object)
        unbiased = channel.unbias(channel.simulate(answers, rng))
        error = unbiased.mean(axis=0) - np.eye(len(channel.classes))[truth]
        assert np.all(np.abs(error) <= 6 * unbiased.std(axis=0) / np.sqrt(20_000) + 1e-6)


@pytest.mark.parametrize(
    "name", [name for name, c in IDENTIFIED.items() if len(c.report_labels) > len(c.classes) and "sets" not in name]
)
def test_unbiasing_has_the_least_variance(name):
    channel = IDENTIFIED[name]
    k, o = len(channel.classes), len(channel.report_labels)
    law = channel.matrix @ np.random.default_rng(17).dirichlet(np.ones(k))
    best = channel.unbiasing_matrix(law)
    assert channel.unbiasing_matrix() == pytest.approx(np.linalg.pinv(channel.matrix))
    textbook = channel.matrix.T @ np.diag(1 / law)
    assert best == pytest.approx(np.linalg.solve(textbook @ channel.matrix, textbook))

    def variance(matrix):  # of the sum over classes; the mean is fixed, so second moments decide
        return ((matrix**2) @ law).sum()

    assert variance(best) < variance(np.linalg.pinv(channel.matrix))
    for row in range(k):
        found = scipy.optimize.minimize(
            lambda r: (r**2) @ law,
            np.zeros(o),
            jac=lambda r: 2 * r * law,
            constraints={"type": "eq", "fun": lambda r, row=row: r @ channel.matrix - np.eye(k)[row]},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        )
        assert found.fun == pytest.approx((best[row] ** 2) @ law, rel=1e-6)
        assert found.x == pytest.approx(best[row], abs=1e-4)


def test_a_channel_that_hides_the_truth_may_still_show_features():
    channel = EXAMPLES["finite-wide"]  # three classes, two reports
    with pytest.raises(Unidentifiable, match=r"rank 2 for 3 classes .0, 1, 2.*method='marginal'"):
        channel.unbiasing_matrix()
    with pytest.raises(Unidentifiable, match="rank 2"):
        channel.unbias(["low"])
    features = np.array([[1.0, 2.0], [0.0, -3.0]]) @ channel.matrix
    undo = channel.unbiasing_matrix(features=features)
    assert undo @ channel.matrix == pytest.approx(features)
    law = channel.matrix @ [0.2, 0.3, 0.5]
    assert channel.unbiasing_matrix(law, features) @ channel.matrix == pytest.approx(features)
    with pytest.raises(Unidentifiable, match="rank 2"):
        channel.unbiasing_matrix(features=[[0.0, 1.0, 0.0]])


def test_features_and_report_laws_are_checked():
    channel = EXAMPLES["finite-tall"]
    assert channel.unbiasing_matrix(features=[1.0, 2.0]) @ channel.matrix == pytest.approx(np.array([[1.0, 2.0]]))
    for each in (channel, RandomizedResponse(("a", "b"), epsilon=1.0)):
        with pytest.raises(InvalidInput, match=r"features of shape \(1, 3\).*each of 2 classes"):
            each.unbiasing_matrix(features=[[1, 2, 3]])
    for law in ([0.5, 0.5], [0.5, 0.5, 0.0], [0.5, 0.7, -0.2], [np.nan, 0.5, 0.5]):
        with pytest.raises(InvalidInput, match=r"report law.*3 positive probabilities"):
            channel.unbiasing_matrix(law)


def test_two_classes_may_have_the_same_law_but_reports_do_not_determine_them():
    channel = FiniteChannel([[0.5, 0.2, 0.5], [0.5, 0.8, 0.5]], ["a", "b", "c"], ["x", "y"])
    with pytest.raises(Unidentifiable, match="rank 2 for 3 classes"):
        channel.unbias(["x"])
    # What only asks for b against the others is determined ([LM] section 6: Phi = M S).
    found = channel.unbiasing_matrix(features=[[0.0, 1.0, 0.0]])
    assert found @ channel.matrix == pytest.approx(np.array([[0.0, 1.0, 0.0]]))


# -- likelihood --------------------------------------------------------------------------------------


@EVERY
def test_likelihood_is_a_row_of_the_matrix(channel):
    reports = [channel.report_labels[-1], channel.report_labels[0]]
    assert np.array_equal(channel.likelihood(reports), channel.matrix[[-1, 0]])


@EVERY
def test_reports_are_checked_like_answers(channel):
    for method in (channel.likelihood, channel.encode_reports):
        with pytest.raises(InvalidInput, match="1 of 1 reports are not among the labels: 'nonsense'"):
            method(["nonsense"])
        with pytest.raises(InvalidInput, match="1 of 1 reports are missing"):
            method([None])
    with pytest.raises(InvalidInput, match="1 of 1 answers are not among the labels: 'nonsense'"):
        channel.privatize(["nonsense"])
    with pytest.raises(InvalidInput, match="DesignPerRow"):
        channel.encode_reports([channel.report_labels[0]], design=["cards"])


# -- identity ----------------------------------------------------------------------------------------


def test_what_a_file_tells_apart_is_not_equal():
    assert Warner(0.8, classes=(0, 1)) != Warner(0.8, classes=(False, True))
    assert Warner(0.8) != Crosswise(0.8)


def test_golden_specs_are_read_for_ever():
    golden = json.loads(GOLDEN.read_text())
    assert set(golden) == set(EXAMPLES)
    for name, entry in golden.items():
        channel = channel_from_spec(entry["spec"])
        assert channel == EXAMPLES[name]
        assert json.loads(json.dumps(channel.to_spec())) == entry["spec"]
        assert channel.counts[:, 0].tolist()[:8] == entry["first_counts"]
        assert channel.guarantee == Guarantee.from_dict(entry["guarantee"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (None, "a channel spec None.*such as"),
        ("warner", "a channel spec 'warner'"),
        ({}, "such as"),
        ({"channel": "warmer", "p": 0.8}, "unknown channel 'warmer'.*warner.*kuk"),
        ({"channel": ["warner"], "p": 0.8}, "unknown channel"),
        ({"channel": "warner", "version": 2, "p": 0.8}, "version 2.*upgrade"),
        ({"channel": "warner", "q": 0.8}, "warner has no parameter q.*p, classes"),
        ({"channel": "warner"}, "no parameters.*p"),
        ({"channel": "warner", "p": 0.5}, "same probability"),
        ({"channel": "design-per-row"}, "no parameters.*designs"),
        ({"channel": "design-per-row", "designs": {"a": {"channel": "nope"}}}, "unknown channel 'nope'"),
    ],
    ids=str,
)
def test_bad_specs_are_refused(spec, message):
    with pytest.raises(InvalidInput, match=message):
        channel_from_spec(spec)


# -- random matrices ---------------------------------------------------------------------------------


@st.composite
def stochastic_matrices(draw):
    k = draw(st.integers(2, 6))
    o = draw(st.integers(k, 8))
    weights = draw(st.lists(st.integers(0, 1000), min_size=o * k, max_size=o * k))
    table = np.array(weights, dtype=float).reshape(o, k) + 1e-3
    table[np.arange(k), np.arange(k)] += table.sum(axis=0)  # diagonally dominant: the truth is identified
    return table / table.sum(axis=0)


@given(stochastic_matrices())
@settings(max_examples=60, deadline=None)
def test_any_matrix_keeps_the_laws(matrix):
    channel = FiniteChannel(matrix, range(matrix.shape[1]), [f"r{o}" for o in range(matrix.shape[0])])
    assert channel.matrix == pytest.approx(matrix, rel=1e-12, abs=1e-15)
    assert set(map(sum, channel.counts.T.tolist())) == {2**62}
    assert channel.guarantee.epsilon == pytest.approx(brute_force_epsilon(channel), rel=1e-14)
    law = channel.matrix.mean(axis=1)
    for undo in (channel.unbiasing_matrix(), channel.unbiasing_matrix(law)):
        assert undo @ channel.matrix == pytest.approx(np.eye(matrix.shape[1]), abs=1e-9)
    again = channel_from_spec(json.loads(json.dumps(channel.to_spec())))
    assert again == channel
    assert np.array_equal(again.counts, channel.counts)


# -- parameters that make no sense -------------------------------------------------------------------

NAN = float("nan")
ABSURD = [
    (lambda: Warner(0.5), Unidentifiable, r"Warner\(p=0.5.*same probability.*avoids p = 0.5"),
    (lambda: Warner(0.5 + 1e-12), Unidentifiable, "same probability"),
    (lambda: Crosswise(0.5), Unidentifiable, "avoids p = 0.5"),
    (lambda: ForcedResponse(0.4, 0.6), Unidentifiable, r"avoids p_no \+ p_yes = 1"),
    (lambda: ForcedResponse(0.6, 0.6), InvalidInput, "p_no=0.6 and p_yes=0.6 add up to more than 1"),
    (lambda: UnrelatedQuestion(0.0, 0.5), Unidentifiable, "avoids p = 0"),
    (lambda: UnrelatedQuestion(0.5, 1.5), InvalidInput, "prevalence=1.5.*For 1.5 per cent write 0.015"),
    (lambda: Mangat(0.0), Unidentifiable, "avoids p = 0"),
    (lambda: Triangular(1.0), Unidentifiable, "avoids p = 1"),
    (lambda: Kuk(0.4, 0.4), Unidentifiable, "avoids p_carrier = p_noncarrier"),
    (lambda: Warner(80), InvalidInput, "p=80.*For 80 per cent write 0.8"),
    (lambda: Warner(-0.1), InvalidInput, "p=-0.1.*from 0 to 1"),
    (lambda: Warner(NAN), InvalidInput, "p=nan.*from 0 to 1"),
    (lambda: Warner(math.inf), InvalidInput, "p=inf"),
    (lambda: Warner("high"), InvalidInput, "p='high'.*a number"),
    (lambda: Warner(None), InvalidInput, "p=None"),
    (lambda: Warner([0.8]), InvalidInput, r"p=\[0.8\]"),
    (lambda: Warner(0.8, classes=("a", "b", "c")), InvalidInput, "3 classes.*two"),
    (lambda: Warner(0.8, classes="no"), InvalidInput, "a list of labels"),
    (lambda: RandomizedResponse(["a", "b"]), InvalidInput, "exactly one of the two"),
    (lambda: RandomizedResponse(["a", "b"], 1.0, 0.5), InvalidInput, "exactly one of the two"),
    (lambda: RandomizedResponse(["a", "b"], epsilon=0), InvalidInput, "epsilon=0;.*pure noise"),
    (lambda: RandomizedResponse(["a", "b"], epsilon=-1), InvalidInput, "epsilon=-1;.*positive"),
    (lambda: RandomizedResponse(["a", "b"], epsilon=NAN), InvalidInput, "epsilon=nan"),
    (lambda: RandomizedResponse(["a", "b"], epsilon=math.inf), InvalidInput, "epsilon=inf;.*Identity"),
    (lambda: RandomizedResponse(["a", "b"], epsilon=60), InvalidInput, "epsilon=60;.*at most 30.*Identity"),
    (lambda: RandomizedResponse(["a", "b"], epsilon=1e6), InvalidInput, "epsilon=1000000.0;.*at most 30"),
    (lambda: RandomizedResponse(["a", "b"], epsilon=1e-30), Unidentifiable, "so small that the truth is never"),
    (lambda: RandomizedResponse(["a", "b"], epsilon="one"), InvalidInput, "epsilon='one'"),
    (lambda: RandomizedResponse(["a", "b"], truth_probability=0), InvalidInput, "above 0"),
    (lambda: RandomizedResponse(["a", "b"], truth_probability=1.1), InvalidInput, "at most 1"),
    (lambda: RandomizedResponse(["a"], epsilon=1.0), InvalidInput, "at least two classes"),
    (lambda: RandomizedResponse([], epsilon=1.0), InvalidInput, "at least two classes"),
    (lambda: RandomizedResponse("ab", epsilon=1.0), InvalidInput, "classes='ab'.*a list of labels"),
    (lambda: RandomizedResponse(5, epsilon=1.0), InvalidInput, "classes=5.*a list of labels"),
    (lambda: RandomizedResponse(["a", "a"], epsilon=1.0), InvalidInput, "'a' more than once"),
    (lambda: RandomizedResponse(["a", None], epsilon=1.0), InvalidInput, "label None"),
    (lambda: RandomizedResponse(["abc"], 1.0), InvalidInput, "at least two"),
    (lambda: RandomizedResponse(range(3), 1.0, base=[0.5, 0.5]), InvalidInput, r"shape \(2,\).*3 probabilities"),
    (lambda: RandomizedResponse(range(2), 1.0, base=[0.5, 0.6]), InvalidInput, "sum to 1"),
    (lambda: RandomizedResponse(range(2), 1.0, base=[1.5, -0.5]), InvalidInput, "sum to 1"),
    (lambda: RandomizedResponse(range(2), 1.0, base=[NAN, 1]), InvalidInput, "sum to 1"),
    (lambda: RandomizedResponse(range(2), 1.0, base="uniform"), InvalidInput, "base='uniform'"),
    (lambda: RandomizedResponse(range(2), 1.0, base=[0, 1]), InvalidInput, "positive everywhere"),
    (lambda: FiniteChannel([[0.8, 0.2], [0.3, 0.7]], "ab"), InvalidInput, "a list of labels"),
    (lambda: FiniteChannel([[0.8, 0.2], [0.3, 0.7]], ["a", "b"]), InvalidInput, "sums to 1.1.*transpose"),
    (lambda: FiniteChannel([[0.8, 0.2], [0.3, 0.6]], ["a", "b"]), InvalidInput, "column . .*sums to"),
    (
        lambda: FiniteChannel([[0.8, 0.1, 0.1], [0.3, 0.3, 0.4]], ["a", "b"], list("xyz")),
        InvalidInput,
        "looks transposed",
    ),
    (lambda: FiniteChannel([[0.8, 0.3], [0.2, 0.7]], ["a", "b", "c"]), InvalidInput, r"shape \(2, 2\).*\(3, 3\)"),
    (lambda: FiniteChannel([0.8, 0.2], ["a", "b"]), InvalidInput, r"shape \(2,\)"),
    (lambda: FiniteChannel([[1.2, 0.3], [-0.2, 0.7]], ["a", "b"]), InvalidInput, "negative or not finite"),
    (lambda: FiniteChannel([[NAN, 0.3], [0.2, 0.7]], ["a", "b"]), InvalidInput, "negative or not finite"),
    (lambda: FiniteChannel([["x", 0.3], [0.2, 0.7]], ["a", "b"]), InvalidInput, "not a table of numbers"),
    (lambda: FiniteChannel([[0.5, 0.5], [0.5, 0.5]], ["a", "b"]), Unidentifiable, "'a' and 'b'"),
    (lambda: Identity(["a"]), InvalidInput, "at least two"),
]


@pytest.mark.parametrize(("make", "error", "message"), ABSURD, ids=lambda p: p if isinstance(p, str) else "")
def test_absurd_parameters_are_refused_with_a_reason(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_the_largest_sensible_parameters_work():
    assert RandomizedResponse(["a", "b"], epsilon=30).guarantee.epsilon == pytest.approx(30, abs=1e-4)
    many = RandomizedResponse(range(100_000), epsilon=8.0)
    truth = np.arange(100_000)
    reports = many.simulate(truth, np.random.default_rng(18))
    told = math.expm1(8) / (math.expm1(8) + 100_000)
    # The number of true reports is binomial; beyond 6 deviations two in a thousand million.
    assert abs(np.mean(reports == truth) - told) < 6 * math.sqrt(told * (1 - told) / 100_000)


# -- the guarantee as people read it -----------------------------------------------------------------


def test_a_guarantee_is_printed_and_explained():
    assert str(Warner(0.75).guarantee) == "epsilon 1.099, protects one answer (any two answers of one person)"
    words = Warner(0.75).guarantee.in_words()
    assert "factor of at most 3." in words
    assert "at most 75.0% sure" in words
    assert "delta 1e-06" in str(Guarantee(1.0, delta=1e-6))
    assert "factor of up to 2,980. That" in Guarantee(8.0).in_words()  # and not 2.98e+03
    assert "factor of up to e^20." in Guarantee(20.0).in_words()
    assert "no privacy guarantee" in str(Identity().guarantee)
    assert "no formal privacy guarantee" in Identity().guarantee.in_words()
    assert "next to no protection" in Guarantee(8.0).in_words()
    assert "e^6069" in Guarantee(6069.0).in_words()  # the images of [RR]: no overflow


def test_words_about_totals_speak_of_who_holds_the_labels_and_a_delta_is_never_left_out():
    """They spoke of a respondent's coin, and said "at most" where delta allows more."""
    counted = Guarantee(1.0, 1e-6, protects="one person's label", neighbours=f"{OTHER_LABEL}; bags are public")
    words = counted.in_words()
    assert "whoever holds the labels" in words
    assert "adds its own level" in words
    assert "respondent" not in words
    assert "coin" not in words
    for guarantee in (counted, Guarantee(1.0, 1e-6), Guarantee(8.0, 1e-6)):
        assert "With probability 1e-06 (delta) that may fail." in guarantee.in_words()
    assert "delta" not in Guarantee(1.0).in_words()
    assert "Nothing is proved of its noise" in Guarantee(math.inf, neighbours=OTHER_LABEL).in_words()


@pytest.mark.parametrize(
    "guarantee",
    [
        Guarantee(1.0),
        Guarantee(math.inf),
        Guarantee(0.1 + 0.2, 1e-6, "a record", "any two records", (0.5, 0.25)),
        Guarantee(math.inf, per_attribute=(math.inf, 1.0)),
    ],
)
def test_a_guarantee_survives_json(guarantee):
    written = json.dumps(guarantee.to_dict(), allow_nan=False)
    assert Guarantee.from_dict(json.loads(written)) == guarantee


if __name__ == "__main__":  # writes the golden file anew; read the difference before keeping it
    GOLDEN.parent.mkdir(exist_ok=True)
    entries = {
        name: {
            "spec": channel.to_spec(),
            "first_counts": channel.counts[:, 0].tolist()[:8],
            "guarantee": channel.guarantee.to_dict(),
        }
        for name, channel in EXAMPLES.items()
    }
    GOLDEN.write_text(json.dumps(entries, indent=1) + "\n")
