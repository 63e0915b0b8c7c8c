"""A sum that ends the process which computes it. In a file of its own: a fresh worker imports it in no time."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Dying:
    """Counts records, and ends the process that does so: the first time, or every time."""

    marker: str
    always: bool = False

    def empty(self):
        return 0

    def observe(self, records):
        if self.always or not Path(self.marker).exists():
            Path(self.marker).touch()
            os._exit(1)
        return len(records)

    def merge(self, first, second):
        return first + second
