"""Advice to a publisher who holds labelled rows and may form the bags: how many, and how skewed ([CR] section 3.1).

Skewed bags teach more. But who is in which bag is published with the bags, and if a person's bag depends on the
person's label, then membership tells something about the label that the noise of the counts does not cover. Bags with
exact proportions, as in the paper, have no guarantee at all: with all labels but one known, the last one follows. So
the bag is drawn by randomised response of the label, whose level is exact, and what is left of the budget goes to the
counts. The more skewed the bags, the less is left: that is the real trade-off, and it has an optimum.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.alphabet import Alphabet, Label, as_labels
from askance.channels.labels.randomized_response import RandomizedResponse
from askance.errors import InvalidInput, Unidentifiable
from askance.frames import refuse_other_rows
from askance.mechanisms.budget import Budget, Number
from askance.planning.bag_designs import WHAT_IS_COVERED, BagOption, Setting, designs, worked_out
from askance.planning.theory.ratio_error import equally_apart, measured_apart

TYPICAL_SEPARATION = 2.0  # standard deviations: a line between two such classes has 84% of each on its side


@dataclass(frozen=True, eq=False)
class BagAdvice:
    """How to form the bags. It was worked out from the labels: it is for the publisher only.

    Parameters
    ----------
    classes : tuple of labels
    best : BagOption
    alternatives : tuple of BagOption
        All that was looked at, the best first.
    people : array, bags x K
        How many of each class are to be expected in each bag.
    wanted : float, optional
        The error that was asked for.
    """

    classes: tuple[Label, ...]
    best: BagOption
    alternatives: tuple[BagOption, ...]
    people: Floats
    wanted: float | None = None
    _public: NDArray[np.int64] | None = field(default=None, repr=False)

    @property
    def sizes(self) -> Floats:
        """How many people are to be expected in each bag."""
        return np.asarray(self.people.sum(axis=1))

    @property
    def proportions(self) -> Floats:
        """What shares of the classes are to be expected, bags x K."""
        return self.people / self.sizes[:, None]

    @property
    def error(self) -> float:
        """The L1 error of the ratios of a new group that is to be expected."""
        return self.best.error

    @property
    def good_enough(self) -> bool:
        """Whether the error that was asked for can be expected."""
        return self.wanted is None or self.error <= self.wanted

    @property
    def covered(self) -> str:
        """What the guarantee covers, and what it does not."""
        return WHAT_IS_COVERED[self.best.membership]

    @property
    def channel(self) -> RandomizedResponse:
        """The channel that turns a label into the class whose bag a person joins: its guarantee is membership's."""
        if self.best.membership != "response":
            raise InvalidInput(f"membership={self.best.membership!r}", "'response': only then is there a channel")
        return RandomizedResponse(self.classes, epsilon=self.best.epsilon_membership)

    def assign(self, y: Any, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """Deal people into bags 0, 1, ...; by the operating system's entropy, unless it is a simulation.

        Parameters
        ----------
        y : labels
        rng : numpy Generator, optional
            For planning and tests only.
        """
        if self._public is not None:
            return self._public.copy()
        dice = np.random.default_rng() if rng is None else rng  # for what is nobody's secret
        if self.best.membership == "exact":
            return self._dealt(Alphabet(self.classes, "label").encode(y).astype(np.int64), dice)
        reports = self.channel.privatize(y) if rng is None else self.channel.simulate(y, rng)
        groups = Alphabet(self.classes, "bag").encode(reports).astype(np.int64)
        each = self.best.bags // len(self.classes)
        return np.asarray(groups * each + dice.integers(0, each, len(groups)))

    def _dealt(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Deal the people of every class in the proportions that are wanted."""
        bags = np.empty(len(codes), dtype=np.int64)
        for k in range(len(self.classes)):
            rows = rng.permutation(np.flatnonzero(codes == k))
            ends = np.cumsum(self.people[:, k])
            ends = np.rint(ends / ends[-1] * len(rows)).astype(np.int64)
            bags[rows] = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        return bags

    def to_dict(self) -> dict[str, Any]:
        """Return a mapping of numbers and text, fit for JSON: a level of membership that is infinite is None."""
        return {
            "classes": list(self.classes),
            "best": _finite(self.best),
            "covered": self.covered,
            "wanted": self.wanted,
            "good_enough": self.good_enough,
            "proportions": self.proportions.tolist(),
            "sizes": self.sizes.tolist(),
            "alternatives": [_finite(option) for option in self.alternatives],
        }

    def __str__(self) -> str:
        best = self.best
        lines = [
            f"{best.bags} bags ({best.membership}), skew {best.skew:.3g}: expected error of ratios {best.error:.3g} "
            f"(sampling {best.sampling_error:.3g}, noise {best.noise_error:.3g})",
            f"epsilon: membership {best.epsilon_membership:.3g}, counts {best.epsilon_counts:.3g} ({best.mechanism})",
            self.covered,
        ]
        if not self.good_enough:
            lines.append(f"An error of {self.wanted:g} is out of reach: it takes more people or a larger epsilon.")
        return "\n".join(lines)


def advise_bags(
    y: Any,
    epsilon: Number,
    delta: Number = 0,
    *,
    error: float | None = None,
    X: Any = None,
    separation: float | None = None,
    new_rows: int = 1000,
    classes: Sequence[Any] | None = None,
    membership: Literal["response", "exact"] = "response",
    public_bags: Any = None,
) -> BagAdvice:
    """Propose how to form bags of labelled rows, for a level of privacy and an error of class ratios learned from them.

    Parameters
    ----------
    y : labels, or a mapping from class to number of people
        They enter by how many of each class there are. The choice is not private: give numbers that are public if the
        design is to tell nothing.
    epsilon, delta : number
        The whole level of privacy of a label.
    error : float, optional
        The largest L1 error of the ratios of a new group that is wanted.
    X : array, n x d, optional
        Features, from which it is measured how far the classes lie apart. Needs labels, not their numbers.
    separation : float, optional
        How many standard deviations any two classes lie apart; 2 if neither this nor X is given.
    new_rows : int
        The size of the new groups.
    classes : sequence of labels, optional
    membership : {"response", "exact"}
        Randomised response of the label decides the bag, at a level that is part of epsilon; or bags have exact
        proportions, as in the paper, and epsilon covers the counts only.
    public_bags : array, n, optional
        A public column that could name the bags, to be compared. Needs labels.

    Returns
    -------
    BagAdvice

    Examples
    --------
    >>> import askance as ask
    >>> advice = ask.advise_bags({"ill": 2000, "well": 6000}, epsilon=1.0, error=0.1)
    >>> advice.best.bags, advice.good_enough
    (2, True)
    >>> print(advice.covered)  # doctest: +ELLIPSIS
    Membership and counts together: everybody's bag is drawn by randomised response of the label, ...

    References
    ----------
    Iyer, Nath & Sarawagi, [CR], section 3.1.
    """
    refuse_other_rows(y=y, X=X, public_bags=public_bags)
    budget = Budget.of(epsilon, delta)
    if membership not in ("response", "exact"):
        raise InvalidInput(f"membership={membership!r}", "'response' or 'exact'")
    if error is not None and not (_is_number(error) and error > 0):
        raise InvalidInput(f"error={error!r}", "a positive number")
    if not _is_number(new_rows) or not 2 <= new_rows < math.inf:
        raise InvalidInput(f"new_rows={new_rows!r}", "two or more")
    names, counts, codes = _counted(y, classes)
    setting = Setting(budget, _apart(X, codes, len(names), separation), new_rows)
    looked_at = designs(membership, counts, setting)
    which = None
    if public_bags is not None:
        people, which = _public_people(public_bags, codes, len(names))
        skew = float(people.max(axis=1).sum() / people.sum())
        try:
            looked_at.append(worked_out("public", people, skew, Fraction(0), setting))
        except Unidentifiable:
            raise Unidentifiable(
                f"{len(people)} public bags whose proportions do not tell {len(names)} classes apart",
                "proportions that differ in every direction",
                "Leave public_bags out.",
            ) from None
    if not looked_at and counts.sum() < 2 * len(names):
        raise InvalidInput(f"{int(counts.sum())} people", f"at least {2 * len(names)}: two for each class")
    if not looked_at:
        raise Unidentifiable(
            f"bags of practically the same proportions, all that {budget} allows", "bags that differ", "Raise epsilon."
        )
    looked_at.sort(key=lambda design: design.option.error)
    best = looked_at[0]
    public = which if best.option.membership == "public" else None
    return BagAdvice(names, best.option, tuple(each.option for each in looked_at), best.people, error, public)


def _counted(y: Any, classes: Sequence[Any] | None) -> tuple[tuple[Label, ...], Floats, NDArray[np.int64] | None]:
    if isinstance(y, Mapping):
        names = as_labels(list(y) if classes is None else classes, "classes")
        if set(names) != set(y):
            raise InvalidInput(f"numbers of people of {list(y)}", f"one for each of the classes {list(names)}")
        try:
            counts, codes = np.array([y[name] for name in names], dtype=float), None
        except (TypeError, ValueError):
            raise InvalidInput("numbers of people that are not numbers", "one for each class") from None
    else:
        names = as_labels(_distinct(y, "labels")[0].tolist() if classes is None else classes, "classes")
        codes = Alphabet(names, "label").encode(y).astype(np.int64)
        counts = np.bincount(codes, minlength=len(names)).astype(float)
    if not np.isfinite(counts).all() or counts.min() < 1:
        raise InvalidInput("a class of nobody", "at least one person of every class")
    return names, counts, codes


def _apart(X: Any, codes: NDArray[np.int64] | None, classes: int, separation: float | None) -> Floats:
    if X is not None:
        if codes is None:
            raise InvalidInput("features without labels", "labels y, not how many there are of each class")
        return measured_apart(X, codes, classes)
    distance = TYPICAL_SEPARATION if separation is None else separation
    if not (_is_number(distance) and 0 < distance < math.inf):
        raise InvalidInput(f"separation={separation!r}", "a positive number of standard deviations")
    return equally_apart(classes, distance)


def _public_people(public_bags: Any, codes: NDArray[np.int64] | None, classes: int) -> tuple[Floats, NDArray[np.int64]]:
    if codes is None:
        raise InvalidInput("public bags without labels", "labels y, not how many there are of each class")
    names, which = _distinct(public_bags, "public bags")
    if which.shape != codes.shape:
        raise InvalidInput(f"{len(which)} bags for {len(codes)} labels", "the name of its bag for each row")
    people = np.zeros((len(names), classes))
    np.add.at(people, (which, codes), 1.0)
    return people, which


def _finite(option: BagOption) -> dict[str, Any]:
    return {name: None if value == math.inf else value for name, value in asdict(option).items()}


def _distinct(values: Any, what: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    try:
        names, which = np.unique(np.asarray(values), return_inverse=True)
    except TypeError:
        raise InvalidInput(f"{what} that are missing, or of several kinds", "a number or a text in every row") from None
    if (names != names).any():  # NaN, or a time that is none
        raise InvalidInput(f"{what} that are missing", "a number or a text in every row")
    return names, which


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
