"""Releases without a ledger: said once a process, and not at all where there is one or nothing is released."""

import subprocess
import sys

CODE = """
import os, sys, tempfile, threading, warnings
import numpy as np
import askance as ask
from askance.releases.counts_release import simulate_counts_release

folder = tempfile.mkdtemp()
ledger = ask.Ledger.create(os.path.join(folder, "l"), 1, data_set="d")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    ask.release_counts([3, 7], 0.1, ledger=ledger)
    ask.Warner(0.8).privatize(["no", "yes"])
    simulate_counts_release([3, 7], 0.1, rng=np.random.default_rng(0))
    ask.audit_counts([3, 7], 0.5, draws=10, error_rate=1e-9)  # hands nothing on, and must not use up the warning
    print(len(said))
    for _ in range(3):
        ask.release_counts([3, 7], 0.1)
        ask.release_mean_operator(np.linspace(-1, 1, 2000)[:, None], [1, 1, -1, 1] * 500, 0.1)
    print(len(said), os.path.basename(said[0].filename), said[0].category.__name__)
    print(said[0].message)
"""


def test_a_release_without_a_ledger_says_so_once():
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    before, after, message = ran.stdout.splitlines()
    assert before == "0"
    assert after == "1 <string> AskanceWarning"  # where the caller is
    assert "ledger = ask.Ledger.create" in message
    assert "pass ledger=ledger" in message
