"""A user's model of the truth beside a channel: its likelihood on a grid, and when that grid is good enough."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.report_columns import NumberReports, ReportColumn
from askance.errors import InvalidInput
from askance.learning.models.gradient_search import is_at_rest
from askance.learning.models.joint_states import HiddenStates
from askance.learning.models.number_grid import NumberGrid, checked_supports
from askance.learning.models.spread_likelihood import FitWeighted, SpreadLikelihood, SpreadSolution, alternate, climb

_ROUNDS = 8  # of finer and wider grids: the eighth has nodes at a five-hundredth of the noise
_MASS = 1e-4  # by which the integral of a density may miss one: heavy tails end somewhere

Search = Callable[[SpreadLikelihood, Floats], SpreadSolution]


@dataclass(frozen=True, eq=False)
class SpreadRecipe:
    """The model, and the grids on which hidden numbers are integrated out; none where all truths are states."""

    log_probability: Callable[..., Any]
    gradient: Callable[..., Any] | None = None
    grids: tuple[NumberGrid, ...] = ()

    def on_grids(self, columns: Sequence[ReportColumn], support: Any) -> "SpreadRecipe":
        """Begin with grids that are made for these reports."""
        numbers = [one for one in columns if isinstance(one, NumberReports)]
        pairs = checked_supports(support, len(numbers))
        return replace(self, grids=tuple(NumberGrid.of(*one, pair) for one, pair in zip(numbers, pairs, strict=True)))

    def around(self, columns: Sequence[ReportColumn]) -> "SpreadRecipe":
        """Widen the grids for other reports."""
        numbers = [one.reports for one in columns if isinstance(one, NumberReports)]
        return replace(self, grids=tuple(grid.around(one) for grid, one in zip(self.grids, numbers, strict=True)))

    def likelihood(
        self, columns: Sequence[ReportColumn], person: NDArray[np.int64] | None, at: Floats, each: bool = False
    ) -> SpreadLikelihood:
        """Return the likelihood of reports; with ``each``, equal rows are not taken together."""
        hidden = HiddenStates.of(columns, self.grids)
        given = (hidden.truths(),) if self.grids else ()
        shared = not each and np.asarray(self.log_probability(at, *given)).size == hidden.states
        slopes = self.gradient
        return SpreadLikelihood(
            lambda theta: self.log_probability(theta, *given),
            *hidden.table(person, shared),
            gradient=None if slopes is None else lambda theta: slopes(theta, *given),
            log_weights=hidden.state_log_weights() if self.grids else None,
        )

    def searched(
        self,
        columns: Sequence[ReportColumn],
        person: NDArray[np.int64] | None,
        starts: Sequence[Floats],
        search: Search,
    ) -> tuple["SpreadRecipe", SpreadLikelihood, list[SpreadSolution]]:
        """Search from every start, on finer and wider grids until these move the estimate no more."""
        recipe = self
        for _ in range(_ROUNDS):
            likelihood = recipe.likelihood(columns, person, starts[0])
            if recipe is self:
                likelihood.refuse_other_gradient(starts[0])
            found = [search(likelihood, one) for one in starts]
            best = highest(found)
            if best.summit.value == -np.inf:
                raise InvalidInput(
                    f"reports that cannot be under the law at theta = {best.summit.theta}, where the search ended",
                    "a start, and a model, under which every report can be",
                )
            # Also where a search gave up before the top: on a grid that is too coarse there may be none.
            better = recipe.improved(columns, person, likelihood, best)
            if better is recipe:
                if recipe.grids and best.summit.converged:
                    _refuse_other_mass(likelihood.mass(best.summit.theta), recipe.grids)
                return recipe, likelihood, found
            recipe, starts = better, [one.summit.theta for one in found]
        raise InvalidInput(
            f"a density that {_ROUNDS} grids, each finer or wider than the last, do not integrate to the same estimate",
            "a density without jumps, that is not much narrower than the noise",
            "Give support=(low, high) where the density ends. Where the estimate runs into a law of no width, the "
            "reports scatter no more than the noise alone.",
        )

    def improved(
        self,
        columns: Sequence[ReportColumn],
        person: NDArray[np.int64] | None,
        likelihood: SpreadLikelihood,
        best: SpreadSolution,
    ) -> "SpreadRecipe":
        """Return itself, or with those grids finer or wider that are not good enough where the search ended."""
        theta, better = best.summit.theta, list(self.grids)
        if not self.grids:
            return self
        mass, slope = likelihood.mass(theta), likelihood.value_and_gradient(theta)[1]
        for j, grid in enumerate(self.grids):
            for other in (grid.finer(), grid.wider()) if grid.is_open else (grid.finer(),):
                changed = replace(self, grids=(*self.grids[:j], other, *self.grids[j + 1 :]))
                there = changed.likelihood(columns, person, theta)
                turned = not is_at_rest(there.value_and_gradient(theta)[1] - slope, best.information)
                if turned or np.abs(there.mass(theta) - mass).max() > _MASS / 2:
                    kept = better[j]
                    better[j] = replace(
                        kept,
                        low=min(kept.low, other.low),
                        high=max(kept.high, other.high),
                        spacing=min(kept.spacing, other.spacing),
                    )
        return self if better == list(self.grids) else replace(self, grids=tuple(better))


def search_by(fit_weighted: FitWeighted | None, max_iter: int, tol: float) -> Search:
    """The search that was asked for."""
    if fit_weighted is None:
        return lambda likelihood, start: climb(likelihood, start, max_iter)
    return lambda likelihood, start: alternate(likelihood, start, fit_weighted, max_iter, tol)


def highest(found: Sequence[SpreadSolution]) -> SpreadSolution:
    """The best of several searches."""
    return max(found, key=lambda solution: solution.summit.value)


def _refuse_other_mass(mass: Floats, grids: Sequence[NumberGrid]) -> None:
    worst = float(mass[np.abs(mass - 1).argmax()])
    if abs(worst - 1) > _MASS:
        where = ", ".join(f"({grid.low:.4g}, {grid.high:.4g})" for grid in grids)
        raise InvalidInput(
            f"a density that integrates to {worst:.6g} over {where}",
            "1: log_probability returns the log of a density of the truth, which lies within the public bounds or the "
            "support",
            "Subtract the log of its integral; a law of numbers between bounds must end there. A peak between two "
            "nodes means that the reports scatter no more than the noise alone, or that the search started too far "
            "from them: start with a density about as wide as the reports.",
        )
