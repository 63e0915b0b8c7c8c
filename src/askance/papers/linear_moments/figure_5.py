"""[LM] figure 5: a log marginal likelihood that is not concave, and has a maximum in the wrong place."""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from askance.arrays import Floats
from askance.channels.labels.finite import FiniteChannel
from askance.papers.artefacts import panels
from askance.papers.findings import Finding, Result
from askance.papers.finite_family import fit_moments
from askance.papers.registry import reproduces
from askance.planning.theory.efficiency import family_law
from askance.reports.colours import BLUE, GREY, INK, MIST, ORANGE, PURPLE, SKY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Features of the three truths, and S: probabilities of reports, by truth.
FEATURES = np.array([[2.0, 1.0, 0.0]])
MATRIX = np.array([[1 / 3, 1 / 6, 1 / 4], [1 / 3, 1 / 6, 1 / 2], [1 / 3, 2 / 3, 1 / 4]])
THETA = -1.0  # not printed; here the expected likelihood has a second, spurious maximum
GRID = np.linspace(-6, 6, 1_201)  # of theta, in steps of .01
SAMPLED_AT = (-3.0, -1.0, 0.7, 2.0, 4.0)  # one theta in each stretch where the expected curvature keeps its sign

_STEP = 2e-3  # of finite differences: error of order 1e-6 here


def report_law(theta: float | Floats) -> Floats:
    """Return S p_theta, one row for each theta."""
    law: Floats = family_law(FEATURES, np.atleast_1d(theta)[:, None]) @ MATRIX.T
    return law


def log_marginal(theta: float | Floats) -> Floats:
    """Return log sum_y S(o|y) p_theta(y), theta x reports."""
    likelihood: Floats = np.log(report_law(theta))
    return likelihood


def slope(theta: float | Floats) -> Floats:
    """Return its first derivative, E[phi | o] - E[phi]."""
    return _moments(theta)[0]


def curvature(theta: float | Floats) -> Floats:
    """Return its second derivative, Var[phi | o] - Var[phi]: positive where seeing o makes phi less certain."""
    return _moments(theta)[1]


def _moments(theta: float | Floats) -> tuple[Floats, Floats]:
    phi = FEATURES[0]
    law = family_law(FEATURES, np.atleast_1d(theta)[:, None])
    posterior = law[:, None, :] * MATRIX
    posterior /= posterior.sum(axis=2, keepdims=True)
    mean, mean_given = law @ phi, posterior @ phi
    variance, variance_given = law @ phi**2 - mean**2, posterior @ phi**2 - mean_given**2
    return mean_given - mean[:, None], variance_given - variance[:, None]


def second_difference(theta: float | Floats) -> Floats:
    """Return the second derivative by finite differences of the likelihood itself."""
    centre = np.atleast_1d(theta)
    ends = log_marginal(centre + _STEP) + log_marginal(centre - _STEP)
    difference: Floats = (ends - 2 * log_marginal(centre)) / _STEP**2
    return difference


@reproduces(
    "linear-moments/figure-5",
    title="The log marginal likelihood is not concave, features 2, 1, 0",
    claim="Computing theta_marg requires a non-convex problem even for a well-specified model: the log marginal "
    "likelihood of each report is not concave in theta.",
    reference="[LM] section 6, figure 5",
)
def figure_5(rng: np.random.Generator, quick: bool) -> Result:
    people = 200_000 if quick else 5_000_000
    reports = report_law(THETA)[0]
    findings = [*_inflections(reports), *_maxima(reports), *_sample(rng, people)]
    table = {"theta": GRID.tolist()}
    for o, values in enumerate(log_marginal(GRID).T):
        table[f"log-likelihood of report {o + 1}"] = values.tolist()
    table["expected log-likelihood"] = (log_marginal(GRID) @ reports).tolist()
    table["expected curvature"] = (curvature(GRID) @ reports).tolist()
    return Result(
        findings,
        table,
        _draw(reports),
        note="The true theta of the figure is not printed; ours is -1, where a search from the right stops at a "
        f"spurious maximum. The sample has {people:,} reports. The moment equation has one solution, the true theta.",
    )


def _sign_changes(values: Callable[[float], float]) -> list[float]:
    """All theta in the plotted range at which a function of theta changes its sign."""
    from scipy.optimize import brentq

    grid = np.linspace(GRID[0], GRID[-1], 481) + 1e-7  # off the round numbers, where a root may sit exactly
    at = np.array([values(theta) for theta in grid])
    return [float(brentq(values, grid[i], grid[i + 1], xtol=1e-12)) for i in np.flatnonzero(at[:-1] * at[1:] < 0)]


def _weighted(function: Callable[[float], Floats], reports: Floats) -> Callable[[float], float]:
    """The average over reports of a function that gives one value for each."""
    return lambda theta: float(function(theta)[0] @ reports)


def _inflections(reports: Floats) -> list[Finding]:
    """Where curvature changes sign, by formula and by finite differences."""
    weights = {f"report {o + 1}": np.eye(3)[o] for o in range(3)} | {"expected": reports}
    findings = []
    for name, weight in weights.items():
        by_formula = _sign_changes(_weighted(curvature, weight))
        numerically = _sign_changes(_weighted(second_difference, weight))
        if len(by_formula) == len(numerically):
            findings += [
                Finding.confirmed(f"{name}: inflection at theta", exact, found, 1e-3)
                for exact, found in zip(by_formula, numerically, strict=True)
            ]
        findings.append(
            Finding.confirmed(
                f"{name}: number of inflections", len(by_formula), len(numerically), 0, published="not concave"
            )
        )
        most = float((curvature(GRID) @ weight).max())
        findings.append(Finding.claimed(f"{name}: largest curvature", "not concave", most, at_least=0.01))
    return findings


def _maxima(reports: Floats) -> list[Finding]:
    """The stationary points of the expected likelihood, and the one answer of the moments."""
    from scipy.optimize import minimize_scalar

    def climbed(low: float, high: float) -> float:
        def below(theta: float) -> float:
            return -float(log_marginal(theta)[0] @ reports)

        return float(minimize_scalar(below, bounds=(low, high), method="bounded", options={"xatol": 1e-9}).x)

    true, dip, spurious = stationary_points(reports)
    moments = fit_moments(FEATURES, MATRIX, np.tile(reports, (2, 1)), np.array([[-3.0], [3.0]]))[:, 0]
    return [
        Finding.confirmed("expected: maximum at theta", true, climbed(-3, dip), 1e-4, "consistent"),
        Finding.confirmed("expected: spurious maximum at theta", spurious, climbed(dip, 4), 1e-3, "local optima"),
        Finding.confirmed("moments, started at theta = -3", THETA, float(moments[0]), 1e-8, "consistent"),
        Finding.confirmed("moments, started at theta = 3", THETA, float(moments[1]), 1e-8, "consistent"),
    ]


def stationary_points(reports: Floats) -> list[float]:
    """Where the slope of the expected likelihood is zero."""
    return _sign_changes(_weighted(slope, reports))


def _sample(rng: np.random.Generator, people: int) -> list[Finding]:
    """The curvature of a sample's likelihood, from reports drawn through the channel."""
    truth = rng.choice(3, size=people, p=family_law(FEATURES, np.array([THETA])))
    drawn = FiniteChannel(MATRIX, classes=range(3)).simulate(truth, rng)
    shares = np.bincount(drawn, minlength=3) / people
    findings = []
    for theta in SAMPLED_AT:
        each = second_difference(theta)[0]
        mean = float(each @ shares)
        error = float(np.sqrt((each - mean) ** 2 @ shares / people))
        expected = float(curvature(theta)[0] @ report_law(THETA)[0])
        findings.append(Finding.simulated(f"sample: curvature at theta = {theta:g}", expected, mean, error))
    return findings


def _draw(reports: Floats) -> "Figure":
    figure, (each, expected) = panels(2, 10.4, 4.4)
    for o, (colour, style) in enumerate(zip((BLUE, ORANGE, PURPLE), ("-", (0, (6, 2)), (0, (2, 1.5))), strict=True)):
        values, convex = log_marginal(GRID)[:, o], curvature(GRID)[:, o] > 0
        each.plot(GRID, np.where(convex, values, np.nan), color=colour, lw=9, alpha=0.22, solid_capstyle="butt")
        each.plot(GRID, values, color=colour, lw=2, ls=style, label=f"report {o + 1}")
    each.plot([], [], color=GREY, lw=9, alpha=0.35, label="curves upwards: not concave")
    each.set_ylabel(r"log $\sum_y\, S(o\,|\,y)\, p_\theta(y)$", fontsize=10)
    each.set_title("(a) each report", fontsize=11)
    each.legend(loc="upper right", fontsize=9, frameon=False)

    values = log_marginal(GRID) @ reports
    expected.plot(GRID, values, color=INK, lw=2, label="expected log-likelihood")
    _shade(expected, reports)
    true, dip, spurious = stationary_points(reports)
    _mark_points(expected, reports, true, spurious)
    expected.set_ylabel("expected log marginal likelihood", fontsize=10)
    expected.set_title(f"(b) on average, when the true θ is −{-THETA:g}", fontsize=11)
    expected.set_ylim(values.min() - 0.045, values.max() + 0.004)
    expected.legend(loc="lower left", fontsize=9, frameon=False)

    zoom = expected.inset_axes((0.6, 0.13, 0.37, 0.36))
    near = np.linspace(dip - 0.35, spurious + 0.6, 300)
    zoom.plot(near, log_marginal(near) @ reports, color=INK, lw=1.8)
    _mark_points(zoom, reports, None, spurious)
    zoom.set(xlim=(near[0], near[-1]), yticks=[])
    zoom.margins(y=0.25)
    zoom.tick_params(labelsize=8)
    zoom.set_title("enlarged", fontsize=8.5)
    expected.indicate_inset_zoom(zoom, edgecolor=GREY)
    for axis in (each, expected):
        axis.set_xlabel("θ", fontsize=10)
        axis.set_xlim(GRID[0], GRID[-1])
        axis.grid(color=MIST, lw=0.8)
    return figure


def _shade(axis: "Axes", reports: Floats) -> None:
    ends = [float(GRID[0]), *_sign_changes(_weighted(curvature, reports)), float(GRID[-1])]
    label = "curves upwards: not concave"
    for low, high in pairwise(ends):
        if curvature((low + high) / 2)[0] @ reports > 0:
            axis.axvspan(low, high, color=SKY, alpha=0.18, lw=0, label=label, zorder=0)
            label = "_nolegend_"


def _mark_points(axis: "Axes", reports: Floats, true: float | None, spurious: float) -> None:
    marks = [(spurious, "D", VERMILION, "spurious maximum")]
    if true is not None:
        marks.insert(0, (true, "*", BLUE, "maximum at the true θ"))
    for theta, marker, colour, label in marks:
        height = float(log_marginal(theta)[0] @ reports)
        size = 13 if marker == "*" else 7
        axis.plot([theta], [height], marker, color=colour, ms=size, mec="white", mew=0.9, label=label, zorder=5)
