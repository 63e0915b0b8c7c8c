"""Sessions of Spark: the program's own, or a new one with settings for short passes."""

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from askance.engines.base import not_installed
from askance.engines.spark.errors import reason
from askance.errors import AskanceError

_SECONDS_TO_CONNECT = 5  # a master in the same building answers in milliseconds


def running_session() -> Any:
    """Return the session that this program has; None if there is none."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise not_installed("Spark", "spark", error) from error
    # The session of another thread is the program's as well; only the context knows of it.
    return None if SparkContext._active_spark_context is None else SparkSession.builder.getOrCreate()


def new_session(master: str) -> Any:
    """Start Spark at a master."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    _check_reachable(master)
    settings = {
        "spark.master": master,
        "spark.app.name": "askance",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Passes are cut evenly to begin with: planning them anew while they run doubles the time of a short one.
        "spark.sql.adaptive.enabled": "false",
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1"}
    conf = SparkConf().setAll(list(settings.items()))
    with tempfile.TemporaryFile() as log, _same_python():
        try:
            # What Java says goes to a file that nobody sees, unless it does not start.
            gateway = SparkContext._gateway or launch_gateway(conf, {"stderr": log})
            return SparkSession(SparkContext(conf=conf, gateway=gateway))
        except Exception as error:
            log.seek(0)
            why = _complaint(log.read()) if "JAVA_GATEWAY_EXITED" in str(error) else reason(error)
            raise AskanceError(
                f"Spark did not start at {master} ({why})",
                "Java 17 or newer, and a master such as local[2] or spark://host:7077",
                "On Debian: apt-get install default-jre-headless",
            ) from error


@contextmanager
def _same_python() -> Iterator[None]:
    """Let workers run the Python of this program, unless the environment names another."""
    named = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = named or sys.executable
    try:
        yield
    finally:
        if named is None:
            del os.environ["PYSPARK_PYTHON"]


def _check_reachable(master: str) -> None:
    """Try to connect: Spark itself would take a minute to give up, and not say why."""
    if not master.startswith("spark://"):
        return
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.partition(":")
        try:
            with socket.create_connection((host, int(port or 7077)), _SECONDS_TO_CONNECT):
                return
        except (OSError, ValueError):
            pass
    raise AskanceError(
        f"no Spark master answers at {master}", "an address such as spark://10.0.0.1:7077", "See whether it is running."
    )


def _complaint(log: bytes) -> str:
    """What the launcher said about Java, or last."""
    lines = log.decode(errors="replace").strip().splitlines() or ["it said nothing"]
    return next((line for line in lines if "java" in line.lower()), lines[-1])
