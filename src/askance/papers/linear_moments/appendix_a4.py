"""[LM] appendix A.4: what coordinate release and per-value response cost, by dimension and sparsity."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from askance.arrays import Floats
from askance.channels.rows.bit_channel import Calibration
from askance.channels.rows.coordinate_release import CoordinateRelease
from askance.channels.rows.per_value_flip import PerValueFlip
from askance.papers.artefacts import panels
from askance.papers.findings import Columns, Finding, Result, as_columns
from askance.papers.registry import reproduces
from askance.planning.theory.structured_response import coordinate_release_loss, per_value_loss, response_loss
from askance.reports.colours import BLUE, GREY, INK, MIST, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALPHA = 1.0  # of the simulations
SMALL_ALPHA = 0.1  # where the approximations for small alpha hold to a thousandth
FEW = 2  # ones a row, whatever its length
CALIBRATIONS: tuple[Calibration, Calibration] = ("paper", "tight")
# Values a row: the published calibration at three lengths, ours at one.
SIMULATED_AT: dict[Calibration, tuple[int, ...]] = {"paper": (4, 16, 64), "tight": (16,)}
LONGEST = 1_000  # values a row in the plots
COORDINATE, PER_VALUE = "coordinate release", "per-value"


def flip_variance(log_odds: float | Floats) -> Floats:
    """Return q (1 - q) / (2 q - 1)^2 = 1 / (4 sinh^2(e / 2)) for q of log-odds e."""
    return np.asarray(1 / (4 * np.sinh(np.asarray(log_odds) / 2) ** 2), dtype=float)


def coordinate_trace(d: float | Floats, ones: float | Floats, alpha: float, calibration: Calibration) -> Floats:
    """Return tr H of coordinate release for rows of d bits, ``ones`` of them 1: from (26)."""
    log_odds = alpha / 2 if calibration == "paper" else alpha
    return np.asarray(d**2 * flip_variance(log_odds) + ones * (d - 1))


def per_value_trace(d: float | Floats, ones: float | Floats, alpha: float, calibration: Calibration) -> Floats:
    """Return tr H of per-value response for rows of d bits, at most ``ones`` of them 1: from (28)."""
    apart = 2 * ones if calibration == "paper" else np.minimum(2 * ones, d)
    return np.asarray(d * flip_variance(alpha / np.asarray(apart)))


def coordinate_approximation(d: float | Floats, ones: float | Floats, alpha: float) -> Floats:
    """Return (29)."""
    return np.asarray(4 * d**2 / alpha**2 + ones * (d - 1))


def per_value_approximation(d: float | Floats, ones: float | Floats, alpha: float) -> Floats:
    """Return (30)."""
    return np.asarray(4 * d * ones**2 / alpha**2)


TRACES = {COORDINATE: coordinate_trace, PER_VALUE: per_value_trace}
APPROXIMATIONS = {COORDINATE: coordinate_approximation, PER_VALUE: per_value_approximation}
COLOURS = {COORDINATE: BLUE, PER_VALUE: VERMILION}


def channel_of(scheme: str, d: int, ones: int, calibration: Calibration) -> CoordinateRelease | PerValueFlip:
    """Return the channel whose loss is compared, at the plotted alpha."""
    if scheme == COORDINATE:
        return CoordinateRelease(d, ALPHA, calibration=calibration)
    return PerValueFlip(d, ALPHA, max_ones=ones, calibration=calibration)


def border(d: float, alpha: float, calibration: Calibration) -> float:
    """Return how many ones a row may have before coordinate release is the better scheme."""
    from scipy.optimize import brentq

    def excess(ones: float) -> float:
        per_value, coordinate = (trace(d, ones, alpha, calibration) for trace in (per_value_trace, coordinate_trace))
        return float(np.log(per_value / coordinate))

    return float(brentq(excess, 1e-3, d))


@dataclass(frozen=True)
class SimulatedTrace:
    """The mean squared distance between unbiased reports and the truth, over people."""

    scheme: str
    calibration: Calibration
    d: int
    ones: int
    trace: float
    standard_error: float

    @property
    def formula(self) -> float:
        """What the theorem says."""
        return float(TRACES[self.scheme](self.d, self.ones, ALPHA, self.calibration))


def simulate_trace(
    scheme: str, calibration: Calibration, d: int, ones: int, people: int, rng: np.random.Generator
) -> SimulatedTrace:
    """Hide random rows with so many ones by the channel itself, and measure how far reports are off."""
    channel = channel_of(scheme, d, ones, calibration)
    truth = (rng.permuted(np.tile(np.arange(d), (people, 1)), axis=1) < ones).astype(float)
    off = np.sum((channel.unbias(channel.simulate(truth, rng)) - truth) ** 2, axis=1)
    error = float(off.std(ddof=1)) / np.sqrt(people)
    return SimulatedTrace(scheme, calibration, d, ones, float(off.mean()), float(error))


@reproduces(
    "linear-moments/appendix-a4",
    title="Coordinate release against per-value response, by dimension and sparsity",
    claim="tr H_cr is about 4 d^2 / alpha^2 + delta (d - 1), tr H_pv about 4 d delta^2 / alpha^2 for small alpha: with "
    "constant delta they grow as d^2 and d, with delta of order d as d^2 and d^3. Per-value response is better for "
    "sparse features, coordinate release for dense ones.",
    reference="[LM] appendix A.3 and A.4, theorems 1 and 2, equations (26)-(30)",
)
def appendix_a4(rng: np.random.Generator, quick: bool) -> Result:
    people = 4_000 if quick else 100_000
    points = [
        simulate_trace(scheme, calibration, d, ones, people, rng)
        for calibration, dimensions in SIMULATED_AT.items()
        for d in dimensions
        for ones in (FEW, d)
        for scheme in TRACES
    ]
    findings = [
        Finding.simulated(
            f"tr H, {p.scheme}, {p.calibration}, d={p.d}, delta={p.ones}", p.formula, p.trace, p.standard_error
        )
        for p in points
    ]
    findings += [*_theorems(rng), *_approximations(), *_growth(), *_borders(), *_levels()]
    return Result(
        findings,
        _table(points),
        _draw(points),
        note=f"Rows have exactly delta ones; alpha = {ALPHA:g} unless said; {people:,} people a simulated point. The "
        "paper's calibration of coordinate release is twice as private as it says, so the two schemes are compared at "
        "different levels. At one and the same exact level (tight) coordinate release wins from delta = sqrt(d) / 2 "
        "on, not from sqrt(d).",
    )


def _theorems(rng: np.random.Generator) -> list[Finding]:
    """Theorems 1 and 2 against the noise that the channels themselves declare."""
    d, ones = 9, 3
    rows = (rng.permuted(np.tile(np.arange(d), (20, 1)), axis=1) < ones).astype(float)
    law = rng.dirichlet(np.ones(20))
    q = {e: float(1 / (1 + np.exp(-e))) for e in (ALPHA / 2, ALPHA / (2 * ones))}
    closed = {
        COORDINATE: coordinate_release_loss(rows.T, law, q[ALPHA / 2]),
        PER_VALUE: per_value_loss(d, q[ALPHA / (2 * ones)]),
    }
    findings = []
    for number, (scheme, expected) in enumerate(closed.items(), start=1):
        loss = response_loss(channel_of(scheme, d, ones, "paper"), rows, law)
        off = float(np.abs(loss - expected).max() / np.abs(expected).max())
        findings.append(Finding.computed(f"theorem {number} against the channel, largest difference", 0.0, off, 1e-10))
    return findings


def _approximations() -> list[Finding]:
    """(29) and (30) are limits for small alpha; at alpha = 1 they are already close."""
    findings = []
    for (scheme, approximation), equation in zip(APPROXIMATIONS.items(), ("(29)", "(30)"), strict=True):
        for alpha, tolerance in ((SMALL_ALPHA, 0.001), (ALPHA, 0.03)):
            exact = TRACES[scheme](100, 10, alpha, "paper")
            ratio = float(exact / approximation(100, 10, alpha))
            findings.append(
                Finding.computed(
                    f"{equation}: exact / approximate, d=100, delta=10, alpha={alpha:g}", 1, ratio, tolerance
                )
            )
    return findings


def _growth() -> list[Finding]:
    """The power of d with which the traces grow, between d = 500 and d = 1000."""
    published = {(COORDINATE, "constant"): 2, (PER_VALUE, "constant"): 1, (COORDINATE, "d"): 2, (PER_VALUE, "d"): 3}
    findings = []
    for (scheme, ones), power in published.items():
        ends = [TRACES[scheme](d, FEW if ones == "constant" else d, ALPHA, "paper") for d in (LONGEST // 2, LONGEST)]
        slope = float(np.log2(ends[1] / ends[0]))
        findings.append(Finding.computed(f"growth of tr H, {scheme}, delta {ones}: power of d", power, slope, 0.01))
    return findings


def _borders() -> list[Finding]:
    """Who wins, and where that changes."""
    d = 100
    gain = partial(np.log10, dtype=float)
    sparse = gain(coordinate_trace(d, FEW, ALPHA, "paper") / per_value_trace(d, FEW, ALPHA, "paper"))
    dense = gain(per_value_trace(d, d, ALPHA, "paper") / coordinate_trace(d, d, ALPHA, "paper"))
    return [
        Finding.claimed(f"delta={FEW}: log10 of coordinate / per-value, d=100", "per-value less", float(sparse), 0.5),
        Finding.claimed("delta=d: log10 of per-value / coordinate, d=100", "coordinate less", float(dense), 0.5),
        # (29) and (30) are equal where delta^2 = d, up to a term that alpha makes small.
        Finding.computed("delta where both are equal, paper, d=100", 10, border(d, SMALL_ALPHA, "paper"), 0.05),
        Finding.confirmed("delta where both are equal, tight, d=100", 5, border(d, SMALL_ALPHA, "tight"), 0.05),
    ]


def _levels() -> list[Finding]:
    """What is promised, and what is given: exactly, from the integers that are drawn from."""
    findings = []
    for scheme, ones, share in ((COORDINATE, 16, 0.5), (PER_VALUE, FEW, 1.0), (PER_VALUE, 12, 16 / 24)):
        for calibration, expected in zip(CALIBRATIONS, (share * ALPHA, ALPHA), strict=True):
            level = channel_of(scheme, 16, ones, calibration).guarantee.epsilon
            said = f"{ALPHA:g}" if calibration == "paper" else ""
            name = f"exact level, {scheme}, {calibration}, d=16, delta={ones}"
            findings.append(Finding.confirmed(name, expected, level, 1e-12, said))
    for alpha in (SMALL_ALPHA, 4.0):
        waste = flip_variance(alpha / 2) / flip_variance(alpha)
        name = f"flip variance of coordinate release, paper / tight, alpha={alpha:g}"
        findings.append(Finding.claimed(name, "1 if the level were alpha", float(waste), 3.9, 10, contradicted=True))
    return findings


def _draw(points: list[SimulatedTrace]) -> "Figure":
    from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm

    figure, (curves, *maps) = panels(3, 14.4, 4.6)
    _draw_curves(curves, points)
    shades = LinearSegmentedColormap.from_list("winner", [VERMILION, "white", BLUE])
    for axis, calibration, letter in zip(maps, CALIBRATIONS, "bc", strict=True):
        d, share = np.meshgrid(np.geomspace(2, LONGEST, 240), np.linspace(0, 1, 240))
        ones = d**share  # from 1 to d
        ratio = np.log10(per_value_trace(d, ones, ALPHA, calibration) / coordinate_trace(d, ones, ALPHA, calibration))
        mesh = axis.pcolormesh(d, ones, ratio, cmap=shades, norm=TwoSlopeNorm(0, -3, 3), shading="gouraud", zorder=1)
        lengths = np.geomspace(4, LONGEST, 60)
        axis.plot(lengths, [border(each, ALPHA, calibration) for each in lengths], color=INK, lw=2, label="equal loss")
        factor, rule = (1, "√d") if calibration == "paper" else (0.5, "√d / 2")
        axis.plot(lengths, factor * np.sqrt(lengths), color=INK, lw=1.2, ls=(0, (3, 2)), label=f"δ = {rule}")
        axis.plot([2, LONGEST], [2, LONGEST], color=GREY, lw=1)
        axis.annotate("per-value\nbetter", (120, 2), color=INK, fontsize=10, ha="center", va="center")
        axis.annotate("coordinate release\nbetter", (265, 50), color=INK, fontsize=10, ha="center", va="center")
        level = "as in the paper" if calibration == "paper" else "at the same exact level"
        axis.set_title(f"({letter}) {level}", fontsize=11)
        axis.set(xscale="log", yscale="log", xlim=(2, LONGEST), ylim=(1, LONGEST), xlabel="values a row, d")
        axis.set_ylabel("ones a row, δ", fontsize=10)
        axis.legend(loc="upper left", fontsize=9, frameon=False)
    bar = figure.colorbar(mesh, ax=maps, pad=0.02, shrink=0.9, extend="both")
    bar.set_label("log₁₀ (tr H per-value / tr H coordinate)", fontsize=9.5)
    bar.outline.set_visible(False)
    return figure


def _draw_curves(axis: "Axes", points: list[SimulatedTrace]) -> None:
    d = np.geomspace(2, LONGEST, 100)
    for scheme, colour in COLOURS.items():
        for ones, name, width in ((np.full_like(d, FEW), f"δ = {FEW}", 1.3), (d, "δ = d", 2.6)):
            axis.plot(
                d, TRACES[scheme](d, ones, ALPHA, "paper"), color=colour, lw=width, label=f"{scheme}, {name}", zorder=2
            )
            axis.plot(d, APPROXIMATIONS[scheme](d, ones, ALPHA), color=INK, lw=1, ls=(0, (2, 2)), zorder=3)
    axis.plot([], [], color=INK, lw=1, ls=(0, (2, 2)), label="(29) and (30)")
    shown = [point for point in points if point.calibration == "paper"]
    # Two standard errors are smaller than the marks.
    axis.plot(
        [p.d for p in shown], [p.trace for p in shown], "o", ms=5, mfc="white", mec=INK, label="simulated", zorder=4
    )
    axis.set(xscale="log", yscale="log", xlim=(2, LONGEST), xlabel="values a row, d")
    axis.set_ylabel("loss of efficiency, tr H", fontsize=10)
    axis.set_title(f"(a) theorems 1 and 2, α = {ALPHA:g}", fontsize=11)
    axis.grid(color=MIST, lw=0.8)
    axis.legend(loc="upper left", fontsize=8.5, frameon=False)


def _table(points: list[SimulatedTrace]) -> Columns:
    rows: list[tuple[object, ...]] = []
    for d in (2, 5, 10, 20, 50, 100, 200, 500, 1000):
        for ones in sorted({1, FEW, round(d**0.5 / 2) or 1, round(d**0.5), d // 2, d}):
            for scheme, trace in TRACES.items():
                rows += [(scheme, c, "formula", d, ones, float(trace(d, ones, ALPHA, c)), "") for c in CALIBRATIONS]
                rows.append(
                    (scheme, "paper", "approximation", d, ones, float(APPROXIMATIONS[scheme](d, ones, ALPHA)), "")
                )
    rows += [(p.scheme, p.calibration, "simulation", p.d, p.ones, p.trace, p.standard_error) for p in points]
    names = ("scheme", "calibration", "source", "d", "delta", "trace_H", "standard_error")
    return as_columns(names, rows)
