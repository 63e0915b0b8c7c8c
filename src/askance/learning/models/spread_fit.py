"""Any model of the truth, learned from reports: the general recipe of [RR] section 4."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.frames import refuse_other_rows
from askance.learning.models.fitted import differenced
from askance.learning.models.gradient_search import SEVERAL_MAXIMA, are_several
from askance.learning.models.joint_states import HiddenStates, read_columns, refuse_lost_truth
from askance.learning.models.number_checks import noise_remarks
from askance.learning.models.spread_likelihood import FitWeighted, SpreadLikelihood, SpreadSolution
from askance.learning.models.spread_recipe import SpreadRecipe, highest, search_by
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
    n_reports, iterations, converged, privacy, notes, channel

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
    notes: tuple[str, ...]
    channel: Any = field(repr=False)
    _recipe: SpreadRecipe = field(repr=False)
    _attributes: int = field(repr=False)

    @property
    def standard_errors(self) -> Floats:
        """By the observed information."""
        return standard_errors(self.covariance)

    def posterior(self, reports: Any, *, person: Any = None, log_probability: Any = None) -> tuple[Floats, Floats]:
        """Return what reports say about the truth, by the law that was learned.

        Parameters
        ----------
        reports, person : as of :func:`fit_spread`
        log_probability : function, optional
            The law of these records, where each has its own (covariates).

        Returns
        -------
        truths : array, K x attributes
            All combinations of true states, a label by its place; of numbers the nodes of the quadrature.
        chances : array, records x K
            P(truth | reports), so that ``chances @ truths`` is the mean of the truth.
        """
        columns = read_columns(self.channel, reports)
        if len(columns) != self._attributes:
            raise InvalidInput(f"reports about {len(columns)} attributes", f"{self._attributes}, as when it was fitted")
        who = None if person is None else _numbered(person, reports, len(columns[0][-1]))
        law = self._recipe.log_probability if log_probability is None else log_probability
        recipe = replace(self._recipe, log_probability=law).around(columns)
        likelihood = recipe.likelihood(columns, who, self.parameters, each=True)
        return HiddenStates.of(columns, recipe.grids).truths(), likelihood.posterior(self.parameters)[0]

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates, standard errors, z, p and intervals as a table."""
        facts = (("reports", f"{self.n_reports}"),)
        title = "Parameters of the model of the truth"
        return summarise(title, self.names, self.parameters, self.covariance, level, facts, self.notes, self.privacy)


def fit_spread(
    log_probability: Callable[..., Any],
    channel: Any,
    reports: Any,
    start: Any,
    *,
    person: Any = None,
    support: Any = None,
    gradient: Callable[..., Any] | None = None,
    fit_weighted: FitWeighted | None = None,
    names: Sequence[str] | None = None,
    require_valid: bool = True,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> SpreadFit:
    """Fit your own model to what a channel let through.

    Maximises the spread likelihood sum_i log sum_truth S(report_i | truth) p_theta(truth) over theta. Of the model it
    needs nothing but the log-probability of every true state. Numbers with normal or Laplace noise are integrated out
    on a grid, which is made finer and wider until that moves the estimate by less than a hundredth of its standard
    error; this is for one or two numbers, or three under much noise, and refused where the grid would be too large.

    Parameters
    ----------
    log_probability : function of theta
        log p_theta of each true state: K numbers whose exponentials sum to one, in the order of ``channel.classes``.
        With several attributes: of each combination, the last attribute running fastest, or an array with one axis for
        each. Where records have a law of their own (covariates), n x K. Where numbers are hidden it is a function of
        theta and truths, K x attributes (a label is its place in the channel's classes), and returns the logarithm of
        their density.
    channel : finite channel, sequence of finite channels, StateFlip, GaussianNoise, LaplaceNoise, or RowChannel
        How the truth was hidden. Several attributes are hidden independently of each other.
    reports : n reports, or n rows of reports; for a RowChannel the pair of features and labels
    person : n, optional
        Whose report each row is, where people reported several times about the same truth: their reports count
        together ([RR] (3)), and so do the levels. A law of each record is then one of each person, in the order in
        which they first come.
    support : pair, or one for each hidden number, optional
        Between which numbers lie. The channel's public bounds, if it has some; else it grows with the reports.
    start : array, P, or several starts as rows
        Where to begin. The likelihood may have several maxima: of several starts the highest is kept.
    gradient : function of the same, optional
        Derivatives of ``log_probability``, with one more axis for theta. Central differences unless given.
    fit_weighted : function of expected counts, optional
        The model's own fit: takes how often each true state is expected (K, or n x K) and returns theta. The search is
        then by expectation-maximisation, else by L-BFGS. For states, and not for numbers.
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
        Log-probabilities that are none, reports outside the alphabet, too many states to enumerate, a density that
        does not integrate to one or that no grid is fine enough for.

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

    Incomes with noise of twice their spread: their mean and the logarithm of their standard deviation, and what each
    report then says about a truth.

    >>> from scipy.stats import norm
    >>> noise = ask.GaussianNoise(2.0)
    >>> reports = noise.simulate(rng.normal(3, 1, (5_000, 1)), rng)
    >>> fit = ask.fit_spread(lambda t, x: norm.logpdf(x[:, 0], t[0], np.exp(t[1])), noise, reports, [0.0, 0.0])
    >>> print(np.abs(fit.parameters - [3, 0]) < 4 * fit.standard_errors)
    [ True  True]
    >>> truths, chances = fit.posterior([[8.0]])
    >>> print((chances @ truths).round(0))
    [[4.]]

    References
    ----------
    Barber (2020), section 4.
    """
    columns = read_columns(channel, reports)
    if require_valid:
        refuse_lost_truth(columns)
    starts = list(_checked_starts(start))
    _check_options(log_probability, max_iter, tol)
    labels = _checked_names(names, starts[0].size)
    who = None if person is None else _numbered(person, reports, len(columns[0][-1]))
    recipe = SpreadRecipe(log_probability, gradient).on_grids(columns, support)
    if fit_weighted is not None and recipe.grids:
        raise NotAvailable("fit_weighted for hidden numbers", "fit_weighted=None: the search is by L-BFGS")
    recipe, likelihood, found = recipe.searched(columns, who, starts, search_by(fit_weighted, max_iter, tol))
    best = highest(found)
    notes = (*noise_remarks(columns, who), *_remarks(likelihood, best, found, max_iter))
    for note in notes:
        warnings.warn(note, AskanceWarning, stacklevel=2)
    covariance, sandwich = _covariances(best)
    times = 1 if who is None else int(np.bincount(who).max())
    return SpreadFit(
        best.summit.theta,
        covariance,
        sandwich,
        best.summit.value,
        labels,
        len(columns[0][-1]),
        best.summit.iterations,
        best.summit.converged,
        _privacy(channel, len(columns), times),
        notes,
        channel,
        recipe,
        len(columns),
    )


def _numbered(person: Any, reports: Any, rows: int) -> NDArray[np.int64]:
    """Number people in the order of their first rows."""
    is_pair = isinstance(reports, tuple) and len(reports) == 2  # of features and labels
    named = {"features": reports[0], "labels": reports[1]} if is_pair else {"reports": reports}
    refuse_other_rows(person=person, **named)
    given = np.asarray(person)
    if given.shape != (rows,):
        raise InvalidInput(f"person of shape {given.shape} for {rows} reports", "whose report each row is")
    names = given.tolist()  # of any kind: they need no order
    missing = [row for row, name in enumerate(names) if name is None or name != name]
    if missing:
        raise InvalidInput(
            f"{len(missing)} of {rows} reports of nobody (first in row {missing[0]})",
            "whose report each row is",
            "Reports without a person would count as those of one: give each a name of its own, or leave them out.",
        )
    number: dict[Any, int] = {}
    return np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)


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
    if isinstance(names, str) or not isinstance(names, Sequence | np.ndarray):
        raise InvalidInput(f"names={names!r}", "a list of texts, one for each parameter")
    if len(names) != size:
        raise InvalidInput(f"{len(names)} names", f"{size}, one for each parameter")
    return tuple(map(str, names))


def _check_options(log_probability: Any, max_iter: Any, tol: Any) -> None:
    if not callable(log_probability):
        raise InvalidInput(f"log_probability={log_probability!r}", "a function of theta")
    if isinstance(max_iter, bool) or not isinstance(max_iter, int | np.integer) or max_iter < 1:
        raise InvalidInput(f"max_iter={max_iter!r}", "at least 1")
    if isinstance(tol, bool) or not isinstance(tol, int | float | np.number) or not tol > 0:
        raise InvalidInput(f"tol={tol!r}", "a number above 0")


def _covariances(solution: SpreadSolution) -> tuple[Floats, Floats]:
    if not _is_determined(solution.information):
        unknown = np.full_like(solution.information, np.nan)
        return unknown, unknown
    bread: Floats = np.asarray(np.linalg.inv(solution.information), dtype=np.float64)
    sandwich: Floats = bread @ solution.score_moments @ bread
    return bread, sandwich


def _is_determined(information: Floats) -> bool:
    if not np.diag(information).min() > 0:
        return False
    scale = np.sqrt(np.diag(information))
    roots = np.linalg.eigvalsh(information / np.outer(scale, scale))
    return bool(roots[0] > _FLAT * roots[-1])


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


def _privacy(channel: Any, attributes: int, times: int) -> str:
    if hasattr(channel, "guarantee_of"):
        return str(channel.guarantee_of(attributes).repeated(times))
    level = times * math.fsum(one.guarantee.epsilon for one in channel)
    again = f", reported {times} times" if times > 1 else ""
    return f"epsilon {level:.4g} for all {attributes} attributes together{again}"
