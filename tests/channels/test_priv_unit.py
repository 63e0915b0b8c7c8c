"""PrivUnit: the weights of proposals are exact whatever is computed around them, and reports point at the truth."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

from askance import AskanceWarning, InvalidInput, PrivUnit, Unidentifiable, channel_from_spec
from askance.channels.rows.priv_unit import _draws, _normals, _rounded
from askance.channels.rows.selection import Selection, sums_of_largest
from askance.entropy.bits import GeneratorBits

LEVELS = [1e-6, 0.01, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 50.0]


# -- privacy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", LEVELS)
def test_the_weights_of_ranks_keep_the_level_in_integers(epsilon):
    choice = Selection.within(epsilon)
    counts = choice.counts.tolist()
    assert sum(counts) == 2**62
    assert len(counts) == choice.proposals
    assert set(counts[-choice.best :]) == {choice.high}
    assert set(counts[1 : -choice.best]) == {choice.low}
    assert choice.low <= counts[0] < choice.low + choice.best
    with localcontext() as context:
        context.prec = 60
        ratio = Decimal(max(counts)) / Decimal(min(counts))
        assert ratio**choice.rounds <= Decimal(epsilon).exp()
        assert choice.level == pytest.approx(float(choice.rounds * ratio.ln()), rel=1e-14)
    channel = PrivUnit(3, epsilon)
    assert channel.guarantee.epsilon <= epsilon
    if epsilon < 40:
        assert channel.guarantee.epsilon == pytest.approx(epsilon, rel=1e-4 if epsilon > 20 else 1e-9)


def laws_given_proposals(channel, truths, seed):
    """P(proposal i is chosen | truth) in units of 2^-62, for the proposals that a seed gives: truths x proposals."""
    weights = channel.selection.counts.tolist()
    one = GeneratorBits(np.random.default_rng(seed))
    proposals = _draws(_normals(), channel.proposals * (channel.dim + 1), one).reshape(-1, channel.proposals).T
    codes = [tuple(codes) for codes in proposals[:, : channel.dim].tolist()]
    if len(set(codes)) < len(codes):
        return None  # two proposals cannot be told apart by their codes
    laws = []
    for truth in truths:
        direction = channel._directions(np.array([truth], dtype=float))
        law = dict.fromkeys(codes, 0)
        for rank, weight in enumerate(weights):
            again = GeneratorBits(np.random.default_rng(seed))
            law[tuple(channel._chosen(direction, np.array([[rank]]), again)[0].tolist())] += weight
        laws.append(list(law.values()))
    return laws


@pytest.mark.parametrize(("dim", "proposals", "best"), [(1, 2, 1), (1, 6, 2), (2, 4, 1), (2, 24, 7), (3, 64, 32)])
def test_every_choice_has_one_of_two_weights_whatever_the_truth(dim, proposals, best):
    channel = PrivUnit(dim, 1.5, proposals=proposals, best=best)
    choice, seen = channel.selection, set()
    axis = np.eye(dim)[0]
    truths = [0 * axis, axis, -axis, np.ones(dim), -np.ones(dim), np.full(dim, 1e-9), np.linspace(-1, 0.3, dim)]
    for seed in range(6):
        found = laws_given_proposals(channel, truths, seed)
        if found is None:
            continue
        laws = np.array(found, dtype=object)
        assert all(sum(law) == 2**62 for law in laws)
        assert all(sorted(law) == choice.counts.tolist() for law in laws)
        seen |= {Fraction(a, b) for column in laws.T for a in column for b in column}
    assert max(seen) == Fraction(choice.high, choice.low)  # reached, and nowhere exceeded
    assert 1.5 - 1e-12 < math.log(max(seen)) <= 1.5


def test_rounds_share_epsilon():
    channel = PrivUnit(2, 3.0, proposals=8, best=2, rounds=2)
    choice = channel.selection
    assert choice.level == pytest.approx(3.0, rel=1e-12)
    assert math.log(choice.high / choice.low) == pytest.approx(1.5, rel=1e-12)
    # Opposite truths disagree about both rounds, so that the product of the two ratios is reached.
    assert channel.guarantee.epsilon == pytest.approx(2 * math.log(choice.high / choice.low), rel=1e-12)


# -- what the proposals are worth --------------------------------------------------------------------


def test_order_statistics_are_the_known_ones():
    root_pi = math.sqrt(math.pi)
    for count, largest, mean in ((2, 1, 1 / root_pi), (3, 1, 1.5 / root_pi), (4, 1, 1.0293753730039641)):
        assert sums_of_largest(count, np.array([largest]))[0][0] == pytest.approx(mean, rel=1e-13)
    # E max^2 of two is 1 (a fair coin decides which is squared), of three 1 + sqrt(3) / (2 pi).
    assert sums_of_largest(2, np.array([1]))[1][0] == pytest.approx(1.0, rel=1e-13)
    assert sums_of_largest(3, np.array([1]))[1][0] == pytest.approx(1 + math.sqrt(3) / (2 * math.pi), rel=1e-13)
    # What is not among the largest is, with its sign changed, among the largest.
    top, rest = sums_of_largest(50, np.array([7, 43]))[0]
    assert top == pytest.approx(rest, rel=1e-12)
    assert sum(sums_of_largest(50, np.array([7, 43]))[1]) == pytest.approx(50, rel=1e-12)


@pytest.mark.parametrize(("count", "largest"), [(32, 11), (64, 4), (512, 1), (512, 233)])
def test_order_statistics_agree_with_direct_integration(count, largest):
    sums = sums_of_largest(count, np.array([largest]))
    for power in (1, 2):

        def integrand(x, power=power):
            among = scipy.special.betainc(count - largest, largest, scipy.special.ndtr(x))
            return count * x**power * scipy.stats.norm.pdf(x) * among

        direct = scipy.integrate.quad(integrand, -12, 12, limit=400, epsabs=1e-11, points=[0, 1, 2, 3])[0]
        assert sums[power - 1][0] == pytest.approx(direct, rel=1e-9)


def test_steps_of_proposals_cost_less_than_a_millionth():
    """Along an axis scores have the steps of proposals, and tie: the worst case of discretisation."""
    step = 1 / 256
    values = np.arange(-2032, 2033) * step
    law = np.exp(-(values**2) / 2)
    law /= law.sum()
    assert law @ values**2 == pytest.approx(1, rel=1e-12)
    for count, largest in ((32, 11), (64, 4), (256, 1)):
        below = np.minimum(np.cumsum(law), 1)[:-1]
        exact = sum(
            values[-1] - step * scipy.special.betainc(r, count - r + 1, below).sum()
            for r in range(count - largest + 1, count + 1)
        )
        short = 1 - exact / sums_of_largest(count, np.array([largest]))[0][0]
        assert short == pytest.approx(step**2 / 24, rel=0.01)
        assert short < 1e-6


def continuous_optimum(epsilon):
    """The m of PrivUnitG: above a threshold of the score with probability p, below it otherwise."""
    gamma = np.linspace(0, 8, 8001)
    above = scipy.stats.norm.sf(gamma)
    p = 1 / (1 + np.exp(-epsilon) * (1 - above) / above)
    return float((scipy.stats.norm.pdf(gamma) * (p / above - (1 - p) / (1 - above))).max())


@pytest.mark.parametrize(("epsilon", "share"), [(0.5, 0.97), (1, 0.97), (2, 0.97), (4, 0.97), (8, 0.94), (16, 0.79)])
def test_a_few_proposals_come_close_to_the_continuous_mechanism(epsilon, share):
    choice = Selection.within(epsilon)
    worth = math.sqrt(choice.rounds) * choice.mean / continuous_optimum(epsilon)
    assert share < worth < 1
    assert choice.proposals * choice.rounds <= 512


def test_rounds_help_where_the_largest_of_512_is_too_small():
    choice = Selection.within(16.0)
    assert choice.rounds > 1
    one = max(Selection(16.0, 512, best).mean for best in (1, 2, 3))
    assert math.sqrt(choice.rounds) * choice.mean > 1.15 * one


# -- what is drawn -----------------------------------------------------------------------------------


def law_of_one_number(channel, truth):
    """P(code) of a channel for one number and one round, by integration over the lifted coordinate."""
    choice = channel.selection
    along = truth / channel.radius
    g = np.linspace(-8.5, 8.5, 16 * 17 * 16 + 1)  # sixteen points in a step of a report
    lifted, weights = np.polynomial.hermite_e.hermegauss(60)
    score = along * g[:, None] + math.sqrt(1 - along**2) * lifted
    among = scipy.special.betainc(choice.proposals - choice.best, choice.best, scipy.special.ndtr(score))
    chosen = channel.proposals * (choice.low + (choice.high - choice.low) * among) / 2**62
    density = scipy.stats.norm.pdf(g) * (chosen @ weights) / weights.sum() * (g[1] - g[0])
    steps = (np.arange(255) - 127)[:, None]
    return np.clip(1 - np.abs(16 * g - steps), 0, None) @ density  # random rounding is a triangle


@pytest.mark.parametrize("truth", [1.0, -1.0, 0.6, 0.0])
def test_every_cell_of_reports_about_one_number(truth):
    # The generator is fixed; a correct channel fails for one generator in a million.
    channel = PrivUnit(1, 3.0, proposals=8, best=1)
    law = law_of_one_number(channel, truth)
    assert law.sum() == pytest.approx(1, abs=1e-6)
    assert 16 * channel.selection.mean * truth == pytest.approx(law @ (np.arange(255) - 127), abs=1e-4)
    draws = 200_000
    reports = channel.simulate(np.full((draws, 1), truth), np.random.default_rng(31))
    assert reports.shape == (draws,)
    counts = np.bincount(reports, minlength=255)
    low, high = scipy.stats.binom.cdf(counts, draws, law), scipy.stats.binom.sf(counts - 1, draws, law)
    assert (2 * np.minimum(low, high)).min() > 1e-6 / 255


def test_the_last_ranks_are_the_best_of_many_proposals():
    # So many that a partial sort really is one: short arrays come out of it in full order.
    channel, up = PrivUnit(1, 4.0, proposals=2048, best=100), np.array([[1.0, 0.0]], dtype=np.float32)
    codes = _draws(_normals(), 2 * 2048, GeneratorBits(np.random.default_rng(39)))[:2048]
    for ranks, wanted in ((range(1948, 2048), np.sort(codes)[-100:]), (range(0, 1948, 20), None)):
        bits = [GeneratorBits(np.random.default_rng(39)) for _ in ranks]
        chosen = [channel._chosen(up, np.array([[r]]), b).item() for r, b in zip(ranks, bits, strict=True)]
        if wanted is None:
            assert max(chosen) <= np.sort(codes)[-100]
        else:
            assert np.array_equal(np.sort(chosen), wanted)


@pytest.mark.parametrize("rounds", [1, 4, 16])
def test_rounding_keeps_the_mean(rounds):
    # Binomial counts beyond 6 deviations in at most 257 columns: one generator in two million.
    steps, draws = 16 * rounds, 40_000
    codes = np.arange(3 * steps, 4 * steps + 1)
    up = _rounded(np.tile(codes, (draws, 1)), steps, GeneratorBits(np.random.default_rng(38))).mean(axis=0) - 3
    wanted = np.arange(steps + 1) / steps
    assert np.all(np.abs(up - wanted) <= 6 * np.sqrt(wanted * (1 - wanted) / draws))


CHANNELS = {
    "one": PrivUnit(1, 2.0),
    "three": PrivUnit(3, 4.0),
    "weak": PrivUnit(4, 0.5, bound=2.0),
    "short": PrivUnit(3, 4.0, radius=0.7),
    "rounds": PrivUnit(3, 16.0),
    "wide": PrivUnit(12, 8.0, proposals=32, best=1),
}
EVERY = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())


def corners_and_others(channel):
    rng = np.random.default_rng(32)
    ends = [np.zeros(channel.dim), np.full(channel.dim, channel.bound), np.eye(channel.dim)[-1] * -channel.bound]
    return [*ends, 0.01 * channel.bound * rng.normal(size=channel.dim).clip(-1, 1), rng.uniform(-1, 1, channel.dim)]


@EVERY
def test_reports_are_unbiased_with_the_declared_covariance(channel):
    # Deviates beyond 6 in some 5 x 200 means, all nearly normal: about one generator in a million.
    rng, draws = np.random.default_rng(33), 10_000
    for truth in corners_and_others(channel):
        rows = np.tile(truth, (draws, 1))
        wanted, shortened = channel.shorten(rows)
        assert shortened == (draws if np.linalg.norm(truth) > channel.radius * (1 + 1e-9) else 0)
        unbiased = channel.unbias(channel.simulate(rows, rng))
        assert unbiased.shape == (draws, channel.dim)
        off = unbiased - wanted
        assert np.all(np.abs(off.mean(axis=0)) < 6 * off.std(axis=0) / math.sqrt(draws))
        squares = off[:, :, None] * off[:, None, :]
        error = squares.mean(axis=0) - channel.noise_covariance(rows[:1])
        assert np.all(np.abs(error) < 6 * squares.std(axis=0) / math.sqrt(draws))


def test_the_covariance_of_many_rows_is_the_mean_of_theirs():
    channel = CHANNELS["short"]
    rows = np.random.default_rng(34).uniform(-1, 1, (7, 3))
    each = [channel.noise_covariance(row[None]) for row in rows]
    assert channel.noise_covariance(rows) == pytest.approx(np.mean(each, axis=0))


def test_private_reports_are_unbiased_too_and_never_the_same():
    # Real entropy: three normal deviates beyond 7, less than once in 10^11 runs.
    channel, truth = CHANNELS["three"], np.tile([0.9, -0.2, 0.0], (20_000, 1))
    reports = channel.privatize(truth)
    off = channel.unbias(reports) - truth
    assert np.all(np.abs(off.mean(axis=0)) < 7 * off.std(axis=0) / math.sqrt(len(truth)))
    assert not np.array_equal(reports, channel.privatize(truth))


def test_rows_of_one_call_are_independent():
    # Chunks hold 128 rows here; a normal deviate beyond 6 in 9 correlations: one generator in 50 million.
    channel = PrivUnit(3, 4.0, proposals=512, best=32)
    off = channel.unbias(channel.simulate(np.zeros((4000, 3)), np.random.default_rng(35)))
    for lag in (1, 127, 128):
        assert np.all(np.abs((off[lag:] * off[:-lag]).mean(axis=0) / off.var(axis=0)) < 6 / math.sqrt(len(off) - lag))


def test_shortening_keeps_the_direction_and_counts():
    channel = PrivUnit(2, 1.0, radius=0.5)
    short, shortened = channel.shorten([[0.3, 0.4], [0.6, 0.8], [0.0, -1.0], [0.0, 0.0]])
    assert shortened == 2
    assert short == pytest.approx(np.array([[0.3, 0.4], [0.3, 0.4], [0, -0.5], [0, 0]]))
    assert PrivUnit(3, 1.0, bound=0.1).shorten(np.full((5, 3), 0.1))[1] == 0  # the border is inside


def test_values_outside_are_clipped_and_counted():
    channel = PrivUnit(2, 1.0, bound=2.0)
    inside, clipped = channel.clip([[3.0, 0.0], [-2.5, 2.0]])
    assert clipped == 2
    assert inside.tolist() == [[2, 0], [-2, 2]]
    with pytest.warns(AskanceWarning, match=r"2 values outside \[-2, 2\] were clipped"):
        channel.privatize([[3.0, 0.0], [-2.5, 2.0]])


# -- identity and files ------------------------------------------------------------------------------


@EVERY
def test_what_was_chosen_is_in_the_spec_and_said(channel):
    assert {"radius", "proposals", "best", "rounds"} <= set(channel.to_spec())  # a learner needs nothing else
    assert channel != PrivUnit(channel.dim, channel.epsilon / 2)
    text = channel.describe()
    assert f"{channel.proposals} random directions" in text
    assert ("times, and the mean" in text) == (channel.rounds > 1)


def test_reports_of_a_written_spec_are_read_for_ever():
    spec = {"channel": "priv-unit", "version": 1, "dim": 2, "epsilon": 2.0, "radius": 1.0, "bound": 1.0}
    channel = channel_from_spec(spec | {"proposals": 32, "best": 7, "rounds": 1})
    unbiased = channel.unbias(np.array([[0, 127], [254, 128]], dtype=np.uint8))
    assert unbiased == pytest.approx(np.array([[-127, 0], [127, 1]]) / 16 / 0.7630027769572, rel=1e-12)


@EVERY
def test_reports_survive_arrow_in_a_byte_a_number(channel):
    rows = np.random.default_rng(36).uniform(-1, 1, (50, channel.dim)) * channel.bound
    reports = channel.simulate(rows, np.random.default_rng(37))
    column = channel.layout.to_arrow(reports)
    assert column.type == channel.layout.arrow_type
    assert column.nbytes == 50 * channel.dim
    for part in (column, pa.chunked_array([column[:20], column[20:]])):
        assert np.array_equal(channel.encode_reports(part), reports)
    assert np.array_equal(channel.unbias(column[10:]), channel.unbias(reports[10:]))
    assert len(channel.privatize(np.empty((0, channel.dim)))) == 0


# -- what makes no sense -----------------------------------------------------------------------------

NAN = float("nan")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: PrivUnit(0, 1.0), InvalidInput, "dim=0"),
        (lambda: PrivUnit(2, 0), InvalidInput, "epsilon=0.*positive"),
        (lambda: PrivUnit(2, NAN), InvalidInput, "epsilon=nan"),
        (lambda: PrivUnit(2, 60), InvalidInput, "epsilon=60.*hide nothing"),
        (lambda: PrivUnit(2, 1e-30), Unidentifiable, "so small that all proposals are equally likely"),
        (lambda: PrivUnit(2, 1.0, bound=-1), InvalidInput, "bound=-1"),
        (lambda: PrivUnit(2, 1.0, bound=math.inf), InvalidInput, "bound=inf"),
        (
            lambda: PrivUnit(4, 1.0, radius=2.1),
            InvalidInput,
            r"radius=2.1.*bound \* sqrt\(dim\) = 2. No row.*is longer",
        ),
        (lambda: PrivUnit(4, 1.0, radius=0), InvalidInput, "radius=0"),
        (lambda: PrivUnit(4, 1.0, radius=NAN), InvalidInput, "radius=nan"),
        (lambda: PrivUnit(4, 1.0, radius="far"), InvalidInput, "radius='far'"),
        (lambda: PrivUnit(2, 1.0, proposals=8), InvalidInput, "best=None.*Leave all three away"),
        (lambda: PrivUnit(2, 1.0, rounds=2), InvalidInput, "proposals=None"),
        (lambda: PrivUnit(2, 1.0, proposals=8, best=5), InvalidInput, "best=5.*twice as many"),
        (lambda: PrivUnit(2, 1.0, proposals=8.5, best=2), InvalidInput, "proposals=8.5"),
        (lambda: PrivUnit(2, 1.0, proposals=8, best=0), InvalidInput, "best=0"),
        (lambda: PrivUnit(2, 1.0, proposals=1 << 17, best=9), InvalidInput, "at most 65536"),
        (lambda: PrivUnit(2, 1.0, proposals=8, best=2, rounds=3), InvalidInput, "rounds=3;.*1, 2, 4, 8 or 16"),
        (lambda: PrivUnit(2, 1.0, proposals=8, best=2, rounds=0), InvalidInput, "rounds=0"),
        (lambda: PrivUnit(2, 1.0).privatize([[1.0, NAN]]), InvalidInput, "nan in row 1, column 2"),
        (lambda: PrivUnit(2, 1.0).privatize([[1.0, 0.0, 0.0]]), InvalidInput, r"shape \(1, 3\)"),
        (lambda: PrivUnit(2, 1.0).shorten([["a", "b"]]), InvalidInput, "not a table of numbers"),
        (lambda: PrivUnit(2, 1.0).unbias([[255, 0]]), InvalidInput, "reports up to 255.*below 255"),
        (lambda: PrivUnit(2, 1.0).unbias([[0.5, 0.1]]), InvalidInput, "whole numbers"),
        (lambda: PrivUnit(2, 1.0).unbias(pa.array([1, 2])), InvalidInput, "a column of int64"),
        (lambda: PrivUnit(2, 1.0).encode_reports([[1, 2]], design=["a"]), InvalidInput, "one design only"),
        (lambda: PrivUnit(2, 1.0).simulate([[0.0, 0.0]], 7), InvalidInput, "numpy Generator"),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)
def test_absurd_input_is_refused_with_a_reason(make, error, message):
    with pytest.raises(error, match=message):
        make()
