"""Linear-odd losses: those whose labels enter a linear model's risk through the mean operator only.

A loss f of the margin z = y theta.x is *linear-odd* if f(z) - f(-z) = -a z. Then f(z) = even(z) - (a/2) z, and with
labels y of -1 and 1 the risk of theta is

    (1/m) sum_i even(theta.x_i) - (a/2) theta.mu,   mu = (1/m) sum_i y_i x_i.

A loss here is a value: its even part with two derivatives, and the number a. Losses of your own are made by
:func:`askance.learning.totals.as_loss` and :func:`askance.learning.totals.from_generator`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput, NotAvailable


class Loss(ABC):
    """A linear-odd loss of the margin."""

    name: str
    odd: float  #: a, where f(z) - f(-z) = -a z
    convex: bool = True
    smooth: bool = True  #: whether the even part has a derivative everywhere
    quadratic: bool = False  #: whether the even part's curvature is the same everywhere: one step solves it
    proper: bool = True  #: whether a score tells a probability
    softmax: bool = False  #: whether several classes are fitted at once, by the softmax risk

    @abstractmethod
    def even(self, z: Floats) -> Floats:
        """(f(z) + f(-z)) / 2."""

    @abstractmethod
    def even_slope(self, z: Floats) -> Floats:
        """The derivative of the even part; at a kink, the middle of those on its sides."""

    @abstractmethod
    def even_curvature(self, z: Floats) -> Floats:
        """The second derivative of the even part, where there is one."""

    def __call__(self, z: Floats) -> Floats:
        """f(z)."""
        return self.even(z) - 0.5 * self.odd * z

    def slope(self, z: Floats) -> Floats:
        """f'(z)."""
        return self.even_slope(z) - 0.5 * self.odd

    def derivatives(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the even part, its slope and its curvature; a loss may have a way to share their work."""
        return self.even(z), self.even_slope(z), self.even_curvature(z)

    def probability(self, z: Floats) -> Floats:
        """P(y = 1) where theta.x = z: the one for which z is the best score, 1/2 + even'(z) / a, within [0, 1]."""
        if not self.proper:
            raise NotAvailable(
                f"probabilities from the {self.name} loss, which is best served by the sign of a score alone",
                "a proper loss such as 'logistic'",
            )
        return np.clip(0.5 + self.even_slope(z) / self.odd, 0.0, 1.0)


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-z)).

    Examples
    --------
    >>> Logistic()(np.array([-1000.0, 0.0, 1000.0])).round(4)
    array([1.000e+03, 6.931e-01, 0.000e+00])
    """

    name = "logistic"
    odd = 1.0
    softmax = True

    def even(self, z: Floats) -> Floats:
        size: Floats = np.abs(z)
        return 0.5 * size + np.log1p(np.exp(-size))

    def even_slope(self, z: Floats) -> Floats:
        return 0.5 * np.tanh(0.5 * z)

    def even_curvature(self, z: Floats) -> Floats:
        power: Floats = np.exp(-np.abs(z))
        return power / (1 + power) ** 2

    def derivatives(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        size = np.abs(z)
        power = np.exp(-size)
        share = 1 / (1 + power)
        even = 0.5 * size + np.log1p(power)
        return even, np.copysign(share - 0.5, z), power * share * share


@dataclass(frozen=True)
class Square(Loss):
    """(1 - z)^2."""

    name = "square"
    odd = 4.0
    quadratic = True

    def even(self, z: Floats) -> Floats:
        return 1 + z * z

    def even_slope(self, z: Floats) -> Floats:
        return 2 * z

    def even_curvature(self, z: Floats) -> Floats:
        return np.full_like(z, 2.0)


@dataclass(frozen=True)
class Matsushita(Loss):
    """sqrt(1 + z^2) - z."""

    name = "matsushita"
    odd = 2.0

    def even(self, z: Floats) -> Floats:
        return np.hypot(1.0, z)

    def even_slope(self, z: Floats) -> Floats:
        return z / np.hypot(1.0, z)

    def even_curvature(self, z: Floats) -> Floats:
        return np.hypot(1.0, z) ** -3


@dataclass(frozen=True)
class Unhinged(Loss):
    """-z: the linear loss, whose minimiser with a ridge is mu itself, up to length."""

    name = "unhinged"
    odd = 2.0
    quadratic = True
    proper = False

    def even(self, z: Floats) -> Floats:
        return np.zeros_like(z)

    def even_slope(self, z: Floats) -> Floats:
        return np.zeros_like(z)

    def even_curvature(self, z: Floats) -> Floats:
        return np.zeros_like(z)


@dataclass(frozen=True)
class Rho(Loss):
    """``rho |z| - rho z + 1``, which has a kink at 0 and is nowhere below its value there.

    So no theta does better than zero while mu lies where labels can put it: such a fit says nothing, and a warning says
    so.

    Parameters
    ----------
    rho : float
        Positive.
    """

    rho: float = 1.0
    odd: float = field(init=False, repr=False, compare=False)
    name = "rho"
    smooth = False
    proper = False

    def __post_init__(self) -> None:
        if not 0 < self.rho < np.inf:
            raise InvalidInput(f"rho={self.rho!r}", "a positive number")
        vars(self)["odd"] = 2 * self.rho

    def even(self, z: Floats) -> Floats:
        return self.rho * np.abs(z) + 1

    def even_slope(self, z: Floats) -> Floats:
        return self.rho * np.sign(z)

    def even_curvature(self, z: Floats) -> Floats:
        return np.zeros_like(z)


@dataclass(frozen=True)
class SmoothedRho(Loss):
    """rho (sqrt(z^2 + width^2) - z) + 1: what the rho-loss is the limit of as the width of its bend goes to 0."""

    rho: float
    width: float
    odd: float = field(init=False, repr=False, compare=False)
    name = "smoothed rho"

    def __post_init__(self) -> None:
        vars(self)["odd"] = 2 * self.rho

    def even(self, z: Floats) -> Floats:
        return self.rho * np.hypot(z, self.width) + 1

    def even_slope(self, z: Floats) -> Floats:
        return self.rho * z / np.hypot(z, self.width)

    def even_curvature(self, z: Floats) -> Floats:
        return self.rho * self.width**2 * np.hypot(z, self.width) ** -3


NAMED: dict[str, Loss] = {loss.name: loss for loss in (Logistic(), Square(), Matsushita(), Unhinged(), Rho())}


class Factorisation(NamedTuple):
    """A loss on a grid, in the two parts that sum to it."""

    z: Floats
    loss: Floats
    even: Floats
    odd: Floats


def factorise(loss: Loss | Callable[[Floats], Floats], z: Floats) -> Factorisation:
    """Split a loss, or any function, into its even and its odd part at the points z.

    :func:`askance.learning.totals.plot_factorisation` draws it.

    Examples
    --------
    >>> factorise(Square(), np.array([0.0, 1.0, 2.0])).odd
    array([ 0., -2., -4.])
    >>> factorise(lambda z: np.maximum(0, 1 - z), np.array([0.0, 1.0, 2.0])).odd  # the hinge's is not a line
    array([ 0. , -1. , -1.5])
    """
    points = np.asarray(z, dtype=float)
    if isinstance(loss, Loss):
        even, odd = loss.even(points), -0.5 * loss.odd * points + 0.0
    else:
        ahead, behind = (np.asarray(loss(side), dtype=float) for side in (points, -points))
        even, odd = 0.5 * (ahead + behind), 0.5 * (ahead - behind)
    return Factorisation(points, even + odd, even, odd)
