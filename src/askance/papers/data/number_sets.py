"""Real tables of numbers for reproductions, found on this machine or fetched; and stand-ins where they are not.

``ASKANCE_DATA`` names a folder with ``california/cal_housing.parquet`` and ``protein/protein.csv.gz``, and for
``labelled_sets`` ``adult/adult.parquet``. None of them is shipped with the package.
"""

from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats
from askance.papers.data.data_folder import Sourced, data_file

# Round numbers that anybody would choose without seeing the data.
HOUSING_BOUNDS = {
    "income": (0.0, 15.0),
    "age": (0.0, 52.0),
    "rooms": (0.0, 10.0),
    "bedrooms": (0.0, 2.0),
    "population": (0.0, 5000.0),
    "occupants": (0.0, 6.0),
    "latitude": (32.0, 42.0),
    "longitude": (-125.0, -114.0),
    "value": (0.0, 5.0),
}
# The published columns are centred; areas and energies have long tails.
PROTEIN_BOUNDS = {
    "area": (-8000.0, 16000.0),
    "nonpolar_area": (-3000.0, 6000.0),
    "exposed_share": (-0.2, 0.2),
    "exposed_side": (-100.0, 200.0),
    "mass": (-1e6, 2e6),
    "deviation": (-120.0, 240.0),
    "distance": (-4000.0, 4000.0),
    "penalty": (-70.0, 230.0),
    "spread": (-20.0, 20.0),
    "log_rmsd": (-2.0, 1.2),
}


@dataclass(frozen=True, eq=False)
class NumberSet(Sourced):
    """Rows of numbers with public bounds; the last column is the outcome.

    Parameters
    ----------
    bounds : dict
        A lower and an upper bound for each column, in their order.
    rows : array
        n x columns, in the units of the bounds.
    """

    bounds: dict[str, tuple[float, float]]
    rows: Floats

    @property
    def scaled(self) -> Floats:
        """The rows, clipped, with every column's bounds at 0 and 1."""
        lower, upper = np.array(list(self.bounds.values())).T
        fractions: Floats = (np.clip(self.rows, lower, upper) - lower) / (upper - lower)
        return fractions


def housing(download: bool = True) -> NumberSet:
    """California housing, 20,640 districts: from the folder, from scikit-learn, or a stand-in."""
    source = "California housing (Pace & Barry 1997)"
    path = data_file("california/cal_housing.parquet")
    if path is not None:
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        of = {name: table[name].to_numpy().astype(float) for name in table.column_names}
        households = of["households"]
        rows = np.column_stack(
            [
                of["medianIncome"],
                of["housingMedianAge"],
                of["totalRooms"] / households,
                of["totalBedrooms"] / households,
                of["population"],
                of["population"] / households,
                of["latitude"],
                of["longitude"],
                of["medianHouseValue"] / 100_000,
            ]
        )
        return NumberSet("housing", source, HOUSING_BOUNDS, rows)
    from sklearn.datasets import fetch_california_housing

    try:
        features, value = fetch_california_housing(return_X_y=True, download_if_missing=download)
    except OSError:  # not there, or no network
        return _made_up("housing", HOUSING_BOUNDS, 20_640, explained=0.65, seed=840)
    return NumberSet("housing", source, HOUSING_BOUNDS, np.column_stack([features, value]))


def proteins() -> NumberSet:
    """Protein structures, 45,730 of them: from the folder, or a stand-in."""
    path = data_file("protein/protein.csv.gz")
    if path is None:
        return _made_up("proteins", PROTEIN_BOUNDS, 45_730, explained=0.28, seed=748)
    rows = np.loadtxt(path, delimiter=",")
    return NumberSet("proteins", "CASP protein structures (Rana 2013, UCI), columns centred", PROTEIN_BOUNDS, rows)


def _made_up(
    name: str, bounds: dict[str, tuple[float, float]], count: int, *, explained: float, seed: int
) -> NumberSet:
    """Correlated columns that fill a part of their bounds, and an outcome of which a share is explained.

    The seed is the data set's own: a stand-in is a data set, not a simulation.
    """
    rng = np.random.default_rng(seed)
    width = len(bounds) - 1
    mixing = np.eye(width) + 0.6 * rng.normal(size=(width, 2)) @ rng.normal(size=(2, width)) / np.sqrt(2)
    hidden = rng.normal(size=(count, width)) @ mixing.T
    hidden /= hidden.std(axis=0)
    signal = hidden @ rng.normal(size=width)
    noise = rng.normal(size=count) * signal.std() * np.sqrt(1 / explained - 1)
    outcome = (signal + noise) / (signal + noise).std()
    # Like real columns: most of the mass below the middle of the bounds, with a spread of a tenth to a fifth of them.
    middle, spread = rng.uniform(0.3, 0.5, width + 1), rng.uniform(0.1, 0.2, width + 1)
    fractions = middle + spread * np.column_stack([hidden, outcome])
    lower, upper = np.array(list(bounds.values())).T
    rows: Floats = lower + fractions * (upper - lower)
    return NumberSet(name, f"made up, in place of {name}", bounds, rows, stand_in=True)
