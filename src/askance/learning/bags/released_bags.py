"""What is known of bags, whatever it comes as: given proportions, released counts, or a release of answers."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from askance.arrays import Floats
from askance.channels.alphabet import Label
from askance.channels.guarantee import Guarantee
from askance.errors import InvalidInput
from askance.learning.face.release_records import NumericColumns, checked_columns
from askance.releases.counts_release import CountsRelease
from askance.releases.declarations import Question
from askance.releases.release import Release


class BagData(NamedTuple):
    """Features, the bag of each row, what is known of the bags, and how well that is protected."""

    features: Any
    bags: Any
    proportions: Any
    noise: Any
    classes: tuple[Label, ...] | None
    guarantee: Guarantee


def bag_data(X: Any, bags: Any, proportions: Any, noise: Any) -> BagData:
    """Return the data of bags.

    Parameters
    ----------
    X : n x d, or Release
        The features of a release are its numeric covariates, and ``bags`` is then the name of a column. Without
        proportions those of every bag are estimated from the reports to the release's question: without bias, and with
        the covariance that the channel and the size of the bag give them.
    bags : n names, or str
    proportions : by bag, or CountsRelease
        The proportions of released counts are unbiased, and their noise comes with them.
    noise : by bag, optional
    """
    if isinstance(X, Release):
        release, table = X, X.to_table()
        X, bags = _features(release, bags, table), table[bags].to_pandas().to_numpy()
        if proportions is None:
            return _estimated(release, X, bags, table)
    if isinstance(proportions, CountsRelease):
        return _counted(X, bags, proportions, noise)
    if proportions is None:
        raise InvalidInput("no proportions", "those of every bag; only a release can do without")
    return BagData(X, bags, proportions, noise, None, Guarantee.none("one person's label"))


def _counted(X: Any, bags: Any, release: CountsRelease, noise: Any) -> BagData:
    if noise is not None:
        raise InvalidInput("noise= beside a release of counts", "one of them: the release knows its own noise")
    shares = {
        bag: dict(zip(release.classes, row.tolist(), strict=True))
        for bag, row in release.by_bag(release.raw_proportions).items()
    }
    return BagData(X, bags, shares, release.by_bag(release.noise), release.classes, release.guarantee)


def _features(release: Release, bag: Any, table: Any) -> pd.DataFrame:
    if not isinstance(bag, str):
        raise InvalidInput(f"bags={bag!r} with a release", "the name of a column that says who is in which bag")
    checked_columns(release, [bag])
    numbers = [c.name for c in release.header.covariates if c.type == "number" and c.name != bag]
    return pd.DataFrame(NumericColumns(tuple(numbers)).matrix(table), columns=numbers)


def _estimated(release: Release, X: Any, bags: Any, table: Any) -> BagData:
    """Estimate the proportions of every bag from reports."""
    asked = _labelled(release)
    design = None if asked.design_column is None else table[asked.design_column]
    channel = asked.label_channel
    codes = np.asarray(channel.encode_reports(table[asked.name], design))
    unbiasing = channel.unbiasing_matrix()
    shares, covariances = {}, {}
    for name in pd.unique(bags):
        guesses = unbiasing[:, codes[bags == name]]
        shares[name] = dict(zip(channel.classes, guesses.mean(axis=1).tolist(), strict=True))
        covariances[name] = _covariance_of_the_mean(guesses, channel.matrix, unbiasing)
    return BagData(X, bags, shares, covariances, channel.classes, channel.guarantee)


def _covariance_of_the_mean(guesses: Floats, matrix: Floats, unbiasing: Floats) -> Floats:
    """The covariance of a bag's estimated proportions about its own true ones: the channel's noise alone."""
    shares = np.clip(guesses.mean(axis=1), 0.0, 1.0)
    shares = shares / shares.sum()
    noise = np.zeros((len(shares), len(shares)))
    for share, law in zip(shares, matrix.T, strict=True):
        about = unbiasing - (unbiasing @ law)[:, None]
        noise += share * (about * law) @ about.T
    covariance: Floats = noise / guesses.shape[1]
    return covariance


def _labelled(release: Release) -> Question:
    fitting = [question for question in release.header.questions if not question.hides_numbers]
    if len(fitting) != 1:
        raise InvalidInput(
            f"a release with {len(fitting)} questions about labels, and no proportions",
            "one such question, or proportions",
        )
    return fitting[0]
