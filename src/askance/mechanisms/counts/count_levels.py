"""Whether the counts of a bag were hidden at the level that somebody claims, by the numbers of their mechanism.

A mechanism fits a level if it keeps to it, and if noise calibrated for that level would not have been smaller. So
neither a better level can be claimed for it, nor can noise be claimed that the level did not need.
"""

import math

from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.balanced_counts import (
    LARGEST_RADIUS,
    BalancedGaussian,
    TruncatedLaplace,
    balanced_gaussian_delta,
)
from askance.mechanisms.counts.count_mechanisms import CountMechanism
from askance.mechanisms.counts.dirichlet_counts import SoundDirichlet, dirichlet_delta, largest_useful_scale
from askance.mechanisms.counts.dirichlet_draws import PaperDirichlet
from askance.mechanisms.counts.independent_counts import IndependentGaussian
from askance.mechanisms.counts.sum_zero_vectors import rim_probabilities

_SAME = 1e-12  # relative: levels are written as doubles, and scales are quotients of them
# Relative: calibration rounds variances to six digits and more, and bounds deltas from above by up to 1e-4.
_ONE_STEP = 1e-3


def fits_level(law: CountMechanism, budget: Budget) -> bool:
    """Whether a mechanism has this level, and was calibrated for it.

    Examples
    --------
    >>> from askance.mechanisms.counts import calibrated
    >>> law = calibrated("discrete-laplace", 100, 3, Budget.of(1))
    >>> fits_level(law, Budget.of(1)), fits_level(law, Budget.of("0.1")), fits_level(law, Budget.of(2))
    (True, False, False)
    """
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    if isinstance(law, PaperDirichlet):
        return False
    if isinstance(law, SoundDirichlet):
        return delta > 0 and _dirichlet_fits(law, epsilon, delta)
    if isinstance(law, IndependentGaussian):
        return delta > 0 and math.isclose(
            float(law.deviation), float(IndependentGaussian.calibrated(law.classes, budget).deviation), rel_tol=1e-9
        )
    if isinstance(law, BalancedGaussian):
        return delta > 0 and _gaussian_fits(law, epsilon, delta)
    if not math.isclose(2 / float(law.scale), epsilon, rel_tol=_SAME):
        return False
    if isinstance(law, TruncatedLaplace):
        return _truncated_fits(law, epsilon, delta)
    return delta == 0


def _truncated_fits(law: TruncatedLaplace, epsilon: float, delta: float) -> bool:
    if law.radius > LARGEST_RADIUS:  # more than any calibration gives, and than memory holds
        return False
    rims = rim_probabilities(law.classes, epsilon, law.radius)
    return bool(rims[-1] <= delta and (law.radius == 1 or rims[-2] * (1 + _ONE_STEP) > delta))


def _gaussian_fits(law: BalancedGaussian, epsilon: float, delta: float) -> bool:
    variance = float(law.variance)
    kept = balanced_gaussian_delta(variance, law.classes, epsilon) <= delta
    # Deltas of a small variance are no smooth function of it: a step of the calibration is looked at.
    less = balanced_gaussian_delta(variance * (1 - _ONE_STEP), law.classes, epsilon)
    return kept and less > delta


def _dirichlet_fits(law: SoundDirichlet, epsilon: float, delta: float) -> bool:
    scale, pseudo_count = float(law.scale), float(law.pseudo_count)
    if law.draws != law.draws_of(law.scale, law.pseudo_count, law.total, law.classes):
        return False
    if dirichlet_delta(scale, pseudo_count, law.total, law.classes, epsilon) > delta:
        return False
    more = scale * (1 + _ONE_STEP)
    at_the_end = more >= largest_useful_scale(pseudo_count, law.total, law.classes)
    return at_the_end or dirichlet_delta(more, pseudo_count, law.total, law.classes, epsilon) > delta
