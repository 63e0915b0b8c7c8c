"""The node model by moments: a linear system for P(tag | word), then a convex fit.

A region's counts are, in expectation, the sum of its words' laws: E[N_b] = sum_j w(x_j, b). So w solves a least-squares
problem, and mu = sum_j sum_b w(x_j, b) f(x_j, b) is all that the node model needs of the tags.

``solver="table"`` gives every word type an entry of its own, as [LM] section 4 does. Rare words in wide windows get
noise, and the fit gets worse as windows grow. ``solver="features"`` makes w linear in a word's features, with a ridge;
this is a prior for every word type. Then w(a, .) is moved from there as far as its own regions ask, and stays a law.

Regions weigh 1 / width, since that is how the variance of counts grows.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.learning.counting.block_gradients import Block, conjugate_gradients
from askance.learning.counting.count_moments_loops import rows_onto_simplex, sweep
from askance.learning.counting.counted_regions import Corpus, Regions
from askance.learning.counting.node_fit import BATCH, STEP, Progress, marginal_passes
from askance.learning.counting.token_features import TokenFeatures

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


# Chosen on the development file of the English Web Treebank, as are those of ``node_fit`` (benchmarks/tagging.py).
PASSES = 4  # of the convex fit
RIDGE = 2.0  # of the weights of features, in labelled tokens
SHRINKAGE = 0.5  # labelled tokens that the prior of a word type is worth
SWEEPS = 5  # over the word types
_EXACT = 1e-4  # tolerance of the table: the paper's estimate is the least-squares solution itself


def word_laws(
    corpus: Corpus,
    regions: Regions,
    features: TokenFeatures,
    solver: Literal["features", "table"] = "features",
    *,
    ridge: float = RIDGE,
    shrinkage: float = SHRINKAGE,
) -> Floats:
    """Estimate w(a, b) = P(tag b | word type a), word types x tags, by least squares on counts.

    Parameters
    ----------
    corpus : Corpus
    regions : Regions
    features : TokenFeatures
    solver : "features" or "table"
        The table's entries are neither non-negative nor sum to one, as in the paper.
    ridge : float
        Of the weights of features, in units of one labelled token.
    shrinkage : float
        How many labelled tokens the prior of a word type is worth.

    Examples
    --------
    >>> from askance.learning.counting.counted_regions import count_tags
    >>> corpus = Corpus.of([["the", "cat"], ["the", "dog"], ["the"]])
    >>> every = np.ones((1, 2), bool)
    >>> regions = count_tags(np.array([0, 1, 0, 1, 0]), corpus.starts, range(3), [0] * 3, [2, 2, 1], [0] * 3, every)
    >>> word_laws(corpus, regions, TokenFeatures.of(corpus.vocabulary), "table").round(3) + 0.0
    array([[1., 0.],
           [0., 1.],
           [0., 1.]])
    """
    table = _occurrences(corpus, regions)
    counts = regions.dense_counts()
    if solver == "table":
        even = np.ones(len(regions))
        return np.asarray(_least_squares([table.astype(float)], counts, even, regions, 0.0, _EXACT), np.float64)
    weight = 1.0 / np.maximum(regions.width, 1)
    known = features.rows(corpus.vocabulary).matrix(len(features))
    linear = _least_squares([table, known], counts, weight, regions, ridge, 1e-2)
    prior = np.asarray(known @ linear, np.float64)
    rows_onto_simplex(prior)
    laws = prior.copy()
    residual = counts - table @ laws
    by_type = table.tocsc()
    for _ in range(SWEEPS):
        sweep(
            by_type.indptr, by_type.indices, by_type.data, weight, regions.subset, regions.asked, prior, shrinkage,
            laws, residual,
        )  # fmt: skip
    return laws


def fit_moments(
    corpus: Corpus,
    regions: Regions,
    features: TokenFeatures,
    solver: Literal["features", "table"] = "features",
    *,
    passes: int = PASSES,
    callback: Callable[[Progress], None] | None = None,
    step: float = STEP,
    batch: int = BATCH,
    seed: int = 0,
) -> Progress:
    """Fit the node model by moments: ``fit_moments(...).theta`` is the estimate.

    The convex half maximises theta.mu - sum_j A(theta; x_j) over the tokens of regions, by stochastic passes. The
    Progress can be handed to :func:`~askance.learning.counting.marginal_passes`, which goes on: the hybrid.

    Parameters
    ----------
    corpus, regions, features, solver
        As of :func:`word_laws`.
    passes, callback, step, batch, seed
        As of :func:`~askance.learning.counting.marginal_passes`.
    """
    laws = word_laws(corpus, regions, features, solver)
    return marginal_passes(
        corpus, regions, features, None, passes, callback, step=step, batch=batch, seed=seed, soft_labels=laws
    )


def _occurrences(corpus: Corpus, regions: Regions) -> "csr_matrix":
    """How often each region holds each word type, regions x word types."""
    from scipy.sparse import csr_matrix

    types = corpus.words[regions.tokens(corpus)]
    table = csr_matrix(
        (np.ones(len(types), np.float32), types, regions.token_offsets), shape=(len(regions), len(corpus.vocabulary))
    )
    table.sum_duplicates()
    return table


def _least_squares(
    factors: "list[csr_matrix]", counts: NDArray[np.int64], weight: Floats, regions: Regions, ridge: float, near: float
) -> Block:
    """Solve min sum_r weight_r sum_{k asked} (A x_k - N_k)_r^2 + ridge |x_k|^2, with A the product of the factors.

    The product is never formed: word types stand between regions and features, and make both factors small.
    """
    kind = factors[0].dtype
    heavy = weight.astype(kind)[:, None]
    if not regions.asked.all():
        heavy = heavy * regions.asked[regions.subset]
    turned = [factor.T.tocsr() for factor in factors]

    def forward(block: Block) -> Block:
        for factor in reversed(factors):
            block = factor @ block
        return block

    def backward(block: Block) -> Block:
        for factor in turned:
            block = factor @ block
        return block

    def multiply(block: Block, columns: NDArray[np.int64]) -> Block:
        weights = heavy[:, columns] if heavy.shape[1] > 1 else heavy
        product: Block = backward(weights * forward(block)) + kind.type(ridge) * block
        return product

    # The diagonal as if word types never met in a region; it only sets the pace.
    diagonal = factors[0].multiply(factors[0]).T.tocsr() @ heavy
    for factor in factors[1:]:
        diagonal = factor.T.tocsr() @ diagonal
    tags = regions.tags
    scale = np.broadcast_to(np.maximum(diagonal + kind.type(ridge), kind.type(1e-6)), (len(diagonal), tags))
    return conjugate_gradients(multiply, backward(heavy * counts.astype(kind)), scale, near)
