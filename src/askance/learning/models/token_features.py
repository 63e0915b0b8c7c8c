"""Features of tokens: names of what a token has, looked up in the names that training met; or numbers as they are."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from askance.channels.sequences import Sequences
from askance.errors import InvalidInput

_RUN = re.compile(r"(.)\1+")
_RARE = 2  # a feature of fewer tokens teaches little and fills memory: as taggers from counts leave it out, too


def word_features(words: Sequence[str]) -> list[list[str]]:
    """Return the names of what a tagger looks at around each word: the word in detail, its neighbours more coarsely.

    Examples
    --------
    >>> word_features(["The", "owl"])[1][:4]
    ['bias', 'word owl', 'shape xx', 'suffix l']
    """
    plain = [word.lower() for word in words]
    rows = []
    for place, (word, lower) in enumerate(zip(words, plain, strict=True)):
        before = plain[place - 1] if place else "<s>"
        after = plain[place + 1] if place + 1 < len(plain) else "</s>"
        rows.append(
            [
                "bias",
                f"word {lower}",
                f"shape {_shape(word)}",
                *(f"suffix {lower[-size:]}" for size in range(1, min(4, len(lower)) + 1)),
                *(f"prefix {lower[:size]}" for size in range(1, min(3, len(lower)) + 1)),
                f"before {before}",
                f"before ends {before[-3:]}",
                f"after {after}",
                f"after ends {after[-3:]}",
                *(["first"] if place == 0 else []),
            ]
        )
    return rows


def often_enough(tokens: Mapping[str, int]) -> tuple[str, ...]:
    """Return the features that are worth a weight, in order, of those that so many tokens have; all if none is.

    Examples
    --------
    >>> often_enough({"word owl": 1, "bias": 7, "word cat": 2})
    ('bias', 'word cat')
    """
    often = sorted(name for name, count in tokens.items() if count >= _RARE)
    return tuple(often or sorted(tokens))


def _shape(word: str) -> str:
    kinds = ("9" if one.isdigit() else "X" if one.isupper() else "x" if one.isalpha() else one for one in word)
    return _RUN.sub(r"\1\1", "".join(kinds))


class TokenTable:
    """Tokens of all sequences one below the other: a sparse table of features, and where each sequence begins."""

    def __init__(self, table: Any, starts: NDArray[np.int64], names: tuple[str, ...]) -> None:
        self.table, self.starts, self.names = table, starts, names

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def tokens(self) -> int:
        return int(self.starts[-1])


def token_table(
    sequences: Any, features: Callable[[Any], Any] | None, names: Sequence[str] | None = None
) -> TokenTable:
    """Look up the features of tokens; learn their names if none are given.

    Parameters
    ----------
    sequences : list
        Of sentences: lists of words if there is a function of features; else lists of lists of feature names, or tables
        of numbers, tokens x features.
    features : function of a sentence, optional
        Returns for each of its tokens a list of names.
    names : sequence of str, optional
        The features that a model knows; others are left out.
    """
    if isinstance(sequences, str | bytes) or not isinstance(sequences, Iterable):
        raise InvalidInput(f"a {type(sequences).__name__} in place of sentences", "a list with one sentence a row")
    rows = list(sequences.lists() if isinstance(sequences, Sequences) else sequences)
    if not rows:
        raise InvalidInput("no sentences", "at least one")
    if features is None and all(sp.issparse(row) or _is_numbers(row) for row in rows):
        return _of_numbers(rows, names)
    made = []
    for number, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise InvalidInput(f"{row!r} as sentence {number + 1}", "a list of words, or of the features of each token")
        sentence = list(row)
        given = sentence if features is None else list(features(sentence))
        if len(given) != len(sentence):
            raise InvalidInput(f"features of {len(given)} tokens for {len(sentence)} words", "a list for each word")
        made.append(given)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(row) for row in made], dtype=np.int64)])
    known = {name: place for place, name in enumerate(names)} if names is not None else {}
    indices, indptr = list[int](), [0]
    for number, row in enumerate(made):
        for token in row:
            if isinstance(token, str) or not isinstance(token, Iterable):
                raise InvalidInput(
                    f"{token!r} in sentence {number + 1}",
                    "a list of feature names for each token",
                    "Words themselves are taken by Chain(tags, features='words').",
                )
            if names is None:
                indices += [known.setdefault(name, len(known)) for name in token]
            else:
                indices += [known[name] for name in token if name in known]
            indptr.append(len(indices))
    shape = (len(indptr) - 1, len(known))
    table = sp.csr_matrix((np.ones(len(indices)), np.array(indices, np.int32), np.array(indptr)), shape=shape)
    table.sum_duplicates()
    found = tuple(map(str, known))
    if names is None:
        often = np.flatnonzero(np.bincount(table.indices, minlength=len(known)) >= _RARE)
        often = often if len(often) else np.arange(len(known))
        table, found = table[:, often].tocsr(), tuple(found[place] for place in often.tolist())
    return TokenTable(table, starts, found)


def _is_numbers(row: Any) -> bool:
    return isinstance(row, np.ndarray) and row.ndim == 2 and row.dtype.kind in "biuf"


def _of_numbers(rows: list[Any], names: Sequence[str] | None) -> TokenTable:
    width = {row.shape[1] for row in rows}
    if len(width) > 1 or (names is not None and width != {len(names)}):
        raise InvalidInput(
            f"tables of {', '.join(map(str, sorted(width)))} features",
            f"{len(names)} features for every token" if names is not None else "the same features for every token",
        )
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum([row.shape[0] for row in rows], dtype=np.int64)])
    table = sp.vstack([sp.csr_matrix(row, dtype=float) for row in rows]).tocsr()
    if not np.isfinite(table.data).all():
        raise InvalidInput("features that are not finite", "finite numbers")
    return TokenTable(
        table, starts, tuple(names) if names is not None else tuple(f"x{j}" for j in range(next(iter(width))))
    )
