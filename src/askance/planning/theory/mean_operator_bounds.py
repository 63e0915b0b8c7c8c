"""What noise in the mean operator does to the model that is learned from it: theorems 6 and 10 of [MO]."""

import math

from askance.errors import InvalidInput


def parameter_bound(distance: float, ridge: float, odd: float = 1.0) -> float:
    """Bound how far noise in the mean operator can move the parameters of a ridge fit: ``|a| |mu - mu~| / (2 ridge)``.

    *Proof.* What :class:`~askance.MeanOperatorClassifier` minimises, ``even part - (a/2) theta.mu + (ridge/2)
    |theta|^2``, is strongly convex with constant ridge, and its gradients for two mean operators differ by
    ``(a/2) (mu - mu~)``. Theorem 6 prints ``|mu - mu~| / lambda`` for the penalty ``lambda |theta|^2``, which is
    ``ridge = 2 lambda``: the bound is then ``|a| |mu - mu~| / (4 lambda)``, and what is printed holds for
    ``|a| <= 4`` only.

    Parameters
    ----------
    distance : float
        Between the two mean operators, in the 2-norm.
    ridge : float
        As of :class:`~askance.MeanOperatorClassifier`.
    odd : float
        a of the loss, where f(z) - f(-z) = -a z: 1 for the logistic loss.

    Examples
    --------
    >>> parameter_bound(0.5, ridge=0.25)
    1.0
    >>> parameter_bound(0.5, ridge=0.25, odd=4.0)  # of the square loss
    4.0
    """
    if not ridge > 0 or not distance >= 0:
        raise InvalidInput(f"distance={distance:g}, ridge={ridge:g}", "a distance, and a positive ridge")
    return abs(odd) * distance / (2 * ridge)


def noise_bound(width: int, scale: float, failure: float) -> float:
    """Bound the 2-norm of Laplace noise: it is at most sqrt(d) scale log(d / failure) with probability 1 - failure.

    Some coordinate is beyond scale log(d / failure) with at most that probability, and if none is the norm is at most
    sqrt(d) times as much.

    Examples
    --------
    >>> round(noise_bound(1, 1.0, failure=0.05), 4)
    2.9957
    """
    if width < 1 or not scale >= 0 or not 0 < failure < 1:
        raise InvalidInput(
            f"width={width}, scale={scale:g}, failure={failure:g}",
            "at least one value, a scale, and a probability between 0 and 1",
        )
    return math.sqrt(width) * scale * math.log(width / failure)


def risk_bound(width: int, rows: int, epsilon: float, radius: float, failure: float, odd: float = 1.0) -> float:
    """Bound how far Laplace noise moves the risk of any theta no longer than a radius: theorem 10, corrected.

    ``|L(mu, theta) - L(mu~, theta)| <= (|a| / 2) radius |b|`` with noise b of scale ``2 / (rows epsilon)``, for
    features of 1-norm at most 1. As printed the bound lacks sqrt(d), and fails far more often than it says.

    Parameters
    ----------
    width, rows : int
        How many features and people there are.
    epsilon : float
    radius : float
        The longest theta.
    failure : float
        With this probability the bound may fail.
    odd : float
        a of the loss, 1 for the logistic loss.

    Examples
    --------
    >>> round(risk_bound(width=31, rows=10_000, epsilon=1.0, radius=5.0, failure=0.05), 4)
    0.0179
    """
    if rows < 1 or not epsilon > 0 or not radius >= 0:
        raise InvalidInput(
            f"rows={rows}, epsilon={epsilon:g}, radius={radius:g}", "people, a positive epsilon, and a radius"
        )
    return abs(odd) / 2 * radius * noise_bound(width, 2 / (rows * epsilon), failure)
