"""Counts of private labels by bag, released with noise: what a publisher of group totals hands out."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

import askance
from askance.arrays import Floats
from askance.channels.alphabet import Label
from askance.channels.guarantee import Guarantee, proof_page
from askance.entropy.bits import BitSource, GeneratorBits
from askance.errors import InvalidInput
from askance.mechanisms.budget import Budget, Number
from askance.mechanisms.counts.count_mechanisms import CountMechanism, from_parameters
from askance.mechanisms.counts.count_noise import CountNoise
from askance.mechanisms.counts.scaled_dirichlet import NAME as PAPER
from askance.mechanisms.counts.scaled_dirichlet import Search
from askance.mechanisms.ledger import Ledger
from askance.releases.counts_facts import exact_level, possible_counts, read_counts_facts
from askance.releases.counts_task import CountsTask, Mechanism
from askance.releases.counts_within import CountGroups
from askance.releases.json_release import JsonRelease
from askance.releases.paid_release import paid_release


class Intervals(NamedTuple):
    """Lower and upper ends for the proportions, bags x K."""

    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class CountsRelease(JsonRelease):
    """Counts of classes by bag that may be handed on, and all that is known about them.

    Parameters
    ----------
    classes : tuple of labels
    bags : tuple
        The names of the bags.
    totals : tuple of int
        How many people are in each bag: public.
    counts : array of whole numbers, bags x K
        Not negative; they sum to the totals, and their sums over bags are those of the raw counts, or the nearest that
        are possible. So totals of regions that are added up are not biased by counts that cannot be negative.
    raw : array, bags x K
        As they were drawn: unbiased, and they sum to the totals. For who takes the noise into account. Only those of
        "laplace-prior" are biased, towards equal shares, where counts are small beside the noise.
    guarantee : Guarantee
    mechanism : str
    how_known : str
        Why the guarantee holds.
    parameters : tuple of mappings
        For each bag the public numbers of its mechanism, as exact text.
    predicted : mapping
        The expected distortion of each mechanism that was looked at, from public numbers only: the sum over classes of
        the absolute errors of the proportions, mean of all bags.
    asked : Budget, optional
        The level that was asked for, of one bag. Askance 0.1.0 did not write it down.
    disjoint : bool
        Whether nobody is in two bags.
    askance : str
        The version that made it.
    within : tuple of CountGroups
        Larger groups that were released too, from the smallest to that of everybody; none unless asked for. Their
        counts are the sums of those of the bags.
    version : int
        Of the format. Files of versions 1 and 2 hold counts that are not whole.

    Examples
    --------
    >>> import askance as ask
    >>> release = ask.release_counts([[30, 70], [60, 40]], epsilon=1.0)
    >>> release.raw.sum(axis=1)
    array([100., 100.])
    >>> low, high = release.interval(0.95)
    >>> bool((low <= release.proportions).all() and (release.proportions <= high).all())
    True
    """

    FORMAT = "askance-counts"
    VERSION = 3
    WHAT = "a release of counts"
    FOR = "Counts are for RatioEstimator, ProportionClassifier and EcologicalInference."

    classes: tuple[Label, ...]
    bags: tuple[Label, ...]
    totals: tuple[int, ...]
    counts: NDArray[np.int64]
    raw: Floats
    guarantee: Guarantee
    mechanism: str
    how_known: str
    parameters: tuple[Mapping[str, str], ...]
    predicted: Mapping[str, float]
    asked: Budget | None = None
    disjoint: bool = True
    askance: str = askance.__version__
    within: tuple[CountGroups, ...] = ()
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.mechanism in get_args(Mechanism):  # derived, also of what an earlier version wrote: no file says it
            proof = proof_page(f"counts-{self.mechanism}")
            vars(self).update(guarantee=replace(self.guarantee, proof=proof))

    @property
    def proportions(self) -> Floats:
        """The proportions of the classes, bags x K: from 0 to 1, with sum 1."""
        said = self.counts if self.version > 2 else possible_counts(self.raw, self.totals)
        return said / self._sizes

    @property
    def raw_proportions(self) -> Floats:
        """Unbiased proportions, bags x K, to be used together with :attr:`noise`."""
        return self.raw / self._sizes

    @property
    def noise(self) -> Floats:
        """The covariance of the raw proportions about the true ones, bags x K x K."""
        return self._covariances / self._sizes[:, :, None] ** 2

    def by_bag(self, values: Floats) -> dict[Label, Floats]:
        """Return rows by the name of their bag, as estimators take them: ``by_bag(release.raw_proportions)``."""
        return dict(zip(self.bags, values, strict=True))

    def interval(self, level: float = 0.95) -> Intervals:
        """Return intervals for the true proportions, bags x K, that hold each with a probability of at least ``level``.

        Noise that is added has a law without unknowns: its own quantiles are taken, which are exact. For Dirichlet
        laws the errors are taken to be normal.
        """
        if not 0 < level < 1:
            raise InvalidInput(f"level={level!r}", "a number between 0 and 1")
        law = self._mechanisms[0]
        if isinstance(law, CountNoise):
            below, above = (np.asarray(side) for side in law.error.margins(level))
        else:
            below = above = _normal_quantile(level) * np.sqrt(np.diagonal(self._covariances, axis1=1, axis2=2))
        ends = (self.raw - below, self.raw + above)
        return Intervals(*(np.clip(end / self._sizes, 0.0, 1.0) for end in ends))

    @cached_property
    def _mechanisms(self) -> list[CountMechanism]:
        known: dict[Any, CountMechanism] = {}
        mechanisms = []
        for total, parameters in zip(self.totals, self.parameters, strict=True):
            key = (total, *parameters.items())
            if key not in known:
                known[key] = from_parameters(self.mechanism, parameters, total, len(self.classes))
            mechanisms.append(known[key])
        return mechanisms

    @cached_property
    def _covariances(self) -> Floats:
        law = self._mechanisms[0]
        if isinstance(law, CountNoise):  # the same for all bags
            return np.repeat(law.covariance(self.raw[0])[None], len(self.raw), axis=0)
        return np.array([each.covariance(raw) for each, raw in zip(self._mechanisms, self.raw, strict=True)])

    @property
    def _sizes(self) -> Floats:
        return np.array(self.totals, dtype=float)[:, None]

    def restated(self) -> dict[str, Any]:
        """Return all that there is to say, JSON-able, but the digest of it."""
        variances = np.diagonal(self._covariances, axis1=1, axis2=2) / self._sizes**2
        # So many digits are the same on every machine, and with them the digest.
        rounded = [[float(f"{variance:.9g}") for variance in line] for line in variances]
        said = {
            "format": self.FORMAT,
            "version": self.version,
            "askance": self.askance,
            "classes": list(self.classes),
            "bags": list(self.bags),
            "totals": list(self.totals),
            "counts": (self.counts if self.version > 2 else possible_counts(self.raw, self.totals)).tolist(),
            "raw": self.raw.tolist(),
            "noise_variance": rounded,
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "how_known": self.how_known,
            "parameters": [dict(each) for each in self.parameters],
            "predicted": dict(self.predicted),
        }
        if self.asked is not None:
            said |= {"asked": exact_level(self.asked), "disjoint": self.disjoint}
        if self.version > 2:
            said["within"] = [groups.restated() for groups in self.within]
        return said

    @classmethod
    def from_facts(cls, fields: Mapping[str, Any]) -> Self:
        """Read what :meth:`restated` returned; counts, errors and the guarantee are recomputed."""
        return cls(**read_counts_facts(fields))

    def __str__(self) -> str:
        people, bags = sum(self.totals), len(self.bags)
        groups = "".join(f" within {len(each.groups):,} groups ({each.level})" for each in self.within[:-1])
        return (
            f"counts of {people:,} labels in {len(self.classes)} classes, {bags:,} bag{'s' * (bags > 1)}{groups}\n"
            f"{self.mechanism}: {self.guarantee}\n{self.how_known}"
        )


def release_counts(
    counts: Any,
    epsilon: Number,
    delta: Number = 0,
    mechanism: Mechanism = "auto",
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    classes: Sequence[Any] | None = None,
    bags: Sequence[Any] | None = None,
    within: Any = None,
    disjoint: bool = True,
    people: Any = None,
    search: Search = "exact",
) -> CountsRelease:
    """Release how many people of each class are in each bag with noise, so that nobody's label can be told from it.

    Two data sets are neighbours if one person of one bag has another label; who is in which bag is public, and so are
    the bags' totals. A label that changes moves one count up by one and another down by one. Noise is drawn from the
    operating system's entropy; there is no seed.

    Parameters
    ----------
    counts : sequence, array, frame or mapping
        The true counts: one for each class; or a table, bags x classes; or by bag.
    epsilon, delta : number
        The level of privacy of each bag: epsilon from 1e-6 to 500, delta 0 or at least 1e-100.
    mechanism : str
        "discrete-laplace", "truncated-laplace", "discrete-gaussian": whole-numbered noise of sum zero. "laplace",
        "gaussian": independent noise for each count. "laplace-prior": a Dirichlet draw about noisy counts.
        "dirichlet": a Dirichlet draw whose scale and pseudo-count are public. "auto" takes the one of these that
        distorts least, which follows from public numbers: the totals, the number of classes, epsilon and delta. Delta
        is spent only where it is worth it. "scaled-dirichlet-paper" is the mechanism of the paper, which has no
        guarantee: for study only.
    ledger : Ledger or path, optional
        The budget to spend from. It is spent before any noise is drawn, and stays spent whatever happens afterwards.
    classes : sequence of labels, optional
        The names of the classes, in the order that is wanted; 0, 1, ... if neither this nor the table tells.
    bags : sequence, optional
        The names of the bags.
    within : sequence, or mapping of sequences, optional
        Larger groups that the bags are in, to be released too: the name of its group for each bag; or several levels by
        name, from the smallest groups to the largest, such as {"county": [...], "state": [...]}. Everybody together is
        counted above them. All levels agree: bags sum to their groups, groups to larger ones. A label is in one group
        of every level, so that each level gets an equal part of epsilon and delta.
    disjoint : bool
        Whether nobody is in two bags. Then a label counts once, and all bags together cost no more than one. If not,
        the levels of all bags add up.
    people : array, optional
        The identifiers of the people, for the ledger: who spends. Everybody, if not given.
    search : {"exact", "chebyshev"}
        How "scaled-dirichlet-paper" looks for its scale.

    Returns
    -------
    CountsRelease

    Examples
    --------
    >>> import askance as ask
    >>> release = ask.release_counts({"north": [50, 950], "south": [700, 300]}, epsilon=1.0, classes=["ill", "well"])
    >>> bool(abs(release.proportions[0, 0] - 0.05) < 0.03)
    True
    >>> print(release.guarantee)  # doctest: +ELLIPSIS
    epsilon 1, protects one person's label (data sets that differ in one label; ...)
    >>> units = ask.release_counts([[5, 9], [7, 3], [8, 8]], epsilon=1.0, within=["north", "north", "south"])
    >>> bool((units.counts[:2].sum(axis=0) == units.within[0].counts[0]).all())
    True

    References
    ----------
    Iyer, Nath & Sarawagi, [CR], section 3; Hardt & Talwar (2010) for noise by the norm of what one label moves;
    Canonne, Kamath & Steinke (2020) for exact coins; Hay, Rastogi, Miklau & Suciu (2010) for levels that agree.
    """
    task = _Task.checked(counts, epsilon, delta, mechanism, classes, bags, within, disjoint, people, search)
    if ledger is not None and mechanism == PAPER:
        raise InvalidInput(
            f"mechanism={mechanism!r} with a ledger", "a mechanism that has a guarantee", "Nothing was spent."
        )
    return paid_release(task, ledger)


def simulate_counts_release(
    counts: Any,
    epsilon: Number,
    delta: Number = 0,
    mechanism: Mechanism = "auto",
    *,
    rng: np.random.Generator,
    **options: Any,
) -> CountsRelease:
    """Do as :func:`release_counts` does, reproducibly: for planning and tests, never for real labels.

    Examples
    --------
    >>> import numpy as np
    >>> simulate_counts_release([5, 10, 15], 1.0, mechanism="laplace", rng=np.random.default_rng(0)).mechanism
    'laplace'
    """
    defaults = {"classes": None, "bags": None, "within": None, "disjoint": True, "people": None, "search": "exact"}
    return _Task.checked(counts, epsilon, delta, mechanism, **(defaults | options)).release(GeneratorBits(rng))


class _Task(CountsTask):
    """A release of counts, to be paid for and drawn."""

    def release(self, source: BitSource) -> CountsRelease:
        """Draw the noise."""
        return CountsRelease(**self.facts(source))


def _normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))
