"""A hidden answer as a predictor of an outcome that is seen."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.errors import AskanceWarning, InvalidInput, NotAvailable, Unidentifiable
from askance.frames import refuse_other_rows
from askance.learning.face.classes import class_array
from askance.learning.face.engine_choice import refuse_engine
from askance.learning.face.figures import intervals_figure
from askance.learning.face.formula import Formula
from askance.learning.face.likelihood_results import LikelihoodResults
from askance.learning.face.sample_weights import checked_weights
from askance.learning.face.wald_results import WaldResults
from askance.learning.surveys.corrected_score import CorrectedFit, CorrectedScore, corrected_fit, disagreement
from askance.learning.surveys.covariates import Covariates
from askance.learning.surveys.hidden_answers import (
    HiddenAnswer,
    answers_told,
    combinations,
    guarantee_of,
    hidden_answers,
    joint_unbiased,
    notes_on_reports,
)
from askance.learning.surveys.hidden_formula import split_formula
from askance.learning.surveys.hidden_states import HiddenStates
from askance.learning.surveys.outcome_families import LEAST_LOG_SPREAD, LinearOutcome, Outcome
from askance.learning.surveys.outcome_law import normal_law_p_value
from askance.learning.surveys.predictor_model import PredictorModel
from askance.learning.surveys.survey_estimator import SurveyEstimator
from askance.learning.surveys.survey_fit import SurveyFit, effective_weights, few_people, fit_survey
from askance.learning.surveys.survey_release import SurveyTable
from askance.learning.surveys.survey_sample import SurveySample
from askance.releases.reading import open_release
from askance.releases.release import Release
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary

_MOST_STATES = 64  # combinations of hidden answers: each multiplies the work, and needs people of its own
_DISAGREE = 0.05  # p-value below which two estimates of the same are taken to differ
_NOT_NORMAL = 0.01  # p-value below which the law of a linear outcome is taken to be another than the likelihood's
# Corrected scores whose variance is a smaller part of the likelihood's show that the likelihood's model is wrong: with
# the right one it is the more precise. The gap to 1 is for the noise of both.
_LESS_VARIANCE = 0.8
_UNITS = {
    "linear": "change in the outcome",
    "logistic": "change in log-odds",
    "poisson": "change in the logarithm of the mean",
    "ordered": "change in log-odds of a higher class",
}


class HiddenPredictor(SurveyEstimator, LikelihoodResults, WaldResults):
    """Regression of an outcome that is seen on answers that are hidden, beside covariates.

    The likelihood of outcome and report is summed over the possible answers,

        L_i = sum_z P(report_i | z) P(z | x_i) f(y_i | x_i, z),

    with a logistic (softmax) model of the hidden answer given covariates. Several hidden answers have a joint model, in
    which each depends on the covariates and every two on each other.

    Parameters
    ----------
    channels : mapping from a column of reports to its channel
        May be left out when fitting a release.
    family : {"linear", "logistic", "poisson", "ordered"}
        The outcome: a number, one of two classes, a count, or one of several classes in an order (proportional odds).
    method : {"auto", "likelihood", "moments"}
        "likelihood" is the most precise. "moments" solves corrected scores, which need no model of the hidden answer
        and do not rest on the shape of the outcome's law. "auto": the likelihood, unless both disagree beyond chance.
    same : mapping from an answer's name to columns, optional
        Columns that are several reports about one answer.
    order : sequence, optional
        The classes of a logistic or ordered outcome, the least first; sorted if not given.
    explained : bool
        Whether the hidden answers depend on the covariates. If not, they are taken to be independent of them, which
        biases the coefficients where it is wrong.
    intervals : {"auto", "wald", "profile"}
        "wald" is estimate and standard error; "profile" the likelihood ratio, right where few have the hidden answer;
        "auto" chooses.

    Attributes
    ----------
    parameters_, parameter_names_, covariance_, standard_errors_
        The outcome's coefficients first (a hidden answer's as ``hidden(name)``), then those of the model of the
        answers.
    prevalence_ : dict of arrays
        The shares of each hidden answer's classes.
    sample_, degrees_, design_effects_
        What the sample is made of, and what its clusters do to the parameters; empty for people drawn one by one.
    log_likelihood_, converged_, penalised_, n_reports_, notes_, guarantee_

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> age, cheated = rng.normal(size=4000), rng.random(4000) < 0.3
    >>> grade = 1 + 0.5 * age + 2 * cheated + rng.normal(size=4000)
    >>> channel = ask.Warner(0.8)
    >>> reports = {"cheated": channel.simulate(np.where(cheated, "yes", "no"), rng)}
    >>> fitted = ask.HiddenPredictor({"cheated": channel}).fit(age[:, None], grade, reports)
    >>> dict(zip(fitted.parameter_names_[:3], fitted.parameters_[:3].round(1).tolist()))
    {'Intercept': 1.0, 'x0': 0.5, 'hidden(cheated)': 2.1}
    """

    def __init__(
        self,
        channels: Mapping[str, Any] | None = None,
        family: str = "linear",
        *,
        method: str = "auto",
        same: Mapping[str, Sequence[str]] | None = None,
        order: Sequence[Any] | None = None,
        explained: bool = True,
        intervals: str = "auto",
    ) -> None:
        self.channels = channels
        self.family = family
        self.method = method
        self.same = same
        self.order = order
        self.explained = explained
        self.intervals = intervals

    def fit(
        self,
        X: Any,
        y: Any,
        reports: Any = None,
        *,
        sample_weight: Any = None,
        design: Any = None,
        strata: Any = None,
        cluster: Any = None,
    ) -> Self:
        """Fit to covariates, outcomes and reports.

        Parameters
        ----------
        X : n x d covariates, or None
        y : n
            The outcome.
        reports : data frame or mapping
            A column of reports for each channel.
        sample_weight : n, optional
        design : mapping from a column of reports to the design of each of its rows, optional
        strata, cluster : n names or numbers, optional
            The stratum and the primary sampling unit of each person: standard errors are then linearised, with CR2 and
            Bell and McCaffrey's degrees of freedom for clusters.
        """
        sampled = {"sample_weight": sample_weight, "strata": strata, "cluster": cluster}
        refuse_other_rows(X=X, y=y, reports=reports, design=design, **sampled)
        if reports is None:
            raise InvalidInput("no reports", "reports= a data frame or mapping with a column for each channel")
        answers = hidden_answers(self.channels, reports, self.same, design)
        sample = SurveySample.of(len(answers[0].codes[0]), strata, cluster)
        return self._fit_answers(X, y, answers, sample_weight, sample)

    def fit_release(
        self,
        release: Any,
        engine: str | Engine = "local",
        *,
        formula: str | Formula | None = None,
        outcome: str | None = None,
        hidden: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        strata: str | None = None,
        cluster: str | None = None,
    ) -> Self:
        """Fit to a release, which knows its own channels.

        The outcome and the covariates are columns as they are, the hidden answers its questions.

        Parameters
        ----------
        release : path or Release
            The engine is "local": all rows are read.
        formula : str or Formula, optional
            Such as ``"grade ~ age + hidden(cheated)"``.
        outcome : name of a column
        hidden : names of questions
        features : names of numeric columns
            These three instead of a formula.
        weight, strata, cluster : names of columns, optional
            Sample weights; the stratum and the primary sampling unit of each person.
        """
        refuse_engine(engine, "a hidden predictor")
        release = open_release(release, Release)  # another kind is refused before what it lacks
        if formula is not None:
            if outcome is not None or hidden is not None or features is not None:
                raise InvalidInput("a formula, and outcome=, hidden= or features= beside it", "one or the other")
            split = split_formula(str(formula))
            outcome, hidden, open_part = split.outcome, split.hidden, split.formula
        elif outcome is None or not hidden:
            raise InvalidInput(
                "no formula, and no outcome= with hidden=", 'such as formula="grade ~ age + hidden(cheated)"'
            )
        else:
            open_part = None
        table = SurveyTable.of(release, open_part, features or (), weight, strata, cluster)
        same = self.same or {}
        columns = [name for answer in hidden for name in same.get(answer, [answer])]
        grouped = {answer: same[answer] for answer in hidden if answer in same}
        answers = table.answers(columns, self.channels, grouped)
        values = np.array(table.column(outcome).to_pylist(), dtype=object)
        return self._fit_answers(table.features, values, answers, table.weights, table.sample)

    def _fit_answers(
        self, X: Any, y: Any, answers: list[HiddenAnswer], sample_weight: Any, sample: SurveySample | None
    ) -> Self:
        rows = len(answers[0].codes[0])
        covariates = Covariates.of(X, rows=rows)
        outcome = Outcome.of(self.family, y, self.order)
        if len(outcome.values) != rows:
            raise InvalidInput(f"{rows} reports and {len(outcome.values)} outcomes", "as many of both")
        weights = checked_weights(sample_weight, np.empty((rows, 0)))
        states = combinations(answers)
        if len(states) > _MOST_STATES:
            raise InvalidInput(
                f"{len(answers)} hidden answers with {len(states)} combinations",
                f"at most {_MOST_STATES}",
                "Choose fewer, or merge classes.",
            )
        for answer in answers:
            _refuse_nearly_constant(answer, weights, sample)
        model = PredictorModel(answers, states, covariates, outcome, self.explained)
        notes = [
            *few_people(rows, len(model.names), weights),
            *notes_on_reports(answers, weights, sample),
            *covariates.notes,
            *self._fit_model(model, effective_weights(weights), sample),
        ]
        self.family_, self.n_reports_, self.shown_ = outcome.family, rows, model.shown
        self.guarantee_, self.report_weights_ = guarantee_of(answers), answers_told(answers)
        self.answers_ = tuple(answer.name for answer in answers)
        self.classes_ = class_array(outcome.classes) if outcome.classes else class_array(answers[0].classes)
        heft = np.ones(rows) if weights is None else weights
        self.prevalence_ = {answer.name: heft @ answer.unbiased / heft.sum() for answer in answers}
        self.notes_ = tuple(notes)
        for note in notes:
            warnings.warn(note, AskanceWarning, stacklevel=4)
        return self

    def _fit_model(self, model: PredictorModel, weights: Floats | None, sample: SurveySample | None) -> list[str]:
        """Fit by likelihood, by corrected scores, or by the latter where both disagree; return notes."""
        if self.method not in ("auto", "likelihood", "moments"):
            raise InvalidInput(f"method={self.method!r}", "'auto', 'likelihood' or 'moments'")
        likelihood = model.likelihood(weights, sample)
        scored = likelihood if weights is not None or sample is not None else None
        fit = fit_survey(likelihood, model.starts(), model.penalty(), scored=scored)
        if model.outcome.family == "linear" and fit.theta[model.shown - 1] < LEAST_LOG_SPREAD + 1:
            raise InvalidInput(
                "an outcome that is told without error, so that its spread around a line is zero",
                "a number that varies around its mean",
                "Two values are for family='logistic', a few in an order for 'ordered'.",
            )
        score = CorrectedScore(model.outcome_factor, joint_unbiased(model.answers), weights)
        corrected = corrected_fit(score, fit.theta[: model.shown], sample)
        notes, by_moments = list(fit.notes), self.method == "moments"
        if corrected is None and by_moments:
            raise InvalidInput(
                "an outcome whose corrected score has no solution: too few reports, or an outcome that is told apart",
                "method='likelihood'",
            )
        self.agreement_p_value_ = None
        if corrected is not None and not fit.penalised:
            p = disagreement(fit, likelihood, corrected, model.hidden_places)
            self.agreement_p_value_ = p
            # The likelihood is the more precise of people drawn one by one, whoever was drawn with whom.
            plain = fit.sandwich(model.likelihood(weights)) if weights is not None else fit.bread
            own, other = (np.diag(one)[model.hidden_places] for one in (plain, corrected.plain))
            law = self._law_p_value(model, fit, likelihood, weights, sample)
            dearer = bool((other >= _LESS_VARIANCE * own).all())
            if not by_moments and (p < _DISAGREE or law < _NOT_NORMAL or not dearer):
                by_moments = self.method == "auto"
                instead = "Corrected scores are reported." if by_moments else "Corrected scores: method='moments'."
                if p < _DISAGREE:
                    doubt = f"Likelihood and corrected scores disagree about the hidden answers (p = {p:.2g})"
                elif law < _NOT_NORMAL:
                    doubt = f"The outcome is not normal around its line, or not as spread everywhere (p = {law:.2g})"
                else:
                    doubt = (
                        "Corrected scores are more precise than the likelihood, as they cannot be where its laws hold"
                    )
                notes.append(
                    f"{doubt}: the law of the outcome, or of the hidden answer given covariates, may not be as the "
                    f"likelihood takes it to be, or people are few. {instead}"
                )
        shown, names = model.shown, model.names
        if by_moments and corrected is not None:
            said = self._keep_corrected(
                corrected, names[:shown], model.back[:shown, :shown], model.shift[:shown], sample
            )
            self.log_likelihood_ = float("nan")
            return [*(note for note in notes if note not in fit.notes), *said]
        self.method_ = "likelihood"
        said = self._keep_parameters(
            fit,
            names,
            model.back,
            list(range(shown)),
            self.intervals,
            model.shift,
            sample=sample,
            weights=weights,
        )
        # In the unit of the outcome, whose law the solver has on a scale of standard deviations.
        value = float(fit.likelihood(fit.theta).value)
        people = float(len(model.outcome.values) if weights is None else weights.sum())
        self.log_likelihood_ = value - people * math.log(model.outcome.scale)
        return [*notes, *said]

    @staticmethod
    def _law_p_value(
        model: PredictorModel,
        fit: SurveyFit,
        likelihood: HiddenStates,
        weights: Floats | None,
        sample: SurveySample | None,
    ) -> float:
        """Of the law of a linear outcome; other families have none to be wrong, or one that is seen by its spread."""
        factor = model.outcome_factor
        if not isinstance(factor, LinearOutcome):
            return 1.0
        states = likelihood.rows(fit.theta).states
        return normal_law_p_value(
            factor, fit.theta[: factor.size], states, model.covariates.design[:, 1:], weights, sample
        )

    def _keep_corrected(
        self, fit: CorrectedFit, names: tuple[str, ...], back: Floats, shift: Floats, sample: SurveySample | None
    ) -> list[str]:
        if self.intervals not in ("auto", "wald"):
            raise InvalidInput(f"intervals={self.intervals!r} with corrected scores", "'auto' or 'wald'")
        self.method_, self.profiles_, self.penalised_ = "moments", {}, False
        self.parameters_, self.parameter_names_ = back @ fit.theta + shift, names
        self.covariance_ = back @ fit.covariance @ back.T
        self.converged_, self.n_iter_ = True, int(fit.solution.iterations)
        degrees = () if fit.spread is None else fit.spread.degrees(back)
        return self._keep_sample(sample, degrees, np.diag(back @ fit.plain @ back.T), None, names)

    def summary(self, level: float = 0.95) -> Summary:
        """Return the outcome's coefficients as a table; shares of the hidden answers are among the facts."""
        check_is_fitted(self, "parameters_")
        shares = [
            (f"share of {name}", ", ".join(f"{share:.3f}" for share in law[1:]))
            for name, law in self.prevalence_.items()
        ]
        how = "likelihood" if self.method_ == "likelihood" else "corrected scores"
        facts = (("people", f"{self.n_reports_}"), ("family", self.family_), ("method", how), *shares)
        title = f"{self.family_.capitalize()} regression on the hidden {', '.join(self.answers_)}"
        return self._parameter_table(title, level, facts, range(self.shown_))

    def must_agree(self) -> dict[str, Any]:
        """Return what two models have in common if one of them is the other with fewer terms."""
        return {"families": self.family_, "hidden answers": self.answers_}

    def _about(self, place: int, name: str) -> str:
        # All classes of a hidden answer are one term of the formula.
        return name.split(")=")[0] + ")" if place < self.shown_ and name.startswith("hidden(") else name

    def _log_odds_names(self) -> list[str]:
        if self.family_ not in ("logistic", "ordered"):
            raise NotAvailable(f"odds ratios of a {self.family_} outcome", "family='logistic' or 'ordered'")
        return [name for name in self.parameter_names_[: self.shown_] if name != "Intercept" and " | " not in name]

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return the figure of the coefficients with their intervals."""
        summary = self.summary()
        cuts = [name for name in self.parameter_names_ if self.family_ == "ordered" and " | " in name]
        return (intervals_figure(summary, _UNITS[self.family_], cuts),)


def _refuse_nearly_constant(answer: HiddenAnswer, weights: Floats | None, sample: SurveySample | None) -> None:
    """Refuse a hidden answer of which a class is too rare to be told from chance: it can predict nothing."""
    share, error = answer.unbiased_shares(weights, sample)
    rare = share < error
    if rare.any():
        k = int(rare.argmax())
        raise Unidentifiable(
            f"{answer.name!r} is nearly constant: the reports put the share of {answer.classes[k]!r} at "
            f"{share[k]:.3f} with a standard error of {error[k]:.3f}",
            "a predictor of which every class is more frequent than chance could make it look",
            "Ask more people, use a channel with less noise, or merge classes.",
        )
