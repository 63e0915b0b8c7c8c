"""Keeping: an invitation counts once, everything of a batch is stored or nothing, and closing unlinks."""

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from askance.collector.store import Outcome, StoreUnavailable, Submission, today
from askance.collector.stores import store_at
from askance.collector.writer import Writer
from askance.errors import InvalidInput
from collector_study import PLAIN, questionnaire

DIGEST = questionnaire(PLAIN).digest


def digests(count):
    return [b"%032d" % number for number in range(count)]


def take_one(store, digest, cell="[0]"):
    return store.take([Submission(digest, cell)])[0]


def consistent(store, stored):
    """Reports, tallies and spent invitations, which all must be the same number."""
    standing = store.standing()
    assert standing.reports == standing.tallied == standing.spent == stored
    assert sum(people for _, people in standing.days) == stored


def test_an_invitation_counts_once_and_only_if_it_was_given_out(store):
    store.invite(digests(3), None)
    assert take_one(store, digests(1)[0], "[1]") is Outcome.STORED
    assert take_one(store, digests(1)[0], "[0]") is Outcome.SPENT
    assert take_one(store, b"forged") is Outcome.UNKNOWN
    assert store.tallies() == {"[1]": 1}
    consistent(store, 1)


def test_the_first_of_a_batch_counts(store):
    store.invite(digests(2), None)
    first, second = digests(2)
    batch = [Submission(first, "[1]"), Submission(second, "[0]"), Submission(first, "[0]"), Submission(b"?", "[0]")]
    assert store.take(batch) == [Outcome.STORED, Outcome.STORED, Outcome.SPENT, Outcome.UNKNOWN]
    assert store.tallies() == {"[0]": 1, "[1]": 1}
    assert sorted(store.cells()) == ["[0]", "[1]"]
    consistent(store, 2)


def test_an_invitation_expires_after_its_last_day(store):
    store.invite([b"today"], today())
    store.invite([b"yesterday"], today() - 1)
    assert take_one(store, b"today") is Outcome.STORED
    assert take_one(store, b"yesterday") is Outcome.EXPIRED
    consistent(store, 1)


def test_inviting_again_does_not_give_a_spent_invitation_back(store):
    store.invite(digests(1), None)
    take_one(store, digests(1)[0])
    store.invite(digests(2), None)
    assert take_one(store, digests(1)[0]) is Outcome.SPENT


def test_an_open_study_takes_any_token_once(store):
    assert store.take([Submission(b"new", "[0]")], invited=False) == [Outcome.STORED]
    assert store.take([Submission(b"new", "[1]")], invited=False) == [Outcome.SPENT]
    consistent(store, 1)


def test_a_closed_study_takes_nothing_and_still_knows_who_was_here(store):
    store.invite(digests(3), None)
    take_one(store, digests(1)[0], "[1]")
    before = store.cells()
    store.close_study()
    assert [take_one(store, digest) for digest in digests(2)] == [Outcome.SPENT, Outcome.CLOSED]
    with pytest.raises(InvalidInput, match="closed"):
        store.invite(digests(4), None)
    assert store.cells() == before
    consistent(store, 1)


def test_deleting_leaves_nothing(store):
    store.invite(digests(5), None)
    take_one(store, digests(1)[0])
    store.delete_everything()
    assert store.standing() == store.standing().__class__(True, 0, 0, 0, 0, ())
    assert store.tallies() == {}
    assert store.cells() == []


def test_a_store_of_another_study_is_refused(store, place):
    store.invite(digests(1), None)
    with pytest.raises(InvalidInput, match="another study"):
        store_at(place).open_for("another")


def test_opening_twice_at_the_same_time_makes_the_tables_once(place):
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda _: store_at(place).open_for(DIGEST), range(4)))
    for each in opened:
        assert each.standing().reports == 0
        each.disconnect()


def test_a_new_file_is_opened_by_four_at_once(tmp_path):
    """Between reading its mark and its tables, or while the log is made, others open it too: one in six failed."""
    for number in range(50):
        at_once = threading.Barrier(4)

        def open_new(_, place=str(tmp_path / f"{number}.sqlite"), at_once=at_once):
            at_once.wait()
            return store_at(place).open_for(DIGEST)

        with ThreadPoolExecutor(4) as pool:
            for each in pool.map(open_new, range(4)):
                each.disconnect()


def test_ten_race_for_each_of_300_invitations(store, place):
    """Several writers on one database: 300 are stored, whoever comes first."""
    store.invite(digests(300), None)
    outcomes = []

    def race(number):
        own = store_at(place).open_for(DIGEST)
        order = digests(300)[number * 30 :] + digests(300)[: number * 30]  # all begin elsewhere
        for start in range(0, 300, 60):
            batch = [Submission(digest, f"[{number % 2}]") for digest in order[start : start + 60]]
            outcomes.extend(own.take(batch))
        own.disconnect()

    threads = [threading.Thread(target=race, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 3000
    assert outcomes.count(Outcome.STORED) == 300
    assert outcomes.count(Outcome.SPENT) == 2700
    consistent(store, 300)


def test_closing_writes_reports_anew_and_links_nothing(store, place):
    """Before, order of writing links invitation and report; afterwards no trace of the old rows is in the database."""
    store.invite(digests(200), None)
    for number, digest in enumerate(digests(200)):
        take_one(store, digest, f'["mark{number:04d}"]')
    before = identifiers(store, place)
    assert linked(place) in (200, None)  # a commit each: whoever copies the live database knows whose report is whose
    store.close_study()
    assert linked(place) in (0, None)
    after = identifiers(store, place)
    assert len(after) == 200
    assert not set(before) & set(after)
    if place.startswith("postgresql"):
        with psycopg.connect(place) as connection:
            assert connection.execute("SELECT count(DISTINCT xmin::text) FROM reports").fetchone() == (1,)
            assert connection.execute("SELECT count(DISTINCT xmin::text) FROM invitations").fetchone() == (1,)
    else:
        store.disconnect()
        everything = b"".join(
            path.read_bytes() for path in store.path.parent.iterdir() if path.name.startswith(store.path.name)
        )
        assert b"mark0123" in everything
        assert not any(old in everything for old in before)


def linked(place):
    """How many invitations a copy of a PostgreSQL database links to their one report: by the transaction of the row."""
    if not place.startswith("postgresql"):
        return None
    with psycopg.connect(place) as connection:
        query = (
            "SELECT count(*) FROM (SELECT i.digest FROM invitations i JOIN reports r ON i.xmin = r.xmin "
            "WHERE i.spent = 1 GROUP BY i.digest HAVING count(*) = 1) AS found"
        )
        return connection.execute(query).fetchone()[0]


def identifiers(store, place):
    if place.startswith("postgresql"):
        with psycopg.connect(place) as connection:
            return [bytes(one) for (one,) in connection.execute("SELECT id FROM reports")]
    with sqlite3.connect(store.path) as connection:
        return [one for (one,) in connection.execute("SELECT id FROM reports")]


# -- the writer ------------------------------------------------------------------------------------------------------


def written(store, submissions, **options):
    """What a writer says of many submissions at a time."""

    async def all_at_once():
        writer = Writer(store, invited=True, **options)
        waiting = asyncio.gather(*map(writer.submit, submissions), return_exceptions=True)
        await asyncio.sleep(0)  # all wait before the first is taken: on a loaded machine batches were smaller
        writer.start()
        answers = await waiting
        assert writer.alive
        more = await asyncio.gather(writer.submit(Submission(b"nobody", "[0]")), return_exceptions=True)
        writer.stop()
        return answers, more[0]

    return asyncio.run(all_at_once())


def test_the_writer_writes_batches(store, monkeypatch):
    store.invite(digests(1000), None)
    sizes = []
    take = store.take
    monkeypatch.setattr(store, "take", lambda batch, **how: sizes.append(len(batch)) or take(batch, **how))
    answers, _ = written(store, [Submission(digest, "[0]") for digest in digests(1000)])
    assert answers == [Outcome.STORED] * 1000
    assert max(sizes) <= 512
    assert len(sizes) <= 6
    consistent(store, 1000)


def test_a_full_disk_fails_the_whole_batch_and_the_writer_goes_on(tmp_path):
    store = store_at(str(tmp_path / "full.sqlite")).open_for(DIGEST)
    store.invite(digests(2000), None)
    pages = store._sql.execute("PRAGMA page_count").fetchone()[0]
    store._sql.execute(f"PRAGMA max_page_count = {pages + 4}")
    batch = [Submission(digest, f'["{"x" * 200}{number}"]') for number, digest in enumerate(digests(512))]
    answers, after = written(store, batch)
    assert all(isinstance(answer, StoreUnavailable) for answer in answers)
    assert after is Outcome.UNKNOWN  # the next batch is looked at as ever
    again = store_at(str(tmp_path / "full.sqlite")).open_for(DIGEST)
    consistent(again, 0)
    assert again.take(batch) == [Outcome.STORED] * 512  # there is room again
    consistent(again, 512)
    again.disconnect()


def test_a_lost_connection_fails_a_batch_and_the_next_one_connects_again(postgres):
    store = store_at(postgres.database()).open_for(DIGEST)
    store.invite(digests(10), None)
    store._sql.execute("BEGIN")
    backend = store._sql.info.backend_pid
    store._sql.execute("ROLLBACK")
    with psycopg.connect(store.url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [backend])
    answers, after = written(store, [Submission(digests(1)[0], "[0]")])
    assert isinstance(answers[0], StoreUnavailable)
    assert after is Outcome.UNKNOWN
    store.connect()
    assert take_one(store, digests(1)[0]) is Outcome.STORED
    consistent(store, 1)
    store.disconnect()


def test_half_of_a_transaction_is_never_written_over_a_new_connection(postgres):
    store = store_at(postgres.database()).open_for(DIGEST)
    store.invite(digests(1), None)
    store.begin()
    with psycopg.connect(store.url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [store._sql.info.backend_pid])
    with pytest.raises(StoreUnavailable):
        store.spend(digests(1), today())
    with pytest.raises(StoreUnavailable):
        store.add_reports([(b"id", "[0]")], today(), [("[0]", 1)])
    store.disconnect()
    consistent(store, 0)
    store.disconnect()


@pytest.mark.parametrize("content", [b"cheated\nyes\n" * 100, b"SQLite format 3\0" + bytes(200)])
def test_another_file_is_not_taken_for_a_store(tmp_path, content):
    path = tmp_path / "answers.csv"
    path.write_bytes(content)
    with pytest.raises((InvalidInput, StoreUnavailable)):
        store_at(str(path)).open_for(DIGEST)
    assert path.read_bytes() == content


def test_another_program_s_database_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE mine (a)")
    with pytest.raises(InvalidInput, match="another program"):
        store_at(str(tmp_path / "other.db")).open_for(DIGEST)


def test_a_url_of_another_kind_is_refused_without_its_password():
    with pytest.raises(InvalidInput, match=r"mysql://\.\.\.") as refused:
        store_at("mysql://me:secret@host/base")
    assert "secret" not in str(refused.value)
