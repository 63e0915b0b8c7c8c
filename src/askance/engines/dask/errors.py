"""Dask's failures in one line: what became of the cluster."""

from concurrent.futures import CancelledError
from typing import Any

from askance.engines.dask.cluster import address_of
from askance.errors import AskanceError


def plain_error(error: BaseException, client: Any) -> AskanceError | None:
    """Say plainly what became of the cluster. What askance itself says on a worker comes back as it is."""
    from distributed import KilledWorker

    if isinstance(error, AskanceError):
        return None
    if isinstance(error, KilledWorker):
        return AskanceError(
            f"Dask workers were lost again and again at the same piece of work ({error.task})",
            "workers that live",
            "Did they run out of memory? Give them more, or write the release in smaller parts.",
        )
    # What Dask says of connections has no number; the operating system's errors, which a job may meet, have one.
    if isinstance(error, CancelledError) or (isinstance(error, OSError) and error.errno is None):
        why = (str(error) or type(error).__name__).splitlines()[0]
        return AskanceError(
            f"the connection to the Dask scheduler at {address_of(client)} was lost ({why})",
            remedy="See whether it is running, and start again.",
        )
    if isinstance(error, ModuleNotFoundError) or "deserialization of the task graph" in str(error):
        return AskanceError(
            f"the Dask cluster at {address_of(client)} lacks a module ({_innermost(error)})",
            remedy="Install the same version of askance, with the same extras, on its scheduler and every worker.",
        )
    return None


def _innermost(error: BaseException) -> BaseException:
    return error if error.__cause__ is None else _innermost(error.__cause__)
