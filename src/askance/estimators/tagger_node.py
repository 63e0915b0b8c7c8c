"""The node model from counts, by any of the methods."""

from collections.abc import Callable
from typing import Literal, cast

import numpy as np

from askance.estimators.tagger_history import PassLog
from askance.models.counted_regions import Corpus, Regions
from askance.models.node_model import NodeModel
from askance.models.token_features import TokenFeatures
from askance.solvers.count_moments import PASSES as MOMENT_PASSES
from askance.solvers.count_moments import fit_moments
from askance.solvers.node_tagger import PASSES, Progress, marginal_passes


def node_from_counts(
    corpus: Corpus,
    regions: Regions,
    rng: np.random.Generator,
    *,
    method: str,
    solver: str,
    passes: int | None,
    log: PassLog,
) -> NodeModel:
    """Fit p(tag | word) and note every pass; ``passes`` are those of the last stage."""
    features = TokenFeatures.of(corpus.vocabulary)
    seed = int(rng.integers(1 << 31))

    def note(stage: str) -> Callable[[Progress], None]:
        return lambda here: log.note(stage, NodeModel(features, here.theta), here.log_likelihood)

    start = None
    way = cast(Literal["features", "table"], solver)
    if method != "marginal":
        convex = passes if method == "moments" and passes else MOMENT_PASSES
        start = fit_moments(corpus, regions, features, way, passes=convex, seed=seed, callback=note("moments"))
        if method == "moments":
            return NodeModel(features, start.theta)
    found = marginal_passes(corpus, regions, features, start, passes or PASSES, note("marginal"), seed=seed)
    return NodeModel(features, found.theta)
