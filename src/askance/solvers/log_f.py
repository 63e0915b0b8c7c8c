"""The log-F(1, 1) penalty: keeps parameters on the logit scale finite, and reverses no sign.

f(b) = b / 2 - log(1 + e^b) is the logarithm of the density of log F(1, 1), which is as much as one answer, half "yes"
and half "no", adds to a likelihood. It grows linearly, not quadratically: large effects are hardly shrunk. For K
classes, f(b) is the mean over classes of the logarithm of softmax(b), which no class is the reference of.

Greenland & Mansournia (2015), Penalization, bias reduction, and default priors in logistic and related models.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askance.arrays import Floats, Integers
from askance.solvers.newton import Local
from askance.solvers.softmax import posterior


@dataclass(frozen=True, eq=False)
class LogF:
    """The penalty sum_j f(scale_j (theta_j - centre_j)) on the columns of parameters.

    Parameters
    ----------
    centre : array, K-1 x p
        Towards what the parameters are pulled. One row for two classes, and for parameters that are logits, each by
        itself.
    scale : array, p
        How much of the penalty's unit is one unit of each column; 0 leaves a column free.
    weight : float
        How many times the penalty counts.

    Examples
    --------
    >>> penalty = LogF(np.zeros((1, 2)), np.array([0.0, 1.0]))
    >>> round(penalty(np.array([5.0, 0.0])).value, 4)
    -0.6931
    """

    centre: Floats
    scale: Floats
    weight: float = 1.0

    @classmethod
    def about(cls, centre: Floats) -> "LogF":
        """The penalty on each of several logits by itself, in its own unit, about the values of ``centre``."""
        return cls(np.atleast_2d(np.asarray(centre, dtype=float)), np.ones(np.size(centre)))

    def __call__(self, flat: Floats) -> Local:
        """Value, gradient and information (minus the Hessian) at parameters flattened class by class."""
        free, width = self.centre.shape
        used = self._used
        value, probabilities = self._law(flat)
        gradient = self.weight * (1.0 / (free + 1) - probabilities).T * self.scale
        information = np.zeros((free, width, free, width))
        p = probabilities[used]
        spread = p[:, :, None] * np.eye(free) - p[:, :, None] * p[:, None, :]
        information[:, used, :, used] = (self.weight * self.scale[used] ** 2)[:, None, None] * spread
        size = free * width
        return Local(value, gradient.ravel(), information.reshape(size, size))

    @cached_property
    def _used(self) -> Integers:
        return np.flatnonzero(self.scale)

    def value(self, flat: Floats) -> float:
        """The value alone."""
        return self._law(flat)[0]

    def _law(self, flat: Floats) -> tuple[float, Floats]:
        """The value, and the probabilities of all classes but the first, columns x K-1."""
        moved = (flat.reshape(self.centre.shape) - self.centre) * self.scale
        used = self._used
        law = posterior(np.ascontiguousarray(moved.T))
        even = 1.0 / (len(self.centre) + 1)
        value = self.weight * float((even * moved[:, used].sum()) - law.log_partition[used].sum())
        return value, law.probabilities[:, 1:]
