"""A budget is that of every single person, by identifier, whatever file they are in."""

import sqlite3

import numpy as np
import pyarrow as pa
import pytest

import askance as ask
from askance.errors import BudgetSpent, InvalidInput, ReleaseError
from askance.mechanisms import Budget
from askance.mechanisms.accounting import GaussianLoss

PEOPLE = [f"P{i:03}" for i in range(100)]


@pytest.fixture
def ledger(tmp_path):
    return ask.Ledger.create(tmp_path / "l", 1, "1e-6", data_set="clinic", filter="sums")


# -- the attack: the same people under another name -------------------------------------------------------------------


SAME = {
    "less one": PEOPLE[1:],
    "one more": [*PEOPLE, "somebody new"],
    "only one": [PEOPLE[17]],
    "in another order": PEOPLE[::-1],
    "in capitals": [text.lower() for text in PEOPLE],
    "with spaces": [f"  {text[0]} {text[1:]}\t" for text in PEOPLE],
    "wide letters": [text.translate({ord("P"): "Ｐ"}) for text in PEOPLE],
    "invisible marks": ["\ufeff" + text + "\u200b" for text in PEOPLE],
    "numpy": np.array(PEOPLE),
    "categories": pa.array(PEOPLE).dictionary_encode(),
    "objects": np.array(PEOPLE, dtype=object),
}


@pytest.mark.parametrize("same", SAME.values(), ids=SAME)
def test_the_same_people_have_no_new_budget(ledger, same):
    ledger.spend("0.75", what="a release", people=PEOPLE)
    with pytest.raises(BudgetSpent, match=r"epsilon 0\.25, delta 0\.000001 left") as refused:
        ledger.spend("0.75", what="a release", people=same)
    assert "ledger create" not in str(refused.value)
    assert len(ledger.entries) == 1
    ledger.spend("0.25", what="a release", people=same)


@pytest.mark.parametrize("same", [["1", "2"], ["001", "2"], [2.0, 1.0], ["1.0", "2."], [2, 1], ["+1", " 2 "]])
def test_numbers_are_the_same_people_as_texts(ledger, same):
    ledger.spend("0.75", what="a release", people=[1, 2])
    with pytest.raises(BudgetSpent):
        ledger.spend("0.75", what="a release", people=same)


def test_without_identifiers_everybody_pays(ledger):
    ledger.spend("0.5", what="named", people=PEOPLE)
    ledger.spend("0.25", what="unnamed")
    for people in (PEOPLE, PEOPLE[:1], None, "a text that names nobody"):
        with pytest.raises(BudgetSpent, match=r"epsilon 0\.25"):
            ledger.spend("0.5", what="more", people=people)
    with pytest.raises(BudgetSpent, match=r"epsilon 0\.75"):
        ledger.spend("0.8", what="new people, who may be those of the unnamed release", people=["new"])
    ledger.spend("0.75", what="new people", people=["new"])
    assert ledger.remaining.epsilon == 0


def test_disjoint_people_have_a_budget_each(ledger):
    for start in range(0, 100, 10):
        ledger.spend(1, "5e-7", what="ten people", people=PEOPLE[start : start + 10])
    assert ledger.spent == Budget.of(1, "5e-7")
    assert ledger.total() <= 1 + 1e-9
    with pytest.raises(BudgetSpent):
        ledger.spend("0.01", what="one of them", people=["P055", "new"])
    ledger.spend("0.01", what="somebody new", people=["new"])


def test_the_worst_person_counts_as_enumeration_says(tmp_path):
    """Random releases on random people: allowed exactly as long as everybody's own sum is."""
    rng = np.random.default_rng(0)
    ledger = ask.Ledger.create(tmp_path / "l", 1, "1e-6", data_set="d", filter="sums")
    spent: dict[int, Budget] = {}
    stranger = Budget.of(1, 0) - Budget.of(1, 0)
    allowed = 0
    for _ in range(60):
        level = Budget.of(f"0.{rng.integers(1, 40):02}", f"{rng.integers(0, 4)}e-7")
        people = rng.choice(30, rng.integers(1, 12), replace=False).tolist() if rng.random() < 0.9 else None
        touched = range(-1, 30) if people is None else people
        after = {person: spent.get(person, stranger) + level for person in touched}
        try:
            ledger.spend(level.epsilon, level.delta, what="x", people=people)
        except BudgetSpent:
            assert any(not each.within(ledger.budget) for each in after.values())
        else:
            assert all(each.within(ledger.budget) for each in after.values())
            spent |= after
            stranger = after.get(-1, stranger)
            allowed += 1
    assert 10 < allowed < 60
    assert ledger.spent.epsilon == max(each.epsilon for each in spent.values())
    assert ledger.spent.delta == max(each.delta for each in spent.values())


def test_a_filter_counts_for_each_person(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", "0.3", "1e-6", data_set="d", filter="gdp")
    noise = GaussianLoss.of(0.1, 1e-8)
    for group in (PEOPLE[:50], PEOPLE[50:]):
        for _ in range(12):
            ledger.spend("0.1", "1e-8", what="noise", people=group, losses=[noise])
        with pytest.raises(BudgetSpent, match="by the filter gdp for these 50 people"):
            ledger.spend("0.1", "1e-8", what="noise", people=group, losses=[noise])
    assert [entry.group for entry in ledger.entries] == [1] * 12 + [2] * 12
    assert ledger.total() <= 0.3


def test_a_refused_spend_leaves_nobody_behind(ledger):
    with pytest.raises(BudgetSpent):
        ledger.spend(2, what="too much", people=PEOPLE)
    assert ledger.to_dict()["known_people"] == 0
    ledger.spend(1, what="x", people=PEOPLE)


# -- who is who ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("people", "says"),
    [
        (["a", "b", "a"], "'a' occurs more than once"),
        (["a", "b", "A "], "differ only in case"),
        (["7", "007"], "differ only in case"),
        (["a", " "], "row 2 has no identifier"),
        (["a", None], "row 2 has no identifier"),
        ([1.5, 2.0], "type double"),
        ([True, False], "type bool"),
        (17, "identifiers of type int"),
        (iter(["a"]), "a list, an array or a column"),
        (b"ids", "identifiers of type bytes"),
    ],
)
def test_identifiers_that_are_none(ledger, people, says):
    with pytest.raises(InvalidInput, match=says):
        ledger.spend("0.1", what="x", people=people)
    assert ledger.entries == ()


def test_nobody_at_all(ledger):
    with pytest.raises(InvalidInput, match="no identifiers"):
        ledger.spend("0.1", what="x", people=[])


def test_an_entry_says_whom_it_is_about(ledger):
    for people in (PEOPLE[:40], PEOPLE[:60], PEOPLE[:60], None, ["new"]):
        ledger.spend("0.01", what="x", people=people)
    assert [entry.whom for entry in ledger.entries] == [
        "40 people, all new", "60 people, 20 new", "60 people", "everybody", "1 person, all new",
    ]  # fmt: skip
    assert "of their own" in ledger.entries[4].remark
    assert "everybody" in ledger.entries[3].remark
    assert not any(entry.remark for entry in ledger.entries[:3])
    account = ledger.to_dict()
    assert account["known_people"] == 61
    assert [(past["people"], past["spent"]["epsilon"]) for past in account["pasts"]] == [
        (40, "0.04"), (20, "0.03"), (1, "0.02"),
    ]  # fmt: skip


# -- what the file holds ---------------------------------------------------------------------------------------------


def test_identifiers_are_not_in_the_file_and_two_ledgers_do_not_match(ledger, tmp_path):
    import hashlib

    other = ask.Ledger.create(tmp_path / "other", 1, data_set="clinic")
    for each in (ledger, other):
        each.spend("0.5", what="x", people=PEOPLE)
    blobs = []
    for each in (ledger, other):
        content = each.path.read_bytes()
        for text in PEOPLE[:5]:
            assert text.encode() not in content
            for digest in ("sha256", "md5", "blake2b"):
                assert hashlib.new(digest, text.lower().encode()).digest()[:8] not in content
        connection = sqlite3.connect(each.path)
        blobs.append(connection.execute("SELECT added FROM people").fetchone()[0])
        connection.close()
    assert {blobs[0][i : i + 8] for i in range(0, 800, 8)}.isdisjoint(blobs[1][i : i + 8] for i in range(0, 800, 8))


def test_the_same_people_again_take_no_more_room(ledger):
    people = [f"{i}" for i in range(20_000)]
    ledger.spend("0.01", what="x", people=people)
    before = ledger.path.stat().st_size
    assert before < 8 * 20_000 + 50_000
    for _ in range(3):
        ledger.spend("0.01", what="x", people=people)
    for gone in range(5):
        ledger.spend("0.01", what="x", people=people[gone + 1 :])
    assert ledger.path.stat().st_size < before + 20_000


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE people SET added = zeroblob(length(added))",
        "UPDATE people SET members = x'00'",
        "UPDATE ledger SET key = zeroblob(32)",
        "DELETE FROM people",
        "INSERT INTO people SELECT 9, added, members FROM people WHERE number = 1",
        "UPDATE people SET number = 3 WHERE number = 2",
        "UPDATE people SET added = 'text' WHERE number = 1",
        "UPDATE ledger SET key = 'text'",
    ],
)
def test_people_who_were_changed_are_noticed(ledger, statement):
    ledger.spend("0.1", what="x", people=PEOPLE)
    ledger.spend("0.1", what="x", people=PEOPLE[3:])
    connection = sqlite3.connect(ledger.path)
    with connection:
        connection.execute("DROP TRIGGER nobody_is_forgotten")
        connection.execute("DROP TRIGGER nobody_is_changed")
        connection.execute(statement)
    connection.close()
    for use in (lambda: ask.Ledger(ledger.path), lambda: ledger.spend("0.1", what="x", people=["new"])):
        with pytest.raises(ReleaseError, match=r"was changed|damaged"):
            use()


def test_people_are_kept_by_triggers(ledger):
    ledger.spend("0.1", what="x", people=PEOPLE)
    connection = sqlite3.connect(ledger.path)
    for statement in ("DELETE FROM people", "UPDATE people SET number = 2"):
        with pytest.raises(sqlite3.IntegrityError, match="a ledger"):
            connection.execute(statement)
    connection.close()


# -- panels ----------------------------------------------------------------------------------------------------------


def test_all_waves_of_a_panel_cost_as_much_as_its_permanent_response(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 2, "1e-6", data_set="diaries")
    diary = ask.Memoised(ask.RandomizedResponse(["no", "yes"], epsilon=1.5), 1.0)
    for week in range(6):
        ledger.spend_panel(diary, panel="drinking", what=f"week {week}", people=PEOPLE[week:])
    assert float(ledger.spent.epsilon) == pytest.approx(1.5)
    assert ledger.total() <= 1.5
    with pytest.raises(BudgetSpent):  # permanent responses that are drawn anew
        ledger.spend_panel(diary, panel="drinking, again", what="week 1", people=PEOPLE)
    with pytest.raises(BudgetSpent):  # another channel cannot be about the same permanent responses
        ledger.spend_panel(ask.Memoised(ask.Warner(0.8), 1.0), panel="drinking", what="week 1", people=PEOPLE)
    with pytest.raises(BudgetSpent):
        ledger.spend("0.51", what="another question", people=PEOPLE[-1:])
    ledger.spend("0.49", what="another question", people=PEOPLE[-1:])
    ledger.spend_panel(diary, panel="drinking", what="one more week", people=PEOPLE)
    assert ledger.entries[0].panel == "drinking"


def test_what_is_no_panel(ledger):
    with pytest.raises(InvalidInput, match="Memoised"):
        ledger.spend_panel(ask.Warner(0.8), panel="p", what="x")
    with pytest.raises(InvalidInput, match="panel"):
        ledger.spend_panel(ask.Memoised(ask.Warner(0.8), 1.0), panel=" ", what="x")
    with pytest.raises(InvalidInput, match="finite level"):
        ledger.spend_panel(ask.Memoised(ask.Mangat(0.8), 1.0), panel="p", what="x")
    assert ledger.entries == ()
