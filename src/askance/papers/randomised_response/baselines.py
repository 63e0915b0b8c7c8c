"""What people do with hidden records when they do not use the spread likelihood; kept to compare with.

Neither is consistent ([RR] sections 4.2 and 4.3). On noise, coefficients shrink, and the more so the more a feature was
hidden. A reconstruction is no record: its errors depend on what it was made from.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.feature_channel import FeatureChannel, as_rows
from askance.channels.attributes.row_channel import RowChannel
from askance.errors import InvalidInput
from askance.learning.face.requested_ridge import checked_ridge

# What "auto" chooses from: scikit-learn's default and stronger, half a decade apart.
_RIDGES = np.logspace(0, 3.5, 8)


def train_on_noise(channel: RowChannel, X: Any, y: Any, *, ridge: float | str = 1.0) -> Any:
    """Fit logistic regression to reports as if they were the truth: a baseline.

    Parameters
    ----------
    channel : RowChannel
        Says what the classes are; its noise is ignored.
    X, y : reports
    ridge : float or "auto"
        As scikit-learn's ``C = 1 / ridge``; "auto" is chosen by cross-validation on the reports.

    Returns
    -------
    sklearn.linear_model.LogisticRegression

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> from askance.papers.randomised_response import train_on_noise
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, size=(20_000, 1))
    >>> y = np.where(rng.random(20_000) < 1 / (1 + np.exp(2 - 4 * X[:, 0])), "yes", "no")
    >>> channel = ask.RowChannel(ask.StateFlip(2, 0.2), label=ask.Warner(0.8))
    >>> train_on_noise(channel, *channel.simulate((X, y), rng)).coef_.round(1)  # the truth is 4
    array([[1.1]])
    """
    labels = _labels(channel, y)
    return _logistic(as_rows(X).astype(float), labels, None, ridge)


def reconstruct(channel: RowChannel | FeatureChannel, X: Any, *, prior: Any = "learned") -> Floats:
    """Return the mean of every attribute given its report: what the features most likely were, one by one.

    Parameters
    ----------
    channel : RowChannel or the channel of its features
    X : reports
    prior : "learned", "flat" or marginals
        As in :class:`~askance.SpreadClassifier`.
    """
    from askance.learning.records.posterior import FeaturePosterior

    rows = as_rows(X)
    features = channel.features if isinstance(channel, RowChannel) else channel  # the public door
    wide = features.for_width(rows.shape[1])
    reports = wide.codes_and_numbers(rows)
    return FeaturePosterior.fitted(wide, reports, prior).moments(reports).mean


def reconstruction(channel: RowChannel, X: Any, y: Any, *, prior: Any = "learned", ridge: float | str = 1.0) -> Any:
    """Reconstruct every record, and fit logistic regression to that: a baseline.

    Features become their means given the reports; each record counts for every class with the probability that it has
    given the label's report, under the shares of the classes that the reports imply.

    Parameters
    ----------
    channel, X, y, ridge
        As for :func:`train_on_noise`, and so is what is returned.
    prior : "learned", "flat" or marginals

    Examples
    --------
    >>> import askance as ask, numpy as np
    >>> from askance.papers.randomised_response import reconstruction
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([0, 1], 10_000)[:, None]
    >>> y = np.where(rng.random(20_000) < np.where(X[:, 0] == 1, 0.9, 0.1), "yes", "no")
    >>> channel = ask.RowChannel(ask.StateFlip(2, 0.2), label=ask.Warner(0.8))
    >>> reconstruction(channel, *channel.simulate((X, y), rng)).coef_.round(1)  # the truth is 4.4
    array([[1.1]])
    """
    from askance.learning.answers.prevalence import Prevalence

    labels = _labels(channel, y)
    means = reconstruct(channel, X, prior=prior)
    if channel.label is None:
        return _logistic(means, labels, None, ridge)
    shares = Prevalence(channel.label).fit(y).proportions_
    chance = channel.label.likelihood(y) * shares
    chance /= chance.sum(axis=1, keepdims=True)
    classes = np.array(channel.label.classes)
    return _logistic(np.tile(means, (len(classes), 1)), np.repeat(classes, len(means)), chance.T.ravel(), ridge)


def _labels(channel: RowChannel, y: Any) -> NDArray[Any]:
    if not isinstance(channel, RowChannel):  # the public door: whatever a user hands in
        raise InvalidInput(f"a {type(channel).__name__} as channel", "a RowChannel: features and label")
    if channel.label is not None:
        channel.label.encode_reports(y)  # refuses what is no report
    labels = np.asarray(y)
    if len(np.unique(labels)) < 2:
        raise InvalidInput("reports of one class only", "reports of at least two classes")
    return labels


def _logistic(X: Floats, y: NDArray[Any], weights: Floats | None, ridge: float | str) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, GroupKFold

    chosen = checked_ridge(ridge)
    model = LogisticRegression(C=1.0 if chosen is None else 1 / max(chosen, 1e-12), max_iter=5000)
    if chosen is not None:
        return model.fit(X, y, sample_weight=weights)
    copies = 1 if weights is None else len(np.unique(y))
    people = np.tile(np.random.default_rng(0).permutation(len(X) // copies), copies)
    search = GridSearchCV(model, {"C": 1 / _RIDGES}, cv=GroupKFold(5), scoring="neg_log_loss")
    # Copies of a record stay together, or the folds would know each other.
    return search.fit(X, y, groups=people, sample_weight=weights).best_estimator_
