"""From reports to a linear classifier: by enumeration, by sampling, or by the likelihood that was chosen."""

import math
from dataclasses import replace

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.learning.records.enumerated_likelihood import DistinctReports, fit_enumerated, joint_rows
from askance.learning.records.latent_reports import design_widths, true_design
from askance.learning.records.logit_objective import LogitObjective
from askance.learning.records.method_choice import ROWS_FOR_EACH, FitUnderWay
from askance.learning.records.posterior_draws import posterior_draw
from askance.learning.records.record_data import RecordData, RecordsInMemory
from askance.learning.records.sampling_fit import sampling_em
from askance.learning.records.spread_result import RIDGE_BITES, UNDETERMINED, SpreadProblem, SpreadResult, biased
from askance.solvers.softmax import symmetric

_FEW_VECTORS = 256  # possible records: with so few attributes the logit is far from normal, and all can be enumerated


def fit_spread_problem(problem: SpreadProblem, data: RecordData) -> SpreadResult:
    """Fit by the method that was asked for, or that fits best."""
    run, method = FitUnderWay(problem, data), problem.method
    if method in ("auto", "mixture") and (any(data.nominal) or run.factor == "mixture"):
        # Distinct reports of an engine are brought here, counted: classes are learned by going over them often.
        here = data.in_memory
        run = run if here is None or here is data else replace(run, data=here)
    if method == "auto" and _few_states(data):
        # All combinations of states have a share of their own where records are enough; else classes may have.
        joint = data.rows >= joint_rows(_possible(data)) or not run.learns
        method = "enumerate" if joint or run.factor == "collapsed" else "auto"
    if method == "enumerate":
        return _enumerated(run)
    if method == "sampling":
        return _sampled(run)
    return run.best(method)


def _few_states(data: RecordData) -> bool:
    return data.features.is_finite and _possible(data) <= _FEW_VECTORS


def _possible(data: RecordData) -> int:
    """How many true records there can be, of attributes with states."""
    return math.prod(len(law.values) for law in data.features.laws if law.is_finite)


def _enumerated(run: FitUnderWay) -> SpreadResult:
    """The exact likelihood of few discrete coordinates; without ridge where the reports determine it."""
    problem, data = run.problem, run.data
    if not data.features.is_finite:
        raise InvalidInput("method='enumerate' for numbers with added noise", "attributes of finitely many states")
    reports = data.distinct()
    if not problem.ridge:
        result = _exact(run, reports)
        determined = result.converged and result.covariance_note != UNDETERMINED
        if problem.ridge is not None or (determined and data.rows >= ROWS_FOR_EACH * result.parameters.size):
            return result
    ridge, choice = run.chosen_ridge()
    return replace(_exact(run, reports, ridge, run.collapsed), trials=choice.table if choice else None)


def _exact(
    run: FitUnderWay, reports: DistinctReports, ridge: float = 0.0, likelihood: LogitObjective | None = None
) -> SpreadResult:
    """Enumerate, penalised as the collapsed likelihood is."""
    problem, data = run.problem, run.data
    laws = [law for law in data.features.laws if law.is_finite]
    values = [law.values.astype(float) for law in laws]
    prior = problem.prior
    if isinstance(prior, str) and prior == "flat":
        prior = [np.full(len(one), 1 / len(one)) for one in values]
    elif not isinstance(prior, str):
        prior = [np.asarray(one, dtype=float) for one in prior]
    width = sum(design_widths(data.features, data.nominal))
    centre, penalty = np.zeros(width), np.zeros(problem.intercept + width)
    if likelihood is not None:
        centre, penalty = likelihood.centre, data.rows * ridge * likelihood.penalties
    found = fit_enumerated(
        values,
        [law.matrix for law in laws],
        reports,
        data.label.matrix,
        prior=prior,
        penalty=penalty,
        intercept=problem.intercept,
        max_iterations=problem.max_iterations,
        design=lambda codes: true_design(data.features, data.nominal, codes) - centre,
    )
    covariance, why = found.sandwich_covariance, UNDETERMINED
    if ridge:
        covariance, why = None, RIDGE_BITES
    notes = () if found.converged else ("The solver stopped before it converged: raise max_iter, or add ridge.",)
    overlooked = "" if found.prior_kind == "joint" else run.overlooked("enumerate")
    if overlooked:
        covariance, why, notes = None, overlooked, (biased(overlooked), *notes)
    return SpreadResult(
        _at_origin(found.theta, centre, problem.intercept),
        "enumerate",
        ridge,
        found.iterations,
        found.converged,
        found.log_likelihood,
        covariance,
        "" if covariance is not None else why,
        notes=notes,
        joint_prior={"table": found.prior},
    )


def _at_origin(free: Floats, centre: Floats, intercept: bool) -> Floats:
    """Turn parameters against the first class, at the centre of the features, into those of a result."""
    if not intercept:
        free = np.column_stack([np.zeros(len(free)), free])
    free = np.column_stack([free[:, 0] - free[:, 1:] @ centre, free[:, 1:]])
    return free if len(free) == 1 else symmetric(free)


def _sampled(run: FitUnderWay) -> SpreadResult:
    """The paper's importance sampling, at the ridge that was asked for or that the collapsed likelihood chooses."""
    problem, data = run.problem, run.data
    if not isinstance(data, RecordsInMemory):
        raise InvalidInput(
            "method='sampling' of records in parts", "records in memory: every one of them is drawn anew"
        )
    ridge, choice = run.chosen_ridge()
    likelihood = run.collapsed
    found = sampling_em(
        posterior_draw(data.posterior, data.records.reports),
        data.records.label_likelihood,
        rng=np.random.default_rng(problem.rng),
        penalty=data.rows * ridge * likelihood.penalties,
        samples=problem.samples,
        rounds=problem.rounds,
        intercept=problem.intercept,
        centre=likelihood.centre if problem.intercept else None,
    )
    theta = _at_origin(found.theta, likelihood.centre, problem.intercept)
    notes = (f"Importance sampling with {problem.samples} samples shrinks coefficients; directions suffer less.",)
    return SpreadResult(
        theta,
        "sampling",
        ridge,
        found.rounds,
        True,
        covariance_note="importance sampling is biased at every number of samples",
        trials=choice.table if choice else None,
        notes=notes,
    )
