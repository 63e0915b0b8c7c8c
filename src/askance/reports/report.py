"""What a study found, as a value: numbers and texts, never a record.

Rendering is elsewhere: ``text`` for the terminal, ``html`` for a page.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from askance.channels.guarantee import Guarantee
from askance.reports.summary import Summary
from askance.reports.units import Unit

FORMAT = "askance-report"
VERSION = 1  # of the format of reports
_MISFIT = 0.01  # the usual bound for a check that nobody asked for: it cries wolf once in a hundred honest studies
_LARGE_CONDITION = 1e4  # of correlations: two coefficients that go together to about one in ten thousand
NAIVE = "reports taken as the truth (wrong)"


@dataclass(frozen=True)
class DesignFacts:
    """One design: its law, and the reports that came in under it.

    Parameters
    ----------
    name : str
        Empty when there is only one.
    sentence : str
        How the truth was hidden, in words.
    reports, classes : tuple of str
    probabilities : tuple of rows
        P(report | truth), reports x classes.
    guarantee : Guarantee
    observed, fitted : tuple of float
        How often each report came, and how often it should under the estimated proportions.
    """

    name: str
    sentence: str
    reports: tuple[str, ...]
    classes: tuple[str, ...]
    probabilities: tuple[tuple[float, ...], ...]
    guarantee: Guarantee
    observed: tuple[float, ...]
    fitted: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return {
            "name": self.name,
            "design": self.sentence,
            "reports": list(self.reports),
            "classes": list(self.classes),
            "probabilities": [list(row) for row in self.probabilities],
            "guarantee": self.guarantee.to_dict(),
            "observed": list(self.observed),
            "fitted": list(self.fitted),
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """An estimate, and beside it what comes out when reports are mistaken for answers."""

    askance: Summary
    naive: Summary | None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        naive = None if self.naive is None else self.naive.to_dict()["estimates"]
        return self.askance.to_dict() | {"naive": naive}


@dataclass(frozen=True)
class LawCheck:
    """Pearson's comparison of observed and fitted report counts, where it has degrees of freedom."""

    statistic: float
    degrees: int
    p_value: float

    def in_words(self) -> str:
        """Say what the check found."""
        verdict = (
            "the designs and reports agree with one population"
            if self.p_value >= _MISFIT
            else "the reports do NOT fit the stated design: check the probabilities, and whether respondents followed"
        )
        return f"chi-square {self.statistic:.2f} on {self.degrees} d.f., p = {self.p_value:.3g}: {verdict}"


@dataclass(frozen=True)
class Diagnostics:
    """How far to trust the numbers. What a fit does not have is None."""

    reports: int
    weight_column: str | None
    worth: float | None
    check: LawCheck | None
    method: str
    converged: bool | None = None
    iterations: int | None = None
    ridge: float | None = None
    condition: float | None = None
    log_likelihood: float | None = None
    standard_errors: str | None = None
    design_test: str | None = None
    sample: str | None = None
    design_effect: float | None = None
    penalty: str | None = None
    intervals: str | None = None

    def lines(self) -> list[tuple[str, str]]:
        """Return names and texts, for people."""
        lines = [("Reports", f"{self.reports:,}")]
        if self.weight_column:
            lines += [("Weighted by", self.weight_column)]
        if self.sample:
            effect = "" if self.design_effect is None else f"; design effect of the shares {self.design_effect:.2f}"
            lines += [("Sample", f"{self.sample}{effect}")]
        if self.worth is not None:
            share = self.worth / self.reports
            lines += [("Worth", f"about {self.worth:,.0f} directly asked people ({100 * share:.0f}% of the reports)")]
        if self.design_test:
            lines += [("Test of the design", self.design_test)]
        if self.check is not None:
            lines += [("Fit of the design", self.check.in_words())]
        lines += [("Method", "maximum likelihood" if self.method == "marginal" else "unbiased moments")]
        if self.standard_errors:
            lines += [("Standard errors", self.standard_errors)]
        if self.intervals:
            lines += [("Intervals", self.intervals)]
        if self.converged is not None:
            done = "converged" if self.converged else "did NOT converge"
            lines += [("Solver", f"{done} after {self.iterations} iterations")]
        if self.log_likelihood is not None:
            lines += [("Log-likelihood", f"{self.log_likelihood:,.2f}")]
        if self.penalty is not None:
            lines += [("Penalty", self.penalty)]
        elif self.ridge is not None:
            lines += [("Ridge", f"{self.ridge:.4g}" if self.ridge else "none")]
        if self.condition is not None:
            large = " (large: some coefficients are hardly told apart)" if self.condition > _LARGE_CONDITION else ""
            lines += [("Condition of the estimates", f"{self.condition:,.3g}{large}")]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        check = None if self.check is None else vars(self.check).copy()
        return vars(self) | {"check": check}


@dataclass(frozen=True, eq=False)
class QuestionReport:
    """What every report about one question of a study has.

    Parameters
    ----------
    study, title : str
        The study's short and long name; may be empty.
    question, text : str
        The question's column and its wording; the wording may be empty.
    guarantee, whole_person : Guarantee
        The privacy of this answer, and of all answers of one person together.
    notes : tuple of str
        Warnings that belong to these numbers.
    command : str
        What makes this report again.
    version : str
        The version of askance.
    shuffled : Guarantee, optional
        What would protect this answer if the reports were published in random order; shown beside the local level.
    unprotected : tuple of str
        Columns of the study that are published as they are.
    origin : tuple of (name, text)
        When and of what a page was made: days and digests, which are no result.
    """

    study: str
    title: str
    question: str
    text: str
    guarantee: Guarantee
    whole_person: Guarantee
    notes: tuple[str, ...]
    command: str
    version: str
    shuffled: Guarantee | None = field(default=None, kw_only=True)
    unprotected: tuple[str, ...] = field(default=(), kw_only=True)
    origin: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to think of before reading any number; each once."""
        found = (part for part in vars(self).values() if isinstance(part, Comparison))
        return tuple(dict.fromkeys(words for part in found for words in part.askance.cautions))

    @property
    def private(self) -> bool:
        """Whether there is a formal guarantee at all."""
        return math.isfinite(self.guarantee.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Return a strictly JSON-able mapping: no NaN, no infinity."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "askance": self.version,
            "study": self.study,
            "title": self.title,
            "question": self.question,
            "text": self.text,
            "guarantee": self.guarantee.to_dict(),
            "guarantee_in_words": self.guarantee.in_words(),
            "whole_person": self.whole_person.to_dict(),
            "shuffled": None if self.shuffled is None else self.shuffled.to_dict(),
            "unprotected": list(self.unprotected),
            "cautions": list(self.cautions),
            "notes": list(self.notes),
            "command": self.command,
        }


@dataclass(frozen=True, eq=False)
class Report(QuestionReport):
    """Everything that is shown about a question with choices.

    Parameters
    ----------
    designs : tuple of DesignFacts
    prevalence : Comparison
    regression : Comparison, optional
    formula : str, optional
    diagnostics : Diagnostics
    unknowns : Summary, optional
        What was unknown about the designs, and is estimated.
    units : tuple of Unit
        Of the regression: how much of each feature its coefficient is told for beside the raw one.
    """

    designs: tuple[DesignFacts, ...]
    prevalence: Comparison
    regression: Comparison | None
    formula: str | None
    diagnostics: Diagnostics
    unknowns: Summary | None = None
    units: tuple[Unit, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return a strictly JSON-able mapping: no NaN, no infinity."""
        return (
            super().to_dict()
            | {
                "formula": self.formula,
                "designs": [design.to_dict() for design in self.designs],
                "prevalence": self.prevalence.to_dict(),
                "regression": None if self.regression is None else self.regression.to_dict(),
                "units": [vars(unit) for unit in self.units],
                "diagnostics": self.diagnostics.to_dict(),
            }
            | ({} if self.unknowns is None else {"unknowns": self.unknowns.to_dict()})
        )
