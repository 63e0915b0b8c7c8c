"""Every reproduction of the papers, quick and at full size, with real data: checks of ours that do not pass.

Run: python -m benchmarks reproductions. $ASKANCE_SIZES names the sizes (quick, full), with a comma between, where not
both are wanted: full size takes hours. Findings go to askance-reproduce-SIZE/; ``docs/reproduced_results.py FOLDER``
keeps them as a table of the documentation. The seed is 0, as of the command: a run that passes once passes again.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from askance.papers.registry import entries, run_entry
from benchmarks import Measurement

SIZES = ("quick", "full")


def main() -> Iterator[Measurement]:
    sizes = [size.strip() for size in os.environ.get("ASKANCE_SIZES", ",".join(SIZES)).split(",")]
    if not set(sizes) <= set(SIZES):
        raise SystemExit(f"ASKANCE_SIZES={','.join(sizes)}: sizes are {' and '.join(SIZES)}")
    for size in sizes:
        for name, entry in entries().items():
            folder, begin = Path(f"askance-reproduce-{size}"), time.process_time()
            found = run_entry(entry, folder, 0, size == "quick").findings
            failed = sum(not finding.passes for finding in found)
            yield Measurement(f"{name}, {size}: checks of {len(found)} that fail", failed, "", at_most=0)
            yield Measurement(f"{name}, {size}: processor time", time.process_time() - begin, "s")
