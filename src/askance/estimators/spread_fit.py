"""From reports to a linear classifier: which method, which ridge, which standard errors."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.channels.coordinate_law import FiniteCoordinate
from askance.errors import InvalidInput
from askance.estimators.spread_reading import SpreadRecords
from askance.models.softmax import symmetric
from askance.solvers.collapsed_spread import CollapsedLikelihood
from askance.solvers.simplex import mixture_proportions
from askance.solvers.spectral_spread import PrincipalScores
from askance.solvers.spread_covariance import MOST_PARAMETERS, sandwich
from askance.solvers.spread_posterior import FeaturePosterior, Moments
from askance.solvers.spread_validation import RIDGES, Choice, Table, Trial, choose, fold_weights

Floats = NDArray[np.float64]

METHODS = ("auto", "collapsed", "spectral", "sampling", "enumerate")
_FEW_COORDINATES = 3  # for which the logit is far from normal
_FEW_VECTORS = 256
_WELL_DETERMINED = 0.95  # share of the likelihood ratio that is not chance, above which no ridge is needed
_UNDETERMINED = "the reports do not determine all parameters"
_PRECISE, _NEAR = 1e-6, 1e-4  # tolerances of the last fit
_HARDLY_NOISE = 0.1  # variance of a logit, below which the integral for many classes is as good as exact
_MOSTLY = 0.6  # share of the features' variance in the scores
_MANY_ROWS = 10  # for each attribute
_HARDLY = 0.02  # of the mean variance of attributes that share a law
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

    def posterior(self, records: SpreadRecords) -> FeaturePosterior:
        """Every coordinate's truth given its report."""
        return FeaturePosterior.fitted(records.features, records.reports, self.prior)

    def fit(self, records: SpreadRecords, posterior: FeaturePosterior) -> SpreadResult:
        """Fit by the method that was asked for, or that fits best."""
        method = self.method
        if method == "auto" and _few_states(records):
            method = "enumerate"
        if method == "enumerate":
            return _enumerated(self, records)
        run = _Run.of(self, records, posterior)
        if method == "sampling":
            return _sampled(self, records, posterior, run)
        return run.best(method)

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
    records: SpreadRecords
    posterior: FeaturePosterior
    features: Moments
    collapsed: CollapsedLikelihood
    _made: dict[str, tuple[CollapsedLikelihood, PrincipalScores | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: SpreadProblem, records: SpreadRecords, posterior: FeaturePosterior) -> "_Run":
        features = posterior.moments(records.reports)
        metric = unit_metric(posterior, features)
        collapsed = CollapsedLikelihood(features, records.label_likelihood, metric, problem.intercept)
        return cls(problem, records, posterior, features, collapsed)

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
        rows, width = self.features.mean.shape
        scores = self._likelihood("spectral")[1]
        enough = scores is not None and scores.captured >= _MOSTLY and rows >= _MANY_ROWS * width
        return ("spectral",) if enough else ("spectral", "collapsed")

    def choice(self, methods: tuple[str, ...]) -> Choice:
        rows = len(self.records.label_codes)
        folds = min(self.problem.folds, rows)
        candidates = {name: self._likelihood(name)[0] for name in methods}
        return choose(candidates, fold_weights(rows, folds, self.problem.rng), RIDGES)

    def _likelihood(self, method: str) -> tuple[CollapsedLikelihood, PrincipalScores | None]:
        if method not in self._made:
            self._made[method] = (self.collapsed, None) if method == "collapsed" else self._spectral()
        return self._made[method]

    def _spectral(self) -> tuple[CollapsedLikelihood, PrincipalScores]:
        scores = PrincipalScores.fitted(self.features.mean, self.posterior.reliability())
        moments = scores.scores(self.features.mean)
        size = float(moments.mean.var(axis=0).mean() + moments.variance.mean())
        metric = np.full(moments.mean.shape[1], size)
        return CollapsedLikelihood(moments, self.records.label_likelihood, metric, self.problem.intercept), scores

    def _unpenalised(self) -> SpreadResult | None:
        """The fit without ridge, where reports determine it well: its intervals mean what they say."""
        rows, width = self.features.mean.shape
        parameters = max(len(self.records.label.classes) - 1, 1) * (width + self.problem.intercept)
        if 10 * parameters > rows or parameters > MOST_PARAMETERS:
            return None
        result = self._fitted("collapsed", 0.0)
        counts = np.bincount(self.records.label_codes, minlength=len(self.records.label.matrix)).astype(float)
        law = self.records.label.matrix @ mixture_proportions(self.records.label.matrix, counts)
        nothing = float(counts @ np.log(np.maximum(law, 1e-300)))
        ratio = 2 * ((result.log_likelihood or 0.0) - nothing)
        # Of a likelihood ratio, as much as there are parameters is chance (van Houwelingen & le Cessie 1990).
        usable = result.converged and result.covariance_note != _UNDETERMINED
        return result if usable and ratio > 0 and (ratio - parameters) / ratio >= _WELL_DETERMINED else None

    def _fitted(self, method: str, ridge: float, trial: Trial | None = None) -> SpreadResult:
        likelihood, scores = self._likelihood(method)
        start = None if trial is None else trial.theta[None]
        # Standard errors want the maximum itself; where there are none, a hundredth of one is near enough.
        precise = likelihood.rows * (likelihood.features.mean.shape[1] + 1) <= MOST_PARAMETERS
        tolerance = _PRECISE if precise else _NEAR
        found = likelihood.fit(ridge, start=start, tolerance=tolerance, max_iterations=self.problem.max_iterations)
        theta = found.theta[0]
        value = float(likelihood.log_likelihood(found.theta).sum())
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
            value,
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


def unit_metric(posterior: FeaturePosterior, features: Moments) -> Floats:
    """The variance of every true attribute: ridges are then free of units.

    One that hardly varies counts for a little more than that: pixels of the border should not become free.
    """
    reliability = posterior.reliability()
    variance = reliability.variance
    if not np.all(np.isfinite(variance)):  # flat priors have none
        variance = np.where(np.isfinite(variance), variance, features.mean.var(axis=0))
    metric = np.empty(posterior.width)
    for _, columns in posterior.groups:
        mean = float(variance[columns].mean())
        metric[columns] = variance[columns] + _HARDLY * mean if mean > 0 else 1.0
    return metric


def _covariance(likelihood: CollapsedLikelihood, theta: Floats, ridge: float) -> tuple[Floats | None, str]:
    """The covariance of the free parameters at the origin, or why there is none."""
    rows, width = max(likelihood.rows - 1, 1), theta.shape[1]
    if rows * width > MOST_PARAMETERS:
        return None, f"{rows * width} parameters: more than {MOST_PARAMETERS} are not told apart by reports"
    if likelihood.rows > 1 and float(likelihood.logits(theta)[1].mean()) > _HARDLY_NOISE:
        return (
            None,
            "the integral for more than two classes is an approximation, good for decisions and not for lengths",
        )
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


def _few_states(records: SpreadRecords) -> bool:
    laws = records.features.laws
    finite = [law for law in laws if isinstance(law, FiniteCoordinate)]
    if len(finite) < len(laws) or len(laws) > _FEW_COORDINATES:
        return False
    return math.prod(len(law.values) for law in finite) <= _FEW_VECTORS


def _enumerated(problem: SpreadProblem, records: SpreadRecords) -> SpreadResult:
    """The exact likelihood of few discrete coordinates."""
    from askance.solvers.enumerated_spread import fit_enumerated

    laws = [law for law in records.features.laws if isinstance(law, FiniteCoordinate)]
    if len(laws) < len(records.features.laws):
        raise InvalidInput("method='enumerate' for numbers with added noise", "attributes of finitely many states")
    values = [law.values.astype(float) for law in laws]
    rows = len(records.label_codes)
    prior = problem.prior
    if isinstance(prior, str) and prior == "flat":
        prior = [np.full(len(one), 1 / len(one)) for one in values]
    elif isinstance(prior, str) and prior != "learned":
        raise InvalidInput(f"prior={prior!r} with method='enumerate'", "'learned', 'flat' or marginals")
    elif not isinstance(prior, str):
        prior = [np.asarray(one, dtype=float) for one in prior]
    ridge = problem.ridge or 0.0
    penalty = np.concatenate([[0.0] * problem.intercept, [rows * ridge * float(one.var()) for one in values]])
    found = fit_enumerated(
        values,
        [law.matrix for law in laws],
        records.reports.astype(np.int64),
        records.label.matrix,
        records.label_codes.astype(np.int64),
        prior=prior,
        penalty=penalty,
        intercept=problem.intercept,
        max_iterations=problem.max_iterations,
    )
    free = found.theta if problem.intercept else np.column_stack([np.zeros(len(found.theta)), found.theta])
    theta = free if len(free) == 1 else symmetric(free)
    covariance, why = found.sandwich_covariance, _UNDETERMINED
    if ridge:
        covariance, why = None, "the ridge is strong enough to bias the estimates"
    notes = () if found.converged else ("The solver stopped before it converged: raise max_iter, or add ridge.",)
    return SpreadResult(
        theta,
        "enumerate",
        ridge,
        found.iterations,
        found.converged,
        found.log_likelihood,
        covariance,
        "" if covariance is not None else why,
        notes=notes,
    )


def _sampled(problem: SpreadProblem, records: SpreadRecords, posterior: FeaturePosterior, run: _Run) -> SpreadResult:
    """The paper's importance sampling, at the ridge that was asked for or that the collapsed likelihood chooses."""
    from askance.solvers.sampling_spread import sampling_em
    from askance.solvers.spread_draws import posterior_draw

    ridge, choice = problem.chosen_ridge(run)
    rows = len(records.label_codes)
    likelihood = run.collapsed
    penalty = rows * ridge * np.concatenate([[likelihood.intercept_metric] * problem.intercept, likelihood.metric])
    found = sampling_em(
        posterior_draw(posterior, records.reports),
        records.label_likelihood,
        rng=np.random.default_rng(problem.rng),
        penalty=penalty,
        samples=problem.samples,
        rounds=problem.rounds,
        intercept=problem.intercept,
        centre=likelihood.centre if problem.intercept else None,
    )
    free = found.theta if problem.intercept else np.column_stack([np.zeros(len(found.theta)), found.theta])
    free = np.column_stack([free[:, 0] - free[:, 1:] @ likelihood.centre, free[:, 1:]])
    theta = free if len(free) == 1 else symmetric(free)
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
