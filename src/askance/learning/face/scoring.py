"""What a score is about: always the hidden truth.

``score(X, reports)`` estimates how well a model does on the truth from reports alone. ``score(X, truth, of="truth")``
measures it where the truth is known. Which of the two is never guessed from the type of the data, and a model whose
reports cannot tell refuses with a sentence.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes
from askance.channels.base import LabelChannel
from askance.channels.labels.design_per_row import DesignPerRow
from askance.errors import InvalidInput, NotAvailable
from askance.learning.face.classes import class_codes
from askance.learning.face.sample_weights import checked_weights
from askance.statistics.frequencies import ReportCounts, counted

Of = Literal["reports", "truth"]


def asks_for_truth(of: str) -> bool:
    """Whether the labels of a score are the truth; refuses a word that says neither."""
    if of not in ("reports", "truth"):
        raise InvalidInput(f"of={of!r}", "of='reports', or of='truth' where the true labels are known")
    return of == "truth"


def refuse_score_of_reports(what: str, why: str, instead: str) -> NotAvailable:
    """Return the refusal of an estimator whose reports do not tell how well it does."""
    return NotAvailable(f"the score of {what} from what it learns from: {why}", "score(..., of='truth')", instead)


def accuracy_on_truth(predicted: NDArray[Any], truth: Any, classes: NDArray[Any], weights: Any = None) -> float:
    """Return the share of rows whose true class was predicted."""
    labels = np.asarray(truth, dtype=None if classes.dtype != object else object).ravel()
    if len(labels) != len(predicted):
        raise InvalidInput(f"{len(predicted)} rows of features and {len(labels)} labels", "as many of both")
    known = class_codes(classes, labels)
    if len(known) and (known < 0).all():
        raise InvalidInput(
            f"true labels of which none is a class: {labels[:3].tolist()!r}", f"labels among {classes.tolist()!r}"
        )
    return float(np.average(class_codes(classes, predicted) == known, weights=checked_weights(weights, labels)))


def accuracy_from_reports(chosen: Codes, codes: Codes, channel: LabelChannel, weights: Any = None) -> float:
    """Return an unbiased estimate of the accuracy on the hidden truth.

    With R S = I for the channel's matrix S, the mean of R[predicted class, report] is the clean accuracy. It may leave
    [0, 1] when reports are few or noisy.

    Parameters
    ----------
    chosen : n places of the predicted classes among the channel's classes
    codes : n report codes
    """
    if len(codes) != len(chosen):
        raise InvalidInput(f"{len(chosen)} rows of features and {len(codes)} reports", "as many of both")
    weights = checked_weights(weights, codes)
    if isinstance(channel, DesignPerRow) and not channel.telling.all():
        # Anchor questions and the like say nothing about anybody: accuracy is that on the other rows.
        rows = channel.telling[codes]
        chosen, weights = chosen[rows], None if weights is None else weights[rows]
        codes, channel = (np.cumsum(channel.telling) - 1)[codes[rows]], channel.only_telling()
    counts = ReportCounts(len(codes), *counted(codes, weights, channel.matrix.shape[0]))
    unbiasing = channel.unbiasing_matrix(counts.law)
    return float(np.average(unbiasing[chosen, codes], weights=weights))
