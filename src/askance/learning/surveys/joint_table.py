"""Several hidden answers of one person: their joint table, how they go together, and sums of them."""

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations as pairs_of
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.errors import AskanceWarning, InvalidInput, Unidentifiable
from askance.frames import refuse_other_rows
from askance.learning.face.engine_choice import refuse_engine
from askance.learning.face.figures import shares_figure
from askance.learning.face.interval_table import with_intervals
from askance.learning.face.sample_weights import checked_weights
from askance.learning.surveys.hidden_answers import (
    HiddenAnswer,
    combinations,
    guarantee_of,
    hidden_answers,
    joint_log_likelihood,
    notes_on_reports,
)
from askance.learning.surveys.joint_spread import fit_of_patterns, likelihood_spread, moment_spread
from askance.learning.surveys.pair_association import Patterns, association, correlation
from askance.learning.surveys.survey_estimator import SurveyEstimator, kept_profile, opened_profile
from askance.learning.surveys.survey_fit import few_people
from askance.learning.surveys.survey_release import SurveyTable
from askance.learning.surveys.survey_sample import SurveySample
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary, summarise

_BORDER = 1e-9  # a proportion below is at the border: the solver ends there with 1e-10 or less
_OUTSIDE = -1e-12  # unbiased proportions below are negative beyond rounding
_MOST_SHOWN = 32  # cells of a table that people read; larger ones are in proportions_
_UNLIKELY = 0.01  # p-values of the fit below are said in a note


class JointTable(SurveyEstimator):
    """The joint table of several hidden answers of the same people, from a report about each.

    Parameters
    ----------
    channels : mapping from a column of reports to its channel
        May be left out when fitting a release.
    same : mapping from an answer's name to columns, optional
        Columns that are several reports about one answer, each drawn afresh, such as ``{"cheated": ["first",
        "again"]}``. The guarantee is that of all reports.

    Attributes
    ----------
    proportions_ : array, K1 x K2 x ...
        The share of people with each combination of answers.
    unbiased_ : array, of the same shape
        The unbiased estimate (Kronecker's product of the channels' unbiasing matrices), which may leave [0, 1].
    covariance_ : array
        Of all cells of ``proportions_``, in their order.
    answers_ : tuple of str
    answer_classes_ : tuple of arrays
    margins_ : dict of arrays
        The shares of each answer alone.
    associations_ : dict
        For each pair of answers: logarithms of odds ratios with profiles (under a log-F(1, 1) penalty, which removes
        most of their bias in samples), correlation, p-value of independence.
    sample_, degrees_, design_effects_
        What the sample is made of, and what its clusters do to the cells; empty for people drawn one by one.
    n_reports_, notes_, guarantee_

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> cheated = rng.random(20_000) < 0.3
    >>> copied = rng.random(20_000) < np.where(cheated, 0.6, 0.2)
    >>> truth = {"cheated": np.where(cheated, "yes", "no"), "copied": np.where(copied, "yes", "no")}
    >>> channels = {"cheated": ask.Warner(0.85), "copied": ask.Warner(0.85)}
    >>> reports = {name: channel.simulate(truth[name], rng) for name, channel in channels.items()}
    >>> ask.JointTable(channels).fit(reports).proportions_.round(1)
    array([[0.6, 0.1],
           [0.1, 0.2]])
    """

    def __init__(
        self, channels: Mapping[str, Any] | None = None, same: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.channels = channels
        self.same = same

    def fit(
        self,
        reports: Any,
        y: Any = None,
        *,
        design: Any = None,
        sample_weight: Any = None,
        strata: Any = None,
        cluster: Any = None,
    ) -> Self:
        """Fit to reports.

        ``y`` is ignored, and there for scikit-learn only.

        Parameters
        ----------
        reports : data frame or mapping
            A column of reports for each channel.
        sample_weight : n, optional
        design : mapping from a column to the design of each of its rows, optional
        strata, cluster : n names or numbers, optional
            The stratum and the primary sampling unit of each person: standard errors are then linearised, with CR2 and
            Bell and McCaffrey's degrees of freedom for clusters.
        """
        sampled = {"sample_weight": sample_weight, "strata": strata, "cluster": cluster}
        refuse_other_rows(reports=reports, design=design, **sampled)
        answers = hidden_answers(self.channels, reports, self.same, design)
        return self._fit_answers(answers, sample_weight, SurveySample.of(len(answers[0].codes[0]), strata, cluster))

    def fit_release(
        self,
        release: Any,
        engine: str | Engine = "local",
        *,
        questions: Sequence[str] | None = None,
        weight: str | None = None,
        strata: str | None = None,
        cluster: str | None = None,
    ) -> Self:
        """Fit to a release with several questions, which knows its own channels.

        Parameters
        ----------
        release : path or Release
            The engine is "local": all rows are read.
        questions : names, optional
            Which questions; all with choices if not given.
        weight, strata, cluster : names of columns, optional
            The weight, the stratum and the primary sampling unit of each person.
        """
        refuse_engine(engine, "a joint table")
        table = SurveyTable.of(release, None, (), weight, strata, cluster)
        answers = table.answers(questions, self.channels, self.same)
        return self._fit_answers(answers, table.weights, table.sample)

    def _fit_answers(self, answers: list[HiddenAnswer], sample_weight: Any, sample: SurveySample | None) -> Self:
        rows = len(answers[0].codes[0])
        weights = checked_weights(sample_weight, np.empty((rows, 0)))
        if len(answers) == 1 and len(answers[0].codes) == 1:
            raise InvalidInput(
                "one report of each person",
                "reports about several answers, or several about one",
                "One report about one answer is for Prevalence.",
            )
        patterns_of_rows = joint_log_likelihood(answers)
        patterns = Patterns.of(patterns_of_rows, weights)
        self._refuse_unidentified(answers, patterns)
        shape = tuple(len(answer.classes) for answer in answers)
        found = patterns.proportions()
        by_unit = patterns if sample is None else Patterns.of(patterns_of_rows, weights, sample)
        moments = moment_spread(answers, weights, sample)
        inside = float(found.min()) > _BORDER
        errors = likelihood_spread(by_unit, found, weights is not None) if inside else moments
        self.covariance_, unbiased = errors.covariance, moments.mean
        self.proportions_, self.unbiased_ = found.reshape(shape), unbiased.reshape(shape)
        self.answers_ = tuple(answer.name for answer in answers)
        self.answer_classes_ = tuple(np.array(answer.classes) for answer in answers)
        self.parameters_, self.profiles_ = found, {}
        self.parameter_names_ = tuple(
            ", ".join(f"{answer.name}={answer.classes[k]}" for answer, k in zip(answers, cell, strict=True))
            for cell in combinations(answers)
        )
        self.guarantee_ = guarantee_of(answers)
        self.n_reports_, self.reports_each_ = rows, sum(len(answer.codes) for answer in answers)
        margins = np.vstack([self._margin(number)[1] for number in range(len(answers))])
        self.margin_degrees_ = errors.degrees(margins)
        few = few_people(rows, len(found) - 1, weights)
        few += self._keep_sample(sample, errors.degrees(np.eye(len(found))), errors.simple, None, self.parameter_names_)
        self.log_likelihood_ = patterns.value(found)
        self.margins_ = {answer.name: self._margin(number)[0] for number, answer in enumerate(answers)}
        self.associations_ = {
            f"{answers[a].name} x {answers[b].name}": self._association(answers, a, b, weights, sample)
            for a, b in pairs_of(range(len(answers)), 2)
        }
        self.fit_p_value_ = fit_of_patterns(answers, found, weights, sample)
        self.notes_ = (*notes_on_reports(answers, weights, sample), *few, *self._notes(unbiased))
        for note in self.notes_:
            warnings.warn(note, AskanceWarning, stacklevel=4)
        return self

    def _refuse_unidentified(self, answers: list[HiddenAnswer], patterns: Patterns) -> None:
        rank = np.linalg.matrix_rank(np.exp(patterns.log_likelihood))
        cells = int(np.prod([len(answer.classes) for answer in answers]))
        whole = all(
            np.linalg.matrix_rank(np.vstack([channel.matrix for channel in answer.channels])) == len(answer.classes)
            for answer in answers
        )
        if not whole:
            raise Unidentifiable(
                "a question whose reports do not tell its classes apart",
                "channels whose columns are linearly independent",
            )
        if rank < cells:
            raise InvalidInput(
                f"{len(patterns.weight)} different rows of reports for a table of {cells} cells",
                "at least as many: more people, fewer questions or fewer classes",
            )

    def _margin(self, number: int) -> tuple[Floats, Floats]:
        """The shares of one answer, and the matrix that makes them of all cells."""
        states = np.indices(self.proportions_.shape).reshape(self.proportions_.ndim, -1)[number]
        sums = (states == np.arange(self.proportions_.shape[number])[:, None]).astype(float)
        return sums @ self.proportions_.ravel(), sums

    def _association(
        self, answers: list[HiddenAnswer], a: int, b: int, weights: Floats | None, sample: SurveySample | None
    ) -> dict[str, Any]:
        measured = association(answers[a], answers[b], weights, sample)
        kept: dict[str, Any] = {
            "p_value": measured.p_value,
            "pairs": [list(map(str, pair)) for pair in measured.pairs],
            "log_odds_ratios": measured.estimates,
            "errors": measured.errors,
            "profiles": [kept_profile(curve) for curve in measured.odds],
            "degrees": list(measured.degrees),
        }
        if len(answers[a].classes) == len(answers[b].classes) == 2:
            others = tuple(axis for axis in range(self.proportions_.ndim) if axis not in (a, b))
            table = self.proportions_.sum(axis=others)
            kept["correlation"], slope = correlation(table)
            states = np.indices(self.proportions_.shape).reshape(self.proportions_.ndim, -1)
            gradient = slope[2 * states[a] + states[b]]
            kept["correlation_error"] = float(np.sqrt(np.maximum(gradient @ self.covariance_ @ gradient, 0.0)))
            kept["correlation_degrees"] = min(self.degrees_, default=math.inf)
        return kept

    def _notes(self, unbiased: Floats) -> list[str]:
        notes = []
        if unbiased.min() < _OUTSIDE:
            cell = int(unbiased.argmin())
            notes.append(
                f"Fewer reports point to ({self.parameter_names_[cell]}) than chance alone would give: the unbiased "
                f"estimate is {unbiased[cell]:.4f}, and was moved to the border. Margins moved with it: Prevalence "
                "estimates a single one."
            )
        if self.fit_p_value_ is not None and self.fit_p_value_ < _UNLIKELY:
            notes.append(
                f"The reports do not fit (p = {self.fit_p_value_:.2g}): several reports of a person are not drawn "
                "afresh, the answer changed between them, or a channel is not as described."
            )
        return notes

    def sum_score(self, values: Mapping[str, Sequence[float]] | None = None, level: float = 0.95) -> Summary:
        """Return the law of the sum of all answers, with its mean and standard deviation.

        Parameters
        ----------
        values : mapping from an answer to a number for each of its classes, optional
            What each class counts. If not given, 0, 1, 2, ... in the order of the classes: of yes-or-no answers, how
            many are yes.
        level : float
        """
        check_is_fitted(self, "proportions_")
        given = values or {}
        worth = [
            np.asarray(given.get(name, np.arange(len(classes))), dtype=float)
            for name, classes in zip(self.answers_, self.answer_classes_, strict=True)
        ]
        strangers = [name for name in given if name not in self.answers_]
        if strangers or any(len(w) != len(c) for w, c in zip(worth, self.answer_classes_, strict=True)):
            raise InvalidInput(f"values={values!r}", f"a number for each class of {', '.join(self.answers_)}")
        states = np.indices(self.proportions_.shape).reshape(self.proportions_.ndim, -1)
        score = np.sum([w[k] for w, k in zip(worth, states, strict=True)], axis=0)
        law = self.proportions_.ravel()
        levels = np.unique(score)
        rows = (score == levels[:, None]).astype(float)
        mean = float(score @ law)
        variance = float((score - mean) ** 2 @ law)
        deviation = math.sqrt(max(variance, np.finfo(float).tiny))
        slopes = np.vstack([score, ((score - mean) ** 2) / (2 * deviation), rows])
        estimates = np.concatenate([[mean, math.sqrt(max(variance, 0.0))], rows @ law])
        names = ("mean", "standard deviation", *(f"P(sum = {value:g})" for value in levels))
        title = f"Sum of the answers {', '.join(self.answers_)}"
        degrees = (min(self.degrees_),) * len(names) if self.degrees_ else ()
        covariance = slopes @ self.covariance_ @ slopes.T
        return self._shares(title, names, estimates, covariance, level, degrees, shares_from=2)

    def summary(self, level: float = 0.95) -> Summary:
        """Return cells, margins, odds ratios and correlations as a table."""
        check_is_fitted(self, "proportions_")
        cells = self.proportions_.size
        names = list(self.parameter_names_) if cells <= _MOST_SHOWN else []
        sums = [np.eye(cells)] if cells <= _MOST_SHOWN else []
        degrees = self.degrees_ if cells <= _MOST_SHOWN else ()
        if len(self.answers_) > 1 or not names:
            for number, (answer, classes) in enumerate(zip(self.answers_, self.answer_classes_, strict=True)):
                names += [f"{answer}={label}" for label in classes.tolist()]
                sums.append(self._margin(number)[1])
            degrees = (*degrees, *self.margin_degrees_)
        slopes = np.vstack(sums)
        covariance = slopes @ self.covariance_ @ slopes.T
        title = f"Joint table of the true answers {', '.join(self.answers_)}"
        table = self._shares(title, tuple(names), slopes @ self.proportions_.ravel(), covariance, level, degrees)
        rows, more = [table.values], list[str]()
        for pair, kept in self.associations_.items():
            block, labels = _association_rows(pair, kept, level)
            rows.append(block)
            more += labels
        return Summary(
            title, (*table.names, *more), np.vstack(rows), level, table.facts, self.notes_, self.privacy_statement_
        )

    def _shares(
        self,
        title: str,
        names: tuple[str, ...],
        estimates: Floats,
        covariance: Floats,
        level: float,
        degrees: Sequence[float],
        shares_from: int = 0,
    ) -> Summary:
        wald = summarise(title, names, estimates, covariance, level, tested=False)
        wald = with_intervals(wald, ["wald"] * len(names), (), degrees)
        limits = wald.values.copy()
        limits[shares_from:, 4:6] = np.clip(limits[shares_from:, 4:6], 0.0, 1.0)
        facts = [("people", f"{self.n_reports_}"), ("reports of each", f"{self.reports_each_}")]
        facts += [
            (f"independence of {pair}", f"p = {kept['p_value']:.3g}") for pair, kept in self.associations_.items()
        ]
        if self.fit_p_value_ is not None:
            facts.append(("fit of the reports", f"p = {self.fit_p_value_:.3g}"))
        facts += self._sample_facts(
            range(len(self.parameter_names_) if len(self.parameter_names_) <= _MOST_SHOWN else 0)
        )
        return Summary(title, names, limits, level, tuple(facts), self.notes_, self.privacy_statement_)

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return the figure of the shares of all combinations with their intervals."""
        summary = self.summary()
        kept = [row for row, name in enumerate(summary.names) if "odds ratio" not in name and "correlation" not in name]
        shares = Summary(summary.title, tuple(summary.names[row] for row in kept), summary.values[kept], summary.level)
        return (shares_figure(shares),)


def _association_rows(pair: str, kept: dict[str, Any], level: float) -> tuple[Floats, list[str]]:
    names, rows = [], []
    degrees = kept.get("degrees") or [math.inf] * len(kept["pairs"])  # models of earlier versions have none
    for labels, estimate, error, curve, df in zip(
        kept["pairs"], kept["log_odds_ratios"], kept["errors"], kept["profiles"], degrees, strict=True
    ):
        profile = opened_profile(curve)
        which = f" ({labels[0]}, {labels[1]})" if len(kept["pairs"]) > 1 else ""
        names.append(f"log odds ratio {pair}{which}")
        rows.append([estimate, error, np.nan, profile.p_value(df), *profile.interval(level, df)])
    if "correlation" in kept:
        variance = np.array([[kept["correlation_error"] ** 2]])
        wald = summarise("", ("",), np.array([kept["correlation"]]), variance, level)
        wald = with_intervals(wald, ["wald"], (), [kept.get("correlation_degrees", math.inf)])
        names.append(f"correlation {pair}")
        rows.append([*wald.values[0, :4], *np.clip(wald.values[0, 4:], -1.0, 1.0)])
    return np.array(rows, dtype=float).reshape(-1, 6), names
