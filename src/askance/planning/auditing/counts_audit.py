"""Auditing releases of counts: is the noise what the guarantee needs, whatever the counts are?"""

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.guarantee import Guarantee
from askance.errors import InvalidInput
from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.count_mechanisms import calibrated, from_parameters, to_parameters
from askance.mechanisms.counts.scaled_dirichlet import NAME as PAPER
from askance.planning.auditing.audit_questions import Finding, check_asked
from askance.planning.auditing.count_vectors import PriorShare, ShellVector, UrnVector
from askance.planning.auditing.noise_vectors import (
    BalancedVector,
    CentredVector,
    VectorLaw,
    laplace_weights,
    normal_weights,
)
from askance.planning.auditing.release_audit import ReleaseAudit
from askance.planning.auditing.release_trials import DataSet, ReleaseTrial, findings_of_one
from askance.releases.counts_release import CountsRelease, release_counts
from askance.releases.paid_release import nothing_handed_on

_ADDED = ("discrete-laplace", "truncated-laplace", "discrete-gaussian", "laplace", "gaussian")
_ROUNDING = 1e-6  # people, by which the same noise may differ: counts are doubles


def audit_counts(
    counts: Any,
    epsilon: Any,
    delta: Any = 0,
    mechanism: str = "auto",
    *,
    draws: int | None = None,
    error_rate: float = 1e-3,
    release: Callable[..., CountsRelease] = release_counts,
    made: CountsRelease | None = None,
) -> ReleaseAudit:
    """Check releases of the counts of a bag against their promise.

    Parameters
    ----------
    counts : sequence of int, or array of bags x classes
        The true counts, by class. Of several bags the largest is tried.
    epsilon, delta, mechanism
        As for :func:`askance.release_counts`. Nothing is spent, and no release leaves the audit.
    draws : int, optional
        Releases to draw in all; as many as take a few seconds if not given.
    error_rate : float
        The probability with which an honest mechanism may fail.
    release : function
        What is audited; it takes what :func:`askance.release_counts` takes.
    made : CountsRelease, optional
        A release that was made of these counts: is its own noise possible?

    Examples
    --------
    >>> import askance as ask
    >>> ask.audit_counts([30, 50, 20], epsilon=1.0, draws=100, error_rate=1e-9).passed
    True
    """
    check_asked(draws, error_rate)
    table = np.atleast_2d(np.asarray(counts))
    if table.ndim != 2 or table.shape[1] < 2 or table.dtype.kind not in "iu" or table.min() < 0:
        raise InvalidInput(f"counts={counts!r}", "counts by class, of one bag or bags x classes: whole numbers")
    if table.sum(axis=1).min() < 1:
        raise InvalidInput("a bag of nobody", "at least one person in every bag")
    true = [int(count) for count in table[table.sum(axis=1).argmax()]]
    total, classes = sum(true), len(true)

    def released(some: list[int]) -> CountsRelease:
        return release(some, epsilon, delta, mechanism)

    with nothing_handed_on():
        first = released(true)
    chosen, promise = first.mechanism, first.guarantee
    wrong: list[str] = []
    if not math.isfinite(promise.epsilon):
        if chosen != PAPER:
            wrong.append(f"{chosen} was released without any guarantee")
        return ReleaseAudit(f"counts by {chosen}", promise, 0, float(error_rate), (), tuple(wrong))
    if promise.epsilon > float(epsilon) * (1 + 1e-9) or promise.delta > float(delta) * (1 + 1e-9):
        wrong.append(f"{promise} was released where epsilon {float(epsilon):g}, delta {float(delta):g} were asked for")
    needed = to_parameters(calibrated(chosen, total, classes, _exact(promise, Budget.of(epsilon, delta))))
    if dict(first.parameters[0]) != needed:
        wrong.append(f"the parameters {dict(first.parameters[0])} are not those that the promise needs, {needed}")
    law = _Law(chosen, total, classes, needed)
    sets = {}
    for name, some in _count_sets(true):
        sets[name] = DataSet(lambda some=some: law.vector(released(some), some), law.of(some))  # type: ignore[misc]
    known = all(one.law is not None for one in sets.values())
    note = "" if known else "Only replays are checked: the law of this noise is too wide, or has too many classes."
    own = () if made is None else _judged(made, table)
    questions, each = ReleaseTrial(sets, chosen in _ADDED, _ROUNDING, note, own).questions(draws, float(error_rate))
    return ReleaseAudit(f"counts by {chosen}", promise, each, float(error_rate), questions, tuple(wrong))


def _exact(promise: Guarantee, asked: Budget) -> Budget:
    """Return the level of a promise, which is in doubles: as it was asked for, such as a third, if it is that."""
    same = promise.epsilon == float(asked.epsilon), promise.delta == float(asked.delta)
    return Budget.of(asked.epsilon if same[0] else promise.epsilon, asked.delta if same[1] else promise.delta)


def _judged(made: CountsRelease, table: Any) -> tuple[Finding, ...]:
    if made.raw.shape != table.shape or list(made.totals) != table.sum(axis=1).tolist():
        raise InvalidInput(
            f"counts of shape {table.shape} for a release of shape {made.raw.shape}", "the counts that it was made of"
        )
    if level_of_a_bag(made) is None:
        return (Finding("the parameters of the release are not those that its promise needs", 0.0),)
    rng, uniforms = np.random.default_rng(), []
    for raw, true, parameters in _every_level(made, table):
        law = _Law(made.mechanism, sum(true), len(true), dict(parameters))
        of_bag = law.of(true)
        if of_bag is not None:
            uniforms += of_bag.uniforms(law.of_raw(raw, true)[None], rng)
    return tuple(findings_of_one(uniforms, "the release"))


def _every_level(made: CountsRelease, table: Any) -> Iterator[tuple[Floats, list[int], Mapping[str, str]]]:
    """Noisy and true counts of all bags, and of all larger groups, with the parameters of their noise."""
    yield from zip(made.raw, table.tolist(), made.parameters, strict=True)
    true = np.asarray(table)
    for level in made.within:
        summed = np.zeros((len(level.groups), true.shape[1]), dtype=true.dtype)
        np.add.at(summed, level.holder, true)
        true = summed
        for raw, counts in zip(level.raw, true.tolist(), strict=True):
            yield raw, counts, made.parameters[0]  # noise that is added is the same for groups of all sizes


def level_of_a_bag(made: CountsRelease) -> Budget | None:
    """Return the level of each bag: that of the release, or its share.

    It is shared with larger groups where there are some, and with other bags where people may be in several.

    None if the parameters of the release are not those that its promise needs.
    """
    promise = made.guarantee
    if not math.isfinite(promise.epsilon):
        return None
    # Each level of larger groups has its part, and each bag where people are in several.
    for parts in dict.fromkeys((1 + len(made.within), len(made.bags))):
        level = Budget.of(Fraction(repr(promise.epsilon)) / parts, Fraction(repr(promise.delta)) / parts)
        each = zip(made.totals, made.parameters, strict=True)
        if all(_needed(made.mechanism, total, len(made.classes), level) == dict(given) for total, given in each):
            return level
    return None


@lru_cache(maxsize=1024)
def _needed_text(mechanism: str, total: int, classes: int, level: Budget) -> tuple[tuple[str, str], ...]:
    return tuple(to_parameters(calibrated(mechanism, total, classes, level)).items())


def _needed(mechanism: str, total: int, classes: int, level: Budget) -> dict[str, str]:
    return dict(_needed_text(mechanism, total, classes, level))


def _count_sets(counts: list[int]) -> list[tuple[str, list[int]]]:
    total, classes = sum(counts), len(counts)
    most, least = int(np.argmax(counts)), int(np.argmin(counts))
    moved = list(counts)
    moved[most] -= 1
    moved[least if least != most else (most + 1) % classes] += 1
    even = [total // classes + (k < total % classes) for k in range(classes)]
    one = [total * (k == 0) for k in range(classes)]
    return [
        ("the counts as they are", counts),
        ("one label changed", moved),
        ("all labels the same", one),
        ("equal counts", even),
    ]


class _Law:
    """What is drawn, and by which law, from the parameters that the promise needs."""

    def __init__(self, name: str, total: int, classes: int, parameters: dict[str, str]) -> None:
        self.name, self.total, self.classes = name, total, classes
        self.numbers = {key: Fraction(text) for key, text in parameters.items()}
        from_parameters(name, parameters, total, classes)  # refuses what no mechanism has

    def vector(self, release: CountsRelease, counts: list[int]) -> Floats:
        """Return what the law is about, of a release of one bag."""
        return self.of_raw(np.asarray(release.raw[0]), counts)

    def of_raw(self, raw: Floats, counts: list[int]) -> Floats:
        """Return what the law is about, of noisy counts."""
        if self.name == "dirichlet":
            prior, draws = float(self.numbers["pseudo_count"]), float(self.numbers["draws"])
            return np.asarray((raw + prior) / (self.total + self.classes * prior) * draws)
        if self.name == "laplace-prior":
            return np.asarray(raw / self.total)
        return np.asarray(raw - np.array(counts, dtype=float))

    def of(self, counts: list[int]) -> VectorLaw | None:
        """Return the law for some counts; None if it is not known here."""
        scale, classes = float(self.numbers.get("scale", 0)), self.classes
        if self.name == "discrete-laplace":
            return _built(BalancedVector, laplace_weights(scale, rounded=False), classes)
        if self.name == "discrete-gaussian":
            return _built(
                BalancedVector, normal_weights(float(self.numbers["variance"]) ** 0.5, rounded=False), classes
            )
        if self.name == "laplace":
            return _built(CentredVector, laplace_weights(scale, rounded=True), classes)
        if self.name == "gaussian":
            return _built(CentredVector, normal_weights(float(self.numbers["deviation"]), rounded=True), classes)
        if self.name == "truncated-laplace":
            return ShellVector(scale, int(self.numbers["radius"]), classes)
        if self.name == "dirichlet":
            start = scale * (np.array(counts, dtype=float) + float(self.numbers["pseudo_count"]))
            return UrnVector(start, int(self.numbers["draws"]))
        weights = laplace_weights(scale, rounded=True)
        if classes != 2 or weights is None:
            return None
        return PriorShare(weights, (counts[0], counts[1]))


def _built(law: type[BalancedVector] | type[CentredVector], weights: Floats | None, classes: int) -> VectorLaw | None:
    return None if weights is None else law(weights, classes)
