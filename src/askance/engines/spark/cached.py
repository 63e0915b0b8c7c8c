"""Records in the cache of Spark's executors."""

import pickle
import weakref
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any, NoReturn

from askance.engines.sources import Parts
from askance.errors import InvalidInput


@dataclass(frozen=True)
class Block:
    """Records that an executor has: which, and how many."""

    number: int
    num_rows: int

    def load(self) -> NoReturn:
        raise InvalidInput("records in the memory of Spark's executors", "engine='spark'")


@dataclass(frozen=True, eq=False)
class CachedBlocks(Parts[Block]):
    """Records in the cache of Spark's executors, and on their disks where memory ends."""

    dataframe: Any


def cached(blocks: Any) -> CachedBlocks:
    """Fill the cache; let go of it with the source."""
    from pyspark import StorageLevel
    from pyspark.sql import functions

    # Not serialised, as PySpark's other levels are: Java's serialiser keeps the last hundred blocks of each task alive.
    numbered = blocks.withColumn("number", functions.monotonically_increasing_id())
    kept = numbered.persist(StorageLevel.MEMORY_AND_DISK_DESER)
    try:
        found = kept.select("number", "num_rows", "error").collect()
        for row in found:
            if row["error"] is not None:
                raise pickle.loads(row["error"])
    except BaseException:
        _forget(kept)
        raise
    records = CachedBlocks(tuple(Block(row["number"], row["num_rows"]) for row in found), kept)
    # In a thread of its own: the collector may run while this one is in the middle of a talk with Java.
    weakref.finalize(records, lambda: Thread(target=_forget, args=(kept,), daemon=True).start()).atexit = False
    return records


def _forget(blocks: Any) -> None:
    with suppress(Exception):  # the session may be gone, and the cache with it
        blocks.unpersist()
