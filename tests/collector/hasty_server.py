"""The server with a defect that a test must find: it says "stored" before anything is on disk."""

import sys
import time

from askance.cli.app import main
from askance.collector.store import Outcome
from askance.collector.writer import Writer, _settle


def hasty(self, batch):
    for _, future, loop in batch:
        loop.call_soon_threadsafe(_settle, future, Outcome.STORED)
    time.sleep(0.05)  # what a slow disk takes
    self.store.take([submission for submission, _, _ in batch], invited=self.invited)


Writer._write = hasty
main(sys.argv[1:])
