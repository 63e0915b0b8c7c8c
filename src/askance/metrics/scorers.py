"""Metrics of the hidden truth as scikit-learn's scorers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from askance.arrays import Floats
from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.labels.finite import Identity
from askance.errors import InvalidInput, did_you_mean
from askance.learning.face.classes import class_array, class_codes
from askance.learning.face.estimator import Estimator
from askance.learning.face.hidden_truth import Estimate
from askance.learning.face.scoring import Of, asks_for_truth
from askance.metrics.decisions import accuracy, balanced_accuracy, f1, precision, recall
from askance.metrics.probabilities import brier, log_loss
from askance.metrics.ranking import roc_auc


@dataclass(frozen=True)
class _Metric:
    """A metric as a scorer needs it: of classes or of probabilities, of one class, and whether more is better."""

    estimate: Callable[..., Estimate]
    of_classes: bool
    sign: int = 1
    of_one: bool = False


# Under the names that scikit-learn gives them.
SCORERS: Mapping[str, _Metric] = {
    "accuracy": _Metric(accuracy, True),
    "balanced_accuracy": _Metric(balanced_accuracy, True),
    "f1": _Metric(f1, True, of_one=True),
    "neg_brier_score": _Metric(brier, False, -1),
    "neg_log_loss": _Metric(log_loss, False, -1),
    "precision": _Metric(precision, True, of_one=True),
    "recall": _Metric(recall, True, of_one=True),
    "roc_auc": _Metric(roc_auc, False),
}


@dataclass(frozen=True)
class ReportScorer:
    """A scorer ``(model, X, reports) -> number`` about the truth behind the reports; see :func:`scorer`."""

    name: str
    channel: Any = None
    of: Of = "reports"
    weighted: bool | None = None  # whether weights that a search is given are asked for, in scikit-learn's routing

    def set_score_request(self, *, sample_weight: bool) -> "ReportScorer":
        """Return a scorer that asks scikit-learn's metadata routing for weights, or does without them."""
        return replace(self, weighted=sample_weight)

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn what to hand on: always the design of each row, which a channel that has several needs."""
        from sklearn.utils.metadata_routing import MetadataRequest

        asked = MetadataRequest(owner=self)
        asked.score.add_request(param="design", alias=True)
        asked.score.add_request(param="sample_weight", alias=self.weighted)
        return asked

    def __call__(self, model: Any, X: Any, y: Any, sample_weight: Any = None, design: Any = None) -> float:
        """Return the score; higher is better."""
        return SCORERS[self.name].sign * self.estimate(model, X, y, sample_weight, design).value

    def estimate(self, model: Any, X: Any, y: Any, sample_weight: Any = None, design: Any = None) -> Estimate:
        """Return the metric itself, with its standard error: a loss has its own sign."""
        metric = SCORERS[self.name]
        model, X = _last_step(model, X)
        channel = self._channel_of(model)
        if metric.of_one and len(channel.classes) > 2:
            raise InvalidInput(
                f"the scorer {self.name!r} for the classes {list(channel.classes)!r}",
                "one that is about all classes, such as balanced_accuracy",
                f"askance.metrics.{self.name}(..., of=...) is about one of them.",
            )
        values = _classes(model, X, channel) if metric.of_classes else _probabilities(model, X, channel)
        if self.of == "truth":
            channel, design = Identity(tuple(channel.classes)), None
        return metric.estimate(y, values, channel, design=design, sample_weight=sample_weight)

    def _channel_of(self, model: Any) -> Any:
        if self.channel is not None:
            return self.channel
        channel = getattr(model, "label_channel_", None)
        if channel is None and _is_ours(model):
            channel = getattr(model, "channel_", None) or getattr(model, "channel", None)
            channel = DesignPerRow(channel) if isinstance(channel, Mapping) else channel
        if hasattr(channel, "unbiasing_matrix"):
            return channel
        if self.of == "truth" and hasattr(model, "classes_"):
            return Identity(tuple(np.asarray(model.classes_).tolist()))
        raise InvalidInput(
            f"a scorer of {type(model).__name__}, which does not know how labels were hidden",
            f"scorer({self.name!r}, channel=...): the channel of the reports",
        )


def scorer(name: str, channel: Any = None, *, of: Of = "reports") -> ReportScorer:
    """Return a scorer for ``cross_val_score`` and ``GridSearchCV`` that undoes the noise of the reports it is given.

    Parameters
    ----------
    name : str
        One of scikit-learn's names: "accuracy", "balanced_accuracy", "f1", "neg_brier_score", "neg_log_loss",
        "precision", "recall", "roc_auc".
    channel : finite channel, optional
        How labels were hidden; what the model says itself if not given. Any classifier of scikit-learn can be scored
        with one.
    of : "reports" or "truth"
        What the labels are.

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> truth = np.where(rng.random(6000) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no")
    >>> channel = ask.RandomizedResponse(["no", "yes"], epsilon=1)
    >>> reports = channel.simulate(truth, rng)
    >>> model = ask.IndirectClassifier(channel)
    >>> cross_val_score(model, X, reports, scoring=ask.scorer("roc_auc"), cv=3).mean().round(2)
    np.float64(0.88)
    >>> print(ask.scorer("roc_auc", of="truth").estimate(model.fit(X, reports), X, truth))
    0.865 (standard error 0.005)
    """
    if name not in SCORERS:
        raise InvalidInput(f"a scorer called {name!r}", f"one of {', '.join(SCORERS)}", did_you_mean(name, SCORERS))
    asks_for_truth(of)
    return ReportScorer(name, channel, of)


def _last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """The model inside of searches and pipelines, and the rows as it takes them."""
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps"):
            X = model[:-1].transform(X) if len(model.steps) > 1 else X
            model = model[-1]
        else:
            return model, X


def _has_classes(model: Any) -> bool:
    """Whether a model predicts classes."""
    return is_classifier(model) or _is_ours(model)


def _is_ours(model: Any) -> bool:
    """Whether a model of this library predicts classes, of which not all are scikit-learn's classifiers."""
    return isinstance(model, Estimator) and hasattr(model, "classes_") and hasattr(model, "predict_proba")


def _classes(model: Any, X: Any, channel: Any) -> Any:
    """What the model says itself, which need not be what is likeliest: a threshold may have been chosen."""
    if not _has_classes(model) or hasattr(model, "scored_probabilities"):  # of reports of features, say
        return class_array(channel.classes)[_probabilities(model, X, channel).argmax(axis=1)]
    return model.predict(X)


def _probabilities(model: Any, X: Any, channel: Any) -> Floats:
    """Probabilities of the channel's classes, in its order."""
    if not _has_classes(model):
        raise InvalidInput(f"a scorer of {type(model).__name__}", "a classifier")
    scored = getattr(model, "scored_probabilities", None) or getattr(model, "predict_proba", None)
    if scored is None:
        raise InvalidInput(f"{type(model).__name__} without predict_proba", "a classifier that has probabilities")
    place = class_codes(class_array(channel.classes), np.asarray(model.classes_))
    if (place < 0).any():
        found = np.asarray(model.classes_).tolist()
        raise InvalidInput(f"a model of the classes {found!r}", f"classes among {list(channel.classes)!r}")
    given = np.asarray(scored(X), dtype=float)
    table = np.zeros((len(given), len(channel.classes)))
    table[:, place] = given
    return table
