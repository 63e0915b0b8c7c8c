"""From a release of reports to a result, whatever its question hides."""

from typing import Any

from askance.channels.guarantee import Guarantee
from askance.engines.base import Engine
from askance.releases.release import Release
from askance.workflows.fit_request import FitRequest
from askance.workflows.fit_result import FitResult
from askance.workflows.report_files import OpenReports


def analyse(
    release: Release,
    *,
    engine: str | Engine = "local",
    whole_person: Guarantee | None = None,
    command: str = "",
    **request: Any,
) -> FitResult:
    """Learn what a release of reports says about one of its questions.

    A question with choices: proportions, and a regression if there is a formula, with the naive analysis beside both.
    One that hides numbers: a line, or a mean. One that hides features: a classifier of clean records. One that hides
    the labels of sequences: a tagger.

    Parameters
    ----------
    release : Release
    engine : "local" or an engine
    whole_person : Guarantee, optional
        The privacy of all answers of one person, if the release holds only some of them.
    command : str
        What makes the report again.
    **request
        What is wanted: question, formula, weight, level and so on, as for :class:`~askance.workflows.FitRequest`.

    Returns
    -------
    FitResult
        With the fitted ``model``, the ``report``, and ``text``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from askance import Release, Warner
    >>> from askance.releases import Header, Question
    >>> from askance.workflows import analyse
    >>> answers = pa.table({"cheated": ["no"] * 600 + ["yes"] * 400})
    >>> release = Release.from_table(answers, Header((Question("cheated", Warner(0.8)),)))
    >>> report = analyse(release).report
    >>> [float(table["estimate"]["yes"].round(4)) for table in (report.prevalence.askance, report.prevalence.naive)]
    [0.3333, 0.4]

    A hidden number:

    >>> import numpy as np
    >>> from askance import Study
    >>> from askance.releases import privatize_table
    >>> study = Study.parse('''
    ... [questions.income]
    ... bounds = [0, 10]
    ... channel = { design = "private-number", epsilon = 2.0 }
    ... ''')
    >>> report = analyse(privatize_table(study, {"income": np.full(20_000, 3.0)})).report
    >>> report.formula, bool(abs(report.regression.askance["estimate"]["Intercept"] - 3) < 0.5)
    ('income ~ 1', True)
    """
    opened = OpenReports.of(release, FitRequest.of(**request), whole_person)
    return analyse_reports(opened, engine, command)


def analyse_reports(opened: OpenReports, engine: str | Engine = "local", command: str = "") -> FitResult:
    """Learn what reports that are open say about the question that is meant; see :func:`analyse`."""
    # Each capability is imported where it is wanted: together they take as long to load as a small fit.
    if opened.asked.hides_features:
        from askance.workflows.records import analyse_records

        return analyse_records(opened, command)
    if opened.asked.hides_sequences:
        from askance.workflows.sequences import analyse_sequences

        return analyse_sequences(opened, engine, command)
    if opened.asked.hides_numbers:
        from askance.workflows.numbers import analyse_numbers

        return analyse_numbers(opened, engine, command)
    from askance.workflows.answers import analyse_answers

    return analyse_answers(opened, engine, command)
