"""The log-linear node model: P(tag | word) is proportional to exp(sum of theta over the word's features)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.learning.counting.token_features import TokenFeatures

Weights = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class NodeModel:
    """A tag's probability given the word, whatever stands around it.

    Parameters
    ----------
    features : TokenFeatures
    theta : array of float32, features x tags

    Examples
    --------
    >>> features = TokenFeatures.of(["cats"])
    >>> theta = np.zeros((len(features), 2), np.float32)
    >>> theta[features.names.index("suffix s"), 1] = np.log(3)
    >>> NodeModel(features, theta).probabilities(["dogs", "dog"]).round(2).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """

    features: TokenFeatures
    theta: Weights

    def logits(self, vocabulary: Sequence[str]) -> NDArray[np.float64]:
        """Sums of weights, word types x tags."""
        table = self.features.rows(vocabulary).matrix(len(self.features))
        return np.asarray(table @ self.theta, np.float64)

    def probabilities(self, vocabulary: Sequence[str]) -> NDArray[np.float64]:
        """P(tag | word), word types x tags."""
        logits = self.logits(vocabulary)
        logits -= logits.max(axis=1, keepdims=True)
        powers = np.exp(logits)
        normalised: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
        return normalised
