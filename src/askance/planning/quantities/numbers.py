"""Hidden numbers: the mean of one, and coefficients of a regression from whole rows of them."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtr

from askance.arrays import Floats
from askance.channels.rows.bounds import checked_bounds
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import MECHANISMS, PrivateRow
from askance.errors import InvalidInput
from askance.planning.quantities.base import SEED, Estimate, Quantity, StandardErrors, per_respondent
from askance.planning.quantities.designs import checked_level
from askance.planning.quantities.middle_spread import middle_spread

_NUMBER_MECHANISMS = ("hybrid", "piecewise", "duchi")
_DRAWN = 20_000  # reports from which the variance of a coefficient's influence is taken: right to about 2%
_QUICKLY = 4_000_000  # proposals that a mechanism of much work may look at: half a second's worth
_STUDIES = 2000  # drawn to see how much wider than its formula the law of the estimates is: right to about 2%


@dataclass(frozen=True, eq=False)
class Mean(Quantity):
    """The mean of a hidden number.

    Parameters
    ----------
    mean, deviation : float
        The expected mean and standard deviation of the number.
    lower, upper : float
        Its public bounds.

    Examples
    --------
    >>> import askance as ask
    >>> from askance.planning import Mean
    >>> ask.plan(ask.PrivateNumber(0, 100, epsilon=1.0), Mean(40, 12, 0, 100), margin=2).recommended.n
    10434
    """

    mean: float
    deviation: float
    lower: float
    upper: float
    are_shares = False

    def __post_init__(self) -> None:
        lower, upper = checked_bounds(self.lower, self.upper)
        if not (np.isfinite(self.mean) and lower <= self.mean <= upper):
            raise InvalidInput(f"mean={self.mean!r}", f"a number within the bounds {lower:g} to {upper:g}")
        most = float(np.sqrt((self.mean - lower) * (upper - self.mean)))
        if not 0 <= self.deviation <= most:
            raise InvalidInput(f"deviation={self.deviation!r}", f"0 to {most:.4g}, the most that bounds and mean allow")

    @property
    def names(self) -> tuple[str, ...]:
        return ("mean",)

    @property
    def values(self) -> Floats:
        return np.array([float(self.mean)])

    def assumption(self) -> str:
        return f"if the mean is {self.mean:g} and the standard deviation {self.deviation:g}"

    def designs_at(self, epsilon: float) -> Mapping[str, Any]:
        level = checked_level(epsilon)
        return {name: PrivateNumber(self.lower, self.upper, level, name) for name in _NUMBER_MECHANISMS}

    def check_design(self, name: str, design: Any) -> None:
        # The public door: whatever design a user wants compared.
        if not isinstance(design, PrivateNumber) or (design.lower, design.upper) != (self.lower, self.upper):
            raise InvalidInput(f"the design {design!r}", f"a PrivateNumber({self.lower:g}, {self.upper:g}, ...)")

    def _two_points(self) -> tuple[Floats, Floats]:
        """Two values within the bounds, and their probabilities, that have the mean and the deviation.

        The variance of every mechanism's noise is quadratic in the truth, so its mean depends on these two alone.
        """
        if not self.deviation:
            return np.array([self.mean]), np.ones(1)
        below, above = self.mean - self.lower, self.upper - self.mean
        low = min(below, max(self.deviation, self.deviation**2 / above))
        high = self.deviation**2 / low
        return np.array([self.mean - low, self.mean + high]), np.array([high, low]) / (low + high)

    def standard_errors(self, design: Any) -> StandardErrors:
        points, shares = self._two_points()
        noise = 0.0 if design is None else float(np.ravel(design.variance(points)) @ shares)
        return per_respondent(np.array([self.deviation**2 + noise]))

    def simulate(self, design: Any, n: int, rng: np.random.Generator) -> Estimate:
        points, shares = self._two_points()
        truth = rng.choice(points, size=n, p=shares)
        estimates = truth if design is None else np.ravel(design.unbias(design.simulate(truth, rng)))
        error = float(estimates.std(ddof=1) / np.sqrt(n))
        z = abs(estimates.mean() - self.null) / max(error, np.finfo(float).tiny)
        return Estimate(np.array([estimates.mean()]), np.array([error]), np.array([2 * ndtr(-z)]))


@dataclass(frozen=True, eq=False)
class RowCoefficients(Quantity):
    """Coefficients of a linear regression from rows that are hidden whole.

    No formula holds for every mechanism. But a report B has E[B] = a a' of its row a = (1, x, y), and moves
    the coefficients theta by M_xx^-1 (B_xy - B_xx theta), M being the pilot's own moments: reports are drawn, and the
    variance of that is taken. Where few reports leave M_xx itself uncertain, its errors are drawn too. Errors are those
    of estimates that are not shrunk (``ridge=0``); the default shrinks what is mostly noise, and has smaller ones.

    Parameters
    ----------
    pilot : mapping from names to numbers, or a frame
        Rows as they are expected.
    columns : mapping from names to (lower, upper)
        Public bounds.
    outcome : str
    of : str, optional
        The coefficient to plan for; all of them if not given.

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> from askance.planning import RowCoefficients
    >>> age = np.linspace(20, 70, 400)
    >>> pilot = {"age": age, "income": 2 + 0.1 * age + np.tile([-1.0, 0, 1, 0], 100)}
    >>> rows = RowCoefficients(pilot, {"age": (0, 100), "income": (0, 15)}, outcome="income")
    >>> plan = ask.plan(None, rows, epsilon=8.0, n=50_000)
    >>> plan.recommended.std_errors[0] < 0.01
    True
    """

    pilot: Any
    columns: Mapping[str, tuple[float, float]]
    outcome: str
    of: str | None = None
    are_shares = False
    _table: dict[str, Floats] = field(init=False, repr=False)
    _slopes: dict[str, float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = list(self.columns)
        if self.outcome not in names or len(names) < 2:
            raise InvalidInput(f"outcome={self.outcome!r}", f"one of at least two columns: {', '.join(names)}")
        try:
            table = {name: np.asarray(self.pilot[name], dtype=float) for name in names}
        except (KeyError, TypeError, ValueError):
            raise InvalidInput(
                "a pilot without some column, or with text in it", f"numbers: {', '.join(names)}"
            ) from None
        features = [name for name in names if name != self.outcome]
        if self.of is not None and self.of not in features:
            raise InvalidInput(f"of={self.of!r}", f"one of {', '.join(features)}")
        rows = len(table[self.outcome])
        if rows < len(names) + 2 or any(len(column) != rows for column in table.values()):
            raise InvalidInput(f"a pilot of {rows} rows", f"at least {len(names) + 2} rows of {', '.join(names)}")
        if not all(np.isfinite(column).all() for column in table.values()):
            raise InvalidInput("a pilot with missing or infinite numbers", "finite numbers")
        inside = {name: np.clip(column, *self.columns[name]) for name, column in table.items()}
        design = np.column_stack([np.ones(rows), *(inside[name] for name in features)])
        fitted = np.linalg.lstsq(design, inside[self.outcome], rcond=None)[0][1:]
        vars(self).update(_table=inside, _slopes=dict(zip(features, fitted.tolist(), strict=True)))

    @property
    def names(self) -> tuple[str, ...]:
        return (self.of,) if self.of else tuple(self._slopes)

    @property
    def values(self) -> Floats:
        return np.array([self._slopes[name] for name in self.names])

    def assumption(self) -> str:
        return f"if rows are like the pilot's {len(self._table[self.outcome]):,}"

    def designs_at(self, epsilon: float) -> Mapping[str, Any]:
        level = checked_level(epsilon)
        designs = {}
        for name in MECHANISMS:
            try:
                designs[name] = PrivateRow(self.columns, level, name, self.outcome)
            except InvalidInput:  # a mechanism that this level or number of columns is nothing for
                continue
        return designs

    def check_design(self, name: str, design: Any) -> None:
        # The public door: whatever design a user wants compared.
        if not isinstance(design, PrivateRow) or design.bounds.names != tuple(self.columns):
            raise InvalidInput(f"the design {design!r}", f"a PrivateRow of {', '.join(self.columns)}")

    def _rows(self, n: int, rng: np.random.Generator) -> dict[str, Floats]:
        drawn = rng.integers(len(self._table[self.outcome]), size=n)
        return {name: column[drawn] for name, column in self._table.items()}

    def standard_errors(self, design: Any) -> StandardErrors:
        influence, noise = self._influence(design)
        formula = per_respondent(influence.var(axis=0)[self._planned])
        if design is None:
            return formula
        exact = self._pilot_moments
        inverse = np.linalg.inv(exact[:-1, :-1])
        theta = inverse @ exact[:-1, -1]
        rng = np.random.default_rng(SEED)
        # The mean of many reports is normal, but what is solved for is no linear function of it.
        values, axes = np.linalg.eigh(np.cov(noise.reshape(len(noise), -1).T))
        off = (rng.normal(size=(_STUDIES, len(values))) * np.sqrt(np.maximum(values, 0.0))) @ axes.T
        off = off.reshape(-1, *exact.shape)
        straight = middle_spread((off[:, :-1, -1] - off[:, :-1, :-1] @ theta) @ inverse)

        def errors(n: float) -> Floats:
            moments = exact + off / math.sqrt(n)
            solved = np.linalg.solve(moments[:, :-1, :-1], moments[:, :-1, -1:])[..., 0]
            return np.asarray(formula(n) * (middle_spread(solved) * math.sqrt(n) / straight)[self._planned])

        return errors

    def shifts(self, design: Any) -> StandardErrors:
        """By the formula alone, which is what the studies themselves state and test with."""
        influence, _ = self._influence(design)
        errors = per_respondent(influence.var(axis=0)[self._planned])
        return lambda n: np.abs(self.values - self.null) / errors(n)

    @property
    def _planned(self) -> list[int]:
        return [1 + list(self._slopes).index(name) for name in self.names]

    @property
    def _pilot_moments(self) -> Floats:
        names = [*self._slopes, self.outcome]
        table = np.column_stack([np.ones(len(self._table[self.outcome])), *(self._table[name] for name in names)])
        return np.asarray(table.T @ table / len(table))

    def _influence(self, design: Any) -> tuple[Floats, Floats]:
        """What drawn reports each do to the coefficients, and their products a a' of which that is made."""
        rng = np.random.default_rng(SEED)
        names = [*self._slopes, self.outcome]
        if design is None:
            rows = self._rows(_DRAWN, rng)
            whole = np.column_stack([np.ones(_DRAWN), *(rows[name] for name in names)])
            products = whole[:, :, None] * whole[:, None, :]
        else:
            drawn = min(_DRAWN, max(_QUICKLY // max(design.work, 1), 1000))
            moments = design.moments(design.simulate(self._rows(drawn, rng), rng))
            order = [0, *(1 + list(self.columns).index(name) for name in names)]
            own = np.empty((len(moments), len(order), len(order)))
            first, second = np.triu_indices(len(order))
            own[:, first, second] = own[:, second, first] = moments
            products = (design.to_units @ own @ design.to_units.T)[:, order][:, :, order]
        exact = self._pilot_moments
        inverse = np.linalg.inv(exact[:-1, :-1])
        theta = inverse @ exact[:-1, -1]
        return (products[:, :-1, -1] - products[:, :-1, :-1] @ theta) @ inverse, products

    def simulate(self, design: Any, n: int, rng: np.random.Generator) -> Estimate:
        rows = self._rows(n, rng)
        if design is None:
            features = np.column_stack([np.ones(n), *(rows[name] for name in self._slopes)])
            slopes, *_ = np.linalg.lstsq(features, rows[self.outcome], rcond=None)
            rest = rows[self.outcome] - features @ slopes
            inverse = np.linalg.inv(features.T @ features)
            covariance = inverse @ ((features * (rest**2)[:, None]).T @ features) @ inverse
            found, errors = slopes[1:], np.sqrt(np.diag(covariance))[1:]
        else:
            from askance.learning.numbers.indirect_regressor import IndirectRegressor

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what a fit remarks is not of interest: its numbers are
                fitted = IndirectRegressor(design, self.outcome, ridge=0.0).fit(design.simulate(rows, rng))
            found, errors = fitted.coef_, fitted.standard_errors_[1:]
        chosen = [list(self._slopes).index(name) for name in self.names]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.nan_to_num(np.abs(found / errors))
        return Estimate(np.asarray(found)[chosen], np.asarray(errors)[chosen], np.asarray(2 * ndtr(-z))[chosen])
