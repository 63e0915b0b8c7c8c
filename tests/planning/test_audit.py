"""The audit: honest channels pass at the stated rate, and sabotaged ones are caught."""

import json
import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import askance as ask
from askance.channels.guarantee import Guarantee
from askance.entropy.draws import AliasSampler, BinarySampler, Sampler
from askance.entropy.thresholds import RESOLUTION, exact_counts, exact_epsilon
from askance.planning.auditing.channel_audit import enumerated_epsilon

HONEST = [
    ask.Warner(0.75),
    ask.Crosswise(0.2),
    ask.ForcedResponse(1 / 6, 1 / 6),
    ask.UnrelatedQuestion(0.7, 0.4),
    ask.Mangat(0.7),
    ask.Triangular(0.25),
    ask.Kuk(0.8, 0.3),
    ask.Identity(["a", "b", "c"]),
    ask.RandomizedResponse(["no", "yes"], epsilon=1.0),
    ask.RandomizedResponse(range(12), epsilon=2.0),
    ask.RandomizedResponse([True, False], truth_probability=0.3, base=[0.9, 0.1]),
    ask.FiniteChannel([[0.5, 0.2, 0.1], [0.3, 0.5, 0.1], [0.1, 0.2, 0.1], [0.1, 0.1, 0.7]], ["a", "b", "c"], range(4)),
    ask.DesignPerRow({"cards": ask.Warner(0.8), "dice": ask.ForcedResponse(0.1, 0.3), "direct": ask.Identity()}),
]


@pytest.mark.parametrize("channel", HONEST, ids=repr)
def test_honest_channels_pass(channel: Any) -> None:
    # Real entropy, so there is no seed to fix: each fails with probability 1e-9 at most.
    report = ask.audit(channel, draws=50_000, error_rate=1e-9)
    assert report.passed, str(report)
    assert report.exact_epsilon == pytest.approx(channel.guarantee.epsilon, rel=1e-12)
    assert 0 <= report.lower_bound <= report.exact_epsilon
    assert sum(design.cells for design in report.designs) == channel.matrix.size


def test_the_lower_bound_comes_close_to_the_truth() -> None:
    # Confidence 1 - 2e-10; with 200,000 draws the limits are within 0.1 of log 3.
    report = ask.audit(ask.Warner(0.75), draws=200_000, error_rate=1e-9)
    assert math.log(3) - 0.1 < report.lower_bound <= math.log(3)
    assert report.designs[0].confidence == pytest.approx(1 - 2e-10)


def test_enumeration_agrees_with_the_promise_and_with_hand_calculation() -> None:
    assert enumerated_epsilon(exact_counts(np.array([[0.75, 0.25], [0.25, 0.75]]))) == pytest.approx(math.log(3))
    assert enumerated_epsilon(np.array([[RESOLUTION, RESOLUTION], [0, 0]])) == 0.0
    assert math.isinf(enumerated_epsilon(np.array([[RESOLUTION, RESOLUTION - 1], [0, 1]])))
    rng = np.random.default_rng(0)
    for _ in range(20):
        counts = exact_counts(rng.dirichlet(np.ones(4), size=3).T)
        assert enumerated_epsilon(counts) == pytest.approx(exact_epsilon(counts), rel=1e-14)


# -- the stated rate ---------------------------------------------------------------------------------

PARENT = os.getpid()
RNG = np.random.default_rng(20_240_229)


class SeededWarner(ask.Warner):
    """Honest, but drawing from a generator, so that the test can be repeated; a forked child must have another."""

    def privatize(self, truth: Any) -> Any:
        return self.simulate(truth, RNG if os.getpid() == PARENT else np.random.default_rng())


def test_honest_channels_fail_no_more_often_than_stated() -> None:
    # 60 audits at error rate 0.2. If the rate is kept, more failures than `most` have probability 1e-6.
    audits, rate = 60, 0.2
    failures = sum(not ask.audit(SeededWarner(0.7), draws=2_000, error_rate=rate).passed for _ in range(audits))
    most = binom.isf(1e-6, audits, rate)
    assert 0 < failures <= most  # 0 would mean that the tests have no power left to spend


# -- sabotage ----------------------------------------------------------------------------------------


class FlipsLess(ask.Warner):
    """Declares p, draws with another."""

    @cached_property
    def sampler(self) -> Sampler:
        return BinarySampler(np.ascontiguousarray(ask.Warner(self.p + 0.01).counts[1]))


class LeavesLastClassUnprotected(ask.RandomizedResponse):
    """Protects every class but the last, as a sampler that stops one short would."""

    @cached_property
    def sampler(self) -> Sampler:
        counts = self.counts.copy()
        counts[:, -1] = 0
        counts[-1, -1] = RESOLUTION
        return AliasSampler.from_counts(counts, reports=len(self.classes))


class NeverReportsLast(ask.RandomizedResponse):
    """Ignores the last class when it lies."""

    def privatize(self, truth: Any) -> Any:
        reports = super().privatize(truth)
        lied = (reports == self.classes[-1]) & (np.asarray(truth) != self.classes[-1])
        return np.where(lied, self.classes[0], reports)


class PromisesTooMuch(ask.Warner):
    """Draws as declared, and claims more privacy than that gives."""

    @cached_property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=super().guarantee.epsilon / 2)


class AnotherMatrix(ask.Warner):
    """Tells estimators another matrix than the one that is drawn from."""

    @cached_property
    def matrix(self) -> Any:
        return ask.Warner(0.9).matrix


@dataclass(frozen=True, eq=False, repr=False)
class DoesNotAddUp(ask.Warner):
    """Its counts do not sum to 2^62."""

    @cached_property
    def counts(self) -> Any:
        return super().counts - np.array([[1, 0], [0, 0]])


@pytest.mark.parametrize(
    ("channel", "problem"),
    [
        (FlipsLess(0.75), "cells are off"),
        (LeavesLastClassUnprotected(["a", "b", "c"], epsilon=1.0), "report 'c' for the truth 'c'"),
        (NeverReportsLast(["a", "b", "c"], epsilon=1.0), "report 'c' for the truth 'a'"),
        (PromisesTooMuch(0.75), "the table gives epsilon 1.09861, above the promise 0.549306"),
        (PromisesTooMuch(0.75), "the sampler exceeds epsilon"),
        (AnotherMatrix(0.75), "the matrix that estimators use differs"),
        (DoesNotAddUp(0.75), "do not add up to 2"),
    ],
)
def test_sabotage_is_caught(channel: Any, problem: str) -> None:
    # The smallest sabotage moves a probability by 0.01, 14 standard errors at 400,000 draws: it escapes
    # an alarm at error rate 1e-6 with probability below 1e-15.
    report = ask.audit(channel, draws=400_000, error_rate=1e-6)
    assert not report.passed
    assert any(problem in said for said in report.designs[0].problems), report.designs[0].problems
    assert "FAILED" in str(report)


def test_one_bad_design_among_good_ones_is_named() -> None:
    channel = ask.DesignPerRow({"good": ask.Warner(0.8), "bad": FlipsLess(0.75)})
    report = ask.audit(channel, draws=1_000_000, error_rate=1e-6)
    assert [(design.name, design.passed) for design in report.designs] == [("good", True), ("bad", False)]


def test_the_report_is_strict_json_and_readable() -> None:
    report = ask.audit(ask.DesignPerRow({"a": ask.Warner(0.8), "b": ask.Mangat(0.6)}), draws=10_000, error_rate=1e-9)
    fields = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert fields["passed"] is True
    assert fields["error_rate"] == 1e-9
    assert fields["exact_epsilon"] == "infinite"
    assert [design["name"] for design in fields["designs"]] == ["a", "b"]
    assert "audit passed" in str(report)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": 10}, "at least 40"),
        ({"draws": 10**400}, "at most 10,000,000,000"),
        ({"draws": 1e6}, "whole number"),
        ({"error_rate": 0}, "probability"),
        ({"error_rate": 1.5}, "probability"),
        ({"error_rate": float("nan")}, "probability"),
    ],
)
def test_impossible_requests_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ask.InvalidInput, match=message):
        ask.audit(ask.Warner(0.8), **arguments)


def test_only_channels_are_audited() -> None:
    with pytest.raises(ask.InvalidInput, match="finite channel"):
        ask.audit("warner")  # type: ignore[arg-type]
