"""[LM] section 7's own estimator: stochastic steps on the marginal likelihood of counts, inference by beam search.

Steps, batches and averages are those of ``learning.counting.node_fit``, whose inference is exact: what differs between
the two curves of figure 7 is the beam.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from askance.learning.counting.counted_regions import Corpus, Regions, chosen
from askance.learning.counting.node_fit import BATCH, STEP
from askance.learning.counting.node_model import NodeModel
from askance.learning.counting.token_features import TokenFeatures
from askance.papers.linear_moments.count_beam import BEAM, beam_of_tokens

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_FIRST_SQUARES = 0.01  # where Adagrad's sums begin: as in the exact fit from zero
_LEAST = 1e-30  # of a probability, as there


def beam_passes(
    corpus: Corpus,
    regions: Regions,
    passes: int,
    note: Callable[[NodeModel], None],
    *,
    seed: int,
    beam: int = BEAM,
) -> NodeModel:
    """Fit the node model; ``note`` is called after every pass with the average of the later half of the passes."""
    features = TokenFeatures.of(corpus.vocabulary)
    table = features.rows(corpus.vocabulary).matrix(len(features))
    theta = np.zeros((len(features), regions.tags), np.float32)
    squares = np.full_like(theta, _FIRST_SQUARES)
    rng = np.random.default_rng(seed)
    averages: list[NDArray[np.float32]] = []
    model = NodeModel(features, theta)
    for done in range(1, passes + 1):
        late = np.zeros_like(theta)
        order = rng.permutation(len(regions))
        for begin in range(0, len(order), BATCH):
            wanted = np.zeros(len(regions), bool)
            wanted[order[begin : begin + BATCH]] = True
            touched, slopes = _slopes(corpus, chosen(regions, wanted), table, theta, beam)
            squares[touched] += slopes**2
            move = (STEP * slopes / np.sqrt(squares[touched])).astype(np.float32)
            theta[touched] += move
            late[touched] += np.float32(begin / len(order)) * move
        averages = [*averages, theta - late][-((done + 1) // 2) :]
        model = NodeModel(features, np.mean(averages, axis=0, dtype=np.float32))
        note(model)
    return model


def _slopes(
    corpus: Corpus, regions: Regions, table: "csr_matrix", theta: NDArray[np.float32], beam: int
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The features of a batch, and the derivative of its likelihood by their weights."""
    types, place = np.unique(corpus.words[regions.tokens(corpus)], return_inverse=True)
    rows = table[types]
    logits = np.asarray(rows @ theta, np.float64)
    laws = np.exp(logits - logits.max(axis=1, keepdims=True))
    laws = np.maximum(laws / laws.sum(axis=1, keepdims=True), _LEAST)
    pull = np.zeros_like(laws)
    np.add.at(pull, place, beam_of_tokens(laws, place, regions, beam).probabilities - laws[place])
    touched = np.unique(rows.indices)
    return touched, np.asarray(rows[:, touched].T @ pull, np.float32)
