"""Chains from hidden sequences: reports become evidence about every token, and the weights are climbed to.

Sentences are in memory, or in a release that an engine sums over: the objective is the same sum.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes, Floats
from askance.channels.alphabet import listed
from askance.engines.base import Engine
from askance.errors import InvalidInput
from askance.learning.answers.exchange import refuse_exchangeable
from askance.learning.face.release_records import ReleaseColumns
from askance.learning.face.release_regression import RegressionTerms
from askance.learning.models.chain_problem import ChainProblem, Method
from askance.learning.models.chain_search import ChainSearch, sizes_of
from askance.learning.models.chain_source import SentenceReader, SentenceSource, check_same_lengths
from askance.learning.models.chain_sums import CountSeen, SummedChain
from askance.learning.models.evidence import checked_channel, table_for_law
from askance.learning.models.families import Chain
from askance.learning.models.fitted import Fitted
from askance.learning.models.token_features import TokenTable, often_enough
from askance.releases.declarations import Question
from askance.releases.release import Release


@dataclass(frozen=True, eq=False)
class FittedChain:
    """A chain with the features of its tokens, and how many sentences and tokens it has seen."""

    fitted: Fitted
    names: tuple[str, ...]
    sentences: int
    tokens: int
    longest: int


def fit_chain(
    family: Chain,
    tokens: TokenTable,
    channel: Any,
    reports: Any,
    design: Any,
    method: Method,
    ridge: float | None,
    max_iterations: int,
) -> FittedChain:
    """Fit a chain to sentences in memory; what does not fit together is refused by name."""
    device = _device(family, channel)
    codes = channel.encode_reports(reports, design)
    check_same_lengths(tokens.starts, codes.starts)
    if not tokens.tokens:
        raise InvalidInput(f"{len(tokens.starts) - 1} sentences without a token", "at least one token")
    seen = np.bincount(codes.flat, minlength=len(device.matrix))
    rows = _evidence(family, device, method, seen)[codes.flat]
    problem = ChainProblem(tokens.table, tokens.starts, np.ascontiguousarray(rows), method)
    clean = ChainProblem(tokens.table, tokens.starts, np.zeros((tokens.tokens, len(family.tags))), "moments")
    averages = partial(_averages, family, tokens, device, codes.flat, seen)
    sizes = sizes_of(tokens.table)
    search = ChainSearch(problem, clean, averages, len(tokens), tokens.tokens, len(family.tags), sizes)
    found = search.fit(method, ridge, max_iterations)
    longest = int(np.diff(tokens.starts).max(initial=1))
    return FittedChain(found, tuple(tokens.names), len(tokens), tokens.tokens, longest)


def fit_released_chain(
    family: Chain,
    release: Release,
    terms: RegressionTerms,
    asked: Question,
    engine: Engine,
    method: Method,
    ridge: float | None,
    max_iterations: int,
) -> FittedChain:
    """Fit a chain to a release, where its sentences are; its features are in the order of their names."""
    channel: Any = asked.channel
    device = _device(family, channel)
    words = _words_column(release, terms)
    reader = SentenceReader(asked.name, words, channel, family.function, asked.design_column)
    columns = ReleaseColumns(release, reader.columns)
    seen = engine.reduce(CountSeen(reader, len(device.matrix)), columns)
    if not seen.tokens:
        raise InvalidInput("a release without a single token", "some sentences")
    evidence = _evidence(family, device, method, seen.reports)
    source = SentenceSource(release, reader).with_names(often_enough(seen.features))
    problem = SummedChain(engine, source, evidence, method)
    clean = SummedChain(engine, source, np.zeros_like(evidence), "moments")
    sizes = np.ones(len(source.reader.names))  # a word has a feature, or has it not

    def averages() -> SummedChain:
        return SummedChain(engine, source, _evidence(family, device, "moments", seen.reports), "moments")

    search = ChainSearch(problem, clean, averages, seen.sentences, seen.tokens, len(family.tags), sizes)
    found = search.fit(method, ridge, max_iterations)
    return FittedChain(found, source.reader.names, seen.sentences, seen.tokens, seen.longest)


def _device(family: Chain, channel: Any) -> Any:
    """Return what hides one label, if it is about the chain's tags."""
    if getattr(channel, "hides", None) != "sequences":  # whatever a user hands in
        raise InvalidInput(
            f"channel={channel!r} for sequences",
            "PerToken(channel): every label is hidden by itself",
            "A whole labelling is too much for one classic response: there are too many labellings.",
        )
    device = checked_channel(channel.device, len(family.tags), len(family.tags))
    if tuple(device.classes) != family.tags:
        raise InvalidInput(f"a channel about {listed(device.classes)}", f"one about the tags {listed(family.tags)}")
    return device


def _evidence(family: Chain, device: Any, method: Method, seen: NDArray[np.int64]) -> Floats:
    """What each report says about a tag: P(report | tag), or unbiased indicators of the tags."""
    if method == "moments":
        return table_for_law(device, np.eye(len(family.tags)), seen.astype(float))
    table: Floats = np.ascontiguousarray(device.matrix)
    refuse_exchangeable(table[seen > 0], None, family.tags)
    return table


def _averages(family: Chain, tokens: TokenTable, device: Any, codes: Codes, seen: NDArray[np.int64]) -> ChainProblem:
    rows = np.ascontiguousarray(_evidence(family, device, "moments", seen)[codes])
    return ChainProblem(tokens.table, tokens.starts, rows, "moments")


def _words_column(release: Release, terms: RegressionTerms) -> str:
    words = [one.name for one in release.header.covariates if one.type == "words"]
    wanted = terms.features if terms.formula is None else terms.formula.columns
    chosen = list(wanted) if wanted is not None else words
    if len(chosen) != 1 or chosen[0] not in words:
        raise InvalidInput(
            f"the columns of words {listed(words)}, of which {listed(chosen)} are asked for",
            "features = the name of one covariate of type 'words'",
        )
    return chosen[0]
