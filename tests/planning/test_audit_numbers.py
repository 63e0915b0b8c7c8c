"""The audit of channels for numbers: honest ones pass at the stated rate, and those that lie are caught."""

import json
import math
import os
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import askance as ask
from askance.channels.guarantee import Guarantee
from askance.channels.rows.number_law import NumberLaw
from askance.channels.rows.selection import Selection
from askance.channels.rows.window_law import WindowLaw
from askance.entropy.bernoulli import NoisyBit
from askance.entropy.draws import AliasSampler
from askance.entropy.thresholds import RESOLUTION
from askance.planning.auditing.audited_rows import AuditedRows
from askance.planning.auditing.exact_levels import exact_level

COLUMNS = {"age": (0, 100), "income": (-5, 15), "value": (2, 7)}
HONEST = {
    "window": ask.WindowRelease(6, 3.0, always=5),
    "window-of-all": ask.WindowRelease(2, 5.0, k=2),
    "window-of-one": ask.WindowRelease(1, 1.0),
    "hybrid": ask.PrivateNumber(0, 100, 2.0),
    "hybrid-fine": ask.PrivateNumber(0, 1, 11.0),
    "piecewise": ask.PrivateNumber(-3, -1, 1.0, "piecewise"),
    "duchi": ask.PrivateNumber(0, 1e6, 1.0, "duchi"),
    "vast": ask.PrivateNumber(-1e300, 1e300, 2.0),
    "sampled": ask.SampledCoordinates(5, 6.0, bound=2.5),
    "coordinate": ask.CoordinateRelease(4, 1.0, bound=3.0),
    "coordinate-paper": ask.CoordinateRelease(4, 2.0, calibration="paper", probabilities=[0.1, 0.2, 0.3, 0.4]),
    "coordinate-rare": ask.CoordinateRelease(3, 1.0, probabilities=[0.9998, 0.0001, 0.0001]),
    "coordinates-many": ask.CoordinateRelease(300, 1.0),
    "per-value": ask.PerValueFlip(5, 3.0),
    "per-value-sparse": ask.PerValueFlip(20, 3.0, max_ones=2, bound=0.5),
    "triple": ask.TripleRelease(3, 4.0),
    "triple-signed": ask.TripleRelease(4, 3.0, signed=True),
    "triple-paper": ask.TripleRelease(3, 4.0, calibration="paper"),
    "unit": ask.PrivUnit(3, 2.0),
    "unit-short": ask.PrivUnit(4, 14.0, radius=0.7, bound=2.0),
    **{f"row-{m}": ask.PrivateRow(COLUMNS, 4.0, m) for m in ("window", "sampled", "coordinate", "per-value", "triple")},
    "row-unit": ask.PrivateRow(COLUMNS, 1.0, "unit", radius=0.5),
}
EVERY = pytest.mark.parametrize("channel", HONEST.values(), ids=HONEST.keys())


@EVERY
def test_honest_channels_pass(channel: Any) -> None:
    # Real entropy, so there is no seed to fix: each fails with probability 1e-9 at most.
    report = ask.audit(channel, draws=5_000, error_rate=1e-9)
    assert report.passed, str(report)
    assert report.exact_epsilon == pytest.approx(channel.guarantee.epsilon, rel=1e-12)
    assert 0 <= report.lower_bound <= report.exact_epsilon
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["passed"] is True
    assert "audit passed" in str(report)


RARE = ("hybrid-fine", "coordinate-rare", "coordinates-many")  # a few reports tell nearly everything: no normal law


@pytest.mark.parametrize("name", [name for name in HONEST if name not in RARE])
def test_what_is_wanted_of_the_estimates_is_what_simulation_gives(name: str) -> None:
    # The audit works out the wanted means from the rows alone. At most 80 z-values in each of 22 cases: one beyond 6
    # has probability 4e-6.
    channel, rng = HONEST[name], np.random.default_rng(1)
    rows = AuditedRows(channel)
    for truth in rows.extreme_truths:
        row = rows.truths[truth]
        estimates = channel.estimates(channel.simulate(np.tile(row, (4000, 1)), rng))
        assert estimates.shape == (4000, len(channel.estimated))
        z = (estimates.mean(axis=0) - channel.expected(row)) / (estimates.std(axis=0) / math.sqrt(4000))
        assert np.abs(z).max() < 6


@pytest.mark.parametrize("name", ["window-of-one", "hybrid", "duchi", "coordinate", "row-window", "row-coordinate"])
def test_the_lower_bound_comes_close_to_the_truth(name: str) -> None:
    report = ask.audit(HONEST[name], draws=200_000, error_rate=1e-6)
    exact = HONEST[name].guarantee.epsilon
    assert 0.85 * exact < report.lower_bound <= exact
    assert report.designs[0].confidence == pytest.approx(1 - 5e-7)


def test_exact_levels_by_hand() -> None:
    assert exact_level(ask.CoordinateRelease(3, 1.0)) == pytest.approx(1.0, rel=1e-12)
    assert exact_level(ask.TripleRelease(3, 4.0, calibration="paper")) == pytest.approx(6.0, rel=1e-12)
    t = 4.0 / 2
    signed = ask.TripleRelease(3, 4.0, signed=True, calibration="paper")
    assert exact_level(signed) == pytest.approx(2 * t + math.log((1 + math.exp(t)) / 2), rel=1e-12)
    flips = ask.PerValueFlip(10, 3.0, max_ones=2, calibration="paper")
    assert exact_level(flips) == pytest.approx(3.0, rel=1e-12)
    with pytest.raises(ask.InvalidInput, match="an audit of 'something'"):
        exact_level("something")


# -- the stated rate ---------------------------------------------------------------------------------

PARENT = os.getpid()
RNG = np.random.default_rng(20_240_301)


class SeededNumber(ask.PrivateNumber):
    """Honest, but drawing from a generator, so that the test can be repeated; a forked child must have another."""

    def privatize(self, truth: Any) -> Any:
        return self.simulate(truth, RNG if os.getpid() == PARENT else np.random.default_rng())


def test_honest_channels_fail_no_more_often_than_stated() -> None:
    # 40 audits at error rate 0.3. If the rate is kept, more failures than `most` have probability 1e-6.
    failures = sum(not ask.audit(SeededNumber(0, 1, 1.0), draws=1_000, error_rate=0.3).passed for _ in range(40))
    assert 0 < failures <= binom.isf(1e-6, 40, 0.3)


# -- channels that lie -------------------------------------------------------------------------------


class KeepsItsPromise:
    """Says what the honest law gives, whatever is drawn from."""

    @cached_property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon)  # type: ignore[attr-defined]


class TellsTooMuch(KeepsItsPromise, ask.WindowRelease):
    """Its coin falls on the truth more often than declared; its estimates are adapted, so they are right."""

    @cached_property
    def law(self) -> WindowLaw:
        honest = ask.WindowRelease.law.func(self)  # type: ignore[attr-defined]
        return replace(honest, coin=RESOLUTION - (RESOLUTION - honest.coin) // 3)


class DrawsWithAnotherCoin(ask.WindowRelease):
    """Declares one law, and draws from another that tells 3% more."""

    def draw(self, truth: Any, bits: Any) -> Any:
        other = ask.WindowRelease(self.dim, self.epsilon, self.k, self.always)
        vars(other)["law"] = replace(self.law, coin=int(self.law.coin * 1.03))
        return other.draw(truth, bits)


class FlipsLess(ask.PerValueFlip):
    """Declares one flip probability, and draws with a smaller one."""

    def _draw_bits(self, values: Any, bits: Any) -> Any:
        return NoisyBit(int(self.bit.low * 0.9)).draw(np.asarray(values, dtype=float), self.bound, bits)


class WrongLowAndHigh(KeepsItsPromise, ask.CoordinateRelease):
    """Thresholds that are farther apart than the level allows."""

    @cached_property
    def bit(self) -> NoisyBit:
        return NoisyBit(NoisyBit.within(self.epsilon).low // 2)


class BiasedEstimates(ask.PrivateNumber):
    """Draws as declared, but is worth 2% more than it should be."""

    def unbias(self, reports: Any) -> Any:
        return 1.02 * super().unbias(reports)


class BiasedProducts(ask.WindowRelease):
    """Right about numbers, wrong about their squares."""

    def unbiased_products(self, reports: Any) -> Any:
        return super().unbiased_products(reports) + 0.05


class LeaksTheTruth(ask.PrivateNumber):
    """Its estimates are right in the mean; but the last bit of a code says on which side of the middle the truth is."""

    def draw(self, truth: Any, bits: Any) -> Any:
        codes = super().draw(truth, bits)
        above = (truth[:, 0] > self.centre).astype(codes.dtype)
        return codes - codes % 2 + above


class FavoursTheBest(ask.PrivUnit):
    """Chooses among the best proposals more often than its weights say."""

    @cached_property
    def _ranks(self) -> AliasSampler:
        more = Selection(self.epsilon + 1, self.proposals, self.best, self.rounds)
        return AliasSampler.from_counts(more.counts[:, None], reports=self.proposals)


class AlwaysWindow(KeepsItsPromise, ask.PrivateNumber):
    """Its law holds a window of a higher level."""

    @cached_property
    def law(self) -> NumberLaw:
        return NumberLaw.within(self.epsilon + 1, "piecewise")


class LeavesOneColumnOpen(ask.PerValueFlip):
    """Protects every value but the last, as a sampler that stops one short would."""

    def draw(self, truth: Any, bits: Any) -> Any:
        reports = super().draw(truth, bits)
        reports[:, -1] = truth[:, -1] > self.bound / 2
        return reports


LARGE, SMALL = 50_000, 700_000  # draws that are enough for a lie


@pytest.mark.parametrize(
    ("channel", "draws", "problems"),
    [
        (TellsTooMuch(3, 2.0), LARGE, ["the law that is drawn from gives epsilon", "the sampler exceeds epsilon"]),
        (DrawsWithAnotherCoin(4, 3.0), SMALL, ["mean estimates are off"]),
        (FlipsLess(6, 2.0), SMALL, ["the scale of all estimates for the truth"]),
        (WrongLowAndHigh(4, 1.0), LARGE, ["the law that is drawn from gives epsilon", "the sampler exceeds epsilon"]),
        (
            BiasedEstimates(0, 10, 2.0),
            SMALL,
            ["over its bounds for the truth 'all highest': should be 1 in the mean, is 1.0"],
        ),
        (BiasedProducts(3, 4.0), SMALL, ["number 1 times number 1 for the truth"]),
        (LeaksTheTruth(0, 1, 1.0, "piecewise"), LARGE, ["the sampler exceeds epsilon"]),
        (FavoursTheBest(3, 2.0), LARGE, ["the scale of all estimates for the truth", "the sampler exceeds epsilon 2."]),
        (AlwaysWindow(0, 1, 1.0), LARGE, ["the law that is drawn from gives epsilon 2, above the promise 1"]),
        (LeavesOneColumnOpen(4, 2.0), LARGE, ["number 4 for the truth", "the sampler exceeds epsilon"]),
    ],
    ids=lambda value: "" if isinstance(value, int | list) else type(value).__name__,
)
def test_channels_that_lie_are_caught(channel: Any, draws: int, problems: list[str]) -> None:
    # A small lie moves means by 2% to 4%, more than nine standard errors at 700,000 draws, in several quantities
    # and truths: one of them escapes an alarm at five with probability 3e-5, two of them with 1e-9. A large one moves
    # means, or the odds of a report, by more than a tenth.
    report = ask.audit(channel, draws=draws)
    assert not report.passed
    audited = report.designs[0]
    said = [*audited.problems, *map(str, audited.faults)]
    for problem in problems:
        assert any(problem in one for one in said), audited.problems
    assert "FAILED" in str(report)


def test_a_row_whose_mechanism_lies_is_caught() -> None:
    row = ask.PrivateRow(COLUMNS, 3.0, "window")
    vars(row)["inner"] = DrawsWithAnotherCoin(3, 3.0)
    audited = ask.audit(row, draws=400_000).designs[0]
    assert not audited.passed
    assert {"age", "income", "value"} & {fault.quantity for fault in audited.faults}


# -- requests ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": 10}, "at least 1000"),
        ({"draws": 1e6}, "whole number"),
        ({"draws": True}, "whole number"),
        ({"error_rate": 0}, "probability"),
        ({"error_rate": float("nan")}, "probability"),
    ],
)
def test_impossible_requests_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ask.InvalidInput, match=message):
        ask.audit(HONEST["hybrid"], **arguments)


def test_costly_channels_get_fewer_draws_by_default() -> None:
    few = ask.audit(ask.PrivUnit(40, 2.0), error_rate=1e-9).designs[0].draws
    many = ask.audit(HONEST["duchi"], error_rate=1e-9).designs[0].draws
    assert 10_000 <= few < 200_000 < many
