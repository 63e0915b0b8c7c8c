"""What a page says of a fitted estimator: summary and figures, and how the truth that it learned from was hidden."""

from collections.abc import Mapping
from typing import Any

from askance.reports.estimator_report import EstimatorReport, ReportFigure
from askance.reports.summary import Summary
from askance.reports.units import Unit


def report_of(
    model: Any, summary: Summary, figures: tuple[ReportFigure, ...], how_to_repeat: str, units: tuple[Unit, ...] = ()
) -> EstimatorReport:
    """Return the report of a fitted estimator; ``how_to_repeat`` is what makes it again.

    Examples
    --------
    >>> import askance as ask
    >>> model = ask.Prevalence(ask.Warner(0.8)).fit(["no"] * 600 + ["yes"] * 400)
    >>> report_of(model, model.summary(), (), "").facts[0][0]
    'how the truth was hidden'
    """
    kind, hidden = type(model).__name__, _how_hidden(model)
    return EstimatorReport(
        summary.title,
        summary,
        kind,
        model.guarantee_,
        figures=figures,
        facts=hidden,
        how_to_repeat=how_to_repeat,
        units=units,
    )


def _how_hidden(model: Any) -> tuple[tuple[str, str], ...]:
    """The channels that an estimator knows, in words; totals have none, and say in their facts how they came about."""
    channel = getattr(model, "channel_", None) or getattr(model, "channel", None)
    several = getattr(model, "channels", None)
    named = {"the truth": channel} if channel is not None else several if isinstance(several, Mapping) else {}
    return tuple((f"how {name} was hidden", law.describe()) for name, law in named.items() if hasattr(law, "describe"))
