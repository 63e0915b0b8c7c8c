"""Ten million answers, two to a thousand classes, one core: against numpy, multi-freq-ldpy and pure-ldp."""

import math
from collections.abc import Iterator

import numpy as np

from askance import RandomizedResponse
from askance.entropy.bits import BLOCK_BYTES, system_bits
from benchmarks import Measurement, best_seconds
from benchmarks._peers import PeersUnavailable, environment, run

ANSWERS = 10_000_000
CLASSES = (2, 10, 1000)
EPSILON = 1.0
PEERS = ("multi-freq-ldpy", "pure-ldp")
INSTALLED = (*PEERS, "scikit-learn", "statsmodels")  # pure-ldp imports the last two without saying so

PEER_SCRIPT = """
import json, sys, time
import numpy as np
k, epsilon, n = {k}, {epsilon}, {n}
truth = np.random.default_rng(0).integers(0, k, n).tolist()
if {peer!r} == "multi-freq-ldpy":
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    one = lambda answer: GRR_Client(answer, k, epsilon)
else:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient
    one = DEClient(epsilon, k, index_mapper=lambda answer: answer).privatise
[one(answer) for answer in truth[:100]]
best = float("inf")
for _ in range(3):
    start = time.perf_counter()
    reports = [one(answer) for answer in truth]
    best = min(best, time.perf_counter() - start)
print(json.dumps({{"rate": n / best}}))
"""


def numpy_response(truth: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """The usual vectorised way: a float decides, another draw replaces."""
    truthful = math.expm1(EPSILON) / (math.expm1(EPSILON) + k)
    return np.where(rng.random(len(truth)) < truthful, truth, rng.integers(0, k, len(truth)))


def main() -> Iterator[Measurement]:
    rng = np.random.default_rng(0)
    for k in CLASSES:
        truth = rng.integers(0, k, ANSWERS)
        channel = RandomizedResponse(range(k), epsilon=EPSILON)
        seconds = best_seconds(
            {
                "askance": lambda channel=channel, truth=truth: channel.privatize(truth),
                "numpy": lambda truth=truth, k=k: numpy_response(truth, k, rng),
                "copy": truth.copy,
            }
        )
        rate = ANSWERS / seconds["askance"]
        yield Measurement(f"k={k}: askance", rate / 1e6, "million/s")
        yield Measurement(f"k={k}: numpy PCG64 with floats", ANSWERS / seconds["numpy"] / 1e6, "million/s")
        yield Measurement(f"k={k}: as fast as numpy", seconds["numpy"] / seconds["askance"], at_least=1)
        yield Measurement(f"k={k}: copying the answers takes, of our time", seconds["copy"] / seconds["askance"])
        yield from against_peers(k, rate)
    stream = system_bits()
    spent = best_seconds({"blocks": lambda: [stream.block() for _ in range(1000)]})["blocks"]
    yield Measurement("key stream", 1000 * BLOCK_BYTES / spent / 1e9, "GB/s")


def against_peers(k: int, rate: float) -> Iterator[Measurement]:
    for peer in PEERS:
        name = f"k={k}: as fast as {peer}"
        try:
            python = environment(*INSTALLED)
            script = PEER_SCRIPT.format(k=k, epsilon=EPSILON, n=100_000, peer=peer)
            yield Measurement(name, rate / run(python, script)["rate"], at_least=25)
        except PeersUnavailable as problem:
            yield Measurement(name, None, at_least=25, skipped=str(problem))
