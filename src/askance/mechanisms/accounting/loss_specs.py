"""Privacy losses from JSON: the one place that knows every kind of loss by name."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from askance.channels.specs import channel_from_spec
from askance.errors import InvalidInput
from askance.mechanisms.accounting.balanced_loss import BalancedGaussianLoss, BalancedLaplaceLoss, TruncatedLaplaceLoss
from askance.mechanisms.accounting.dirichlet_loss import DirichletLoss
from askance.mechanisms.accounting.gaussian_loss import GaussianLoss
from askance.mechanisms.accounting.laplace_loss import LaplaceLoss, RoundedLaplaceLoss
from askance.mechanisms.accounting.level_loss import LevelLoss
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.accounting.radial_loss import RadialLoss
from askance.mechanisms.accounting.response_loss import ChannelLoss
from askance.mechanisms.accounting.worst_loss import WorstLoss

EVERY_LOSS: tuple[type[PrivacyLoss], ...] = (
    LevelLoss,
    ChannelLoss,
    GaussianLoss,
    LaplaceLoss,
    RoundedLaplaceLoss,
    RadialLoss,
    BalancedLaplaceLoss,
    TruncatedLaplaceLoss,
    BalancedGaussianLoss,
    DirichletLoss,
    WorstLoss,
)
_BY_KIND = {loss.kind: loss for loss in EVERY_LOSS}
_LEAST, _MOST = Fraction(1, 10**30), Fraction(10**30)  # numbers that noise can have, and doubles can hold


def loss_from_dict(spec: Mapping[str, Any]) -> PrivacyLoss:
    """Make the loss that :meth:`PrivacyLoss.to_dict` described.

    Examples
    --------
    >>> loss_from_dict({"loss": "gaussian", "ratio": "1/4"})
    GaussianLoss(ratio=Fraction(1, 4))
    """
    if not isinstance(spec, Mapping) or spec.get("loss") not in _BY_KIND:
        raise InvalidInput(f"a privacy loss {spec!r}", f"one of {', '.join(_BY_KIND)}")
    parameters: dict[str, Any] = {name: value for name, value in spec.items() if name != "loss"}
    made_by: Callable[..., PrivacyLoss] = LevelLoss.of if spec["loss"] == LevelLoss.kind else _BY_KIND[spec["loss"]]
    try:
        if spec["loss"] == ChannelLoss.kind:
            parameters = {"channel": channel_from_spec(parameters["channel"])}
        elif spec["loss"] == WorstLoss.kind:
            parameters = {"losses": tuple(map(loss_from_dict, parameters["losses"]))}
        elif spec["loss"] != LevelLoss.kind:
            parameters = {name: _number(value) for name, value in parameters.items()}
        return made_by(**parameters)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InvalidInput(f"a privacy loss {spec!r} ({error})", "one that a ledger or a release wrote") from None


def _number(value: Any) -> int | Fraction:
    """Read a positive number; files come from strangers, and so may numbers that nothing can hold."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MOST:
        return value
    if isinstance(value, str) and len(value) <= 1000 and set(value) <= set("0123456789/"):
        number = Fraction(value)
        if _LEAST <= number <= _MOST:
            return number
    raise ValueError(f"the number {str(value)[:40]!r}")
