"""Every planted defect is found, and honest runs raise no more alarms than stated.

How often each is found at the default number of draws is measured by ``make bench ARGS=audit``.
"""

import warnings

import pytest

import askance as ask
from askance.planning.auditing import RELEASE_SHARES, SHARES
from planted_defects import CHANNELS, RELEASES


@pytest.mark.parametrize("name", CHANNELS)
def test_a_planted_defect_is_found(name: str) -> None:
    # In 20 runs of each with 20,000 rows all were found (make bench ARGS=audit); their p-values are below 1e-9.
    report = ask.audit(CHANNELS[name], draws=20_000)
    assert not report.passed, str(report)
    assert report.problems


@pytest.mark.parametrize("name", RELEASES)
def test_a_planted_defect_of_a_release_is_found(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)  # a release without a ledger
        report = RELEASES[name](400)
    assert not report.passed, str(report)


def test_dependence_is_not_blamed_on_the_law() -> None:
    report = ask.audit(CHANNELS["neighbouring rows share a coin"], draws=20_000)
    assert all(design.passed for design in report.designs)
    assert [question.name for question in report.questions if not question.passed] == ["neighbouring rows"]


def test_shares_add_up_to_the_error_rate() -> None:
    assert sum(SHARES.values()) == pytest.approx(1)
    assert sum(RELEASE_SHARES.values()) == pytest.approx(1)


def test_honest_runs_raise_few_alarms() -> None:
    # 60 audits at rate 0.05: 3 alarms are stated at most, more than 14 have probability 2e-7.
    channel = ask.RandomizedResponse(("a", "b", "c"), epsilon=1.0)
    assert sum(not ask.audit(channel, draws=2_000, error_rate=0.05).passed for _ in range(60)) <= 14


def test_a_channel_that_draws_elsewhere_is_said_not_to_be_judged_by_replay() -> None:
    report = ask.audit(CHANNELS["the same stream in every call"], draws=1_000)
    leaks = report.questions[-1]
    assert leaks.name == "leaks"
    assert "could not be replayed" in leaks.note
