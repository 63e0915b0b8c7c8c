"""From two files of counts by unit to a cross-table: ecological inference."""

from pathlib import Path
from typing import Any

from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.learning.ecology.ecological_inference import EcologicalInference
from askance.learning.ecology.margins import Unmatched
from askance.learning.face.estimator_pages import report_of
from askance.releases.counts_release import CountsRelease
from askance.releases.reading import open_release
from askance.reports.estimator_report import EstimatorReport
from askance.tables.groups import GroupTable


def fit_crosstab(
    rows: StrPath,
    columns: StrPath,
    unit: str = "unit",
    *,
    unmatched: Unmatched = "refuse",
    seed: int = 0,
) -> EcologicalInference:
    """Learn who chose what from two tables of the same units.

    Parameters
    ----------
    rows : path
        A CSV or Parquet file with the unit and a column of counts for each row of the cross-table.
    columns : path
        The same for its columns; or counts that were released with noise (JSON), whose bags are the units.
    unit : str
        The column that names the unit, in both files.
    unmatched
        As for :class:`~askance.EcologicalInference`.
    seed : int
        Of the draws that intervals are made of.
    """
    model = EcologicalInference(unmatched, random_state=seed)
    table = _frame(rows, unit)
    if Path(columns).suffix.lower() == ".json":
        return model.fit_release(columns, row_counts=_in_order(table, open_release(columns, CountsRelease), rows))
    return model.fit(table, _frame(columns, unit))


def crosstab_report(model: EcologicalInference, level: float, command: str) -> EstimatorReport:
    """Return what a page says of a cross-table; ``command`` makes it again."""
    return report_of(model, model.summary(level), model.figures(), command)


def _frame(path: StrPath, unit: str) -> Any:
    import pandas as pd

    table = GroupTable.read(path, unit)
    return pd.DataFrame(table.values, index=list(table.groups), columns=list(table.classes))


def _in_order(table: Any, release: CountsRelease, path: StrPath) -> Any:
    """Row counts in the order of a release's bags, whose names need not be texts."""
    units = [str(bag) for bag in release.bags]
    if lost := sorted(set(units) ^ set(table.index)):
        raise InvalidInput(f"{path} and the release differ in the unit {lost[0]!r}", "the same units in both")
    ordered = table.loc[units]
    ordered.index = list(release.bags)
    return ordered
