"""A whole vector as one random direction that points near it: PrivUnitG, made exact by choosing among proposals.

A vector x of length at most r is lifted to the unit sphere, u = (x / r, sqrt(1 - |x|^2 / r^2)). Samplers of continuous
laws leak through rounding; here M public proposals are drawn first and one of them is chosen, with integer weights
(``selection``). So the level is exact, and does not depend on how accurately anything else is
computed.

Proposals are normals in steps of 1/256. (In steps of h the mean of the chosen one falls short by up to h^2 / 24 of
itself, where u lies along an axis: 6e-7 here.) The chosen one is reported in bytes, steps of 1/16, rounded at random so
that its mean stays.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.guarantee import Guarantee
from askance.channels.layouts import Fields, Reports
from askance.channels.rows.report_views import Cells, ReportView
from askance.channels.rows.selection import MOST_ROUNDS, Selection
from askance.channels.rows.vectors import VectorChannel, checked_bound, checked_dim, checked_epsilon
from askance.compiled import compiled
from askance.entropy.bits import BLOCK_BYTES, BitSource
from askance.entropy.draws import AliasSampler
from askance.entropy.thresholds import exact_counts
from askance.errors import InvalidInput

_STEP = 1 / 16  # of a report: rounding adds 1/1536 to the variance of a proposal, which is 1
_ZERO = 127  # the code of 0; codes go from 0 to 254, a byte
_FINER = 16  # steps of a proposal in a step of a report; the module's first lines say what that costs
_CODES_A_CHUNK = 1 << 18  # half a megabyte of proposals, of two bytes each: they stay in the processor's cache
# Reports shorter, or longer, than all but so many can be; a little more than that, for what rounding to steps does.
_TAIL, _SLACK = 0.01, 1.2
_LEAST_DIM = 3  # below, lengths say little
_A_HAIR = 1 + 1e-12  # a vector on the border may come out longer by rounding


@dataclass(frozen=True, eq=False, repr=False, init=False)
class PrivUnit(VectorChannel):
    """Report a random vector that tends to point where the truth does.

    Parameters
    ----------
    dim : int
        How many numbers a row has.
    epsilon : float
        The level of the whole row. What is really given is never above it.
    radius : float, optional
        Public: rows longer than it (as vectors) are shortened to it. No row is longer than ``bound * sqrt(dim)``, the
        default. A smaller radius means less noise, and a bias for the rows that are longer.
    bound : float
        Public: every value lies in [-bound, bound]; values outside are clipped.
    proposals, best, rounds : int, optional
        One of how many proposals is chosen, how many are favoured, and how often a row does so (1, 2, 4, 8 or 16). The
        cheapest good choice for epsilon if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import PrivUnit
    >>> channel = PrivUnit(3, epsilon=4.0)
    >>> reports = channel.simulate(np.tile([0.5, -1.0, 0.0], (20_000, 1)), np.random.default_rng(0))
    >>> reports.shape, reports.dtype
    ((20000, 3), dtype('uint8'))
    >>> channel.unbias(reports).mean(axis=0).round(1)
    array([ 0.5, -1. , -0. ])

    References
    ----------
    Bhowmick, Duchi, Freudiger, Kapoor & Rogers (2018); Asi, Feldman & Talwar (2022); for choosing among proposals,
    Feldman & Talwar (2021).
    """

    dim: int
    epsilon: float
    radius: float
    bound: float
    proposals: int
    best: int
    rounds: int

    kind: ClassVar[str] = "priv-unit"

    def __init__(
        self,
        dim: int,
        epsilon: float,
        radius: float | None = None,
        bound: float = 1.0,
        proposals: int | None = None,
        best: int | None = None,
        rounds: int | None = None,
    ) -> None:
        dim, epsilon, bound = checked_dim(dim), checked_epsilon(epsilon), checked_bound(bound)
        vars(self).update(dim=dim, epsilon=epsilon, bound=bound, radius=_checked_radius(radius, bound * math.sqrt(dim)))
        # What was chosen is part of the channel's spec: reports can be read whatever a later version would choose.
        vars(self).update(_checked_selection(epsilon, proposals, best, rounds))
        self.selection.counts  # refuses an epsilon that says nothing  # noqa: B018

    @cached_property
    def selection(self) -> Selection:
        """How one of the proposals is chosen."""
        return Selection(self.epsilon, self.proposals, self.best, self.rounds)

    @property
    def range(self) -> tuple[float, float]:
        return -self.bound, self.bound

    @cached_property
    def guarantee(self) -> Guarantee:
        # The last digit as a double must not be above the asked level either.
        return self._row_guarantee(min(self.selection.level, self.epsilon))

    @cached_property
    def layout(self) -> Fields:
        return Fields((2 * _ZERO + 1,) * self.dim)

    def describe(self) -> str:
        often = "" if self.rounds == 1 else f" This is done {self.rounds} times, and the mean is reported."
        return (
            f"A row is shortened to length {self.radius:.4g} if it is longer. Of {self.proposals} random directions, "
            f"each of the {self.best} nearest to it is chosen {self._odds:.4g} times as often as each of the others, "
            f"and reported.{often}"
        )

    @property
    def _odds(self) -> float:
        return math.exp(self.selection.level / self.rounds)

    # -- the respondent's side -----------------------------------------------------------------------

    def shorten(self, truth: Any) -> tuple[Floats, int]:
        """Return the rows, each no longer than the radius, and how many were longer.

        It comes after clipping, and is what reports are unbiased for.
        """
        return self.shortened(self.clip(truth)[0])

    def shortened(self, inside: Floats) -> tuple[Floats, int]:
        lengths = np.linalg.norm(inside, axis=1)
        long = lengths > self.radius * _A_HAIR
        if not long.any():
            return inside, 0
        return inside * np.where(long, self.radius / np.maximum(lengths, self.radius), 1.0)[:, None], int(long.sum())

    def draw(self, values: Floats, bits: BitSource) -> Reports:
        directions = self._directions(values)
        ranks = _draws(self._ranks, len(values) * self.rounds, bits).reshape(-1, self.rounds)
        reports = np.empty((len(values), self.dim), np.uint8)
        rows = max(1, _CODES_A_CHUNK // (self.rounds * self.proposals * (self.dim + 1)))
        for start in range(0, len(values), rows):
            chunk = slice(start, start + rows)
            chosen = self._chosen(directions[chunk], ranks[chunk], bits)
            reports[chunk] = _rounded(chosen, _FINER * self.rounds, bits)
        return reports if self.dim > 1 else reports[:, 0]

    def _directions(self, short: Floats) -> NDArray[np.float32]:
        scaled = short / self.radius
        lifted = np.sqrt(np.maximum(0.0, 1 - np.einsum("ij,ij->i", scaled, scaled)))
        return np.column_stack([scaled, lifted]).astype(np.float32)

    def _chosen(self, directions: NDArray[np.float32], ranks: NDArray[Any], bits: BitSource) -> NDArray[np.int64]:
        """Return the codes of the chosen proposals, summed over rounds, without the lifted coordinate."""
        shape = (len(directions), self.rounds, self.dim + 1, self.proposals)
        proposals = _draws(_normals(), math.prod(shape), bits).reshape(shape)
        scores = np.zeros((len(directions), self.rounds, self.proposals), np.float32)
        _score(proposals, directions, scores)
        # Any order would do for privacy. This one puts the best last.
        order = np.argpartition(scores, self.proposals - self.best, axis=2)
        chosen = np.take_along_axis(order, ranks[:, :, None].astype(np.intp), axis=2)
        best = np.take_along_axis(proposals[:, :, : self.dim], chosen[:, :, None], axis=3)
        codes: NDArray[np.int64] = best.sum(axis=(1, 3), dtype=np.int64)
        return codes

    @cached_property
    def _ranks(self) -> AliasSampler:
        return AliasSampler.from_counts(self.selection.counts[:, None], reports=self.proposals)

    @property
    def work(self) -> int:
        return self.rounds * self.proposals * (self.dim + 1)

    # -- the learner's side --------------------------------------------------------------------------

    def unbias(self, reports: Any) -> Floats:
        steps = self.encode_reports(reports).reshape(-1, self.dim).astype(np.float64) - _ZERO
        return steps * (_STEP * self.radius / self.selection.mean)

    def views_of(self, names: Sequence[str]) -> tuple[ReportView, ...]:
        """Of the length of reports: across the truth they are normal, and along it no proposal is longer than 7.94."""
        from scipy.stats import chi2

        if self.dim < _LEAST_DIM:
            return ()
        short, long = chi2.ppf(_TAIL, self.dim - 1), chi2.isf(_TAIL, self.dim) + self.rounds * (_ZERO * _STEP) ** 2
        ends = np.array([0.0, _SLACK * _TAIL])
        low, high = np.repeat(ends, 2), np.tile(ends, 2)

        def cells(reports: NDArray[Any]) -> Cells:
            steps = reports.reshape(len(reports), -1).astype(float) - _ZERO
            squares = self.rounds * _STEP**2 * np.einsum("ij,ij->i", steps, steps)
            return np.where(squares < short, 0, np.where(squares > long, 2, 1))

        return (ReportView("lengths", np.array([low, 1 - low - high, high]), cells),)

    def expected(self, row: Floats) -> Floats:
        short: Floats = self.shorten([row])[0][0]  # a long row is shortened, and reported as such
        return short

    def noise_covariance(self, truth: Any) -> Floats:
        """Return the mean over rows of Cov[unbias(report) | truth], dim x dim.

        With A = u.g of the chosen proposal, E[g g' | u] = I + (E[A^2] - 1) u u'. An average over rounds divides the
        covariance by their number. Random rounding to steps of h adds h^2 / 6 to each coordinate.
        """
        short, _ = self.shorten(truth)
        chosen, one = self.selection, np.eye(self.dim)
        along = short.T @ short / (max(1, len(short)) * self.radius**2)  # the mean of u u'
        spread = (one + (chosen.second_moment - 1 - chosen.mean**2) * along) / self.rounds
        covariance: Floats = (spread + one * _STEP**2 / 6) * (self.radius / chosen.mean) ** 2
        return covariance


@lru_cache(maxsize=1)
def _normals() -> AliasSampler:
    """Normals in steps of 1/256, cut where a report ends: at 7.94, beyond which there is less than 1e-14."""
    most = _ZERO * _FINER
    weights = np.exp(-(((np.arange(2 * most + 1) - most) * (_STEP / _FINER)) ** 2) / 2)
    return AliasSampler.from_counts(exact_counts(weights[:, None] / weights.sum()), reports=2 * most + 1)


def _draws(sampler: AliasSampler, count: int, bits: BitSource) -> NDArray[np.uint16]:
    return sampler.draw(np.zeros(count, np.uint8), bits).astype(np.uint16, copy=False)


def _rounded(codes: NDArray[np.int64], steps: int, bits: BitSource) -> NDArray[np.int64]:
    """Return codes / steps, rounded up or down at random so that the mean stays; steps are a power of two."""
    blocks = [bits.block().copy() for _ in range(0, codes.size, BLOCK_BYTES)]
    random = np.concatenate(blocks)[: codes.size].reshape(codes.shape) & (steps - 1)
    return codes // steps + (random < codes % steps)


@compiled
def _score(proposals, directions, scores):  # type: ignore[no-untyped-def]
    # Proposals are innermost, so that the loop over them becomes vector instructions.
    middle = np.int32(_ZERO * _FINER)
    rows, rounds, width, count = proposals.shape
    for row in range(rows):
        for turn in range(rounds):
            for j in range(width):
                weight = directions[row, j]
                for i in range(count):
                    scores[row, turn, i] += weight * np.float32(np.int32(proposals[row, turn, j, i]) - middle)


def _checked_radius(radius: Any, longest: float) -> float:
    if radius is None:
        return longest
    good = isinstance(radius, int | float | np.integer | np.floating) and not isinstance(radius, bool)
    if not good or not 0 < radius <= longest * _A_HAIR:
        raise InvalidInput(
            f"radius={radius!r}",
            f"a public length above 0 and at most bound * sqrt(dim) = {longest:.6g}",
            "No row within the bounds is longer. The radius must not be computed from the data that are to be hidden.",
        )
    return float(radius)


def _checked_selection(epsilon: float, proposals: Any, best: Any, rounds: Any) -> dict[str, int]:
    given = {"proposals": proposals, "best": best, "rounds": rounds}
    if proposals is None and best is None and rounds is None:
        chosen = Selection.within(epsilon)
        return {name: getattr(chosen, name) for name in given}
    given["rounds"] = 1 if rounds is None else rounds
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in given.values())
    if not whole or not (1 <= best <= proposals // 2 and proposals <= 1 << 16):
        raise InvalidInput(
            f"proposals={proposals!r}, best={best!r} and rounds={rounds!r}",
            "whole numbers: at least one best, and at least twice as many proposals, at most 65536",
            "Leave all three away, and the best choice for epsilon is made.",
        )
    if given["rounds"] not in [1 << i for i in range(MOST_ROUNDS.bit_length())]:
        raise InvalidInput(f"rounds={rounds!r}", "1, 2, 4, 8 or 16")
    return {name: int(number) for name, number in given.items()}
