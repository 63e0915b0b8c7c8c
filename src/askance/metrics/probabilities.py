"""Metrics of predicted probabilities: log-loss, Brier score, and calibration."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats, Integers
from askance.errors import InvalidInput
from askance.frames import refuse_other_rows
from askance.learning.face.hidden_truth import Estimate, HiddenTruth
from askance.learning.face.scoring import notice_what_no_channel_reports

_LEAST = 1e-15  # what a probability of zero counts as in a logarithm; scikit-learn's floor for doubles is 2.2e-16
_SUM = 1e-6  # rows of probabilities may miss a sum of one by single precision


def log_loss(
    reports: Any, probabilities: Any, channel: Any, *, design: Any = None, sample_weight: Any = None
) -> Estimate:
    """Estimate the mean of -log of the probability that was given to the true class.

    Unbiased where the channel has as many reports as classes, else consistent. A probability of zero is infinitely bad
    and counts as 1e-15.

    Parameters
    ----------
    reports : n reports of people that the model did not learn from
    probabilities : n x K in the order of the channel's classes, or n of the second of two
    channel, design, sample_weight : as for :func:`accuracy`

    Examples
    --------
    >>> import askance as ask
    >>> reports = ["yes"] * 70 + ["no"] * 30
    >>> print(ask.metrics.log_loss(reports, [0.8] * 100, ask.Warner(0.8)))
    0.454 (standard error 0.106)
    """
    truth, table = _read(reports, probabilities, channel, design, sample_weight)
    return truth.mean(-np.log(np.maximum(table, _LEAST)))


def brier(reports: Any, probabilities: Any, channel: Any, *, design: Any = None, sample_weight: Any = None) -> Estimate:
    """Estimate the mean squared error of probabilities: of the second class, or summed over more than two classes.

    Unbiased where the channel has as many reports as classes, else consistent.

    Examples
    --------
    >>> import askance as ask
    >>> reports = ["yes"] * 70 + ["no"] * 30
    >>> print(ask.metrics.brier(reports, [0.8] * 100, ask.Warner(0.8)))
    0.140 (standard error 0.046)
    """
    truth, table = _read(reports, probabilities, channel, design, sample_weight)
    # |p - e_k|^2 = |p|^2 - 2 p_k + 1; of two classes both have the same error, which counts once as in scikit-learn.
    errors = (table**2).sum(axis=1, keepdims=True) - 2 * table + 1
    return truth.mean(errors / 2 if table.shape[1] == 2 else errors)


@dataclass(frozen=True)
class Calibration:
    """What was predicted in groups of rows, and what share of them really is of the class.

    Parameters
    ----------
    predicted : B numbers
        The mean probability in each group.
    observed : B numbers
        The estimated share of the class. May leave [0, 1].
    std_errors : B numbers
    rows : B numbers
    """

    predicted: Floats
    observed: Floats
    std_errors: Floats
    rows: Integers

    def to_frame(self) -> Any:
        """Return a row for each group."""
        import pandas as pd

        columns = {"rows": self.rows, "predicted": self.predicted, "observed": self.observed}
        return pd.DataFrame(columns | {"std_error": self.std_errors})

    def plot(self, ax: Any = None) -> Any:
        """Draw observed shares with 95% intervals against predicted ones; return the axes."""
        from askance.metrics.figures import draw_calibration

        return draw_calibration(self, ax)


def calibration(
    reports: Any,
    probabilities: Any,
    channel: Any,
    *,
    of: Any = None,
    groups: int = 10,
    design: Any = None,
    sample_weight: Any = None,
) -> Calibration:
    """Estimate the true share of a class in groups of rows that are predicted alike.

    Parameters
    ----------
    of : class, optional
        Which class; the second of two unless given.
    groups : int
        How many groups of about equal size, by predicted probability.

    Examples
    --------
    >>> import askance as ask
    >>> reports = ["yes"] * 70 + ["no"] * 30
    >>> probabilities = [0.9] * 50 + [0.4] * 50
    >>> found = ask.metrics.calibration(reports, probabilities, ask.Warner(0.8), groups=2)
    >>> found.predicted, found.observed.round(3)
    (array([0.4, 0.9]), array([0.333, 1.333]))
    """
    truth, table = _read(reports, probabilities, channel, design, sample_weight)
    code = truth.place(of)
    if not isinstance(groups, int | np.integer) or groups < 1:
        raise InvalidInput(f"groups={groups!r}", "a whole number of 1 or more")
    chance = table[:, code]
    # Equal predictions stay together: where many are alike there are fewer groups.
    edges = np.unique(np.quantile(chance, np.arange(1, groups) / groups, method="inverted_cdf"))
    group = np.searchsorted(edges, chance, side="left")
    found = []
    of_class = (np.arange(len(truth.classes)) == code).astype(float)
    for number in np.unique(group):
        there = (group == number)[:, None]
        # Whom a group holds is decided by features alone, so its size is as good as known.
        size = float(truth.shares @ there[:, 0])
        if size == 0:  # rows that weigh nothing
            continue
        share = truth.total(there * of_class) / size
        error = truth.std_error(there * (of_class - share) / size, among=there[:, 0])
        found.append((float(truth.shares @ (chance * there[:, 0])) / size, share, error, int(there.sum())))
    predicted, observed, errors, rows = zip(*found, strict=True)
    return Calibration(np.array(predicted), np.array(observed), np.array(errors), np.array(rows))


def _read(
    reports: Any, probabilities: Any, channel: Any, design: Any, sample_weight: Any
) -> tuple[HiddenTruth, Floats]:
    refuse_other_rows(reports=reports, probabilities=probabilities, design=design, sample_weight=sample_weight)
    truth = HiddenTruth.of(channel, reports, design, sample_weight)
    table = truth.numbers(probabilities, "probabilities")
    if table.ndim == 1 and len(truth.classes) == 2:
        table = np.column_stack([1 - table, table])
    if table.shape != (truth.n, len(truth.classes)):
        raise InvalidInput(
            f"probabilities of shape {table.shape}", f"one column for each of {truth.classes.tolist()!r}"
        )
    if not (np.isfinite(table).all() and (table >= 0).all() and np.allclose(table.sum(axis=1), 1, atol=_SUM)):
        raise InvalidInput(
            "probabilities that are negative, not finite, or do not sum to one in every row",
            "what predict_proba returns",
        )
    notice_what_no_channel_reports(truth, table.argmax(axis=1), table.max(axis=1))
    return truth, table
