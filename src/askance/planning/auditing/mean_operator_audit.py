"""Auditing releases of a mean operator: is the noise what the guarantee needs, whatever the labels are?

The features are public, and with them how far one label can move the sums. From this and the promised level the law of
the noise follows, anew: nothing that the release says about its noise is believed. Releases are drawn for several
label sets (those given, the same with one label changed, one class only, labels at random), and their noise, taken
out by exact sums, is tested against that law.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from askance.arrays import Codes, Floats
from askance.channels.alphabet import Alphabet, as_labels
from askance.channels.attributes.gaussian_level import gaussian_delta
from askance.channels.guarantee import Guarantee
from askance.channels.labels.randomized_response import RandomizedResponse
from askance.errors import InvalidInput
from askance.mechanisms.sums.label_shape import LabelShape
from askance.planning.auditing.audit_questions import Finding, check_asked
from askance.planning.auditing.count_vectors import WholeNumber
from askance.planning.auditing.noise_vectors import (
    LaplaceDifferences,
    LaplaceVector,
    NormalVector,
    RadialVector,
    VectorLaw,
    frames,
)
from askance.planning.auditing.release_audit import ReleaseAudit
from askance.planning.auditing.release_trials import DataSet, ReleaseTrial, findings_of_one
from askance.releases.label_task import Shape
from askance.releases.mean_operator_release import MeanOperatorRelease, release_mean_operator
from askance.releases.paid_release import nothing_handed_on

_ROWS = 256  # people of the data that are tried: noise depends on the features by their largest row only
_EXACT = 1e-5  # relative: what is worked out in two ways differs by less, a millionth that a search adds included
_LEAST_NOISE = 1e-7  # of the noise, by which two releases may differ that should not: doubles round


def audit_mean_operator(
    X: Any,
    y: Any,
    epsilon: Any,
    delta: Any = 0,
    mechanism: str = "auto",
    *,
    classes: Sequence[Any] | None = None,
    fit_intercept: bool = True,
    draws: int | None = None,
    error_rate: float = 1e-3,
    release: Callable[..., MeanOperatorRelease] = release_mean_operator,
    made: MeanOperatorRelease | None = None,
    shape: Shape = "none",
) -> ReleaseAudit:
    """Check releases of a mean operator against their promise.

    Parameters
    ----------
    X, y, epsilon, delta, mechanism, classes, fit_intercept
        As for :func:`askance.release_mean_operator`. Of many rows the one of the largest norm and some others are
        tried. Nothing is spent, and no release leaves the audit.
    draws : int, optional
        Releases to draw in all; as many as take a few seconds if not given.
    error_rate : float
        The probability with which an honest mechanism may fail.
    release : function
        What is audited; it takes what :func:`askance.release_mean_operator` takes.
    made : MeanOperatorRelease, optional
        A release that was made of these data: is its own noise possible?
    shape : {"auto", "none"} or LabelShape
        What is done to the features first, as for :func:`askance.release_mean_operator`; that of ``made`` if given.
        "auto" is decided once, for the rows that are tried.

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> X, y = np.linspace(-1, 1, 40)[:, None], np.where(np.arange(40) % 3, 1, -1)
    >>> ask.audit_mean_operator(X, y, epsilon=1.0, mechanism="laplace", draws=100, error_rate=1e-9).passed
    True
    """
    check_asked(draws, error_rate)
    labels = (-1, 1) if classes is None else as_labels(classes, "classes")
    features = np.asarray(X, dtype=float)
    if features.ndim != 2 or not features.size or not np.isfinite(features).all():
        raise InvalidInput(f"features of shape {features.shape}", "a table of finite numbers, m x d")
    codes = Alphabet(labels, "label").encode(y).astype(np.int64)
    if len(codes) != len(features):
        raise InvalidInput(f"{len(codes)} labels for {len(features)} rows of features", "one label a row")
    if made is not None:
        shape = "none" if made.shape is None else made.shape
    kept = _some_rows(_shaped(features, shape))
    rng = np.random.default_rng()

    def released(some: Codes) -> MeanOperatorRelease:
        given = np.array(labels, dtype=object if len({*map(type, labels)}) > 1 else None)[some]
        options = {"classes": labels, "fit_intercept": fit_intercept, "shape": shape}
        return release(features[kept], given, epsilon, delta, mechanism, **options)

    with nothing_handed_on():
        first = released(codes[kept])
    shape = "none" if first.shape is None else first.shape
    sums = _PublicSums(_shaped(features[kept], shape), len(labels), fit_intercept)
    mechanism = first.mechanism
    chosen, promise = first.mechanism, first.guarantee
    sets = {
        name: _data_set(released, some, sums, chosen, promise) for name, some in _label_sets(codes[kept], sums, rng)
    }
    noise = sums.size_of(chosen, promise)
    note = "" if chosen != "response" or fit_intercept else "Without an intercept only replays and levels are checked."
    own = (
        () if made is None else _judged(made, _PublicSums(_shaped(features, shape), len(labels), fit_intercept), codes)
    )
    trial = ReleaseTrial(sets, chosen != "response", _LEAST_NOISE * noise, note, own, noise)
    questions, each = trial.questions(draws, float(error_rate))
    return ReleaseAudit(
        what=f"mean operator by {chosen}",
        guarantee=promise,
        draws=each,
        error_rate=float(error_rate),
        questions=questions,
        wrong=_wrong(first, sums, epsilon, delta),
    )


def _shaped(features: Floats, shape: Shape) -> Floats:
    """Rows as labels are added up with them."""
    return shape.rows(features) if isinstance(shape, LabelShape) else features


def _judged(made: MeanOperatorRelease, sums: "_PublicSums", codes: Codes) -> tuple[Finding, ...]:
    if made.mechanism == "response":
        return ()
    wrong = _wrong(made, sums, made.guarantee.epsilon, made.guarantee.delta)
    if wrong:
        return (Finding(wrong[0], 0.0),)
    law = sums.law(made.mechanism, made.guarantee)
    noise = sums.noise(made, codes, made.mechanism)[None]
    return tuple(findings_of_one(law.uniforms(noise, np.random.default_rng()), "the release"))


def _some_rows(features: Floats) -> Any:
    """The rows that noise is calibrated to, and evenly spread others."""
    if len(features) <= _ROWS:
        return np.arange(len(features))
    spread = np.linspace(0, len(features) - 1, _ROWS - 2).astype(np.int64)
    largest = [int(np.abs(features).sum(axis=1).argmax()), int((features**2).sum(axis=1).argmax())]
    return np.unique([*spread.tolist(), *largest])


@dataclass(frozen=True, eq=False)
class _PublicSums:
    """Features as a release takes them, in steps of its grid, and how far one label moves their sums."""

    features: Floats
    classes: int
    intercept: bool

    def steps(self, step: float) -> Floats:
        whole = np.rint(self.features / step)
        return np.column_stack([np.full(len(whole), 1 / step), whole]) if self.intercept else whole

    @cached_property
    def rows(self) -> Floats:
        """With the one of the intercept."""
        return self.steps(2.0**-40) * 2.0**-40

    @property
    def moved(self) -> int:
        """Into how many of the released sums one label enters."""
        return 1 if self.classes == 2 else 2

    @cached_property
    def one_norm(self) -> float:
        return self.moved * float(np.abs(self.rows).sum(axis=1).max())

    @cached_property
    def two_norm(self) -> float:
        return math.sqrt(self.moved * float((self.rows**2).sum(axis=1).max()))

    def size_of(self, mechanism: str, promise: Guarantee) -> float:
        """The scale, or the standard deviation, that the promise needs."""
        if mechanism == "laplace":
            return self.one_norm / promise.epsilon
        if mechanism == "knorm":
            return self.two_norm / promise.epsilon
        if mechanism == "gaussian":
            return self.two_norm * _least_deviation(promise.epsilon, promise.delta)
        return 1.0

    def law(self, mechanism: str, promise: Guarantee) -> VectorLaw:
        """The law of what :meth:`noise` returns."""
        size, width = self.size_of(mechanism, promise), self.rows.shape[1]
        largest = self.rows[(self.rows**2).sum(axis=1).argmax()]
        if mechanism == "laplace":
            return LaplaceVector(size) if self.classes == 2 else LaplaceDifferences(size)
        direction = largest
        if self.classes > 2:  # from the first class to the second
            direction = np.kron(_contrasts(self.classes)[1] - _contrasts(self.classes)[0], largest)
        seen = width if self.classes == 2 else (self.classes - 1) * width
        axes = frames(seen, direction)
        if mechanism == "gaussian":
            return NormalVector(size, axes)
        whole = width if self.classes == 2 else self.classes * width
        return RadialVector(size, whole, whole - seen, axes)

    def noise(self, release: MeanOperatorRelease, codes: Codes, mechanism: str) -> Floats:
        """Take the exact sums out of what was released."""
        steps = self.steps(release.step) * release.step
        values = release.operator.values * len(steps)
        sums = np.array([steps[codes == k].sum(axis=0) for k in range(self.classes)])
        if self.classes == 2:
            return np.asarray((values + sums.sum(axis=0)) / 2 - sums[1])
        off = values - sums
        if mechanism == "laplace":  # pairs of classes: the common part of all was taken away
            pairs = self.classes // 2
            return np.asarray(off[: 2 * pairs : 2] - off[1 : 2 * pairs : 2]).ravel()
        return np.asarray(_contrasts(self.classes).T @ off).ravel()


def _contrasts(classes: int) -> Floats:
    """Orthogonal directions of sum zero, classes x (classes - 1)."""
    full, _ = np.linalg.qr(np.column_stack([np.ones(classes), np.eye(classes)[:, 1:]]))
    return np.asarray(full[:, 1:])


def _least_deviation(epsilon: float, delta: float) -> float:
    """The standard deviation of normal noise for sums that one label moves by 1, by Balle and Wang (2018)."""
    from scipy.optimize import brentq

    high = 1.0
    while gaussian_delta(high, epsilon) > delta:
        high *= 2
    low = high
    while gaussian_delta(low, epsilon) <= delta:
        low /= 2
    return float(brentq(lambda s: math.log(max(gaussian_delta(s, epsilon), 1e-300) / delta), low, high, rtol=1e-12))


def _label_sets(codes: Codes, sums: _PublicSums, rng: np.random.Generator) -> list[tuple[str, Codes]]:
    moved = codes.copy()
    largest = int((sums.rows**2).sum(axis=1).argmax())
    moved[largest] = (moved[largest] + 1) % sums.classes
    return [
        ("the labels as they are", codes),
        ("one label changed", moved),
        ("all labels the same", np.full_like(codes, sums.classes - 1)),
        ("labels at random", rng.integers(0, sums.classes, len(codes))),
    ]


def _data_set(
    released: Callable[[Codes], MeanOperatorRelease],
    codes: Codes,
    sums: _PublicSums,
    mechanism: str,
    promise: Guarantee,
) -> DataSet:
    if mechanism != "response":
        return DataSet(lambda: sums.noise(released(codes), codes, mechanism), sums.law(mechanism, promise))
    if not sums.intercept:
        return DataSet(lambda: np.ravel(released(codes).operator.values), None)
    # The intercept tells how many reports of the last class there were.
    channel = RandomizedResponse(tuple(range(sums.classes)), epsilon=promise.epsilon)
    guess = channel.unbiasing_matrix()
    weights = guess[-1] - guess[0] if sums.classes == 2 else guess[-1]
    law = np.ones(1)
    for k in range(sums.classes):
        law = np.convolve(law, _binomial(int((codes == k).sum()), float(channel.matrix[-1, k])))

    def reports() -> Floats:
        values = released(codes).operator.values
        intercept = values[0] if sums.classes == 2 else values[-1, 0]
        return np.array([len(codes) * (intercept - weights[0]) / (weights[-1] - weights[0])])

    return DataSet(reports, WholeNumber(law))


def _binomial(count: int, chance: float) -> Floats:
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(count + 1), count, chance))


def _wrong(release: MeanOperatorRelease, sums: _PublicSums, epsilon: Any, delta: Any) -> tuple[str, ...]:
    """What is wrong without any chance: a promise beyond what was asked, variances that are not those of the noise."""
    said = []
    promise = release.guarantee
    if promise.epsilon > float(epsilon) * (1 + 1e-9) or promise.delta > float(delta) * (1 + 1e-9):
        said.append(
            f"{promise} was released where epsilon {float(epsilon):g} and delta {float(delta):g} were asked for"
        )
    size, width = sums.size_of(release.mechanism, promise), sums.rows.shape[1]
    whole = width if sums.classes == 2 else sums.classes * width
    each = {"laplace": 2 * size**2, "knorm": (whole + 1) * size**2, "gaussian": size**2}.get(release.mechanism)
    if each is not None:
        factor = 4.0 if sums.classes == 2 else 1 - 1 / sums.classes
        declared = float(np.max(release.operator.noise_variance)) * len(sums.rows) ** 2 / factor
        if abs(declared / each - 1) > _EXACT:
            said.append(
                f"the release says that its noise has variance {declared:.6g}, where the promise needs {each:.6g}"
            )
    return tuple(said)
