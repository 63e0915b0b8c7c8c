"""The mean operator: all that a linear model under a linear-odd loss needs to know about the labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.channels.alphabet import Label, as_labels
from askance.channels.guarantee import Guarantee
from askance.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class MeanOperator:
    """A total of features by label, as it is or as somebody released it.

    Parameters
    ----------
    values : array
        For two classes, of length d: (1/m) sum y_i x_i, where y is -1 for the first class and 1 for the second. For K
        classes, K x d: (1/m) sum 1[y_i = k] x_i. For a model with an intercept, the first feature is 1 for everybody.
    classes : tuple of labels
    rows : int
        How many people m there are.
    noise_variance : array like ``values``, optional
        The variance of the noise that was added to each value, or with which it was estimated; none if not given.
    noise_covariance : array, optional
        Of the noise of all values, flattened, where it is known that they go together; ``noise_variance`` is then its
        diagonal. Independent noise if not given.
    guarantee : Guarantee, optional
        How well the labels behind it are protected, where it was made of hidden ones.

    Examples
    --------
    >>> MeanOperator([0.5, -1.0], classes=("no", "yes"), rows=100).width
    2
    """

    values: Any
    classes: tuple[Label, ...]
    rows: int
    noise_variance: Any = None
    noise_covariance: Any = None
    guarantee: Guarantee | None = None

    def __post_init__(self) -> None:
        classes = as_labels(self.classes, "classes")
        values = np.array(self.values, dtype=float)
        wanted = "one number a feature" if len(classes) == 2 else f"{len(classes)} rows, one number a feature in each"
        if values.ndim != (1 if len(classes) == 2 else 2) or (len(classes) > 2 and len(values) != len(classes)):
            raise InvalidInput(f"a mean operator of shape {values.shape} for {len(classes)} classes", wanted)
        if not np.isfinite(values).all():
            raise InvalidInput("a mean operator with values that are not finite", "finite numbers")
        covariance = None if self.noise_covariance is None else np.array(self.noise_covariance, dtype=float)
        if covariance is not None:
            if covariance.shape != (values.size, values.size) or not np.isfinite(covariance).all():
                raise InvalidInput(f"a noise covariance of shape {covariance.shape}", f"{(values.size, values.size)}")
            vars(self)["noise_variance"] = np.maximum(np.diag(covariance), 0.0).reshape(values.shape)
        noise = np.zeros_like(values) if self.noise_variance is None else np.array(self.noise_variance, dtype=float)
        if noise.shape != values.shape or not np.all(noise >= 0):
            raise InvalidInput(f"noise variances of shape {noise.shape}", f"{values.shape}, none of them negative")
        if isinstance(self.rows, bool) or self.rows < 1:
            raise InvalidInput(f"rows={self.rows!r}", "how many people there are: at least 1")
        vars(self).update(values=values, classes=classes, rows=int(self.rows), noise_variance=noise)
        vars(self)["noise_covariance"] = np.diag(noise.ravel()) if covariance is None else covariance

    @property
    def width(self) -> int:
        """How many features there are."""
        return int(self.values.shape[-1])
