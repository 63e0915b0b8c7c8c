"""The server with a defect that a test must find: it says "stored" of a batch, and writes it later."""

import sys

from askance.cli.app import main
from askance.collector.store import Outcome
from askance.collector.writer import Writer, _settle

put_off = []
PATIENCE = 50  # batches: some of what was said is not written yet, whenever the server is killed


def hasty(self, batch):
    for _, future, loop in batch:
        loop.call_soon_threadsafe(_settle, future, Outcome.STORED)
    put_off.append([submission for submission, _, _ in batch])
    if len(put_off) > PATIENCE:
        self.store.take(put_off.pop(0), invited=self.invited)


Writer._write = hasty
main(sys.argv[1:])
