"""What was acknowledged is stored, whenever the server dies; a server that acknowledges too early is found out."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from askance.collector import Collection
from collector_killing import survives_killing
from collector_study import PLAIN, ServerProcess, questionnaire, response

HASTY = Path(__file__).with_name("hasty_server.py")
KILLS = 2  # benchmarks/collector.py kills twenty times


def all_agree(standings):
    return all(one.reports == one.tallied == one.spent for one in standings)


def test_what_was_acknowledged_is_stored_whenever_the_server_is_killed(tmp_path, place):
    lost, standings, acknowledged = survives_killing(tmp_path, place, KILLS)
    assert acknowledged >= 20 * KILLS
    assert lost == set()
    assert all_agree(standings)


def test_a_server_that_acknowledges_too_early_is_found_out(tmp_path):
    lost, _, _ = survives_killing(tmp_path, str(tmp_path / "r.sqlite"), 1, program=HASTY)
    assert lost


def test_two_servers_on_one_database_spend_an_invitation_once(tmp_path, postgres):
    from concurrent.futures import ThreadPoolExecutor

    from collector_killing import send, standing

    (tmp_path / "study.toml").write_text(PLAIN, encoding="utf-8")
    place = postgres.database()
    collection = Collection.of(tmp_path / "study.toml", place, None)
    tokens = collection.invite(60, None)
    asked = questionnaire(PLAIN)
    first, second = (ServerProcess(tmp_path, "--store", place) for _ in range(2))
    with first, second, ThreadPoolExecutor(12) as pool:
        posts = [
            pool.submit(send, server.port, response(asked, token, cheated=number % 2))
            for number, token in enumerate(tokens)
            for server in (first, second)
            for _ in range(3)
        ]
        codes = [post.result() for post in posts]
        # Told to stop, a server finishes what it has begun, and ends by itself.
        first.stop()
        assert "Traceback" not in first.said
    assert codes.count(201) == 60
    assert codes.count(200) == 300
    counted = standing(collection)
    assert (counted.spent, counted.reports, counted.tallied) == (60, 60, 60)


def test_every_batch_waits_for_the_disk(tmp_path):
    """Seen from outside: killing a process does not show whether its writes would survive a power cut."""
    if shutil.which("strace") is None:
        pytest.skip("*** NO STRACE: that commits wait for the disk is NOT CHECKED (Debian: apt-get install strace) ***")
    script = (
        "import sys; from pathlib import Path\n"
        "from askance.collector.sqlite_store import SqliteStore\n"
        "from askance.collector.store import Submission\n"
        "store = SqliteStore(Path(sys.argv[1])).open_for('x')\n"
        "store.invite([b'%d' % n for n in range(40)], None)\n"
        "for batch in range(10):\n"
        "    store.take([Submission(b'%d' % (4 * batch + n), '[0]') for n in range(4)])\n"
    )

    def flushes(source):
        trace = tmp_path / "trace"
        command = ["strace", "-f", "-e", "trace=fdatasync,fsync", "-o", str(trace), sys.executable, "-c", source]
        run = subprocess.run([*command, str(tmp_path / "r.sqlite")], capture_output=True, text=True)
        if "ptrace" in run.stderr.lower() or "not permitted" in run.stderr:
            pytest.skip(
                f"*** STRACE IS NOT ALLOWED HERE: that commits wait for the disk is NOT CHECKED: {run.stderr} ***"
            )
        assert run.returncode == 0, run.stderr
        count = trace.read_text().count("sync(")
        (tmp_path / "r.sqlite").unlink()
        return count

    careless = script.replace("store.invite", "store._sql.execute('PRAGMA synchronous = OFF'); store.invite", 1)
    assert flushes(script) - flushes(careless) >= 11  # of the invitations, and of each of ten batches


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 32 megabytes: a log of four is emptied into the database now and then."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)], capture_output=True)
    if mount.returncode:
        pytest.skip("*** NO SMALL DISK CAN BE MOUNTED HERE: a full disk is tested by a limit of the database only ***")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_refuses_what_it_cannot_keep_and_goes_on_when_there_is_room(tmp_path, small_disk):
    from collector_killing import send, standing

    (tmp_path / "study.toml").write_text(PLAIN, encoding="utf-8")
    place = str(small_disk / "r.sqlite")
    collection = Collection.of(tmp_path / "study.toml", place, None)
    tokens = collection.invite(300, None)
    asked = questionnaire(PLAIN)
    ballast = small_disk / "ballast"
    free = shutil.disk_usage(small_disk).free
    with ServerProcess(tmp_path, "--store", place) as server:
        ballast.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - 400_000))
        first = {token: send(server.port, response(asked, token)) for token in tokens}
        stored = [token for token, status in first.items() if status == 201]
        assert {*first.values()} == {201, 503}
        assert 0 < len(stored) < 300 < free
        ballast.unlink()
        counted = standing(collection)
        assert (counted.spent, counted.reports, counted.tallied) == (len(stored),) * 3
        again = {token: send(server.port, response(asked, token)) for token in tokens}
        assert [token for token, status in again.items() if status == 200] == stored
        assert {*again.values()} == {200, 201}
    counted = standing(collection)
    assert (counted.spent, counted.reports, counted.tallied) == (300, 300, 300)
