"""What a saved model says about new rows."""

import csv
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.learning.face.saving import load_model, used_model
from askance.tables.groups import GroupedRows


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for rows, in their order.

    Parameters
    ----------
    ids : array of str, n, optional
        The rows' own names.
    predicted : array, n
        The likeliest class of each row, or a number.
    classes : tuple of str
        Of the probabilities' columns; empty if numbers are predicted.
    probabilities : array, n x K
    """

    ids: NDArray[np.str_] | None
    predicted: NDArray[Any]
    classes: tuple[str, ...]
    probabilities: Floats

    def records(self) -> list[dict[str, Any]]:
        """Return a mapping for each row: its name, what is predicted, and the probability of each class."""
        names = [{}] * len(self.predicted) if self.ids is None else [{"id": name} for name in self.ids.tolist()]
        shares = [
            {f"probability of {name}": value for name, value in zip(self.classes, row, strict=True)}
            for row in self.probabilities.tolist()
        ]
        return [
            name | {"predicted": value} | share
            for name, value, share in zip(names, self.predicted.tolist(), shares, strict=True)
        ]

    def to_csv(self) -> str:
        """Return a CSV text with a line for each row."""
        records, text = self.records(), io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue()


def predict_rows(model: StrPath, rows: StrPath, id_column: str | None = None) -> Predictions:
    """Predict the class, or the number, of every row of a file.

    Parameters
    ----------
    model : path
        A classifier or a regression that was saved.
    rows : path
        A CSV or Parquet file with the features that the model learned from.
    id_column : str, optional
        The column that names the rows.
    """
    import pandas as pd

    fitted = load_model(model)
    kind = "CountTagger" if hasattr(fitted, "token_names_") else type(fitted).__name__  # a chain tags sentences, too
    if not hasattr(fitted, "predict") or kind in _OTHER_COMMANDS:
        other = _OTHER_COMMANDS.get(kind, "")
        raise InvalidInput(f"{model} holds a {type(fitted).__name__}", "a model that predicts single rows", other)
    names = getattr(fitted, "feature_names_in_", None)
    categories = getattr(fitted, "categories_", {})
    of = {f"{name}[{label}]": name for name, labels in categories.items() for label in labels}
    columns = None if names is None else list(dict.fromkeys(of.get(str(name), str(name)) for name in names))
    read = GroupedRows.read(rows, id_column, columns, categories)
    features = (
        read.values if names is None else pd.DataFrame(read.values, columns=list(read.columns))[[*map(str, names)]]
    )
    with used_model(model):
        predicted = fitted.predict(features)
        if not hasattr(fitted, "predict_proba"):
            return Predictions(read.groups, predicted, (), np.empty((len(predicted), 0)))
        classes, shares = tuple(map(str, fitted.classes_.tolist())), fitted.predict_proba(features)
        if shares.shape != (len(predicted), len(classes)):
            raise ValueError(f"probabilities of {shares.shape[-1]} classes, and {len(classes)} names")
        return Predictions(read.groups, predicted, classes, shares)


_OTHER_COMMANDS = {
    "CountTagger": "Sentences are tagged by askance tag.",
    "RatioEstimator": "Groups are estimated by askance ratios --model.",
    "Prevalence": "Proportions predict nobody's answer.",
}
