"""[RR] appendix B: what logistic regression learns when it is trained on flipped labels as if they were right."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from askance.arrays import Floats
from askance.papers.artefacts import panels
from askance.papers.findings import Finding, Result
from askance.papers.registry import reproduces
from askance.reports.colours import BLUE, GREEN, GREY, INK, MIST, ORANGE, VERMILION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P01, P11 = 0.3, 0.9  # P(report 1 | class 0), P(report 1 | class 1): asymmetric on purpose
ONE_FLIP = (0.3, 0.7)  # the same as a symmetric pair
SCALES = (0.5, 2.0, 5.0)  # of the inputs: logits that are small, usual, and nearly certain
THETA = np.array([0.8, 0.6, 0.0])  # of length 1, and along no axis
SIDEWAYS = np.array([-0.6, 0.8, 0.0])  # at right angles to it
STRETCHED = np.diag([4.0, 0.25, 1.0])  # a covariance that is far from isotropic
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(160)  # enough points for scale 5, whose logistic is steep
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def logistic(z: Floats) -> Floats:
    half: Floats = 0.5 * (1 + np.tanh(0.5 * z))
    return half


def mean_slope(scale: float) -> float:
    """E[phi'(scale eps)] for a standard normal eps."""
    chance = logistic(scale * NODES)
    return float(WEIGHTS @ (chance * (1 - chance)))


def reported(z: Floats, p01: float = P01, p11: float = P11) -> Floats:
    """gamma of equation (103): the probability of reporting 1."""
    return p11 * logistic(z) + p01 * (1 - logistic(z))


def objective(angle: float, scale: float) -> float:
    """L' of equation (104), for a theta of length 1 at that angle to the true one."""
    first, second = np.meshgrid(scale * NODES, scale * NODES, indexing="ij")
    turned = first * math.cos(angle) + second * math.sin(angle)
    ones = reported(first)
    logs = ones * -np.logaddexp(0, -turned) + (1 - ones) * -np.logaddexp(0, turned)
    return float(WEIGHTS @ logs @ WEIGHTS)


def curvature(scale: float) -> float:
    """The second derivative of L' at angle 0: minus s^2 (p11 - p01) E[phi'], one term."""
    return -(scale**2) * (P11 - P01) * mean_slope(scale)


def curvature_as_printed(scale: float) -> float:
    """Equation (107), which has a second term."""
    first = -scale * float(WEIGHTS @ (NODES * reported(scale * NODES)))
    return first - scale**2 * mean_slope(scale)


@dataclass(frozen=True)
class Limit:
    """Where theta goes when x is normal with mean zero, labels are flipped, and x may get noise.

    By Stein's identity the score is zero where (Sigma + noise I) theta E[phi'(theta.x~)] =
    Sigma theta_0 (p11 - p01) E[phi'(theta_0.x)]: a direction that does not depend on the labels' noise at all.
    """

    covariance: Floats
    noise: float
    flips: tuple[float, float]

    def theta(self) -> Floats:
        from scipy.optimize import brentq

        seen = self.covariance + self.noise * np.eye(len(THETA))
        direction = np.linalg.solve(seen, self.covariance @ THETA)
        spread = math.sqrt(direction @ seen @ direction)
        true_spread = math.sqrt(THETA @ self.covariance @ THETA)
        wanted = (self.flips[1] - self.flips[0]) * mean_slope(true_spread)
        # What is seen varies less along this direction than the truth did, so the length cannot exceed one.
        length = brentq(lambda k: k * mean_slope(k * spread) - wanted, 0.0, 1.01, xtol=1e-13)
        limit: Floats = length * direction
        return limit

    def simulate(self, rows: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return theta of a logistic regression on noise, and its standard errors (sandwich: the model is wrong)."""
        from askance.learning.answers.indirect_classifier import IndirectClassifier

        clean = rng.multivariate_normal(np.zeros(3), self.covariance, rows)
        labels = (rng.random(rows) < reported(clean @ THETA, *self.flips)).astype(int)
        seen = clean + math.sqrt(self.noise) * rng.standard_normal(clean.shape)
        fitted = IndirectClassifier(None, fit_intercept=False, ridge=0.0, covariance="sandwich").fit(seen, labels)
        return fitted.parameters_, fitted.standard_errors_


CASES = {
    "isotropic": Limit(np.eye(3), 0.0, (P01, P11)),
    "isotropic, x noisy": Limit(np.eye(3), 1.0, (P01, P11)),
    "stretched": Limit(STRETCHED, 0.0, (P01, P11)),
    "stretched, x noisy": Limit(STRETCHED, 1.0, (P01, P11)),
}
SAID = {
    "isotropic": "0",
    "isotropic, x noisy": "0",
    "stretched": "gradient not 0",
    "stretched, x noisy": "partial",
}


def degrees(theta: Floats) -> float:
    """The angle to the true direction."""
    return math.degrees(math.acos(min(1.0, float(theta @ THETA) / float(np.linalg.norm(theta)))))


@reproduces(
    "randomised-response/appendix-b",
    title="Logistic regression that takes flipped labels for true ones: its direction and its length",
    claim="For zero mean isotropic Gaussian inputs training on noisy labels results in a consistent estimator for "
    "theta_0, provided p01 + p10 < 1; for other covariances the gradient at theta_0 is not zero.",
    reference="[RR] appendix B, equations (94)-(107)",
)
def appendix_b(rng: np.random.Generator, quick: bool) -> Result:
    rows = 20_000 if quick else 400_000
    simulated = {name: case.simulate(rows, rng) for name, case in CASES.items()}
    lengths = {flip: Limit(np.eye(3), 0.0, (flip, 1 - flip)) for flip in (0.0, 0.1, 0.2, 0.3, 0.4)}
    seen = {flip: case.simulate(rows, rng) for flip, case in lengths.items()}
    columns: dict[str, list[Any]] = {
        "inputs": list(CASES),
        "angle to theta_0, limit": [degrees(case.theta()) for case in CASES.values()],
        "angle, simulated": [degrees(theta) for theta, _ in simulated.values()],
        "length, limit": [float(np.linalg.norm(case.theta())) for case in CASES.values()],
        "length, simulated": [float(np.linalg.norm(theta)) for theta, _ in simulated.values()],
    }
    return Result(
        (*_derivatives(), *_directions(simulated), *_lengths(seen)),
        columns,
        _draw(simulated, seen),
        note="(107) has a second term that is not there: the derivative of (106) also turns the first factor, which "
        "cancels it. The appendix holds the length of theta fixed. Let free, theta keeps its direction and "
        "loses length: consistent for the direction, not for theta_0. With the length free the direction is right "
        "for every covariance of zero mean Gaussian inputs, not for isotropic ones alone, so whitening is not needed "
        "against flipped labels. Against noise on x as well, isotropic inputs (or a known covariance) are.",
    )


def _derivatives() -> list[Finding]:
    findings = []
    step = 1e-3
    for scale in SCALES:
        here, above, below = (objective(angle, scale) for angle in (0.0, step, -step))
        slope, bend = (above - below) / (2 * step), (above - 2 * here + below) / step**2
        findings += [
            Finding.confirmed(f"s={scale:g}: slope of L' at angle 0", 0.0, slope, 1e-8, "0"),
            Finding.confirmed(f"s={scale:g}: curvature of L', one term", curvature(scale), bend, 1e-5),
            Finding.claimed(
                f"s={scale:g}: (107) as printed, less curvature",
                "erratum",
                curvature_as_printed(scale) - bend,
                at_most=-0.02,
            ),
        ]
    return findings


def _directions(simulated: dict[str, tuple[Floats, Floats]]) -> list[Finding]:
    findings = []
    for name, case in CASES.items():
        limit, (theta, errors) = case.theta(), simulated[name]
        along = float(np.linalg.norm(THETA * errors))
        findings.append(
            Finding.simulated(f"{name}: theta along theta_0", float(THETA @ limit), float(THETA @ theta), along)
        )
        findings.append(
            Finding.simulated(
                f"{name}: sideways part of theta",
                float(SIDEWAYS @ limit),
                float(SIDEWAYS @ theta),
                float(np.linalg.norm(SIDEWAYS * errors)),
                SAID[name],
            )
        )
    turned = degrees(CASES["stretched, x noisy"].theta())
    return [*findings, Finding.claimed("stretched, x noisy: degrees off", "partial", turned, at_least=5)]


def _lengths(seen: dict[float, tuple[Floats, Floats]]) -> list[Finding]:
    findings = []
    for flip, (theta, errors) in seen.items():
        limit = Limit(np.eye(3), 0.0, (flip, 1 - flip)).theta()
        # Along theta_0; the three components are nearly uncorrelated for isotropic inputs.
        error = float(np.sqrt((THETA * errors) @ (THETA * errors)))
        findings.append(
            Finding.simulated(
                f"length, flips of {flip:g}",
                float(np.linalg.norm(limit)),
                float(theta @ THETA),
                error,
                "1" if flip else "",
            )
        )
    lost = float(np.linalg.norm(Limit(np.eye(3), 0.0, ONE_FLIP).theta()))
    return [*findings, Finding.claimed("length at flips of 0.3, of 1", "erratum: consistent", lost, at_most=0.5)]


def _draw(simulated: dict[str, tuple[Floats, Floats]], seen: dict[float, tuple[Floats, Floats]]) -> "Figure":
    figure, (left, middle, right) = panels(3, 13.0, 4.2)
    angles = np.linspace(-math.pi, math.pi, 121)
    small = np.linspace(-0.9, 0.9, 40)
    for scale, colour in zip(SCALES, (BLUE, GREEN, ORANGE), strict=True):
        top = objective(0.0, scale)
        left.plot(
            np.degrees(angles),
            [objective(a, scale) - top for a in angles],
            color=colour,
            lw=1.8,
            label=f"s = {scale:g}",
        )
        left.plot(np.degrees(small), 0.5 * curvature(scale) * small**2, color=colour, lw=1.2, ls=(0, (1, 1)))
        left.plot(np.degrees(small), 0.5 * curvature_as_printed(scale) * small**2, color=colour, lw=1.2, ls=(0, (5, 2)))
    left.plot([], [], color=GREY, lw=1.2, ls=(0, (1, 1)), label="curvature, one term")
    left.plot([], [], color=GREY, lw=1.2, ls=(0, (5, 2)), label="(107) as printed")
    left.set(xlabel="angle α between θ and θ₀ (degrees)", ylabel="L′(α) − L′(0), length of θ fixed", ylim=(-3.3, 0.15))
    left.set_title("(a) direction: largest at the truth", fontsize=11)
    left.legend(frameon=False, fontsize=8, loc="lower center")
    flips = np.linspace(0, 0.49, 50)
    for scale, colour in zip((0.5, 1.0, 2.0, 5.0), (BLUE, INK, GREEN, ORANGE), strict=True):
        limits = [np.linalg.norm(Limit(scale**2 * np.eye(3), 0.0, (flip, 1 - flip)).theta()) for flip in flips]
        middle.plot(flips, limits, color=colour, lw=1.8, label=f"s = {scale:g}")
    style: dict[str, Any] = {"fmt": "o", "ms": 6, "mfc": "white", "mec": INK, "ecolor": INK}
    at = [float(theta @ THETA) for theta, _ in seen.values()]
    middle.errorbar(
        list(seen),
        at,
        [2 * float(np.linalg.norm(errors * THETA)) for _, errors in seen.values()],
        **style,
        label="s = 1, simulated",
    )
    middle.plot(flips, np.ones_like(flips), color=GREY, lw=1.1, ls=(0, (4, 3)), label="the truth")
    middle.set(xlabel="flip probability of labels", ylabel="length of θ (true length 1)", ylim=(0, 1.08))
    middle.set_title("(b) length: lost to the flips", fontsize=11)
    middle.legend(frameon=False, fontsize=8, loc="lower left")
    variances = np.linspace(0, 4, 60)
    for name, covariance, colour in (
        ("isotropic x", np.eye(3), BLUE),
        ("stretched x (variances 4, 1/4, 1)", STRETCHED, VERMILION),
    ):
        off = [degrees(Limit(covariance, v, (P01, P11)).theta()) for v in variances]
        right.plot(variances, off, color=colour, lw=1.8, label=name)
    for name, case in CASES.items():
        right.plot(
            case.noise,
            degrees(simulated[name][0]),
            "o",
            ms=6,
            mfc="white",
            mec=INK,
            label="simulated" if name == "isotropic" else None,
        )
    right.set(xlabel="variance of the noise on x", ylabel="degrees between θ and θ₀")
    right.set_title("(c) noise on x turns θ where x is stretched", fontsize=11)
    right.legend(frameon=False, fontsize=8, loc="center right")
    for axis in (left, middle, right):
        axis.grid(color=MIST, lw=0.8)
    return figure
