"""The face that all estimators share.

==================================  ====================================================================================
``fit``, ``fit_release``            from arrays, and from a release of the estimator's kind on any engine
``score(..., of="reports")``        an estimate of performance on the hidden truth, or a refusal; ``of="truth"`` where
                                    the truth is known (``scoring``)
``summary()``                       a :class:`~askance.reports.Summary`, with privacy in it
``guarantee_``                      the privacy of what was learned from: kept, saved and shown
``save``, ``askance.load_model``    JSON, read for ever
``report(path)``, ``plot(ax)``      a page with figures, and the first figure alone
==================================  ====================================================================================
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.channels.guarantee import Guarantee
from askance.errors import NotAvailable
from askance.files.kinds import REPORT
from askance.files.targets import check_target, write_text
from askance.learning.face.estimator_pages import report_of
from askance.learning.face.figures import drawn, intervals_figure
from askance.learning.face.saving import JsonModel
from askance.reports.estimator_html import estimator_page
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary, refuse_alpha, summarise
from askance.reports.units import Unit, asked_units, in_units

_IN_UNITS = "change for the units that were asked for"


class Estimator(JsonModel, BaseEstimator):  # type: ignore[misc]
    """What all estimators have in common beyond scikit-learn's own contract."""

    # None only in a model that an earlier version saved without it.
    guarantee_: Guarantee | None
    # Of estimators with a table of parameters.
    parameter_names_: tuple[str, ...]
    parameters_: Floats
    notes_: tuple[str, ...]

    @property
    def privacy_statement_(self) -> str:
        """The privacy of what this was learned from, in a sentence."""
        check_is_fitted(self)
        if self.guarantee_ is not None:
            return str(self.guarantee_)
        return getattr(self, "privacy_", "not recorded: the model was saved by an earlier version")

    def summary(self, level: float = 0.95) -> Summary:
        """Return what was learned as a table, with its privacy."""
        raise NotImplementedError

    def _wald_summary(self, title: str, level: float, facts: Iterable[tuple[str, str]]) -> Summary:
        """Return the table of ``parameters_``, without errors where there is no ``covariance_``."""
        covariance: Floats | None = getattr(self, "covariance_", None)
        if covariance is None:
            covariance = without_errors(self.parameters_)
        names, notes, privacy = self.parameter_names_, self.notes_, self.privacy_statement_
        return summarise(title, names, self.parameters_, covariance, level, tuple(facts), notes, privacy)

    def conf_int(self, level: float = 0.95, *, alpha: None = None) -> Any:
        """Return the ends of the intervals of all estimates as a data frame; ``alpha`` is answered with the level."""
        refuse_alpha(alpha)
        return self.summary(level).to_frame()[["lower", "upper"]]

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return the figures that show what was learned, the most telling first; here estimates with intervals."""
        return (intervals_figure(self.summary()),)

    def plot(self, ax: Any = None) -> Any:
        """Draw the first figure on matplotlib axes, made anew if none are given, and return them."""
        figures = self.figures()
        if not figures:
            raise NotAvailable(f"a figure of this {type(self).__name__}", "summary() for what is known of it")
        return drawn(figures[0], ax)

    def report(
        self, path: str | os.PathLike[str], *, per: Mapping[str, float] | None = None, overwrite: bool = False
    ) -> None:
        """Write a self-contained HTML page: estimates, figures, privacy, and how to make it again.

        ``per`` says for how much of a feature its coefficient is told as well, so that features in different units
        can be compared: ``{"age": 10}``, or all standard deviations, ``X.std()`` of a data frame.
        """
        check_is_fitted(self)
        summary, figures = self.summary(), self.figures()
        if per is not None and not hasattr(self, "wald_test"):  # shares, tags, ratios
            raise NotAvailable(f"units of features on a page of {type(self).__name__}", "a model with coefficients")
        units = asked_units(summary, {} if per is None else dict(per))
        if units:
            cuts = [name for name in summary.names if " | " in name]
            figures = (intervals_figure(in_units(summary, units), _IN_UNITS, cuts), *figures)
        self._write_report(path, summary, figures, overwrite, units)

    def _write_report(
        self,
        path: str | os.PathLike[str],
        summary: Summary,
        figures: tuple[ReportFigure, ...],
        overwrite: bool,
        units: tuple[Unit, ...] = (),
    ) -> None:
        asked = f", per={ {unit.feature: unit.size for unit in units} }" if units else ""
        repeat = f"from askance import *\n\n{self!r}.fit(...).report({Path(path).name!r}{asked})"
        check_target(Path(path), REPORT, overwrite=overwrite)
        write_text(Path(path), estimator_page(report_of(self, summary, figures, repeat, units)), REPORT)


def without_errors(parameters: Floats) -> Floats:
    """Return the covariance of estimates that have no standard errors: unknown everywhere."""
    return np.full((len(parameters),) * 2, np.nan)
