"""What is decided before labels are added up: the shape of the features, the mechanism, and what is to be expected."""

import math
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes
from askance.channels.alphabet import Alphabet, Label
from askance.channels.guarantee import OTHER_LABEL, Guarantee
from askance.entropy.bits import BitSource
from askance.errors import InvalidInput
from askance.frames import column_names
from askance.mechanisms.budget import Budget
from askance.mechanisms.sums.label_shape import LabelShape, ShapedRows
from askance.mechanisms.sums.label_sums import FeaturesTooLarge, LabelSums, sum_by_label
from askance.mechanisms.sums.mean_operator_mechanisms import (
    Drawn,
    SumMechanism,
    choose_sum_mechanism,
    possible_mechanisms,
)
from askance.mechanisms.sums.shape_choice import choose_shape

Mechanism = Literal["auto", "laplace", "knorm", "gaussian", "response"]
Shape = LabelShape | Literal["auto", "none"]
NEIGHBOURS = f"{OTHER_LABEL}; features and the number of people are public"


NEAR_GUESSING = 0.25  # of the way from guessing to a clean model: less is hardly worth a budget


@dataclass(frozen=True, eq=False)
class LabelTask:
    """Labels and features whose total is decided upon and not yet drawn."""

    rows: NDArray[Any] | ShapedRows
    codes: Codes
    classes: tuple[Label, ...]
    columns: tuple[str, ...]
    intercept: bool
    sums: LabelSums
    asked: Budget
    mechanism: SumMechanism
    predicted: dict[str, float]
    shape: LabelShape | None

    @classmethod
    def decided(
        cls,
        features: NDArray[Any],
        columns: tuple[str, ...],
        codes: Codes,
        classes: tuple[Label, ...],
        budget: Budget,
        mechanism: str,
        intercept: bool,
        shape: Any = "auto",
    ) -> Self:
        """Decide on shape and mechanism, from features and the level alone."""
        if mechanism not in get_args(Mechanism):
            raise InvalidInput(f"mechanism={mechanism!r}", f"one of {', '.join(get_args(Mechanism))}")
        _check_shape(shape, features.shape[1])
        norms = math.inf, math.inf
        try:
            sums = sum_by_label(features, codes, len(classes), intercept)
            norms = sums.one_norm * sums.step, float(sums.squared_two_norm) * sums.step**2
        except FeaturesTooLarge:
            if shape == "none":
                raise
        if norms[0] == 0:
            raise InvalidInput("features that are all zero", "features that say something")
        choice = None
        taken = shape if isinstance(shape, LabelShape) else None
        if shape == "auto":
            names = possible_mechanisms(mechanism, budget)
            choice = choose_shape(features, norms, names, budget, len(classes), intercept)
            taken = choice.shape
        rows: NDArray[Any] | ShapedRows = features
        if taken is not None:
            rows = ShapedRows(features, taken)
            sums = sum_by_label(rows, codes, len(classes), intercept)
            mechanism = mechanism if choice is None else choice.mechanism
            if choice is not None and mechanism != "gaussian":
                budget = Budget(budget.epsilon)  # a delta that is not used is not asked for
        chosen, predicted = choose_sum_mechanism(mechanism, sums, budget, classes)
        return cls(rows, codes, classes, columns, intercept, sums, budget, chosen, predicted, taken)

    def draw(self, source: BitSource) -> Drawn:
        """Draw the noise."""
        return self.mechanism.draw(self.sums, self.rows, self.codes, source)


def label_guarantee(mechanism: SumMechanism) -> Guarantee:
    """Return what a mechanism promises about labels."""
    return Guarantee(
        mechanism.epsilon, float(mechanism.cost.delta), protects="one person's label", neighbours=NEIGHBOURS
    )


def label_codes(y: Any, labels: tuple[Label, ...]) -> Codes:
    """Return which label each person has; two numbers are compared at the speed of memory."""
    numbers = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biuf"
    if numbers and len(labels) == 2 and not any(isinstance(label, str) for label in labels):
        second: NDArray[np.bool_] = y == labels[1]
        if (second | (y == labels[0])).all():
            return second.view(np.uint8)
    return Alphabet(labels, "label").encode(y)  # which also says what is wrong


def feature_table(X: Any, columns: Any) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return features as a table of numbers without a copy where possible, and their names."""
    columns = column_names(X) if columns is None else columns
    features = np.asarray(X)
    if features.ndim != 2 or 0 in features.shape or features.dtype.kind not in "fiub":
        raise InvalidInput(f"features of shape {features.shape} and type {features.dtype}", "a table of numbers, m x d")
    names = tuple(map(str, columns)) if columns is not None else tuple(f"x{j}" for j in range(features.shape[1]))
    if len(names) != features.shape[1] or len(set(names)) < len(names):
        raise InvalidInput(f"{len(names)} column names for {features.shape[1]} features", "a name of its own for each")
    return features, names


def _check_shape(shape: Any, columns: int) -> None:
    if isinstance(shape, LabelShape):
        if shape.columns != columns:
            raise InvalidInput(f"a shape for {shape.columns} features", f"one for the {columns} that there are")
    elif not (isinstance(shape, str) and shape in ("auto", "none")):
        raise InvalidInput(f"shape={shape!r:.60}", "'auto', 'none', or the shape of another release")
