"""What the survey models have in common: parameters with intervals by Wald or by profile likelihood."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.errors import NotAvailable
from askance.learning.face.estimator import Estimator
from askance.learning.face.interval_table import FROZEN, few_clusters, frozen_clusters, sample_facts, with_intervals
from askance.learning.face.likelihood_results import NOT_INDEPENDENT
from askance.learning.face.scoring import Of, asks_for_truth
from askance.learning.surveys.covariates import covariate_rows
from askance.learning.surveys.survey_fit import SurveyFit, wants_profiles
from askance.learning.surveys.survey_sample import SurveySample
from askance.reports.summary import Summary, standard_errors, summarise
from askance.solvers.profile_likelihood import Profile


class SurveyEstimator(Estimator):
    """An estimator whose parameters are a vector with names, a covariance, and profiles where they are needed."""

    parameters_: Floats
    parameter_names_: tuple[str, ...]
    covariance_: Floats
    feature_names_: tuple[str, ...]  # of those that predict
    profiles_: dict[str, Any]
    degrees_: tuple[float, ...]
    design_effects_: tuple[float, ...]
    sample_: str
    notes_: tuple[str, ...]
    log_likelihood_: float | None
    weighted_: bool | None = None

    @property
    def standard_errors_(self) -> Floats:
        """Standard errors of ``parameters_``."""
        check_is_fitted(self, "parameters_")
        return standard_errors(self.covariance_)

    def score(self, X: Any = None, y: Any = None, *, of: Of = "reports") -> float:
        """Refuse: these models describe people, and are not judged by guesses of single answers."""
        asks_for_truth(of)
        raise NotAvailable(
            f"a score of {type(self).__name__}, which predicts nobody's answer",
            "summary() for its estimates and errors",
        )

    def _keep_parameters(
        self,
        fit: SurveyFit,
        names: Sequence[str],
        back: Floats,
        profiled: Sequence[int],
        intervals: Any,
        shift: Floats | None = None,
        never_wald: Sequence[int] = (),
        sample: SurveySample | None = None,
        weights: Floats | None = None,
    ) -> list[str]:
        """Keep a fit in the units of the covariates: ``back @ theta + shift``; return what to say about its errors.

        ``profiled`` are the parameters whose intervals matter; those of ``never_wald`` have profiles unless Wald
        intervals are asked for.
        """
        moved = np.zeros(len(back)) if shift is None else shift
        self.parameters_ = back @ fit.theta + moved
        self.parameter_names_ = tuple(names)
        self.covariance_ = back @ fit.covariance @ back.T
        said = self._keep_sample(sample, fit.degrees(back), np.diag(back @ fit.bread @ back.T), weights, names)
        self.log_likelihood_ = float(fit.likelihood(fit.theta).value)
        self.converged_ = bool(fit.solution.converged)
        self.n_iter_ = int(fit.solution.iterations)
        self.penalised_, self.weighted_ = fit.penalised, weights is not None
        self.profiles_ = {}
        others = [place for place in profiled if place not in never_wald]
        errors = np.sqrt(np.maximum(np.diag(fit.covariance), 0.0))[others]
        places = list(profiled) if wants_profiles(intervals, fit, errors) else list(never_wald)
        if places and intervals != "wald":
            found = fit.profiles([back[place] for place in places], [-moved[place] for place in places])
            self.profiles_ = {
                names[place]: kept_profile(curve, moved[place]) for place, curve in zip(places, found, strict=True)
            }
        return said

    def _keep_sample(
        self,
        sample: SurveySample | None,
        degrees: Sequence[float],
        information: Floats,
        weights: Floats | None,
        names: Sequence[str],
    ) -> list[str]:
        """Keep what clusters and strata do to ``covariance_``, beside the variances that the information alone gives.

        Estimates that follow from the clusters' own means lose their errors; what there is to say about it is returned.
        """
        self.degrees_, self.design_effects_, self.sample_ = tuple(degrees), (), ""
        if sample is None:
            return []
        # As if the same number of people had been drawn one by one, all with the same weight.
        simple = information * (1.0 if weights is None else float(weights.mean()))
        with np.errstate(divide="ignore", invalid="ignore"):
            effects = np.diag(self.covariance_) / simple
        self.sample_, self.design_effects_ = sample.describe(), tuple(effects.tolist())
        frozen = np.flatnonzero(effects < FROZEN)
        self.covariance_[frozen], self.covariance_[:, frozen] = np.nan, np.nan
        return frozen_clusters(names, self.design_effects_) or few_clusters(names, self.degrees_)

    def fill_in(self) -> None:
        """Give a model that an earlier version saved what that version did not keep."""
        super().fill_in()
        if not hasattr(self, "sample_"):
            self.sample_, self.design_effects_ = "", ()
        if not hasattr(self, "degrees_"):
            self.degrees_ = ()

    def _rows(self, X: Any) -> Floats:
        """Covariates as fit took them."""
        return covariate_rows(X, self.feature_names_)

    @property
    def n_parameters_(self) -> int:
        """How many numbers were estimated."""
        return len(self.parameters_)

    def _why_no_wald(self) -> str:
        """Why errors of parameters say nothing about functions of them; empty where they do."""
        return "the log-F penalty moves it from the maximum" if getattr(self, "penalised_", False) else ""

    def _why_no_maximum(self) -> str:
        """Why the log-likelihood is not that of all reports at its maximum; empty where it is."""
        if getattr(self, "method_", "likelihood") != "likelihood":
            return "only method='likelihood' maximises one"
        if self.weighted_ is None:
            return "it was saved by an earlier version, which did not keep whether people have weights"
        if self.weighted_ or self.sample_:
            return NOT_INDEPENDENT
        return self._why_no_wald() or ("" if self.converged_ else "the solver did not reach its maximum")

    def _sample_facts(self, rows: Sequence[int]) -> tuple[tuple[str, str], ...]:
        """What a table says about the sample, of some parameters."""
        names = [self.parameter_names_[row] for row in rows]
        degrees = [self.degrees_[row] for row in rows] if self.degrees_ else []
        effects = [self.design_effects_[row] for row in rows] if self.design_effects_ else []
        return tuple(sample_facts(self.sample_, names, degrees, effects))

    def _parameter_table(
        self, title: str, level: float, facts: tuple[tuple[str, str], ...], rows: Sequence[int]
    ) -> Summary:
        """Return some parameters as a table."""
        check_is_fitted(self, "parameters_")
        places = list(rows)
        names = tuple(self.parameter_names_[place] for place in places)
        covariance = self.covariance_[np.ix_(places, places)]
        wald = summarise(title, names, self.parameters_[places], covariance, level)
        kinds = ["profile" if name in self.profiles_ else "wald" for name in names]
        curves = [opened_profile(self.profiles_[name]) if name in self.profiles_ else None for name in names]
        degrees = [self.degrees_[place] for place in places] if self.degrees_ else ()
        values = with_intervals(wald, kinds, curves, degrees, self.penalised_).values
        how = "profile likelihood" if self.profiles_ else "estimate and standard error"
        if 0 < len(self.profiles_) < len(names):
            how = f"estimate and standard error; of {', '.join(self.profiles_)} by profile likelihood"
        all_facts = (*facts, *self._sample_facts(places), ("intervals by", how))
        if self.log_likelihood_ is not None and np.isfinite(self.log_likelihood_):
            all_facts = (*all_facts, ("log-likelihood", f"{self.log_likelihood_:.4f}"))
        return Summary(title, names, values, level, all_facts, self.notes_, self.privacy_statement_)


def kept_profile(curve: Profile, shift: float = 0.0) -> dict[str, Any]:
    """Return a profile as a fitted model keeps it, all values moved by a shift."""
    return {
        "estimate": curve.estimate + shift,
        "values": curve.values + shift,
        "roots": curve.roots,
        "null_root": curve.null_root,
        "limits": curve.limits,
    }


def opened_profile(kept: dict[str, Any]) -> Profile:
    """Return the profile that a fitted model kept."""
    return Profile(kept["estimate"], kept["values"], kept["roots"], kept["null_root"], tuple(kept["limits"]))
