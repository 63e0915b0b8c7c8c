"""What each mechanism of the package costs: from what is drawn to its privacy loss."""

from collections.abc import Callable
from typing import Any

from askance.errors import InvalidInput
from askance.mechanisms.accounting.balanced_loss import BalancedGaussianLoss, BalancedLaplaceLoss, TruncatedLaplaceLoss
from askance.mechanisms.accounting.dirichlet_loss import DirichletLoss
from askance.mechanisms.accounting.gaussian_loss import GaussianLoss
from askance.mechanisms.accounting.laplace_loss import LaplaceLoss, RoundedLaplaceLoss
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.accounting.radial_loss import RadialLoss
from askance.mechanisms.accounting.worst_loss import WorstLoss
from askance.mechanisms.counts.count_mechanisms import CountMechanism
from askance.mechanisms.total_noise import Sensitivity, TotalNoise

# By the names that releases have.
_OF_TOTALS: dict[str, Callable[[Any, Sensitivity], PrivacyLoss]] = {
    "laplace": lambda noise, moved: LaplaceLoss(moved.one, noise.scale),
    "knorm": lambda noise, moved: RadialLoss(moved.two / noise.scale, noise.count),
    "gaussian": lambda noise, moved: GaussianLoss(moved.two / noise.deviation),
}
# One label that changes moves two counts by one: sqrt(2) in the 2-norm, rounded up.
_TWO_COUNTS = Sensitivity(one=2, squared_two=2, count=2)
_OF_COUNTS: dict[str, Callable[[Any], PrivacyLoss]] = {
    "discrete-laplace": lambda law: BalancedLaplaceLoss(law.scale, law.classes),
    "truncated-laplace": lambda law: TruncatedLaplaceLoss(law.scale, law.radius, law.classes),
    "discrete-gaussian": lambda law: BalancedGaussianLoss(law.variance, law.classes),
    "laplace": lambda law: RoundedLaplaceLoss(law.scale),
    "gaussian": lambda law: GaussianLoss(_TWO_COUNTS.two / law.deviation),
    "laplace-prior": lambda law: RoundedLaplaceLoss(law.scale),  # what is drawn from the noisy counts tells no more
    "dirichlet": lambda law: DirichletLoss(law.scale, law.pseudo_count, law.total, law.classes),
}


def total_loss(noise: TotalNoise, sensitivity: Sensitivity) -> PrivacyLoss:
    """Return what noise on totals costs, by how far one person can move them.

    Examples
    --------
    >>> from askance.mechanisms import Budget, Sensitivity, TotalGaussian
    >>> moved = Sensitivity(one=3, squared_two=5, count=4)
    >>> loss = total_loss(TotalGaussian.calibrated(moved, Budget.of(1, "1e-6")), moved)
    >>> round(1 / float(loss.ratio), 4)
    4.2247
    """
    return _OF_TOTALS[noise.name](noise, sensitivity)


def counts_loss(laws: list[CountMechanism]) -> PrivacyLoss:
    """Return what counts of bags cost somebody who is in one of them only.

    Examples
    --------
    >>> from askance.mechanisms import Budget
    >>> from askance.mechanisms.counts import calibrated
    >>> counts_loss([calibrated("discrete-laplace", 100, 3, Budget.of(1))] * 20)
    BalancedLaplaceLoss(scale=Fraction(2, 1), classes=3)
    """
    losses = dict.fromkeys(count_loss(law) for law in laws)
    return WorstLoss(tuple(losses)) if len(losses) > 1 else next(iter(losses))


def count_loss(law: CountMechanism) -> PrivacyLoss:
    """Return what the counts of one bag cost."""
    if law.name not in _OF_COUNTS:
        raise InvalidInput(f"mechanism={law.name!r}, which has no guarantee", f"one of {', '.join(_OF_COUNTS)}")
    return _OF_COUNTS[law.name](law)
