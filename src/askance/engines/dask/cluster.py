"""Clusters of Dask: somebody's scheduler at an address, or workers on this machine."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import current_process
from typing import Any

from askance.engines.base import not_installed
from askance.engines.local.engine import available_cores
from askance.errors import AskanceError

_SECONDS_TO_CONNECT = 5  # a scheduler in the same building answers in milliseconds


def distributed_module() -> Any:
    """Import Dask, or say how to install it."""
    try:
        import distributed
    except ImportError as error:
        raise not_installed("Dask", "dask", error) from error
    return distributed


def address_of(client: Any) -> str:
    """Return where the scheduler of a client is."""
    return str(client.scheduler.address)


def connect(distributed: Any, address: str) -> Any:
    """Connect to a scheduler; knock first, because a client that fails to connect delays the end of the program."""

    async def knock() -> None:
        secrets = distributed.Security().get_connection_args("client")
        await (await distributed.comm.connect(address, timeout=_SECONDS_TO_CONNECT, **secrets)).close()

    try:
        with ThreadPoolExecutor(1) as thread:  # this one may have an event loop already, as in a notebook
            thread.submit(lambda: asyncio.run(knock())).result()
        return distributed.Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except Exception as error:  # a stranger's reply, read as Dask's, may even ask for more memory than there is
        raise AskanceError(
            f"no Dask scheduler answers at {address} ({type(error).__name__})",
            "an address such as tcp://10.0.0.1:8786",
            "Start one with: dask scheduler",
        ) from error


def workers_on_this_machine(distributed: Any) -> Any:
    """Start a worker process for each core."""
    advice = "In a script, call askance below a line that says: if __name__ == '__main__':"
    if getattr(current_process(), "_inheriting", False):
        raise AskanceError("a Dask worker that starts workers, as it runs the script that started it", remedy=advice)
    try:
        return distributed.LocalCluster(
            n_workers=available_cores(),
            threads_per_worker=1,
            security=True,
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},  # any port, this machine only
        )
    except RuntimeError as error:
        raise AskanceError(f"Dask workers could not be started ({error})", remedy=advice) from error
