"""Labelled rows from which groups of any mix are drawn: the protocol of [CR] section 4.

Half of the rows make training bags, the other half new groups; within both, the rows of a group are drawn class by
class, so that P(x | y) is the same everywhere and only the proportions shift.
"""

from dataclasses import dataclass, replace

import numpy as np

from askance.arrays import Floats, Integers
from askance.papers.data.data_folder import Sourced, data_file
from askance.papers.data.digits import handwritten_digits
from askance.papers.data.labelled_sets import adult_table, standardised
from askance.solvers.simplex import whole_counts

MARRIED = ("Married-civ-spouse", "Married-AF-spouse")
UNMARRIED = ("Never-married",)


@dataclass(frozen=True, eq=False)
class RatioSet(Sourced):
    """Features, and classes as codes 0 to K-1."""

    features: Floats
    codes: Integers

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self.codes.max()) + 1

    def halves(self, rng: np.random.Generator) -> "tuple[RatioSet, RatioSet]":
        """Return a random half for training bags, and the rest for new groups."""
        first, second = np.array_split(rng.permutation(len(self.codes)), 2)
        return tuple(  # type: ignore[return-value]
            replace(self, features=self.features[rows], codes=self.codes[rows]) for rows in (first, second)
        )

    def group(self, shares: Floats, size: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw a group; return its rows and the shares that it really has.

        Rows are drawn without replacement as long as a class has enough of them.
        """
        counts = whole_counts(shares, size)
        chosen = []
        for code, count in enumerate(counts):
            rows = np.flatnonzero(self.codes == code)
            chosen.append(rng.choice(rows, count, replace=count > len(rows)))
        return self.features[np.concatenate(chosen)], counts / size

    def bags(self, table: Floats, size: int, rng: np.random.Generator) -> tuple[Floats, Integers, Floats]:
        """Draw a bag for each row of a table of shares; return rows, the bag of each, and the bags' real shares."""
        drawn = [self.group(shares, size, rng) for shares in table]
        names = np.repeat(np.arange(len(table)), size)
        return np.vstack([rows for rows, _ in drawn]), names, np.array([shares for _, shares in drawn])


def rotated(classes: int, rho: float, times: int = 2) -> Floats:
    """The paper's training proportions: each class in turn has 1 - (c-1) rho, the others rho.

    Examples
    --------
    >>> rotated(2, 0.1, times=1)
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    one = np.full((classes, classes), rho)
    np.fill_diagonal(one, 1 - (classes - 1) * rho)
    return np.tile(one, (times, 1))


def census() -> RatioSet:
    """Adult: who earns more than 50,000 dollars; or a stand-in."""
    table = adult_table()
    if table is None:
        return _gaussians("made up, two classes", classes=2, width=10, distance=1.5, seed=1994)
    rich = np.asarray(table.raw["income"].to_pylist()) == ">50K"
    return RatioSet("Adult", table.source, table.features(), rich.astype(np.int64))


def marital_status() -> RatioSet:
    """Adult: married, never married, or no longer married, by all columns but the relationship; or a stand-in."""
    table = adult_table()
    if table is None:
        return _gaussians("made up, three classes", classes=3, width=10, distance=1.5, seed=1995)
    status = np.asarray(table.raw["marital_status"].to_pylist())
    codes = np.select([np.isin(status, MARRIED), np.isin(status, UNMARRIED)], [0, 1], default=2)
    features = table.features("marital_status", "relationship")
    return RatioSet("Adult, marital status", table.source, features, codes.astype(np.int64))


def comments() -> RatioSet | None:
    """Comments below five YouTube videos, spam or not: weights of 1,000 words and the length; None without them."""
    path = data_file("youtube-spam/youtube_spam.parquet")
    if path is None:
        return None
    import pyarrow.parquet as pq
    from sklearn.feature_extraction.text import TfidfVectorizer

    table = pq.read_table(path)
    texts = [text or "" for text in table["CONTENT"].to_pylist()]
    words = TfidfVectorizer(max_features=1_000).fit_transform(texts).toarray()
    # A length of the weights' own size: each row of these has length one.
    length = standardised(np.log1p([[len(text)] for text in texts])) / 10
    source = "YouTube spam collection (Alberto, Lochter & Almeida 2015, UCI)"
    return RatioSet("YouTube comments", source, np.hstack([words, length]), table["CLASS"].to_numpy().astype(np.int64))


def higgs() -> RatioSet:
    """A subset of HIGGS: collisions that made the particle, and others; or a stand-in."""
    path = data_file("higgs/higgs_union.parquet")
    if path is None:
        return _gaussians("made up, two classes close together", classes=2, width=28, distance=0.25, seed=2014)
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    names = [name for name in table.column_names if name not in ("label", "src")]
    features = standardised(np.column_stack([table[name].to_numpy().astype(float) for name in names]))
    source = "HIGGS, a subset (Baldi, Sadowski & Whiteson 2014, UCI)"
    return RatioSet("Higgs", source, features, table["label"].to_numpy().astype(np.int64))


def handwritten() -> RatioSet:
    """Handwritten digits, ten classes: MNIST, or the small ones that come with scikit-learn."""
    digits = handwritten_digits(tuple(range(10)))
    brightness = digits.scaled(digits.pictures)
    return RatioSet(digits.name, digits.source, brightness, digits.labels, stand_in=digits.stand_in)


def _gaussians(name: str, classes: int, width: int, distance: float, seed: int) -> RatioSet:
    """Normal classes. The seed is the data set's own: a stand-in is a data set, not a simulation."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(classes), 8_000)
    centres = distance * rng.normal(size=(classes, width)) / np.sqrt(2)
    return RatioSet(name, name, rng.normal(size=(len(codes), width)) + centres[codes], codes, stand_in=True)
