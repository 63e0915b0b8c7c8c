"""What tests of the collector share: a database, a browser. Where one cannot be had, the tests say so loudly."""

import threading
import warnings

import pytest

from askance.collector.stores import store_at
from browsing import browser  # noqa: F401  (a fixture)
from collector_study import PLAIN, postgres_programs, questionnaire, running_postgres


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
