"""Which shape and mechanism leave least of a linear model's error: told from public numbers before anything is spent.

A score s = theta.x that is normal beforehand, with covariance T of theta, is learned from the noisy total of shaped
rows z. Near its middle the total moves with theta by B = kappa E[z x'], and errs by N: the noise, and the labels' own
chance. What then remains of the variance of scores is

    tr(Sigma (T - T B' (B T B' + N)^-1 B T)) / tr(Sigma T),   Sigma = E[x x'],

the *left share*. It needs the features, the level and the number of people, and no label. The share of correct
predictions follows for labels of any strength, because score and estimate are jointly normal.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.mechanisms.budget import Budget
from askance.mechanisms.sums.label_shape import LabelShape, standard_shape
from askance.mechanisms.total_noise import gaussian_deviation

SCORE_VARIANCE = 2.0  # of scores around their mean, before any label is seen: odds of four to one are usual
_SAMPLE_VALUES = 1 << 18  # so many numbers of evenly spread rows choose a shape in about a second
_MOST_TURNED = 256  # directions: more would make the file of a release larger than features often are
# Numbers of directions that are tried, half as many more each time. What is left of the variance on breast cancer,
# wine, digits and 400 made-up columns at epsilon .1 and .5 is within .5% of what trying every number from 1 to 256
# leaves, on Adult .041 for .035 and .0092 for .0088, in a half to a thirtieth of the time. With 1, 10 and 100 alone it
# is up to half as much again.
_DIRECTIONS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_POWERS = (0.0, 0.5, 1.0)  # of whitening: as people differ, halfway, alike in all directions
_CAPS = (0.5, 0.75, 0.9)  # the quantile of the rows' lengths beyond which they are shortened
_FLAT = 1e-8  # of the largest variance: directions in which people differ less are none
_ALIKE_SCALES = 10.0  # columns whose deviations differ by more are not of a common size, as plain fits take them to be
_HUGE = 2.0**60  # squared: beside such rows the intercept's one is nothing, and doubles run out of digits
_WORTH = 0.9  # what is more complicated must leave this much less, or the simpler is kept


@dataclass(frozen=True, eq=False)
class ShapeChoice:
    """A shape and a mechanism, and what they are expected to leave.

    Parameters
    ----------
    shape : LabelShape, optional
        None for features as they are.
    mechanism : str
    left : float
        The share of the variance of scores that remains unknown.
    """

    shape: LabelShape | None
    mechanism: str
    left: float


def choose_shape(
    features: NDArray[np.float64],
    norms: tuple[float, float],
    mechanisms: tuple[str, ...],
    budget: Budget,
    classes: int,
    intercept: bool,
) -> ShapeChoice:
    """Return the shape and the mechanism of least predicted error; the simplest of those that are nearly as good.

    Parameters
    ----------
    features : array, m x d
    norms : (float, float)
        The largest 1-norm and the largest squared 2-norm of all rows as they are, with the intercept's one.
    mechanisms : names
        Those that may be taken.
    budget : Budget
    classes : int
    intercept : bool
    """
    public = _Public.of(features, classes, intercept)
    if not public.standard_rows.any():
        return ShapeChoice(None, mechanisms[0] if len(mechanisms) == 1 else "auto", 1.0)
    as_they_are = ShapeChoice(None, "auto", 1.0)
    if norms[1] < _HUGE:
        as_they_are = public.best(None, public.some, mechanisms, budget, norms)
    kept = public.best(public.standard, public.standard_rows, mechanisms, budget)
    if public.is_of_one_size and as_they_are.left * _WORTH <= kept.left:
        kept = as_they_are
    best, make = kept, None
    for make_shape, rows in public.turned():
        found = public.best(None, rows, mechanisms, budget)
        if found.left < min(best.left, _WORTH * kept.left):
            best, make = found, make_shape
    return best if make is None else ShapeChoice(make(), best.mechanism, best.left)


def left_share(
    features: NDArray[np.float64],
    choice: ShapeChoice,
    norms: tuple[float, float],
    budget: Budget,
    classes: int,
    intercept: bool,
    score_variance: float,
) -> float:
    """Return what a choice leaves of the variance of scores, if that is another one than was taken for choosing."""
    public = _Public.of(features, classes, intercept)
    shape = choice.shape
    if not public.standard_rows.any():
        return 1.0
    rows, known = (public.some, norms) if shape is None else (shape.rows(public.some), None)
    return public.best(shape, rows, (choice.mechanism,), budget, known, score_variance).left


def predicted_accuracy(left: float, clean_accuracy: float, classes: int = 2) -> float:
    """Return the share of correct predictions, where clean labels would allow ``clean_accuracy``.

    The way from guessing to a clean model that is gone where score and estimate correlate by sqrt(1 - left); classes
    are taken to be of equal size.

    Examples
    --------
    >>> round(predicted_accuracy(0.0, 0.85), 4), round(predicted_accuracy(1.0, 0.85), 4)
    (0.85, 0.5)
    """
    guess = 1 / classes
    if not guess < clean_accuracy < 1:
        raise InvalidInput(f"clean_accuracy={clean_accuracy!r}", f"a share between {guess:.3g} and 1")
    if left >= 1:
        return guess
    binary = 0.5 + (clean_accuracy - guess) / (1 - guess) / 2
    variance = variance_of_accuracy(binary)
    gone = (_accuracy(variance, 1 - left) - 0.5) / (_accuracy(variance, 1.0) - 0.5)
    return guess + gone * (clean_accuracy - guess)


@cache
def variance_of_accuracy(accuracy: float) -> float:
    """Return the variance of a normal score with which two classes are told apart so well by who knows it."""
    low, high = 1e-8, 1e8
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _accuracy(middle, 1.0) < accuracy else (low, middle)
    return low


def _accuracy(variance: float, squared_correlation: float) -> float:
    """E[P(y has the sign of an estimate)] for a normal score, which the estimate correlates with."""
    from scipy.special import expit, ndtr

    nodes = (np.arange(2000) + 0.5) / 2000 * 8  # of |score| in standard deviations: beyond 8 there is nobody
    weights = np.exp(-0.5 * nodes**2)
    scores = nodes * math.sqrt(variance)
    rest = 1 - squared_correlation
    right = ndtr(nodes * math.sqrt(squared_correlation / rest)) if rest > 0 else np.ones_like(nodes)
    sure = expit(scores)
    return float((weights * (sure * right + (1 - sure) * (1 - right))).sum() / weights.sum())


@cache
def _steepness(variance: float, classes: int) -> float:
    """kappa: by how much the mean of a label moves with its score, on average over normal scores."""
    if classes > 2:
        return 1 / classes
    nodes = (np.arange(2000) + 0.5) / 2000 * 8
    weights = np.exp(-0.5 * nodes**2)
    slope = 0.5 / np.cosh(0.5 * np.minimum(nodes * math.sqrt(variance), 1400.0)) ** 2
    return float((weights * slope).sum() / weights.sum())


@dataclass(frozen=True, eq=False)
class _Public:
    """Some rows of public features, and what they tell about shapes."""

    some: Floats
    people: int
    classes: int
    intercept: bool

    @classmethod
    def of(cls, features: NDArray[np.float64], classes: int, intercept: bool) -> "_Public":
        rows = max(_SAMPLE_VALUES // features.shape[1], 256)
        some = np.asarray(features[:: max(1, len(features) // rows)], dtype=float)
        return cls(some, len(features), classes, intercept)

    @cached_property
    def standard(self) -> LabelShape:
        return standard_shape(self.some, self.intercept)

    @cached_property
    def standard_rows(self) -> Floats:
        return self.standard.standard(self.some)

    @cached_property
    def is_of_one_size(self) -> bool:
        varied = self.standard_rows.any(axis=0)
        sizes = self.standard.scale[varied]
        outside = np.abs(self.some[:, varied] - self.standard.centre[varied]).max(axis=0) / sizes
        # A rare indicator is far from its mean and harms nobody: what is judged is the whole row.
        return bool(sizes.max() <= _ALIKE_SCALES * sizes.min() and np.median(outside) <= _ALIKE_SCALES)

    def turned(self) -> Iterator[tuple[Callable[[], LabelShape], Floats]]:
        """Yield shapes that turn and shorten, yet to be made, and the rows that they make."""
        rows = self.standard_rows
        if len(rows) >= rows.shape[1]:
            sizes, axes = np.linalg.eigh(rows.T @ rows / len(rows))
            sizes, axes = sizes[::-1], axes[:, ::-1]
        else:
            _, roots, turned = np.linalg.svd(rows, full_matrices=False)
            sizes, axes = roots**2 / len(rows), turned.T
        rank = min(int((sizes > _FLAT * sizes[0]).sum()), _MOST_TURNED)
        counts = sorted({count for count in _DIRECTIONS if count < rank} | {rank})
        for power in _POWERS:
            scaled = axes[:, :rank] * (sizes[:rank] / sizes[0]) ** (-power / 2)
            full = rows @ scaled
            lengths = np.sqrt(np.cumsum(full**2, axis=1))
            for count in counts:
                long, own = lengths[:, count - 1], scaled[:, :count]
                yield partial(LabelShape.turned, self.standard, own), full[:, :count]
                for quantile in _CAPS:
                    cap = float(np.quantile(long, quantile))
                    if cap > 0:
                        shorter = np.minimum(1.0, cap / np.maximum(long, cap))
                        yield partial(LabelShape.turned, self.standard, own, cap), full[:, :count] * shorter[:, None]

    def best(
        self,
        shape: LabelShape | None,
        rows: Floats,
        mechanisms: tuple[str, ...],
        budget: Budget,
        norms: tuple[float, float] | None = None,
        variance: float = SCORE_VARIANCE,
    ) -> ShapeChoice:
        """Return the best mechanism for rows of some shape; their norms are those of these rows if not given."""
        whole = self._with_one(rows)
        if norms is None:
            norms = float(np.abs(whole).sum(axis=1).max()), float((whole**2).sum(axis=1).max())
        prior = self._prior(variance)
        slope = _steepness(variance, self.classes) * (whole.T @ self._model) / len(whole)  # k x p
        second = whole.T @ whole / len(whole)
        lifted = slope * prior
        spread = lifted @ self._sigma
        total = float((prior * np.diag(self._sigma)).sum())
        found = []
        for mechanism in mechanisms:
            noise = self._noise(mechanism, second, norms, budget)
            inner = lifted @ slope.T + second * (self._of_labels / self.people) + noise
            gained = float((spread * _solved(inner, lifted)).sum())
            found.append(ShapeChoice(shape, mechanism, min(max(1 - gained / total, 0.0), 1.0)))
        return min(found, key=lambda each: each.left)

    @cached_property
    def _model(self) -> Floats:
        return self._with_one(self.standard_rows)

    @cached_property
    def _sigma(self) -> Floats:
        return np.asarray(self._model.T @ self._model / len(self._model))

    @property
    def _of_labels(self) -> float:
        """The variance of y, -1 or 1; or of the contrasts of indicators of classes."""
        return 1.0 if self.classes == 2 else 1 / self.classes

    def _prior(self, variance: float) -> Floats:
        """The variance of theta: of scores around their mean as asked, and that of their mean as in noise_ridge."""
        around = max(float((self.standard_rows**2).sum()) / len(self.some), np.finfo(float).tiny)
        each = variance / around * (1.0 if self.classes == 2 else 0.5)
        return np.concatenate([np.full(int(self.intercept), SCORE_VARIANCE), np.full(self.standard.columns, each)])

    def _with_one(self, rows: Floats) -> Floats:
        return np.column_stack([np.ones((len(rows), int(self.intercept))), rows])

    def _noise(self, mechanism: str, second: Floats, norms: tuple[float, float], budget: Budget) -> Floats:
        """The covariance of the noise of a mean label times features, or of a contrast of classes."""
        epsilon, width = float(budget.epsilon), len(second)
        moved, factor = (1.0, 4.0) if self.classes == 2 else (2.0, 1.0)
        if mechanism == "response":
            kept = 1 / (1 + (self.classes - 1) * math.exp(-epsilon))
            other = (1 - kept) / (self.classes - 1)
            own, off = kept * (1 - kept), other * (1 - other)
            spread = 4 * own if self.classes == 2 else (own + (self.classes - 1) * off) / (self.classes - 1)
            return second * (spread / (kept - other) ** 2 / self.people)
        count = width if self.classes == 2 else width * self.classes
        if mechanism == "laplace":
            variance = 2 * (moved * norms[0] / epsilon) ** 2
        elif mechanism == "gaussian":
            variance = gaussian_deviation(epsilon, float(budget.delta)) ** 2 * moved * norms[1]
        else:
            variance = (count + 1) / epsilon**2 * moved * norms[1]
        return np.eye(width) * (factor * variance / self.people**2)


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Solve for a matrix without negative values, also where columns are of unlike sizes or repeat each other."""
    scale = 1 / np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
    even = matrix * np.outer(scale, scale)
    even[np.diag_indices_from(even)] += 1e-12
    solved: Floats = np.linalg.solve(even, right * scale[:, None]) * scale[:, None]
    return solved
