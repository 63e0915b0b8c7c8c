"""Channels that every law is checked on: at least one of each kind, and the awkward ones."""

from typing import Any

import numpy as np

import askance as ask
from askance.channels.attributes.per_coordinate import PerCoordinate
from askance.channels.labels.candidate_sets import CandidateSets
from askance.channels.labels.coarsening import Coarsening
from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.labels.finite import FiniteChannel, FiniteLaw, Identity
from askance.channels.labels.memoised import Memoised
from askance.channels.labels.per_token import PerToken
from askance.channels.labels.randomized_response import RandomizedResponse
from askance.channels.labels.repeated import Repeated
from askance.channels.labels.respondents import Anchor, Cheaters, RandomAnswers
from askance.channels.labels.surveys import (
    Crosswise,
    ForcedResponse,
    Kuk,
    Mangat,
    StochasticLieDetector,
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
    "finite-map": FiniteChannel([[1, 1, 0], [0, 0, 1]], ["a", "b", "c"], ["x", "y"]),
    "coarsening": Coarsening({"noun": ["NOUN", "PROPN"], "verb": ["VERB", "AUX"], "other": ["X"]}),
    "coarsening-ordered": Coarsening({"even": [2, 4], "odd": [1, 3]}, classes=(1, 2, 3, 4)),
    "sets-of-two": CandidateSets(("cat", "dog", "owl", "hen"), size=2),
    "sets-joining": CandidateSets((0, 1, 2), inclusion=0.3),
    "sets-correlated": CandidateSets(("a", "b", "c"), inclusion=((1, 0.8, 0.1), (0.5, 1, 0.1), (0.2, 0.1, 1))),
    "sets-assumed": CandidateSets(range(5)),
    "repeated": Repeated(Warner(0.8), 3),
    "repeated-tall": Repeated(FiniteChannel([[0.8, 0.3], [0.1, 0.5], [0.1, 0.2]], [1, 2], [4, 5, 6]), 2),
    "identity-2": Identity(),
    "identity-4": Identity(("n", "e", "s", "w")),
    "warner": Warner(0.8),
    "warner-certain": Warner(1.0),
    "crosswise": Crosswise(0.25),
    "forced": ForcedResponse(1 / 6, 1 / 12),
    "unrelated": UnrelatedQuestion(0.7, 0.25),
    "mangat": Mangat(0.7),
    "triangular": Triangular(0.25, classes=(0, 1)),
    "lie-detector": StochasticLieDetector(0.7, truthful=0.9),
    "cheaters": Cheaters(ForcedResponse(0.1, 0.2), share=0.1),
    "cheaters-three": Cheaters(RandomizedResponse(("a", "b", "c"), epsilon=0.5), share=0.2, says="b"),
    "random-answers": RandomAnswers(Crosswise(0.25), share=0.15),
    "anchor": Anchor(RandomAnswers(Crosswise(0.25), share=0.15)),
    "kuk": Kuk(0.8, 0.3, classes=("black", "red")),
    "memoised": Memoised(RandomizedResponse(("no", "yes"), epsilon=2.0), 1.0),
    "memoised-tall": Memoised(
        FiniteChannel([[0.8, 0.3], [0.1, 0.5], [0.1, 0.2]], ["a", "b"], ["x", "y", "z"]),
        RandomizedResponse(["x", "y", "z"], epsilon=0.5, base=[0.2, 0.3, 0.5]),
    ),
}

DESIGNS = DesignPerRow({"cards": Warner(0.8), "birthday": Crosswise(0.25), "direct": Identity(("no", "yes"))})
MIXED_DESIGNS = DesignPerRow(
    {
        "three": FiniteChannel([[0.8, 0.3], [0.1, 0.5], [0.1, 0.2]], ["a", "b"], ["x", "y", "z"]),
        "two": RandomizedResponse(["a", "b"], epsilon=1.0),
        "numbers": FiniteChannel([[0.8, 0.3], [0.2, 0.7]], ["a", "b"], [0, 1]),
    }
)

_COLUMNS = {"age": (0, 100), "income": (-50, 150), "score": (1, 6)}
_MIXED = PerCoordinate([ask.StateFlip((1, 2.5, 7), 0.3), ask.GaussianNoise(0.5), Warner(0.8, classes=(0, 1))])

NUMBERS: dict[str, Any] = {
    "coordinate": ask.CoordinateRelease(3, 1.0),
    "coordinate-law": ask.CoordinateRelease(3, 2.0, 4.0, "paper", (0.2, 0.3, 0.5)),
    "bits": ask.PerValueFlip(4, 2.0),
    "sparse-bits": ask.PerValueFlip(10, 2.0, max_ones=3, bound=2.5),
    "unit": ask.PrivUnit(3, 4.0),
    "unit-shortened": ask.PrivUnit(2, 14.0, radius=0.5),
    "triple": ask.TripleRelease(3, 6.0),
    "triple-signed": ask.TripleRelease(2, 3.0, signed=True, calibration="paper"),
    "window": ask.WindowRelease(5, 4.0),
    "window-all": ask.WindowRelease(2, 8.0, always=1),
    "number": ask.PrivateNumber(0, 100, 2.0),
    "number-window": ask.PrivateNumber(-1, 4, 8.0, "piecewise"),
    "number-coin": ask.PrivateNumber(-5, 5, 0.5, "duchi"),
    "sampled": ask.SampledCoordinates(6, 5.0, bound=3.0),
    "sampled-all": ask.SampledCoordinates(2, 5.0, k=2),
    **{
        f"row-{mechanism}": ask.PrivateRow(_COLUMNS, 6.0, mechanism, outcome="score")
        for mechanism in ("window", "unit", "sampled", "coordinate", "per-value", "triple")
    },
    "row-categories": ask.PrivateRow(
        {"town": ["north", "south", "west"], "smoker": ["no", "yes"], "age": (0, 100)}, 4.0, outcome="smoker"
    ),
    "row-shortened": ask.PrivateRow(_COLUMNS, 3.0, "unit", radius=0.5),
}
ATTRIBUTES: dict[str, Any] = {
    "pixels": ask.StateFlip(256, 0.1, dim=9),
    "flip-bits": ask.StateFlip(2, (0.2, 0.3)),
    "flip-mixed": ask.StateFlip([range(2), (-1, 0.5, 3)], 0.25),
    "flip-one": ask.StateFlip((1, 2, 4), 0.2, dim=1),
    "flip-open": ask.StateFlip(3, 0.0, dim=2),
    "gauss": ask.GaussianNoise(2.0, dim=2, bounds=(0, 1)),
    "gauss-open": ask.GaussianNoise((0.5, 0.0, 3.0)),
    "laplace": ask.LaplaceNoise((0.5, 1.0), bounds=((0, 1), (0, 2))),
    "per-coordinate": _MIXED,
    "per-coordinate-one": PerCoordinate(ask.FiniteChannel([[0.8, 0.3], [0.2, 0.7]], [0, 1]), dim=3),
}
RECORDS: dict[str, Any] = {
    "record": ask.RowChannel(ask.StateFlip(4, 0.3, dim=3), label=Warner(0.9, classes=(7, 9))),
    "record-open-label": ask.RowChannel(ask.LaplaceNoise(1.0, dim=2, bounds=(0, 1)), columns=["a", "b"]),
    "record-mixed": ask.RowChannel(_MIXED, label=RandomizedResponse(("a", "b", "c"), epsilon=1.0)),
}
SEQUENCES: dict[str, Any] = {
    "tokens": PerToken(RandomizedResponse(("noun", "verb", "other"), epsilon=2.0)),
    "tokens-designs": PerToken(
        DesignPerRow({"coarse": Coarsening({"x": ["a", "b"], "c": ["c"]}), "exact": Identity(("a", "b", "c"))})
    ),
}
REGIONS: dict[str, Any] = {
    "regions": ask.RegionCounts(["DT", "JJ", "NN"], width=3),
    "regions-asked": ask.RegionCounts(["DT", "JJ", "NN"], ask=2),
}
EVERY_EXAMPLE: dict[str, Any] = {
    **EXAMPLES,
    "designs": DESIGNS,
    "mixed-designs": MIXED_DESIGNS,
    **NUMBERS,
    **ATTRIBUTES,
    **RECORDS,
    **SEQUENCES,
    **REGIONS,
}


def some_truth(channel: Any, rows: int, rng: np.random.Generator) -> Any:
    """Truths of the kind that a channel hides, any that it takes."""
    if channel.kind == "region-counts":
        return [list(rng.choice(channel.tags, 5)) for _ in range(rows)]
    if channel.hides == "sequences":
        return [some_truth(channel.device, 1 + number % 4, rng).tolist() for number in range(rows)]
    if channel.hides == "labels":
        return np.array(channel.classes, dtype=object)[rng.integers(0, len(channel.classes), rows)]
    if channel.hides == "numbers":
        return np.array([channel.random_row(rng) for _ in range(rows)])
    if channel.hides == "records":
        features = some_truth(channel.features, rows, rng)
        return features, np.array(["x", "y"] * rows)[:rows] if channel.label is None else some_truth(
            channel.label, rows, rng
        )
    columns = [
        rng.choice(law.values, rows) if law.is_finite else rng.uniform(*(law.bounds or (-3, 3)), rows)
        for law in channel.laws
    ]
    return np.column_stack(columns)


def some_design(channel: Any, rows: int) -> dict[str, Any]:
    """The argument by which rows say under which design they were asked, where they must."""
    names = list(channel.designs) * rows if getattr(channel, "needs_design", False) else []
    return {"design": names[:rows]} if names else {}
