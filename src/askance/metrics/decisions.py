"""Metrics of predicted classes: accuracy, recall, precision, and the confusion matrix that they come from."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.frames import refuse_other_rows
from askance.learning.face.classes import class_codes
from askance.learning.face.hidden_truth import Estimate, HiddenTruth
from askance.learning.face.scoring import notice_what_no_channel_reports
from askance.metrics.rare_predictions import RarePrediction, ratio_of_predictions


def accuracy(reports: Any, predicted: Any, channel: Any, *, design: Any = None, sample_weight: Any = None) -> Estimate:
    """Estimate the share of rows whose true class was predicted.

    The mean of R[predicted class, report]. Unbiased where the channel has as many reports as classes, else consistent.

    Parameters
    ----------
    reports : n reports of people that the model did not learn from
    predicted : n classes
    channel : the finite channel of the reports, or a DesignPerRow
    design : n names, optional
        The design of each row, if the channel has several.
    sample_weight : n, optional

    Examples
    --------
    >>> import askance as ask
    >>> reports, predicted = ["yes"] * 38 + ["no"] * 24 + ["yes"] * 12, ["yes"] * 50 + ["no"] * 24
    >>> print(ask.metrics.accuracy(reports, predicted, ask.Warner(0.8)))
    0.793 (standard error 0.091)
    """
    truth, chosen = _read(reports, predicted, channel, design, sample_weight)
    return truth.mean(_is(chosen, truth))


def recall(
    reports: Any, predicted: Any, channel: Any, *, of: Any = None, design: Any = None, sample_weight: Any = None
) -> Estimate:
    """Estimate the share of a true class that was predicted to be of it; of the second class unless ``of`` names one.

    Consistent. Refused where reports do not show that there is anybody of that class.

    Examples
    --------
    >>> import askance as ask
    >>> reports, predicted = ["yes"] * 38 + ["no"] * 24 + ["yes"] * 12, ["yes"] * 50 + ["no"] * 24
    >>> print(ask.metrics.recall(reports, predicted, ask.Warner(0.8)))
    0.795 (standard error 0.071)
    """
    truth, chosen = _read(reports, predicted, channel, design, sample_weight)
    return _recall(truth, chosen, truth.place(of))


def precision(
    reports: Any, predicted: Any, channel: Any, *, of: Any = None, design: Any = None, sample_weight: Any = None
) -> Estimate:
    """Estimate the share of those predicted to be of a class (the second unless ``of`` names one) who are of it.

    Consistent. Refused where nobody is predicted to be of that class.

    Examples
    --------
    >>> import askance as ask
    >>> reports, predicted = ["yes"] * 38 + ["no"] * 24 + ["yes"] * 12, ["yes"] * 50 + ["no"] * 24
    >>> print(ask.metrics.precision(reports, predicted, ask.Warner(0.8)))
    0.933 (standard error 0.101)
    """
    truth, chosen = _read(reports, predicted, channel, design, sample_weight)
    code = truth.place(of)
    said, is_so = _of_cells(truth, code)
    return ratio_of_predictions(truth, chosen, said * is_so, said, f"those predicted to be {truth.named(code)}")


def f1(
    reports: Any, predicted: Any, channel: Any, *, of: Any = None, design: Any = None, sample_weight: Any = None
) -> Estimate:
    """Estimate the harmonic mean of precision and recall of a class, the second unless ``of`` names one. Consistent.

    Examples
    --------
    >>> import askance as ask
    >>> reports, predicted = ["yes"] * 38 + ["no"] * 24 + ["yes"] * 12, ["yes"] * 50 + ["no"] * 24
    >>> print(ask.metrics.f1(reports, predicted, ask.Warner(0.8)))
    0.859 (standard error 0.067)
    """
    truth, chosen = _read(reports, predicted, channel, design, sample_weight)
    code = truth.place(of)
    said, is_so = _of_cells(truth, code)
    whom = f"those who are {truth.named(code)}, or said to be"
    return ratio_of_predictions(truth, chosen, 2 * said * is_so, said + is_so, whom)


def balanced_accuracy(
    reports: Any, predicted: Any, channel: Any, *, design: Any = None, sample_weight: Any = None
) -> Estimate:
    """Estimate the mean of the recalls of all classes. Consistent.

    Examples
    --------
    >>> import askance as ask
    >>> reports, predicted = ["yes"] * 38 + ["no"] * 24 + ["yes"] * 12, ["yes"] * 50 + ["no"] * 24
    >>> print(ask.metrics.balanced_accuracy(reports, predicted, ask.Warner(0.8)))
    0.789 (standard error 0.149)
    """
    truth, chosen = _read(reports, predicted, channel, design, sample_weight)
    sizes = np.array([truth.seen_class(code) for code in range(len(truth.classes))])
    recalls = np.diag(truth.cells(chosen, len(sizes))[0]) / sizes
    # A truth counts for the recall of its own class only.
    costs = (np.eye(len(sizes)) - recalls) / sizes / len(sizes)
    found = truth.estimate(float(recalls.mean()), costs[chosen], "consistent")
    return replace(found, std_error=RarePrediction.of(truth, chosen, costs).error(found.std_error, costs))


@dataclass(frozen=True)
class ConfusionMatrix:
    """Shares of all rows by true and predicted class, with standard errors.

    Parameters
    ----------
    classes : K labels
    shares : K x K
        Rows are true classes, columns predicted ones. May be negative when reports are few or noisy.
    std_errors : K x K
    kind : "unbiased" or "consistent"
    """

    classes: NDArray[Any]
    shares: Floats
    std_errors: Floats
    kind: str

    def to_frame(self) -> Any:
        """Return the shares as a data frame: true classes by predicted ones."""
        import pandas as pd

        names = self.classes.tolist()
        return pd.DataFrame(self.shares, pd.Index(names, name="truth"), pd.Index(names, name="predicted"))

    def plot(self, ax: Any = None) -> Any:
        """Draw the shares with their standard errors; return the axes."""
        from askance.metrics.figures import draw_confusion

        return draw_confusion(self, ax)


def confusion_matrix(
    reports: Any, predicted: Any, channel: Any, *, design: Any = None, sample_weight: Any = None
) -> ConfusionMatrix:
    """Estimate how often each true class is predicted to be each class, as shares of all rows.

    Examples
    --------
    >>> import askance as ask
    >>> reports, predicted = ["yes"] * 38 + ["no"] * 24 + ["yes"] * 12, ["yes"] * 50 + ["no"] * 24
    >>> ask.metrics.confusion_matrix(reports, predicted, ask.Warner(0.8)).shares.round(3)
    array([[0.162, 0.045],
           [0.162, 0.631]])
    """
    truth, chosen = _read(reports, predicted, channel, design, sample_weight)
    return ConfusionMatrix(truth.classes, *truth.cells(chosen, len(truth.classes)), truth.kind)


def _read(
    reports: Any, predicted: Any, channel: Any, design: Any, sample_weight: Any
) -> tuple[HiddenTruth, NDArray[np.int64]]:
    refuse_other_rows(reports=reports, predicted=predicted, design=design, sample_weight=sample_weight)
    truth = HiddenTruth.of(channel, reports, design, sample_weight)
    labels = truth.rows(predicted, "predictions")
    if labels.ndim > 1 and labels.shape[1:] != (1,):
        raise InvalidInput(
            f"predictions of shape {labels.shape}",
            "a label for each row, such as predict returns",
            "For probabilities take roc_auc, brier or log_loss.",
        )
    labels = labels.reshape(-1)
    chosen = class_codes(truth.classes, labels)
    if (chosen < 0).any():
        stranger = labels.tolist()[int(np.flatnonzero(chosen < 0)[0])]
        raise InvalidInput(f"the prediction {stranger!r}", f"one of the classes {truth.classes.tolist()!r}")
    notice_what_no_channel_reports(truth, chosen, np.zeros(truth.n))  # how sure they are is not known
    return truth, chosen


def _is(code: Any, truth: HiddenTruth) -> Floats:
    """Costs that count truths of one class, the same or another for each row."""
    return np.broadcast_to(np.reshape(code, (-1, 1)) == np.arange(len(truth.classes)), truth.indicators.shape) * 1.0


def _recall(truth: HiddenTruth, chosen: NDArray[np.int64], code: int) -> Estimate:
    said, is_so = _of_cells(truth, code)
    return ratio_of_predictions(truth, chosen, said * is_so, is_so, f"those who are {truth.named(code)}")


def _of_cells(truth: HiddenTruth, code: int) -> tuple[Floats, Floats]:
    """Whether a class is predicted, and whether it is true, by predicted and true class."""
    one = np.eye(len(truth.classes))[code]
    return np.repeat(one[:, None], len(one), axis=1), np.repeat(one[None], len(one), axis=0)
