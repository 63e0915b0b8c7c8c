"""Losses of your own: from a function, which is checked to be linear-odd, or from a permissible generator."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.learning.totals.losses import NAMED, Loss

Function = Callable[[Floats], Floats]

_REACH = 8.0  # margins are checked from -8 to 8: at 8 a logistic model is .9997 sure
_STEP = 1e-3  # of the grid: second differences, about 1e-6, stay far above the rounding errors of doubles
_LINEAR = 1e-9  # relative defect that rounding explains
# Sevenths up to 8: no double is one, so that rounding does not make a defect vanish.
_RATIONAL = tuple(Fraction(n, 7) for n in range(1, 57))


def as_loss(loss: Any, slope: Function | None = None, curvature: Function | None = None) -> Loss:
    """Return a linear-odd loss by name, or made of a function that is checked to be one.

    The condition f(z) - f(-z) = -a z is checked on a grid of margins between -8 and 8; exactly, at rational points,
    where f can be computed with fractions; and symbolically where f takes symbols and sympy happens to be installed. A
    function that fails is refused, and the message says where and by how much.

    Parameters
    ----------
    loss : str, Loss or function
        "logistic", "square", "matsushita", "unhinged" or "rho"; or a function of an array of margins.
    slope, curvature : functions, optional
        The first and second derivative of the loss; by differences if not given.

    Examples
    --------
    >>> as_loss(lambda z: z**4 - 3 * z).odd
    6.0
    >>> as_loss(lambda z: np.maximum(0, 1 - z))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    askance.errors.InvalidInput: the loss <lambda> is not linear-odd: ...
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        if loss in NAMED:
            return NAMED[loss]
        raise InvalidInput(f"loss={loss!r}", f"one of {', '.join(NAMED)}, a Loss, or a function of the margin")
    if not callable(loss):
        raise InvalidInput(f"loss={loss!r}", f"one of {', '.join(NAMED)}, a Loss, or a function of the margin")
    name = getattr(loss, "__name__", type(loss).__name__)
    odd, how = _checked_odd(loss, name)
    z = np.arange(-_REACH, _REACH + _STEP, _STEP)
    even = _even(loss, z)
    bend = even[2:] - 2 * even[1:-1] + even[:-2]
    rounding = 1e-13 * (1 + np.abs(even).max())
    # Halving the step quarters the second difference of a smooth function, and halves that at a kink.
    half = _even(loss, z[1:-1] + _STEP / 2) - 2 * even[1:-1] + _even(loss, z[1:-1] - _STEP / 2)
    kinks = np.abs(half) > 0.4 * np.abs(bend) + 4 * rounding
    convex = bool(np.all(bend >= -4 * rounding))
    smooth = not bool(kinks.any())
    rising = _even(loss, z[z > 0][1:]) - _even(loss, z[z > 0][:-1])
    proper = smooth and convex and odd > 0 and bool(np.all(rising > 0))
    return OwnLoss(name, odd, loss, slope, curvature, convex, smooth, proper, how)


def linear_odd_defect(loss: Function, z: Floats, odd: float | None = None) -> tuple[float, Floats]:
    """Return a, as f(z) - f(-z) tells it at z = 1/2, and f(z) - f(-z) + a z: zero for a linear-odd loss.

    Examples
    --------
    >>> linear_odd_defect(lambda z: np.maximum(0, 1 - z), np.array([0.5, 1.0, 2.0, 3.0]))
    (2.0, array([0., 0., 1., 2.]))
    """
    if odd is None:
        point = np.array([0.5, -0.5])
        ahead, behind = np.asarray(loss(point), dtype=float)
        odd = float(behind - ahead) / 0.5
    points = np.asarray(z, dtype=float)
    defect: Floats = np.asarray(loss(points), dtype=float) - np.asarray(loss(-points), dtype=float) + odd * points
    return odd, defect


def _checked_odd(loss: Function, name: str) -> tuple[float, str]:
    z = np.concatenate([np.geomspace(1e-3, _REACH, 60), np.linspace(0.05, _REACH, 160)])
    try:
        ahead, behind = (np.asarray(loss(side), dtype=float) for side in (z, -z))
    except Exception as error:  # whatever a stranger's function may raise
        raise InvalidInput(f"the loss {name} fails on an array of margins ({error})", "a vectorised function") from None
    if ahead.shape != z.shape or not (np.isfinite(ahead).all() and np.isfinite(behind).all()):
        raise InvalidInput(
            f"the loss {name} gives values of shape {ahead.shape}, or not finite, for {len(z)} margins",
            "one finite number for each margin",
        )
    odd, defect = linear_odd_defect(loss, z)
    odd = float(round(odd, 12))
    if np.any(np.abs(defect) > _LINEAR * (1 + np.abs(ahead) + np.abs(behind))):
        worst = int(np.abs(defect).argmax())
        raise InvalidInput(
            f"the loss {name} is not linear-odd: at z = {z[worst]:g}, f(z) - f(-z) is "
            f"{ahead[worst] - behind[worst]:.6g} and not -a z = {-odd * z[worst]:.6g}, off by {defect[worst]:.6g}",
            "f(z) - f(-z) = -a z for every z",
            "Labels then do not enter through the mean operator alone. Logistic, square and Matsushita do it.",
        )
    if odd <= 0:
        why = "does not depend on the label" if odd == 0 else f"rewards errors: f(z) - f(-z) = {-odd:g} z"
        raise InvalidInput(f"the loss {name} {why}", "f(z) - f(-z) = -a z with a above 0")
    return odd, _how_well_checked(loss, odd)


def _how_well_checked(loss: Function, odd: float) -> str:
    """Try harder than a grid can: by symbols, or by fractions, where the function allows."""
    arithmetic: Any = loss
    try:
        import sympy  # type: ignore[import-not-found, import-untyped, unused-ignore]

        symbol = sympy.Symbol("z", real=True)
        if sympy.simplify(arithmetic(symbol) - arithmetic(-symbol) + sympy.nsimplify(odd) * symbol) == 0:
            return "symbolically"
    except Exception:  # no sympy, or a function that takes no symbols: not an error
        pass
    try:
        exact = Fraction(odd).limit_denominator(10**6)
        values = [arithmetic(z) - arithmetic(-z) + exact * z for z in _RATIONAL]
        if all(isinstance(value, Fraction) and value == 0 for value in values):
            return "exactly at rational points"
    except Exception:  # most functions take arrays only
        pass
    return "on a grid"


def _even(loss: Function, z: Floats) -> Floats:
    even: Floats = 0.5 * (np.asarray(loss(z), dtype=float) + np.asarray(loss(-z), dtype=float))
    return even


@dataclass(frozen=True, eq=False)
class OwnLoss(Loss):
    """A function that was checked to be linear-odd; see :func:`as_loss`."""

    name: str
    odd: float
    function: Function
    own_slope: Function | None = None
    own_curvature: Function | None = None
    convex: bool = True
    smooth: bool = True
    proper: bool = True
    checked: str = "on a grid"

    def even(self, z: Floats) -> Floats:
        return _even(self.function, z)

    def even_slope(self, z: Floats) -> Floats:
        if self.own_slope is not None:
            return np.asarray(self.own_slope(z), dtype=float) + 0.5 * self.odd
        step = 1e-5 * (1 + np.abs(z))
        return (self.even(z + step) - self.even(z - step)) / (2 * step)

    def even_curvature(self, z: Floats) -> Floats:
        if self.own_curvature is not None:
            return np.asarray(self.own_curvature(z), dtype=float)
        step = 1e-4 * (1 + np.abs(z))
        if self.own_slope is not None:
            found = (self.even_slope(z + step) - self.even_slope(z - step)) / (2 * step)
        else:
            found = (self.even(z + step) - 2 * self.even(z) + self.even(z - step)) / step**2
        return np.maximum(found, 0.0) if self.convex else found


def from_generator(
    generator: Function,
    slope: Function | None = None,
    *,
    scale: float = 1.0,
    shift: float = 0.0,
    domain: tuple[float, float] = (0.0, 1.0),
    name: str = "",
) -> Loss:
    """Make the symmetric proper loss shift + phi*(-z) / scale of a permissible generator phi.

    phi is convex and symmetric about 1/2 on a domain that holds [0, 1]; phi* is its convex conjugate, found
    numerically. The paper calls the shift a_phi and the scale b_phi; then a = 1 / scale.

    Parameters
    ----------
    generator : function of an array of probabilities
    slope : function, optional
        Its derivative; by differences if not given.
    scale, shift : float
    domain : (float, float)
        Where phi is defined; it must be symmetric about 1/2. The square loss needs more than [0, 1].
    name : str

    Examples
    --------
    >>> matsushita = from_generator(lambda u: -np.sqrt(u * (1 - u)), scale=0.5)
    >>> matsushita(np.array([-1.0, 0.0, 1.0])).round(6)
    array([2.414214, 1.      , 0.414214])
    """
    low, high = map(float, domain)
    if not (low <= 0 and high >= 1 and abs(low + high - 1) <= 1e-12 and np.isfinite([low, high]).all()):
        raise InvalidInput(f"domain={domain!r}", "an interval that holds [0, 1] and is symmetric about 1/2")
    if not scale > 0:
        raise InvalidInput(f"scale={scale!r}", "a positive number")
    name = name or f"of generator {getattr(generator, '__name__', type(generator).__name__)}"
    u = low + (high - low) * np.linspace(0.001, 0.999, 999)
    phi = np.asarray(generator(u), dtype=float)
    if phi.shape != u.shape or not np.isfinite(phi).all():
        raise InvalidInput(f"a generator with values of shape {phi.shape} or not finite", "a finite value inside")
    lopsided = np.abs(phi - phi[::-1])
    if lopsided.max() > _LINEAR * (1 + np.abs(phi).max()):
        worst = int(lopsided.argmax())
        raise InvalidInput(
            f"a generator that differs by {lopsided[worst]:.4g} between {u[worst]:.4g} and {1 - u[worst]:.4g}",
            "phi(u) = phi(1 - u)",
        )
    if not np.all(phi[2:] - 2 * phi[1:-1] + phi[:-2] > 0):
        raise InvalidInput("a generator that is not strictly convex", "phi convex on its domain")
    return GeneratedLoss(name, 1 / scale, generator, slope, float(shift), (low, high))


@dataclass(frozen=True, eq=False)
class GeneratedLoss(Loss):
    """A symmetric proper loss; see :func:`from_generator`."""

    name: str
    odd: float
    generator: Function
    own_slope: Function | None = None
    shift: float = 0.0
    domain: tuple[float, float] = field(default=(0.0, 1.0))

    def even(self, z: Floats) -> Floats:
        best = self._conjugate_slope(z)
        # phi*(z) - z/2 = (phi*(z) + phi*(-z)) / 2
        value: Floats = self.shift + self.odd * ((best - 0.5) * z - np.asarray(self.generator(best), dtype=float))
        return value

    def even_slope(self, z: Floats) -> Floats:
        return self.odd * (self._conjugate_slope(z) - 0.5)

    def even_curvature(self, z: Floats) -> Floats:
        step = 1e-4 * (1 + np.abs(z))
        rise = self._conjugate_slope(z + step) - self._conjugate_slope(z - step)
        return self.odd * np.maximum(rise, 0.0) / (2 * step)

    def _conjugate_slope(self, z: Floats) -> Floats:
        """The u at which z u - phi(u) is largest: where phi'(u) = z, by bisection."""
        points = np.asarray(z, dtype=float)
        size = np.abs(points)  # phi'(1 - u) = -phi'(u): half the domain is enough
        edge = (self.domain[1] - 0.5) * (1 - 1e-12)
        low, high = np.zeros_like(size), np.full_like(size, edge)
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = self._slope(0.5 + middle) < size
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        best: Floats = 0.5 + np.copysign(0.5 * (low + high), points)
        return best

    def _slope(self, u: Floats) -> Floats:
        if self.own_slope is not None:
            return np.asarray(self.own_slope(u), dtype=float)
        room = np.minimum(u - self.domain[0], self.domain[1] - u)
        step = 1e-5 * room
        ahead, behind = (np.asarray(self.generator(u + side), dtype=float) for side in (step, -step))
        rise: Floats = (ahead - behind) / (2 * step)
        return rise
