"""The law of reports by covariates, and what it tells about coefficients and unknown numbers: in the mean, exactly."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from askance.arrays import Floats
from askance.planning.quantities.grouped_design import GroupedDesign
from askance.planning.quantities.middle_spread import middle_spread

_STEPS = 50  # of Fisher scoring, which needs five to ten
_SETTLED = 1e-9  # of a mean log-likelihood: nothing, beside the losses of 1e-4 that are planned for
_HALVINGS = 30  # of a step that does not lead higher: to a billionth
_NEAR = 1e-6  # an unknown number of 0 or 1 begins the search so far inside


@dataclass(frozen=True, eq=False)
class ReportLaw:
    """What people with given covariates report under a design.

    Parameters are the coefficients, and then the logits of the design's unknown numbers.

    Parameters
    ----------
    design : channel, GroupedDesign, or None
        None for people who are asked directly.
    rows : array, people x coefficients
    unknowns : tuple of str
    """

    design: Any
    rows: Floats
    unknowns: tuple[str, ...] = ()

    @classmethod
    def of(cls, design: Any, rows: Floats) -> "ReportLaw":
        return cls(design, rows, tuple(design.psi) if isinstance(design, GroupedDesign) else ())

    def truth(self, theta: Floats) -> Floats:
        """All parameters, at the values that the design assumes for what is unknown."""
        assumed = [self.design.psi[name] for name in self.unknowns]
        return np.concatenate([theta, logit(np.clip(assumed, _NEAR, 1 - _NEAR))]) if assumed else theta

    def _parts(self, parameters: Floats) -> tuple[Floats, Floats, list[Floats]]:
        """The probabilities of the answers by person, and of reports by answer; how these move with the unknowns."""
        width = self.rows.shape[1]
        shares = expit(parameters[width:])
        design, matrix, moved = self.design, np.eye(2), list[Floats]()
        if self.unknowns:
            design = replace(design, psi=dict(zip(self.unknowns, shares.tolist(), strict=True)))
            moved = [one * share * (1 - share) for one, share in zip(design.derivatives, shares.tolist(), strict=True)]
        if design is not None:
            matrix = design.matrix
        carriers = expit(self.rows @ parameters[:width])
        return np.column_stack([1 - carriers, carriers]), matrix, moved

    def law(self, parameters: Floats) -> Floats:
        """The probability of each report of each person."""
        truths, matrix, _ = self._parts(parameters)
        return np.maximum(truths @ matrix.T, np.finfo(float).tiny)

    def scores(self, parameters: Floats) -> tuple[Floats, Floats]:
        """The same, and its derivatives over the root of the probability, people and reports x parameters.

        The products of these add up to the information.
        """
        truths, matrix, moved = self._parts(parameters)
        law = np.maximum(truths @ matrix.T, np.finfo(float).tiny)
        root = np.sqrt(law)
        slope = truths[:, :1] * truths[:, 1:] * (matrix[:, 1] - matrix[:, 0]) / root
        parts = [slope[:, :, None] * self.rows[:, None, :], *(((truths @ one.T) / root)[:, :, None] for one in moved)]
        return law, np.concatenate(parts, axis=2).reshape(law.size, -1)

    def information(self, parameters: Floats) -> Floats:
        """What one respondent tells, in the mean."""
        flat = self.scores(parameters)[1]
        return np.asarray(flat.T @ flat / len(self.rows))

    def loss_without(self, theta: Floats, place: int) -> float:
        """Twice what the mean log-likelihood of a respondent loses if a coefficient is zero and the others follow."""
        truth = self.truth(theta)
        law = self.law(truth)
        start = truth.copy()
        start[place] = 0.0
        _, value = self.highest(law, start, [number for number in range(len(truth)) if number != place])
        return 2 * max(self._mean(law, truth) - value, 0.0)

    def highest(self, law: Floats, start: Floats, free: list[int]) -> tuple[Floats, float]:
        """Maximise the mean log-likelihood of reports that came as ``law`` says over some of the parameters."""
        here, value = start, self._mean(law, start)
        for _ in range(_STEPS):
            found, flat = self.scores(here)
            gradient = (flat.T @ (law / np.sqrt(found)).ravel())[free]
            step = np.linalg.lstsq((flat.T @ flat)[np.ix_(free, free)], gradient, rcond=None)[0]
            for _ in range(_HALVINGS):
                there = here.copy()
                there[free] += step
                higher = self._mean(law, there)
                if higher >= value:
                    break
                step = step / 2
            gained = higher - value
            if gained <= 0:
                break
            here, value = there, higher
            if gained < _SETTLED:
                break
        return here, value

    def widening(self, theta: Floats, n: int, studies: int, rng: np.random.Generator) -> Floats:
        """How much wider than its formula the law of maximum likelihood estimates is, at a number of respondents.

        Of each drawn study the estimate and the formula's share of it are taken: what both have in common, which is
        most of it, does not blur their ratio.
        """
        truth = self.truth(theta)
        inverse = np.linalg.inv(self.information(truth))
        found, formula = np.empty((2, studies, len(truth)))
        for number in range(studies):
            drawn = replace(self, rows=self.rows[rng.integers(len(self.rows), size=n)])
            law = drawn.law(truth)
            reports = (rng.random((n, 1)) * law.sum(axis=1, keepdims=True) > law.cumsum(axis=1)).sum(axis=1)
            seen = np.zeros_like(law)
            seen[np.arange(n), np.minimum(reports, law.shape[1] - 1)] = 1.0
            slopes = drawn.scores(truth)[1]
            formula[number] = inverse @ (slopes.T @ (seen / np.sqrt(law)).ravel()) / n
            found[number] = drawn.highest(seen, truth, list(range(len(truth))))[0] - truth
        return np.asarray(middle_spread(found) / middle_spread(formula))

    def _mean(self, law: Floats, parameters: Floats) -> float:
        return float((law * np.log(self.law(parameters))).sum() / len(self.rows))
