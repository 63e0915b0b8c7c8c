"""From reports to a linear classifier: which method, which ridge, which standard errors."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.learning.records.covariance import MOST_PARAMETERS, sandwich
from askance.learning.records.enumerated_likelihood import DistinctReports, fit_enumerated
from askance.learning.records.logit_objective import LogitObjective
from askance.learning.records.posterior_draws import posterior_draw
from askance.learning.records.record_data import RecordData, RecordsInMemory
from askance.learning.records.sampling_fit import sampling_em
from askance.learning.records.spectral_fit import PrincipalScores
from askance.learning.records.validation import RIDGES, Choice, Table, Trial, choose
from askance.solvers.simplex import mixture_proportions
from askance.solvers.softmax import symmetric

METHODS = ("auto", "collapsed", "spectral", "sampling", "enumerate")
_FEW_VECTORS = 256  # possible records: with so few attributes the logit is far from normal, and all can be enumerated
_WELL_DETERMINED = 0.95  # share of the likelihood ratio that is not chance, above which no ridge is needed
_UNDETERMINED = "the reports do not determine all parameters"
_PRECISE, _NEAR = 1e-6, 1e-4  # of the last fit's gradient: 1e-4 leaves 0.01 standard errors at 10,000 reports
# When principal scores alone are tried: they hold this share of the features' variance, and there are so many rows for
# each attribute. Rules were tried out on pictures of digits, with other seeds than benchmarks/spread.py measures.
_MOSTLY = 0.6
_MANY_ROWS = 10
_ROWS_FOR_EACH = 10  # parameter, below which a ridge is asked for: the usual rule of ten events for each
_BITES = 0.02  # share of a parameter's curvature that is the ridge's, above which its standard error would mislead


@dataclass(frozen=True, eq=False)
class SpreadResult:
    """A fitted linear classifier.

    ``theta`` has one row for two classes and one for each of more, intercept (at the origin) first. An average of two
    methods has the ``ridge`` of the first, and those of both in ``ridges``.
    """

    theta: Floats
    method: str
    ridge: float
    iterations: int
    converged: bool
    log_likelihood: float | None = None
    covariance: Floats | None = None
    covariance_note: str = ""
    trials: Table | None = None
    notes: tuple[str, ...] = field(default=())
    ridges: dict[str, float] = field(default_factory=dict)

    @property
    def parameters(self) -> Floats:
        """Free parameters: against the first class, flattened."""
        return (self.theta if len(self.theta) == 1 else self.theta[1:] - self.theta[:1]).ravel()


@dataclass(frozen=True, eq=False)
class SpreadProblem:
    """What is to be fitted, and how.

    ``ridge`` None asks for cross-validation; ``rng`` None takes folds as the rows come.
    """

    method: str
    prior: Any
    ridge: float | None
    intercept: bool
    folds: int
    samples: int
    rounds: int
    max_iterations: int
    rng: np.random.Generator | None

    def fit(self, data: RecordData) -> SpreadResult:
        """Fit by the method that was asked for, or that fits best."""
        method = self.method
        if method == "auto" and _few_states(data):
            method = "enumerate"
        if method == "enumerate":
            return _enumerated(self, data)
        if method == "sampling":
            return _sampled(self, data)
        return _Run(self, data).best(method)

    def chosen_ridge(self, run: "_Run") -> tuple[float, Choice | None]:
        """The ridge that was asked for, or the collapsed likelihood's choice."""
        if self.ridge is not None:
            return self.ridge, None
        choice = run.choice(("collapsed",))
        return choice.taken[0].ridge, choice


@dataclass(frozen=True, eq=False)
class _Run:
    """One fit under way."""

    problem: SpreadProblem
    data: RecordData

    @cached_property
    def collapsed(self) -> LogitObjective:
        return self.data.collapsed(self.problem.intercept)

    @cached_property
    def spectral(self) -> tuple[LogitObjective, PrincipalScores]:
        if not self._has_variances:
            raise InvalidInput(
                "method='spectral' and a flat prior of numbers with noise",
                "prior='learned', or a normal one: directions are told from noise by how much the truth varies",
            )
        return self.data.spectral(self.problem.intercept)

    def best(self, method: str) -> SpreadResult:
        asked = self.problem.ridge
        if method == "auto" and asked is not None:
            method = "collapsed"  # ridges of the two are not comparable
        if asked is None and method != "spectral":
            result = self._unpenalised()
            if result is not None:
                return result
        if asked is not None:
            return self._fitted(method, asked)
        choice = self.choice(self._candidates() if method == "auto" else (method,))
        return _averaged([self._fitted(trial.method, trial.ridge, trial) for trial in choice.taken], choice.table)

    def _candidates(self) -> tuple[str, ...]:
        """Both methods; only the spectral one where rows are many and the features are mostly a few scores.

        Their covariance is then known well, and ignoring it costs more than the rest of the features is worth.
        """
        if not self._has_variances:
            return ("collapsed",)
        enough = self.spectral[1].captured >= _MOSTLY and self.data.rows >= _MANY_ROWS * self.data.features.width
        return ("spectral",) if enough else ("spectral", "collapsed")

    def choice(self, methods: tuple[str, ...]) -> Choice:
        folds = min(self.problem.folds, self.data.rows)
        candidates = {name: self.collapsed if name == "collapsed" else self.spectral[0] for name in methods}
        return choose(candidates, self.data.fold_weights(folds, self.problem.rng), RIDGES)

    @property
    def _has_variances(self) -> bool:
        """Whether the prior says how much every attribute varies; a flat one of numbers does not."""
        return bool(np.isfinite(self.data.posterior.reliability().variance).all())

    def _unpenalised(self) -> SpreadResult | None:
        """The fit without ridge, where reports determine it well: its intervals mean what they say."""
        matrix, counts = self.data.label.matrix, self.data.label_counts
        parameters = max(matrix.shape[1] - 1, 1) * (self.data.features.width + self.problem.intercept)
        if _ROWS_FOR_EACH * parameters > self.data.rows or parameters > MOST_PARAMETERS:
            return None
        result = self._fitted("collapsed", 0.0)
        law = matrix @ mixture_proportions(matrix, counts)
        nothing = float(counts @ np.log(np.maximum(law, 1e-300)))
        ratio = 2 * ((result.log_likelihood or 0.0) - nothing)
        # Of a likelihood ratio, as much as there are parameters is chance (van Houwelingen & le Cessie 1990).
        usable = result.converged and result.covariance_note != _UNDETERMINED
        return result if usable and ratio > 0 and (ratio - parameters) / ratio >= _WELL_DETERMINED else None

    def _fitted(self, method: str, ridge: float, trial: Trial | None = None) -> SpreadResult:
        likelihood, scores = (self.collapsed, None) if method == "collapsed" else self.spectral
        start = None if trial is None else trial.theta[None]
        # Standard errors want the maximum itself; where there are none, a hundredth of one is near enough.
        precise = likelihood.rows * (likelihood.width + 1) <= MOST_PARAMETERS
        tolerance = _PRECISE if precise else _NEAR
        most = self.problem.max_iterations
        found = likelihood.fit(ridge, start=start, tolerance=tolerance, max_iterations=most)
        if likelihood.rows > 1:
            likelihood = likelihood.joint()
            found = likelihood.fit(ridge, start=found.theta, tolerance=tolerance, max_iterations=most)
        theta = found.theta[0]
        covariance, why = None, "spectral: directions come from the same reports, and what they leave out biases"
        if method == "collapsed":
            covariance, why = _covariance(likelihood, theta, ridge)
        at_origin = np.column_stack([theta[:, 0] - theta[:, 1:] @ likelihood.centre, theta[:, 1:]])
        if scores is not None:
            at_origin = scores.coefficients(at_origin)
        notes: tuple[str, ...] = ()
        if not found.converged:
            notes = (f"The solver stopped after {found.iterations} iterations before it converged: raise max_iter.",)
        return SpreadResult(
            at_origin,
            method,
            ridge,
            found.iterations,
            found.converged,
            likelihood.total(theta),
            covariance,
            why,
            notes=notes,
        )


def _averaged(results: list[SpreadResult], table: Table) -> SpreadResult:
    """One fit as it is, or the average of two that predict equally well: it errs less than either."""
    if len(results) == 1:
        return replace(results[0], trials=table)
    return SpreadResult(
        np.mean([result.theta for result in results], axis=0),
        " + ".join(result.method for result in results),
        results[0].ridge,
        sum(result.iterations for result in results),
        all(result.converged for result in results),
        covariance_note="an average of two penalised fits",
        trials=table,
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
        ridges={result.method: result.ridge for result in results},
    )


def _covariance(likelihood: LogitObjective, theta: Floats, ridge: float) -> tuple[Floats | None, str]:
    """The covariance of the free parameters at the origin, or why there is none."""
    rows, width = max(likelihood.rows - 1, 1), theta.shape[1]
    if rows * width > MOST_PARAMETERS:
        return None, f"{rows * width} parameters: more than {MOST_PARAMETERS} are not told apart by reports"
    try:
        at_centre, shares = sandwich(likelihood, theta, ridge)
    except np.linalg.LinAlgError:
        return None, _UNDETERMINED
    # The intercept's ridge is not asked about: it moves predictions, not what features do.
    if np.delete(shares, np.arange(rows) * width).max(initial=0.0) > _BITES:
        return None, "the ridge is strong enough to bias the estimates"
    if not np.all(np.isfinite(at_centre)) or np.diag(at_centre).min() < 0:
        return None, _UNDETERMINED
    to_origin = np.eye(width)
    to_origin[0, 1:] = -likelihood.centre
    move = np.kron(np.eye(rows), to_origin)
    covariance: Floats = move @ at_centre @ move.T
    if not likelihood.intercept:
        kept = np.delete(np.arange(rows * width), np.arange(rows) * width)
        covariance = covariance[np.ix_(kept, kept)]
    return covariance, ""


def _few_states(data: RecordData) -> bool:
    finite = [law for law in data.features.laws if law.is_finite]
    return data.features.is_finite and math.prod(len(law.values) for law in finite) <= _FEW_VECTORS


def _enumerated(problem: SpreadProblem, data: RecordData) -> SpreadResult:
    """The exact likelihood of few discrete coordinates; without ridge where the reports determine it."""
    if not data.features.is_finite:
        raise InvalidInput("method='enumerate' for numbers with added noise", "attributes of finitely many states")
    reports = data.distinct()
    if not problem.ridge:
        result = _exact(problem, data, reports)
        determined = result.converged and result.covariance is not None
        if problem.ridge is not None or (determined and data.rows >= _ROWS_FOR_EACH * result.parameters.size):
            return result
    run = _Run(problem, data)
    ridge, choice = problem.chosen_ridge(run)
    return replace(_exact(problem, data, reports, ridge, run.collapsed), trials=choice.table if choice else None)


def _exact(
    problem: SpreadProblem,
    data: RecordData,
    reports: DistinctReports,
    ridge: float = 0.0,
    likelihood: LogitObjective | None = None,
) -> SpreadResult:
    """Enumerate, penalised as the collapsed likelihood is."""
    laws = [law for law in data.features.laws if law.is_finite]
    values = [law.values.astype(float) for law in laws]
    prior = problem.prior
    if isinstance(prior, str) and prior == "flat":
        prior = [np.full(len(one), 1 / len(one)) for one in values]
    elif not isinstance(prior, str):
        prior = [np.asarray(one, dtype=float) for one in prior]
    centre, penalty = np.zeros(len(values)), np.zeros(problem.intercept + len(values))
    if likelihood is not None:
        centre, penalty = likelihood.centre, data.rows * ridge * likelihood.penalties
    found = fit_enumerated(
        [one - middle for one, middle in zip(values, centre, strict=True)],
        [law.matrix for law in laws],
        reports,
        data.label.matrix,
        prior=prior,
        penalty=penalty,
        intercept=problem.intercept,
        max_iterations=problem.max_iterations,
    )
    covariance, why = found.sandwich_covariance, _UNDETERMINED
    if ridge:
        covariance, why = None, "the ridge is strong enough to bias the estimates"
    notes = () if found.converged else ("The solver stopped before it converged: raise max_iter, or add ridge.",)
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
    )


def _at_origin(free: Floats, centre: Floats, intercept: bool) -> Floats:
    """Turn parameters against the first class, at the centre of the features, into those of a result."""
    if not intercept:
        free = np.column_stack([np.zeros(len(free)), free])
    free = np.column_stack([free[:, 0] - free[:, 1:] @ centre, free[:, 1:]])
    return free if len(free) == 1 else symmetric(free)


def _sampled(problem: SpreadProblem, data: RecordData) -> SpreadResult:
    """The paper's importance sampling, at the ridge that was asked for or that the collapsed likelihood chooses."""
    if not isinstance(data, RecordsInMemory):
        raise InvalidInput(
            "method='sampling' of records in parts", "records in memory: every one of them is drawn anew"
        )
    run = _Run(problem, data)
    ridge, choice = problem.chosen_ridge(run)
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
