"""The node model by marginal likelihood: stochastic steps on log P(counts), batch by batch.

The derivative of log P(counts) by a word type's logits is the sum over its tokens of P(tag | counts) - P(tag). It goes
through the types' features to the weights, each with a step length of its own (Adagrad). The estimate is the
average of the weights over the later half of the passes: the steps' noise goes, what they learned stays.

Laws are computed once for every word type of a batch, however often it occurs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.errors import InvalidInput
from askance.learning.counting.count_posterior import impossible_counts
from askance.learning.counting.counted_regions import Corpus, Regions
from askance.learning.counting.node_fit_loops import one_pass
from askance.learning.counting.token_features import TokenFeatures

Weights = NDArray[np.float32]

# Chosen on the development file of the English Web Treebank (benchmarks/tagging.py measures on its test file).
PASSES = 5
STEP = 0.2  # of Adagrad
BATCH = 32  # regions between two steps
TABLE = 500  # states; a gradient needs less care than the answer, and time goes into large regions
CERTAIN = 0.99  # tokens that are at least so sure of their tag take no part in the programme: a gradient hardly notices
# Where the sums of squares start: the first steps from zero are long, those from an estimate must not spoil it.
_FROM_ZERO, _FROM_ESTIMATE = 0.01, 0.3
# The wider the windows, the less moments know that the likelihood does not: how a hybrid's start shrinks and its steps
# grow with the mean width. Chosen on the same file.
_SHRINK, _FIRST_STEP, _GROWTH = 0.12, 0.1, 0.35


@dataclass(frozen=True, eq=False)
class Progress:
    """Where a stochastic fit stands after a pass.

    Parameters
    ----------
    theta : array, features x tags
        The estimate: the average of the weights over the later half of the passes.
    passes : int
        How many passes there were.
    log_likelihood : float
        Of all counts, each region's under the weights that it met; nan without counts. Of regions whose tables are cut
        off it is an approximation, some nats too high.
    """

    theta: Weights
    passes: int
    log_likelihood: float


def marginal_passes(
    corpus: Corpus,
    regions: Regions,
    features: TokenFeatures,
    theta0: NDArray[np.floating] | None = None,
    passes: int = PASSES,
    callback: Callable[[Progress], None] | None = None,
    *,
    step: float = STEP,
    batch: int = BATCH,
    seed: int = 0,
    largest_table: int = TABLE,
    soft_labels: NDArray[np.floating] | None = None,
) -> Progress:
    """Maximise the marginal likelihood of counts by passes over the regions.

    Parameters
    ----------
    corpus : Corpus
    regions : Regions
    features : TokenFeatures
    theta0 : array, features x tags, optional
        Where to start; zero if not given.
    passes : int
    callback : function, optional
        Called after every pass with the Progress.
    step : float
        Length of the first steps.
    batch : int
        Regions between two steps.
    seed : int
        Of the order of the regions: the fit's only chance. The same seed gives the same fit.
    largest_table : int
        As of :func:`~askance.learning.counting.count_posterior.region_posteriors`.
    soft_labels : array, word types x tags, optional
        Fit these laws of word types in place of the counts: the convex half of a moment fit.

    Raises
    ------
    InvalidInput
        If counts are impossible, with the sentence's name; or if there are no regions.

    Examples
    --------
    >>> from askance.learning.counting.counted_regions import count_tags
    >>> corpus = Corpus.of([["the", "cat"], ["the", "dog"], ["the"]])
    >>> labels = np.array([0, 1, 0, 1, 0])
    >>> regions = count_tags(labels, corpus.starts, range(3), [0] * 3, [2, 2, 1], [0] * 3, np.ones((1, 2), bool))
    >>> features = TokenFeatures.of(corpus.vocabulary)
    >>> fitted = marginal_passes(corpus, regions, features, passes=20).theta
    >>> (features.rows(["the", "cat", "dog"]).matrix(len(features)) @ fitted).argmax(axis=1)
    array([0, 1, 1])
    """
    if not len(regions):
        raise InvalidInput("no regions", "at least one counted region or labelled token")
    theta = np.zeros((len(features), regions.tags), np.float32) if theta0 is None else np.array(theta0, np.float32)
    squares = np.full_like(theta, _FROM_ZERO if theta0 is None else _FROM_ESTIMATE)
    rows = features.rows(corpus.vocabulary)
    soft = np.empty((0, regions.tags)) if soft_labels is None else np.ascontiguousarray(soft_labels, np.float64)
    first = corpus.starts[regions.sentence] + regions.start
    rng = np.random.default_rng(seed)
    here = Progress(theta.copy(), 0, float("nan"))
    averages: list[Weights] = []
    for done in range(1, passes + 1):
        late = np.zeros_like(theta)
        value, impossible = one_pass(
            rng.permutation(len(regions)), batch, corpus.words, first, regions.width, regions.offsets, regions.tag,
            regions.count, regions.subset, regions.asked, soft, rows.indptr, rows.indices, theta, squares, late,
            np.float32(step), largest_table, CERTAIN,
        )  # fmt: skip
        if impossible >= 0:
            raise impossible_counts(regions, int(impossible))
        averages.append(theta - late)
        averages = averages[-((done + 1) // 2) :]
        estimate: Weights = sum(averages[1:], averages[0]) / np.float32(len(averages))
        here = Progress(estimate, done, float("nan") if soft_labels is not None else value)
        if callback is not None:
            callback(here)
    return here


def hybrid_passes(
    corpus: Corpus,
    regions: Regions,
    features: TokenFeatures,
    moments: Progress,
    passes: int = PASSES,
    callback: Callable[[Progress], None] | None = None,
    *,
    seed: int = 0,
) -> Progress:
    """Maximise the marginal likelihood from a moment estimate, shortened: it is too sure of rare words.

    Parameters are those of :func:`marginal_passes`.
    """
    if passes == 0:
        return moments
    width = float(regions.width.mean()) if len(regions) else 1.0
    start, step = moments.theta * np.float32(width**-_SHRINK), _FIRST_STEP * width**_GROWTH
    return marginal_passes(corpus, regions, features, start, passes, callback, step=step, seed=seed)
