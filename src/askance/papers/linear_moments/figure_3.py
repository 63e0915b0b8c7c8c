"""[LM] figure 3: how much the moment estimator loses against the marginal likelihood, as truth gets rarer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from askance.arrays import Floats
from askance.papers.artefacts import panels
from askance.papers.findings import Columns, Finding, Result, as_columns
from askance.papers.finite_family import draw_report_counts, fit_marginal, fit_moments
from askance.papers.registry import reproduces
from askance.planning.theory.efficiency import (
    asymptotic_variance,
    classic_response_variance,
    family_law,
    relative_efficiency,
)
from askance.reports.colours import BLUE, GREY, INK, MIST, VERMILION
from askance.solvers.progress import steps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEATURES = np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]])  # two bits: four truths
# Parameters of the two signals, and the shares of truth that are drawn and simulated.
SIGNALS = {"weak": (2.0, -0.1), "strong": (5.0, -1.0)}
SIMULATED_AT = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
CURVE_AT = np.linspace(0.01, 1.0, 199)

# So many people answer that the nonlinearity of theta in the counts no longer shows: it is of the order of
# this number squared, the error of the simulation is a hundred times that.
_STANDARD_ERROR_OF_THETA = 0.005


@dataclass(frozen=True)
class SimulatedEfficiency:
    """tr(V_marginal V_moments^-1) / d with both covariances taken over replicates."""

    truth_probability: float
    people: int
    efficiency: float
    standard_error: float


def classic_response(truth_probability: float, classes: int = 4) -> Floats:
    """Return S = t I + (1 - t) / K, also for t = 1."""
    return truth_probability * np.eye(classes) + (1 - truth_probability) / classes


def simulate_efficiency(
    theta: tuple[float, ...], truth_probability: float, replicates: int, rng: np.random.Generator
) -> SimulatedEfficiency:
    """Draw studies, fit both estimators to each, and compare how far they scatter."""
    truth, matrix = np.array(theta), classic_response(truth_probability)
    limit = classic_response_variance(FEATURES, truth, truth_probability)
    people = int(np.diag(limit).max() / _STANDARD_ERROR_OF_THETA**2)
    counts = draw_report_counts(family_law(FEATURES, truth), matrix, people, replicates, rng)
    moments = fit_moments(FEATURES, matrix, counts, truth)
    marginal = fit_marginal(FEATURES, matrix, counts, moments)
    a, b = marginal - marginal.mean(axis=0), moments - moments.mean(axis=0)
    v_marginal, v_moments = a.T @ a / (replicates - 1), b.T @ b / (replicates - 1)
    ratio = np.linalg.solve(v_moments, v_marginal)
    # Delta method: how much each replicate moves the trace. The two fits of a study are correlated, and this
    # takes it into account.
    b_scaled = np.linalg.solve(v_moments, b.T)
    pull = np.sum(a.T * np.linalg.solve(v_moments, a.T), axis=0) - np.sum(b.T * (ratio @ b_scaled), axis=0)
    d = len(truth)
    error = float(pull.std(ddof=1)) / np.sqrt(replicates) / d
    return SimulatedEfficiency(truth_probability, people, float(np.trace(ratio)) / d, float(error))


def _formula(theta: tuple[float, ...], truth_probability: float) -> float:
    return relative_efficiency(FEATURES, theta, classic_response(truth_probability))


@reproduces(
    "linear-moments/figure-3",
    title="Efficiency of moments relative to the marginal likelihood, for a weak and a strong signal",
    claim="Efficiency falls as the truth probability goes to 0, and is lower for theta = [5, -1] than for [2, -.1]; "
    "at theta = 0 the two estimators are equally good (efficiency 1).",
    reference="[LM] section 5, equations (13)-(15), figure 3",
)
def figure_3(rng: np.random.Generator, quick: bool) -> Result:
    replicates = 1_000 if quick else 20_000
    curves = {name: np.array([_formula(theta, t) for t in CURVE_AT]) for name, theta in SIGNALS.items()}
    points = {
        name: [simulate_efficiency(theta, t, replicates, rng) for t in steps(SIMULATED_AT)]
        for name, theta in steps(SIGNALS.items())
    }
    no_signal = simulate_efficiency((0.0, 0.0), 0.3, replicates, rng)
    findings = [
        Finding.simulated(
            f"efficiency, theta=[{theta[0]:g}, {theta[1]:g}], t={point.truth_probability:g}",
            _formula(theta, point.truth_probability),
            point.efficiency,
            point.standard_error,
        )
        for name, theta in SIGNALS.items()
        for point in points[name]
    ]
    findings += [
        Finding.simulated("efficiency, theta=[0, 0], t=0.3", 1.0, no_signal.efficiency, no_signal.standard_error, "1"),
        *_claims(curves),
    ]
    return Result(
        findings,
        _table(curves, points),
        _draw(curves, points),
        note=f"The figure is printed without numbers. Simulation: {replicates:,} studies a point, each large enough "
        f"for theta to have a standard error of {_STANDARD_ERROR_OF_THETA:g}. In lemma 1 the estimator called "
        "theta_marg is theta_mom. t is the truth probability, epsilon in the paper.",
    )


def _claims(curves: dict[str, Floats]) -> list[Finding]:
    inside = (0.05, 0.2, 0.5, 0.8)
    zero = [_formula((0.0, 0.0), t) for t in inside]
    closed_form, excess, same_law = [], [], []
    for theta in SIGNALS.values():
        information = np.linalg.inv(asymptotic_variance(FEATURES, theta, method="full"))
        law = family_law(FEATURES, theta)
        for t in inside:
            moments = asymptotic_variance(FEATURES, theta, classic_response(t), "moments")
            marginal = asymptotic_variance(FEATURES, theta, classic_response(t), "marginal")
            closed_form.append(np.abs(classic_response_variance(FEATURES, theta, t) / moments - 1).max())
            excess.append(np.linalg.eigvalsh(moments - marginal)[0] / np.linalg.eigvalsh(moments)[-1])
            like_truth = classic_response_variance(FEATURES, theta, t, base=law)
            same_law.append(np.abs(like_truth @ information * t**2 - np.eye(2)).max())
    smallest = {
        name: 1 / np.linalg.eigvalsh(asymptotic_variance(FEATURES, theta, method="full"))[-1]
        for name, theta in SIGNALS.items()
    }
    return [
        Finding.computed("efficiency, theta=[0, 0], any t", 1.0, max(zero, key=_from_one), 1e-9),
        Finding.claimed(
            "least slope of efficiency in t",
            "falls as t falls",
            float(min(np.gradient(curve, CURVE_AT).min() for curve in curves.values())),
            at_least=1e-6,
        ),
        Finding.claimed(
            "least gap weak - strong, t < 1",
            "strong is lower",
            float((curves["weak"] - curves["strong"])[:-1].min()),
            at_least=1e-6,
        ),
        Finding.claimed(
            "least information, strong / weak",
            "much smaller",
            float(smallest["strong"] / smallest["weak"]),
            at_most=0.1,
        ),
        Finding.claimed(
            "least eigenvalue, Sigma_mom - Sigma_marg",
            "not negative",
            float(min(excess)),
            at_least=-1e-12,
        ),
        Finding.computed("(15) against (14), largest difference", 0.0, float(max(closed_form)), 1e-9),
        Finding.computed("y' like y: t^2 Sigma_mom I less identity", 0.0, float(max(same_law)), 1e-9),
    ]


def _from_one(value: float) -> float:
    return abs(value - 1)


def _draw(curves: dict[str, Floats], points: dict[str, list[SimulatedEfficiency]]) -> "Figure":
    figure, axes = panels(2, 9.6, 4.1, sharey=True)
    for axis, (name, theta), colour, letter in zip(axes, SIGNALS.items(), (BLUE, VERMILION), "ab", strict=True):
        axis.plot(CURVE_AT, curves[name], color=colour, lw=2, label="formulas (13) and (15)")
        axis.errorbar(
            SIMULATED_AT,
            [point.efficiency for point in points[name]],
            yerr=[2 * point.standard_error for point in points[name]],
            fmt="o",
            ms=5,
            mfc="white",
            mec=INK,
            ecolor=INK,
            capsize=3,
            label="simulated studies, ± 2 s.e.",
            zorder=3,
        )
        axis.axhline(1, color=GREY, lw=1, ls=(0, (4, 3)))
        axis.set_title(f"({letter}) {name} signal, θ = [{theta[0]:g}, −{-theta[1]:g}]", fontsize=11, color=INK)
        axis.set_xlabel("truth probability ε", fontsize=10)
        axis.grid(color=MIST, lw=0.8)
        axis.set_xlim(0, 1.01)
        axis.set_ylim(0.68, 1.02)
        axis.legend(loc="lower right", fontsize=9, frameon=False)
    axes[0].annotate("equal efficiency", (0.03, 1), (0, 3), textcoords="offset points", color=GREY, fontsize=8.5)
    axes[0].set_ylabel("efficiency of moments\nrelative to marginal likelihood", fontsize=10)
    return figure


def _table(curves: dict[str, Floats], points: dict[str, list[SimulatedEfficiency]]) -> Columns:
    rows: list[tuple[object, ...]] = [
        (name, "formula", float(t), float(e), "", "")
        for name, curve in curves.items()
        for t, e in zip(CURVE_AT, curve, strict=True)
    ]
    rows += [
        (name, "simulation", p.truth_probability, p.efficiency, p.standard_error, p.people)
        for name, simulated in points.items()
        for p in simulated
    ]
    names = ("signal", "source", "truth_probability", "efficiency", "standard_error", "people")
    return as_columns(names, rows)
