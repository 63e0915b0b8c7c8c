"""Running the collector: a study, its store and its keys become a server that stops gracefully."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askance.collector.keys import Keys, new_token
from askance.collector.questionnaire import Questionnaire
from askance.collector.store import Store
from askance.collector.stores import store_at
from askance.errors import InvalidInput
from askance.releases.study import Study

_SECONDS_TO_FINISH = 20  # for responses that are on their way when the server is told to stop
# Longer than proxies keep a connection that nobody uses (nginx: 60): if we closed it first, it might be while a request
# is on its way.
_SECONDS_OF_SILENCE = 75


@dataclass(frozen=True)
class Collection:
    """A study with the place where its responses are kept, and its keys.

    Parameters
    ----------
    asked : Questionnaire
    place : str
        A file, or a URL of PostgreSQL.
    keys : Keys
    keys_path : Path
    new_keys : bool
        Whether the keys were made just now.
    """

    asked: Questionnaire
    place: str
    keys: Keys
    keys_path: Path
    new_keys: bool

    @classmethod
    def of(cls, study: Path, store: str | None, keys: Path | None) -> "Collection":
        """Open a study file; responses and keys are beside it, unless said otherwise."""
        place = store or str(study.with_name(f"{study.stem}.responses.sqlite"))
        return cls(Questionnaire(Study.read(study)), place, *Keys.beside(study, keys))

    def open_store(self) -> Store:
        """Return a new connection to the responses."""
        return store_at(self.place).open_for(self.asked.digest)

    def invite(self, count: int, expires: int | None) -> list[str]:
        """Make invitations, keep their digests, and return them: they exist nowhere else."""
        if self.asked.settings.access == "open":
            raise InvalidInput(
                "invitations to an open study", 'a study with access = "invited"', "Anybody may answer this one."
            )
        tokens = [new_token() for _ in range(count)]
        store = self.open_store()
        try:
            store.invite([self.keys.digest(token) for token in tokens], expires)
        finally:
            store.disconnect()
        return tokens

    def serve(self, host: str, port: int, ready: Callable[[str], None], *, a_minute: int, batch: int) -> None:
        """Serve until told to stop; responses that are on their way are written first.

        Parameters
        ----------
        host, port, ready
            As of :func:`run_server`.
        a_minute : int
            Responses of one address in a minute, in an open study.
        batch : int
            The most responses in one transaction.
        """
        from askance.collector.app import Collector

        collector = Collector(self.asked, self.open_store, self.keys, a_minute=a_minute, largest_batch=batch)
        run_server(collector.app(), host, port, ready)


def run_server(app: Any, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve an application until told to stop; what is on its way is answered first.

    Parameters
    ----------
    app : ASGI application
    host : str
    port : int
        0 is any that is free.
    ready : callable
        Told the address once there is one.
    """
    import asyncio
    import socket

    import uvicorn

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise InvalidInput(f"{host}:{port} cannot be served ({error.strerror})", "an address that is free") from None
    config = uvicorn.Config(
        app,
        log_config=None,  # nothing about who asked is written anywhere
        access_log=False,
        server_header=False,
        backlog=4096,
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
        timeout_keep_alive=_SECONDS_OF_SILENCE,
    )
    shown = f"[{host}]" if family == socket.AF_INET6 else host
    ready(f"http://{shown}:{listening.getsockname()[1]}/")
    try:
        asyncio.run(uvicorn.Server(config).serve([listening]))
    finally:
        listening.close()
