"""What a mean operator would be worth, told before a label is looked at or a budget is spent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.channels.alphabet import Label, as_labels
from askance.channels.guarantee import Guarantee
from askance.mechanisms.budget import Budget, Number
from askance.mechanisms.sums.label_shape import LabelShape
from askance.mechanisms.sums.shape_choice import ShapeChoice, left_share, predicted_accuracy, variance_of_accuracy
from askance.releases.label_task import NEAR_GUESSING, LabelTask, Mechanism, Shape, feature_table, label_guarantee

# Weak, usual and strong labels: nobody knows how well features tell them before something is released.
SHOWN = (0.7, 0.85, 0.95)


@dataclass(frozen=True, eq=False)
class MeanOperatorPreview:
    """What a release would be: no label has been seen.

    Parameters
    ----------
    mechanism : str
    guarantee : Guarantee
    shape : LabelShape, optional
        What would be done to the features first.
    people, columns : int
    classes : tuple of labels

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> X = np.random.default_rng(0).normal(size=(2_000, 4))
    >>> preview = ask.preview_mean_operator(X, epsilon=1.0)
    >>> 0.8 < preview.accuracy(clean=0.85) < 0.85
    True
    """

    mechanism: Mechanism
    guarantee: Guarantee
    shape: LabelShape | None
    people: int
    columns: int
    classes: tuple[Label, ...]
    _left: Any

    def accuracy(self, clean: float = 0.85) -> float:
        """Return the share of labels that a model would get right, where one of clean labels would get ``clean``.

        How well features tell labels is private until it is released, so it must be supposed; and so must be in which
        directions they do, which is taken to be all alike. Of one data set the figure can be far off, either way, most
        where noise is strong. Six splits each, said and reached: digits above four at epsilon .1 .70 and .54, at .5
        .79 and .81; wine .65 and .49, .75 and .92.
        """
        classes = len(self.classes)
        predicted_accuracy(0.0, clean, classes)  # refuses what is no accuracy
        left = self._left(variance_of_accuracy(0.5 + (clean - 1 / classes) / (1 - 1 / classes) / 2))
        return predicted_accuracy(left, clean, classes)

    def gained(self, clean: float = 0.85) -> float:
        """Return how much of the way from guessing to a clean model the release would go: 0 to 1."""
        guess = 1 / len(self.classes)
        return (self.accuracy(clean) - guess) / (clean - guess)

    @property
    def is_near_guessing(self) -> bool:
        """Whether even labels that features tell well would hardly be told from such a release."""
        return self.gained() < NEAR_GUESSING

    @property
    def warning(self) -> str:
        """What to say of a release that is near guessing; nothing of others."""
        if not self.is_near_guessing:
            return ""
        return (
            "A model from this release would be near guessing: where clean labels give 85%, about "
            f"{self.accuracy():.0%} are expected of it ({self.people:,} people, {self.columns} features, "
            f"{self.guarantee.epsilon:g} for epsilon). A larger epsilon, more people or fewer features would help."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return {
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "people": self.people,
            "columns": self.columns,
            "directions": self.columns if self.shape is None else self.shape.width,
            "shaped": self.shape is not None,
            "predicted_accuracy": {f"{clean:g}": self.accuracy(clean) for clean in self._shown},
            "near_guessing": self.is_near_guessing,
        }

    @property
    def _shown(self) -> tuple[float, ...]:
        return tuple(clean for clean in SHOWN if clean > 1 / len(self.classes))

    def __str__(self) -> str:
        shape = "features as they are"
        if self.shape is not None:
            turned = "" if self.shape.axes is None else f", turned to {self.shape.width} directions"
            shape = f"features standardised{turned}{', long rows shortened' * (self.shape.cap is not None)}"
        lines = [
            f"{self.people:,} people, {self.columns} features; {self.mechanism}, {shape}",
            str(self.guarantee),
            "predicted accuracy, where clean labels would give",
            *(f"  {clean:.0%}: {self.accuracy(clean):.1%}" for clean in self._shown),
        ]
        return "\n".join(lines + [self.warning] * self.is_near_guessing)


def preview_mean_operator(
    X: Any,
    epsilon: Number,
    delta: Number = 0,
    mechanism: Mechanism = "auto",
    *,
    classes: Sequence[Any] | None = None,
    fit_intercept: bool = True,
    columns: Sequence[str] | None = None,
    shape: Shape = "auto",
) -> MeanOperatorPreview:
    """Tell what :func:`askance.release_mean_operator` would do and be worth, from public numbers alone.

    Parameters
    ----------
    X, epsilon, delta, mechanism, classes, fit_intercept, columns, shape
        As for :func:`askance.release_mean_operator`. Labels are not asked for.

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> X = np.random.default_rng(0).normal(size=(300, 30))
    >>> ask.preview_mean_operator(X, epsilon=0.01).is_near_guessing
    True
    """
    budget = Budget.of(epsilon, delta)
    labels = (-1, 1) if classes is None else as_labels(classes, "classes")
    features, names = feature_table(X, columns)
    nobody = np.zeros(len(features), dtype=np.uint8)  # labels would enter nothing that is looked at
    task = LabelTask.decided(features, names, nobody, labels, budget, mechanism, fit_intercept, shape)
    return preview_of(task, features)


def preview_of(task: LabelTask, features: NDArray[Any]) -> MeanOperatorPreview:
    """Return what a release that is decided upon would be worth."""
    choice = ShapeChoice(task.shape, task.mechanism.name, 0.0)
    norms = task.sums.one_norm * task.sums.step, float(task.sums.squared_two_norm) * task.sums.step**2

    def left(variance: float) -> float:
        return left_share(features, choice, norms, task.asked, len(task.classes), task.intercept, variance)

    name: Any = task.mechanism.name
    return MeanOperatorPreview(
        name,
        label_guarantee(task.mechanism),
        task.shape,
        len(features),
        len(task.columns),
        task.classes,
        left,
    )
