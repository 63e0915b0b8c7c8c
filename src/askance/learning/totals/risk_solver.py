"""Minimise a linear-odd risk: features in sums, labels in a mean operator.

    (1/m) sum_i even(theta.z_i) - (a/2) theta.mu + theta' P theta / 2,   z = (1, x - centre), or x

For three classes and more with the logistic loss it is the softmax risk

    (1/m) sum_i log sum_k exp(theta_k.z_i) - sum_k theta_k.mu_k + penalty,   mu_k = (1/m) sum_i 1[y_i = k] z_i.

Newton's method for smooth losses, which is one step for those of constant curvature. For the rho-loss a path of smooth
ones, until the duality gap is negligible. L-BFGS where a regulariser is given by its value and gradient.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats
from askance.engines.local.engine import one_thread_algebra
from askance.errors import InvalidInput, NotAvailable
from askance.learning.totals.even_risk import EvenSums
from askance.learning.totals.losses import Loss, Rho, SmoothedRho
from askance.learning.totals.public_features import PublicFeatures
from askance.solvers.newton import Local, maximise

Regulariser = Callable[[Floats], tuple[float, Floats]]

# Root mean square scores. Beyond 1e4 probabilities are 0 or 1 in doubles: there is no finite minimiser. Beyond 10,
# where they are .99995 and more, one further pass asks whether there is.
_FAR, _SUSPECT = 1e4, 10.0
_GAP = 1e-10  # of the rho-loss, relative to its value: about what sums over millions of rows are exact to
_NARROWER = 0.1  # from one smooth loss to the next: 16 steps pass through all digits of a double
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class RiskSolution:
    """Where the risk is least.

    Parameters
    ----------
    theta : array, p, or K-1 x p for the softmax model (K x p with a regulariser)
        Of z.
    value : float
        The penalised risk.
    hessian : array
        Of the penalised risk, by the flattened parameters; NaN where it has none or it was not computed.
    iterations : int
    converged : bool
    unbounded : bool
        Whether the risk falls for ever in some direction, as it does when mu lies outside of what labels can give.
    gap : float
        How far at most the value is above the least one, where duality tells.
    """

    theta: Floats
    value: float
    hessian: Floats
    iterations: int
    converged: bool
    unbounded: bool
    gap: float = 0.0


@one_thread_algebra()
def minimise_risk(
    loss: Loss,
    mu: Floats,
    features: PublicFeatures,
    penalty: Floats,
    *,
    start: Floats | None = None,
    max_iterations: int = 200,
) -> RiskSolution:
    """Minimise the binary risk.

    Parameters
    ----------
    loss : Loss
    mu : array, p
        Of z; see :meth:`PublicFeatures.centred`.
    features : PublicFeatures
    penalty : array, p x p
        P; zeros for none.
    start : array, p, optional
        A guess.
    max_iterations : int

    Examples
    --------
    >>> from askance.learning.totals.losses import Square
    >>> X, y = np.array([[1.0], [2.0], [3.0]]), np.array([-1.0, 1.0, 1.0])
    >>> features = PublicFeatures.of(X, intercept=False)
    >>> minimise_risk(Square(), X.T @ y / 3, features, np.zeros((1, 1))).theta.round(4)
    array([0.2857])
    """
    if loss.quadratic:
        return _one_step(loss, mu, features, penalty)
    theta = np.zeros(features.width) if start is None else np.array(start, dtype=float)
    if isinstance(loss, Rho):
        return _rho_path(loss, mu, features, penalty, theta, max_iterations)
    if not loss.smooth:
        raise NotAvailable(f"a fit by the loss {loss.name}, which has kinks", "a smooth loss, or the rho-loss")
    if start is None and features.sample is not features:
        theta = _start_from(minimise_risk(loss, mu, features.sample, penalty, max_iterations=max_iterations))
    return _newton(loss, mu, features, penalty, theta, max_iterations)


@one_thread_algebra()
def minimise_softmax(
    mu: Floats, features: PublicFeatures, penalty: Floats, *, start: Floats | None = None, max_iterations: int = 200
) -> RiskSolution:
    """Minimise the softmax risk; the first class is the reference.

    Parameters
    ----------
    mu : array, K x p
        Row k is (1/m) sum 1[y_i = k] z_i, as it is or with noise.
    features : PublicFeatures
    penalty : array, (K-1) p x (K-1) p
        On the parameters against the first class, flattened class by class.
    start : array, K-1 x p, optional
    max_iterations : int
    """
    rows, shape = features.rows, (len(mu) - 1, features.width)
    pull = summing_to_the_mean(mu, features)[1:].ravel()

    def local(flat: Floats) -> Local:
        sums = features.log_partition(flat.reshape(shape))
        shrink = penalty @ flat
        value = sums.objective + rows * float(flat @ (pull - 0.5 * shrink))
        return Local(value, sums.gradient + rows * (pull - shrink), sums.information + rows * penalty)

    if start is None and features.sample is not features:
        start = _start_from(minimise_softmax(mu, features.sample, penalty, max_iterations=max_iterations))
    return _by_newton(local, np.zeros(shape) if start is None else start, features, max_iterations)


@one_thread_algebra()
def minimise_regularised(
    loss: Loss | None, mu: Floats, features: PublicFeatures, regulariser: Regulariser, *, max_iterations: int = 2000
) -> RiskSolution:
    """Minimise risk plus a regulariser of one's own by L-BFGS.

    Parameters
    ----------
    loss : Loss, or None for the softmax model
    mu : array, p, or K x p for the softmax model
    features : PublicFeatures
    regulariser : function
        Takes the coefficients (d, or K x d), without intercepts; returns its value and its gradient.
    max_iterations : int
    """
    from scipy.optimize import minimize

    if loss is not None and not loss.smooth:
        raise NotAvailable(f"a regulariser with the {loss.name} loss, which has kinks", "a smooth loss")
    first = int(features.intercept)

    def risk(flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(mu.shape)
        value, gradient = _softmax_risk(theta, mu, features) if loss is None else _risk(loss, theta, mu, features)
        extra, slope = regulariser(theta[..., first:].copy())
        if np.shape(slope) != theta[..., first:].shape:
            raise InvalidInput(
                f"a regulariser with a gradient of shape {np.shape(slope)}", f"{theta[..., first:].shape}, as it got"
            )
        gradient[..., first:] += slope
        return value + float(extra), gradient.ravel()

    options = {"maxiter": max_iterations, "maxfun": 20 * max_iterations, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
    found = minimize(risk, np.zeros(mu.size), jac=True, method="L-BFGS-B", options=options)
    # The line search may end at rounding error with some slope left: no lower point can be found.
    settled = bool(found.success) or float(np.abs(found.jac).max()) < 1e-5
    unbounded = features.root_mean_square(found.x) > _FAR
    unknown = np.full((mu.size, mu.size), np.nan)
    return RiskSolution(
        found.x.reshape(mu.shape), float(found.fun), unknown, int(found.nit), settled and not unbounded, unbounded
    )


def summing_to_the_mean(mu: Floats, features: PublicFeatures) -> Floats:
    """Make the rows of a noisy mean operator sum to the mean of z, which is public: what is missing is shared."""
    shared: Floats = mu + (features.mean_row - mu.sum(axis=0)) / len(mu)
    return shared


# -- each kind of loss -----------------------------------------------------------------------------------


def _one_step(loss: Loss, mu: Floats, features: PublicFeatures, penalty: Floats) -> RiskSolution:
    """Solve the normal equations of a loss whose curvature is the same everywhere."""
    sums = features.even(loss, np.zeros(features.width))
    hessian = _second(sums) / sums.rows + penalty
    pull = 0.5 * loss.odd * mu
    scale = np.sqrt(np.maximum(np.diag(hessian), _TINY))
    values, vectors = np.linalg.eigh(hessian / np.outer(scale, scale))
    seen = values > 1e-12 * max(float(values[-1]), _TINY)
    along = vectors.T @ (pull / scale)
    # Without curvature there is no minimum unless nothing pulls; then the shortest theta is taken.
    unbounded = bool(np.any(np.abs(along[~seen]) > 1e-9 * (_TINY + np.abs(along).max(initial=0.0))))
    theta = vectors[:, seen] @ (along[seen] / values[seen]) / scale
    value = sums.value / sums.rows - 0.5 * float(theta @ pull)
    return RiskSolution(theta, value, hessian, 1, not unbounded, unbounded)


def _newton(
    loss: Loss, mu: Floats, features: PublicFeatures, penalty: Floats, start: Floats, max_iterations: int
) -> RiskSolution:
    pull = 0.5 * loss.odd * mu

    def local(theta: Floats) -> Local:
        sums = features.even(loss, theta)
        shrink = penalty @ theta
        value = sums.value - sums.rows * float(theta @ (pull - 0.5 * shrink))
        return Local(-value, sums.rows * (pull - shrink) - sums.gradient, _second(sums) + sums.rows * penalty)

    return _by_newton(local, start, features, max_iterations)


def _by_newton(
    local: Callable[[Floats], Local], start: Floats, features: PublicFeatures, max_iterations: int
) -> RiskSolution:
    def far(flat: Floats, _: Local) -> bool:
        return features.root_mean_square(flat) > _FAR

    found = maximise(local, start.ravel(), diverges=far, max_iterations=max_iterations)
    unbounded = found.diverged
    if not unbounded and features.root_mean_square(found.theta) > _SUSPECT:
        # Large scores alone prove nothing. But twice as far as a minimum the risk is higher; where the solver only
        # stopped for want of slope, it is not.
        unbounded = local(2 * found.theta).value >= found.local.value - 1e-10 * (1 + abs(found.local.value))
    return RiskSolution(
        theta=found.theta.reshape(start.shape),
        value=-found.local.value / features.rows,
        hessian=found.local.information / features.rows,
        iterations=found.iterations,
        converged=found.converged and not unbounded,
        unbounded=unbounded,
    )


def _rho_path(
    loss: Rho, mu: Floats, features: PublicFeatures, penalty: Floats, start: Floats, max_iterations: int
) -> RiskSolution:
    """Follow smooth losses to the kink.

    The slopes s_i of a smooth loss are feasible for the dual problem (|s_i| <= rho), and at its minimum stationary; so
    the mean of rho |z_i| - s_i z_i, for z_i the score, bounds how far the value is above the least one.
    """
    pull = 0.5 * loss.odd * mu
    theta, iterations = start, 0
    unhinged: Floats = np.linalg.pinv(penalty, hermitian=True) @ pull  # which scores farther than any that is meant
    width = features.root_mean_square(unhinged) if unhinged.any() else 1.0
    for _ in range(16):
        smooth = SmoothedRho(loss.rho, width)
        solved = _newton(smooth, mu, features, penalty, theta, max_iterations)
        theta, iterations = solved.theta, iterations + solved.iterations
        kinked = features.even(loss, theta, with_curvature=False).value / features.rows
        bent = features.even(smooth, theta, with_curvature=False).gradient / features.rows
        missed = float((pull - penalty @ theta - bent) @ theta)
        gap = kinked - 1.0 - float(bent @ theta) + abs(missed)
        value = kinked - float(theta @ (pull - 0.5 * penalty @ theta))
        if solved.unbounded or gap <= _GAP * (1 + abs(value)):
            break
        width *= _NARROWER
    if not solved.unbounded and value >= 1.0 - gap:  # at zero the risk is 1
        theta, value = np.zeros_like(theta), 1.0
    unknown = np.full_like(penalty, np.nan)
    done = gap <= 1e3 * _GAP * (1 + abs(value))
    return RiskSolution(theta, value, unknown, iterations, done and not solved.unbounded, solved.unbounded, gap)


def _risk(loss: Loss, theta: Floats, mu: Floats, features: PublicFeatures) -> tuple[float, Floats]:
    sums = features.even(loss, theta, with_curvature=False)
    pull = 0.5 * loss.odd * mu
    return sums.value / sums.rows - float(theta @ pull), sums.gradient / sums.rows - pull


def _softmax_risk(theta: Floats, mu: Floats, features: PublicFeatures) -> tuple[float, Floats]:
    """The risk of K rows of parameters, of which one is redundant to the risk but maybe not to a regulariser."""
    sums = features.log_partition(theta[1:] - theta[0])
    shared, mean = summing_to_the_mean(mu, features), features.mean_row
    free = -sums.gradient.reshape(len(theta) - 1, -1) / sums.rows
    gradient = np.vstack([mean - free.sum(axis=0), free]) - shared
    value = -sums.objective / sums.rows + float(theta[0] @ mean) - float((theta * shared).sum())
    return value, gradient


def _start_from(part: RiskSolution) -> Floats:
    """Where to start: from the solution of a part of the data, if it has one."""
    return part.theta if part.converged else np.zeros_like(part.theta)


def _second(sums: EvenSums) -> Floats:
    return np.zeros((len(sums.gradient), len(sums.gradient))) if sums.curvature is None else sums.curvature
