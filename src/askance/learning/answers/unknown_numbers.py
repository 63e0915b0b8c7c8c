"""What a fit found about the unknown numbers of its designs, as a fitted estimator keeps, saves and shows it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import expit, ndtr, ndtri, stdtr, stdtrit

from askance.arrays import Floats
from askance.learning.answers.unknown_result import UnknownFit, UnknownTest
from askance.reports.summary import Summary
from askance.solvers.profile_likelihood import Profile


@dataclass(frozen=True, eq=False)
class ProfiledEstimate:
    """A parameter on the logit scale with its interval: by profile where there is one, else Wald's.

    Parameters
    ----------
    estimate, error : float
    penalised : bool
        Whether a penalty moved it: then it has no standard error.
    profile : Profile, optional
    degrees : float
        Of freedom, in a sample of clusters or with replicate weights.
    """

    estimate: float
    error: float
    penalised: bool = False
    profile: Profile | None = None
    degrees: float = math.inf

    def row(self, level: float) -> list[float]:
        """Return estimate, standard error, z, p and interval."""
        error = math.nan if self.penalised else self.error
        low, high = self.interval(level)
        if self.profile is None:
            z = self.estimate / self.error if self.error > 0 else math.nan
            return [self.estimate, error, z, 2 * self._tail(-abs(z)), low, high]
        z = math.nan if self.penalised else -self.profile.null_root
        return [self.estimate, error, z, self.profile.p_value(self.degrees), low, high]

    def interval(self, level: float) -> tuple[float, float]:
        """Return both ends, which may be infinite."""
        if self.profile is not None:
            return self.profile.interval(level, self.degrees)
        wanted = 0.5 + level / 2
        reach = float(ndtri(wanted) if math.isinf(self.degrees) else stdtrit(self.degrees, wanted)) * self.error
        return self.estimate - reach, self.estimate + reach

    def _tail(self, z: float) -> float:
        return float(ndtr(z) if math.isinf(self.degrees) else stdtr(self.degrees, z))

    def as_probability(self, level: float, test: UnknownTest | None = None) -> list[float]:
        """Return the row of the probability that this is the logit of; its p-value is that of the test."""
        p = float(expit(self.estimate))
        error = math.nan if self.penalised else p * (1 - p) * self.error
        low, high = (float(expit(end)) for end in self.interval(level))
        return [p, error, math.nan, math.nan if test is None else test.p_value, low, high]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values and arrays."""
        profile = None if self.profile is None else self.profile.to_dict()
        return vars(self) | {"profile": profile}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ProfiledEstimate":
        """Read what :meth:`to_dict` wrote."""
        profile = fields["profile"]
        return cls(**{**fields, "profile": None if profile is None else Profile.from_dict(profile)})


@dataclass(frozen=True, eq=False)
class UnknownNumbers:
    """The unknown numbers of a fit.

    Parameters
    ----------
    model : sequence of ProfiledEstimate
        The parameters of the model of the answers, in their order.
    numbers : mapping from name to ProfiledEstimate
        Unknown numbers without covariates, as logits.
    coefficients : mapping from name to ProfiledEstimate
        The parameters of the logits of those with covariates.
    tests : mapping from name to UnknownTest
        Of the hypothesis that people do as they were asked.
    """

    model: Sequence[ProfiledEstimate]
    numbers: Mapping[str, ProfiledEstimate]
    coefficients: Mapping[str, ProfiledEstimate] = field(default_factory=dict)
    tests: Mapping[str, UnknownTest] = field(default_factory=dict)

    @classmethod
    def of(cls, fit: UnknownFit, unknowns: Sequence[str], covariance: Floats) -> "UnknownNumbers":
        """Return what a fit found, with the standard errors of one of its covariances."""
        flat = np.concatenate([fit.theta.ravel(), *fit.gammas])
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        sizes = [fit.theta.size, *(len(gamma) for gamma in fit.gammas)]
        ends = np.cumsum([0, *sizes]).tolist()
        degrees = np.full(len(flat), math.inf) if fit.degrees is None else fit.degrees
        parts = []
        for name, start, stop in zip(["the model", *unknowns], ends[:-1], ends[1:], strict=True):
            ran = name in fit.penalised
            parts.append(
                [
                    ProfiledEstimate(float(flat[i]), float(errors[i]), ran, fit.profiles.get(i), float(degrees[i]))
                    for i in range(start, stop)
                ]
            )
        model, *each = parts
        numbers: dict[str, ProfiledEstimate] = {}
        coefficients: dict[str, ProfiledEstimate] = {}
        place = fit.theta.size
        for name, estimates in zip(unknowns, each, strict=True):
            if len(estimates) == 1:
                numbers[name] = estimates[0]
            else:
                coefficients |= dict(zip(fit.names[place : place + len(estimates)], estimates, strict=True))
            place += len(estimates)
        return cls(model, numbers, coefficients, fit.tests)

    def model_rows(self, level: float) -> Floats:
        """Return the rows of a summary for the parameters of the model."""
        return np.array([estimate.row(level) for estimate in self.model])

    def shares_rows(self, wald: Floats, level: float) -> Floats:
        """Return the rows of a summary for the shares of the classes; of two, by the interval of their logit."""
        if len(self.model) != 1:
            return wald
        (carriers,) = self.model
        rows, second = wald.copy(), carriers.as_probability(level)
        rows[1, 4:6], rows[0, 4:6] = second[4:6], (1 - second[5], 1 - second[4])
        if carriers.penalised:
            rows[:, 1:4] = math.nan
        return rows

    def rows(self, level: float) -> tuple[tuple[str, ...], Floats]:
        """Return names and rows of a summary for the unknown numbers, after those of the model."""
        found = {name: logit.as_probability(level, self.tests.get(name)) for name, logit in self.numbers.items()}
        found |= {name: estimate.row(level) for name, estimate in self.coefficients.items()}
        return tuple(found), np.array(list(found.values()))

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the tests in words."""
        return tuple(
            (f"test of {name} = {test.null:g}", f"likelihood ratio {test.statistic:.2f}, p = {test.p_value:.2g}")
            for name, test in self.tests.items()
        )

    def with_rows(self, summary: Summary, model_rows: Floats) -> Summary:
        """Return a summary of the model with the unknown numbers after its own rows, and their tests."""
        names, rows = self.rows(summary.level)
        return replace(
            summary,
            names=(*summary.names, *names),
            values=np.vstack([model_rows, rows]),
            facts=(*summary.facts, *self.facts()),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values and arrays."""
        return {
            "model": [estimate.to_dict() for estimate in self.model],
            "numbers": {name: estimate.to_dict() for name, estimate in self.numbers.items()},
            "coefficients": {name: estimate.to_dict() for name, estimate in self.coefficients.items()},
            "tests": {name: [test.null, test.statistic, test.degrees] for name, test in self.tests.items()},
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "UnknownNumbers":
        """Read what :meth:`to_dict` wrote."""
        read = ProfiledEstimate.from_dict
        return cls(
            [read(each) for each in fields["model"]],
            {name: read(each) for name, each in fields["numbers"].items()},
            {name: read(each) for name, each in fields["coefficients"].items()},
            {name: UnknownTest(*each) for name, each in fields["tests"].items()},
        )


def values_of(fit: UnknownFit, unknowns: Sequence[str]) -> dict[str, float]:
    """Return the unknown numbers by name; of those with covariates, the value at the mean of these."""
    return {name: float(expit(value)) for name, value in zip(unknowns, fit.at_mean, strict=True)}
