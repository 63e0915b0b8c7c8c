"""Bags of a release: a public column says who is in which, and the reports tell the proportions of each."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from askance.arrays import Floats
from askance.channels.alphabet import Label
from askance.errors import InvalidInput
from askance.learning.face.release_records import NumericColumns, checked_columns
from askance.releases.counts_release import CountsRelease
from askance.releases.declarations import Question
from askance.releases.release import Release


class ReleasedBags(NamedTuple):
    """What a release says to somebody who learns from proportions."""

    features: pd.DataFrame
    bags: Any
    proportions: Any
    noise: Any
    classes: tuple[Label, ...] | None


def bags_of_release(release: Release, bag: Any, proportions: Any, noise: Any) -> ReleasedBags:
    """Take the numeric covariates of a release for features, one column of it for the bag of each row.

    Without ``proportions`` those of every bag are estimated from the reports to the release's question: without bias,
    and with the covariance that the channel and the size of the bag give them.
    """
    if not isinstance(bag, str):
        raise InvalidInput(f"bags={bag!r} with a release", "the name of a column that says who is in which bag")
    checked_columns(release, [bag])
    numbers = [c.name for c in release.header.covariates if c.type == "number" and c.name != bag]
    table = release.to_table()
    features = pd.DataFrame(NumericColumns(tuple(numbers)).matrix(table), columns=numbers)
    names = table[bag].to_pandas().to_numpy()
    if proportions is not None:
        return ReleasedBags(features, names, proportions, noise, None)
    asked = _labelled(release)
    design = None if asked.design_column is None else table[asked.design_column]
    channel = asked.label_channel
    codes = np.asarray(channel.encode_reports(table[asked.name], design))
    told = channel.unbiasing_matrix()
    shares, covariances = {}, {}
    for name in pd.unique(names):
        inside = told[:, codes[names == name]]
        shares[name] = dict(zip(channel.classes, inside.mean(axis=1).tolist(), strict=True))
        covariances[name] = _covariance_of_the_mean(inside, channel.matrix, told)
    return ReleasedBags(features, names, shares, covariances, channel.classes)


def told_by_counts(release: CountsRelease, noise: Any) -> tuple[Any, Any, tuple[Label, ...]]:
    """Take the proportions of released counts by bag, unbiased, and their noise with them; and the classes."""
    if noise is not None:
        raise InvalidInput("noise= beside a release of counts", "one of them: the release knows its own noise")
    told = {
        bag: dict(zip(release.classes, shares.tolist(), strict=True))
        for bag, shares in release.by_bag(release.raw_proportions).items()
    }
    return told, release.by_bag(release.noise), release.classes


def _covariance_of_the_mean(inside: Floats, matrix: Floats, told: Floats) -> Floats:
    """The covariance of a bag's estimated proportions about its own true ones: the channel's noise alone."""
    rows = inside.shape[1]
    shares = np.clip(inside.mean(axis=1), 0.0, 1.0)
    shares = shares / shares.sum()
    noise = np.zeros((len(shares), len(shares)))
    for share, law in zip(shares, matrix.T, strict=True):
        about = told - (told @ law)[:, None]
        noise += share * (about * law) @ about.T
    covariance: Floats = noise / rows
    return covariance


def _labelled(release: Release) -> Question:
    fitting = [question for question in release.header.questions if not question.hides_numbers]
    if len(fitting) != 1:
        raise InvalidInput(
            f"a release with {len(fitting)} questions about labels, and no proportions",
            "one such question, or proportions",
        )
    return fitting[0]
