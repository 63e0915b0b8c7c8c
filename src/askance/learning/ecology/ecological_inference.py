"""Cross-tables of people from the margins of many units."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.errors import AskanceWarning, InvalidInput
from askance.learning.ecology.crosstab_figures import crosstab_figure, explained_figure
from askance.learning.ecology.diagnosis import check_units, notes_on_fit, notes_on_rare, notes_on_units
from askance.learning.ecology.margins import Margins, Unmatched, read_margins
from askance.learning.ecology.table_fit import TableFit, fit_tables
from askance.learning.ecology.table_likelihood import UnitShares
from askance.learning.face.classes import class_array
from askance.learning.face.engine_choice import refuse_engine
from askance.learning.face.estimator import Estimator
from askance.learning.face.random_state import random_generator
from askance.learning.face.scoring import Of, asks_for_truth, refuse_score_of_reports
from askance.releases.counts_release import CountsRelease
from askance.releases.reading import open_release
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary, checked_confidence


class EcologicalInference(Estimator):
    """Who chose what, from totals of many units alone: a cross-table of rows by columns, with intervals.

    Of every unit (a polling station, a district) it is known how many people are in each row (a party that they voted
    for, a group they belong to) and how many chose each column, and nobody knows who did both. Units whose rows differ
    tell how the people of each row choose, if these choose alike wherever they live, or change with what their unit is
    made of in a smooth way.

    Parameters
    ----------
    unmatched : {"refuse", "remainder", "scale"}
        What to do where a unit's rows and columns sum to different numbers of people: refuse; give those who are in one
        table only a row or column of their own, net of each unit; or scale the rows to the columns' total.
    row_names, classes : sequences of labels, optional
        Names of rows and columns, where the tables have none.
    random_state : int, Generator or None
        Of the draws that intervals are made of.

    Attributes
    ----------
    table_ : array, R x K
        Estimated numbers of people, all units together; with the sums of both tables.
    shares_ : array, R x K
        Of each row, the share that chose each column; not a number for a row without people.
    unit_tables_, unit_errors_ : arrays, units x R x K
        The same for every unit, with both of its margins, and standard errors.
    draws_ : array, draws x R x K
        Tables that are as probable as not, which intervals are made of.
    rows_, classes_, units_ : arrays
        Names of rows, columns and units.
    agreement_ : array, R
        How much people of one row in one unit agree beyond what their shares say.
    n_units_, n_people_, notes_, guarantee_

    Notes
    -----
    The units' column shares are taken to be normal about what their rows make likely, with a variance for people of one
    row who agree, and with the known noise of released counts. Shares may change with the principal components of the
    rows; three strengths of that, none among them, have a third of the draws each, since totals tell badly which holds.
    Intervals are of this model. What changes within units leaves no trace in totals, and no method can see it.

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> before = rng.multinomial(400, [0.5, 0.5], 60) + rng.integers(0, 300, (60, 2))
    >>> stayed = rng.binomial(before, [0.9, 0.2])
    >>> after = np.column_stack([stayed.sum(axis=1), (before - stayed).sum(axis=1)])
    >>> model = ask.EcologicalInference(row_names=["left", "right"], classes=["left", "right"], random_state=0)
    >>> model.fit(before, after).shares_.round(1)
    array([[0.9, 0.1],
           [0.2, 0.8]])

    References
    ----------
    Goodman (1953); King (1997); Rosen, Jiang, King & Tanner (2001); Greiner & Quinn (2009). The normal law of totals is
    that of Brown & Payne (1986).
    """

    def __init__(
        self, unmatched: Unmatched = "refuse", *, row_names: Any = None, classes: Any = None, random_state: Any = None
    ) -> None:
        self.unmatched = unmatched
        self.row_names = row_names
        self.classes = classes
        self.random_state = random_state

    def fit(self, row_counts: Any, column_counts: Any) -> Self:
        """Fit to the margins of units.

        Parameters
        ----------
        row_counts : frame, mapping or array, units x R
            How many people of each row are in each unit.
        column_counts : frame, mapping, array or CountsRelease, units x K
            How many people of each unit chose each column. Units are matched by name where both tables have names, and
            by their order where one has none. Released counts bring their noise with them.
        """
        margins = read_margins(row_counts, column_counts, self.row_names, self.classes, self.unmatched)
        sizes = margins.rows.sum(axis=1)
        lived = sizes > 0
        check_units(sizes[lived], len(margins.row_names))
        kept_rows = margins.rows.sum(axis=0) > 0
        kept_columns = np.ones(margins.columns.shape[1], dtype=bool)
        if margins.noise is None:
            kept_columns = margins.columns.sum(axis=0) > 0
        shares = UnitShares(
            margins.rows[np.ix_(lived, kept_rows)] / sizes[lived, None],
            margins.columns[np.ix_(lived, kept_columns)] / sizes[lived, None],
            sizes[lived],
            None if margins.noise is None else margins.noise[lived],
        )
        fit = _single(shares) if kept_columns.sum() < 2 else fit_tables(shares, random_generator(self.random_state))
        notes = list(margins.notes)
        if not lived.all():
            notes.append(f"{np.count_nonzero(~lived):,} units without people were left out.")
        names = [name for name, kept in zip(margins.row_names, kept_rows, strict=True) if kept]
        chosen = [name for name, kept in zip(margins.column_names, kept_columns, strict=True) if kept]
        notes += [*notes_on_units(shares, names), *notes_on_rare(fit, names, chosen), *notes_on_fit(fit)]
        self._keep(margins, fit, lived, kept_rows, kept_columns)
        self.notes_ = tuple(notes)
        for note in self.notes_:
            warnings.warn(note, AskanceWarning, stacklevel=2)
        return self

    def fit_release(self, release: Any, engine: str = "local", *, row_counts: Any = None) -> Self:
        """Fit to released counts of columns by unit, and the exact row counts of the same units.

        Parameters
        ----------
        release : path or CountsRelease
            Its bags are the units, its classes the columns.
        engine : "local"
            All units are looked at together, in this process.
        row_counts : frame, mapping or array, units x R
        """
        refuse_engine(engine, "ecological inference")
        opened: CountsRelease = open_release(release, CountsRelease)
        if row_counts is None:
            raise InvalidInput(
                "a release of counts without row counts", "row_counts=: how many people of each row are in each unit"
            )
        return self.fit(row_counts, opened)

    def _keep(self, margins: Margins, fit: TableFit, lived: Any, rows: Any, columns: Any) -> None:
        """Keep what was learned; rows and columns without people are zero in every table."""
        shape = (len(margins.row_names), len(margins.column_names))
        self.rows_, self.classes_ = class_array(margins.row_names), class_array(margins.column_names)
        self.units_ = class_array(margins.units)
        self.unit_tables_, self.unit_errors_ = (np.zeros((len(lived), *shape)) for _ in range(2))
        inside = np.ix_(lived, rows, columns)
        self.unit_tables_[inside], self.unit_errors_[inside] = fit.units, fit.unit_errors
        draws = np.zeros((len(fit.draws), *shape))
        mean = fit.draws.mean(axis=0)
        draws[np.ix_(np.ones(len(draws), dtype=bool), rows, columns)] = mean + fit.widened * (fit.draws - mean)
        self.draws_ = np.maximum(draws, 0).astype(np.float32)  # half the digits of draws that are random themselves
        self.table_: Floats = np.zeros(shape)
        self.table_[np.ix_(rows, columns)] = mean
        people = self.table_.sum(axis=1, keepdims=True)
        self.shares_: Floats = np.divide(self.table_, people, out=np.full(shape, np.nan), where=people > 0)
        self.agreement_: Floats = np.full(shape[0], np.nan)
        self.agreement_[rows] = fit.agreement
        self.explained_ = (margins.columns[lived] / margins.columns[lived].sum(axis=1, keepdims=True))[:, columns]
        self.expected_ = fit.expected
        self.n_units_, self.n_people_ = int(lived.sum()), round(float(margins.rows.sum()))
        self.guarantee_ = margins.guarantee

    # -- using the tables ----------------------------------------------------------------------------

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends of intervals for the shares of each row, R x K."""
        check_is_fitted(self)
        level = checked_confidence(level)
        people = self.table_.sum(axis=1)[:, None]
        ends = np.quantile(self.draws_.astype(float), [0.5 - level / 2, 0.5 + level / 2], axis=0)
        low, high = (np.divide(end, people, out=np.full_like(end, np.nan), where=people > 0) for end in ends)
        return np.minimum(low, self.shares_), np.clip(np.maximum(high, self.shares_), 0.0, 1.0)

    def summary(self, level: float = 0.95) -> Summary:
        """Return, of each row, the share that chose each column, with standard errors and intervals.

        That a share is zero is no question to test: z and p are left out.
        """
        low, high = self.interval(level)
        people = self.table_.sum(axis=1)[:, None]
        spread = self.draws_.astype(float).std(axis=0)
        errors = np.divide(spread, people, out=np.full_like(spread, np.nan), where=people > 0)
        values = np.full((self.table_.size, 6), np.nan)
        for column, part in ((0, self.shares_), (1, errors), (4, low), (5, high)):
            values[:, column] = part.ravel()
        names = tuple(f"{row} to {column}" for row in self.rows_.tolist() for column in self.classes_.tolist())
        facts = (
            ("units", f"{self.n_units_:,} ({self.n_people_:,} people)"),
            ("rows and columns", f"{len(self.rows_)} and {len(self.classes_)}"),
            ("method", "normal law of totals, three strengths of change between units, intervals from draws"),
            ("assumed", "shares of all rows do not rise together with the mix of units: totals cannot show that"),
        )
        title = "Shares of the columns in each row, from totals of units"
        return Summary(title, names, values, level, facts, self.notes_, self.privacy_statement_)

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return the cross-table with intervals, and how the units' columns are explained by their rows."""
        low, high = self.interval()
        rows, columns = self.rows_.tolist(), self.classes_.tolist()
        kept = [name for name, some in zip(columns, self.table_.sum(axis=0) > 0, strict=True) if some]
        sizes = self.unit_tables_.sum(axis=(1, 2))
        return (
            crosstab_figure(rows, columns, self.shares_, low, high, "95%"),
            explained_figure(kept, self.explained_, self.expected_, sizes[sizes > 0]),
        )

    def crosstab(self) -> Any:
        """Return the estimated numbers of people as a data frame, rows by columns."""
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame(self.table_, index=self.rows_.tolist(), columns=self.classes_.tolist())

    def unit_frame(self) -> Any:
        """Return the tables of all units as a data frame: unit, row, column, people and standard error."""
        import pandas as pd

        check_is_fitted(self)
        units, rows, columns = self.units_.tolist(), self.rows_.tolist(), self.classes_.tolist()
        index = pd.MultiIndex.from_product([units, rows, columns], names=["unit", "row", "column"])
        frame = pd.DataFrame({"people": self.unit_tables_.ravel(), "std_error": self.unit_errors_.ravel()}, index=index)
        return frame.reset_index()

    def score(self, table: Any, *, of: Of = "reports") -> float:
        """Return the share of people who are in the right cell of a true cross-table, with ``of="truth"``.

        100 less 100 times it is the error index of the literature. Totals do not tell who did both, so that there is no
        score without a true table: it is refused.

        Parameters
        ----------
        table : array, R x K, or units x R x K
        of : {"reports", "truth"}
        """
        wants_truth = asks_for_truth(of)
        check_is_fitted(self)
        if not wants_truth:
            raise refuse_score_of_reports(
                "an EcologicalInference", "totals do not tell who is in which cell", "summary() has intervals."
            )
        true = np.asarray(table, dtype=float)
        mine = self.unit_tables_ if true.ndim == 3 else self.table_
        if true.shape != mine.shape or not np.isfinite(true).all() or true.sum() <= 0:
            raise InvalidInput(f"a true table of shape {true.shape}", f"numbers of people, {self.table_.shape}")
        return float(1 - np.abs(mine - true).sum() / (2 * true.sum()))


def _single(shares: UnitShares) -> TableFit:
    """Everybody chose the one column that there is."""
    table = (shares.x * shares.sizes[:, None])[:, :, None]
    agreement = np.zeros(shares.x.shape[1])
    return TableFit(
        table.sum(axis=0)[None], table, np.zeros_like(table), np.ones((len(table), 1)), 0.0, 1.0, agreement, True
    )
