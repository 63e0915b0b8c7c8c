"""Channels that every law is checked on: at least one of each kind, and the awkward ones."""

import numpy as np

from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.labels.finite import FiniteChannel, FiniteLaw, Identity
from askance.channels.labels.randomized_response import RandomizedResponse
from askance.channels.labels.surveys import (
    Crosswise,
    ForcedResponse,
    Kuk,
    Mangat,
    Triangular,
    UnrelatedQuestion,
    Warner,
)

_DIRICHLET = np.random.default_rng(20).dirichlet(np.ones(7), size=5).T

EXAMPLES: dict[str, FiniteLaw] = {
    "rr-2": RandomizedResponse(("no", "yes"), epsilon=1.0),
    "rr-3-strings": RandomizedResponse(("a", "b", "c"), epsilon=0.5),
    "rr-20-base": RandomizedResponse(range(20), truth_probability=0.3, base=np.arange(1, 21) / 210),
    "rr-4-base-epsilon": RandomizedResponse((1.5, 2.5, 3.5, 4.5), epsilon=2.0, base=(0.1, 0.2, 0.3, 0.4)),
    "rr-300": RandomizedResponse(range(-5, 295), epsilon=6.0),
    "rr-truthful": RandomizedResponse((0, 1, 2), truth_probability=1.0),
    "finite-2x2": FiniteChannel([[0.8, 0.3], [0.2, 0.7]], ["healthy", "ill"]),
    "finite-tall": FiniteChannel([[0.8, 0.3], [0.1, 0.5], [0.1, 0.2]], ["a", "b"], ["x", "y", "z"]),
    "finite-wide": FiniteChannel([[0.9, 0.5, 0.2], [0.1, 0.5, 0.8]], [0, 1, 2], ["low", "high"]),
    "finite-5x7": FiniteChannel(_DIRICHLET, range(5), list("tuvwxyz")),
    "finite-rare": FiniteChannel([[1 - 2**-20, 1e-12], [2**-20, 1 - 1e-12]], [False, True]),
    "finite-mixed-labels": FiniteChannel([[0.6, 0.1], [0.3, 0.2], [0.1, 0.7]], ["no", 1], ["no", 1, 2.5]),
    "identity-2": Identity(),
    "identity-4": Identity(("n", "e", "s", "w")),
    "warner": Warner(0.8),
    "warner-certain": Warner(1.0),
    "crosswise": Crosswise(0.25),
    "forced": ForcedResponse(1 / 6, 1 / 12),
    "unrelated": UnrelatedQuestion(0.7, 0.25),
    "mangat": Mangat(0.7),
    "triangular": Triangular(0.25, classes=(0, 1)),
    "kuk": Kuk(0.8, 0.3, classes=("black", "red")),
}

DESIGNS = DesignPerRow({"cards": Warner(0.8), "birthday": Crosswise(0.25), "direct": Identity(("no", "yes"))})
MIXED_DESIGNS = DesignPerRow(
    {
        "three": FiniteChannel([[0.8, 0.3], [0.1, 0.5], [0.1, 0.2]], ["a", "b"], ["x", "y", "z"]),
        "two": RandomizedResponse(["a", "b"], epsilon=1.0),
        "numbers": FiniteChannel([[0.8, 0.3], [0.2, 0.7]], ["a", "b"], [0, 1]),
    }
)
