"""What a fitted model keeps of a softmax fit, and the table that people read of it: the same for all its faces."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import softmax

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import RecordSource
from askance.errors import AskanceWarning
from askance.learning.answers.compliance import NOT_TESTED, DesignTest, design_lines, evidence_of_features
from askance.learning.answers.softmax_fit import SoftmaxFit
from askance.learning.answers.softmax_problem import SoftmaxProblem
from askance.learning.face.equal_rows import notes_on_rows
from askance.learning.face.interval_table import interval_fact, sample_facts, with_intervals
from askance.learning.face.ordinary_scorers import is_drawn_again
from askance.reports.summary import Summary, summarise

_WORDS = {"ridge": "a ridge", "shrunk": "a ridge towards the base rate", "log-f": "the log-F penalty"}
# Standard error of a typical logit from which on intervals of many coefficients are too short: in 60 cells of 3 to 40
# made-up columns (level 2, prevalence .03 to .4, seeds from 71000) they covered .93 to .98 up to .8, .85 to .98 about
# 1, .6 to .9 from 2 on, with estimates up to 4 times too large; of 3 columns they were about right up to 2.5. In 416
# sets of 7 to 30 correlated columns (levels .7 to 4, seeds from 93000): .94 to .96 up to 1.2, .92 up to 1.6, .83 up to
# 2.5, .72 beyond.
_LITTLE_KNOWN, _FEW = 1.2, 6
_ONE_BY_ONE = DesignTest(float("nan"), "not tested: reports are looked at one by one")


def keep_fit(model: Any, fit: SoftmaxFit, problem: SoftmaxProblem, source: RecordSource, engine: Engine) -> None:
    """Give a model the results of a fit of records, and say aloud if the reports contradict the channel."""
    model.parameters_, model.parameter_names_ = fit.theta.ravel(), problem.parameter_names
    model.covariance_sandwich_ = fit.sandwich_covariance
    model.covariance_information_ = fit.information_covariance
    model.covariance_ = fit.sandwich_covariance if problem.robust else fit.information_covariance
    model.covariance_kind_ = "sandwich" if problem.robust else "information"
    model.log_likelihood_, model.ridge_, model.penalty_ = fit.log_likelihood, fit.ridge, fit.penalty
    model.intervals_, model.profiles_ = fit.intervals, fit.profiles
    model.degrees_, model.design_effects_, model.sample_ = fit.degrees, fit.design_effects, ""
    model.logit_error_ = fit.logit_error
    model.n_reports_, model.n_iter_, model.converged_ = fit.reports.rows, fit.iterations, fit.converged
    of_rows = _notes_on_rows(fit, problem, source, engine)
    model.notes_, model.report_weights_ = (*fit.notes, *of_rows), tuple(np.asarray(fit.reports.weight).tolist())
    model.design_test_ = _design_test(fit, problem, source, engine)
    for words in (*([model.design_test_.alert] if model.design_test_.alert else []), *_doubts(model), *of_rows):
        warnings.warn(words, AskanceWarning, stacklevel=5)


def _design_test(fit: SoftmaxFit, problem: SoftmaxProblem, source: RecordSource, engine: Engine) -> DesignTest:
    if not problem.listed:
        return _ONE_BY_ONE
    reports = fit.reports if problem.robust else fit.reports.as_frequencies
    unequal = reports.rows * reports.squared_weight.sum() / reports.weight.sum() ** 2
    # Of the sample's effect on the intercept the weights' part is known to the test; the rest is the clusters'.
    effect = float(fit.design_effects[0]) / unequal if fit.design_effects and problem.intercept else 1.0
    shares = DesignTest.of(problem.channel, reports, effect if np.isfinite(effect) else 1.0)
    features = evidence_of_features(problem.channel, source, len(problem.feature_names), engine)
    return shares.given_features(problem.channel, features)


def _notes_on_rows(fit: SoftmaxFit, problem: SoftmaxProblem, source: RecordSource, engine: Engine) -> tuple[str, ...]:
    """Whether rows stand there several times, or people of equal features are more alike than the model says."""
    # Errors between clusters allow for both; rows of a cluster of machines are not brought here; and rows that bagging
    # draws stand there as often as it drew them.
    if fit.degrees or not problem.listed or not isinstance(engine, LocalEngine) or is_drawn_again():
        return ()
    reports, columns = fit.reports, len(problem.feature_names)
    weighted = not reports.rows == reports.weight.sum() == reports.squared_weight.sum()
    other = weighted or fit.design_effects or problem.truths is not None or fit.penalty in ("ridge", "shrunk")

    def truths(features: Floats) -> Floats:
        z = np.column_stack([np.ones(len(features)), features]) if problem.intercept else features
        logits = z @ np.nan_to_num(fit.theta).T
        return np.asarray(softmax(np.column_stack([np.zeros(len(z)), logits]), axis=1))

    way = "give cluster= what group each row is of"
    return notes_on_rows(source, columns, problem.channel, None if other else truths, way)


def fit_table(model: Any, title: str, level: float) -> Summary:
    """Return estimates, standard errors, z, p and intervals of a model with the results of a fit."""
    method = ("method", f"{model.method} ({model.covariance_kind_} standard errors)")
    penalties = {
        "ridge": f"ridge {model.ridge_:.4g}",
        "shrunk": f"ridge {model.ridge_:.4g} towards the base rate, on standardised features",
        "log-f": "log-F(1,1) about the base rate",
    }
    penalised = [("penalty", penalties[model.penalty_])] if model.penalty_ in penalties else []
    known = np.isfinite(model.standard_errors_)
    kinds = [kind for kind, has in zip(model.intervals_, known, strict=False) if has]
    intervals = interval_fact([name for name, has in zip(model.parameter_names_, known, strict=True) if has], kinds)
    if model.penalty_ == "shrunk":
        intervals = [("intervals", "none for a fit that a ridge shrinks")]
    intervals += sample_facts(model.sample_, model.parameter_names_, model.degrees_, model.design_effects_)
    wald = summarise(
        title,
        model.parameter_names_,
        model.parameters_,
        model.covariance_,
        level,
        (("reports", f"{model.n_reports_}"), method, *likelihood_fact(model), *penalised, *intervals),
        model.notes_,
        model.privacy_statement_,
    )
    table = with_intervals(wald, model.intervals_, model.profiles_, model.degrees_, model.penalty_ != "none")
    return replace(table, **design_lines(table, model.design_test_), doubts=_doubts(model))


def _doubts(model: Any) -> tuple[str, ...]:
    """Whether reports tell so little about all parameters together that their errors are not what they seem."""
    count = len(model.parameters_)
    if count <= _FEW or not model.logit_error_ > _LITTLE_KNOWN:
        return ()
    return (
        f"These reports tell little about {count} coefficients together: the logit of a typical person has a standard "
        f"error of {model.logit_error_:.2g}. Coefficients are then too large in size, and intervals too short: from 2 "
        "on, those of 95% hold 60 to 85%. Leave out columns, collect more reports, or, to predict, set a ridge.",
    )


def likelihood_fact(model: Any) -> list[tuple[str, str]]:
    """The log-likelihood, where there is one."""
    return [] if model.log_likelihood_ is None else [("log-likelihood", f"{model.log_likelihood_:.4f}")]


def why_penalised(model: Any) -> str:
    """What moves a fit from the maximum; empty where nothing does."""
    return f"{_WORDS[model.penalty_]} moves it from the maximum" if model.penalty_ in _WORDS else ""


def fill_in_fit(model: Any) -> None:
    """Give a model that an earlier version saved what that version did not keep."""
    if hasattr(model, "ridge_") and not hasattr(model, "penalty_"):
        model.penalty_, model.intervals_, model.profiles_ = "ridge" if model.ridge_ else "none", (), ()
    if not hasattr(model, "design_test_"):
        model.design_test_ = NOT_TESTED
    if not hasattr(model, "logit_error_"):
        model.logit_error_ = float("nan")
    if not hasattr(model, "sample_"):
        model.sample_, model.degrees_, model.design_effects_ = "", (), ()
