"""Estimators whose channel has unknown numbers: how they are fitted, and what they keep and show."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import InvalidInput
from askance.learning.answers.unknown_fit import fit_unknown
from askance.learning.answers.unknown_numbers import UnknownNumbers, values_of
from askance.learning.answers.unknown_problem import UnknownProblem
from askance.learning.answers.unknown_result import UnknownFit
from askance.learning.answers.unknown_samples import UnknownSample
from askance.learning.face.classes import class_array
from askance.learning.face.interval_table import interval_fact, sample_facts, with_intervals
from askance.learning.face.requested_ridge import checked_ridge
from askance.reports.summary import Summary, summarise
from askance.solvers.softmax import posterior, symmetric

_KEPT = ("unknowns_", "unknown_numbers_", "design_test_")


def has_unknowns(channel: Any) -> bool:
    """Whether a channel has numbers that must be estimated; a user's own channel has none."""
    return bool(getattr(channel, "unknowns", {}))


def forget_unknowns(estimator: Any) -> None:
    """Forget the unknown numbers of an earlier fit."""
    for name in _KEPT:
        vars(estimator).pop(name, None)


def channel_at_estimate(estimator: Any) -> Any:
    """Return the channel of a fit, with the estimates of its unknown numbers in their places if it has some."""
    channel = estimator.channel_
    return channel.with_values(estimator.unknowns_) if hasattr(estimator, "unknowns_") else channel


def fit_regression(
    estimator: Any,
    source: RecordSource,
    channel: Any,
    engine: Engine,
    names: Sequence[str],
    intercept: bool,
    weighted: bool,
    unknown_columns: Mapping[str, Sequence[int]],
    sample: UnknownSample,
) -> None:
    """Fit an IndirectClassifier together with the unknown numbers of its channel.

    Parameters
    ----------
    names : of all features, those of the model first
    unknown_columns : the places among them of what each unknown number depends on
    """
    _refuse_moments(estimator, channel)
    ridge = checked_ridge(estimator.ridge)
    own = range(estimator.n_features_in_)
    robust = weighted or sample.drawn is not None
    problem = UnknownProblem(
        channel, names, own, unknown_columns, intercept, ridge, robust, estimator.penalty, estimator.intervals,
        estimator.max_iter,
    )  # fmt: skip
    fit = fit_unknown(problem, source, engine, sample)
    size, theta = fit.theta.size, fit.theta
    robust = estimator.covariance == "sandwich" or (estimator.covariance == "auto" and robust)
    whole = fit.sandwich_covariance if robust else fit.information_covariance
    rows = theta if len(theta) == 1 else symmetric(theta)
    vars(estimator).pop("base_estimator_", None)  # of an earlier fit
    found = {
        "coef_": rows[:, int(intercept) :].copy(),
        "intercept_": rows[:, 0].copy() if intercept else np.zeros(len(rows)),
        "channel_": channel,
        "guarantee_": channel.guarantee,
        "classes_": class_array(channel.classes),
        "parameters_": theta.ravel(),
        "parameter_names_": fit.names[:size],
        "covariance_sandwich_": fit.sandwich_covariance[:size, :size],
        "covariance_information_": fit.information_covariance[:size, :size],
        "covariance_": whole[:size, :size],
        "covariance_kind_": ("sandwich" if robust else "information") if sample.drawn is None else sample.kind,
        "sample_": "" if sample.drawn is None else sample.drawn.describe(),
        "degrees_": () if fit.degrees is None else tuple(fit.degrees[:size].tolist()),
        "design_effects_": () if sample.drawn is None else _effects(fit, whole, np.eye(size)),
        "log_likelihood_": fit.log_likelihood,
        "ridge_": ridge or 0.0,
        "penalty_": "log-f" if fit.penalised else "ridge" if ridge else "none",
        "intervals_": tuple("profile" if place in fit.profiles else "wald" for place in range(size)),
        "profiles_": tuple(fit.profiles.get(place) for place in range(size)),
        "n_reports_": fit.rows,
        "n_iter_": fit.iterations,
        "converged_": fit.converged,
        "notes_": fit.notes,
        "unknowns_": values_of(fit, list(channel.unknowns)),
        "unknown_numbers_": UnknownNumbers.of(fit, list(channel.unknowns), whole),
    }
    vars(estimator).update(found)


def _effects(fit: UnknownFit, covariance: Floats, slope: Floats) -> tuple[float, ...]:
    """How many times a variance is that of as many people drawn one by one; of combinations of the model's own."""
    size = slope.shape[1]
    simple = fit.information_covariance if fit.simple_covariance is None else fit.simple_covariance
    seen, alone = (np.diag(slope @ each[:size, :size] @ slope.T) for each in (covariance, simple))
    return tuple((seen / np.maximum(alone, np.finfo(float).tiny)).tolist())


def fit_shares(
    estimator: Any, source: RecordSource, channel: Any, engine: Engine, weighted: bool, sample: UnknownSample
) -> None:
    """Fit a Prevalence together with the unknown numbers of its channel."""
    _refuse_moments(estimator, channel)
    robust = weighted or sample.drawn is not None
    fit = fit_unknown(UnknownProblem(channel, (), (), weighted=robust), source, engine, sample)
    whole = fit.sandwich_covariance if robust else fit.information_covariance
    proportions = posterior(fit.theta.T).probabilities[0]
    slope = np.diag(proportions)[:, 1:] - np.outer(proportions, proportions[1:])
    free = len(slope) - 1
    found = {
        "proportions_": proportions,
        "covariance_": slope @ whole[:free, :free] @ slope.T,
        "unbiased_": np.full(len(slope), np.nan),
        "sample_": "" if sample.drawn is None else sample.drawn.describe(),
        "degrees_": () if fit.degrees is None else (float(np.min(fit.degrees[:free])),) * len(slope),
        "design_effects_": () if sample.drawn is None else _effects(fit, whole, slope),
        "channel_": channel,
        "guarantee_": channel.guarantee,
        "classes_": class_array(channel.classes),
        "n_reports_": fit.rows,
        "notes_": fit.notes,
        "unknowns_": values_of(fit, list(channel.unknowns)),
        "unknown_numbers_": UnknownNumbers.of(fit, list(channel.unknowns), whole),
    }
    vars(estimator).update(found)


def _refuse_moments(estimator: Any, channel: Any) -> None:
    if estimator.method != "marginal":
        unknown = ", ".join(channel.unknowns)
        raise InvalidInput(f"method={estimator.method!r} with {unknown} unknown", "method='marginal'")


def regression_summary(estimator: Any, level: float) -> Summary:
    """Return coefficients, unknown numbers and tests of a fit by :func:`fit_regression`."""
    first, second = estimator.classes_.tolist()[:2]
    title = f"P({second}) by logistic regression on hidden answers"
    if len(estimator.classes_) > 2:
        title = f"Log-odds against {first!r} by softmax regression on hidden answers"
    facts = [
        ("reports", f"{estimator.n_reports_}"),
        ("method", f"{estimator.method} ({estimator.covariance_kind_} standard errors)"),
        ("log-likelihood", f"{estimator.log_likelihood_:.4f}"),
    ]
    penalty = {"ridge": f"ridge {estimator.ridge_:.4g}", "log-f": "log-F(1,1)"}.get(estimator.penalty_)
    facts += [("penalty", penalty)] if penalty else []
    facts += sample_facts(estimator.sample_, estimator.parameter_names_, estimator.degrees_, estimator.design_effects_)
    facts += interval_fact(estimator.parameter_names_, estimator.intervals_)
    wald = summarise(
        title,
        estimator.parameter_names_,
        estimator.parameters_,
        estimator.covariance_,
        level,
        tuple(facts),
        estimator.notes_,
        estimator.privacy_statement_,
    )
    unknown: UnknownNumbers = estimator.unknown_numbers_
    return unknown.with_rows(wald, unknown.model_rows(level))


def shares_summary(estimator: Any, level: float) -> Summary:
    """Return shares, unknown numbers and tests of a fit by :func:`fit_shares`."""
    names = tuple(str(label) for label in estimator.classes_)
    sampled = sample_facts(estimator.sample_, names, estimator.degrees_, estimator.design_effects_)
    facts = (("reports", f"{estimator.n_reports_}"), ("method", estimator.method), *sampled)
    title = "Proportions of the true answers"
    said = facts, estimator.notes_, estimator.privacy_statement_
    wald = summarise(title, names, estimator.proportions_, estimator.covariance_, level, *said, tested=False)
    wald = with_intervals(wald, ["wald"] * len(names), (), estimator.degrees_)
    wald.values[:, 4:6] = np.clip(wald.values[:, 4:6], 0.0, 1.0)
    unknown: UnknownNumbers = estimator.unknown_numbers_
    return unknown.with_rows(wald, unknown.shares_rows(wald.values, level))
