"""Outcomes that are seen, given a hidden answer: linear, yes or no, counts, ordered classes."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit, gammaln, log_expit, logit

from askance.arrays import Floats
from askance.channels.alphabet import listed
from askance.errors import InvalidInput
from askance.learning.surveys.cumulative_links import OrderedClasses
from askance.learning.surveys.hidden_states import Factor, FactorValue

Family = Literal["linear", "logistic", "poisson", "ordered"]
FAMILIES: tuple[Family, ...] = ("linear", "logistic", "poisson", "ordered")

_LARGEST_LOG = 700.0  # exp of more is infinite
_MOST_CLASSES = 20  # of an ordered outcome: with more it is a number
# Of a linear outcome around its line, against its own: a likelihood that gets there has found two values, not a spread.
LEAST_LOG_SPREAD = -8.0
_HALF = 0.5  # added to counts of which a logarithm is taken


@dataclass(frozen=True, eq=False)
class LinearOutcome:
    """A normal outcome: parameters are coefficients, and the logarithm of the standard deviation around the line.

    ``design`` is n x states x d.
    """

    design: Floats
    outcome: Floats

    @property
    def size(self) -> int:
        return int(self.design.shape[2]) + 1

    def at(self, theta: Floats) -> FactorValue:
        if theta[-1] < LEAST_LOG_SPREAD:  # no law: the solver takes a shorter step
            flat = np.zeros((*self.design.shape[:2], self.size))
            return FactorValue(np.full(self.design.shape[:2], -np.inf), flat, lambda _: np.zeros((self.size,) * 2))
        precision = float(np.exp(-2 * theta[-1]))
        left = self.outcome[:, None] - self.design @ theta[:-1]
        value = -0.5 * left**2 * precision - theta[-1] - 0.5 * np.log(2 * np.pi)
        score = np.concatenate(
            [(left * precision)[:, :, None] * self.design, (left**2 * precision - 1)[:, :, None]], axis=2
        )

        def curvature(weights: Floats) -> Floats:
            flat, heft, off = self.design.reshape(-1, self.size - 1), weights.ravel(), left.ravel()
            second = np.empty((self.size, self.size))
            second[:-1, :-1] = -precision * (flat * heft[:, None]).T @ flat
            second[:-1, -1] = second[-1, :-1] = -2 * precision * (heft * off) @ flat
            second[-1, -1] = -2 * precision * float(heft @ off**2)
            return second

        return FactorValue(value, score, curvature)


@dataclass(frozen=True, eq=False)
class OneParameterOutcome:
    """An outcome whose mean is a function of the linear predictor: yes or no (logit), or a count (logarithm)."""

    design: Floats
    outcome: Floats
    counts: bool

    @property
    def size(self) -> int:
        return int(self.design.shape[2])

    def at(self, theta: Floats) -> FactorValue:
        eta = self.design @ theta
        seen = self.outcome[:, None]
        if self.counts:
            mean = np.exp(np.minimum(eta, _LARGEST_LOG))
            value, spread = seen * eta - mean - gammaln(seen + 1), mean
        else:
            mean = expit(eta)
            value, spread = seen * log_expit(eta) + (1 - seen) * log_expit(-eta), mean * (1 - mean)
        score = (seen - mean)[:, :, None] * self.design

        def curvature(weights: Floats) -> Floats:
            flat = self.design.reshape(-1, self.size)
            return np.asarray(-(flat * (weights * spread).reshape(-1, 1)).T @ flat)

        return FactorValue(value, score, curvature)


@dataclass(frozen=True, eq=False)
class Outcome:
    """An outcome as it was checked: numbers, or codes of classes, and how to go back from what the solver uses.

    Parameters
    ----------
    family : Family
    values : array, n
        The outcome; of a linear one, centred and of variance one.
    classes : tuple
        Of yes-or-no and ordered outcomes, in their order.
    centre, scale : float
        Of a linear outcome as it came.
    """

    family: Family
    values: Floats
    classes: tuple[Any, ...] = ()
    centre: float = 0.0
    scale: float = 1.0

    @classmethod
    def of(cls, family: str, outcome: Any, order: Any = None) -> "Outcome":
        """Check an outcome; ``order`` gives the classes of an ordered or yes-or-no one, the least first."""
        if family not in FAMILIES:
            raise InvalidInput(f"family={family!r}", "'linear', 'logistic', 'poisson' or 'ordered'")
        column = np.asarray(outcome, dtype=None if hasattr(outcome, "dtype") else object)
        if column.ndim != 1 or not len(column):
            raise InvalidInput(f"an outcome of shape {column.shape}", "one value for each person")
        if family in ("logistic", "ordered"):
            return cls._of_classes(family, column, order)
        numbers = _numbers(column)
        if family == "poisson":
            odd = (numbers < 0) | (numbers != np.floor(numbers))
            if odd.any():
                row = int(odd.argmax())
                raise InvalidInput(
                    f"{int(odd.sum())} outcomes that are no counts (first {numbers[row]:g} in row {row})",
                    "whole numbers of at least 0 for family='poisson'",
                )
            _refuse_constant(numbers)
            return cls("poisson", numbers)
        _refuse_constant(numbers)
        centre, scale = float(numbers.mean()), float(numbers.std())
        return cls("linear", (numbers - centre) / scale, centre=centre, scale=scale)

    @classmethod
    def _of_classes(cls, family: Any, column: Any, order: Any) -> "Outcome":
        plain = [value.item() if isinstance(value, np.generic) else value for value in column.tolist()]
        missing = [row for row, value in enumerate(plain) if value is None or value != value]
        if missing:
            raise InvalidInput(
                f"{len(missing)} outcomes that are missing (first in row {missing[0]})", "one in each row"
            )
        found = list(dict.fromkeys(plain))
        classes = sorted(found) if order is None else list(order)
        strangers = [value for value in found if value not in classes]
        if strangers:
            raise InvalidInput(f"outcomes {listed(strangers, 5)}", f"some of {listed(classes)}")
        if family == "logistic" and len(classes) != 2:
            raise InvalidInput(
                f"an outcome of {len(classes)} classes, {listed(classes, 5)}, for family='logistic'",
                "two classes",
                "More classes in an order are for family='ordered', numbers for 'linear' or 'poisson'.",
            )
        if family == "ordered" and not 3 <= len(classes) <= _MOST_CLASSES:
            raise InvalidInput(
                f"an outcome of {len(classes)} classes for family='ordered'", f"from 3 to {_MOST_CLASSES} classes"
            )
        absent = [label for label in classes if label not in found]
        if absent:
            raise InvalidInput(
                f"no outcome {listed(absent, 5)}", "every class to occur", "Leave it out of the classes."
            )
        codes = {label: float(code) for code, label in enumerate(classes)}
        return cls(family, np.array([codes[value] for value in plain]), tuple(classes))

    def factor(self, design: Floats) -> Factor:
        """Return the law of the outcome; ``design`` is n x states x d, its first column being ones."""
        if self.family == "linear":
            return LinearOutcome(design, self.values)
        if self.family == "ordered":
            taken = np.broadcast_to(self.values.astype(np.int64)[:, None], design.shape[:2])
            return OrderedClasses("logit", design[:, :, 1:], taken, len(self.classes))
        return OneParameterOutcome(design, self.values, self.family == "poisson")

    def start(self, slopes: int) -> Floats:
        """Where the search begins: no effects, and the mean of the outcome."""
        none = np.zeros(slopes)
        if self.family == "linear":
            return np.concatenate([[0.0], none, [0.0]])
        if self.family == "ordered":
            seen = np.bincount(self.values.astype(np.int64)) + _HALF
            return np.concatenate([none, logit(np.cumsum(seen)[:-1] / seen.sum())])
        mean = float(self.values.mean())
        return np.concatenate([[np.log(mean) if self.family == "poisson" else logit(mean)], none])

    @property
    def logits(self) -> bool:
        """Whether coefficients are on the scale of logits, or of logarithms: where the penalty has its unit."""
        return self.family != "linear"

    @property
    def extra(self) -> tuple[str, ...]:
        """Names of parameters after the coefficients."""
        if self.family == "linear":
            return ("log standard deviation",)
        if self.family == "ordered":
            return tuple(f"{a} | {b}" for a, b in zip(self.classes[:-1], self.classes[1:], strict=True))
        return ()


def _numbers(column: Any) -> Floats:
    try:
        numbers = column.astype(float)
    except (TypeError, ValueError):
        raise InvalidInput(
            "an outcome that is not a number", "numbers", "Two classes are for family='logistic', more for 'ordered'."
        ) from None
    missing = ~np.isfinite(numbers)
    if missing.any():
        raise InvalidInput(
            f"{int(missing.sum())} outcomes that are missing or not finite (first in row {int(missing.argmax())})",
            "a number in every row",
            "Drop these rows first.",
        )
    return np.asarray(numbers, dtype=np.float64)


def _refuse_constant(numbers: Floats) -> None:
    if np.ptp(numbers) <= 0:
        raise InvalidInput(f"an outcome that is {numbers[0]:g} in every row", "one that varies")
