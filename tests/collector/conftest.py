"""What tests of the collector share: a database, a browser. Where one cannot be had, the tests say so loudly."""

import shutil
import threading
import warnings

import pytest

from askance.collector.stores import store_at
from collector_study import PLAIN, postgres_programs, questionnaire, running_postgres
from waiting import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# A machine without a network: nothing but our own server is asked for anything.
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def postgres():
    if postgres_programs() is None:
        pytest.skip("*** NO POSTGRESQL: the tests of its store are SKIPPED (Debian: apt-get install postgresql) ***")
    with running_postgres() as cluster:
        yield cluster


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def place(request, tmp_path):
    """Where a store is: a file, or a new database."""
    if request.param == "sqlite":
        return str(tmp_path / "responses.sqlite")
    return request.getfixturevalue("postgres").database()


@pytest.fixture
def store(place):
    opened = store_at(place).open_for(questionnaire(PLAIN).digest)
    yield opened
    opened.disconnect()


# Of a module, not of the session: while playwright runs, its event loop is this thread's, and other tests need theirs.
@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("*** NO CHROMIUM: the tests of the pages are SKIPPED (Debian: apt-get install chromium) ***")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        new_context = started.new_context

        def new_patient_context(**options):
            context = new_context(**options)
            context.set_default_timeout(PATIENCE * 1000)  # half a minute is not enough where everything waits
            context.set_default_navigation_timeout(PATIENCE * 1000)
            return context

        started.new_context = new_patient_context
        started.new_page = lambda **options: new_patient_context(**options).new_page()
        yield started
        started.close()


class LocalServer:
    """The application in a thread of this process: what it does can be looked at."""

    def __init__(self, app):
        import asyncio
        import socket

        import uvicorn

        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}/"
        self.server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, server_header=False))
        self.thread = threading.Thread(target=lambda: asyncio.run(self.server.serve([self.socket])), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.server.should_exit = True
        self.thread.join()
        self.socket.close()


@pytest.fixture
def serving():
    """Serve an application until the test ends; returns its address."""
    running = []

    def serve(app):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            running.append(LocalServer(app).__enter__())
        return running[-1].address

    yield serve
    for server in running:
        server.__exit__()
