"""Where a chain's weights are sought, how far they may go, and what holds them back where nothing else does."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.errors import Unidentifiable
from askance.learning.models.chain_problem import Method
from askance.learning.models.fitted import MOST_DIFFERENCED, Fitted
from askance.learning.models.gradient_fit import GradientProblem, NoFiniteEstimate, fit_by_gradient, moments_start

_PLENTY = 20  # tokens for each parameter with which a chain needs no ridge
# Where features are words, most are rare, and without a ridge each of these would be learned by heart. With three, a
# tagger of every third sentence of the English Web Treebank, tags at level 2, is right in .879 of its development file.
_WORDS_RIDGE = 3.0
# Where the likelihood grows without end: a normal law of the weights with variance one. Of 200 made-up sets of 20 to
# 150 sentences (seeds 0-39), with it none had a higher maximum than the search from zero found; with .1, 33 of 90 had.
_RUNAWAY_RIDGE = 1.0
_FAR = 30.0  # odds of e^30 are certainty for any number of tokens; numbers overflow at e^709

_ON_THE_WAY = 1 / 3  # of that: odds of e^10, after as many steps as a search may take, end nowhere


@dataclass(frozen=True, eq=False)
class ChainSearch:
    """A chain that is to be fitted.

    Parameters
    ----------
    problem : GradientProblem
    clean : GradientProblem
        The same under true tags.
    averages : function
        Makes the objective by moments, or raises Unidentifiable where reports have none.
    sentences, tokens, tags : int
    sizes : array, features
        How large the values of each feature are.
    """

    problem: GradientProblem
    clean: GradientProblem
    averages: Callable[[], GradientProblem]
    sentences: int
    tokens: int
    tags: int
    sizes: Floats

    def fit(self, method: Method, ridge: float | None, max_iterations: int) -> Fitted:
        """Fit with the ridge that is asked for; else with none, if there are tokens enough and an estimate exists."""
        if ridge is not None:
            return self._held(method, ridge, max_iterations)
        if self.problem.size * _PLENTY > self.tokens:
            return self._held(method, _WORDS_RIDGE, max_iterations)
        try:
            found = self._held(method, 0.0, max_iterations)
        except NoFiniteEstimate:
            return self._held_back(method, max_iterations)
        on_the_way = np.abs(found.theta / self._limits()).max() > _ON_THE_WAY
        return self._held_back(method, max_iterations) if on_the_way and not found.converged else found

    def _held_back(self, method: Method, max_iterations: int) -> Fitted:
        # Averages miss by the root of the tokens what they stand for: as much is held against them.
        ridge = _RUNAWAY_RIDGE if method == "marginal" else self.tokens**0.5
        found = self._held(method, ridge, max_iterations)
        said = f"Some parameters have no finite estimate: a ridge of {ridge:.3g} holds them back, and shortens all."
        return replace(found, notes=(said, *found.notes))

    def _held(self, method: Method, ridge: float, max_iterations: int) -> Fitted:
        limits = None if ridge else self._limits()
        marginal = method == "marginal"
        starts = () if not marginal or self.problem.size > MOST_DIFFERENCED else self._starts(ridge, max_iterations)
        return fit_by_gradient(
            self.problem,
            self.clean,
            self.sentences,
            ridge,
            max_iterations,
            marginal=marginal,
            starts=[one if limits is None else np.clip(one, -limits, limits) for one in starts],
            limits=limits,
        )

    def _limits(self) -> Floats:
        nodes = np.repeat(_FAR / np.maximum(self.sizes, np.finfo(float).tiny), self.tags)
        return np.concatenate([nodes, np.full(self.tags**2, _FAR)])

    def _starts(self, ridge: float, max_iterations: int) -> tuple[Floats, ...]:
        """Where moments lead: the likelihood of hidden tags may have several maxima, and zero lead to a lower one."""
        try:
            averages = self.averages()
        except Unidentifiable:  # the likelihood may tell what no average does
            return ()
        return (moments_start(averages, ridge, self.tokens, max_iterations),)


def sizes_of(table: Any) -> Floats:
    """How large the values of each column are that are not zero."""
    present = np.maximum(np.asarray((table != 0).sum(axis=0)).ravel(), 1)
    return np.asarray(np.sqrt(np.asarray(table.multiply(table).sum(axis=0)).ravel() / present))
