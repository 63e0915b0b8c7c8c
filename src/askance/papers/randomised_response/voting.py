"""[RR] section 3: an election in which the voters' answers were flipped at random before they were counted."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.labels.finite import FiniteChannel
from askance.channels.labels.surveys import Warner
from askance.papers.artefacts import panels
from askance.papers.findings import Finding, Result
from askance.papers.finite_family import draw_report_counts
from askance.papers.registry import reproduces
from askance.reports.colours import BLUE, GREY, INK, MIST, ORANGE, VERMILION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARE = 0.42  # of voters for "one", who loses
P10, P01 = 0.3, 0.2  # P(report one | zero), P(report zero | one): enough to make "one" seem to win
LIE = 0.25  # of the symmetric example, equation (2)
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)  # of electorates

_CHANNEL = FiniteChannel([[1 - P10, P01], [P10, 1 - P01]], classes=["zero", "one"])
_REPORTED = (1 - P01) * SHARE + P10 * (1 - SHARE)  # the share of "one" among the reports


def corrected(reported: Floats | float) -> Floats | float:
    """Equation (24) with its sign put right: (f - P10) / (1 - P10 - P01)."""
    return (reported - P10) / (1 - P10 - P01)


def as_printed(reported: Floats | float) -> Floats | float:
    """Equation (24) as it stands in the paper: (f + P10) / (1 - P10 - P01)."""
    return (reported + P10) / (1 - P10 - P01)


@dataclass(frozen=True)
class Elections:
    """Many simulated elections with the same number of voters."""

    voters: int
    reported: Floats  # share of "one" among the reports, one for each election
    estimated: Floats  # share of "one" among the truths, as the channel unbiases reports

    @classmethod
    def simulate(cls, voters: int, replicates: int, rng: np.random.Generator) -> "Elections":
        counts = draw_report_counts(np.array([1 - SHARE, SHARE]), _CHANNEL.matrix, voters, replicates, rng)
        shares = counts / voters
        return cls(voters, shares[:, 1], shares @ _CHANNEL.unbiasing_matrix()[1])

    def error(self, estimates: Floats) -> tuple[float, float]:
        """Return the root mean squared error and its standard error."""
        squares = (estimates - SHARE) ** 2
        rms = float(np.sqrt(squares.mean()))
        return rms, float(squares.std(ddof=1) / np.sqrt(len(squares)) / (2 * rms))


def predicted_error(voters: int | Floats) -> float | Floats:
    """The standard deviation of the corrected estimate."""
    error: float | Floats = np.sqrt(_REPORTED * (1 - _REPORTED) / voters) / (1 - P10 - P01)
    return error


@reproduces(
    "randomised-response/voting",
    title="The fraction of votes for a candidate, from votes that were flipped at random",
    claim="The maximum of the spread likelihood recovers the true fraction as the number of votes grows; the "
    "fraction of noisy votes does not.",
    reference="[RR] sections 1 and 3, equations (1), (2) and (20)-(24)",
)
def voting(rng: np.random.Generator, quick: bool) -> Result:
    replicates = 1_000 if quick else 20_000
    elections = [Elections.simulate(voters, replicates, rng) for voters in SIZES]
    findings = [
        *_formulas(),
        *_limits(elections[-1]),
        *(_consistency(election) for election in elections),
        *_one_election(rng, 200_000 if quick else 1_000_000),
    ]
    columns: dict[str, list[float]] = {
        "voters": [e.voters for e in elections],
        "noisy share, mean": [float(e.reported.mean()) for e in elections],
        "corrected, mean": [float(e.estimated.mean()) for e in elections],
        "corrected, error": [e.error(e.estimated)[0] for e in elections],
        "corrected, predicted error": [float(predicted_error(e.voters)) for e in elections],
        "noisy share, error": [e.error(e.reported)[0] for e in elections],
        "as printed, mean": [float(np.mean(as_printed(e.reported))) for e in elections],
    }
    return Result(
        findings,
        columns,
        _draw(elections),
        note="(2) and (24) are printed with a plus in the numerator; the maximum of (22) has a minus. With the plus "
        "the estimate does not tend to the true fraction, and here it is not even a fraction. Corrected means with "
        "a minus.",
    )


def _formulas() -> list[Finding]:
    """Equation (24) against the maximum of the likelihood (22) that it is said to solve."""
    from scipy.optimize import minimize_scalar

    def below(theta: float) -> float:
        one = P10 * (1 - theta) + (1 - P01) * theta
        return -float(_REPORTED * np.log(one) + (1 - _REPORTED) * np.log(1 - one))

    best = float(minimize_scalar(below, bounds=(0, 1), method="bounded", options={"xatol": 1e-10}).x)
    library = float(np.array([1 - _REPORTED, _REPORTED]) @ _CHANNEL.unbiasing_matrix()[1])
    return [
        Finding.confirmed("(24) corrected, maximum of (22)", float(corrected(_REPORTED)), best, 1e-6),
        Finding.confirmed("(24) corrected, channel's unbiasing", float(corrected(_REPORTED)), library, 1e-12),
        Finding.claimed(
            "(24) as printed, less maximum of (22)",
            "erratum",
            float(as_printed(_REPORTED)) - best,
            at_least=0.1,
        ),
    ]


def _limits(largest: Elections) -> list[Finding]:
    """Where each estimate goes as votes grow, seen in the largest elections."""

    def limit(quantity: str, formula: float, estimates: Floats | float, published: str) -> Finding:
        values = np.asarray(estimates)
        error = float(values.std(ddof=1) / np.sqrt(values.size))
        return Finding.simulated(quantity, formula, float(values.mean()), error, published)

    return [
        limit("limit of (24) corrected", SHARE, largest.estimated, f"the true {SHARE:g}"),
        limit("limit of the noisy share (1)", _REPORTED, largest.reported, "incorrect"),
        limit("limit of (24) as printed", float(as_printed(_REPORTED)), as_printed(largest.reported), "erratum"),
        Finding.claimed(
            "bias of the noisy share, in s.e. at 10^6",
            "significant",
            (_REPORTED - SHARE) / float(largest.reported.std(ddof=1)),
            at_least=10,
        ),
    ]


def _consistency(elections: Elections) -> Finding:
    rms, error = elections.error(elections.estimated)
    return Finding.simulated(
        f"error of (24) corrected, N={elections.voters:,}", float(predicted_error(elections.voters)), rms, error
    )


def _one_election(rng: np.random.Generator, voters: int) -> list[Finding]:
    """Every single vote drawn, flipped by a channel and unbiased by it, as the library does."""
    votes: NDArray[np.int64] = (rng.random(voters) < SHARE).astype(np.int64)
    findings = []
    for name, channel, labels in (
        ("(24)", _CHANNEL, np.array(["zero", "one"])),
        ("(2)", Warner(1 - LIE), np.array(["no", "yes"])),
    ):
        unbiased = channel.unbias(channel.simulate(labels[votes], rng))[:, 1]
        error = float(unbiased.std(ddof=1) / np.sqrt(voters))
        findings.append(Finding.simulated(f"{name} corrected, vote by vote", SHARE, float(unbiased.mean()), error))
    return findings


def _draw(elections: list[Elections]) -> "Figure":
    figure, (left, right) = panels(2, 10.4, 4.3)
    sizes, ratio = np.array(SIZES), "P₁₀) / (1 − P₁₀ − P₀₁)"
    for estimates, colour, marker, label, shift in (
        ([np.asarray(as_printed(e.reported)) for e in elections], VERMILION, "v", f"(24) as printed: (f + {ratio}", 1),
        ([e.reported for e in elections], ORANGE, "s", "noisy share f, as reported", 1.12),
        ([e.estimated for e in elections], BLUE, "o", f"(24) corrected: (f − {ratio}", 1),
    ):
        middle, spread = np.array([(x.mean(), 2 * x.std(ddof=1)) for x in estimates]).T
        style: dict[str, Any] = {"color": colour, "marker": marker, "ms": 6, "mec": "white", "lw": 1.6, "capsize": 3}
        left.errorbar(sizes * shift, middle, spread, label=label, **style)
    left.axhline(SHARE, color=INK, lw=1.1, ls=(0, (4, 3)), zorder=1)
    left.axhline(1, color=GREY, lw=1.1, ls=(0, (1, 2)), zorder=1)
    beside: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "fontsize": 9}
    left.annotate(f"true share {SHARE:g}", (1.15e6, SHARE), (0, -13), **beside)
    left.annotate("no share can be above 1", (1.15e6, 1), (0, 4), color=GREY, **beside)
    left.set_ylim(0.1, 2.35)
    left.set_ylabel("estimated share of votes for “one”\n(mean ± 2 standard deviations)", fontsize=10)
    left.set_title("(a) where the estimates go", fontsize=11)
    left.legend(loc="upper right", fontsize=9, frameon=False)

    line = np.geomspace(70, 1.5e6, 50)
    rms, rms_error = np.array([e.error(e.estimated) for e in elections]).T
    right.plot(line, predicted_error(line), color=BLUE, lw=2, label="corrected: formula")
    right.errorbar(
        sizes, rms, 2 * rms_error, fmt="o", ms=6, mfc="white", mec=INK, ecolor=INK, label="corrected: simulated"
    )
    naive = [e.error(e.reported)[0] for e in elections]
    right.plot(sizes, naive, color=ORANGE, marker="s", ms=6, mec="white", lw=1.6, label="noisy share: simulated")
    right.plot(
        line, np.sqrt(SHARE * (1 - SHARE) / line), color=GREY, lw=1.4, ls=(0, (4, 3)), label="votes without noise"
    )
    right.set_yscale("log")
    right.set_ylabel("root mean squared error", fontsize=10)
    right.set_title("(b) how fast they get there", fontsize=11)
    right.legend(loc="lower left", fontsize=9, frameon=False)
    for axis in (left, right):
        axis.set_xscale("log")
        axis.set_xlabel("number of votes N", fontsize=10)
        axis.grid(color=MIST, lw=0.8)
    return figure
