"""[CR] figure 1: how far privacy moves the class proportions of a bag, by mechanism."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from askance.entropy.bits import GeneratorBits
from askance.errors import InvalidInput
from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.count_mechanisms import CountMechanism, calibrated
from askance.mechanisms.counts.dirichlet_counts import dirichlet_distortion
from askance.mechanisms.counts.dirichlet_draws import PaperDirichlet
from askance.mechanisms.counts.independent_counts import IndependentGaussian
from askance.mechanisms.counts.scaled_dirichlet import NAME as PAPER
from askance.mechanisms.counts.scaled_dirichlet import paper_scale
from askance.papers.artefacts import panels
from askance.papers.findings import Finding, Result
from askance.papers.registry import reproduces
from askance.reports.colours import BLUE, GREEN, GREY, INK, MIST, ORANGE, PURPLE, SKY, VERMILION
from askance.solvers.progress import steps
from askance.solvers.simplex import project_to_simplex

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOTAL, CLASSES, SHARE, EPSILON, DELTA = 1000, 5, 0.05, 0.05, 0.05  # the paper's defaults, section 4.1
NEIGHBOUR = (49, 51, 50, 50, 800)  # of the counts (50, 50, 50, 50, 800): one label moved
CLASSICAL = "gaussian, classical"
PUBLISHED = (PAPER, "laplace", CLASSICAL, "laplace-prior")
SOUND = ("discrete-laplace", "truncated-laplace", "discrete-gaussian", "gaussian", "dirichlet")
NO_GUARANTEE = {PAPER}
LEGEND = "dashed: the paper's mechanisms; solid: ours"
STYLES = {
    PAPER: (VERMILION, "X"), "laplace": (ORANGE, "s"), CLASSICAL: (GREY, "D"), "laplace-prior": (PURPLE, "v"),
    "discrete-laplace": (SKY, "o"), "truncated-laplace": (GREEN, "o"), "discrete-gaussian": (BLUE, "o"),
    "gaussian": (INK, "+"), "dirichlet": (INK, "x"),
}  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """Counts and a level at which mechanisms are compared."""

    counts: tuple[int, ...]
    epsilon: float = EPSILON

    @classmethod
    def of(cls, classes: int = CLASSES, share: float = SHARE, epsilon: float = EPSILON) -> "Setting":
        """All classes but the last have the same share."""
        each = round(share * TOTAL)
        return cls((each,) * (classes - 1) + (TOTAL - (classes - 1) * each,), epsilon)

    @property
    def budget(self) -> Budget:
        """The level, exactly."""
        return Budget.of(self.epsilon, DELTA)


@dataclass(frozen=True)
class Distortion:
    """The mean L1 distance of released from true proportions, over releases of the same counts."""

    panel: str
    x: float
    mechanism: str
    distortion: float
    standard_error: float
    spread: float


def plan_for(mechanism: str, setting: Setting) -> CountMechanism | None:
    """Return the calibrated mechanism; None where the paper's search finds no scale."""
    if mechanism == PAPER:
        try:
            return PaperDirichlet.of(setting.counts, setting.budget, "exact")
        except InvalidInput:
            return None
    if mechanism == CLASSICAL:  # sqrt(2 log(1.25 / delta)) / epsilon times the 2-norm, Dwork & Roth (2014)
        deviation = math.sqrt(2) * math.sqrt(2 * math.log(1.25 / DELTA)) / setting.epsilon
        return IndependentGaussian(Fraction(deviation).limit_denominator(10**6), len(setting.counts))
    return calibrated(mechanism, TOTAL, len(setting.counts), setting.budget)


def distortions(
    mechanism: CountMechanism, counts: Sequence[int], repeats: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Release the same counts again and again, and measure the L1 distance of the proportions."""
    source = GeneratorBits(rng)
    truth = np.array(counts) / TOTAL
    draws = (project_to_simplex(mechanism.draw(counts, source) / TOTAL) for _ in range(repeats))
    return np.array([np.abs(draw - truth).sum() for draw in draws])


def neighbour_divergence(draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return how far the paper's mechanism exceeds e^epsilon for a neighbour, by drawing: the divergence and its
    error."""
    from scipy.special import gammaln

    here, there = Setting.of().counts, NEIGHBOUR
    laws = [paper_scale(counts, EPSILON, DELTA) * np.array(counts) for counts in (here, there)]
    theta = np.maximum(rng.dirichlet(laws[0], draws), 1e-300)
    log_densities = [np.log(theta) @ (law - 1) + gammaln(law.sum()) - gammaln(law).sum() for law in laws]
    excess = np.maximum(-np.expm1(EPSILON + log_densities[1] - log_densities[0]), 0.0)
    return float(excess.mean()), float(excess.std() / math.sqrt(draws))


def sweep(
    panel: str, xs: Sequence[float], setting: Callable[[float], Setting], repeats: int, rng: np.random.Generator
) -> list[Distortion]:
    """Measure all mechanisms along one parameter."""
    points = []
    for x in steps(xs):
        for mechanism in (*PUBLISHED, *SOUND):
            here = setting(x)
            plan = plan_for(mechanism, here)
            if plan is None:
                continue
            times = max(repeats // 10, 8) if mechanism == "dirichlet" else repeats  # whose urn is slow
            found = distortions(plan, here.counts, times, rng)
            error = float(found.std(ddof=1)) / math.sqrt(times)
            points.append(Distortion(panel, x, mechanism, float(found.mean()), error, float(found.std(ddof=1))))
    return points


@reproduces(
    "class-ratio/figure-1",
    title="Distortion of class proportions by privacy mechanisms",
    claim="Scaled Dirichlet distorts least at every number of classes, every proportion and every epsilon: on five "
    "classes by 0.06, where the best existing method distorts by 0.15.",
    reference="[CR] sections 1, 3 and 4.1, figure 1",
)
def figure_1(rng: np.random.Generator, quick: bool) -> Result:
    repeats = 40 if quick else 300
    classes = (2, CLASSES) if quick else (2, 3, CLASSES, 7, 10, 15)
    shares = (0.2,) if quick else (0.025, 0.05, 0.075, 0.1, 0.15, 0.2)
    epsilons = (0.2,) if quick else (0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
    panels_of: tuple[tuple[str, Sequence[float], Callable[[float], Setting]], ...] = (
        ("classes", classes, lambda c: Setting.of(classes=int(c))),
        ("share", shares, lambda share: Setting.of(share=share)),
        ("epsilon", epsilons, lambda epsilon: Setting.of(epsilon=epsilon)),
    )
    points = [point for swept in steps(panels_of) for point in sweep(*swept, repeats, rng)]
    table = {name: [getattr(point, name) for point in points] for name in Distortion.__dataclass_fields__}
    return Result(
        _findings(points, 20_000 if quick else 400_000, rng),
        table,
        _draw(points),
        note=f"m = {TOTAL:,}, (epsilon, delta) = ({EPSILON:g}, {DELTA:g}), {CLASSES} classes and rho = {SHARE:g} "
        f"unless said; means of {repeats} releases (the paper has 20). The paper prints two numbers. Laplace noise "
        "gives 0.17 here, which is its 0.15 within the chance of twenty releases. Its own mechanism, with the exact "
        "search of equation (9), gives 0.31 and not 0.06; it comes down to that only at epsilon = 0.2. And it has no "
        "guarantee: sigma follows the private counts. Where a line is missing, its search finds no sigma and refuses "
        "the counts, which tells something about them too. Its Gaussian noise is taken to be that of the formula of "
        "Dwork and Roth (2014); calibrated exactly, a ninth of that noise is enough.",
    )


def _findings(points: list[Distortion], draws: int, rng: np.random.Generator) -> list[Finding]:
    def at(mechanism: str, panel: str = "classes", x: float = CLASSES) -> Distortion:
        return next(p for p in points if (p.panel, p.x, p.mechanism) == (panel, x, mechanism))

    usual = Setting.of()
    sigma = paper_scale(usual.counts, EPSILON, DELTA)
    exact = dirichlet_distortion(sigma * np.array(usual.counts))
    paper, laplace, best = at(PAPER), at("laplace"), at("discrete-gaussian")
    findings = [
        Finding.claimed("sigma of the paper's exact search, five classes", "", sigma, 0.008175, 0.008185),
        Finding.simulated(
            "distortion, scaled Dirichlet (no guarantee), five classes", exact, paper.distortion, paper.standard_error,
            "0.06",
        ),
        Finding.claimed(
            "distortion, scaled Dirichlet at epsilon = 0.2", "0.06 at 0.05", _paper_at(0.2), 0.05, 0.07,
            contradicted=True,
        ),
        # The paper's number is a mean of twenty releases: it may be off by two standard errors of such a mean.
        Finding.computed("distortion, Laplace + least squares", 0.15, laplace.distortion, 2 * laplace.spread / 20**0.5),
        Finding.claimed("scaled Dirichlet / Laplace, five classes", "0.4", paper.distortion / laplace.distortion, 1.5),
        Finding.claimed("distortion, discrete Gaussian (sound), five classes", "", best.distortion, 0.02, 0.031),
    ]  # fmt: skip
    for mechanism in ("discrete-gaussian", "truncated-laplace"):  # too little noise for a count to fall below zero
        plan, point = plan_for(mechanism, usual), at(mechanism)
        if plan is not None:
            findings.append(
                Finding.simulated(
                    f"distortion, {mechanism}, five classes",
                    plan.distortion / TOTAL,
                    point.distortion,
                    point.standard_error,
                )
            )
    for panel in ("classes", "share", "epsilon"):
        xs = sorted({p.x for p in points if p.panel == panel and p.mechanism == PAPER})
        gain = min(at(PAPER, panel, x).distortion / at("discrete-gaussian", panel, x).distortion for x in xs)
        findings.append(
            Finding.claimed(f"scaled Dirichlet / discrete Gaussian, least by {panel}", "below 1", gain, at_least=1.5)
        )
    return [*findings, *_no_guarantee(sigma, draws, rng)]


def _no_guarantee(sigma: float, draws: int, rng: np.random.Generator) -> list[Finding]:
    """What a scale that follows the private counts gives away."""
    divergence, error = neighbour_divergence(draws, rng)
    other = paper_scale(NEIGHBOUR, EPSILON, DELTA)
    only_one = _served((47, 47, 47, 47, 812)) and not _served((46, 48, 47, 47, 812))
    return [
        Finding.claimed("divergence for a neighbour, less 4 errors", "at most 0.05", divergence - 4 * error, DELTA),
        Finding.claimed("sigma of that neighbour / sigma", "the same", other / sigma, at_most=0.9, contradicted=True),
        Finding.claimed("of (47,47,47,47,812) and (46,48,47,47,812) one is refused", "", float(only_one), 1, 1),
    ]


def _paper_at(epsilon: float) -> float:
    setting = Setting.of(epsilon=epsilon)
    return dirichlet_distortion(paper_scale(setting.counts, epsilon, DELTA) * np.array(setting.counts))


def _served(counts: Sequence[int]) -> bool:
    try:
        paper_scale(counts, EPSILON, DELTA)
    except InvalidInput:
        return False
    return True


def _draw(points: list[Distortion]) -> "Figure":
    figure, axes = panels(3, 13.0, 5.0, sharey=True)
    names = {"classes": "classes", "share": "share ρ of all classes but one", "epsilon": "ε"}
    for axis, (panel, label) in zip(axes, names.items(), strict=True):
        _draw_panel(axis, [point for point in points if point.panel == panel])
        axis.set_xlabel(label)
    axes[0].set_ylabel("distortion: L1 distance of the proportions")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9, title=LEGEND)
    return figure


def _draw_panel(axis: "Axes", points: list[Distortion]) -> None:
    for mechanism, (colour, marker) in STYLES.items():
        mine = sorted((point for point in points if point.mechanism == mechanism), key=lambda point: point.x)
        sound = mechanism in SOUND
        name = f"{mechanism} (no guarantee)" if mechanism in NO_GUARANTEE else mechanism
        axis.errorbar(
            [p.x for p in mine], [p.distortion for p in mine], [p.spread for p in mine], color=colour, marker=marker,
            ms=5, lw=2 if sound else 1.4, ls="-" if sound else (0, (4, 2)), elinewidth=0.6, capsize=0, label=name,
        )  # fmt: skip
    axis.set_yscale("log")
    axis.grid(axis="y", color=MIST, lw=0.8)
