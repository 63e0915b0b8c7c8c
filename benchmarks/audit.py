"""How often audits find planted defects, and how often they accuse honest channels.

Twenty runs of each defect with 20,000 rows; 200 honest runs at rate 0.05 and 1,000 at rate 0.001.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import askance as ask
from benchmarks import Measurement

_RUNS = 20
_ROWS = 20_000
_RELEASES = 400  # releases in all, a few seconds' worth
_HONEST = (
    ask.Warner(0.75),
    ask.RandomizedResponse(("a", "b", "c"), epsilon=1.0),
    ask.StateFlip(2, 0.3, dim=2),
    ask.LaplaceNoise(1.0, dim=2, bounds=(0, 1)),
    ask.PrivateNumber(0, 1, 2.0),
)


def main() -> Iterator[Measurement]:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from planted_defects import CHANNELS, RELEASES

    warnings.simplefilter("ignore", ask.AskanceWarning)
    for name, channel in CHANNELS.items():
        found = sum(not ask.audit(channel, draws=_ROWS).passed for _ in range(_RUNS))
        yield Measurement(name, found, f"of {_RUNS} found", at_least=_RUNS - 1)
    for name, run in RELEASES.items():
        found = sum(not run(_RELEASES).passed for _ in range(_RUNS))
        yield Measurement(name, found, f"of {_RUNS} found", at_least=_RUNS - 1)
    for rate, runs, most in ((0.05, 200, 18), (0.001, 1000, 3)):
        alarms = sum(
            not ask.audit(_HONEST[run % len(_HONEST)], draws=2_000, error_rate=rate).passed for run in range(runs)
        )
        yield Measurement(f"alarms of {runs} honest runs at rate {rate:g}", alarms, "alarms", at_most=most)
    start = time.process_time()
    ask.audit(ask.Warner(0.75))
    yield Measurement("an audit of a million reports", time.process_time() - start, "s of one core")
