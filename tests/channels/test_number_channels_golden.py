"""Old reports keep their meaning: what was drawn by some version is read in the same way by every later one.

A change of a mechanism's tuning (a window, a share, a choice of proposals) is a change of its law under the same spec.
If this test fails, old releases would be misread: give the new law a new version of the spec, and keep reading the old.
``PYTHONPATH=tests python tests/channels/test_number_channels_golden.py`` writes the file anew,
for channels that are new.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import askance as ask

FILE = Path(__file__).parents[1] / "golden" / "number_channels.json"
COLUMNS = {"age": (0, 100), "income": (-50, 150), "score": (1, 6)}
CHANNELS = {
    **{
        f"{mechanism} number at {epsilon:g}": ask.PrivateNumber(-1.0, 4.0, epsilon, mechanism)
        for mechanism in ("hybrid", "piecewise", "duchi")
        for epsilon in (0.5, 2.0, 8.0)
    },
    **{
        f"{mechanism} row at {epsilon:g}": ask.PrivateRow(COLUMNS, epsilon, mechanism, outcome="score")
        for mechanism in ("window", "unit", "sampled", "coordinate", "per-value", "triple")
        for epsilon in (1.0, 6.0)
    },
    "window of nine": ask.WindowRelease(9, 4.0, always=(8,)),
    "bits": ask.PerValueFlip(12, 2.0, max_ones=3),
    "coordinates": ask.CoordinateRelease(5, 1.0, probabilities=[0.1, 0.2, 0.3, 0.2, 0.2]),
    "unit": ask.PrivUnit(4, 3.0, radius=1.5),
    "signed triple": ask.TripleRelease(3, 2.0, signed=True),
}


def read(channel, reports):
    """What a learner makes of reports."""
    for how in ("moments", "unbias", "unbiased_products"):
        if hasattr(channel, how):
            return np.asarray(getattr(channel, how)(reports))
    raise AssertionError(channel)


def some_reports(channel):
    rng = np.random.default_rng(11)
    if isinstance(channel, ask.PrivateRow):
        return channel.simulate(rng.uniform(channel.bounds.lower, channel.bounds.upper, (4, 3)), rng)
    low, high = channel.range
    truth = rng.uniform(low, high, (4, channel.dim))
    if isinstance(channel, ask.PerValueFlip):
        truth[:, channel.max_ones :] = 0
    return channel.simulate(truth, rng)


def golden(channel):
    reports = some_reports(channel)
    return {"spec": channel.to_spec(), "reports": reports.tolist(), "read": read(channel, reports).tolist()}


@pytest.mark.parametrize("name", CHANNELS)
def test_old_reports_are_read_as_ever(name):
    old = json.loads(FILE.read_text())[name]
    channel = ask.channel_from_spec(old["spec"])
    assert channel.to_spec() == old["spec"]
    np.testing.assert_allclose(read(channel, np.array(old["reports"])), old["read"], rtol=1e-9, atol=1e-12)


if __name__ == "__main__":
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    new = {name: golden(channel) for name, channel in CHANNELS.items() if name not in known}
    FILE.write_text(json.dumps(known | json.loads(json.dumps(new)), indent=1) + "\n")
