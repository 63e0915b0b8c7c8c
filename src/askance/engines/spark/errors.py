"""Spark's failures in one line: what was wrong, without the stacks of Java and of Python around it."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from askance.errors import AskanceError


@contextmanager
def clear_errors() -> Iterator[None]:
    """Say plainly what became of a job. What askance itself says on an executor comes back as it is."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        try:
            yield
        except AskanceError:
            raise
        except Exception as error:
            if _says_that_java_is_gone(error):
                raise AskanceError(
                    "Spark's Java process ended in the middle of its work",
                    remedy="Did it run out of memory? Set spark.driver.memory higher, and start this program again.",
                ) from error
            if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
                raise
            raise AskanceError(
                f"Spark gave up ({reason(error)})",
                remedy="Executors need the same Python and the same askance as this program, enough memory, and the "
                "files under the same paths.",
            ) from error


def _says_that_java_is_gone(error: BaseException) -> bool:
    if type(error).__module__.startswith("py4j"):
        try:
            str(error)  # asks Java what happened
        except Exception:
            return True
    return isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError"


def reason(error: BaseException) -> str:
    """What lies under the wrappings: one line, without Java's stack and the names of its exceptions."""
    said = str(error).partition("\n\tat ")[0].strip().splitlines() or [type(error).__name__]
    if any("Traceback (most recent call last)" in line for line in said):
        line = said[-1]
    else:
        line = next((line for line in said if not line.startswith("An error occurred while calling")), said[0])
    return line.rpartition("Exception: ")[2]
