"""What coordinate release and per-value response share: values in [0, bound], reported as noisy bits."""

from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.channel import Prepared
from askance.channels.rows.vectors import VectorChannel, checked_bound, checked_dim, checked_epsilon, count_outside
from askance.entropy.bernoulli import NoisyBit
from askance.entropy.bits import BitSource
from askance.errors import InvalidInput

Calibration = Literal["tight", "paper"]


class BitChannel(VectorChannel):
    """A vector channel whose reports are bits; a subclass says which, and how much of epsilon each may cost."""

    epsilon: float
    bound: float
    calibration: Calibration

    def __post_init__(self) -> None:
        vars(self).update(
            dim=checked_dim(self.dim),
            epsilon=checked_epsilon(self.epsilon),
            bound=checked_bound(self.bound),
            calibration=_checked_calibration(self.calibration),
        )

    @cached_property
    def bit(self) -> NoisyBit:
        """The law of each bit: what is really drawn from."""
        raise NotImplementedError

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, self.bound

    def prepare(self, truth: Any) -> Prepared:
        whole = _zeros_and_ones(truth, self.dim) if self.bound == 1 else None
        return super().prepare(truth) if whole is None else Prepared(whole)

    def _draw_bits(self, values: NDArray[Any], bits: BitSource) -> NDArray[np.uint8]:
        """Draw a bit for each prepared value."""
        return self.bit.flip(values, bits) if values.dtype == np.uint8 else self.bit.draw(values, self.bound, bits)

    def _fractions(self, truth: Any) -> Floats:
        """The shares of the bound, for what is averaged over people."""
        inside = self.clip(truth)[0]
        if not len(inside):
            raise InvalidInput("no rows", "at least one, to average over")
        return inside / self.bound


def _checked_calibration(calibration: Any) -> Calibration:
    if not isinstance(calibration, str) or calibration not in ("tight", "paper"):
        raise InvalidInput(f"calibration={calibration!r}", "'tight' or 'paper'")
    return calibration  # type: ignore[return-value]


def _zeros_and_ones(truth: Any, columns: int) -> NDArray[np.uint8] | None:
    """Whole numbers that need no rounding, as bytes; None if the truth is something else, or has faults."""
    if not isinstance(truth, np.ndarray) or truth.dtype.kind not in "biu" or truth.ndim != 2:
        return None
    whole = np.ascontiguousarray(truth)
    if truth.shape[1] != columns or count_outside(whole.reshape(-1), 0, 1):
        return None
    return whole.astype(np.uint8, copy=False)
