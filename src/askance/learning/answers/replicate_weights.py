"""Replicate weights: an agency's own resamples of its survey, from which errors are read without knowing its design.

The fit is repeated with each column of weights; the spread of the estimates about the full sample's, times the factors
of the method, is their covariance. These factors are those that survey packages use:

=========== ======================================= ====================================================
``jk1``     (R - 1) / R                             one cluster left out at a time, no strata
``jkn``     (n_h - 1) / n_h, given as ``rscales``   one cluster left out at a time, within strata
``brr``     1 / R                                   balanced half-samples
``fay``     1 / (R (1 - rho)^2)                     balanced, the other half weighing rho
``bootstrap`` 1 / R                                 clusters drawn again
=========== ======================================= ====================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import ArraySource, RecordSource
from askance.errors import InvalidInput
from askance.learning.face.release_records import NumericColumns, ReleaseRecords, checked_columns, records_of
from askance.releases.release import Release
from askance.statistics.base import Records
from askance.statistics.features import FeatureMoments

METHODS = ("jk1", "jkn", "brr", "fay", "bootstrap")
_SAME = 1e-9  # relative singular value below which replicates repeat each other: weights are written with few digits


@dataclass(frozen=True, eq=False)
class Replicates:
    """Records with each of R columns of weights, what the spread of their estimates is multiplied by, and how many of
    them are different: one less is the degrees of freedom."""

    sources: tuple[RecordSource, ...]
    factors: Floats
    degrees: float
    method: str

    def describe(self) -> str:
        """Say what the sample is made of."""
        return f"{len(self.sources)} replicate weights ({self.method})"

    def covariance(self, estimates: Floats, full: Floats) -> Floats:
        """The covariance of estimates, of which the replicates are the rows."""
        gaps = estimates - full
        covariance: Floats = (gaps * self.factors[:, None]).T @ gaps
        return covariance


@dataclass(frozen=True)
class ReplicateMethod:
    """How replicate weights were made.

    Examples
    --------
    >>> ReplicateMethod("fay", rho=0.5).factors(4)
    array([1., 1., 1., 1.])
    """

    name: str
    rho: float | None = None
    rscales: tuple[float, ...] | None = None

    def factors(self, number: int) -> Floats:
        """Return what each replicate's squared distance is multiplied by."""
        if self.name not in METHODS:
            raise InvalidInput(f"replicate_method={self.name!r}", f"one of {', '.join(METHODS)}")
        if (self.name == "fay") != (self.rho is not None) or not 0 <= (self.rho or 0.0) < 1:
            raise InvalidInput(f"replicate_method={self.name!r} with rho={self.rho!r}", "'fay' with 0 <= rho < 1")
        if (self.name == "jkn") != (self.rscales is not None):
            raise InvalidInput(
                f"replicate_method={self.name!r} with rscales={self.rscales!r}",
                "'jkn' with one factor (n_h - 1) / n_h for each replicate",
            )
        if self.rscales is not None and len(self.rscales) != number:
            raise InvalidInput(f"{len(self.rscales)} rscales for {number} replicates", "one for each")
        if number < 2:
            raise InvalidInput(f"{number} columns of replicate weights", "two or more")
        one = {"jk1": (number - 1) / number, "brr": 1 / number, "bootstrap": 1 / number}
        one["fay"] = 1 / (number * (1 - (self.rho or 0.0)) ** 2)
        return np.asarray(self.rscales, dtype=float) if self.rscales is not None else np.full(number, one[self.name])


def replicated_arrays(records: Records, weights: Any, method: ReplicateMethod) -> Replicates | None:
    """Return the replicates of records in memory, from n x R weights; None without any."""
    if weights is None:
        return None
    columns = np.asarray(weights, dtype=float)
    if columns.ndim != 2 or len(columns) != len(records):
        raise InvalidInput(f"replicate weights of shape {columns.shape}", f"{len(records)} rows x R columns")
    if not np.isfinite(columns).all() or columns.min(initial=0.0) < 0 or not (columns.sum(axis=0) > 0).all():
        raise InvalidInput("replicate weights that are missing, negative, or all zero", "weights of zero or more")
    factors = method.factors(columns.shape[1])
    sources = tuple(ArraySource(Records(records.features, records.codes, column.copy())) for column in columns.T)
    table = ArraySource(Records(columns, records.codes))
    return Replicates(sources, factors, _degrees(table, LocalEngine(), columns.shape[1]), method.name)


def replicated_release(
    release: Release, rows: ReleaseRecords, columns: Sequence[str], method: ReplicateMethod, engine: Engine
) -> Replicates | None:
    """Return the replicates of a release, from columns of weights; None without any."""
    if not columns:
        return None
    checked_columns(release, columns)
    factors = method.factors(len(columns))
    decoder = rows.decoder
    sources = [records_of(release, decoder.question, decoder.reader, column) for column in columns]
    table = records_of(release, decoder.question, NumericColumns(tuple(columns)), None)
    return Replicates(tuple(map(engine.cache, sources)), factors, _degrees(table, engine, len(columns)), method.name)


def _degrees(table: RecordSource, engine: Engine, number: int) -> float:
    second = engine.reduce(FeatureMoments(number, False), table).second
    values = np.linalg.eigvalsh(second)
    return float(max(int((values > _SAME * values[-1]).sum()) - 1, 1))
