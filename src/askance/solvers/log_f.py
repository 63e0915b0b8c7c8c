"""The log-F(1, 1) penalty: keeps parameters on the logit scale finite, and reverses no sign.

f(b) = b / 2 - log(1 + e^b) is the logarithm of the density of log F(1, 1), which is as much as one answer, half "yes"
and half "no", adds to a likelihood. It grows linearly, not quadratically: large effects are hardly shrunk. For K
classes, f(b) is the mean over classes of the logarithm of softmax(b), which no class is the reference of.

Greenland & Mansournia (2015), Penalization, bias reduction, and default priors in logistic and related models.
"""

from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats
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
        moved = (flat.reshape(free, width) - self.centre) * self.scale
        used = np.flatnonzero(self.scale)
        law = posterior(np.ascontiguousarray(moved.T))
        probabilities = law.probabilities[:, 1:]
        even = 1.0 / (free + 1)
        value = self.weight * float((even * moved[:, used].sum()) - law.log_partition[used].sum())
        gradient = self.weight * (even - probabilities).T * self.scale
        information = np.zeros((free, width, free, width))
        for column in used:
            p = probabilities[column]
            curvature = self.weight * self.scale[column] ** 2 * (np.diag(p) - np.outer(p, p))
            information[:, column, :, column] = curvature
        size = free * width
        return Local(value, gradient.ravel(), information.reshape(size, size))
