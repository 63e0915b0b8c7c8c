"""Held-out class posteriors of the training rows, counted on a grid: what a class looks like through a model's eyes.

Nothing else is kept of the rows. The mean of a function h of the posterior over the rows of class y is estimated twice:

- by the bags: bag means are sum_y P_jy E[h | y], solved by least squares. Never biased, whatever the posteriors are.
- by the labels: rows are weighted by p(y | x, bag), raked to every bag's counts. Less noise, most of all where classes
  are far apart or bags small, but biased as the posteriors are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats, Integers
from askance.learning.bags.bags import nearest_shares
from askance.solvers.bag_means import class_means

_STEPS = (0.1, 0.2, 0.4, 0.8)  # of the grid on which log-probabilities are kept
_CELLS = 20_000  # that a table may have before its grid is made coarser
_LOWEST = -8.0  # a probability of 0.0003: what is rarer is as rare as this
_RAKINGS = 30  # each brings bags and cells nearer to their sums; more would be finer than the posteriors are
_UNKNOWN = 2.0  # rows of unknown class that are shared among the classes: few rows show few of a model's mistakes


class ClassMoments(NamedTuple):
    """Of functions of the posterior, within each class."""

    means: Floats  # K x functions
    covariances: Floats  # K x functions x functions


@dataclass(frozen=True, eq=False)
class PosteriorTable:
    """How often each class posterior occurs among the rows of every training bag.

    Parameters
    ----------
    step : float
    cells : array, C x K
        log p(k | x) in units of ``step``.
    bags, places, counts : array
        In which bag which cell occurs, and how often.
    sizes : array, bags
    proportions : array, bags x K
        As they were given; with noise they need not lie between 0 and 1.
    noise : array, bags x K x K, optional
        The covariance of each bag's proportions about the true ones.
    """

    step: float
    cells: NDArray[np.int16]
    bags: Integers
    places: Integers
    counts: Integers
    sizes: Integers
    proportions: Floats
    noise: Floats | None

    @classmethod
    def of(cls, logs: Floats, codes: Integers, proportions: Floats, noise: Floats | None) -> Self:
        """Count the log-posteriors of rows, n x K, that lie in the bags ``codes``."""
        for step in _STEPS:
            cells, place = _distinct(_on_grid(logs, step))
            if len(cells) <= _CELLS:
                break
        pairs, counts = np.unique(codes * len(cells) + place, return_counts=True)
        sizes = np.bincount(codes, minlength=len(proportions))
        return cls(step, cells, pairs // len(cells), pairs % len(cells), counts, sizes, proportions, noise)

    @cached_property
    def shares(self) -> Floats:
        """The nearest proportions that lie between 0 and 1."""
        return nearest_shares(self.proportions)

    @cached_property
    def overall(self) -> Floats:
        """The ratios pi of all training rows, to which the posteriors belong."""
        together: Floats = self.sizes @ self.shares / self.sizes.sum()
        return together

    @cached_property
    def cell_likelihoods(self) -> Floats:
        """p(x | k) up to a factor for each cell, C x K."""
        made: Floats = np.exp(self.step * self.cells) / self.overall
        return made

    def likelihoods(self, logs: Floats) -> Floats:
        """Return p(x | k) of new rows, up to a factor for each.

        They are rounded as those of training were: nothing is lost but detail.
        """
        made: Floats = np.exp(self.step * _on_grid(logs, self.step)) / self.overall
        return made

    @cached_property
    def gram(self) -> Floats:
        """sum_j n_j P_j P_j', less what noise adds to it."""
        gram: Floats = (self.proportions * self.sizes[:, None]).T @ self.proportions
        if self.noise is not None:
            gram = gram - np.tensordot(self.sizes.astype(float), self.noise, axes=1)
        return gram

    def bag_weights(self, ratios: Floats) -> Floats:
        """Return the weight of each bag's mean in what least squares predicts of a group with such ratios."""
        weights: Floats = self.sizes.astype(float) * (self.proportions @ np.linalg.solve(self.gram, ratios))
        return weights

    def by_bags(self, functions: Floats) -> Floats:
        """Return class means, K x functions, of functions of the cells, C x functions."""
        weighted = functions[self.places] * self.counts[:, None]
        sums = [np.bincount(self.bags, column, len(self.sizes)) for column in weighted.T]
        return class_means(np.array(sums).T / self.sizes[:, None], self.sizes, self.proportions, self.noise)

    def by_labels(self, functions: Floats) -> ClassMoments:
        """Return means and covariances within classes, of functions of the cells, C x functions."""
        values = functions[self.places]
        totals = self._labels.sum(axis=0)
        means = self._labels.T @ values / totals[:, None]
        # Where no mistake is seen among 100 rows, it is not certain that there are none (Agresti & Coull 1998).
        unknown = _UNKNOWN / len(totals) * self.counts / self.sizes.sum()
        covariances = []
        for label, total, mean in zip(self._labels.T, totals, means, strict=True):
            apart = values - mean
            covariances.append((apart * (label + unknown)[:, None]).T @ apart / max(total - 1, 1.0))
        return ClassMoments(means, np.array(covariances))

    @cached_property
    def _labels(self) -> Floats:
        """How many rows of each class there are in a cell of a bag: by the posteriors, and by the bags' counts."""
        label = self.cell_likelihoods[self.places] * self.shares[self.bags]
        label *= (self.counts / label.sum(axis=1))[:, None]
        wanted = self.sizes[:, None] * self.shares
        for _ in range(_RAKINGS):
            sums = np.array([np.bincount(self.bags, column, len(self.sizes)) for column in label.T]).T
            label *= (wanted / np.maximum(sums, 1e-300))[self.bags]
            label *= (self.counts / np.maximum(label.sum(axis=1), 1e-300))[:, None]
        return label

    def to_dict(self) -> dict[str, Any]:
        """Arrays and plain values that ``from_dict`` turns into the table again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The table that ``to_dict`` described."""
        return cls(**content)


def _on_grid(logs: Floats, step: float) -> NDArray[np.int16]:
    rounded: NDArray[np.int16] = np.rint(np.maximum(logs, _LOWEST) / step).astype(np.int16)
    return rounded


def _distinct(cells: NDArray[np.int16]) -> tuple[NDArray[np.int16], Integers]:
    """The different rows, and which of them each row is."""
    whole = np.ascontiguousarray(cells).view(np.dtype((np.void, cells.itemsize * cells.shape[1]))).ravel()
    _, first, place = np.unique(whole, return_index=True, return_inverse=True)
    return cells[first], place.ravel().astype(np.int64)
