"""What unknown numbers depend on: columns of the features, or formulas over the columns of a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.channels.alphabet import listed
from askance.engines.base import Engine
from askance.errors import InvalidInput
from askance.learning.face.formula import Formula, FormulaColumns, in_formula
from askance.learning.face.release_records import FeatureReader
from askance.releases.release import Release


def checked_unknowns(unknowns: Any, channel: Any) -> dict[str, Any]:
    """Return what each unknown number depends on, by name; refuse names of numbers that the channel has not."""
    known = getattr(channel, "unknowns", {})
    if unknowns is None:
        return {}
    if not isinstance(unknowns, Mapping):
        raise InvalidInput(f"unknowns={unknowns!r}", "a mapping such as {'cheaters': ['age']}")
    strangers = [name for name in unknowns if name not in known]
    if strangers:
        has = f"unknown numbers among {listed(list(known))}" if known else "none: nothing about the channel is unknown"
        raise InvalidInput(f"covariates for {listed(strangers)}", has)
    return dict(unknowns)


def chosen_columns(unknowns: Mapping[str, Any], names: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of the features that each unknown number depends on."""
    places: dict[str, list[int]] = {}
    for unknown, features in unknowns.items():
        if isinstance(features, str):
            raise InvalidInput(
                f"unknowns={{{unknown!r}: {features!r}}}",
                f"a list of features such as {{{unknown!r}: {list(names[:1])}}}",
                "A formula is for fit_release, where columns have names and levels.",
            )
        strangers = [feature for feature in features if str(feature) not in names]
        if strangers:
            raise InvalidInput(f"{unknown} depends on {listed(strangers)}", f"features among {listed(list(names))}")
        places[unknown] = [list(names).index(str(feature)) for feature in features]
    return places


@dataclass(frozen=True, eq=False)
class JoinedReader:
    """The features of a model, and after them those of unknown numbers."""

    readers: tuple[FeatureReader, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for reader in self.readers for name in reader.columns))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for reader in self.readers for name in reader.names)

    @property
    def intercept(self) -> bool:
        return self.readers[0].intercept

    def matrix(self, table: pa.Table) -> NDArray[np.float64]:
        """Features of a table, n x d."""
        return np.hstack([reader.matrix(table) for reader in self.readers])


def joined_reader(
    reader: FeatureReader, unknowns: Mapping[str, Any], release: Release, engine: Engine
) -> tuple[FeatureReader, dict[str, list[int]]]:
    """Return a reader that also reads what unknown numbers depend on, and where these features are.

    Parameters
    ----------
    reader : of the model's own features
    unknowns : mapping from name to formula or list of columns
        Such as ``{"cheaters": "~ age + C(school)"}``.
    release, engine
        As for :class:`FormulaColumns`.
    """
    if not unknowns:
        return reader, {}
    readers, places, start = [reader], {}, len(reader.names)
    for name, what in unknowns.items():
        text = what if isinstance(what, str) else " + ".join(map(in_formula, what)) or "1"
        right = text.rpartition("~")[2].strip()
        own = FormulaColumns.learn(Formula(f"{in_formula(name)} ~ {right}"), release, engine)
        if not own.intercept:
            raise InvalidInput(f"{name} ~ {right}", "a formula with an intercept: leave out 0 and - 1")
        readers.append(own)
        places[name] = list(range(start, start + len(own.names)))
        start += len(own.names)
    return JoinedReader(tuple(readers)), places
