"""One number within public bounds, in the units of the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.arrays import Floats
from askance.channels.guarantee import Guarantee
from askance.channels.layouts import Fields, Reports
from askance.channels.question_channel import QuestionChannel
from askance.channels.rows.bounds import checked_bounds
from askance.channels.rows.number_law import NumberLaw
from askance.channels.rows.report_views import ReportView, given_view, number_laws, window_cells
from askance.channels.rows.vectors import VectorChannel, checked_epsilon
from askance.entropy.bits import BitSource
from askance.errors import Unidentifiable


@dataclass(frozen=True, eq=False, repr=False)
class PrivateNumber(VectorChannel, QuestionChannel):
    """Hide one number.

    Parameters
    ----------
    lower, upper : float
        Public bounds: known to everybody, and not computed from the data. Values outside are clipped.
    epsilon : float
        The level.
    mechanism : "hybrid", "piecewise" or "duchi"
        The report lies in a window around the truth or anywhere ("piecewise"), is a coin that leans towards the truth
        ("duchi"), or one of the two by chance ("hybrid", which has the least worst variance).

    Examples
    --------
    >>> import numpy as np
    >>> from askance import PrivateNumber
    >>> age = PrivateNumber(0, 100, epsilon=2.0)
    >>> print(age.guarantee)
    epsilon 2, protects one number (any two values within the public bounds)
    >>> reports = age.simulate(np.full(200_000, 30.0), np.random.default_rng(0))
    >>> age.unbias(reports).mean().round()
    np.float64(30.0)
    """

    lower: float
    upper: float
    epsilon: float
    mechanism: str = "hybrid"

    kind: ClassVar[str] = "private-number"
    dim = 1

    def __post_init__(self) -> None:
        lower, upper = checked_bounds(self.lower, self.upper)
        vars(self).update(lower=lower, upper=upper, epsilon=checked_epsilon(self.epsilon))
        _ = self.law  # what cannot be drawn is refused now

    @cached_property
    def law(self) -> NumberLaw:
        """How the number is hidden once its bounds are -1 and 1."""
        return NumberLaw.within(self.epsilon, self.mechanism)

    @property
    def range(self) -> tuple[float, float]:
        return self.lower, self.upper

    @property
    def centre(self) -> float:
        """The middle between the bounds."""
        return self.lower + self.half

    @property
    def half(self) -> float:
        """Half the distance between the bounds."""
        return self.upper / 2 - self.lower / 2

    @cached_property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            epsilon=self.law.epsilon,
            protects="one number",
            neighbours="any two values within the public bounds",
            proof=self.proof,
        )

    @cached_property
    def layout(self) -> Fields:
        return Fields((self.law.codes,))

    def public_bounds(self, question: str) -> dict[str, tuple[float, float]]:
        return {question: self.range}

    def declaration(self) -> dict[str, Any]:
        return {"bounds": self.range, "channel": self.design("lower", "upper")}

    def describe(self) -> str:
        window, coin = self.law.window, "a coin that falls on heads more often the larger the number is"
        between = f"A number between {self.lower:g} and {self.upper:g} is reported as"
        if window is None:
            return f"{between} {coin}."
        codes = (
            f"one of {window.codes} codes: with probability {window.kappa:.3g} one of {window.width} around the truth, "
            "otherwise any"
        )
        if self.law.coin is None:
            return f"{between} {codes}."
        return f"{between} {codes}; or else, with probability {1 - self.law.window_share:.3g}, as {coin}."

    def draw(self, values: Floats, bits: BitSource) -> Reports:
        reports = np.empty(values.shape, dtype=self.layout.dtype)
        self.law.draw(self._centred(values), bits, reports)
        return reports[:, 0]

    def _centred(self, inside: Floats) -> Floats:
        scaled = (inside[:, 0] - self.centre) / self.half
        return np.clip(scaled, -1.0, 1.0, out=scaled)  # rounding may leave the bounds by a hair

    def likelihood_of_rows(self, reports: Any, rows: Any) -> Floats:
        """Return P(report_i | the truth is the number k), n x numbers, of a few possible truths."""
        return self.law.probabilities(self._centred(self.clip(rows)[0])).T[self.encode_reports(reports)]

    def unbias(self, reports: Any) -> Floats:
        """Return b, of shape (n,), with E[b_i | truth_i] = truth_i, in the units of the data."""
        unbiased: Floats = (self.centre + self.half * self.law.values)[self.encode_reports(reports)]
        return unbiased

    @property
    def tells_squares(self) -> bool:
        """Whether :meth:`unbias_square` can be had: a coin alone says nothing about squares."""
        return self.law.squares is not None

    def unbias_square(self, reports: Any) -> Floats:
        """Return b, of shape (n,), with E[b_i | truth_i] = z_i^2, where z is the truth with its bounds at -1 and 1."""
        squares = self.law.squares
        if squares is None:
            raise Unidentifiable(
                f"squares of numbers hidden by {self!r}, which reports a coin only",
                "a mechanism with windows",
                'Use mechanism="piecewise", or a larger epsilon.',
            )
        unbiased: Floats = squares[self.encode_reports(reports)]
        return unbiased

    @property
    def estimated(self) -> list[str]:
        number = "the number, from -1 to 1 over its bounds"
        return [number, "its square"] if self.tells_squares else [number]

    def estimates(self, reports: Any) -> Floats:
        parts = [(self.unbias(reports) - self.centre) / self.half]
        return np.column_stack([*parts, self.unbias_square(reports)] if self.tells_squares else parts)

    def expected(self, row: Floats) -> Floats:
        centred: Floats = (row - self.centre) / self.half
        return np.concatenate([centred, centred**2]) if self.tells_squares else centred

    def views_of(self, names: Sequence[str]) -> tuple[ReportView, ...]:
        return (given_view("codes", 0, *number_laws(self.law), window_cells(self.law)),)

    def variance(self, truth: Any) -> Floats:
        """Return Var[unbias(report) | truth] for each number."""
        inside, _ = self.clip(truth)
        return self.half**2 * self.law.variance(self._centred(inside))

    def noise_covariance(self, truth: Any) -> Floats:
        """Return the mean variance over all numbers, 1 x 1."""
        variance = self.variance(truth)
        return np.array([[variance.mean() if len(variance) else 0.0]])
