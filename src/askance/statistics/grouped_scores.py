"""Scores summed by sampling unit: what a covariance of clustered or stratified samples is made of.

The records come with the number of their unit as their last feature, so that every engine can carry it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance.arrays import Codes, Floats
from askance.solvers.softmax import posterior
from askance.statistics.base import Records, add_fields
from askance.statistics.row_blocks import blocks, with_intercept
from askance.statistics.softmax_score import Method


class GroupSums(NamedTuple):
    """Sums over the records of each of G units; parameters are flattened class by class."""

    rows: Floats  # G: how many records
    weight: Floats  # G
    score: Floats  # G x P: weighted scores
    second: Floats  # G x P x P: weighted expected information, or outer products of the weighted scores


def no_sums(units: int, size: int) -> GroupSums:
    """Sums over no records."""
    return GroupSums(np.zeros(units), np.zeros(units), np.zeros((units, size)), np.zeros((units, size, size)))


class GroupCounts(NamedTuple):
    """Sums over the records of each of G units, by report code."""

    rows: Floats  # G
    weight: Floats  # G x reports
    squared_weight: Floats  # G x reports


@dataclass(frozen=True)
class GroupedReports:
    """Count reports by unit, weighted."""

    reports: int
    units: int

    def empty(self) -> GroupCounts:
        shape = (self.units, self.reports)
        return GroupCounts(np.zeros(self.units), np.zeros(shape), np.zeros(shape))

    def merge(self, first: GroupCounts, second: GroupCounts) -> GroupCounts:
        return add_fields(first, second)

    def observe(self, records: Records) -> GroupCounts:
        total = self.empty()
        units = records.features[:, -1].astype(np.int64)
        weights = np.ones(len(records)) if records.weights is None else records.weights
        np.add.at(total.rows, units, 1.0)
        np.add.at(total.weight, (units, records.codes), weights)
        np.add.at(total.squared_weight, (units, records.codes), weights**2)
        return total


@dataclass(frozen=True, eq=False)
class GroupedScores:
    """Sum scores, and their expected information or outer products, by unit.

    Parameters
    ----------
    theta, table, method, intercept, centre
        As for :class:`SoftmaxScore`.
    designs : tuple of (start, stop)
        The rows of the table that belong to each design.
    units : int
        How many; 0 for all records together, which then come without the number of a unit.
    outer : bool
        Sum outer products of scores instead of information.
    """

    theta: Floats
    table: Floats
    method: Method
    intercept: bool
    centre: Floats | None
    designs: tuple[tuple[int, int], ...]
    units: int = 0
    outer: bool = False

    def empty(self) -> GroupSums:
        return no_sums(max(self.units, 1), self.theta.size)

    def merge(self, first: GroupSums, second: GroupSums) -> GroupSums:
        return add_fields(first, second)

    def observe(self, records: Records) -> GroupSums:
        total = self.empty()
        for block in blocks(records):
            numbered = self.units > 0
            units = block.features[:, -1].astype(np.int64) if numbered else np.zeros(len(block), np.int64)
            features = np.ascontiguousarray(block.features[:, :-1]) if numbered else block.features
            rows = with_intercept(features, self.intercept, self.centre)
            weights = np.ones(len(block)) if block.weights is None else block.weights
            prior = posterior(rows @ self.theta.T).probabilities
            chances = self.table[block.codes]
            if self.method == "marginal":
                after = chances * prior
                slope = after / np.maximum(after.sum(axis=1, keepdims=True), np.finfo(float).tiny) - prior
            else:
                slope = chances - prior
            scores = ((weights[:, None] * slope[:, 1:])[:, :, None] * rows[:, None, :]).reshape(len(block), -1)
            np.add.at(total.rows, units, 1.0)
            np.add.at(total.weight, units, weights)
            np.add.at(total.score, units, scores)
            for unit in np.unique(units):
                mine = units == unit
                total.second[unit] += (
                    scores[mine].T @ scores[mine]
                    if self.outer
                    else self._information(rows[mine], prior[mine], weights[mine], block.codes[mine])
                )
        return total

    def _information(self, rows: Floats, prior: Floats, weights: Floats, codes: Codes) -> Floats:
        """The expected information of some records."""
        free = prior.shape[1] - 1
        curvature = np.zeros((len(rows), free, free))
        if self.method == "moments":
            own = prior[:, 1:]
            curvature = own[:, :, None] * np.eye(free) - own[:, :, None] * own[:, None, :]
        else:
            for start, stop in self.designs:
                here = (codes >= start) & (codes < stop)
                for report in range(start, stop) if here.any() else ():
                    joint = self.table[report] * prior[here]
                    law = joint.sum(axis=1, keepdims=True)
                    gap = (joint / np.maximum(law, np.finfo(float).tiny) - prior[here])[:, 1:]
                    curvature[here] += law[:, :, None] * gap[:, :, None] * gap[:, None, :]
        weighted = weights[:, None, None] * curvature
        information = np.einsum("njk,na,nb->jakb", weighted, rows, rows, optimize=True)
        size = self.theta.size
        return np.asarray(information.reshape(size, size))
