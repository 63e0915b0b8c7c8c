"""Sums over sentences, wherever these are: what a chain's fit asks an engine for."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.learning.models.chain_problem import ChainProblem, Method
from askance.learning.models.chain_source import Seen, SentenceReader, Sentences, SentenceSource
from askance.statistics.base import add_fields


@dataclass(frozen=True, eq=False)
class CountSeen:
    """What there is: features, reports, sentences, tokens."""

    reader: SentenceReader
    reports: int

    def empty(self) -> Seen:
        return Seen(Counter(), np.zeros(self.reports, np.int64), 0, 0, 0)

    def observe(self, table: pa.Table, /) -> Seen:
        return self.reader.seen(table, self.reports)

    def merge(self, first: Seen, second: Seen) -> Seen:
        return Seen(
            first.features + second.features,
            first.reports + second.reports,
            first.sentences + second.sentences,
            first.tokens + second.tokens,
            max(first.longest, second.longest),
        )


class Slope(NamedTuple):
    """An objective and its gradient."""

    value: float
    gradient: Floats


class Scores(NamedTuple):
    """The gradients of single sentences: their sum, and the sum of their products."""

    total: Floats
    products: Floats


@dataclass(frozen=True, eq=False)
class ChainSlope:
    """Objective and gradient at theta; ``evidence`` is a row for each report, as of :class:`ChainProblem`."""

    theta: Floats
    evidence: Floats
    method: Method

    def empty(self) -> Slope:
        return Slope(0.0, np.zeros_like(self.theta))

    def observe(self, batch: Sentences, /) -> Slope:
        return Slope(*problem_of(batch, self.evidence, self.method).value_and_gradient(self.theta))

    def merge(self, first: Slope, second: Slope) -> Slope:
        return add_fields(first, second)


@dataclass(frozen=True, eq=False)
class ChainGradients:
    """Gradients at several points in one pass."""

    points: Floats
    evidence: Floats
    method: Method

    def empty(self) -> Floats:
        return np.zeros_like(self.points)

    def observe(self, batch: Sentences, /) -> Floats:
        return problem_of(batch, self.evidence, self.method).gradients(self.points)

    def merge(self, first: Floats, second: Floats) -> Floats:
        return first + second


@dataclass(frozen=True, eq=False)
class ChainScores:
    """Sums of the gradients of single sentences at theta."""

    theta: Floats
    evidence: Floats
    method: Method

    def empty(self) -> Scores:
        size = len(self.theta)
        return Scores(np.zeros(size), np.zeros((size, size)))

    def observe(self, batch: Sentences, /) -> Scores:
        return Scores(*problem_of(batch, self.evidence, self.method).score_sums(self.theta))

    def merge(self, first: Scores, second: Scores) -> Scores:
        return add_fields(first, second)


def problem_of(batch: Sentences, evidence: Floats, method: Method) -> ChainProblem:
    """The objective of a batch."""
    rows = np.ascontiguousarray(evidence[batch.codes])
    return ChainProblem(batch.tokens.table, batch.tokens.starts, rows, method)


@dataclass(frozen=True, eq=False)
class SummedChain:
    """The objective of a chain whose sentences an engine sums over; see :class:`ChainProblem`."""

    engine: Engine
    source: SentenceSource
    evidence: Floats
    method: Method

    @property
    def size(self) -> int:
        tags = int(self.evidence.shape[1])
        return len(self.source.reader.names) * tags + tags**2

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        found = self.engine.reduce(ChainSlope(theta, self.evidence, self.method), self.source)
        return found.value, found.gradient

    def gradients(self, points: Floats) -> Floats:
        return self.engine.reduce(ChainGradients(points, self.evidence, self.method), self.source)

    def score_sums(self, theta: Floats) -> tuple[Floats, Floats]:
        found = self.engine.reduce(ChainScores(theta, self.evidence, self.method), self.source)
        return found.total, found.products
