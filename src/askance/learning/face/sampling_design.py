"""How people came into a sample: strata, clusters and the size of the population, from arrays or from columns."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.arrays import Floats, Integers
from askance.engines.base import Engine
from askance.engines.sources import ArraySource, RecordSource
from askance.errors import AskanceWarning, InvalidInput
from askance.learning.face.release_records import FeatureReader, ReleaseColumns, ReleaseRecords, checked_columns
from askance.releases.release import Release
from askance.statistics.base import Records

_SHOWN = 5  # names in a message


@dataclass(frozen=True, eq=False)
class SamplingUnits:
    """The sampling units of a data set.

    Parameters
    ----------
    clustered : bool
        Whether units are clusters; otherwise they are strata, of people who were drawn one by one.
    strata : array, units
        The number of each unit's stratum.
    fraction : array, units
        The share of the population that the sample has in the unit's stratum: 0 where nothing is known of it.
    """

    clustered: bool
    strata: Integers
    fraction: Floats

    @property
    def units(self) -> int:
        return len(self.strata)

    def describe(self) -> str:
        """Say what the sample is made of."""
        strata = len(np.unique(self.strata))
        parts = [f"{self.units} clusters"] if self.clustered else []
        parts += [f"{strata} strata"] if strata > 1 or not self.clustered else []
        parts += ["a finite population"] if np.any(self.fraction > 0) else []
        return ", ".join(parts)


@dataclass(frozen=True, eq=False)
class SampledUnits(SamplingUnits):
    """Sampling units, and the records with the number of each one's unit as a last feature."""

    source: RecordSource


@dataclass(frozen=True, eq=False)
class RowUnits(SamplingUnits):
    """Sampling units, with the number of each row's unit and how many rows each unit has."""

    unit: Integers
    people: Floats


def units_of_rows(rows: int, strata: Any, cluster: Any, fpc: Any = None) -> RowUnits | None:
    """Return the units of rows in memory; None for a simple random sample."""
    if strata is None and cluster is None and fpc is None:
        return None
    given = {"strata": strata, "cluster": cluster, "fpc": fpc}
    columns = [None if value is None else _column(name, value, rows) for name, value in given.items()]
    keys = list(zip(*([None] * rows if column is None else column for column in columns), strict=True))
    known = _Units.of(set(keys), cluster is not None, fpc is not None)
    numbers = known.numbers(keys)
    people = np.bincount(numbers).astype(float)
    return RowUnits(known.clustered, *known.drawn(people), numbers, people)


def sampled_arrays(records: Records, strata: Any, cluster: Any, fpc: Any) -> SampledUnits | None:
    """Return the units of records in memory; None for a simple random sample."""
    drawn = units_of_rows(len(records), strata, cluster, fpc)
    if drawn is None:
        return None
    features = np.column_stack([records.features, drawn.unit])
    if records.weights is not None and (idle := int((records.weights == 0).sum())):
        warnings.warn(f"{idle} rows weigh 0, and count for nothing but their unit.", AskanceWarning, stacklevel=3)
    source = ArraySource(Records(features, records.codes, records.weights))
    return SampledUnits(drawn.clustered, drawn.strata, drawn.fraction, source)


@dataclass(frozen=True)
class SampleColumns:
    """The columns of a release that say how people came into the sample."""

    strata: str | None = None
    cluster: str | None = None
    fpc: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.strata, self.cluster, self.fpc) if name)

    def sampled(self, release: Release, source: ReleaseRecords, engine: Engine) -> SampledUnits | None:
        """Return the units of a release; None for a simple random sample."""
        if not self.names:
            return None
        checked_columns(release, self.names)
        refuse_cluster_as_covariate(self.cluster, source.decoder.reader.columns)
        counts = engine.reduce(UnitCounts(self.strata, self.cluster, self.fpc), ReleaseColumns(release, self.names))
        known = _Units.of(set(counts), self.cluster is not None, self.fpc is not None)
        rows = np.zeros(len(known.keys))
        for row, count in counts.items():
            rows[known.number(row)] += count
        reader = _WithUnit(source.decoder.reader, self, known)
        decoded = replace(source, decoder=replace(source.decoder, reader=reader))
        return SampledUnits(known.clustered, *known.drawn(rows), decoded)


def refuse_cluster_as_covariate(cluster: str | None, covariates: Sequence[str]) -> None:
    """Refuse a cluster that is a covariate, too."""
    if cluster is not None and cluster in covariates:
        raise InvalidInput(
            f"{cluster!r} is both the cluster and a covariate",
            "one of them",
            "A coefficient for every cluster leaves nothing between clusters to measure the errors by.",
        )


Row = tuple[Any, Any, Any]  # stratum, cluster, size of the population


@dataclass(frozen=True)
class UnitCounts:
    """Count the records of every combination of stratum, cluster and size of the population."""

    strata: str | None
    cluster: str | None
    fpc: str | None

    def empty(self) -> dict[Row, int]:
        return {}

    def observe(self, table: pa.Table) -> dict[Row, int]:
        counts: dict[Row, int] = {}
        for row in rows_of(table, self.strata, self.cluster, self.fpc):
            counts[row] = counts.get(row, 0) + 1
        return counts

    def merge(self, first: dict[Row, int], second: dict[Row, int]) -> dict[Row, int]:
        return {row: first.get(row, 0) + second.get(row, 0) for row in [*first, *(r for r in second if r not in first)]}


def rows_of(table: pa.Table, *columns: str | None) -> list[Row]:
    """Return some columns as rows; None for a column that is not there."""
    lists = []
    for name in columns:
        if name is not None and table[name].null_count:
            raise missing_unit(name, table[name].null_count)
        lists.append([None] * table.num_rows if name is None else table[name].to_pylist())
    return list(zip(*lists, strict=True))


def missing_unit(name: str, count: int) -> InvalidInput:
    """The error for people whose stratum or cluster is not known."""
    return InvalidInput(f"{count} values of {name!r} are missing", "a stratum or cluster for every row")


@dataclass(frozen=True)
class _WithUnit:
    """A reader of features with the number of the unit after them."""

    reader: FeatureReader
    sample: SampleColumns
    known: "_Units"

    @property
    def columns(self) -> Sequence[str]:
        return tuple(dict.fromkeys([*self.reader.columns, *self.sample.names]))

    @property
    def names(self) -> Sequence[str]:
        return (*self.reader.names, "(unit)")

    @property
    def intercept(self) -> bool:
        return self.reader.intercept

    def matrix(self, table: pa.Table) -> NDArray[np.float64]:
        rows = rows_of(table, self.sample.strata, self.sample.cluster, self.sample.fpc)
        return np.column_stack([self.reader.matrix(table), self.known.numbers(rows)])


@dataclass(frozen=True)
class _Units:
    """All units, in order; a unit is a cluster within its stratum, or a stratum where there are no clusters."""

    keys: dict[tuple[Any, Any], int]
    clustered: bool
    sizes: dict[Any, float]

    @classmethod
    def of(cls, rows: set[Row], clustered: bool, finite: bool) -> "_Units":
        pairs = {(stratum, cluster) for stratum, cluster, _ in rows}
        keys = {
            pair: number for number, pair in enumerate(sorted(pairs, key=lambda pair: (str(pair[0]), str(pair[1]))))
        }
        sizes: dict[Any, float] = {}
        for stratum, _, size in rows if finite else ():
            if sizes.setdefault(stratum, float(size)) != float(size) or not float(size) > 0:
                raise InvalidInput(
                    f"stratum {stratum!r} has fpc {size!r} and {sizes[stratum]:g}"
                    if stratum is not None
                    else f"fpc {size!r}",
                    "one positive number for each stratum: its population, in units that are sampled, or a share",
                )
        units = cls(keys, clustered, sizes)
        if clustered:
            units._check_clusters()
        return units

    def _check_clusters(self) -> None:
        if len(self.keys) < 2:
            raise InvalidInput(
                "a sample of one cluster", "two or more", "One cluster does not tell how clusters differ."
            )
        in_stratum: dict[Any, int] = {}
        for stratum, _ in self.keys:
            in_stratum[stratum] = in_stratum.get(stratum, 0) + 1
        alone = sorted(str(stratum) for stratum, count in in_stratum.items() if count == 1)
        if alone and len(in_stratum) > 1:
            raise InvalidInput(
                f"{len(alone)} strata have a single cluster: {', '.join(alone[:_SHOWN])}",
                "two or more clusters in every stratum",
                "Merge such a stratum with one that is like it.",
            )

    def number(self, row: Row) -> int:
        return self.keys[row[:2]]

    def numbers(self, rows: Sequence[Row]) -> Integers:
        return np.fromiter((self.keys[row[:2]] for row in rows), dtype=np.int64, count=len(rows))

    def drawn(self, rows: Floats) -> tuple[Integers, Floats]:
        """The stratum of each unit, and the share of its population that is in the sample; from its rows."""
        names = {stratum: number for number, stratum in enumerate(dict.fromkeys(stratum for stratum, _ in self.keys))}
        strata = np.array([names[stratum] for stratum, _ in self.keys])
        sampled = np.bincount(strata).astype(float) if self.clustered else rows
        if not self.clustered and np.any(rows < 2) and len(rows) > 1:
            alone = [str(stratum) for (stratum, _), count in zip(self.keys, rows.tolist(), strict=True) if count < 2]
            raise InvalidInput(f"strata of one person: {', '.join(alone[:_SHOWN])}", "two or more in every stratum")
        fraction = np.zeros(len(strata))
        for unit, (stratum, _) in enumerate(self.keys):
            size = self.sizes.get(stratum, np.inf)
            fraction[unit] = size if size <= 1 else sampled[strata[unit]] / size
            if fraction[unit] > 1 + 1e-9:
                raise InvalidInput(
                    f"fpc {size:g}, and {sampled[strata[unit]]:g} sampled from it",
                    "a population that is at least as large as the sample",
                )
        return strata, fraction


def _column(name: str, values: Any, rows: int) -> list[Any]:
    column = pa.array(np.asarray(values).tolist(), from_pandas=True)  # which reads NaN as missing
    if len(column) != rows:
        raise InvalidInput(f"{len(column)} values of {name} for {rows} rows", "one for each row")
    if column.null_count:
        raise missing_unit(name, column.null_count)
    return list(column.to_pylist())
