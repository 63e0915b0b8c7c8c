"""Records as a prior of latent classes and its likelihood need them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.learning.records.latent_block import Part
from askance.learning.records.latent_classes import LatentPrior, LearnedClasses, learn_classes
from askance.learning.records.latent_reports import LatentReports, counted_rows
from askance.learning.records.mixture_likelihood import MixtureLikelihood
from askance.learning.records.posterior import FeaturePosterior
from askance.learning.records.reading import SpreadRecords

# Reports of all states together: tables of so many squared, for every class. Pictures have far more, and keep the
# spectral method.
_MOST_CELLS = 600
_MOST_NUMBERS = 60  # attributes with normal noise, whose covariances make 1,800 parameters of each class
_ROWS_FOR_EACH = 5  # reports for each parameter of two classes, or of one with covariances: less tells nothing of them


@dataclass(frozen=True, eq=False)
class LatentData:
    """Records with weights, in memory.

    Parameters
    ----------
    records : SpreadRecords
    nominal : d booleans
        Whether an attribute's states are levels.
    """

    records: SpreadRecords
    nominal: tuple[bool, ...]

    @property
    def affordable(self) -> bool:
        """Whether there are records enough, and attributes few enough, to learn how these depend on each other."""
        laws = self.records.features.laws
        cells = sum(len(law.values) for law in laws if law.is_finite)
        numbers = sum(not law.is_finite for law in laws)
        free = cells - sum(law.is_finite for law in laws)
        with_covariances = numbers + numbers * (numbers + 1) // 2
        needed = max(2 * (free + 2 * numbers), free + with_covariances)
        return (
            any(law.hides for law in laws)
            and len(laws) > 0
            and cells <= _MOST_CELLS
            and numbers <= _MOST_NUMBERS
            and _ROWS_FOR_EACH * needed <= self.records.total
        )

    @cached_property
    def reports(self) -> LatentReports:
        """Distinct feature reports."""
        return self._reports(np.zeros((len(self.records.reports), 0)), ())[0]

    def _reports(self, beside: NDArray[Any], sizes: tuple[int, ...]) -> tuple[LatentReports, NDArray[np.intp]]:
        records = self.records
        features, table = records.features, records.reports
        known = [len(law.values) for law in features.laws if law.is_finite]
        every = [*known, *sizes] if features.is_finite else None
        kept, counts, squares = counted_rows(every, np.column_stack([table, beside]), records.counts)
        if records.squares is not None:
            # Weights that say how often a record came are not squared.
            squares = counted_rows(every, np.column_stack([table, beside]), records.squares)[1]
        return LatentReports.of(features, table[kept], counts, squares, self.nominal), kept

    def learned(self, classes: int | None) -> LearnedClasses:
        """The prior of latent classes, their number given or chosen."""
        return learn_classes(self.reports, classes)

    def likelihood(self, prior: LatentPrior, intercept: bool) -> MixtureLikelihood:
        """The likelihood of label reports, of distinct records."""
        labels = self.records.label_codes
        reports, kept = self._reports(labels[:, None], (len(self.records.label.matrix),))
        return MixtureLikelihood.of(prior, reports, self.records.label.matrix[labels[kept]], intercept)

    def row_likelihood(self, prior: LatentPrior, intercept: bool) -> MixtureLikelihood:
        """The same of all records, one by one, for folds."""
        counts = self.records.weights
        reports = LatentReports.of(self.records.features, self.records.reports, counts, counts**2, self.nominal)
        return MixtureLikelihood.of(prior, reports, self.records.label_likelihood, intercept)

    def factorised(self, posterior: FeaturePosterior) -> LatentPrior:
        """One class with the laws that each attribute has by itself."""
        return factorised_prior(posterior, self.reports)


def to_arrays(prior: LatentPrior) -> dict[str, Any]:
    """A prior as arrays to keep."""
    return {"shares": prior.shares, "parts": prior.parts}


def from_arrays(kept: dict[str, Any]) -> LatentPrior:
    """Make it again from what :func:`to_arrays` returned."""
    return LatentPrior(kept["shares"], tuple(kept["parts"]))


def factorised_prior(posterior: FeaturePosterior, reports: LatentReports) -> LatentPrior:
    """One class with the laws that each attribute has by itself, in the blocks of these reports."""
    weights: dict[int, Floats] = {}
    mean: dict[int, float] = {}
    variance: dict[int, float] = {}
    for (_, columns), kept in zip(posterior.groups, posterior.priors(), strict=True):
        for place, column in enumerate(columns.tolist()):
            if "weights" in kept:
                weights[column] = kept["weights"][place]
            else:
                mean[column], variance[column] = kept["mean"][place], kept["variance"][place]
    parts: list[Part] = []
    for block in reports.blocks:
        columns = block.columns.tolist()
        if columns[0] in weights:
            parts.append({"weights": np.concatenate([weights[j] for j in columns])[None]})
            continue
        middle, spread = (np.array([one[j] for j in columns]) for one in (mean, variance))
        normal = hasattr(block, "noise")
        parts.append(
            {"mean": middle[None], "covariance": np.diag(spread)[None]}
            if normal
            else {"mean": middle[None], "variance": spread[None]}
        )
    return LatentPrior(np.ones(1), tuple(parts))
