"""From reports to a linear classifier: which method, which ridge, which standard errors."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.learning.records.collapsed_likelihood import CollapsedLikelihood
from askance.learning.records.covariance import MOST_PARAMETERS, sandwich
from askance.learning.records.joint_likelihood import JointLikelihood
from askance.learning.records.posterior import FeaturePosterior, Moments
from askance.learning.records.reading import SpreadRecords
from askance.learning.records.spectral_fit import PrincipalScores
from askance.learning.records.validation import RIDGES, Choice, Table, Trial, choose, fold_weights
from askance.solvers.simplex import mixture_proportions
from askance.solvers.softmax import symmetric

METHODS = ("auto", "collapsed", "spectral", "sampling", "enumerate")
_FEW_VECTORS = 256  # possible records: with so few attributes the logit is far from normal, and all can be enumerated
_WELL_DETERMINED = 0.95  # share of the likelihood ratio that is not chance, above which no ridge is needed
_UNDETERMINED = "the reports do not determine all parameters"
_PRECISE, _NEAR = 1e-6, 1e-4  # tolerances of the last fit
_MOSTLY = 0.6  # share of the features' variance in the scores
_MANY_ROWS = 10  # for each attribute
_ROWS_FOR_EACH = 10  # parameter, below which a ridge is asked for
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
            return _enumerated(self, records, posterior)
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
        if not self._has_variances:
            return ("collapsed",)
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

    @property
    def _has_variances(self) -> bool:
        """Whether the prior says how much every attribute varies; a flat one of numbers does not."""
        return bool(np.isfinite(self.posterior.reliability().variance).all())

    def _spectral(self) -> tuple[CollapsedLikelihood, PrincipalScores]:
        if not self._has_variances:
            raise InvalidInput(
                "method='spectral' and a flat prior of numbers with noise",
                "prior='learned', or a normal one: directions are told from noise by how much the truth varies",
            )
        scores = PrincipalScores.fitted(self.features.mean, self.posterior.reliability())
        moments = scores.scores(self.features.mean)
        size = float(moments.mean.var(axis=0).mean() + moments.variance.mean())
        metric = np.full(moments.mean.shape[1], size)
        return CollapsedLikelihood(moments, self.records.label_likelihood, metric, self.problem.intercept), scores

    def _unpenalised(self) -> SpreadResult | None:
        """The fit without ridge, where reports determine it well: its intervals mean what they say."""
        rows, width = self.features.mean.shape
        parameters = max(len(self.records.label.classes) - 1, 1) * (width + self.problem.intercept)
        if _ROWS_FOR_EACH * parameters > rows or parameters > MOST_PARAMETERS:
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
        most = self.problem.max_iterations
        found = likelihood.fit(ridge, start=start, tolerance=tolerance, max_iterations=most)
        if likelihood.rows > 1:
            likelihood = JointLikelihood.of(likelihood)
            found = likelihood.fit(ridge, start=found.theta, tolerance=tolerance, max_iterations=most)
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
    finite = [law for law in laws if law.is_finite]
    return len(finite) == len(laws) and math.prod(len(law.values) for law in finite) <= _FEW_VECTORS


def _enumerated(problem: SpreadProblem, records: SpreadRecords, posterior: FeaturePosterior) -> SpreadResult:
    """The exact likelihood of few discrete coordinates; without ridge where the reports determine it."""
    if not records.features.is_finite:
        raise InvalidInput("method='enumerate' for numbers with added noise", "attributes of finitely many states")
    if not problem.ridge:
        result = _exact(problem, records)
        rows, parameters = len(records.label_codes), result.parameters.size
        determined = result.converged and result.covariance is not None and rows >= _ROWS_FOR_EACH * parameters
        if determined or problem.ridge is not None:
            return result
    run = _Run.of(problem, records, posterior)
    ridge, choice = problem.chosen_ridge(run)
    return replace(_exact(problem, records, ridge, run.collapsed), trials=choice.table if choice else None)


def _exact(
    problem: SpreadProblem, records: SpreadRecords, ridge: float = 0.0, likelihood: CollapsedLikelihood | None = None
) -> SpreadResult:
    """Enumerate, penalised as the collapsed likelihood is."""
    from askance.learning.records.enumerated_likelihood import fit_enumerated

    laws = [law for law in records.features.laws if law.is_finite]
    values = [law.values.astype(float) for law in laws]
    prior = problem.prior
    if isinstance(prior, str) and prior == "flat":
        prior = [np.full(len(one), 1 / len(one)) for one in values]
    elif not isinstance(prior, str):
        prior = [np.asarray(one, dtype=float) for one in prior]
    centre, penalty = np.zeros(len(values)), np.zeros(problem.intercept + len(values))
    if likelihood is not None:
        centre, penalty = likelihood.centre, len(records.label_codes) * ridge * likelihood.penalties
    found = fit_enumerated(
        [one - middle for one, middle in zip(values, centre, strict=True)],
        [law.matrix for law in laws],
        records.reports.astype(np.int64),
        records.label.matrix,
        records.label_codes.astype(np.int64),
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


def _sampled(problem: SpreadProblem, records: SpreadRecords, posterior: FeaturePosterior, run: _Run) -> SpreadResult:
    """The paper's importance sampling, at the ridge that was asked for or that the collapsed likelihood chooses."""
    from askance.learning.records.posterior_draws import posterior_draw
    from askance.learning.records.sampling_fit import sampling_em

    ridge, choice = problem.chosen_ridge(run)
    rows = len(records.label_codes)
    likelihood = run.collapsed
    found = sampling_em(
        posterior_draw(posterior, records.reports),
        records.label_likelihood,
        rng=np.random.default_rng(problem.rng),
        penalty=rows * ridge * likelihood.penalties,
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
