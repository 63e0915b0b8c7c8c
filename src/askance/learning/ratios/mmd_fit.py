"""Fitting class ratios by mean embeddings: features, bandwidth, class embeddings, and the scatter that errors need."""

from typing import Any

import numpy as np

from askance.arrays import Floats, Integers
from askance.learning.ratios.bandwidth import BandwidthChoice, choose_bandwidth
from askance.learning.ratios.class_spread import ROWS, Traces, class_spread, tangent, without_oneself
from askance.learning.ratios.kernel_functions import (
    FeatureMap,
    FourierFeatures,
    LinearFeatures,
    Standard,
    checked_kernel,
    frequencies,
    kernel_function,
    row_blocks,
    typical_distance,
)
from askance.learning.ratios.mean_embedding import Anchors, bag_features, bag_rows
from askance.learning.ratios.mmd import FAINT, BagFacts, MmdRatios
from askance.learning.ratios.ratio_model import ALIKE
from askance.solvers.bag_means import class_means
from askance.solvers.weighted_chi_square import weighted_chi_square_tail

_SCORED = 20_000  # training rows from which the scatter of scores is taken: variances good to 1%
_ALIKE = 0.05  # classes whose difference has a larger p-value than this may be the same


def fit_mmd(
    X: Floats,
    codes: Integers,
    proportions: Floats,
    noise: Floats | None,
    rng: np.random.Generator,
    *,
    kernel: Any = "rbf",
    bandwidth: str | float = "auto",
    features: int | None = 256,
    solution: str = "class",
) -> tuple[MmdRatios, BandwidthChoice]:
    """Fit; also say how the bandwidth was chosen.

    Parameters
    ----------
    X : array, n x d
    codes : array, n
        The bag of each row, 0 to bags - 1; every bag has rows.
    proportions : array, bags x K
    noise : array, bags x K x K, optional
        The covariance of the proportions about the true ones.
    rng : Generator
        For frequencies, and for rows where some are enough.
    kernel : "rbf", "laplace", "linear" or a function k(A, B)
    bandwidth : "auto", "median" or float
        In units of the standardised rows. "auto" by cross-validation over bags, "median" as far as two rows are apart.
    features : int, optional
        The number of random frequencies; None for exact kernels.
    solution : "class" or "paper"
    """
    own = callable(kernel)
    standard = Standard.none(X.shape[1]) if own else Standard.of(X)
    proportions, noise = _on_the_plane(proportions, noise)
    choice = BandwidthChoice(None, (), ())
    if not own and kernel != "linear":
        if bandwidth == "auto":
            choice = choose_bandwidth(kernel, standard, X, codes, proportions, rng)
        else:
            width = typical_distance(kernel, standard, X, rng) if bandwidth == "median" else float(bandwidth)
            choice = BandwidthChoice(width, (), ())
    embedded = _embedded(kernel, choice.bandwidth or 1.0, features, standard, X, codes, len(proportions), rng)
    sizes = np.bincount(codes, minlength=len(proportions)).astype(float)
    model = _solved(embedded, sizes, proportions, noise, sizes, X, codes, solution, rng)
    if noise.any():
        # A bag's equation errs by its proportions' noise as well as by its rows.
        error = np.einsum("bk,kii->b", model.bags.within, model.scatter)
        weights = 1 / (np.maximum(error, 1e-12) + np.trace(noise, axis1=1, axis2=2))
        model = _solved(embedded, sizes, proportions, noise, weights, X, codes, solution, rng)
    return model, choice


def _on_the_plane(proportions: Floats, noise: Floats | None) -> tuple[Floats, Floats]:
    """Shares sum to one, whatever their noise: what leaves that plane is noise, and taken off."""
    classes = proportions.shape[1]
    level = np.eye(classes) - 1 / classes
    flat = proportions @ level + 1 / classes
    if noise is None:
        return flat, np.zeros((len(proportions), classes, classes))
    return flat, np.einsum("ij,bjk,kl->bil", level, noise, level)


def _embedded(
    kernel: Any,
    bandwidth: float,
    features: int | None,
    standard: Standard,
    rows: Floats,
    codes: Integers,
    bags: int,
    rng: np.random.Generator,
) -> Anchors:
    if callable(kernel):
        return bag_rows(checked_kernel(kernel, rows), standard, rows, codes, bags)
    mapped: FeatureMap
    if kernel == "linear":
        mapped = LinearFeatures(standard)
    elif features is None:
        return bag_rows(kernel_function(kernel, bandwidth), standard, rows, codes, bags)
    else:
        drawn = frequencies(kernel, rows.shape[1], features, rng) / np.float32(bandwidth)
        mapped = FourierFeatures(standard, drawn)
    return bag_features(mapped, rows, codes, bags)


def _solved(
    embedded: Anchors,
    sizes: Floats,
    proportions: Floats,
    noise: Floats,
    weights: Floats,
    rows: Floats,
    codes: Integers,
    solution: str,
    rng: np.random.Generator,
) -> MmdRatios:
    bags, classes = proportions.shape
    taken_off = _to_take_off(noise)
    mixing = class_means(np.eye(bags), weights, proportions, taken_off)
    facts = BagFacts(sizes, proportions, noise, mixing, _doubt(weights, proportions, noise, taken_off), embedded.gram)
    some = rng.choice(len(rows), ROWS, replace=False) if len(rows) > ROWS else np.arange(len(rows))
    spread = class_spread(embedded, mixing, proportions, sizes, rows[some], codes[some])
    notes: tuple[str, ...] = ()
    if solution == "paper":
        slopes = proportions.T @ np.linalg.pinv(embedded.gram, hermitian=True)
        offset, products, anchors = np.zeros(classes), np.eye(bags), embedded
    else:
        signal, faint = _without_chance(facts, spread.whole)
        lean = tangent(classes)
        slopes = lean @ np.linalg.solve(lean.T @ signal @ lean, lean.T)
        offset = facts.overall - slopes @ signal @ facts.overall
        products, anchors = mixing, embedded.combined(mixing)
        if faint:
            notes = (ALIKE,)
    scores = (slopes @ products, offset)
    scatter = _scatter(embedded, scores, sizes, proportions, taken_off, rows, codes, rng)
    return MmdRatios(anchors, solution, offset, slopes, facts, scatter, spread, notes)


def _to_take_off(noise: Floats) -> Floats | None:
    """What of the noise pulls the classes together: to second order, that of all bags but as many as classes and one.

    The others' share is made up for by the inverse's own curvature, which pushes the classes apart.
    """
    bags, classes = noise.shape[:2]
    pulling = max(bags - classes - 1, 0) / bags
    return noise * pulling if noise.any() and pulling > 0 else None


def _doubt(weights: Floats, proportions: Floats, noise: Floats, taken_off: Floats | None) -> Floats:
    """What noise does to the mixing itself: r' D_b r is the variance of the weight of bag b in the mixture r."""
    if not noise.any():
        return np.zeros_like(noise)
    gram = (proportions * weights[:, None]).T @ proportions
    if taken_off is not None:
        gram = gram - np.tensordot(weights, taken_off, 1)
    inverse = np.linalg.pinv(gram, hermitian=True)
    doubt: Floats = weights[:, None, None] ** 2 * (inverse @ noise @ inverse)
    return doubt


def _without_chance(bags: BagFacts, traces: Traces) -> tuple[Floats, bool]:
    """Inner products of the true class embeddings: those of the estimated ones less what their errors add.

    Where a difference of classes is hardly longer than chance makes it, a part of it is taken for signal all the same;
    and whether there is any that chance alone would make as long.
    """
    mixing, lean = bags.mixing, tangent(len(bags.mixing))
    gram = mixing @ bags.gram @ mixing.T
    chance = mixing @ (bags.within @ traces.first * mixing).T
    half = np.linalg.cholesky(lean.T @ chance @ lean)
    # In these axes chance alone makes every difference one long.
    values, axes = np.linalg.eigh(np.linalg.solve(half, np.linalg.solve(half, lean.T @ gram @ lean).T))
    back = half @ axes
    kept = (back * np.maximum(values - 1, FAINT * np.maximum(values, 1e-3))) @ back.T
    full = gram - chance
    signal: Floats = full + lean @ (kept - lean.T @ full @ lean) @ lean.T  # only differences were changed
    weights = np.linalg.solve(half.T, axes).T @ lean.T @ mixing
    among = bags.within @ traces.second @ bags.within.T
    variances = 2 * np.einsum("ib,bc,ic->i", weights**2, among, weights**2)
    tails = [
        weighted_chi_square_tail(value, 1.0, variance, traces.skewness)
        for value, variance in zip(values.tolist(), variances.tolist(), strict=True)
    ]
    return signal, max(tails) > _ALIKE


def _scatter(
    embedded: Anchors,
    scores: tuple[Floats, Floats],
    sizes: Floats,
    proportions: Floats,
    taken_off: Floats | None,
    rows: Floats,
    codes: Integers,
    rng: np.random.Generator,
) -> Floats:
    """The covariance of the scores in every class, from training rows that each are left out of their bag's mean."""
    bags, classes = proportions.shape
    weights, offset = scores
    some = np.sort(rng.choice(len(rows), _SCORED, replace=False)) if len(rows) > _SCORED else np.arange(len(rows))
    first, second, seen = np.zeros((bags, classes)), np.zeros((bags, classes, classes)), np.zeros(bags)
    for block in row_blocks(len(some), max(bags, 2000)):
        inside, there = rows[some[block]], codes[some[block]]
        products = without_oneself(embedded.products(inside), embedded.square_norms(inside), sizes, there)
        score = products @ weights.T + offset
        np.add.at(first, there, score)
        np.add.at(second, there, score[:, :, None] * score[:, None, :])
        np.add.at(seen, there, 1.0)
    count = np.maximum(seen, 1.0)
    means = class_means(first / count[:, None], seen, proportions, taken_off)
    squares = class_means((second / count[:, None, None]).reshape(bags, -1), seen, proportions, taken_off)
    scatter = squares.reshape(classes, classes, classes) - means[:, :, None] * means[:, None, :]
    values, axes = np.linalg.eigh((scatter + scatter.transpose(0, 2, 1)) / 2)
    clipped: Floats = np.einsum("kij,kj,klj->kil", axes, np.maximum(values, 0.0), axes)
    return clipped
