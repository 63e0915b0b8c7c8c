"""Links for yes-or-no and ordered answers: P(answer above k) = F(eta - c_k), with exact derivatives."""

from typing import Literal, NamedTuple

import numpy as np
from scipy.special import expit, ndtr

from askance.arrays import Flags, Floats, Integers
from askance.errors import InvalidInput
from askance.learning.surveys.hidden_states import FactorValue

Link = Literal["logit", "probit", "cloglog"]
LINKS: tuple[Link, ...] = ("logit", "probit", "cloglog")

_ROOT_TWO_PI = float(np.sqrt(2 * np.pi))  # what the density of a normal law is divided by
_LARGEST = 50.0  # exp(-exp(50)) is zero long before
_SMALLEST = 1e-300  # probabilities below count as this: their logarithm stays finite


def checked_link(link: str) -> Link:
    """Return a link that is known."""
    for known in LINKS:
        if link == known:
            return known
    raise InvalidInput(f"link={link!r}", "'logit', 'probit' or 'cloglog'")


class Curve(NamedTuple):
    """A distribution function F at some places, 1 - F, and the first two derivatives of F."""

    below: Floats
    above: Floats
    slope: Floats
    bend: Floats


def curve(link: Link, at: Floats) -> Curve:
    """Return F and its derivatives; minus and plus infinity are places, too."""
    if link == "logit":
        below, above = expit(at), expit(-at)
        slope = below * above
        return Curve(below, above, slope, slope * (above - below))
    if link == "probit":
        bell = np.exp(-0.5 * np.minimum(at**2, 4 * _LARGEST**2)) / _ROOT_TWO_PI
        return Curve(ndtr(at), ndtr(-at), bell, np.where(np.isfinite(at), -at, 0.0) * bell)
    grown = np.exp(np.minimum(at, _LARGEST))
    above = np.exp(-grown)
    slope = grown * above
    return Curve(-np.expm1(-grown), above, slope, slope * (1 - grown))


def class_probabilities(link: Link, eta: Floats, cuts: Floats) -> Floats:
    """Return the probability of each class, n x classes."""
    above = curve(link, eta[:, None] - cuts).below
    ends = np.ones((len(eta), 1)), np.zeros((len(eta), 1))
    return np.asarray(np.hstack([ends[0], above]) - np.hstack([above, ends[1]]))


def class_slopes(link: Link, X: Floats, slopes: Floats, cuts: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives of class probabilities by the slopes, n x classes x d, and by the cuts."""
    slope = curve(link, (X @ slopes)[:, None] - cuts).slope
    none = np.zeros((len(X), 1))
    low, high = np.hstack([none, slope]), np.hstack([slope, none])
    own = np.eye(len(cuts) + 1)
    by_cuts = high[:, :, None] * own[:, :-1] - low[:, :, None] * own[:, 1:]
    return (low - high)[:, :, None] * X[:, None, :], by_cuts


class ClassLaw(NamedTuple):
    """log P(class), with derivatives by the two places between which the class lies."""

    value: Floats
    by_lower: Floats
    by_upper: Floats
    lower_lower: Floats
    lower_upper: Floats
    upper_upper: Floats


def class_law(link: Link, eta: Floats, cuts: Floats, taken: Integers) -> ClassLaw:
    """Return log P(class taken | eta), of shape of ``eta`` and ``taken`` together.

    P(class k) = F(A) - F(B) with A = eta - c_k and B = eta - c_(k+1), the first and last cuts being infinite.
    """
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    low, high = curve(link, eta - ends[taken]), curve(link, eta - ends[taken + 1])
    # Whichever of F and 1 - F is small has its digits.
    gap = np.where(low.below < 0.5, low.below - high.below, high.above - low.above)
    p = np.maximum(gap, _SMALLEST)
    a, b = low.slope / p, high.slope / p
    return ClassLaw(np.log(p), a, -b, low.bend / p - a**2, a * b, -high.bend / p - b**2)


class OrderedClasses:
    """The law of ordered classes given linear predictors: parameters are coefficients, then cuts.

    Parameters
    ----------
    link : Link
    design : array, n x states x d (or n x 1 x d)
        Covariates, without an intercept: the cuts are that.
    taken : array of int, n x states
        The class in each state.
    classes : int
    """

    def __init__(self, link: Link, design: Floats, taken: Integers, classes: int) -> None:
        self.link, self.design, self.taken, self.classes = link, design, taken, classes
        self.slopes = int(design.shape[2])
        self.size = self.slopes + classes - 1
        self._low = self._design_of(taken - 1)
        self._high = self._design_of(taken)

    def _design_of(self, cut: Integers) -> Floats:
        """The derivative of eta minus a cut by all parameters; none by a cut that is infinite."""
        inside: Flags = (cut >= 0) & (cut < self.classes - 1)
        one = np.where(inside[..., None], -np.eye(self.classes - 1)[np.clip(cut, 0, self.classes - 2)], 0.0)
        wide = np.broadcast_to(self.design, (*self.taken.shape, self.slopes))
        return np.concatenate([wide, one], axis=2)

    def at(self, theta: Floats) -> FactorValue:
        cuts = theta[self.slopes :]
        if np.any(np.diff(cuts) <= 0):  # no law: the solver takes a shorter step
            flat = np.zeros((*self.taken.shape, self.size))
            return FactorValue(np.full(self.taken.shape, -np.inf), flat, lambda _: np.zeros((self.size,) * 2))
        law = class_law(self.link, self.design @ theta[: self.slopes], cuts, self.taken)
        score = law.by_lower[:, :, None] * self._low + law.by_upper[:, :, None] * self._high

        def curvature(weights: Floats) -> Floats:
            low, high = self._low.reshape(-1, self.size), self._high.reshape(-1, self.size)
            mixed = (low * (weights * law.lower_upper).reshape(-1, 1)).T @ high
            own = (low * (weights * law.lower_lower).reshape(-1, 1)).T @ low
            other = (high * (weights * law.upper_upper).reshape(-1, 1)).T @ high
            return np.asarray(own + other + mixed + mixed.T)

        return FactorValue(law.value, score, curvature)
