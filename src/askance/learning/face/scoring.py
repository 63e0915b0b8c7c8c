"""What a score is about: always the hidden truth.

``score(X, reports)`` estimates how well a model does on the truth from reports alone. ``score(X, truth, of="truth")``
measures it where the truth is known. Which of the two is never guessed from the type of the data, and a model whose
reports cannot tell refuses with a sentence.
"""

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes, Floats, Integers
from askance.channels.base import LabelChannel
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.learning.face.classes import class_codes
from askance.learning.face.hidden_truth import Estimate, HiddenTruth
from askance.learning.face.sample_weights import checked_weights

Of = Literal["reports", "truth"]

_BY_CHANCE = 1e-6  # how often proper reports of new people may be called something else: once in a million scores
_FEWEST = 16  # rows: of fewer, not even all reported as predicted is that rare, where a channel keeps four in ten


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


def accuracy_from_reports(
    chosen: Integers, sureness: Floats | None, codes: Codes, channel: LabelChannel, weights: Any = None
) -> Estimate:
    """Return an estimate of the accuracy on the hidden truth, from reports of people that the model did not learn from.

    With R S = I for the channel's matrix S, the mean of R[predicted class, report] is the clean accuracy. It may leave
    [0, 1] when reports are few or noisy. It is unbiased where R is the only one: with as many reports as classes. With
    more, R is that of least variance at the proportions that fit them best, and the estimate is consistent.

    Parameters
    ----------
    chosen : n places of the predicted classes among the channel's classes
    sureness : n probabilities that a model gives to its predictions, or anything that rises with these; None where the
        channel itself is an estimate: what it lets be reported is not looked at then
    codes : n report codes

    Warns
    -----
    AskanceWarning
        If the surest predictions are reported more often than the channel lets any truth be.
    """
    if len(codes) != len(chosen):
        raise InvalidInput(f"{len(chosen)} rows of features and {len(codes)} reports", "as many of both")
    truth = HiddenTruth.of_codes(channel, codes, weights)
    chosen = chosen[truth.kept]
    if sureness is not None:
        notice_what_no_channel_reports(truth, chosen, sureness[truth.kept])
    return truth.mean((chosen[:, None] == np.arange(len(truth.classes))).astype(float))


def notice_what_no_channel_reports(truth: HiddenTruth, chosen: Integers, sureness: Floats) -> None:
    """Warn of true labels that are passed as reports, and of reports that a model has learned by heart.

    A class has a report that it leads to most often, and no truth leads to that report more often than the largest
    number in its row of the matrix. Whatever the truths of some rows are, chosen by features alone: their predictions
    are reported no more often than a coin of that probability falls on heads. Rows that are equally sure stay together:
    the order that they came in may be that of the reports.
    """
    from scipy.special import bdtrc

    usual = truth.matrix.argmax(axis=0)
    limit, agrees = float(truth.matrix[usual].max()), usual[chosen] == truth.codes
    order = np.argsort(-sureness, kind="stable")
    rising = -sureness[order]
    halves = [len(order) >> halvings for halvings in range(len(order).bit_length())]
    ends = {int(np.searchsorted(rising, rising[half - 1], side="right")) for half in halves if half >= _FEWEST}
    sizes = sorted(ends, reverse=True)
    for rows in sizes:
        seen = int(np.count_nonzero(agrees[order[:rows]]))
        if seen and bdtrc(seen - 1, rows, limit) * len(sizes) < _BY_CHANCE:
            warnings.warn(
                f"{seen:,} of the {rows:,} surest predictions were reported, where the channel lets no more than "
                f"{limit:.3g} of them be: these are true labels, or reports that the model was fitted to and knows by "
                "heart. This score is wrong then. For true labels say score(X, y, of='truth'), or give a metric the "
                "channel Identity(classes); scikit-learn's Pipeline drops of= unless "
                "sklearn.set_config(enable_metadata_routing=True) and set_score_request(of=True) were called. Else "
                "score reports that fit did not see.",
                AskanceWarning,
                stacklevel=4,
            )
            return
