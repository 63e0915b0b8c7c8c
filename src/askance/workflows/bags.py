"""From rows in bags of which only the proportions are known to a classifier of single rows."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.learning.bags.proportion_classifier import ProportionClassifier
from askance.releases.counts_release import CountsRelease
from askance.releases.reading import open_release
from askance.tables.groups import GroupedRows, GroupTable
from askance.workflows.fit_result import FitResult, model_result
from askance.workflows.remarks import collected_remarks


def read_proportions(path: StrPath, bag: str) -> tuple[Any, Any]:
    """Read what is known of bags, by the text of their names; and the classes, where these are not known with it.

    Parameters
    ----------
    path : path
        A CSV or Parquet file with the bag and a column of shares for each class, or released counts (JSON).
    bag : str
        The column of bags; a release of counts knows its own.
    """
    if not Path(path).exists():
        raise InvalidInput(f"there is nothing at {path}", "what is known of the bags: shares, or released counts")
    if Path(path).suffix.lower() == ".json":
        counts = open_release(path, CountsRelease)
        return replace(counts, bags=tuple(map(str, counts.bags))), None
    table = GroupTable.read(path, bag)
    return table.by_group(), table.classes


def fit_bags(
    data: StrPath,
    proportions: StrPath,
    bag: str = "bag",
    columns: Sequence[str] | None = None,
    *,
    method: str = "auto",
    loss: str = "logistic",
    ridge: str | float = "auto",
    level: float = 0.95,
    seed: int | None = None,
    command: str = "",
) -> FitResult:
    """Learn to classify rows from bags of them.

    Parameters
    ----------
    data : path
        Rows: a CSV or Parquet file of features, and a column that names each row's bag.
    proportions, bag
        As for :func:`read_proportions`.
    columns : sequence of str, optional
        The features; all columns but the bag's if not given.
    method, loss, ridge
        As for :class:`~askance.ProportionClassifier`.
    level : float
        Confidence level.
    seed : int, optional
        Of random forests.
    command : str
        What makes the report again.
    """
    import pandas as pd

    known, classes = read_proportions(proportions, bag)
    rows = GroupedRows.read(data, bag, columns)
    frame = pd.DataFrame(rows.values, columns=list(rows.columns))
    with collected_remarks() as remarks:
        model = ProportionClassifier(method, loss, ridge, classes=classes, random_state=seed)
        model.fit(frame, rows.groups, known)
    summary, guarantee = model.summary(level), model.guarantee_
    account = {
        "estimator": "ProportionClassifier",
        "rows": model.n_rows_,
        "bags": model.n_bags_,
        "classes": model.classes_.tolist(),
        "method": model.method_,
        "converged": bool(model.converged_),
        "log_likelihood": float(model.log_likelihood_),
        "coef": model.coef_.tolist() if hasattr(model, "coef_") else None,
        "intercept": model.intercept_.tolist() if hasattr(model, "coef_") else None,
        "summary": summary.to_dict(),
        "guarantee": None if guarantee is None else guarantee.to_dict(),
        "remarks": remarks,
    }
    return model_result(model, summary, account, remarks=remarks, command=command)
