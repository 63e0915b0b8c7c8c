"""[RR] equation (3): what several answers of one person give away."""

import math
from typing import TYPE_CHECKING

import numpy as np

from askance.arrays import Floats
from askance.channels.labels.randomized_response import RandomizedResponse
from askance.channels.labels.repeated import Repeated
from askance.channels.labels.surveys import Warner
from askance.papers.artefacts import panels
from askance.papers.findings import Finding, Result, as_columns
from askance.papers.registry import reproduces
from askance.reports.colours import BLUE, GREY, INK, MIST, VERMILION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEPT = 0.7  # probability of a true answer: log-odds .85, the level of one answer
SHARE = 0.3  # of "yes" among the truths
TIMES = (1, 3, 5, 9, 15, 25, 41)  # odd: no ties; up to where hardly anybody is taken wrongly
SHOWN = (3, 9, 15)  # simulated with the library's own channel
CLASSES = ("no", "yes")


def posterior_of_yes(yes: Floats, times: int) -> Floats:
    """Equation (3) for two candidates: P(truth is yes | so many answers of "yes" among M)."""
    odds = math.log(KEPT / (1 - KEPT))
    logit = math.log(SHARE / (1 - SHARE)) + odds * (2 * np.asarray(yes, dtype=float) - times)
    return np.asarray(0.5 * (1 + np.tanh(logit / 2)), dtype=float)


def wrong(times: int) -> float:
    """How often the likelier truth is not the truth, exactly: a sum over the binomial numbers of "yes"."""
    from scipy.stats import binom

    yes = np.arange(times + 1)
    joint = np.array([(1 - SHARE) * binom.pmf(yes, times, 1 - KEPT), SHARE * binom.pmf(yes, times, KEPT)])
    return float(joint.min(axis=0).sum())


def rate() -> float:
    """The exponent of :func:`wrong`: minus log of the Chernoff coefficient of the two laws of an answer."""
    return -math.log(2 * math.sqrt(KEPT * (1 - KEPT)))


@reproduces(
    "randomised-response/equation-3",
    title="The posterior of one person's truth, by how often that person was asked",
    claim="The posterior given M answers concentrates exponentially quickly (in M) around the true value; who asks "
    "each voter three times has a very good idea of the vote.",
    reference="[RR] section 1, equation (3)",
)
def equation_3(rng: np.random.Generator, quick: bool) -> Result:
    people = 20_000 if quick else 400_000
    findings, seen = [], {}
    for times in SHOWN:
        channel = Repeated(Warner(KEPT), times)
        truth = rng.random(people) < SHARE
        reports = channel.simulate(np.where(truth, "yes", "no"), rng)
        by_channel = channel.likelihood(reports) * [1 - SHARE, SHARE]
        posterior = by_channel[:, 1] / by_channel.sum(axis=1)
        missed = float(np.mean((posterior > 0.5) != truth))
        seen[times] = missed
        error = math.sqrt(wrong(times) * (1 - wrong(times)) / people)
        findings += [
            Finding.simulated(f"M={times}: the likelier truth is wrong for", wrong(times), missed, error),
            Finding.confirmed(
                f"M={times}: level of all answers, in levels of one",
                times,
                channel.guarantee.epsilon / channel.device.guarantee.epsilon,
                1e-9,
            ),
            Finding.confirmed(
                f"M={times}: (3) by the channel's likelihood", 0.0, _apart(channel, posterior, reports), 1e-12
            ),
        ]
    many = (200, 400)
    slope = math.log(wrong(many[0]) / wrong(many[1])) / (many[1] - many[0])
    findings += [
        # sqrt(M) in front of the exponential is still felt at a few hundred.
        Finding.claimed("fall of log P(wrong) a question, of the exponent", "exponentially", slope / rate(), 0.95, 1.1),
        Finding.claimed("asked three times: the likelier truth is wrong for", "", wrong(3), at_least=0.1),
        _one_report(),
    ]  # fmt: skip
    table = [(m, m * math.log(KEPT / (1 - KEPT)), wrong(m), seen.get(m, "")) for m in TIMES]
    return Result(
        findings,
        as_columns(("M", "epsilon", "wrong, exactly", "wrong, simulated"), table),
        _draw(seen),
        note=f"Answers are true with probability {KEPT:g}; {SHARE:.0%} of the truths are yes; {people:,} people. "
        f"Guessing no for everybody is wrong for {SHARE:.0%}. Exponential it is, but slowly: three answers of this "
        "kind leave one in five wrong. What grows at once is the level, by as much with every answer.",
    )


def _apart(channel: Repeated, posterior: Floats, reports: object) -> float:
    """The largest difference between (3) as it is printed and what the channel's own likelihood says."""
    yes = np.array([str(one).split(" | ").count("yes") for one in np.asarray(reports).tolist()], dtype=float)
    return float(np.abs(posterior - posterior_of_yes(yes, channel.times)).max())


def _one_report() -> Finding:
    """One answer at M times the level is better than M answers: there is no reason to ask again."""
    times = 3
    level = times * math.log(KEPT / (1 - KEPT))
    once = RandomizedResponse(CLASSES, epsilon=level).matrix * [1 - SHARE, SHARE]
    name = f"one answer at the level of {times}: wrong for, less that of {times}"
    return Finding.claimed(name, "", float(once.min(axis=1).sum()) - wrong(times), at_most=0.0)


def _draw(seen: dict[int, float]) -> "Figure":
    figure, (left, right) = panels(2, 10.0, 4.2)
    for times, colour in zip(SHOWN, (BLUE, VERMILION, INK), strict=True):
        yes = np.arange(times + 1.0)
        left.plot(yes / times, posterior_of_yes(yes, times), "o-", ms=3.5, color=colour, lw=1.6, label=f"M = {times}")
    left.set(xlabel="share of “yes” among the answers", ylabel="P(truth is yes | answers)")
    left.set_title("(a) equation (3)", fontsize=11)
    right.plot(TIMES, [wrong(m) for m in TIMES], "-", color=BLUE, lw=2, label="exactly")
    right.plot(list(seen), list(seen.values()), "o", mfc="white", mec=INK, ms=6, label="simulated")
    right.plot(TIMES, [SHARE * math.exp(-rate() * m) for m in TIMES], color=GREY, lw=1.2, ls=(0, (4, 3)),
               label="the exponent alone")  # fmt: skip
    right.set(xlabel="answers of one person, M", ylabel="the likelier truth is wrong for", yscale="log")
    right.set_title("(b) exponentially, with the level growing alike", fontsize=11)
    for axis in (left, right):
        axis.grid(color=MIST, lw=0.8)
        axis.legend(frameon=False, fontsize=9)
    return figure
