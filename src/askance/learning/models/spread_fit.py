"""Any model of the truth, learned from reports: the general recipe of [RR] section 4 for finitely many states."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.errors import AskanceWarning, InvalidInput
from askance.learning.models.fitted import differenced
from askance.learning.models.gradient_search import SEVERAL_MAXIMA, are_several
from askance.learning.models.joint_states import HiddenStates
from askance.learning.models.spread_likelihood import (
    FitWeighted,
    Gradient,
    LogProbability,
    SpreadLikelihood,
    SpreadSolution,
    alternate,
    climb,
)
from askance.reports.summary import Summary, standard_errors, summarise

# Smallest root of the scaled information, against its largest, below which a direction counts as flat. Differences of
# differences leave errors: 1e-6 was seen on a model that three states and two reports cannot determine.
_FLAT = 1e-5


@dataclass(frozen=True, eq=False)
class SpreadFit:
    """Parameters of a model of the truth, with what the reports say about their precision.

    Attributes
    ----------
    parameters : array, P
    covariance, covariance_sandwich : arrays, P x P
        Inverse observed information, and the sandwich, which is also right for a model that is not. Not a number
        where the reports do not determine the parameters.
    log_likelihood : float
    names : tuple of str
    n_reports, iterations, converged, notes

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> reports = ["yes"] * 500 + ["no"] * 500
    >>> even = ask.fit_spread(lambda theta: -np.logaddexp(0, [theta[0], -theta[0]]), ask.Warner(0.75), reports, [1.0])
    >>> print(even.standard_errors.round(2))
    [0.13]
    """

    parameters: Floats
    covariance: Floats
    covariance_sandwich: Floats
    log_likelihood: float
    names: tuple[str, ...]
    n_reports: int
    iterations: int
    converged: bool
    privacy: str
    notes: tuple[str, ...] = ()

    @property
    def standard_errors(self) -> Floats:
        """By the observed information."""
        return standard_errors(self.covariance)

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates, standard errors, z, p and intervals as a table."""
        facts = (("reports", f"{self.n_reports}"),)
        title = "Parameters of the model of the truth"
        return summarise(title, self.names, self.parameters, self.covariance, level, facts, self.notes, self.privacy)


def fit_spread(
    log_probability: LogProbability,
    channel: Any,
    reports: Any,
    start: Any,
    *,
    gradient: Gradient | None = None,
    fit_weighted: FitWeighted | None = None,
    names: Sequence[str] | None = None,
    require_valid: bool = True,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> SpreadFit:
    """Fit your own model to what a channel let through.

    Maximises the spread likelihood sum_i log sum_truth S(report_i | truth) p_theta(truth) over theta. Of the model it
    needs nothing but the log-probability of every true state.

    Parameters
    ----------
    log_probability : function of theta
        log p_theta of each true state: K numbers whose exponentials sum to one, in the order of ``channel.classes``.
        With several attributes: of each combination, the last attribute running fastest, or an array with one axis for
        each. Where records have a law of their own (covariates), n x K.
    channel : finite channel, sequence of finite channels, StateFlip, or RowChannel with finite features
        How the truth was hidden. Several attributes are hidden independently of each other.
    reports : n reports, or n rows of reports; for a RowChannel the pair of features and labels
    start : array, P, or several starts as rows
        Where to begin. The likelihood may have several maxima: of several starts the highest is kept.
    gradient : function of theta, optional
        Derivatives of ``log_probability``, with one more axis for theta. Central differences unless given.
    fit_weighted : function of expected counts, optional
        The model's own fit: takes how often each true state is expected (K, or n x K) and returns theta. The search is
        then by expectation-maximisation, else by L-BFGS.
    names : P names, optional
    require_valid : bool
        Refuse noise that is not valid, that is, under which two laws of the truth lead to the same reports. A model
        with few parameters may be identifiable even so; the information then tells.
    max_iter : int
    tol : float
        Expectation-maximisation stops when the log-likelihood of a report gains less.

    Returns
    -------
    SpreadFit

    Raises
    ------
    Unidentifiable
        The noise is not valid.
    InvalidInput
        Log-probabilities that are none, reports outside the alphabet, too many states to enumerate.

    Examples
    --------
    The share of voters, by their odds, from votes that were flipped with probability 1/4:

    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> votes = np.where(rng.random(50_000) < 0.42, "yes", "no")
    >>> channel = ask.Warner(0.75)
    >>> fit = ask.fit_spread(
    ...     lambda theta: -np.logaddexp(0, [theta[0], -theta[0]]), channel, channel.simulate(votes, rng), [0.0]
    ... )
    >>> print((1 / (1 + np.exp(-fit.parameters))).round(2))
    [0.42]

    References
    ----------
    Barber (2020), section 4.
    """
    hidden = HiddenStates.of(channel, reports)
    if require_valid:
        hidden.refuse_lost_truth()
    starts = _checked_starts(start)
    shared = np.asarray(log_probability(starts[0])).size == hidden.states
    table, counts = hidden.grouped() if shared else hidden.by_row()
    likelihood = SpreadLikelihood(log_probability, table, counts, gradient)
    if fit_weighted is None:
        found = [climb(likelihood, one, max_iter) for one in starts]
    else:
        found = [alternate(likelihood, one, fit_weighted, max_iter, tol) for one in starts]
    best = max(found, key=lambda solution: solution.summit.value)
    notes = _remarks(likelihood, best, found, max_iter)
    for note in notes:
        warnings.warn(note, AskanceWarning, stacklevel=2)
    covariance, sandwich = _covariances(best)
    return SpreadFit(
        best.summit.theta,
        covariance,
        sandwich,
        best.summit.value,
        _checked_names(names, best.summit.theta.size),
        hidden.rows,
        best.summit.iterations,
        best.summit.converged,
        _privacy(channel, hidden),
        notes,
    )


def _checked_starts(start: Any) -> Floats:
    try:
        starts = np.atleast_2d(np.array(start, dtype=float))
    except (TypeError, ValueError):
        raise InvalidInput(f"start={start!r}", "numbers, one for each parameter") from None
    if starts.ndim != 2 or not starts.size or not np.isfinite(starts).all():
        raise InvalidInput(f"start={start!r}", "finite numbers, one for each parameter, or rows of them")
    return starts


def _checked_names(names: Sequence[str] | None, size: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"theta{i}" for i in range(size))
    if len(names) != size:
        raise InvalidInput(f"{len(names)} names", f"{size}, one for each parameter")
    return tuple(map(str, names))


def _covariances(solution: SpreadSolution) -> tuple[Floats, Floats]:
    if not _is_determined(solution.information):
        unknown = np.full_like(solution.information, np.nan)
        return unknown, unknown
    bread: Floats = np.asarray(np.linalg.inv(solution.information), dtype=np.float64)
    sandwich: Floats = bread @ solution.score_moments @ bread
    return bread, sandwich


def _is_determined(information: Floats) -> bool:
    scale = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    roots = np.linalg.eigvalsh(information / np.outer(scale, scale))
    return bool(np.diag(information).min() > 0 and roots[0] > _FLAT * roots[-1])


def _remarks(
    likelihood: SpreadLikelihood, best: SpreadSolution, found: list[SpreadSolution], max_iter: int
) -> tuple[str, ...]:
    notes = []
    if not best.summit.converged:
        notes.append(
            f"The search stopped after {best.summit.iterations} iterations before it reached a maximum: raise max_iter "
            f"(it is {max_iter}), give a gradient, or start elsewhere."
        )
    elif not _is_determined(best.information):
        notes.append(
            "The reports do not determine all parameters where the search ended, or it ended at the border of what the "
            "model can be: there are no standard errors."
        )
    ends = [solution.summit for solution in found]
    if are_several(
        best.summit,
        ends,
        best.information,
        lambda theta: likelihood.value_and_gradient(theta)[1],
        lambda theta: differenced(likelihood.gradients, theta),
    ):
        notes.append(SEVERAL_MAXIMA)
    return tuple(notes)


def _privacy(channel: Any, hidden: HiddenStates) -> str:
    if hasattr(channel, "guarantee_of"):
        return str(channel.guarantee_of(hidden.attributes))
    levels = [one.guarantee.epsilon for one in channel]
    return f"epsilon {math.fsum(levels):.4g} for all {hidden.attributes} attributes together"
