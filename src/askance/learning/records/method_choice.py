"""Which method and which ridge: all candidates are seen before one is taken.

Feature reports say whether attributes depend on each other, before any label is looked at; cross-validation on the
label reports compares what they leave open.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.learning.records.covariance import MOST_PARAMETERS
from askance.learning.records.dependence import DEPENDENT, left_over
from askance.learning.records.latent_classes import LearnedClasses
from askance.learning.records.latent_data import LatentData, to_arrays
from askance.learning.records.latent_reports import design_widths
from askance.learning.records.logit_objective import LogitObjective
from askance.learning.records.mixture_likelihood import MixtureLikelihood
from askance.learning.records.record_data import RecordData
from askance.learning.records.spectral_fit import PrincipalScores
from askance.learning.records.spread_result import (
    UNDETERMINED,
    SpreadProblem,
    SpreadResult,
    averaged,
    biased,
    free_covariance,
)
from askance.learning.records.validation import RIDGES, Choice, Trial, choose
from askance.solvers.simplex import mixture_proportions

_WELL_DETERMINED = 0.95  # share of the likelihood ratio that is not chance, above which no ridge is needed
_PRECISE, _NEAR = 1e-6, 1e-4  # of the last fit's gradient: 1e-4 leaves 0.01 standard errors at 10,000 reports
# When principal scores alone are tried: they hold this share of the features' variance, and there are so many rows for
# each attribute. Rules were tried out on pictures of digits, with other seeds than benchmarks/spread.py measures.
_MOSTLY = 0.6
_MANY_ROWS = 10
# Akaike's criterion by which latent classes must be better than independent attributes: likelihood ratios of mixtures
# have longer tails than chi-square, so that zero would be passed by chance now and then. And what is beyond chance.
_WORTH_IT, _CLEARLY = 6.0, 20.0
# Standard errors of a variance of reports above that of their noise, below which the truth may as well be constant.
_TOLD = 3.0
_CONSTANT = 1e-9  # variance of a state, in units of its range: all learned shares but one are zero
_LEARNED = ("learned", "gaussian")  # priors whose variances come from the reports
ROWS_FOR_EACH = 10  # parameter, below which a ridge is asked for: the usual rule of ten events for each


@dataclass(frozen=True, eq=False)
class FitUnderWay:
    """One fit under way."""

    problem: SpreadProblem
    data: RecordData

    # -- what can be fitted --------------------------------------------------------------------------

    @property
    def learns(self) -> bool:
        """Whether the prior is to be learned, so that it may be one of latent classes."""
        return isinstance(self.problem.prior, str) and self.problem.prior == "learned"

    @property
    def hides(self) -> bool:
        return any(law.hides for law, _ in self.data.features.groups)

    @cached_property
    def learned(self) -> LearnedClasses | None:
        """How attributes depend on each other, where records are enough to tell."""
        latent = self.data.latent if self.learns and self.hides else None
        if latent is None or not (latent.affordable or self.problem.classes is not None):
            return None
        return latent.learned(self.problem.classes)

    @property
    def factor(self) -> str:
        """The likelihood attribute by attribute, or by latent classes where attributes depend on each other."""
        learned = self.learned
        dependent = learned is not None and (learned.dependence > _WORTH_IT or self.problem.classes is not None)
        return "mixture" if dependent else "collapsed"

    @cached_property
    def collapsed(self) -> LogitObjective:
        if any(self.data.nominal):
            latent = self._latent("columns of levels")
            if not self._has_variances:
                raise InvalidInput("columns of levels and a flat prior of numbers with noise", "prior='learned'")
            return latent.likelihood(latent.factorised(self.data.posterior), self.problem.intercept)
        return self.data.collapsed(self.problem.intercept)

    @cached_property
    def mixture(self) -> LogitObjective:
        if self.learned is None:
            self._latent("method='mixture'")
            raise InvalidInput(
                f"method='mixture' with prior={self.problem.prior!r} for {self.data.rows:,} records of "
                f"{self.data.features.width} attributes",
                "prior='learned', attributes that are hidden, and five records for each parameter of the prior",
                "Use method='auto', or say how many latent classes there are: latent_classes=2.",
            )
        return self._latent("").likelihood(self.learned.chosen, self.problem.intercept)

    def _latent(self, what: str) -> LatentData:
        latent = self.data.latent
        if latent is None:
            raise InvalidInput(
                f"{what} on an engine, for records that are too many kinds to count",
                "records in memory",
                "Use engine='local', which reads the records into memory.",
            )
        return latent

    @cached_property
    def spectral(self) -> tuple[LogitObjective, PrincipalScores]:
        if any(self.data.nominal):
            raise InvalidInput("method='spectral' and columns of levels", "columns of numbers", "Use method='auto'.")
        if not self._has_variances:
            raise InvalidInput(
                "method='spectral' and a flat prior of numbers with noise",
                "prior='learned', or a normal one: directions are told from noise by how much the truth varies",
            )
        return self.data.spectral(self.problem.intercept)

    def objective(self, method: str) -> LogitObjective:
        if method == "spectral":
            return self.spectral[0]
        return self.mixture if method == "mixture" else self.collapsed

    # -- what is left out ------------------------------------------------------------------------------

    def overlooked(self, method: str) -> str:
        """What the reports show of the attributes, and a method does not model; nothing where all is well."""
        if not self.hides or method == "spectral":
            return ""
        if method == "mixture":
            learned, latent = self.learned, self.data.latent
            if learned is None or latent is None or left_over(learned.chosen, latent.reports) < DEPENDENT:
                return ""
            return f"{learned.chosen.classes} latent classes do not explain how the attributes depend on each other"
        dependent = self.data.dependence > DEPENDENT
        if self.problem.method == "auto" and self.learned is not None:
            dependent = self.factor == "mixture"
        elif self.problem.method == "auto" and self.learns and not dependent:
            some = self.data.sampled
            dependent = some is not None and some.affordable and some.learned(None).dependence > _CLEARLY
        return "the attributes depend on each other, and this method takes them for independent" if dependent else ""

    # -- the choice ------------------------------------------------------------------------------------

    @cached_property
    def untold(self) -> tuple[int, ...]:
        """Columns whose reports vary no more than their noise does: numbers as far as can be told, states exactly."""
        if not isinstance(self.problem.prior, str) or self.problem.prior not in _LEARNED:
            return ()
        variance = self.data.posterior.reliability().variance
        hidden = [(j, law) for j, law in enumerate(self.data.features.laws) if not law.is_finite and law.hides]
        errors = {j: law.variance * np.sqrt((law.kurtosis - 1) / self.data.rows) for j, law in hidden}
        numbers = [j for j, error in errors.items() if variance[j] < _TOLD * error]
        finite = [(j, law) for j, law in enumerate(self.data.features.laws) if law.is_finite and law.hides]
        states = [j for j, law in finite if variance[j] <= _CONSTANT * np.ptp(law.values.astype(float)) ** 2]
        return tuple(sorted(numbers + states))

    def best(self, method: str) -> SpreadResult:
        """Fit by the method that was asked for, or by the best."""
        result = self._best(method)
        return replace(result, covariance=None, untold=self.untold) if self.untold else result

    def _best(self, method: str) -> SpreadResult:
        asked = self.problem.ridge
        name = self.factor if method == "auto" else method
        settled = method != "auto" or not self.overlooked(name)
        identified = name != "spectral" and not self.untold
        plain = self._unpenalised(name) if asked is None and identified else None
        if plain is not None and settled:
            return plain
        if asked is not None and (settled or not self._has_scores):
            return self._fitted(name, asked)
        candidates = self._candidates(name) if method == "auto" else (method,)
        choice = self.choice(candidates, RIDGES if asked is None else (asked,))
        if plain is not None and [trial.method for trial in choice.taken] == [name]:
            return replace(plain, trials=choice.table)
        return averaged([self._fitted(trial.method, trial.ridge, trial) for trial in choice.taken], choice.table)

    def _candidates(self, factor: str) -> tuple[str, ...]:
        """Both methods; only the spectral one where rows are many and the features are mostly a few scores.

        Their covariance is then known well, and ignoring it costs more than the rest of the features is worth.
        """
        if not self._has_scores:
            return (factor,)
        enough = self.spectral[1].captured >= _MOSTLY and self.data.rows >= _MANY_ROWS * self.data.features.width
        return ("spectral",) if enough and factor == "collapsed" else ("spectral", factor)

    def choice(self, methods: tuple[str, ...], ridges: tuple[float, ...] = RIDGES) -> Choice:
        """Cross-validation, record by record."""
        latent = self.data.latent
        weights = self.data.fold_weights(min(self.problem.folds, self.data.rows), self.problem.rng)
        candidates = {}
        for name in methods:
            candidates[name] = self.objective(name)
            if isinstance(candidates[name], MixtureLikelihood) and latent is not None:
                prior = latent.factorised(self.data.posterior) if name == "collapsed" else self.learned.chosen  # type: ignore[union-attr]
                candidates[name] = latent.row_likelihood(prior, self.problem.intercept)
        return choose(candidates, weights, ridges)

    def chosen_ridge(self) -> tuple[float, Choice | None]:
        """The ridge that was asked for, or the collapsed likelihood's choice."""
        if self.problem.ridge is not None:
            return self.problem.ridge, None
        choice = self.choice(("collapsed",))
        return choice.taken[0].ridge, choice

    @property
    def _has_variances(self) -> bool:
        """Whether the prior says how much every attribute varies; a flat one of numbers does not."""
        return bool(np.isfinite(self.data.posterior.reliability().variance).all())

    @property
    def _has_scores(self) -> bool:
        """Whether principal scores mean something."""
        return self._has_variances and not any(self.data.nominal)

    def _unpenalised(self, method: str) -> SpreadResult | None:
        """The fit without ridge, where reports determine it well: its intervals mean what they say."""
        matrix, counts = self.data.label.matrix, self.data.label_counts
        wide = sum(design_widths(self.data.features, self.data.nominal))
        parameters = max(matrix.shape[1] - 1, 1) * (wide + self.problem.intercept)
        if ROWS_FOR_EACH * parameters > self.data.rows or parameters > MOST_PARAMETERS:
            return None
        result = self._fitted(method, 0.0)
        law = matrix @ mixture_proportions(matrix, counts)
        nothing = float(counts @ np.log(np.maximum(law, 1e-300)))
        ratio = 2 * ((result.log_likelihood or 0.0) - nothing)
        # Of a likelihood ratio, as much as there are parameters is chance (van Houwelingen & le Cessie 1990).
        usable = result.converged and result.covariance_note != UNDETERMINED
        return result if usable and ratio > 0 and (ratio - parameters) / ratio >= _WELL_DETERMINED else None

    def _fitted(self, method: str, ridge: float, trial: Trial | None = None) -> SpreadResult:
        likelihood = self.objective(method)
        start = None if trial is None else trial.theta[None]
        # Standard errors want the maximum itself; where there are none, a hundredth of one is near enough.
        precise = likelihood.rows * (likelihood.width + 1) <= MOST_PARAMETERS
        tolerance = _PRECISE if precise else _NEAR
        most = self.problem.max_iterations
        if start is None and likelihood.rows > 1 and method == "mixture" and not any(self.data.nominal):
            start = self._from_collapsed(likelihood, ridge)
        found = likelihood.fit(ridge, start=start, tolerance=tolerance, max_iterations=most)
        if likelihood.rows > 1 and likelihood.joint() is not likelihood:
            likelihood = likelihood.joint()
            found = likelihood.fit(ridge, start=found.theta, tolerance=tolerance, max_iterations=most)
        theta = found.theta[0]
        covariance, why = None, "spectral: directions come from the same reports, and what they leave out biases"
        overlooked = self.overlooked(method)
        if overlooked:
            why = overlooked
        elif method != "spectral":
            covariance, why = free_covariance(likelihood, theta, ridge)
        at_origin = np.column_stack([theta[:, 0] - theta[:, 1:] @ likelihood.centre, theta[:, 1:]])
        if method == "spectral":
            at_origin = self.spectral[1].coefficients(at_origin)
        notes: tuple[str, ...] = ()
        if overlooked:
            notes = (biased(overlooked),)
        if not found.converged:
            notes += (f"The solver stopped after {found.iterations} iterations before it converged: raise max_iter.",)
        classes = to_arrays(self.learned.chosen) if method == "mixture" and self.learned is not None else None
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
            joint_prior=classes,
        )

    def _from_collapsed(self, likelihood: LogitObjective, ridge: float) -> Floats:
        """Where to start from: attributes taken for independent, and logits too; about another centre."""
        near = self.collapsed.fit(ridge, tolerance=_NEAR, max_iterations=self.problem.max_iterations).theta
        near[..., 0] += near[..., 1:] @ (likelihood.centre - self.collapsed.centre)
        return near
