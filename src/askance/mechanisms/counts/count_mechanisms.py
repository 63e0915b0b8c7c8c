"""Ways to release the counts of a bag, and which of them distorts least.

A mechanism is calibrated for one bag: how it draws, how far off it is, and why it is private. All that a sound one
knows besides the counts it is given to draw for is public: the total, the number of classes, and the level. So the
choice among them costs no privacy.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from askance.errors import InvalidInput
from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.balanced_counts import BalancedGaussian, BalancedLaplace, TruncatedLaplace
from askance.mechanisms.counts.count_noise import CountNoise
from askance.mechanisms.counts.dirichlet_counts import SoundDirichlet
from askance.mechanisms.counts.dirichlet_draws import LaplacePrior, PaperDirichlet
from askance.mechanisms.counts.independent_counts import IndependentGaussian, IndependentLaplace

Noise = BalancedLaplace | TruncatedLaplace | BalancedGaussian | IndependentLaplace | IndependentGaussian
CountMechanism = Noise | LaplacePrior | SoundDirichlet | PaperDirichlet

_NOISES: dict[str, type[Noise]] = {
    law.name: law
    for law in (BalancedLaplace, TruncatedLaplace, BalancedGaussian, IndependentLaplace, IndependentGaussian)
}
_DIRICHLETS: dict[str, type[LaplacePrior] | type[SoundDirichlet]] = {
    law.name: law for law in (LaplacePrior, SoundDirichlet)
}
SOUND = (*_NOISES, *_DIRICHLETS)
_SPEND_DELTA = {law.name for law in (TruncatedLaplace, BalancedGaussian, IndependentGaussian, SoundDirichlet)}
_NO_CUT = 200  # at delta = epsilon / 200 a cut leaves 95.6% or more of the distortion (2 to 10 classes): see _WORTH
_LEAST_PARAMETER = Fraction(1, 10**30)  # beyond what any level can ask for, and within doubles
_REMEMBERED = 64  # calibrated laws of noise
_WORTH = 0.95  # delta is spent only for less than so much of the distortion without it


def choose_count_mechanisms(
    name: str, totals: Sequence[int], classes: int, budget: Budget
) -> tuple[list[CountMechanism], dict[str, float]]:
    """Calibrate a sound mechanism for bags of some sizes, or with "auto" the one of least distortion.

    Returns
    -------
    list
        A mechanism for each bag.
    dict
        The expected distortion of each that was looked at, see :func:`expected_distortion`. The choice is made
        before counts are kept within what is possible: the least noise is the best, however large it is.
    """
    laws: dict[str, list[CountMechanism]] = {}
    for kind in [name] if name != "auto" else _automatic(budget):
        try:
            laws[kind] = _of_all_sizes(kind, totals, classes, budget)
        except InvalidInput:  # a level that this mechanism cannot give
            if name != "auto":
                raise
    distortions = {kind: mean_distortion(each, totals) for kind, each in laws.items()}
    return laws[_best(distortions)], {kind: expected_distortion(each, totals) for kind, each in laws.items()}


def _of_all_sizes(name: str, totals: Sequence[int], classes: int, budget: Budget) -> list[CountMechanism]:
    if name in _NOISES:  # it does not depend on how many people there are: one law for bags of all sizes
        return [calibrated(name, totals[0], classes, budget)] * len(totals)
    by_size = {total: calibrated(name, total, classes, budget) for total in set(totals)}
    return [by_size[total] for total in totals]


def mean_distortion(mechanisms: Sequence[CountMechanism], totals: Sequence[int]) -> float:
    """Return the expected sum of absolute errors of the proportions, mean of all bags, before they are possible ones.

    Where noise is larger than the bag, this is more than any error can be: see :func:`expected_distortion`.
    """
    sizes = np.array(totals, dtype=float)
    if isinstance(mechanisms[0], CountNoise):  # one law for bags of all sizes
        return float(mechanisms[0].distortion * (1 / sizes).mean())
    return float(np.mean([law.distortion / size for law, size in zip(mechanisms, sizes, strict=True)]))


def expected_distortion(mechanisms: Sequence[CountMechanism], totals: Sequence[int]) -> float:
    """Return the expected sum of absolute errors of the proportions, mean of all bags, as they are released.

    Proportions are kept between 0 and 1. Noise without end makes one class of them all there is, and each class with
    the same probability: the sum of errors is then 2 (1 - 1/K), whatever the truth is, which is the most there can be
    on average. Each of the K counts has its part of that.

    Examples
    --------
    >>> from askance.mechanisms.budget import Budget
    >>> law = best_noise(3, Budget.of("0.01"))
    >>> round(expected_distortion([law], [20]), 2), round(mean_distortion([law], [20]), 1)
    (1.29, 20.0)
    """
    sizes, classes = np.array(totals, dtype=float), mechanisms[0].classes
    most = 2 * (1 - 1 / classes)
    if isinstance(mechanisms[0], CountNoise):
        shares = mechanisms[0].error.capped_mean_size(sizes * most / classes) / sizes
        return float(classes * shares.mean())
    return float(np.mean([min(law.distortion / size, most) for law, size in zip(mechanisms, sizes, strict=True)]))


def best_noise(classes: int, budget: Budget) -> Noise:
    """Return the noise of least distortion; it does not depend on how many people there are.

    Examples
    --------
    >>> best_noise(5, Budget.of("0.05", "0.05")).name
    'discrete-gaussian'
    """
    laws: dict[str, Noise] = {}
    for name in _NOISES.keys() & _automatic(budget):
        with suppress(InvalidInput):
            laws[name] = _calibrated_noise(name, classes, cost(name, budget))
    return laws[_best({name: law.distortion for name, law in laws.items()})]


def _automatic(budget: Budget) -> list[str]:
    """The mechanisms that "auto" looks at.

    Dirichlet laws are not among them: they take long to calibrate and are never the best. With a large pseudo-count
    the sound one becomes Gaussian noise, with a small scale Laplace noise, both from above; "laplace-prior" adds a draw
    to independent Laplace noise.
    """
    left_out = set() if budget.delta else set(_SPEND_DELTA)
    if budget.delta * _NO_CUT < budget.epsilon:  # what could be cut off is then too little to matter
        left_out.add(TruncatedLaplace.name)
    return [name for name in _NOISES if name not in left_out]


def _best(distortions: dict[str, float]) -> str:
    """The mechanism of least distortion; one that spends delta only where that is worth it."""
    best = min(distortions, key=lambda name: distortions[name])
    thrifty = min(distortions.keys() - _SPEND_DELTA, key=lambda name: distortions[name], default=best)
    return best if distortions[best] < _WORTH * distortions[thrifty] else thrifty


def cost(mechanism: str, budget: Budget) -> Budget:
    """Return what a mechanism spends: only some need delta."""
    return budget if mechanism in _SPEND_DELTA else Budget(budget.epsilon)


def calibrated(name: str, total: int, classes: int, budget: Budget) -> CountMechanism:
    """Return a sound mechanism for a bag of some size."""
    spent = cost(name, budget)
    if name in _DIRICHLETS:
        return _DIRICHLETS[name].calibrated(total, classes, spent)
    return _calibrated_noise(name, classes, spent)


@lru_cache(maxsize=_REMEMBERED)
def _calibrated_noise(name: str, classes: int, spent: Budget) -> Noise:
    """Noise follows from public numbers alone, and a frozen law may be used again: its error is then known already."""
    return _NOISES[name].calibrated(classes, spent)


def to_parameters(mechanism: CountMechanism) -> dict[str, str]:
    """Return the numbers of a mechanism as exact text."""
    names = [field.name for field in fields(mechanism) if field.name not in ("total", "classes")]
    return {name: str(getattr(mechanism, name)) for name in names}


def _positive(text: str) -> Fraction:
    """Read a number that a mechanism can have; files come from strangers, and so may numbers that nothing can hold."""
    # No exponents: ten letters can be a number of a gigabyte.
    if len(text) > 1000 or not set(text) <= set("0123456789/"):
        raise ValueError(f"the parameter {text[:40]!r}")
    number = Fraction(text)
    if not _LEAST_PARAMETER <= number <= 1 / _LEAST_PARAMETER:
        raise ValueError(f"the parameter {text[:40]!r}")
    return number


def from_parameters(name: str, parameters: Mapping[str, str], total: int, classes: int) -> CountMechanism:
    """Read what :func:`to_parameters` wrote."""
    numbers: dict[str, Any] = {key: _positive(text) for key, text in parameters.items()}
    for whole in {"radius", "draws"} & set(numbers):
        numbers[whole] = int(numbers[whole])
    if name not in _NOISES:
        numbers["total"] = total
    kinds: dict[str, Any] = {**_NOISES, **_DIRICHLETS, PaperDirichlet.name: PaperDirichlet}
    mechanism: CountMechanism = kinds[name](**numbers, classes=classes)
    return mechanism
