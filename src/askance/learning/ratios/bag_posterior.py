"""Class posteriors from which bag a row came from, and the ratios of new groups by them.

For each of several folds, two models learn from the rows outside it: a softmax by the likelihood of the bags, and a
classifier that tells which group of bags a row came from, whose probabilities are unmixed to classes by the bags'
proportions. Held-out rows decide how the two are combined and calibrated (``bag_softmax``), and what
a class looks like through the models' eyes (``prior_shift``). New rows pass through every fold's
models: exactly as held-out rows were, never by a model that knows more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from askance.arrays import Floats, Integers
from askance.errors import InvalidInput, Unidentifiable
from askance.learning.bags.bags import nearest_shares
from askance.learning.bags.copies import row_copies
from askance.learning.ratios.bag_doubt import overstatement
from askance.learning.ratios.bag_softmax import Stack, best_bag_softmax, fit_stack, linear_logits, log_posterior
from askance.learning.ratios.class_spread import tangent
from askance.learning.ratios.forest import Forest, grow_forest
from askance.learning.ratios.kernel_functions import Standard
from askance.learning.ratios.posterior_table import PosteriorTable
from askance.learning.ratios.prior_shift import class_solution, estimate_shifted_ratios
from askance.learning.ratios.ratio_model import ALIKE, RatioEstimate
from askance.solvers.progress import steps
from askance.solvers.simplex import project_to_simplex

# A flexible model's probabilities of exactly 0 and 1 are not meant. Anything from 1e-6 to 0.02 did the same for breast
# cancer and four digits, to the third place of ratios and accuracies.
_FLOOR = 5e-3
_FEW_ROWS, _FOLDS_OF_FEW, _FOLDS = 1000, 10, 5  # below 1,000 rows a model misses those that are held out
_TREES = 200  # in all folds together: 20 or 40 in each
_ENOUGH = 50_000  # rows that models learn from; all rows are used for calibration and class means
_ROWS_PER_TREE = 20_000  # a tree of more takes longer, and is averaged with others anyway
_FINE = 3  # groups of bags for each class, at most: of 8 bags, 1 to 10 gave ratios within .012 of each other (L1 error)
_UNSEEN = 1e-6  # a difference of classes' mean scores that is rounding error
# A standard error, by the training rows alone, at which an interval is as wide as all shares that there are.
_HARDLY_KNOWN = 0.25
_SHOWN = 1000  # training rows that stand for a new group when this is asked


@dataclass(frozen=True, eq=False)
class BagPosteriorModel:
    """Ratios of new groups by the posteriors of several folds' models.

    Parameters
    ----------
    centre, scale : array, d
        Features are standardised by these.
    linear : tuple of arrays, K-1 x (1 + d)
        The softmax of each fold.
    learners : tuple
        The classifier of each fold, with ``predict_proba`` for groups of bags.
    unmixing : array, K x groups
        From probabilities of groups to those of classes.
    stack : Stack
    table : PosteriorTable
    notes : tuple of str
        What the fit has to say.
    allows_for_teaching : bool
        Whether errors allow for the bags' having taught the models. A saved model of before that says what it said.
    """

    centre: Floats
    scale: Floats
    linear: tuple[Floats, ...]
    learners: tuple[Any, ...]
    unmixing: Floats
    stack: Stack
    table: PosteriorTable
    notes: tuple[str, ...] = ()
    allows_for_teaching: bool = True

    def ratios(self, X: Floats) -> Floats:
        """The ratios of the group X, K numbers that sum to one."""
        return self.estimate(X).ratios

    def estimate(self, X: Floats) -> RatioEstimate:
        """The ratios with their covariance."""
        return self._estimate(self._log_posteriors(X))

    def _estimate(self, logs: Floats) -> RatioEstimate:
        found, unseen = estimate_shifted_ratios(self.table, logs, self.allows_for_teaching), self._unseen
        if not unseen.any():
            return found
        # Along a direction that the posteriors do not show, nothing is known: ratios stay those of the training rows,
        # with a variance that no ratios can have.
        free = found.free + unseen @ (self.table.overall - found.free)
        parts = {**found.parts, "training": _outside(found.parts["training"], unseen) + 100 * unseen}
        total = _outside(found.covariance, unseen) + 100 * unseen
        return replace(found, ratios=project_to_simplex(free), free=free, covariance=total, parts=parts)

    @cached_property
    def _unseen(self) -> Floats:
        """The projection, K x K, on contrasts of classes whose rows all look the same to the models."""
        scores = self.table.cell_likelihoods / (self.table.cell_likelihoods @ self.table.overall)[:, None]
        lean = tangent(scores.shape[1])
        _, values, axes = np.linalg.svd(self.table.by_labels(scores).means.T @ lean)
        lost = lean @ axes[np.flatnonzero(values <= _UNSEEN)].T
        seen_not: Floats = lost @ lost.T
        return seen_not

    def overstatement(self, X: Floats, codes: Integers, shares: Floats) -> float:
        """By how much the bags overstate the difference of classes, at least, by the posteriors of held-out rows."""
        table = self.table
        if self._unseen.any():
            return 0.0  # nothing is told of some classes, which is said as such
        scores = table.cell_likelihoods / (table.cell_likelihoods @ table.overall)[:, None]
        solved = scores @ class_solution(table.by_bags(scores)).T
        return overstatement(solved[table.places], table.bags, table.counts.astype(float), table.shares)

    def _log_posteriors(self, X: Floats) -> Floats:
        """By each fold's models, folds x n x K."""
        rows = Standard(self.centre, self.scale).within_reach(X)
        folds = [
            self.stack.logits(_members(rows, theta, learner, self.unmixing))
            for theta, learner in zip(self.linear, self.learners, strict=True)
        ]
        return np.array([log_posterior(logits) for logits in folds])

    def to_dict(self) -> dict[str, Any]:
        """Arrays and plain values that ``from_dict`` turns into the model again."""
        if not all(isinstance(learner, Forest) for learner in self.learners):
            raise InvalidInput(
                "a base_estimator in a model to be saved", "base_estimator=None", "Save it by its own means, or refit."
            )
        return {
            "centre": self.centre,
            "scale": self.scale,
            "linear": self.linear,
            "forests": tuple(learner.to_dict() for learner in self.learners),
            "unmixing": self.unmixing,
            "slopes": self.stack.slopes,
            "offsets": self.stack.offsets,
            "table": self.table.to_dict(),
            "notes": self.notes,
            "allows_for_teaching": self.allows_for_teaching,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The model that ``to_dict`` described."""
        return cls(
            content["centre"],
            content["scale"],
            tuple(content["linear"]),
            tuple(Forest.from_dict(forest) for forest in content["forests"]),
            content["unmixing"],
            Stack(content["slopes"], content["offsets"]),
            PosteriorTable.from_dict(content["table"]),
            tuple(content.get("notes", ())),  # models of older versions have none
            content.get("allows_for_teaching", False),
        )


def fit_bag_posterior(
    X: Floats, codes: Integers, proportions: Floats, noise: Floats | None, base_estimator: Any, random_state: int
) -> BagPosteriorModel:
    """Learn what tells the classes apart from bags that differ in their proportions and in nothing else.

    Parameters
    ----------
    X : array, n x d
    codes : array, n
        The bag of each row, 0 to bags - 1.
    proportions : array, bags x K
        As they were given; with noise they need not lie between 0 and 1.
    noise : array, bags x K x K, optional
        The covariance of each bag's proportions about the true ones.
    base_estimator : scikit-learn classifier, optional
        Learns which group of bags a row came from; a random forest if not given.
    random_state : int
        For the folds and the forest.
    """
    rng = np.random.default_rng(random_state)
    sizes = np.bincount(codes, minlength=len(proportions))
    shares = nearest_shares(proportions)
    overall = sizes @ shares / len(codes)
    if overall.min() <= 0:
        raise Unidentifiable(
            f"proportions whose noise leaves nobody of {int((overall <= 0).sum())} of {len(overall)} classes",
            "some rows of every class",
            "Leave the class out or join it with another; method='mmd' does not need it.",
        )
    if noise is not None and not noise.any():
        noise = None  # of exact proportions more is known
    likelihood = (shares / overall)[codes]
    standard = Standard.of(X)
    rows = standard(X)
    fold = _folds(X, codes, _FOLDS_OF_FEW if len(rows) < _FEW_ROWS else _FOLDS, rng)
    learn = np.sort(rng.permutation(len(rows))[:_ENOUGH])
    linear = best_bag_softmax(rows[learn], likelihood[learn], fold[learn])
    group = _groups_of_bags(shares, sizes, rng)
    learners = [
        _learn_groups(rows[seen], group[codes[seen]], int(group.max()) + 1, base_estimator, len(linear), rng)
        for seen in (learn[fold[learn] != f] for f in steps(range(len(linear))))
    ]
    unmixing = _unmixing(shares, sizes, overall, group)
    held_out = np.empty((2, len(rows), len(overall)))
    for f, (theta, learner) in enumerate(zip(linear, learners, strict=True)):
        held_out[:, fold == f] = _members(rows[fold == f], theta, learner, unmixing)
    stack = fit_stack(held_out, likelihood)
    logs = log_posterior(stack.logits(held_out))
    table = PosteriorTable.of(logs, codes, proportions, noise)
    table.by_bags(table.cell_likelihoods)  # refuses proportions that tell less than their noise hides
    model = BagPosteriorModel(standard.centre, standard.scale, linear, tuple(learners), unmixing, stack, table)
    some = rng.permutation(len(logs))[:_SHOWN]
    return replace(model, notes=_notes(model._estimate(logs[None, some])))


def _notes(found: RatioEstimate) -> tuple[str, ...]:
    """What to say of a group like the training rows."""
    if np.diag(found.parts["training"]).max() < _HARDLY_KNOWN**2:
        return ()
    return (ALIKE,)


def _outside(covariance: Floats, unseen: Floats) -> Floats:
    rest = np.eye(len(unseen)) - unseen
    return rest @ covariance @ rest


def _folds(X: Floats, codes: Integers, folds: int, rng: np.random.Generator) -> Integers:
    """Deal the rows of every bag to the folds, as evenly as may be; copies of a row to the same fold.

    A model that saw a copy of a held-out row in another bag knows what it should not know.
    """
    _, first, copy = np.unique(row_copies(X), return_index=True, return_inverse=True)
    shuffled = rng.permutation(len(first))
    by_bag = shuffled[np.argsort(codes[first][shuffled], kind="stable")]
    fold = np.empty(len(first), dtype=np.int64)
    fold[by_bag] = np.arange(len(first)) % folds
    return fold[copy]


def _groups_of_bags(shares: Floats, sizes: Integers, rng: np.random.Generator) -> Integers:
    """Bags of equal proportions are one to a classifier, and of too many different ones the similar are."""
    different, group = np.unique(shares.round(9), axis=0, return_inverse=True)
    if len(different) > _FINE * shares.shape[1]:
        from sklearn.cluster import KMeans

        seed = int(rng.integers(2**31 - 1))
        group = KMeans(_FINE * shares.shape[1], n_init=5, random_state=seed).fit_predict(shares, sample_weight=sizes)
        group = np.unique(group, return_inverse=True)[1]
    return np.asarray(group).ravel().astype(np.int64)


def _unmixing(shares: Floats, sizes: Integers, overall: Floats, group: Integers) -> Floats:
    """The inverse of P(group | class), by least squares weighted by what groups are expected to vary."""
    channel = np.zeros((int(group.max()) + 1, len(overall)))
    np.add.at(channel, group, shares * sizes[:, None] / (sizes.sum() * overall))
    often = channel @ overall
    weighted = channel / np.sqrt(often)[:, None]
    inverse: Floats = np.linalg.pinv(weighted) / np.sqrt(often)
    return inverse


def _learn_groups(
    rows: Floats, group: Integers, groups: int, base_estimator: Any, folds: int, rng: np.random.Generator
) -> Any:
    if base_estimator is None:
        seed = int(rng.integers(2**31 - 1))
        return grow_forest(rows, group, groups, max(_TREES // folds, 1), _ROWS_PER_TREE, seed)
    from sklearn.base import clone

    return clone(base_estimator).fit(rows, group)


def _members(rows: Floats, theta: Floats, learner: Any, unmixing: Floats) -> Floats:
    """Log-probabilities of the classes by the softmax and by the classifier, 2 x n x K."""
    from askance.solvers.em import class_probabilities

    mixed = class_probabilities(learner, rows, unmixing.shape[1]) @ unmixing.T
    classes = np.maximum(mixed, _FLOOR)
    classes /= classes.sum(axis=1, keepdims=True)
    return np.array([log_posterior(linear_logits(rows, theta)), np.log(classes)])
