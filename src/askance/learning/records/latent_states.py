"""Attributes of finitely many states in a latent-class model.

In class z attribute j has state s with probability p[z, j, s], and is reported as o with probability
q[z, j, o] = sum_s S_j[o, s] p[z, j, s]. Everything that a fit needs is a table with a row for each report of each
attribute ("cell"), looked up once for every report and summed back once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.coordinate_law import FiniteCoordinate
from askance.learning.records.latent_block import LogitMoments, Part, PriorScores, Pull, ReportLaw, pairs
from askance.learning.records.latent_loops import add_looked_up, add_to_cells
from askance.learning.records.prior import water_filling

_TINY = 1e-300  # in place of zero, to divide by or take the logarithm of: a double in full, and smaller than any share
_AT_BORDER = 1e-6  # probability of a state in a class below which it counts as impossible there, and is no parameter
_STEPS = 3  # of expectation-maximisation inside a step, where the exact step of a law has no formula


@dataclass(frozen=True, eq=False)
class StateBlock:
    """Reports of attributes with states, each distinct report of a record once.

    Parameters
    ----------
    columns : d
        Of the record.
    laws : d laws
    cells : R x d
        Row of the tables: the first row of the attribute, and the code of the report.
    nominal : d booleans
        Whether states are levels, with a coefficient each but the first, or numbers, with one slope.
    """

    columns: NDArray[np.intp]
    laws: tuple[FiniteCoordinate, ...]
    cells: NDArray[np.int32]
    nominal: tuple[bool, ...]

    @classmethod
    def of(
        cls, columns: NDArray[np.intp], laws: Sequence[FiniteCoordinate], codes: NDArray[Any], nominal: Sequence[bool]
    ) -> "StateBlock":
        sizes = np.array([len(law.values) for law in laws])
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        cells = np.ascontiguousarray(codes.astype(np.int32) + first.astype(np.int32))
        return cls(columns, tuple(laws), cells, tuple(nominal))

    @cached_property
    def size_of(self) -> NDArray[np.intp]:
        """How many states each attribute has."""
        return np.array([len(law.values) for law in self.laws])

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """The first cell of each attribute."""
        return np.concatenate([[0], np.cumsum(self.size_of)[:-1]]).astype(np.intp)

    @cached_property
    def attribute(self) -> NDArray[np.intp]:
        """The attribute of each cell."""
        return np.repeat(np.arange(len(self.laws)), self.size_of)

    @cached_property
    def response(self) -> Floats:
        """P(report | truth) of all attributes on one diagonal: cells x cells."""
        whole = np.zeros((len(self.attribute),) * 2)
        for start, law in zip(self.first, self.laws, strict=True):
            stop = start + len(law.values)
            whole[start:stop, start:stop] = law.matrix
        return whole

    @cached_property
    def design(self) -> Floats:
        """What a linear model takes of each true state, cells x D: a number, or levels but the first."""
        columns = []
        for start, law, levels in zip(self.first, self.laws, self.nominal, strict=True):
            place = np.arange(start, start + len(law.values))
            if levels:
                columns += [_column(len(self.attribute), [one], [1.0]) for one in place[1:]]
            else:
                columns.append(_column(len(self.attribute), place, law.values.astype(float)))
        return np.column_stack(columns)

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """The attribute of each column of the design."""
        each = [len(law.values) - 1 if levels else 1 for law, levels in zip(self.laws, self.nominal, strict=True)]
        return np.repeat(np.arange(len(self.laws)), each)

    # -- learning ------------------------------------------------------------------------------------

    def counted(self, weights: Floats) -> Floats:
        """How often each cell was reported in each class: cells x z."""
        counts = np.zeros((len(self.attribute), weights.shape[1]))
        add_to_cells(self.cells, np.ascontiguousarray(weights), counts)
        return counts

    def chances(self, part: Part) -> Floats:
        """Of each report in each class, q: z x cells."""
        return np.maximum(part["weights"] @ self.response.T, _TINY)

    def log_density(self, part: Part) -> Floats:
        found = np.zeros((len(self.cells), len(part["weights"])))
        add_looked_up(self.cells, np.ascontiguousarray(np.log(self.chances(part)).T), found)
        return found

    def maximised(self, part: Part | None, weights: Floats) -> Part:
        counts = self.counted(weights).T
        totals = np.maximum(weights.sum(axis=0), _TINY)
        shares = counts / totals[:, None]
        found = np.empty_like(shares)
        for law, members in self._groups:
            places = self.first[members][:, None] + np.arange(len(law.values))
            block = shares[:, places].reshape(-1, len(law.values))
            if law.is_flip and law.a > 0:
                law_found = water_filling(block, float(law.a), float(law.b))
            else:
                before = None if part is None else part["weights"][:, places].reshape(block.shape)
                law_found = _likelier(law.matrix, block, before)
            found[:, places] = law_found.reshape(len(shares), *places.shape)
        return {"weights": found}

    @cached_property
    def _groups(self) -> list[tuple[FiniteCoordinate, NDArray[np.intp]]]:
        members: dict[int, list[int]] = {}
        for number, law in enumerate(self.laws):
            members.setdefault(id(law), []).append(number)
        return [(self.laws[numbers[0]], np.array(numbers)) for numbers in members.values()]

    def size(self, part: Part) -> int:
        # A probability at its border took none of the freedom that it had.
        inside = (part["weights"] > _AT_BORDER).sum()
        return int(inside) - len(self.laws) * len(part["weights"])

    def of_reports(self, part: Part) -> ReportLaw:
        values = np.concatenate([law.values.astype(float) for law in self.laws])
        means = np.array([np.bincount(self.attribute, chance * values) for chance in self.chances(part)])
        width = len(self.laws)
        return ReportLaw(values[self.cells], means, np.zeros((len(means), width, width)))

    def residuals(self, part: Part, which: int) -> Floats:
        values = np.concatenate([law.values.astype(float) for law in self.laws])
        chance = self.chances(part)[which]
        middle = np.bincount(self.attribute, chance * values)
        spread = np.sqrt(np.maximum(np.bincount(self.attribute, chance * values**2) - middle**2, 1e-12))
        table: Floats = (values - middle[self.attribute]) / spread[self.attribute]
        return table[self.cells]

    def design_moments(self, part: Part, shares: Floats) -> tuple[Floats, Floats]:
        law = shares @ part["weights"]
        mean = law @ self.design
        return mean, np.maximum(law @ self.design**2 - mean**2, 0.0)

    def posterior(self, part: Part, centre: Floats) -> "StatePosterior":
        return StatePosterior(self, part["weights"], centre)


@dataclass(frozen=True, eq=False)
class StatePosterior:
    """True states given reports."""

    block: StateBlock
    weights: Floats  # z x cells
    centre: Floats  # D

    @cached_property
    def table(self) -> Floats:
        """P(truth | report) in every class: z x cells (reports) x cells (truths), zero between attributes."""
        block = self.block
        joint = block.response * self.weights[:, None, :]
        total = joint.sum(axis=2, keepdims=True)
        prior = self.weights[:, None, :] * (block.attribute[:, None] == block.attribute)
        # A report that cannot happen in a class says nothing there.
        found: Floats = np.where(total > _TINY, joint / np.maximum(total, _TINY), prior)
        return found

    def means(self, responsibilities: Floats) -> Floats:
        table = self.table @ self.block.design  # z x cells x D
        found = np.zeros((len(responsibilities), table.shape[2]))
        for z, share in enumerate(responsibilities.T):
            one = np.zeros_like(found)
            add_looked_up(self.block.cells, np.ascontiguousarray(table[z]), one)
            found += share[:, None] * one
        return found - self.centre

    def _cells(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """What true states add to logits (cells x F), its mean by class and report, and its covariances."""
        value = self.block.design @ weights.T
        first, second = pairs(len(weights))
        mean = self.table @ value  # z x cells x F
        products = self.table @ (value[:, first] * value[:, second])
        return value, mean, products - mean[..., first] * mean[..., second]

    def moments(self, weights: Floats) -> LogitMoments:
        _, mean, covariance = self._cells(weights)
        reports = len(self.block.cells)
        found = []
        for table in (mean, covariance):
            classes, cells, width = table.shape
            flat = np.ascontiguousarray(table.transpose(1, 0, 2).reshape(cells, classes * width))
            out = np.zeros((reports, classes * width))
            add_looked_up(self.block.cells, flat, out)
            found.append(out.reshape(reports, classes, width))
        return LogitMoments(found[0] - weights @ self.centre, found[1])

    def pulled(self, weights: Floats, pull: Pull) -> Floats:
        value, mean, _ = self._cells(weights)
        back = []
        for part in pull:
            reports, classes, width = part.shape
            out = np.zeros((len(self.block.attribute), classes * width))
            add_to_cells(self.block.cells, np.ascontiguousarray(part.reshape(reports, -1)), out)
            back.append(out.reshape(-1, classes, width).transpose(1, 0, 2))
        by_mean, by_covariance = back  # z x cells x F, z x cells x pairs
        slope = self._by_value(value, mean, by_mean, by_covariance)
        level = pull.by_mean.sum(axis=(0, 1))
        found: Floats = slope.T @ self.block.design - level[:, None] * self.centre
        return found

    def _by_value(self, value: Floats, mean: Floats, by_mean: Floats, by_covariance: Floats) -> Floats:
        """Derivatives by what each true state adds to the logits: cells x F."""
        slope: Floats = np.einsum("zos,zof->sf", self.table, by_mean, optimize=True)
        for place, (a, b) in enumerate(zip(*pairs(value.shape[1]), strict=True)):
            along = self.table * by_covariance[:, :, [place]]  # z x reports x truths
            plain = along.sum(axis=(0, 1))
            about = [np.einsum("zos,zo->s", along, mean[:, :, one]) for one in (a, b)]
            slope[:, a] += plain * value[:, b] - about[1]
            slope[:, b] += plain * value[:, a] - about[0]
        return slope

    def row_slopes(self, weights: Floats, pull: Pull) -> Floats:
        value, mean, _ = self._cells(weights)
        block = self.block
        reports, _, rows = pull.by_mean.shape
        found = np.zeros((reports, rows, block.design.shape[1]))
        for column, owner in enumerate(block.owner):
            cells = block.cells[:, owner]
            expected = self.table @ block.design[:, column]  # z x cells
            # Half of the derivative of a variance by its weight: E[x u] - E[x] E[u], for each logit u.
            product = self.table @ (block.design[:, [column]] * value) - expected[:, :, None] * mean
            found[:, :, column] = np.einsum("izf,iz->if", pull.by_mean, expected.T[cells])
            looked_up = product.transpose(1, 0, 2)[cells]  # R x z x F
            for place, (a, b) in enumerate(zip(*pairs(rows), strict=True)):
                found[:, a, column] += (pull.by_covariance[:, :, place] * looked_up[:, :, b]).sum(axis=1)
                found[:, b, column] += (pull.by_covariance[:, :, place] * looked_up[:, :, a]).sum(axis=1)
        level = pull.by_mean.sum(axis=1)
        found -= level[:, :, None] * self.centre
        return found

    def prior_scores(self, weights: Floats, own: Floats, shift: Floats, pull: Pull, rows: slice) -> PriorScores:
        value, mean, _ = self._cells(weights)
        first, second = pairs(len(weights))
        block, chance = self.block, self.block.chances({"weights": self.weights})
        cells = block.cells[rows]
        features, label = [], []
        for z, j in np.ndindex(len(self.weights), len(block.laws)):
            places = np.arange(int(block.first[j]), int(block.first[j] + block.size_of[j]))
            law = self.weights[z, places]
            reference = places[law.argmax()]
            here = cells[:, j]
            for place in places[(law > _AT_BORDER) & (places != reference)]:
                # One probability grows and the reference's falls: what that does to q, and to the means given a report.
                grows = block.response[:, [place, reference]] / chance[z][:, None]
                density = grows[:, 0] - grows[:, 1]
                gap = [value[state] - mean[z] for state in (place, reference)]
                by_mean = grows[:, [0]] * gap[0] - grows[:, [1]] * gap[1]
                by_covariance = grows[:, [0]] * gap[0][:, first] * gap[0][:, second]
                by_covariance -= grows[:, [1]] * gap[1][:, first] * gap[1][:, second]
                covariance = (self.table[z] @ (value[:, first] * value[:, second])) - mean[z][:, first] * mean[z][
                    :, second
                ]
                by_covariance -= density[:, None] * covariance
                features.append(own[:, z] * density[here])
                label.append(
                    shift[:, z] * density[here]
                    + (pull.by_mean[:, z] * by_mean[here]).sum(axis=1)
                    + (pull.by_covariance[:, z] * by_covariance[here]).sum(axis=1)
                )
        none = np.zeros((len(cells), 0))
        return PriorScores(*(np.column_stack(one) if one else none for one in (features, label)))


def _column(size: int, places: Any, values: Any) -> Floats:
    column = np.zeros(size)
    column[places] = values
    return column


def _likelier(matrix: Floats, shares: Floats, before: Floats | None) -> Floats:
    """Laws of the truth, in rows, under which reports with these shares are likelier; of two states the likeliest."""
    if matrix.shape == (2, 2):
        second = np.clip((shares[:, 1] - matrix[1, 0]) / (matrix[1, 1] - matrix[1, 0]), 0.0, 1.0)
        return np.column_stack([1 - second, second])
    law = np.full(shares.shape, 1 / shares.shape[1]) if before is None else before
    for _ in range(_STEPS if before is not None else 20 * _STEPS):
        law = law * ((shares / np.maximum(law @ matrix.T, _TINY)) @ matrix)
    found: Floats = law / np.maximum(law.sum(axis=1, keepdims=True), _TINY)
    return found
