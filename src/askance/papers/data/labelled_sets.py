"""Tables with a label for each row, on the scale that releases of label totals need: rows of 2-norm 1.

Numbers are standardised by their own mean and standard deviation, which are public as features are; categories become
indicators of their levels; then each row is divided by its 2-norm.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.papers.data.data_folder import Sourced, data_file

ADULT_NUMBERS = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
ADULT_AMOUNTS = ("capital_gain", "capital_loss")  # most of them zero, some very large: log(1 + x)
ADULT_CATEGORIES = (
    "workclass",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
)


@dataclass(frozen=True, eq=False)
class LabelledSet(Sourced):
    """Public features (rows of 2-norm 1) and labels, which are -1 and 1."""

    features: Floats
    labels: NDArray[np.int64]

    def split(self, rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
        """Return features and labels of a random two thirds of the rows, then of the rest."""
        train, test = np.split(rng.permutation(len(self.labels)), [2 * len(self.labels) // 3])
        return self.features[train], self.labels[train], self.features[test], self.labels[test]


class AdultTable(NamedTuple):
    """The census of 1994: a block of numbers for each column, ready for a model, and the columns as they are."""

    blocks: dict[str, Floats]
    raw: Any
    source: str = "Adult (Becker & Kohavi 1996, UCI)"

    def features(self, *without: str) -> Floats:
        """All blocks side by side, except some."""
        return np.column_stack([block for name, block in self.blocks.items() if name not in without])


def adult_table() -> AdultTable | None:
    """Adult, if it is on this machine: numbers standardised, categories as indicators of their levels."""
    path = data_file("adult/adult.parquet")
    if path is None:
        return None
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    numbers = {name: table[name].to_numpy().astype(float) for name in ADULT_NUMBERS}
    amounts = {name: np.log1p(numbers[name]) for name in ADULT_AMOUNTS}
    blocks = {name: standardised(column) for name, column in (numbers | amounts).items()}
    return AdultTable(blocks | {name: _indicators(table[name].to_pylist()) for name in ADULT_CATEGORIES}, table)


def adult() -> LabelledSet:
    """Adult, 48,842 people of the census of 1994 and whether they earn more than 50,000 dollars; or a stand-in."""
    table = adult_table()
    if table is None:
        return _made_up()
    labels = np.where(np.asarray(table.raw["income"].to_pylist()) == ">50K", 1, -1)
    return LabelledSet("Adult", table.source, _of_length_one(table.features()), labels)


def breast_cancer() -> LabelledSet:
    """Breast cancer, 569 tumours and whether they are malignant: it comes with scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    features, benign = load_breast_cancer(return_X_y=True)
    source = "breast cancer (Wolberg et al. 1995, UCI)"
    return LabelledSet("breast cancer", source, _of_length_one(standardised(features)), np.where(benign, -1, 1))


def _made_up() -> LabelledSet:
    """Many people and few features. The seed is the data set's own: a stand-in is a data set, not a simulation."""
    rng = np.random.default_rng(1994)
    features = _of_length_one(rng.normal(size=(30_000, 10)))
    chance = 1 / (1 + np.exp(1.5 - features @ np.linspace(-6.0, 6.0, 10)))
    labels = np.where(rng.random(len(chance)) < chance, 1, -1)
    return LabelledSet("made up", "made up, in place of Adult", features, labels, stand_in=True)


def standardised(numbers: Floats) -> Floats:
    """Bring every column to mean 0 and standard deviation 1."""
    scaled: Floats = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    return scaled


def _indicators(values: list[str | None]) -> Floats:
    known, codes = np.unique([value or "unknown" for value in values], return_inverse=True)
    return np.eye(len(known))[codes]


def _of_length_one(rows: Floats) -> Floats:
    scaled: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled
