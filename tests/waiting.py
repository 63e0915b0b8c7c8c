"""Waiting for what other processes do: as long as a busy machine may need, and no longer than it takes."""

import time

import pytest

PATIENCE = 600.0  # seconds; nothing here takes ten on a quiet machine, and a suite that hangs must end some time


def wait_until(holds, what):
    """Return as soon as ``holds()`` is true; fail, saying ``what`` did not come, when patience is at an end."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"waited {PATIENCE:.0f} seconds in vain: {what}")
        time.sleep(0.05)
