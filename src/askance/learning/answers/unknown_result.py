"""What a fit with unknown numbers found: numbers only, nothing of the data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from askance.arrays import Floats
from askance.solvers.profile_likelihood import Profile


@dataclass(frozen=True, eq=False)
class UnknownTest:
    """The likelihood-ratio test that an unknown number has no effect, such as that nobody cheats.

    Its null hypothesis is at the border of what is possible, so that the ratio is 0 with probability one half:
    half of a chi-square with one degree of freedom.
    """

    null: float
    statistic: float
    degrees: float = math.inf

    @property
    def p_value(self) -> float:
        """The probability of such a ratio if people do as they were asked."""
        from scipy.special import ndtr, stdtr

        root = -math.sqrt(max(self.statistic, 0.0))
        return 1.0 if not root else float(ndtr(root) if math.isinf(self.degrees) else stdtr(self.degrees, root))


@dataclass(frozen=True, eq=False)
class UnknownFit:
    """Numbers only: nothing of the data is kept. Covariances are of all parameters: the model's, then the logits'."""

    theta: Floats
    gammas: tuple[Floats, ...]
    names: tuple[str, ...]
    information_covariance: Floats
    sandwich_covariance: Floats
    log_likelihood: float
    rows: int
    iterations: int
    converged: bool
    notes: tuple[str, ...]
    penalised: tuple[str, ...]
    at_mean: tuple[float, ...]  # logits of the unknown numbers at the mean of their covariates
    profiles: Mapping[int, Profile] = field(default_factory=dict)  # by place among the parameters
    tests: Mapping[str, UnknownTest] = field(default_factory=dict)
    degrees: Floats | None = None  # of freedom of each parameter, in samples of clusters or with replicate weights
    simple_covariance: Floats | None = None  # as if as many people had been drawn one by one, with equal weights
