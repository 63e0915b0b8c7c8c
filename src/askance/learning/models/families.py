"""Exponential families p(y | x) ∝ exp(theta . phi(x, y)): finite truths, chains, and the protocol of one's own."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import Label, as_labels
from askance.errors import InvalidInput, NotAvailable
from askance.learning.models.token_features import word_features

Features = Callable[[Any], Any]


@runtime_checkable
class Family(Protocol):
    """A family of one's own: what :class:`~askance.IndirectModel` asks of it.

    Attributes
    ----------
    classes : sequence of labels
        The possible truths, in the order of the columns of a likelihood.
    size : int
        How many parameters there are.
    """

    classes: Any
    size: int

    def log_partition(self, theta: Floats, X: Any, likelihood: Floats | None = None) -> tuple[Floats, Floats]:
        """Return log sum_y L(y) exp(theta . phi(x, y)) of each record, n, and E[phi(x, y)] under that law, n x size.

        ``likelihood`` holds L, n x classes; all ones if not given.
        """


class States:
    """Finitely many truths.

    Parameters
    ----------
    features : array, states x features; or function of x; or None
        An array T makes phi(x, k) = T[k] (x) x: parameters are a table, features of the truth by features of x. A
        function gives states x features for one row of x, dense or sparse. None: one indicator for each truth but the
        first, which is the softmax model of :class:`~askance.IndirectClassifier`.
    classes : sequence of labels, optional
        The truths, where the channel does not name them.
    names : sequence of str, optional
        What the columns of ``features`` are called.

    Examples
    --------
    >>> import askance as ask
    >>> ask.States([[0, 0], [0, 1], [1, 0], [1, 1]], names=["smokes", "drinks"])
    States(4 states x 2 features)
    """

    def __init__(self, features: Any = None, classes: Iterable[Any] | None = None, names: Any = None) -> None:
        self.function: Features | None = features if callable(features) else None
        self.table: Floats | None = None
        if features is not None and self.function is None:
            try:
                table = np.array(features, dtype=float)
            except (TypeError, ValueError):
                raise InvalidInput(
                    f"features={features!r}", "an array, states x features, or a function of one row of x"
                ) from None
            if not table.ndim:
                raise InvalidInput(
                    f"features={features!r}",
                    "an array, states x features",
                    "How many states there are is said by the channel: ask.States() has one parameter for each.",
                )
            if table.ndim != 2 or len(table) < 2 or not table.size or not np.isfinite(table).all():
                raise InvalidInput(f"features of shape {table.shape}", "finite numbers, one row for each of the states")
            if not np.ptp(table, axis=0).any():
                raise InvalidInput("features that are the same for all states", "some in which the states differ")
            self.table = table
        self.classes: tuple[Label, ...] | None = None if classes is None else as_labels(classes, "classes")
        if self.classes is not None and self.table is not None and len(self.classes) != len(self.table):
            raise InvalidInput(
                f"{len(self.classes)} classes and {len(self.table)} rows of features", "one row for each"
            )
        self.names = None if names is None else tuple(map(str, names))
        if self.names is not None and self.table is not None and len(self.names) != self.table.shape[1]:
            raise InvalidInput(f"{len(self.names)} names and {self.table.shape[1]} features", "a name for each")

    def __repr__(self) -> str:
        if self.function is not None:
            return f"States({getattr(self.function, '__name__', 'function')})"
        return (
            "States()" if self.table is None else f"States({len(self.table)} states x {self.table.shape[1]} features)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what a file keeps of it."""
        if self.function is not None:
            raise NotAvailable(
                "saving a model with a function of its own", "a table of features, or a model that stays in memory"
            )
        return {
            "features": self.table,
            "classes": None if self.classes is None else list(self.classes),
            "names": None if self.names is None else list(self.names),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "States":
        """Read what :meth:`to_dict` wrote."""
        return cls(**fields)


@dataclass(frozen=True)
class Chain:
    """Sequences of tags, such as sentences: weights of token features by tag, and of transitions from tag to tag.

    Parameters
    ----------
    tags : sequence of labels
    features : "words", function, or None
        "words": sentences are lists of words, and a usual set of features is made of each word and its neighbours. A
        function takes a sentence and returns for each token a list of names of its features. None: sentences come with
        their features, as lists of names for each token or as tables of numbers, tokens x features.

    Examples
    --------
    >>> import askance as ask
    >>> ask.Chain(["noun", "verb", "other"], features="words")
    Chain(tags=('noun', 'verb', 'other'), features='words')
    """

    tags: tuple[Label, ...]
    features: Any = None

    def __post_init__(self) -> None:
        vars(self).update(tags=as_labels(self.tags, "tags"))
        if self.features not in (None, "words") and not callable(self.features):
            raise InvalidInput(f"features={self.features!r}", "'words', a function of a sentence, or None")

    @property
    def classes(self) -> tuple[Label, ...]:
        return self.tags

    @property
    def function(self) -> Features | None:
        """What turns a sentence into features, if anything does."""
        made: Features | None = word_features if self.features == "words" else self.features
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return what a file keeps of it."""
        if self.features not in (None, "words"):
            raise NotAvailable(
                "saving a chain with a function of its own", "features='words' or features=None: make them beforehand"
            )
        return {"tags": list(self.tags), "features": self.features}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Chain":
        """Read what :meth:`to_dict` wrote."""
        return cls(**fields)
