"""The class ratios of new groups, learned from groups of which only the proportions are known."""

from collections.abc import Callable, Sequence

from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.learning.face.estimator_pages import report_of
from askance.learning.face.saving import load_model
from askance.learning.ratios.ratio_estimator import RatioEstimator
from askance.learning.ratios.ratio_figures import ratio_figure
from askance.learning.ratios.ratio_report import RatioTable
from askance.reports.estimator_report import EstimatorReport
from askance.solvers.progress import Listener, telling
from askance.tables.groups import GroupedRows
from askance.workflows.bags import read_proportions


def learn_ratios(
    bags: StrPath,
    proportions: StrPath,
    bag: str = "bag",
    columns: Sequence[str] | None = None,
    *,
    method: str = "bag-classifier",
    target: str = "group",
    level: float = 0.95,
    seed: int = 0,
    progress: Listener = lambda done, total: None,
) -> RatioEstimator:
    """Learn how the classes differ, from rows in bags and what is known of the bags.

    Parameters
    ----------
    bags : path
        Rows: a CSV or Parquet file of features, and a column that names each row's bag.
    proportions, bag
        As for :func:`~askance.workflows.read_proportions`.
    columns : sequence of str, optional
        The features; all columns but the bag's if not given.
    method, target, level
        As for :class:`~askance.RatioEstimator`.
    seed : int
        Of random features and cross-fitting.
    progress : function of two numbers, optional
        Told how much of a bag classifier is learned, and of how much; the other method takes seconds.
    """
    import pandas as pd

    known, classes = read_proportions(proportions, bag)
    rows = GroupedRows.read(bags, bag, columns)
    frame = pd.DataFrame(rows.values, columns=list(rows.columns))
    estimator = RatioEstimator(method, classes=classes, target=target, level=level, random_state=seed)
    with telling(progress):
        return estimator.fit(frame, rows.groups, known)


def load_ratios(path: StrPath, target: str | None = None) -> RatioEstimator:
    """Read a model that was saved; ``target`` replaces its own, if given."""
    loaded = load_model(path)
    if not isinstance(loaded, RatioEstimator):
        raise InvalidInput(
            f"{path} holds a {type(loaded).__name__}", "a RatioEstimator, which askance ratios --save wrote"
        )
    return loaded if target is None else loaded.set_params(target=target)


def estimate_ratios(
    model: RatioEstimator,
    new: StrPath,
    group: str | None,
    level: float,
    progress: Callable[[int, int], None] | None = None,
) -> RatioTable:
    """Estimate the class ratios of the groups of a file.

    Parameters
    ----------
    model : RatioEstimator
    new : path
        A CSV or Parquet file with the features that the model learned from.
    group : str, optional
        The column that names the groups; all rows are one group if not given.
    level : float
        Confidence level.
    progress : function of two numbers, optional
        Told how many groups are done, and of how many.
    """
    import pandas as pd

    names = getattr(model, "feature_names_in_", None)
    rows = GroupedRows.read(new, group, None if names is None else [*map(str, names)])
    return RatioTable.of(model, pd.DataFrame(rows.values, columns=list(rows.columns)), rows.groups, level, progress)


def ratio_report(model: RatioEstimator, table: RatioTable, command: str) -> EstimatorReport:
    """Return what a page says: the ratios of new groups, and how well the bags tell them.

    Parameters
    ----------
    model : RatioEstimator
    table : RatioTable
        What it says of the new groups.
    command : str
        What makes the page again.
    """
    return report_of(model, table.summary(model.summary()), (ratio_figure(table), *model.figures()), command)
