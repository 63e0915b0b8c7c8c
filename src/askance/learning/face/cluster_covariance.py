"""Covariances of estimates from clustered and stratified samples, from sums of scores by sampling unit.

Scores of a primary sampling unit (PSU) are added up, since its people are alike; their spread between units is the
variance. With few units that is too small, because the fit follows every unit a little: CR2 undoes it, exactly if
scores were independent with the variance that the model says. With G_g the share of unit g in the information, in
coordinates where all of it is the identity, the adjusted score is (I - G_g)^(-1/2) u_g. The degrees of freedom of each
estimate are those that Bell and McCaffrey (2002) match to the variance of the variance under the same model.
"""

from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats, Integers
from askance.statistics.grouped_scores import GroupSums

_MOST_LEVERAGE = (
    1 - 1e-6
)  # a unit that alone determines a direction has all of its information: its score is zero there
_MOST_UNITS = 3000  # degrees of freedom need units x units numbers; with more of them they do not matter


@dataclass(frozen=True, eq=False)
class ClusterSpread:
    """The spread of scores between sampling units.

    Parameters
    ----------
    adjusted : array, units x parameters
        CR2-adjusted scores.
    shares : array, units x parameters x parameters
        Expected information of each unit.
    strata : array, units
        The number of each unit's stratum.
    fraction : array, units
        The share of the population's units that the sample has, in the unit's stratum.
    """

    adjusted: Floats
    shares: Floats
    strata: Integers
    fraction: Floats

    @classmethod
    def of(cls, sums: GroupSums, strata: Integers, fraction: Floats) -> "ClusterSpread":
        """Adjust the scores of units for how much the fit follows each."""
        total = sums.second.sum(axis=0)
        scale = np.sqrt(np.maximum(np.diag(total), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(total / np.outer(scale, scale))
        seen = values > 1e-12 * values[-1]  # directions without information, of constant and collinear columns
        root = (vectors[:, seen] * np.sqrt(values[seen])).T * scale  # total = root' root
        back = (vectors[:, seen] / np.sqrt(values[seen])).T / scale
        share, axes = np.linalg.eigh(back @ sums.second @ back.T)  # of all units
        stretch = 1 / np.sqrt(1 - np.clip(share, 0.0, _MOST_LEVERAGE))
        along = np.einsum("gab,ga->gb", axes, sums.score @ back.T) * stretch
        adjusted: Floats = np.einsum("gab,gb->ga", axes, along) @ root
        return cls(adjusted, sums.second, strata, fraction)

    @property
    def stratified(self) -> bool:
        return len(np.unique(self.strata)) > 1

    def meat(self, about_mean: bool = False) -> Floats:
        """The variance of the total score; ``about_mean`` where the scores do not sum to zero, as at the full fit."""
        spread = self.adjusted
        factor = 1 - self.fraction
        if about_mean and not self.stratified:
            spread = spread - spread.mean(axis=0)
        if self.stratified:
            sizes = np.bincount(self.strata)
            means = np.zeros((len(sizes), spread.shape[1]))
            np.add.at(means, self.strata, spread)
            spread = spread - (means / np.maximum(sizes, 1)[:, None])[self.strata]
            factor = factor * (sizes / np.maximum(sizes - 1, 1))[self.strata]
        meat: Floats = (spread * factor[:, None]).T @ spread
        return meat

    def degrees(self, combinations: Floats) -> Floats:
        """Bell and McCaffrey's degrees of freedom of linear combinations of the scores, one a row."""
        units, strata = len(self.adjusted), len(np.unique(self.strata))
        if units > _MOST_UNITS:
            return np.full(len(combinations), float(units - strata))
        total = self.shares.sum(axis=0)
        middle = np.linalg.pinv(total, hermitian=True)
        values, vectors = np.linalg.eigh(middle)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        unroot = np.linalg.pinv(root, hermitian=True)
        share, axes = np.linalg.eigh(root @ self.shares @ root)
        share = np.clip(share, 0.0, _MOST_LEVERAGE)
        scaled = axes * (share / np.sqrt(1 - share))[:, None, :]
        stretched = unroot @ (scaled @ axes.transpose(0, 2, 1)) @ unroot
        sizes = np.bincount(self.strata)[self.strata]
        centring = None
        if self.stratified:
            same = self.strata[:, None] == self.strata[None, :]
            centring = (np.eye(units) - same / sizes[:, None]) * (sizes / np.maximum(sizes - 1, 1))[:, None]
        degrees = []
        for row in combinations:
            away = stretched @ row
            form = -away @ middle @ away.T
            np.fill_diagonal(form, np.einsum("gab,a,b->g", self.shares, row, row))
            form = form if centring is None else centring @ form
            squares = float((form * form.T).sum())
            degrees.append(float(np.trace(form)) ** 2 / squares if squares > 0 else float(units - strata))
        return np.array(degrees)


def stratum_meat(sums: GroupSums, fraction: Floats) -> Floats:
    """The variance of the total score of a stratified sample of single people; units are the strata."""
    size = np.maximum(sums.rows, 2.0)
    mean = sums.score / np.maximum(sums.rows, 1.0)[:, None]
    within = sums.second - sums.rows[:, None, None] * mean[:, :, None] * mean[:, None, :]
    meat: Floats = np.einsum("h,hab->ab", (1 - fraction) * size / (size - 1), within)
    return meat
