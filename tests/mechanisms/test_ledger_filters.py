"""Ledgers that know what mechanisms give away: filters, totals, and a chain of seals."""

import json
import multiprocessing
import shutil
import sqlite3
from fractions import Fraction

import pytest

import askance as ask
from askance.errors import BudgetSpent, InvalidInput, ReleaseError
from askance.mechanisms import Budget, Receipt
from askance.mechanisms.accounting import (
    ChannelLoss,
    GaussianFilter,
    GaussianLoss,
    LaplaceLoss,
    LevelLoss,
    SumsFilter,
    compose,
)
from waiting import PATIENCE

NOISE = GaussianLoss.of(0.1, 1e-8)


@pytest.fixture
def ledger(tmp_path):
    return ask.Ledger.create(tmp_path / "l", "0.915", "1e-6", data_set="clinic", filter="gdp")


def spend_noise(ledger, times):
    for _ in range(times):
        ledger.spend(0.1, "1e-8", what="normal noise", losses=[NOISE])


# -- filters ---------------------------------------------------------------------------------------------------------


def test_a_hundred_gaussian_releases_fit_into_what_they_cost(ledger):
    spend_noise(ledger, 100)
    with pytest.raises(
        BudgetSpent, match=r"epsilon 0\.00\d+ left of epsilon 0\.915, delta 0\.000001 by the filter gdp"
    ):
        spend_noise(ledger, 1)
    assert len(ledger.entries) == 100
    assert 0.9137 < ledger.total() <= 0.915
    assert ledger.total(1e-8) > ledger.total(1e-4)
    assert ledger.spent == Budget.of(10, "1e-6")
    account = json.loads(json.dumps(ledger.to_dict()))
    assert account["filter"] == {"filter": "gdp"}
    assert account["total"]["epsilon"] == pytest.approx(ledger.total())
    assert account["entries"][0]["losses"] == [NOISE.to_dict()]


def test_sums_say_what_another_filter_would_have_allowed(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 1, "1e-6", data_set="d", filter="sums")
    spend_noise(ledger, 10)
    with pytest.raises(BudgetSpent, match=r"would cost epsilon 0\.2.*filter='gdp'"):
        spend_noise(ledger, 1)


def test_small_pure_releases_under_renyi(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 1, "1e-6", data_set="d", filter={"filter": "renyi", "order": 22})
    response = ask.RandomizedResponse(["no", "yes"], epsilon=0.02)
    for _ in range(60):
        ledger.spend("0.02", what="a report", losses=[ChannelLoss(response)])
    assert ledger.spent.epsilon > 1
    assert ledger.filter.order == 22
    assert 0 < ledger.remaining.epsilon < 1
    ledger.spend(ledger.remaining.epsilon, what="all that is left")
    with pytest.raises(BudgetSpent):
        ledger.spend("0.02", what="a report")


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (("0.1", "1e-8", [NOISE]), "either"),
        (("0.1", "6e-7", [GaussianLoss.of(0.1, 6e-7)]), "sums"),
        (("0.9", "1e-6", [GaussianLoss.of(0.9, 1e-6)]), "sums"),
        (("0.1", "1e-8", None), "sums"),
        (("0.2", 0, [LaplaceLoss(1, Fraction(5))]), "sums"),
    ],
)
def test_the_first_release_fixes_a_rule_that_was_left_open(tmp_path, first, kind):
    ledger = ask.Ledger.create(tmp_path / "l", 1, "1e-6", data_set="d")
    assert ledger.filter is None
    epsilon, delta, losses = first
    ledger.spend(epsilon, delta, what="x", losses=losses)
    assert ledger.filter.kind == kind
    ledger.spend("0.01", what="another kind", losses=[LevelLoss.of("0.01")])
    assert ask.Ledger(ledger.path).filter.kind == kind


def test_a_whole_budget_can_be_spent_at_once(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 1, "1e-6", data_set="d")
    ledger.spend(1, "1e-6", what="all", losses=[GaussianLoss.of(1, 1e-6)])
    assert ledger.remaining == Budget(Fraction(0))


def test_without_delta_there_are_only_sums(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 1, data_set="d")
    with pytest.raises(BudgetSpent):
        ledger.spend("0.1", "1e-8", what="noise", losses=[NOISE])
    ledger.spend("0.1", what="pure")
    assert isinstance(ledger.filter, SumsFilter)
    for rule in ("gdp", "renyi"):
        with pytest.raises(InvalidInput, match="delta"):
            ask.Ledger.create(tmp_path / "m", 1, data_set="d", filter=rule)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("rule", ["pld", {"filter": "renyi", "order": 0.5}, {}, 3])
def test_a_filter_that_is_none(tmp_path, rule):
    with pytest.raises(InvalidInput):
        ask.Ledger.create(tmp_path / "l", 1, "1e-6", data_set="d", filter=rule)
    assert not (tmp_path / "l").exists()


def test_losses_above_the_level_are_refused(ledger):
    for losses in ([GaussianLoss.of(0.2, 1e-8)], [LaplaceLoss(1, Fraction(5))], [NOISE, NOISE], []):
        with pytest.raises(InvalidInput, match="losses"):
            ledger.spend(0.1, "1e-8", what="more than it says", losses=losses)
    assert ledger.entries == ()


def test_several_losses_are_one_entry(ledger):
    bags = [LaplaceLoss(1, Fraction(20))] * 3
    ledger.spend("0.15", what="three bags", losses=bags)
    (entry,) = ledger.entries
    assert entry.losses == tuple(bags)
    assert ledger.total() == pytest.approx(compose(bags, delta=1e-6))


def test_nothing_spent_costs_nothing(ledger):
    assert ledger.total() == 0
    assert isinstance(ledger.filter, GaussianFilter)


# -- seals and receipts ----------------------------------------------------------------------------------------------


def change(path, statement, *values):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DROP TRIGGER IF EXISTS nothing_is_given_back")
        connection.execute("DROP TRIGGER IF EXISTS nothing_is_changed")
        connection.execute(statement, values)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET content = replace(content, '0.1', '0.01') WHERE sequence = 2",
        "UPDATE entries SET time = '2020-01-01T00:00:00+00:00' WHERE sequence = 1",
        "DELETE FROM entries WHERE sequence = 2",
        "UPDATE entries SET entry = 7 WHERE sequence = 3",
        "UPDATE ledger SET epsilon = '100'",
        'UPDATE ledger SET filter = \'{"filter": "sums"}\'',
        "UPDATE entries SET kind = 'record' WHERE sequence = 3",
    ],
)
def test_a_change_of_what_was_is_seen(ledger, statement):
    spend_noise(ledger, 3)
    change(ledger.path, statement)
    for use in (lambda: ask.Ledger(ledger.path), lambda: spend_noise(ledger, 1), lambda: ledger.entries):
        with pytest.raises(ReleaseError, match="was changed"):
            use()


def test_a_ledger_that_was_set_back_is_seen_by_a_receipt(ledger, tmp_path):
    spend_noise(ledger, 2)
    older = shutil.copyfile(ledger.path, tmp_path / "older")
    spend_noise(ledger, 1)
    ledger.record(3, "abc")
    receipt = Receipt.from_dict(json.loads(json.dumps(ledger.receipt().to_dict())))
    ledger.check_receipt(receipt)
    spend_noise(ledger, 1)
    ledger.check_receipt(receipt)  # it went on from there
    set_back = ask.Ledger(older)
    with pytest.raises(ReleaseError, match=r"set back.*4 events, the ledger has 2"):
        set_back.check_receipt(receipt)
    spend_noise(set_back, 5)  # more events than the receipt knows of, but others
    with pytest.raises(ReleaseError, match="set back"):
        set_back.check_receipt(receipt)


def test_a_receipt_of_an_empty_ledger_knows_it(ledger, tmp_path):
    receipt = ledger.receipt()
    spend_noise(ledger, 1)
    ledger.check_receipt(receipt)
    other = ask.Ledger.create(tmp_path / "other", "0.915", "1e-6", data_set="other", filter="gdp")
    with pytest.raises(ReleaseError):
        other.check_receipt(receipt)


@pytest.mark.parametrize(
    "fields",
    [None, {}, {"format": "askance-ledger-receipt", "version": 2}, {"format": "askance-ledger-receipt", "version": 1}],
)
def test_a_receipt_that_is_none(fields):
    with pytest.raises(InvalidInput, match="receipt"):
        Receipt.from_dict(fields)


def test_damaged_ledgers_are_refused(ledger):
    spend_noise(ledger, 2)
    change(ledger.path, "UPDATE entries SET content = ? WHERE sequence = 1", b"\x00\xff")
    with pytest.raises(ReleaseError, match="damaged"):
        ask.Ledger(ledger.path)


@pytest.mark.parametrize("name", [b"tableentries", b"triggernobody_is_changed"])
def test_damaged_names_are_refused(ledger, name):
    """SQLite's message about a name that is no text is no text either."""
    spend_noise(ledger, 1)
    whole = ledger.path.read_bytes()
    assert name in whole
    ledger.path.write_bytes(whole.replace(name, name[:-1] + b"\xff"))
    for use in (lambda: ask.Ledger(ledger.path), lambda: spend_noise(ledger, 1)):
        with pytest.raises(ReleaseError, match=r"damaged"):
            use()


def test_nothing_is_changed_through_sql(ledger):
    spend_noise(ledger, 1)
    connection = sqlite3.connect(ledger.path)
    for statement in ("DELETE FROM entries", "UPDATE entries SET entry = 2"):
        with pytest.raises(sqlite3.IntegrityError, match="a ledger"):
            connection.execute(statement)
    connection.close()


# -- many processes --------------------------------------------------------------------------------------------------


def race(path, results):
    won = 0
    for _ in range(12):
        try:
            spend_noise(ask.Ledger(path), 1)
            won += 1
        except BudgetSpent:
            pass
    results.put(won)


def test_racing_processes_never_overspend_a_filter(tmp_path):
    # Normal noise of (0.1, 1e-8): 13 of them are what (0.3, 1e-6) allows, and 24 are asked for.
    path = tmp_path / "l"
    ledger = ask.Ledger.create(path, "0.3", "1e-6", data_set="d", filter="gdp")
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    racers = [context.Process(target=race, args=(str(path), results)) for _ in range(2)]
    for racer in racers:
        racer.start()
    won = sum(results.get(timeout=PATIENCE) for _ in racers)
    for racer in racers:
        racer.join(PATIENCE)
    assert won == len(ledger.entries)
    assert ledger.total() <= 0.3
    with pytest.raises(BudgetSpent):
        spend_noise(ledger, 1)
