"""[MO] theorems 9 and 10: what Laplace noise protects, by which norm, and how far it moves the risk."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from askance.mechanisms.budget import Budget
from askance.mechanisms.sums.label_sums import sum_by_label
from askance.mechanisms.total_noise import Sensitivity, TotalLaplace
from askance.papers.artefacts import panels
from askance.papers.findings import Finding, Result, as_columns
from askance.papers.registry import reproduces
from askance.planning.theory.mean_operator_bounds import noise_bound
from askance.reports.colours import BLUE, GREY, INK, MIST, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALPHA = 1.0  # the level is alpha or sqrt(d) alpha, whatever alpha is
WIDTHS = (1, 4, 16, 64)  # squares, so that sqrt(d) is whole
SIMULATED_WIDTH = 4  # with more features hardly any output would fall into the corner
FAILURE = 0.05  # delta of theorem 10
NOISE_WIDTHS = (1, 2, 5, 10, 31, 100)  # 31: the features of breast cancer and an intercept


def worst_row(width: int, norm: int) -> NDArray[np.float64]:
    """Return the row of norm 1 whose label Laplace noise protects least: that of the largest 1-norm."""
    return np.full(width, 1 / width if norm == 1 else 1 / math.sqrt(width))


def integrated_level(row: NDArray[np.float64], scale: float, rows: int = 1) -> float:
    """Return the logarithm of P(output in a corner) for one label over that for the other, by integration.

    The corner is that of all outputs beyond both centres, where the ratio is the same everywhere and the largest.
    """
    from scipy import integrate

    total = 0.0
    for shift in 2 * row / rows:
        # In units of the scale: near one centre and far from the other.
        near, far = (
            integrate.quad(lambda w, move=move: 0.5 * math.exp(-abs(w - move)), -60, 0)[0]
            for move in (0.0, shift / scale)
        )
        total += math.log(near / far)
    return total


@reproduces(
    "mean-operator/theorem-9",
    title="Laplace noise on the mean operator: alpha-label private by the 1-norm, and not by the 2-norm",
    claim="If |x_i| <= 1 for all i, adding Laplace noise of scale 2 / (m alpha) to each component of the mean operator "
    "is alpha-label private.",
    reference="[MO] section 4, algorithm 2, theorem 9",
)
def theorem_9(rng: np.random.Generator, quick: bool) -> Result:
    scale = 2 / ALPHA
    findings, rows = [], []
    for width in WIDTHS:
        for norm in (1, 2):
            formula = ALPHA if norm == 1 else ALPHA * math.sqrt(width)
            numeric = integrated_level(worst_row(width, norm), scale)
            name = f"level at alpha={ALPHA:g}, {norm}-norm at most 1, d={width}"
            findings.append(Finding.confirmed(name, formula, numeric, 1e-6, f"{ALPHA:g}"))
            rows.append((norm, width, formula, numeric))
    findings += [_simulated_level(scale, 200_000 if quick else 4_000_000, rng), _spread(scale, rng), *_ours()]
    figure, (axis,) = panels(1, 6.4, 4.4)
    _draw_levels(axis, rows)
    return Result(
        findings,
        as_columns(("norm", "d", "formula", "integrated"), rows),
        figure,
        note="The proof needs the 1-norm of x: with the 2-norm at most 1 the level is sqrt(d) alpha. The printed "
        "'variance 2 / (m alpha)' is the scale of the noise. askance measures both norms of the public features and "
        "calibrates Laplace noise to the 1-norm.",
    )


def _simulated_level(scale: float, draws: int, rng: np.random.Generator) -> Finding:
    """The same ratio from noise that is drawn, in a dimension where the corner is not rare."""
    row = worst_row(SIMULATED_WIDTH, 2)
    noise = rng.laplace(scale=scale, size=(draws, SIMULATED_WIDTH))
    shares = [float((noise + move <= 0).all(axis=1).mean()) for move in (0 * row, 2 * row)]
    error = math.sqrt(sum((1 - share) / (share * draws) for share in shares))
    name = f"log ratio of how often outputs fall into the corner, 2-norm, d={SIMULATED_WIDTH}"
    formula = ALPHA * math.sqrt(SIMULATED_WIDTH)
    return Finding.simulated(name, formula, math.log(shares[0] / shares[1]), error, f"at most {ALPHA:g}")


def _spread(scale: float, rng: np.random.Generator) -> Finding:
    draws = 200_000
    noise = rng.laplace(scale=scale, size=draws)
    # The kurtosis of the Laplace law is 6.
    error = 2 * scale**2 * math.sqrt(5 / draws)
    return Finding.simulated(
        "variance of the noise, in (2 / (m alpha))^2",
        2.0,
        noise.var() / scale**2,
        error / scale**2,
        "2 / (m alpha)",
        contradicted=True,
    )


def _ours() -> list[Finding]:
    """The level of the noise that askance takes, for features of 2-norm 1."""
    findings = []
    for width in (4, 64):
        features = np.tile(worst_row(width, 2), (3, 1))
        sums = sum_by_label(features, np.array([0, 1, 1], dtype=np.uint8), 2, intercept=False)
        noise = TotalLaplace.calibrated(Sensitivity(sums.one_norm, sums.squared_two_norm, width), Budget.of(ALPHA))
        level = float(sums.one_norm / noise.scale)
        findings.append(
            Finding.confirmed(f"level of askance's Laplace noise, 2-norm 1, d={width}", ALPHA, level, 1e-12)
        )
    return findings


def _draw_levels(axis: "Axes", rows: list[tuple[int, int, float, float]]) -> None:
    widths = np.geomspace(1, max(WIDTHS), 50)
    axis.plot(widths, ALPHA * np.sqrt(widths), color=VERMILION, lw=2, label="‖x‖₂ ≤ 1: √d α")
    axis.plot(widths, np.full_like(widths, ALPHA), color=BLUE, lw=2, label="‖x‖₁ ≤ 1: α, as promised")
    axis.plot([r[1] for r in rows], [r[3] for r in rows], "o", mfc="white", mec=INK, ms=6, label="integrated")
    axis.set(xscale="log", xlabel="features d", ylabel="level of privacy that is given")
    axis.grid(color=MIST, lw=0.8)
    axis.legend(frameon=False, fontsize=9)


@reproduces(
    "mean-operator/theorem-10",
    title="How far Laplace noise moves the risk: the printed bound and the corrected one",
    claim="With probability at least 1 - delta, |L(mu, theta) - L(mu~, theta)| <= |a| R log(d / delta) / (m alpha).",
    reference="[MO] section 4.1, theorem 10",
)
def theorem_10(rng: np.random.Generator, quick: bool) -> Result:
    draws = 20_000 if quick else 200_000
    rows: list[tuple[int, float, float, float, float]] = []
    for width in NOISE_WIDTHS:
        norms = np.linalg.norm(rng.laplace(size=(draws, width)), axis=1)
        printed, corrected = math.log(width / FAILURE), noise_bound(width, 1.0, FAILURE)
        fails, fails_corrected = (float((norms > bound).mean()) for bound in (printed, corrected))
        squares = norms**2
        rows.append((width, fails, fails_corrected, float(squares.mean()), float(squares.std() / math.sqrt(draws))))
    findings = [_one_feature(rows[0], draws)]
    for width, printed_fails, corrected_fails, square, error in rows:
        findings.append(Finding.simulated(f"E |b|^2 / scale^2, d={width}", 2.0 * width, square, error))
        said = f"at most {FAILURE:g}"
        if width == 31:
            name = "the printed bound fails with probability, d=31"
            findings.append(Finding.claimed(name, said, printed_fails, 0.77, 0.83))
        name = f"the corrected bound fails with probability, d={width}"
        limit = FAILURE + 4 * math.sqrt(FAILURE * (1 - FAILURE) / draws)
        findings.append(Finding.claimed(name, said, corrected_fails, at_most=limit))
    names = ("d", "printed_fails", "corrected_fails", "mean_squared_norm", "standard_error")
    figure, (axis,) = panels(1, 6.4, 4.4)
    _draw_failures(axis, rows)
    return Result(
        findings,
        as_columns(names, rows),
        figure,
        note=f"{draws:,} noise vectors for each d, delta = {FAILURE:g}. The worst theta points along the noise, so the "
        "bound holds where |b| <= sigma log(d / delta). The union bound is about single coordinates ('exists i', not "
        "'for all i'), and the norm of d of them needs sqrt(d).",
    )


def _one_feature(row: tuple[int, float, float, float, float], draws: int) -> Finding:
    error = math.sqrt(FAILURE * (1 - FAILURE) / draws)
    return Finding.simulated("either bound fails with probability, d=1", FAILURE, row[1], error, f"at most {FAILURE:g}")


def _draw_failures(axis: "Axes", rows: list[tuple[int, float, float, float, float]]) -> None:
    widths = [row[0] for row in rows]
    axis.plot(widths, [row[1] for row in rows], "o-", color=VERMILION, lw=2, label="as printed: σ log(d/δ)")
    axis.plot(widths, [row[2] for row in rows], "o-", color=BLUE, lw=2, label="corrected: √d σ log(d/δ)")
    axis.axhline(FAILURE, color=GREY, lw=1, ls=(0, (3, 2)), label=f"δ = {FAILURE:g}")
    axis.set(xscale="log", xlabel="features d", ylabel="how often the bound fails", ylim=(-0.02, 1.02))
    axis.grid(color=MIST, lw=0.8)
    axis.legend(frameon=False, fontsize=9, loc="center right")
