"""Chains from hidden sequences: reports become evidence about every token, and the weights are climbed to."""

from typing import Any

import numpy as np
import pyarrow as pa

from askance.channels.alphabet import listed
from askance.channels.labels.per_token import PerToken
from askance.channels.sequences import Sequences
from askance.errors import InvalidInput
from askance.learning.face.release_regression import RegressionTerms
from askance.learning.models.chain_problem import ChainProblem, Method
from askance.learning.models.evidence import Evidence, checked_channel, unbiased
from askance.learning.models.exchange import refuse_exchangeable
from askance.learning.models.families import Chain
from askance.learning.models.fitted import Fitted
from askance.learning.models.gradient_fit import fit_by_gradient
from askance.learning.models.token_features import TokenTable, token_table
from askance.releases.declarations import Question
from askance.releases.release import Release

_PLENTY = 20  # tokens for each parameter with which a chain needs no ridge
# Where features are words, most are rare, and without a ridge each of these would be learned by heart. With three, a
# tagger of every third sentence of the English Web Treebank, tags at level 2, is right in .879 of its development file.
_WORDS_RIDGE = 3.0


def sentences_of(
    family: Chain, release: Release, terms: RegressionTerms, asked: Question
) -> tuple[TokenTable, Any, Any, Any]:
    """Return the tokens of a release with their features; and channel, reports and designs."""
    words = [one.name for one in release.header.covariates if one.type == "words"]
    chosen = list(terms.features) if terms.features is not None else words
    if len(chosen) != 1 or chosen[0] not in words:
        raise InvalidInput(
            f"the columns of words {listed(words)}, of which {listed(chosen)} are asked for",
            "features = the name of one covariate of type 'words'",
        )
    columns = [asked.name, chosen[0], *([asked.design_column] if asked.design_column else [])]
    table = pa.concat_tables([part.read(tuple(columns)) for part in release.partitions()])
    design = table[asked.design_column] if asked.design_column else None
    tokens = token_table(Sequences.of(table[chosen[0]]), family.function)
    return tokens, asked.channel, table[asked.name], design


def fit_chain(
    family: Chain,
    tokens: TokenTable,
    channel: Any,
    reports: Any,
    design: Any,
    method: Method,
    ridge: float | None,
    max_iterations: int,
) -> Fitted:
    """Fit a chain; what does not fit together is refused by name."""
    if not isinstance(channel, PerToken):
        raise InvalidInput(
            f"channel={channel!r} for sequences",
            "PerToken(channel): every label is hidden by itself",
            "A whole labelling is too much for one classic response: there are too many labellings.",
        )
    device = checked_channel(channel.device, len(family.tags), len(family.tags))
    if tuple(device.classes) != family.tags:
        raise InvalidInput(f"a channel about {listed(device.classes)}", f"one about the tags {listed(family.tags)}")
    codes = channel.encode_reports(reports, design)
    if not np.array_equal(codes.starts, tokens.starts):
        row = _first_difference(codes.starts, tokens.starts)
        raise InvalidInput(
            f"{len(tokens)} sentences and {len(codes)} sequences of reports"
            if row is None
            else f"sentence {row + 1} has {np.diff(tokens.starts)[row]} tokens and {codes.lengths[row]} reports",
            "a report for each token",
        )
    if method == "marginal":
        said = Evidence(np.ascontiguousarray(device.matrix), codes.flat)
        refuse_exchangeable(said.table[np.unique(said.codes)], None, family.tags)
    else:
        said = unbiased(device, np.eye(len(family.tags)), reports, codes.flat)
    problem = ChainProblem(tokens.table, tokens.starts, said.rows(), method)
    clean = ChainProblem(tokens.table, tokens.starts, np.zeros((tokens.tokens, len(family.tags))), "moments")
    if ridge is None:
        ridge = 0.0 if problem.size * _PLENTY <= tokens.tokens else _WORDS_RIDGE
    return fit_by_gradient(problem, clean, len(tokens), ridge, max_iterations, marginal=method == "marginal")


def _first_difference(first: Any, second: Any) -> int | None:
    if len(first) != len(second):
        return None
    return int(np.flatnonzero(np.diff(first) != np.diff(second))[0])
