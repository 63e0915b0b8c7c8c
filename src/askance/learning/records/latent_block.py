"""What a latent-class model needs of some attributes of a record, whatever kind they are.

Given its latent class z, the attributes of a record are of blocks that are independent of each other: states
(``latent_states``), numbers with normal noise, and numbers with Laplace noise (``latent_numbers``).
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats

# The law of a block in every class: arrays with the classes first, to keep and to save.
Part = dict[str, Floats]


class LogitMoments(NamedTuple):
    """Of logits given a report, by class z: means, R x z x F, and covariances, (R or 1) x z x pairs of logits."""

    mean: Floats
    covariance: Floats


class Pull(NamedTuple):
    """Derivatives of something by the moments of the logits, R x z x F and R x z x pairs."""

    by_mean: Floats
    by_covariance: Floats


class PriorScores(NamedTuple):
    """Derivatives by the prior's own parameters, R x parameters: of what feature reports say, and of the label's."""

    features: Floats
    label: Floats


class ReportLaw(NamedTuple):
    """Reports as numbers (R x d), with their means (z x d) and covariances (z x d x d) in every class."""

    values: Floats
    means: Floats
    covariances: Floats


class BlockPosterior(Protocol):
    """The truth of a block's attributes given their reports, in every class."""

    def means(self, responsibilities: Floats) -> Floats:
        """The posterior mean of the design, R x D."""

    def moments(self, weights: Floats) -> LogitMoments:
        """Of the block's share of F logits, for weights of F x D."""

    def pulled(self, weights: Floats, pull: Pull) -> Floats:
        """Derivatives by the weights, F x D."""

    def row_slopes(self, weights: Floats, pull: Pull) -> Floats:
        """The same for each report, R x F x D."""

    def prior_scores(self, weights: Floats, own: Floats, shift: Floats, pull: Pull, rows: slice) -> PriorScores:
        """Derivatives for some rows, by the parameters of the block's laws that are not at a border.

        ``own`` has the responsibilities, R x z, and ``shift`` what the label's log-likelihood gains with the
        log-density of each class.
        """


class LatentBlock(Protocol):
    """Reports of a block's attributes."""

    @property
    def columns(self) -> NDArray[np.intp]:
        """Of the record."""

    def log_density(self, part: Part) -> Floats:
        """Of each report in each class, R x z."""

    def maximised(self, part: Part | None, weights: Floats) -> Part:
        """The laws under which reports with these weights, R x z, are the likeliest, or likelier than before."""

    def size(self, part: Part) -> int:
        """How many free parameters there are."""

    def residuals(self, part: Part, which: int) -> Floats:
        """Reports about their mean in one class, in standard deviations, R x attributes."""

    def of_reports(self, part: Part) -> ReportLaw:
        """Reports, and what the classes say of them; covariances without a diagonal."""

    def design_moments(self, part: Part, shares: Floats) -> tuple[Floats, Floats]:
        """Prior mean and variance of the design of the true attributes, D each."""

    def posterior(self, part: Part, centre: Floats) -> BlockPosterior:
        """The truth given reports, with the design about a centre."""


def pairs(rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The pairs of logits that a lower triangle has, in its order."""
    first, second = np.tril_indices(rows)
    return first, second
