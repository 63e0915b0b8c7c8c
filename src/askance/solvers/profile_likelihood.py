"""Intervals and tests by the profile likelihood ratio: right where a likelihood is not a parabola.

For a value v of c.theta, the objective is maximised over all theta with c.theta = v. The signed root of twice what that
loses against the free maximum is about normal under the truth, also near the border of what the data can tell, where
the estimate itself is not. The values whose root is within the quantile are the interval, which may be open.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.solvers.damped_newton import climb
from askance.solvers.newton import Local, Solution

Objective = Callable[[Floats], Local]

_ANCHOR = 1.959963984540054  # the 95% quantile: this end is found exactly, others by interpolation between points
_OUTERMOST = 3.3  # the 99.9% quantile: a point about there; intervals that reach farther are extrapolated
_ABOUT = 0.6  # in roots: how near the outermost point must be
_NEAR = 0.02  # in roots: how near the anchor must be
# In standard errors: what a near point may leave to interpolation. A curve that flattens towards the limit of what the
# data can tell goes a long way within the last hundredth of a root, and how far then depends on the points that
# rounding, and so the machine, made it pass.
_INTERPOLATED = 2e-3
_PLATEAU = 1e-3  # a root that grows less when the value doubles has ended growing
_EXACT = 1e-3  # standard errors from a maximum whose height alone matters: it is then exact to a millionth
_HIGHER = 1e-4  # by which another maximum must be higher to count as one
# Of a standard error, or of the way from the estimate if that is shorter: where the root still passes the quantile
# within so little, the curve jumps from one hill to another, and no closer look finds a point between.
_JUMP = 0.005
_SEARCHES = 25  # steps that the search for an end may take; it needs two to four, and six doublings reach any border


@dataclass(frozen=True, eq=False)
class Profile:
    """The signed root of the likelihood ratio along one parameter or linear combination.

    Parameters
    ----------
    estimate : float
    values, roots : arrays, increasing
        Points of the curve; the root is 0 at the estimate.
    null_root : float
        The root at the null hypothesis.
    limits : pair of float
        The largest absolute root that the unpenalised likelihood reaches downwards and upwards: an interval whose
        quantile is larger is open at that end.

    Examples
    --------
    >>> curve = Profile(2.0, np.array([0.0, 2.0, 4.0]), np.array([-2.0, 0.0, 2.0]), -2.0, (math.inf, 1.7))
    >>> [round(end, 2) for end in curve.interval(0.9)]
    [0.36, 3.64]
    >>> [round(end, 2) for end in curve.interval(0.95)]
    [0.04, inf]
    >>> round(curve.p_value(), 4)
    0.0455
    """

    estimate: float
    values: Floats
    roots: Floats
    null_root: float
    limits: tuple[float, float] = (math.inf, math.inf)

    def interval(self, level: float = 0.95, df: float = math.inf) -> tuple[float, float]:
        """Return both ends; -inf and inf are open ends. With degrees of freedom, by Student's quantile."""
        from scipy.special import ndtri, stdtrit

        quantile = float(ndtri(0.5 + level / 2) if math.isinf(df) else stdtrit(df, 0.5 + level / 2))
        lower = -math.inf if quantile > self.limits[0] else self._value_at(-quantile)
        upper = math.inf if quantile > self.limits[1] else self._value_at(quantile)
        return lower, upper

    def p_value(self, df: float = math.inf) -> float:
        """Return the two-sided p-value of the null hypothesis."""
        from scipy.special import ndtr, stdtr

        root = -abs(self.null_root)
        return float(2 * (ndtr(root) if math.isinf(df) else stdtr(df, root)))

    def scaled(self, factor: float) -> "Profile":
        """Return the profile of the parameter times a positive factor."""
        values = factor * self.values
        return Profile(factor * self.estimate, values, self.roots, self.null_root, self.limits)

    def to_dict(self) -> dict[str, object]:
        """Return what a saved model keeps."""
        return vars(self).copy()

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Profile":
        """Return what :meth:`to_dict` was of."""
        return cls(**content)

    def _value_at(self, root: float) -> float:
        from scipy.interpolate import PchipInterpolator

        roots, kept = np.unique(np.maximum.accumulate(self.roots), return_index=True)
        values = self.values[kept]
        if len(roots) < 2:
            return math.copysign(math.inf, root)
        inner = min(max(root, roots[0]), roots[-1])
        value = float(PchipInterpolator(roots, values)(inner))
        if inner == root:
            return value
        ends = (1, 0) if root < inner else (-1, -2)
        slope = (values[ends[0]] - values[ends[1]]) / (roots[ends[0]] - roots[ends[1]])
        return float(value + slope * (root - inner))


@dataclass(frozen=True, eq=False)
class ProfileSearch:
    """What profiles of one fit have in common.

    Parameters
    ----------
    objective : function of theta
        Value, gradient and information (minus the Hessian), with the penalty if there is one.
    base : array
        A start besides the full fit: where nothing but the base rate is known.
    ratio_scale : function of (theta, direction), optional
        What ratios are divided by, at a constrained fit: 1 for a likelihood; for weighted or clustered data the
        variance of the score along the direction against its information.
    unpenalised : function of theta, optional
        The objective with next to no penalty, if ``objective`` has one: says which ends are open.
    far : float
        The largest absolute value of c.theta that is looked at: logits of e^50 are certainties.
    most : float
        Evaluations that all profiles may take together. How many one takes is not known beforehand: some dozens on one
        hill, a thousand between the many hills of a wide likelihood.
    """

    objective: Objective
    base: Floats
    ratio_scale: Callable[[Floats, Floats], float] | None = None
    unpenalised: Objective | None = None
    far: float = 50.0
    most: float = math.inf

    def all_profiles(
        self, full: Solution, directions: Sequence[Floats], nulls: Sequence[float] | None = None
    ) -> tuple[Solution, list[Profile]]:
        """Return a profile for each direction; also the full fit, which is better if a constrained one led higher.

        There are fewer profiles than directions where the others would have taken too many evaluations.
        """
        count = _Count(self.most)
        counted = replace(
            self,
            objective=count.of(self.objective),
            unpenalised=None if self.unpenalised is None else count.of(self.unpenalised),
        )
        for last in (False, False, True):  # each time the maximum is a higher one: more hills are left unclimbed
            found, highest = counted._one_round(full, directions, nulls or [0.0] * len(directions), last)
            if highest is full:
                break
            full = highest
        return full, found

    def _one_round(
        self, full: Solution, directions: Sequence[Floats], nulls: Sequence[float], last: bool
    ) -> tuple[list[Profile], Solution]:
        found: list[Profile] = []
        try:
            plain = None if self.unpenalised is None else _Plain(self.unpenalised, climb(self.unpenalised, full.theta))
            for direction, null in zip(directions, nulls, strict=True):
                one = _Direction(self, full, np.asarray(direction, dtype=float), plain)
                curve = one.profile(null)
                higher = None if last else self._higher(full, one.landmarks)
                found.append(curve)
                if higher is not None:
                    return found, higher
        except _TooMany:
            pass
        return found, full

    def _higher(self, full: Solution, landmarks: Sequence[Floats]) -> Solution | None:
        """A maximum above the full fit, where the way up from a constrained one leads to such."""
        for theta in landmarks:
            again = climb(self.objective, theta, tolerance=_EXACT)
            if again.local.value > full.local.value + _HIGHER:
                again = climb(self.objective, again.theta)
            if again.converged and again.local.value > full.local.value + _HIGHER:
                return again
        return None


class _TooMany(Exception):
    """All evaluations that profiles may take are taken."""


@dataclass(eq=False)
class _Count:
    """How many evaluations are left."""

    left: float

    def of(self, objective: Objective) -> Objective:
        def counted(theta: Floats) -> Local:
            if self.left < 1:
                raise _TooMany
            self.left -= 1
            return objective(theta)

        return counted


@dataclass(frozen=True, eq=False)
class _Plain:
    """The likelihood with next to no penalty, and its maximum."""

    objective: Objective
    fit: Solution


@dataclass(eq=False)
class _Direction:
    """The curve along one direction, point by point."""

    search: ProfileSearch
    full: Solution
    c: Floats
    plain: "_Plain | None"
    points: dict[float, tuple[float, Floats]] = field(default_factory=dict)
    landmarks: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        # The last columns of a full QR decomposition of c span everything that leaves c.theta as it is.
        self.free = np.linalg.qr(self.c[:, None], mode="complete")[0][:, 1:]
        inverse = np.linalg.pinv(self.full.local.information, hermitian=True)
        variance = float(self.c @ inverse @ self.c)
        usable = np.isfinite(variance) and variance > 0
        self.error = math.sqrt(variance) if usable else 1.0
        self.tangent = inverse @ self.c / variance if usable else self.c / float(self.c @ self.c)
        self.estimate = float(self.c @ self.full.theta)
        self.points[self.estimate] = (0.0, self.full.theta)

    def profile(self, null: float) -> Profile:
        null_root = self.root(null, landmark=True)
        limits = (self.side(-1.0), self.side(1.0))
        values = np.array(sorted(self.points))
        roots = np.array([self.points[value][0] for value in values.tolist()])
        return Profile(self.estimate, values, roots, null_root, limits)

    def side(self, sign: float) -> float:
        """Find the end on one side, and points around it; return the root beyond which that side is open."""
        end, limit = self.crossing(sign, _ANCHOR, _NEAR)
        self.root(end, landmark=True)
        if limit < _ANCHOR:
            return limit
        self.root(0.5 * (self.estimate + end))
        _, limit = self.crossing(sign, _OUTERMOST, _ABOUT)
        return limit if self.plain is None else min(limit, self.plain_limit(self.plain, end))

    def crossing(self, sign: float, wanted: float, tolerance: float) -> tuple[float, float]:
        """Find the value where the root crosses what is wanted; if it never does, also how far it comes."""
        inner, outer, value = 0.0, math.inf, self._guess(sign, wanted)
        highest = 0.0
        for _ in range(_SEARCHES):
            root = sign * self.root(self.estimate + sign * value)
            if abs(root - wanted) < tolerance and self._straight(sign, value, root, wanted):
                return self.estimate + sign * value, math.inf
            if root > wanted:
                outer = value
            elif value > self.search.far + abs(self.estimate) or (
                value > 4 * self.error * wanted and root < highest + _PLATEAU
            ):
                return self.estimate + sign * value, max(root, highest)
            else:
                inner = value
            highest = max(highest, min(root, wanted))
            if outer - inner < _JUMP * min(self.error, outer):
                return self.estimate + sign * outer, math.inf
            if math.isfinite(outer):
                guess = self._guess(sign, wanted)
                value = guess if inner < guess < outer else 0.5 * (inner + outer)
            else:
                value *= min(max(1.05 * wanted / max(root, 0.01), 1.2), 2.5)
        return self.estimate + sign * value, math.inf

    def _straight(self, sign: float, value: float, root: float, wanted: float) -> bool:
        """Whether the curve is as steep at a point as on the way there, so that the little that is left is a line."""
        if wanted != _ANCHOR:
            return True
        gap = abs(root - wanted)
        known = [(sign * (v - self.estimate), sign * r) for v, (r, _) in self.points.items()]
        # A point that is nearer than what is left tells nothing of the slope but the rounding of both.
        others = [(v, r) for v, r in known if v > 0 and abs(r - root) > gap]
        if not others:
            return True
        beside = min(others, key=lambda point: abs(point[0] - value))
        bend = abs((value - beside[0]) / (root - beside[1]) - value / root)
        return gap * bend < _INTERPOLATED * self.error

    def _guess(self, sign: float, wanted: float) -> float:
        """How far from the estimate the root should be what is wanted: along the piece of the curve that is known."""
        known = sorted((sign * (v - self.estimate), sign * r) for v, (r, _) in self.points.items())
        known = [point for point in known if point[0] >= 0]
        below = [point for point in known if point[1] <= wanted]
        above = [point for point in known if point[1] > wanted]
        low = max(below)
        if above:
            high = min(above)
            return low[0] + (wanted - low[1]) / (high[1] - low[1]) * (high[0] - low[0])
        slope = self.error if low[1] <= 0 else max(low[0] / low[1], 0.1 * self.error)
        return low[0] + max(wanted - low[1], _NEAR) * slope

    def root(self, value: float, landmark: bool = False) -> float:
        """The signed root at a value of c.theta, from the nearest point of the curve and, if asked, the base rate."""
        if value in self.points and not landmark:
            return self.points[value][0]
        nearest = min(self.points, key=lambda known: abs(known - value))
        starts = [self._onwards(nearest, self.points[nearest][1], value)]
        if landmark:
            starts.append(self.search.base)
        fits = [self.constrained(self.search.objective, value, start) for start in starts]
        best = max(fits, key=lambda fit: fit.local.value)
        if landmark:
            self.landmarks.append(best.theta)
        loss = max(self.full.local.value - best.local.value, 0.0)
        root = math.copysign(math.sqrt(2 * loss / self._scale(best.theta)), value - self.estimate)
        self.points[value] = (root if value != self.estimate else 0.0, best.theta)
        return self.points[value][0]

    def _onwards(self, known: float, theta: Floats, value: float) -> Floats:
        """Go on from a fit at one value to another value, in the direction that led there from the full fit."""
        gone = known - self.estimate
        slope = self.tangent if gone == 0 else (theta - self.full.theta) / gone
        return theta + (value - known) * slope

    def _scale(self, theta: Floats) -> float:
        scale = self.search.ratio_scale
        return 1.0 if scale is None else scale(theta, self.c)

    def constrained(self, objective: Objective, value: float, start: Floats) -> Solution:
        """Maximise the objective over all theta with c.theta = value."""
        origin = start + self.c * ((value - float(self.c @ start)) / float(self.c @ self.c))
        free = self.free

        def local(u: Floats) -> Local:
            here = objective(origin + free @ u)
            return Local(here.value, free.T @ here.gradient, free.T @ here.information @ free)

        found = climb(local, np.zeros(free.shape[1]), tolerance=_EXACT)
        return Solution(origin + free @ found.theta, found.local, found.iterations, found.converged, False)

    def plain_limit(self, plain: "_Plain", end: float) -> float:
        """How far the root of the unpenalised likelihood comes on one side, from the end that the penalty gave."""
        top, theta, value, before = plain.fit.local.value, self.points[end][1], end, -math.inf
        scale = self._scale(theta)
        while True:
            starts = [theta, self.search.base] if before < 0 else [theta]
            fits = [self.constrained(plain.objective, value, start) for start in starts]
            fit = max(fits, key=lambda one: one.local.value)
            top = max(top, fit.local.value)
            root = math.sqrt(2 * max(top - fit.local.value, 0.0) / scale)
            if root > _OUTERMOST:
                return math.inf
            # Where the likelihood itself has no maximum on this side, the root falls again, to zero.
            if abs(root - before) < _PLATEAU or abs(value) > self.search.far:
                return root
            farther = self.estimate + 2 * (value - self.estimate)
            theta, value, before = self._onwards(value, fit.theta, farther), farther, root
