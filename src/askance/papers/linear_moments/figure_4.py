"""[LM] figure 4: the simplex of laws, the exponential family as a curve in it, and two ways onto the curve."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from askance.arrays import Floats
from askance.papers.artefacts import panels
from askance.papers.findings import Finding, Result
from askance.papers.finite_family import draw_report_counts, fit_marginal, fit_moments
from askance.papers.registry import reproduces
from askance.planning.theory.efficiency import asymptotic_variance, family_law
from askance.reports.colours import BLUE, GREEN, GREY, INK, PURPLE, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEATURES = np.array([[5.0, -1.0, 0.0]])  # of the three truths, as printed
THETA = np.array([0.15])  # not printed; puts the truth in the middle of the simplex
# The S of the figure is not printed: this is the one of figure 5, whose moment lines are oblique.
MATRIX = np.array([[1 / 3, 1 / 6, 1 / 4], [1 / 3, 1 / 6, 1 / 2], [1 / 3, 2 / 3, 1 / 4]])
EQUATIONS = (0, 2)  # reports whose moment equations are drawn; the third follows, as probabilities sum to 1
CORNERS = np.array([[1.0, 0.0], [0.0, 0.0], [0.5, np.sqrt(0.75)]])  # of y = 1, 2, 3

_PEOPLE = 3_000  # in each study of the cloud


@dataclass(frozen=True)
class Study:
    """One study: the law of its reports, and the three laws of the truth which that leads to."""

    reports: Floats
    relaxed: Floats  # r-hat: any law that fits the reports
    moments: Floats  # p-hat: its projection onto the family
    marginal: Floats  # the member of the family that makes the reports most likely

    @classmethod
    def from_counts(cls, counts: Floats) -> "Study":
        reports = counts / counts.sum()
        theta = fit_moments(FEATURES, MATRIX, counts[None], THETA)
        marginal = fit_marginal(FEATURES, MATRIX, counts[None], theta)
        relaxed = np.linalg.solve(MATRIX, reports)
        return cls(reports, relaxed, family_law(FEATURES, theta)[0], family_law(FEATURES, marginal)[0])


def divergence(p: Floats, q: Floats) -> float:
    """Return KL(p || q)."""
    return float(np.sum(p * np.log(p / q)))


def in_plane(laws: Floats) -> Floats:
    """Return the points of the plane at which laws (rows) are drawn."""
    points: Floats = np.asarray(laws) @ CORNERS
    return points


@reproduces(
    "linear-moments/figure-4",
    title="Geometry of two-step estimation in the simplex, features 5, -1, 0",
    claim="Two moment equations meet in the data distribution; the moment estimator goes there first and then "
    "projects onto the curved family, the marginal likelihood stays on the curve.",
    reference="[LM] section 6, equations (16) and (17), figure 4",
)
def figure_4(rng: np.random.Generator, quick: bool) -> Result:
    law = family_law(FEATURES, THETA)
    cloud = draw_report_counts(law, MATRIX, _PEOPLE, 400, rng)
    study = _telling_study(cloud)
    findings = [*_geometry(law, study), *_scatter(law, 2_000 if quick else 20_000, rng)]
    curve = family_law(FEATURES, np.linspace(-12, 4, 2_001)[:, None])
    figure = _draw(law, curve, cloud, study)
    names = ("p(1)", "p(2)", "p(3)")
    points = {
        "truth": law,
        "r-hat": study.relaxed,
        "p-hat (moments)": study.moments,
        "p (marginal likelihood)": study.marginal,
    }
    rows = np.vstack([curve, *points.values()])
    labels = ["family"] * len(curve) + list(points)
    table = {"point": labels} | {name: rows[:, k].tolist() for k, name in enumerate(names)}
    return Result(
        findings,
        table,
        figure,
        note="theta and S of the figure are not printed: ours are .15 and the S of figure 5. The study in panel b is, "
        f"of 400 studies of {_PEOPLE} people, the one whose r-hat is at the 95th percentile of distance from the "
        "family. "
        "The text says d = 2; the printed features make d = 1. It calls KL concave in p; it is convex.",
    )


def _telling_study(cloud: Floats) -> Study:
    """Of the studies whose r-hat is a law, the one far enough from the family to be seen."""
    inside = cloud[(np.linalg.solve(MATRIX, cloud.T) > 0).all(axis=0)]
    relaxed = np.linalg.solve(MATRIX, inside.T / _PEOPLE).T
    projected = family_law(FEATURES, fit_moments(FEATURES, MATRIX, inside, THETA))
    order = np.argsort(np.sum(relaxed * np.log(relaxed / projected), axis=1))
    return Study.from_counts(inside[order[int(0.95 * len(order))]])


def _geometry(law: Floats, study: Study) -> list[Finding]:
    """Each construction of the figure by a second road."""
    from scipy.optimize import minimize_scalar

    def closest(distance: Callable[[float], float]) -> Floats:
        theta = minimize_scalar(distance, bounds=(-3, 3), method="bounded", options={"xatol": 1e-10}).x
        return family_law(FEATURES, np.array([theta]))

    equations = np.vstack([MATRIX[list(EQUATIONS)], np.ones(3)])
    meeting = np.linalg.solve(equations, np.append((MATRIX @ law)[list(EQUATIONS)], 1))
    projected = closest(lambda t: divergence(study.relaxed, family_law(FEATURES, np.array([t]))))
    likeliest = closest(lambda t: divergence(study.reports, MATRIX @ family_law(FEATURES, np.array([t]))))
    halfway = family_law(FEATURES, np.array([[-1.0], [1.0]])).mean(axis=0)
    off_family = divergence(halfway, closest(lambda t: divergence(halfway, family_law(FEATURES, np.array([t])))))
    two_legs = divergence(study.relaxed, study.moments) + divergence(study.moments, law)
    answer_sets = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # deterministic supervision: o = 1 means y is 1 or 2
    share = np.array([0.7, 0.3])
    one_step = (answer_sets / answer_sets.sum(axis=1, keepdims=True)).T @ share
    return [
        _distance("moment lines meet at p*: distance", meeting, law, 1e-12),
        _distance("p-hat against argmin KL(r-hat||p)", study.moments, projected, 1e-6),
        _distance("p-marg against argmin KL(q-hat||Sp)", study.marginal, likeliest, 1e-6),
        _distance("r-hat against EM", study.relaxed, _em(study.reports), 1e-6),
        _distance("deterministic S: one EM step", np.linalg.pinv(answer_sets) @ share, one_step, 1e-12),
        Finding.computed(
            "KL: r-hat to p*, less by way of p-hat", 0.0, divergence(study.relaxed, law) - two_legs, 1e-10
        ),
        Finding.claimed("KL from a chord's middle to the family", "non-convex", off_family, at_least=0.01),
    ]


def _distance(quantity: str, ours: Floats, other: Floats, tolerance: float) -> Finding:
    return Finding.computed(quantity, 0.0, float(np.abs(ours - other).max()), tolerance)


def _em(reports: Floats) -> Floats:
    """argmin_p KL(reports || S p) over all laws, by expectation-maximisation from the uniform law."""
    law: Floats = np.full(3, 1 / 3)
    for _ in range(20_000):
        law = law * (MATRIX.T @ (reports / (MATRIX @ law)))
    return law


def _scatter(law: Floats, replicates: int, rng: np.random.Generator) -> list[Finding]:
    """Both estimators in large studies: they find theta, with the variance that the formulas say."""
    people = 10**9
    counts = draw_report_counts(law, MATRIX, people, replicates, rng)
    moments = fit_moments(FEATURES, MATRIX, counts, THETA)
    fits = {"moments": moments, "marginal": fit_marginal(FEATURES, MATRIX, counts, moments)}
    findings = []
    for method, fit in fits.items():
        squares = people * (fit[:, 0] - THETA[0]) ** 2
        sigma = asymptotic_variance(FEATURES, THETA, MATRIX, method)[0, 0]  # type: ignore[arg-type]
        error = float(squares.std(ddof=1)) / np.sqrt(replicates)
        findings.append(
            Finding.simulated(f"n E(theta-hat - theta)^2, {method}", sigma, float(squares.mean()), float(error))
        )
    return findings


def _draw(law: Floats, curve: Floats, cloud: Floats, study: Study) -> "Figure":
    figure, (whole, near) = panels(2, 10.4, 5.6)
    for axis in (whole, near):
        axis.fill(*CORNERS.T, color="#F7F7F7", zorder=0)
        axis.plot(*CORNERS[[0, 1, 2, 0]].T, color=INK, lw=1.2, zorder=1)
        axis.plot(*in_plane(curve).T, color=BLUE, lw=2.2, label="exponential family $\\mathcal{F}$", zorder=3)
        axis.set_aspect("equal")
    _draw_moments(whole, MATRIX @ law)
    _mark(whole, law, "*", INK, 13, "data distribution $p^*$")
    for corner, label, shift, align in (
        (0, "$y=1$\n$\\phi=5$", (9, 0), "left"),
        (1, "$y=2$\n$\\phi=-1$", (-9, 0), "right"),
        (2, "$y=3$, $\\phi=0$", (0, 9), "center"),
    ):
        whole.annotate(label, CORNERS[corner], shift, textcoords="offset points", ha=align, va="center", fontsize=10)
    whole.set_axis_off()
    whole.set_xlim(-0.16, 1.16)
    whole.set_ylim(-0.14, 1.0)
    whole.set_title("(a) all laws over three truths", fontsize=11)

    relaxed = np.linalg.solve(MATRIX, (cloud / cloud.sum(axis=1, keepdims=True)).T).T
    near.plot(*in_plane(relaxed).T, ".", color=GREY, ms=3, alpha=0.5, label="$\\hat r$ of 400 studies", zorder=2)
    _draw_moments(near, study.reports)
    near.plot(
        *in_plane(np.vstack([study.relaxed, study.moments])).T,
        color=VERMILION,
        lw=1.6,
        ls="--",
        label="projection: equal $\\mathrm{E}[\\phi]$",
        zorder=4,
    )
    _draw_contour(near, study)
    _mark(near, study.relaxed, "s", GREEN, 8, "$\\hat r$: fits the reports")
    _mark(near, study.moments, "o", VERMILION, 8, "$\\hat p$: moments")
    _mark(near, study.marginal, "D", PURPLE, 7.5, "$p_{\\mathrm{marg}}$: marginal likelihood")
    _mark(near, law, "*", INK, 13, "data distribution $p^*$")
    focus = in_plane(np.vstack([study.relaxed, study.moments, study.marginal, law]))
    centre = (focus.min(axis=0) + focus.max(axis=0)) / 2
    reach = np.array([1.16, 1.0]) * 0.85 * max(np.ptp(focus, axis=0).max(), 0.08)
    sides = np.array([-1, 1])
    near.set(xlim=centre[0] + reach[0] * sides, ylim=centre[1] + reach[1] * sides, xticks=[], yticks=[])
    near.spines[:].set(visible=True, color=GREY, linewidth=0.8)
    near.set_title("(b) one study, in the frame drawn in (a)", fontsize=11)
    frame = centre + reach * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
    whole.plot(*frame.T, color=GREY, lw=0.8, zorder=5)

    named = dict(zip(*reversed(near.get_legend_handles_labels()), strict=True))
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=3, fontsize=9.5, frameon=False)
    return figure


def _mark(axis: "Axes", law: Floats, marker: str, colour: str, size: float, label: str) -> None:
    axis.plot(*in_plane(law[None]).T, marker, color=colour, ms=size, mec="white", mew=0.9, label=label, zorder=6)


def _draw_moments(axis: "Axes", reports: Floats) -> None:
    """The laws p with S[o] . p = q_o: a line through the simplex for each report o."""
    for number, o in enumerate(EQUATIONS):
        ends = []
        for i, j in ((0, 1), (1, 2), (2, 0)):
            share = (reports[o] - MATRIX[o, j]) / (MATRIX[o, i] - MATRIX[o, j])
            if 0 <= share <= 1:
                ends.append(share * CORNERS[i] + (1 - share) * CORNERS[j])
        label = None if number else "moment equations $S p = q$"
        axis.plot(*np.array(ends).T, color=GREEN, lw=2, ls=":", label=label, zorder=2.5)


def _draw_contour(axis: "Axes", study: Study) -> None:
    """The laws that fit the reports as well as the likeliest member of the family does."""
    inverse = np.linalg.inv(np.vstack([CORNERS.T, np.ones(3)]))
    middle = in_plane(study.relaxed[None])[0]
    width = 6 * np.abs(in_plane(study.marginal[None])[0] - middle).max() + 0.1
    x, y = np.meshgrid(*(np.linspace(c - width, c + width, 500) for c in middle))
    laws = np.einsum("ij,jab->iab", inverse, np.stack([x, y, np.ones_like(x)]))
    reports = np.einsum("oi,iab->oab", MATRIX, laws)
    safe = np.where(reports > 1e-9, reports, np.nan)
    misfit = np.einsum("o,oab->ab", study.reports, np.log(study.reports[:, None, None] / safe))
    misfit = np.where(laws.min(axis=0) >= 0, misfit, np.nan)
    level = divergence(study.reports, MATRIX @ study.marginal)
    axis.contour(x, y, misfit, levels=[level], colors=[PURPLE], linewidths=1.3, zorder=2)
    axis.plot([], [], color=PURPLE, lw=1.3, label="equal likelihood of the reports")
