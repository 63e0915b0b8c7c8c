"""The node model from counts, by any of the methods."""

from collections.abc import Callable
from typing import Literal, cast

import numpy as np

from askance.learning.counting.chain_features import WordNames
from askance.learning.counting.count_moments import PASSES as MOMENT_PASSES
from askance.learning.counting.count_moments import fit_moments
from askance.learning.counting.counted_regions import Corpus, Regions
from askance.learning.counting.node_fit import BATCH, PASSES, Progress, hybrid_passes, marginal_passes
from askance.learning.counting.node_model import NodeModel
from askance.learning.counting.tagger_history import PassLog
from askance.learning.counting.tagger_progress import FitProgress
from askance.learning.counting.token_features import TokenFeatures

# A pass over a few regions is a step or two: small corpora get more passes, until there are so many steps.
_STEPS, _MOST_PASSES = 100, 20


def node_from_counts(
    corpus: Corpus,
    regions: Regions,
    rng: np.random.Generator,
    *,
    method: str,
    solver: str,
    passes: int | None,
    log: PassLog,
    own: WordNames | None = None,
    progress: FitProgress | None = None,
) -> NodeModel:
    """Fit p(tag | word) and note every pass; ``passes`` are those of the last stage."""
    features = TokenFeatures.of(corpus.vocabulary, own)
    seed = int(rng.integers(1 << 31))

    def note(stage: str) -> Callable[[Progress], None]:
        def note_pass(here: Progress) -> None:
            log.note(stage, NodeModel(features, here.theta), here.log_likelihood)
            if progress is not None:
                progress.did(len(regions))

        return note_pass

    wanted = passes or default_passes(len(regions))
    if method == "marginal":
        found = marginal_passes(corpus, regions, features, None, wanted, note("marginal"), seed=seed)
        return NodeModel(features, found.theta)
    way = cast(Literal["features", "table"], solver)
    convex = passes if method == "moments" and passes else MOMENT_PASSES
    start = fit_moments(corpus, regions, features, way, passes=convex, seed=seed, callback=note("moments"))
    if method == "moments":
        return NodeModel(features, start.theta)
    found = hybrid_passes(corpus, regions, features, start, wanted, note("marginal"), seed=seed)
    return NodeModel(features, found.theta)


def node_work(regions: int, method: str, passes: int | None) -> int:
    """How many regions a fit goes over, all passes together."""
    if method == "moments":
        return regions * (passes or MOMENT_PASSES)
    return regions * ((passes or default_passes(regions)) + (MOMENT_PASSES if method == "hybrid" else 0))


def default_passes(regions: int) -> int:
    """How many passes of marginal likelihood do well.

    Examples
    --------
    >>> default_passes(10_000), default_passes(300), default_passes(20)
    (5, 10, 20)
    """
    steps = -(-regions // BATCH)
    return max(PASSES, min(-(-_STEPS // steps), _MOST_PASSES))
