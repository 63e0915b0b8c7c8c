"""A Spark DataFrame as a release: its rows stay where they are."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import pyarrow as pa

from askance.engines.spark.errors import clear_errors
from askance.engines.spark.workers import TableOfRows
from askance.errors import InvalidInput
from askance.releases.header import Header
from askance.releases.partition import Partition
from askance.releases.release import Release
from askance.tables.columns import check_present


def spark_release(dataframe: Any, header: Header) -> Release:
    """Take a Spark DataFrame of reports and covariates for a release; its rows stay where they are.

    Parameters
    ----------
    dataframe : pyspark.sql.DataFrame
        With a column for each question, design and covariate of the header; others are passed over.
    header : Header
        How the answers were hidden: ``Study.header()``, or the header of a release.

    Examples
    --------
    >>> reports = session.read.table("survey")  # doctest: +SKIP
    >>> release = spark_release(reports, ask.Study.read("study.toml").header())  # doctest: +SKIP
    >>> ask.Prevalence().fit_release(release, "spark")  # doctest: +SKIP
    """
    check_present(header.schema.names, dataframe.columns, "the DataFrame")
    return Release(header, (DataFrameRows(dataframe, header),))


@dataclass(frozen=True, eq=False)
class DataFrameRows(Partition):
    """All rows of a Spark DataFrame. Only Spark reads them, and never as a whole."""

    dataframe: Any
    header: Header = field(repr=False)
    read_at_once: ClassVar[bool] = False

    @cached_property
    def num_rows(self) -> int:  # type: ignore[override]
        with clear_errors():
            return int(self.dataframe.count())

    def select(self, columns: Sequence[str]) -> tuple[Any, TableOfRows]:
        """Return a DataFrame of these columns, and what makes a table of its rows again."""
        # One where none is needed: Spark has no rows without columns. Numbered: Spark takes dots in names for paths.
        names = tuple(columns) or tuple(self.header.schema.names[:1])
        quoted = [name.replace("`", "``") for name in names]
        numbered = [f"`{name}` as c{number}" for number, name in enumerate(quoted)]
        return self.dataframe.selectExpr(*numbered), TableOfRows(names, self.header)

    def head(self, columns: Sequence[str], rows: int) -> pa.Table:
        with clear_errors():
            some, as_table = self.select(columns)
            return as_table(some.limit(rows).toArrow()).select(list(columns))

    def read(self, columns: Sequence[str] | None = None) -> NoReturn:
        raise InvalidInput(
            "the rows of a Spark DataFrame, outside of Spark",
            "engine='spark'",
            "Or write the DataFrame to Parquet files, and privatise or fit these.",
        )

    def split(self, max_rows: int) -> list[Partition]:
        return [self]

    def __reduce__(self) -> NoReturn:
        self.read()
