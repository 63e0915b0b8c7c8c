"""Any scikit-learn model as a learner from bags: which bag a row came from, or labels that the counts suggest.

Both are cross-fitted, out of bag or out of fold, since a flexible model repeats the labels that it saw; and both are
then calibrated by the likelihood of the bags: sum_i log sum_k p(k | x_i) P(bag_i | k).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from askance.arrays import Floats, Integers
from askance.errors import InvalidInput
from askance.learning.bags.bags import Bags
from askance.learning.bags.copies import row_copies
from askance.learning.face.base_learner import check_base_learner
from askance.learning.face.random_state import random_seed
from askance.solvers.em import class_probabilities, weight_argument
from askance.solvers.softmax import posterior

# A flexible model's probabilities of exactly 0 and 1 are not meant. Anything from 1e-6 to 0.02 did the same for breast
# cancer and four digits, to the third place of ratios and accuracies.
_FLOOR = 5e-3
_FOLDS = 5  # scikit-learn's default
_FEW_COPIES = 0.05  # of the rows, which change nothing; from there on copies are held out together


class CrossFit(NamedTuple):
    """A fitted model, and its predictions of rows it did not see."""

    model: Any
    held_out: Floats


@dataclass(frozen=True)
class Calibration:
    """Class probabilities p become softmax(slope log p + offsets).

    Parameters
    ----------
    slope : float
    offsets : array, K
    log_likelihood : float
        Of the bags, after calibration.
    """

    slope: float
    offsets: Floats
    log_likelihood: float

    def apply(self, probabilities: Floats) -> Floats:
        """Return calibrated probabilities, n x K."""
        return _calibrated(np.log(np.maximum(probabilities, _FLOOR)), self.slope, self.offsets)


def usable_learner(base_estimator: Any, needed: str, random_state: Any) -> Any:
    """Return a user's learner, cloned, or a random forest; ``needed`` is the method that it must have."""
    from sklearn.base import clone, is_regressor

    if base_estimator is not None:
        base = clone(base_estimator)
        if not hasattr(base, needed):
            raise InvalidInput(f"base_estimator={base!r}", f"a scikit-learn model with {needed}")
        if needed == "predict" and not is_regressor(base):
            check_base_learner(base, "Every row is learned once for each class, weighted by how likely that is.")
        return base
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    seed = random_seed(random_state)
    common = {"n_estimators": 150, "min_samples_leaf": 10, "oob_score": True, "random_state": seed}
    if needed == "predict_proba":
        return RandomForestClassifier(**common)
    return RandomForestRegressor(max_features=0.3, **common)


def bag_given_class(bags: Bags) -> Floats:
    """Return P(bag of row i | class k), n x K, for rows in the order of their bags."""
    channel = bags.shares * (bags.sizes / bags.sizes.sum())[:, None] / np.maximum(bags.overall, 1e-300)
    return np.repeat(channel, bags.sizes, axis=0)


def cross_fit_bags(base: Any, X: Any, bags: Integers) -> CrossFit:
    """Learn which bag a row came from; return probabilities, n x bags."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict

    copies = row_copies(X)
    repeated = _repeated(copies) and all(len(np.unique(copies[bags == bag])) >= _FOLDS for bag in np.unique(bags))
    if getattr(base, "oob_score", False) and not repeated:
        model = base.fit(X, bags)
        return CrossFit(model, _finite_rows(model.oob_decision_function_))
    folds = max(2, min(_FOLDS, int(np.bincount(bags).min())))
    dealt = StratifiedGroupKFold(folds) if repeated else StratifiedKFold(folds)
    held_out = cross_val_predict(base, X, bags, groups=copies if repeated else None, cv=dealt, method="predict_proba")
    return CrossFit(base.fit(X, bags), held_out)


def _repeated(copies: Integers) -> bool:
    """Whether so many rows are copies that a model would be tested on what it has learned."""
    return len(np.unique(copies)) < (1 - _FEW_COPIES) * len(copies)


def cross_fit_labels(base: Any, X: Any, labels: Floats) -> CrossFit:
    """Learn class probabilities, n x K, by a regressor, or by a classifier from K weighted copies of every row."""
    from sklearn.base import clone, is_regressor
    from sklearn.model_selection import GroupKFold, KFold

    copies = row_copies(X)
    repeated = _repeated(copies)
    if is_regressor(base) and getattr(base, "oob_score", False) and not repeated:
        model = base.fit(X, _targets(labels))
        return CrossFit(model, _finite_rows(_as_shares(model.oob_prediction_, labels.shape[1])))
    held_out = np.empty_like(labels)
    dealt = GroupKFold(_FOLDS) if repeated and copies.max() >= _FOLDS else KFold(_FOLDS)
    for seen, hidden in dealt.split(labels, groups=copies if isinstance(dealt, GroupKFold) else None):
        part = _fit_soft(clone(base), X[seen], labels[seen])
        held_out[hidden] = class_shares(part, X[hidden], labels.shape[1])
    return CrossFit(_fit_soft(clone(base), X, labels), held_out)


def class_shares(model: Any, X: Any, classes: int) -> Floats:
    """Predict class probabilities by a regressor of shares or a classifier of codes 0 to K-1."""
    from sklearn.base import is_regressor

    return _as_shares(model.predict(X), classes) if is_regressor(model) else class_probabilities(model, X, classes)


def unmix(bag_probabilities: Floats, channel: Floats, rounds: int = 100) -> Floats:
    """Turn P(bag | x) into P(class | x): for each row the likeliest mixture of the channel's columns.

    Parameters
    ----------
    bag_probabilities : array, n x bags
    channel : array, bags x K
        P(bag | class).
    rounds : int
        Of expectation-maximisation, which is concave here.

    Examples
    --------
    >>> channel = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> unmix(np.array([[0.9, 0.1], [0.55, 0.45]]), channel, 2000).round(2)
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    shares = np.full((len(bag_probabilities), channel.shape[1]), 1 / channel.shape[1])
    for _ in range(rounds):
        shares = shares * ((bag_probabilities / np.maximum(shares @ channel.T, 1e-300)) @ channel)
    mixed: Floats = shares / shares.sum(axis=1, keepdims=True)
    return mixed


def calibrate(probabilities: Floats, likelihood: Floats) -> Calibration:
    """Find the slope and offsets under which the bags are likeliest.

    Parameters
    ----------
    probabilities : array, n x K
        Of rows that the model did not see.
    likelihood : array, n x K
        P(bag_i | class k).
    """
    from scipy.optimize import minimize

    logs = np.log(np.maximum(probabilities, _FLOOR))

    def loss(parameters: Floats) -> float:
        made = _calibrated(logs, parameters[0], np.concatenate([[0.0], parameters[1:]]))
        unlikely = -float(np.log(np.maximum((made * likelihood).sum(axis=1), 1e-300)).sum())
        return unlikely + 0.5 * float((parameters[0] - 1) ** 2 + (parameters[1:] ** 2).sum())

    start = np.concatenate([[1.0], np.zeros(logs.shape[1] - 1)])
    found = minimize(loss, start, method="L-BFGS-B").x
    slope, offsets = float(max(found[0], 0.0)), np.concatenate([[0.0], found[1:]])
    return Calibration(slope, offsets, bag_log_likelihood(_calibrated(logs, slope, offsets), likelihood))


def bag_log_likelihood(probabilities: Floats, likelihood: Floats) -> float:
    """Return sum_i log sum_k p(k | x_i) P(bag_i | k)."""
    return float(np.log(np.maximum((probabilities * likelihood).sum(axis=1), 1e-300)).sum())


def _calibrated(logs: Floats, slope: float, offsets: Floats) -> Floats:
    logits = slope * logs + offsets
    return posterior(logits[:, 1:] - logits[:, :1]).probabilities


def _targets(labels: Floats) -> Floats:
    return labels[:, 1] if labels.shape[1] == 2 else labels


def _as_shares(predicted: Floats, classes: int) -> Floats:
    shares = np.column_stack([1 - predicted, predicted]) if classes == 2 else predicted
    clipped = np.clip(shares, 0.0, 1.0)
    # Rows that no tree left out have no prediction; they become NaN here and are filled by their caller.
    made: Floats = clipped / np.maximum(clipped.sum(axis=1, keepdims=True), 1e-300)
    return made


def _finite_rows(held_out: Floats) -> Floats:
    """Give rows that every tree saw the mean of the others."""
    seen = np.isfinite(held_out).all(axis=1) & (held_out.sum(axis=1) > 0)
    return np.where(seen[:, None], held_out, held_out[seen].mean(axis=0) if seen.any() else 1 / held_out.shape[1])


def _fit_soft(model: Any, X: Any, labels: Floats) -> Any:
    from sklearn.base import is_regressor

    if is_regressor(model):
        return model.fit(X, _targets(labels))
    rows, classes = labels.shape
    weight = labels.T.ravel()
    possible = weight > 0
    copies, codes = np.tile(np.arange(rows), classes)[possible], np.repeat(np.arange(classes), rows)[possible]
    return model.fit(X[copies], codes, **{weight_argument(model): weight[possible]})
