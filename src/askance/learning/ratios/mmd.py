"""Class ratios by mean embeddings: the mixture of classes whose embedding is nearest to that of a new group.

    min_r | Phi_U - sum_k r_k mu_k |^2

Two solutions. "class": class embeddings mu_k by least squares from the bags', then a quadratic programme over ratios.
"paper": one weight alpha for each bag, ratios P' alpha, projected (Iyer, Nath & Sarawagi 2016, (5)).

Either is linear in the group's embedding before it is brought to the simplex: the mean of a score s(x), K numbers, over
the group's rows. So its error is too, and given the labels it comes from the scatter of scores within classes alone:

    r^ - r = mean of s over the group - its expectation - sum_b alpha_b (the same of bag b + noise of its proportions).

The programme's answer is pulled towards the bags' own ratios, since the embeddings of classes are themselves estimated;
that costs less than it saves. Errors and intervals start from ``free``, where this is undone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from askance.arrays import Floats, Integers
from askance.errors import InvalidInput
from askance.learning.ratios.bag_doubt import overstatement
from askance.learning.ratios.class_spread import ClassSpread, Traces, tangent
from askance.learning.ratios.kernel_functions import FourierFeatures, LinearFeatures, Standard, row_blocks
from askance.learning.ratios.mean_embedding import Anchors, FeatureAnchors, RowAnchors
from askance.learning.ratios.misfit import Misfit
from askance.learning.ratios.ratio_model import RatioEstimate
from askance.learning.ratios.simplex_programme import least_squares, nearest_mixture
from askance.solvers.bag_means import class_means
from askance.solvers.simplex import project_to_simplex
from askance.solvers.weighted_chi_square import weighted_chi_square_tail

# Of a class difference's squared length: what at least is taken for signal, not chance. It binds where the length is
# below 1.25 times what chance makes, and keeps the slopes finite there. Of classes that differ (breast cancer, four
# digits) nothing from 0 to 1 changed a ratio in the fourth place.
FAINT = 0.2
_LEFT_OUT = 200  # bags that are left out, one after the other: their errors' variance is then known to 10%
_SCORED = 20_000  # rows whose scores are compared within bags: their variance is then known to 1%
_MEASURED = 2000  # rows whose embeddings' lengths are measured: a user's kernel is asked for no more


@dataclass(frozen=True, eq=False)
class BagFacts:
    """What the training bags are known by, once their rows are summed.

    Parameters
    ----------
    sizes : array, bags
    proportions : array, bags x K
        They sum to one.
    noise : array, bags x K x K
        Zero where proportions are exact.
    mixing : array, K x bags
        Class embeddings are these combinations of the bags'.
    doubt : array, bags x K x K
        r' D_b r is the variance, by the noise, of the weight of bag b in the mixture r.
    gram : array, bags x bags
        Inner products of the bags' embeddings.
    """

    sizes: Floats
    proportions: Floats
    noise: Floats
    mixing: Floats
    doubt: Floats
    gram: Floats

    @property
    def overall(self) -> Floats:
        """The proportions of all rows."""
        share: Floats = self.sizes @ self.proportions / self.sizes.sum()
        return share

    @property
    def within(self) -> Floats:
        """What the covariance of each class counts for in that of a bag's embedding, bags x K."""
        weight: Floats = np.clip(self.proportions, 0.0, 1.0) / self.sizes[:, None]
        return weight


@dataclass(frozen=True, eq=False)
class MmdRatios:
    """A fitted kernel model of class ratios.

    Parameters
    ----------
    anchors : Anchors
        Class embeddings, or the bags' for the paper's solution.
    solution : "class" or "paper"
    offset, slopes : arrays, K and K x J
        The free estimate is offset + slopes h, for h the group's inner products with the anchors.
    bags : BagFacts
    scatter : array, K x K x K
        The covariance of the scores in each class.
    spread : ClassSpread
    notes : tuple of str
        What the fit has to say.
    """

    anchors: Anchors
    solution: str
    offset: Floats
    slopes: Floats
    bags: BagFacts
    scatter: Floats
    spread: ClassSpread
    notes: tuple[str, ...] = ()

    def ratios(self, X: Floats) -> Floats:
        """The ratios of a group."""
        return self._bounded(self.anchors.mean_products(X))

    def estimate(self, X: Floats) -> RatioEstimate:
        """The ratios of a group with their covariance and the test of a shift."""
        seen, norm = self.anchors.mean_products_and_norm(X)
        free = self.offset + self.slopes @ seen
        share = project_to_simplex(free)
        alpha = self._alpha(seen, share)
        unsure = alpha**2 + np.einsum("k,bkl,l->b", share, self.bags.doubt, share)
        parts = {
            "group": np.tensordot(share, self.scatter, 1) / len(X),
            "training": self._training(alpha, unsure, share, len(X)),
            "proportions": np.tensordot(unsure, self.bags.noise, 1),
        }
        total = parts["group"] + parts["training"] + parts["proportions"]
        misfit = self._misfit(seen, norm, share, len(X))
        return RatioEstimate(self._bounded(seen), free, total, parts, len(X), *misfit)

    def bag_ratios(self) -> Floats:
        """The ratios of the training bags by the mixtures of classes that are nearest to their rows, bags x K."""
        mixing = self.bags.mixing
        seen = mixing @ self.bags.gram
        classes = seen @ mixing.T
        return np.array([nearest_mixture(classes, column) for column in seen.T])

    def overstatement(self, X: Floats, codes: Integers, shares: Floats) -> float:
        """By how much the bags overstate the difference of classes, at least, by the scores of training rows."""
        some = np.linspace(0, len(X) - 1, min(len(X), _SCORED)).astype(int)
        scores = np.vstack([self.anchors.products(X[some[block]]) for block in row_blocks(len(some), 2000)])
        return overstatement(scores @ self.slopes.T + self.offset, codes[some], np.ones(len(some)), shares)

    def left_out_errors(self) -> Floats:
        """The errors of the free estimates of bags, each by the other bags, bags x K.

        NaN where the others do not tell the classes apart; and of many bags all but some.
        """
        bags, lean = self.bags, tangent(len(self.bags.mixing))
        errors = np.full(bags.proportions.shape, np.nan)
        noise = bags.within @ self.spread.whole.first
        for out in np.unique(np.linspace(0, len(errors) - 1, _LEFT_OUT).astype(int)).tolist():
            rest = np.arange(len(errors)) != out
            shares, sizes = bags.proportions[rest], bags.sizes[rest]
            if np.linalg.matrix_rank(shares, tol=1e-8) < len(lean):
                continue
            mixing = np.zeros_like(bags.mixing)
            mixing[:, rest] = class_means(np.eye(len(shares)), sizes, shares)
            long = mixing @ bags.gram @ mixing.T
            signal = long - mixing @ (noise * mixing).T
            values, axes = np.linalg.eigh(lean.T @ signal @ lean)
            least = FAINT * float(np.linalg.eigvalsh(lean.T @ long @ lean)[0])
            inverse = (axes / np.maximum(values, max(least, 1e-300))) @ axes.T
            overall = sizes @ shares / sizes.sum()
            seen = mixing @ bags.gram[:, out] - signal @ overall
            errors[out] = overall + lean @ inverse @ lean.T @ seen - bags.proportions[out]
        return errors

    def bag_misfit(self) -> Misfit:
        """Do the training bags differ in more than their proportions?

        The bags' embeddings against the mixtures of class embeddings that their proportions call for.
        """
        bags, traces = self.bags, self.spread.whole
        left = np.eye(len(bags.sizes)) - bags.proportions @ bags.mixing
        freedom = len(bags.sizes) - len(bags.mixing)
        if freedom < 1:
            return Misfit(float("nan"), float("nan"))
        form = left.T @ (bags.sizes[:, None] * left)
        classes = bags.mixing @ bags.gram @ bags.mixing.T
        within = bags.within
        by_noise = np.einsum("kl,blm->bkm", classes, bags.noise)
        first = within @ traces.first + np.trace(by_noise, axis1=1, axis2=2)
        second = within @ traces.second @ within.T + np.einsum("bkl,clk->bc", by_noise, by_noise)
        mean = float(np.diag(form) @ first)
        variance = 2 * float((form**2 * second).sum())
        value = float((form * bags.gram).sum())
        tail = weighted_chi_square_tail(value, mean, variance, traces.skewness / np.sqrt(freedom))
        return Misfit(value / mean, tail)

    def normalised(self) -> bool:
        """Whether no row's embedding is longer than one, as the paper's bounds assume; of a user's kernel, as seen."""
        if isinstance(self.anchors, FeatureAnchors):
            return isinstance(self.anchors.features, FourierFeatures)
        rows = self.anchors.rows[:_MEASURED] if isinstance(self.anchors, RowAnchors) else np.zeros((0, 0))
        return bool(self.anchors.square_norms(rows).max(initial=0.0) <= 1 + 1e-9)

    def class_separation(self) -> float:
        """The length of the shortest difference of class embeddings, chance taken off."""
        bags = self.bags
        chance = bags.mixing @ (bags.within @ self.spread.whole.first * bags.mixing).T
        lean = tangent(len(bags.mixing))
        inner = lean.T @ (bags.mixing @ bags.gram @ bags.mixing.T - chance) @ lean
        # A difference of two classes is sqrt(2) long in these coordinates.
        return float(np.sqrt(2 * max(np.linalg.eigvalsh(inner)[0], 0.0)))

    def unexplained(self) -> float:
        """The part of the bags' differences, beyond chance, that their proportions do not explain."""
        bags = self.bags
        within = bags.within @ self.spread.whole.first
        parts = []
        for left in (
            np.eye(len(bags.sizes)) - bags.proportions @ bags.mixing,
            np.eye(len(bags.sizes)) - bags.sizes / bags.sizes.sum(),
        ):
            form = left.T @ (bags.sizes[:, None] * left)
            parts.append(float((form * bags.gram).sum()) - float(np.diag(form) @ within))
        return max(parts[0], 0.0) / max(parts[1], parts[0], 1e-300)

    # -- saving ----------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Arrays and plain values; refused where training rows would be inside."""
        if isinstance(self.anchors, RowAnchors):
            raise InvalidInput(
                "a model with exact kernels, which keeps the training rows",
                "random features, or the linear kernel",
                "Fit with features='auto' or a number of features to save a model without its rows.",
            )
        if not isinstance(self.anchors, FeatureAnchors):
            raise InvalidInput(f"anchors of type {type(self.anchors).__name__}", "features")
        features = self.anchors.features
        return {
            "centre": features.standard.centre,
            "scale": features.standard.scale,
            "frequencies": features.frequencies if isinstance(features, FourierFeatures) else None,
            "vectors": self.anchors.vectors,
            "solution": self.solution,
            "offset": self.offset,
            "slopes": self.slopes,
            "bags": vars(self.bags),
            "scatter": self.scatter,
            "whole": vars(self.spread.whole),
            "off_plane": vars(self.spread.off_plane),
            "notes": self.notes,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The model again."""
        standard, waves = Standard(content["centre"], content["scale"]), content["frequencies"]
        features = LinearFeatures(standard) if waves is None else FourierFeatures(standard, waves)
        return cls(
            FeatureAnchors(features, content["vectors"]),
            content["solution"],
            content["offset"],
            content["slopes"],
            BagFacts(**content["bags"]),
            content["scatter"],
            ClassSpread(Traces(**content["whole"]), Traces(**content["off_plane"])),
            content["notes"],
        )

    # -- the parts -------------------------------------------------------------------------------------------------

    def _bounded(self, seen: Floats) -> Floats:
        if self.solution == "paper":
            return project_to_simplex(self.offset + self.slopes @ seen)
        return nearest_mixture(self.anchors.gram, seen)

    def _alpha(self, seen: Floats, share: Floats) -> Floats:
        """The weight of every bag in the mixture."""
        if self.solution == "paper":
            return least_squares(self.bags.gram, seen)
        weights: Floats = share @ self.bags.mixing
        return weights

    def _training(self, alpha: Floats, unsure: Floats, share: Floats, rows: int) -> Floats:
        """From the training rows: to first order, and what their errors make of the errors of the group."""
        bags = self.bags
        within = bags.within
        first: Floats = np.einsum("b,bk,kij->ij", unsure, within, self.scatter)
        if self.solution == "paper":
            return first
        second = self.spread.whole.second
        with_group = within @ second @ (share / rows)
        among = within @ second @ within.T
        mixing = bags.mixing
        products = (mixing * (with_group + among @ unsure)) @ mixing.T
        crossed = mixing * alpha
        products = products + crossed @ among @ crossed.T
        cov: Floats = first + self.slopes @ products @ self.slopes.T
        return cov

    def _misfit(self, seen: Floats, norm: float, share: Floats, rows: int) -> Misfit:
        """The distance of the group from the plane of the classes."""
        bags, traces = self.bags, self.spread.off_plane
        alpha = share @ bags.mixing
        products = bags.mixing @ seen if self.solution == "paper" else seen
        classes = bags.mixing @ bags.gram @ bags.mixing.T
        system = np.ones((len(classes) + 1, len(classes) + 1))
        system[:-1, :-1], system[-1, -1] = classes, 0.0
        at = least_squares(system, np.append(products, 1.0))[:-1]
        distance = norm - 2 * float(at @ products) + float(at @ classes @ at)
        scatter = share / rows + alpha**2 @ bags.within
        mean = float(scatter @ traces.first)
        variance = 2 * float(scatter @ traces.second @ scatter)
        return Misfit(distance / mean, weighted_chi_square_tail(distance, mean, variance, traces.skewness))
