"""[LM] Proposition 1: whatever is reported about y can be reported about phi(y) alone, at no higher level."""

from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from askance.arrays import Floats
from askance.channels.labels.finite import FiniteChannel, FiniteLaw
from askance.channels.labels.least_channel import coarsest
from askance.channels.labels.randomized_response import RandomizedResponse
from askance.papers.artefacts import panels
from askance.papers.findings import Finding, Result, as_columns
from askance.papers.registry import reproduces
from askance.planning.theory.efficiency import asymptotic_variance, family_law
from askance.reports.colours import BLUE, INK, MIST, VERMILION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of five bits the model sees the first two: 32 truths, four vectors of features.
TRUTHS = np.array(list(product([0, 1], repeat=5)), dtype=float)
SEEN = TRUTHS[:, :2]
THETA = np.array([0.8, -0.5])
LEVELS = (0.5, 1.0, 2.0, 4.0)
ROUNDING = 1e-15  # some units in the last place of probabilities, which are below one


def _law(theta: Iterable[float]) -> Floats:
    return family_law(SEEN.T, np.array(list(theta)))


def _grouped(law: Floats, features: Floats) -> Floats:
    """The law of the features: truths with the same ones together, in the order of :func:`coarsest`."""
    _, first, group = np.unique(features, axis=0, return_index=True, return_inverse=True)
    return np.asarray(np.bincount(np.argsort(np.argsort(first))[group.ravel()], law), dtype=float)


def any_channel(epsilon: float, rng: np.random.Generator) -> FiniteChannel:
    """A channel of that level in which no two truths have the same law."""
    pull, size = rng.random((6, len(TRUTHS))), epsilon
    for _ in range(60):  # columns that sum to one have other ratios: until the level is right
        table = np.exp(size * pull)
        table /= table.sum(axis=0)
        size *= epsilon / float(np.log(table.max(axis=1) / table.min(axis=1)).max())
    return FiniteChannel(table, [f"truth {k}" for k in range(len(TRUTHS))], [f"report {o}" for o in range(6)])


def variance(channel: FiniteLaw, features: Floats) -> float:
    """tr Sigma_marg of theta for one person's report."""
    return float(np.trace(asymptotic_variance(features.T, THETA, channel.matrix, "marginal")))


@reproduces(
    "linear-moments/proposition-1",
    title="A response on the features in place of one on the whole truth: the same reports, and more privacy",
    claim="For any alpha-private mechanism on y there is one on phi(x, y) that is at least alpha-private and whose "
    "reports have the same law: supervision should depend on the sufficient statistics only.",
    reference="[LM] section 3.2, proposition 1, equation (8), appendix A.1",
)
def proposition_1(rng: np.random.Generator, quick: bool) -> Result:
    rows: list[tuple[float, ...]] = []
    findings = []
    thetas = rng.normal(size=(20, 2)) * 2
    for level in LEVELS:
        channel = any_channel(level, rng)
        least = coarsest(channel, SEEN)
        apart = max(
            float(np.abs(channel.matrix @ _law(theta) - least.matrix @ _grouped(_law(theta), SEEN)).max())
            for theta in thetas
        )
        findings += [
            Finding.computed(f"alpha={level:g}: largest difference of the laws of reports", 0.0, apart, ROUNDING),
            Finding.claimed(
                f"alpha={level:g}: level on the features", f"at most {level:g}", least.guarantee.epsilon, at_most=level
            ),
        ]
        whole = RandomizedResponse(tuple(range(len(TRUTHS))), epsilon=level)
        groups = np.unique(SEEN, axis=0)
        on_features = RandomizedResponse(tuple(range(len(groups))), epsilon=level)
        rows.append(
            (level, least.guarantee.epsilon, variance(whole, SEEN), variance(on_features, groups),
             variance(channel, SEEN), variance(least, groups))
        )  # fmt: skip
    findings += _variances(rows)
    names = (
        "alpha", "level on the features", "tr Sigma, response on y", "tr Sigma, response on phi",
        "tr Sigma, some channel on y", "tr Sigma, its channel on phi",
    )  # fmt: skip
    return Result(
        findings,
        as_columns(names, rows),
        _draw(rows),
        note="32 truths (five bits), of which the model sees two; theta = (.8, -.5), the laws of reports compared "
        "at 20 others. The channels on y are drawn at random, of the exact level alpha. A response that is made for "
        "the features from the start, at the same level, is what the proposition leads to: its variance is a fraction "
        "of that of response on y.",
    )


def _variances(rows: list[tuple[float, ...]]) -> list[Finding]:
    findings = []
    for level, given, on_y, on_phi, some, its in rows:
        findings += [
            Finding.confirmed(f"alpha={level:g}: tr Sigma of that channel on phi / on y", 1.0, its / some, 1e-9, "1"),
            Finding.claimed(f"alpha={level:g}: tr Sigma, response on phi / on y", "", on_phi / on_y, at_most=1.0),
            Finding.claimed(f"alpha={level:g}: share of the level that was needed", "", given / level, at_most=0.999),
        ]
    return findings


def _draw(rows: list[tuple[float, ...]]) -> "Figure":
    figure, (left, right) = panels(2, 10.0, 4.2)
    levels = [row[0] for row in rows]
    left.plot(levels, levels, color=INK, lw=1.2, ls=(0, (4, 3)), label="on y: alpha")
    left.plot(levels, [row[1] for row in rows], "o-", color=BLUE, lw=2, label="on phi, same reports")
    left.set(xlabel="level of the channel on y", ylabel="level of the channel on the features")
    left.set_title("(a) what the same reports cost", fontsize=11)
    right.plot(levels, [row[2] for row in rows], "D-", color=VERMILION, lw=2, label="response on y")
    right.plot(levels, [row[3] for row in rows], "o-", color=BLUE, lw=2, label="response on the features")
    right.set(xlabel="level of both", ylabel="tr Σ of θ, one report", yscale="log")
    right.set_title("(b) what the same level gives", fontsize=11)
    for axis in (left, right):
        axis.grid(color=MIST, lw=0.8)
        axis.legend(frameon=False, fontsize=9)
    return figure
