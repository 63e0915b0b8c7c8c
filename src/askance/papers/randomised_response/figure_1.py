"""[RR] figure 1: learning from reconstructions of a hidden bit is not consistent."""

from typing import TYPE_CHECKING, Any

import numpy as np

from askance.arrays import Floats
from askance.channels.labels.surveys import Warner
from askance.papers.artefacts import panels
from askance.papers.findings import Finding, Result
from askance.papers.registry import reproduces
from askance.reports.colours import BLUE, GREEN, GREY, INK, MIST, ORANGE, VERMILION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLIPS = (0.0, 0.05, 0.1, 0.2, 0.4)  # probabilities p_f
COLOURS = (INK, BLUE, GREEN, ORANGE, VERMILION)
SHOWN = 0.3  # the true theta of the curves
GRID = np.linspace(0.001, 0.999, 999)  # of theta, in steps of .001
TRUTHS = np.linspace(0.05, 0.95, 19)  # in steps of .05


def noisy_share(truth: Floats | float, flip: float) -> Floats | float:
    """The probability of reporting 1."""
    return (1 - flip) * truth + flip * (1 - truth)


def posterior_of_one(theta: Floats | float, report: int, flip: float) -> Floats:
    """p_theta(x = 1 | report), equation (37)."""
    kept = 1 - flip if report else flip
    one, zero = kept * np.asarray(theta), (1 - kept) * (1 - np.asarray(theta))
    chance: Floats = one / (one + zero)
    return chance


def objective(theta: Floats | float, truth: float, flip: float) -> Floats:
    """J_infinity of equation (38): the expected log-probability of the reconstruction."""
    share = float(noisy_share(truth, flip))
    ones = share * posterior_of_one(theta, 1, flip) + (1 - share) * posterior_of_one(theta, 0, flip)
    value: Floats = ones * np.log(theta) + (1 - ones) * np.log1p(-np.asarray(theta))
    return value


def best_theta(truth: float, flip: float) -> float:
    """Where J_infinity is largest, on a grid as fine as a thousandth."""
    return float(GRID[np.argmax(objective(GRID, truth, flip))])


def flat_reconstruction(truth: Floats | float, flip: float) -> Floats | float:
    """The limit of theta when records are reconstructed under a flat prior that does not follow theta."""
    return flip + (1 - 2 * flip) * noisy_share(truth, flip)


@reproduces(
    "randomised-response/figure-1",
    title="Reconstructing the truth and learning from that: where theta goes, by the true theta",
    claim="For a consistent estimator each plot would be the line theta = theta_0; with reconstruction that is so only "
    "without noise, p_f = 0.",
    reference="[RR] section 4.3, equations (36)-(38), figure 1",
)
def figure_1(rng: np.random.Generator, quick: bool) -> Result:
    from askance.learning.answers.prevalence import Prevalence

    voters = 20_000 if quick else 400_000
    channel = Warner(0.8)
    spread: list[tuple[float, float, float]] = []
    flat: list[tuple[float, float, float]] = []
    weights = posterior_of_one(0.5, 0, 0.2), posterior_of_one(0.5, 1, 0.2)
    for truth in TRUTHS[::3]:
        votes = np.where(rng.random(voters) < truth, "yes", "no")
        reports = channel.simulate(votes, rng)
        fitted = Prevalence(channel).fit(reports)
        # The votes are drawn as well: the standard error is that of the whole experiment.
        spread.append((float(truth), float(fitted.proportions_[1]), float(fitted.standard_errors_[1])))
        ones = np.where(reports == "yes", weights[1], weights[0])
        flat.append((float(truth), float(ones.mean()), float(ones.std(ddof=1) / np.sqrt(voters))))
    columns = {"true theta": list(TRUTHS)} | {
        f"reconstruction, flip {flip:g}": [best_theta(truth, flip) for truth in TRUTHS] for flip in FLIPS
    }
    return Result(
        (*_where_it_goes(), *_simulations(spread, flat)),
        columns,
        _draw(spread),
        note="With any noise J is highest at theta = 0 and at theta = 1, where it is zero whatever the truth: there "
        "the reconstruction agrees with the model because the model allows nothing else. On a grid inside (0, 1) the "
        "nearer end wins. With little noise there is a lower maximum near the truth besides. The paper prints no "
        "numbers. A reconstruction by a fixed flat prior has a finite limit, which is wrong as well.",
    )


def _where_it_goes() -> list[Finding]:
    said = "not theta_0"
    return [
        Finding.confirmed("p_f=0: best theta, true 0.3", SHOWN, best_theta(SHOWN, 0.0), 1e-3, "theta_0"),
        *(
            Finding.claimed(
                f"p_f={flip:g}: largest |best theta - theta_0|",
                said,
                max(abs(best_theta(truth, flip) - float(truth)) for truth in TRUTHS),
                at_least=0.1,
            )
            for flip in FLIPS[1:]
        ),
        *(
            Finding.confirmed(f"p_f=0.2: J near theta={end:g}", 0.0, float(objective(near, SHOWN, 0.2)), 1e-4)
            for end, near in ((0, 1e-6), (1, 1 - 1e-6))
        ),
        Finding.claimed("p_f=0.2: J at the truth", said, float(objective(SHOWN, SHOWN, 0.2)), at_most=-0.1),
    ]


def _simulations(spread: list[tuple[float, float, float]], flat: list[tuple[float, float, float]]) -> list[Finding]:
    return [
        *(
            Finding.simulated(f"p_f=0.2: spread likelihood, true {truth:.2f}", truth, mean, error, "theta_0")
            for truth, mean, error in spread
        ),
        *(
            Finding.simulated(
                f"p_f=0.2: reconstruction by a flat prior, true {truth:.2f}",
                float(flat_reconstruction(truth, 0.2)),
                mean,
                error,
            )
            for truth, mean, error in (flat[0], flat[-1])
        ),
    ]


def _draw(spread: list[tuple[float, float, float]]) -> "Figure":
    figure, (left, right) = panels(2, 10.4, 4.4)
    theta = np.linspace(1e-4, 1 - 1e-4, 2000)
    fine = np.linspace(0.005, 0.995, 198)  # without one half, where both ends are as good
    steps: dict[tuple[float, ...], list[int]] = {}
    for number, (flip, colour) in enumerate(zip(FLIPS, COLOURS, strict=True)):
        name = f"flip {flip:g}" if flip else "no noise"
        left.plot(theta, objective(theta, SHOWN, flip), color=colour, lw=1.8, label=name)
        steps.setdefault(tuple(best_theta(truth, flip) for truth in fine), []).append(number)
    for goes, levels in steps.items():  # one line for all noise levels that lead to the same place
        flips = [f"{FLIPS[number]:g}" for number in levels]
        right.plot(fine, goes, color=COLOURS[levels[-1]], lw=1.8, label=f"reconstruction, flip {', '.join(flips)}")
    left.axvline(SHOWN, color=GREY, lw=1.1, ls=(0, (4, 3)), zorder=1)
    left.annotate(f"true θ₀ = {SHOWN:g}", (SHOWN, -2.4), (5, 0), textcoords="offset points", color=GREY, fontsize=9)
    left.set(xlabel="θ", ylabel="reconstruction objective J∞(θ)", ylim=(-2.5, 0.1))
    left.set_title("(a) what is maximised", fontsize=11)
    left.legend(frameon=False, fontsize=9, loc="lower right", bbox_to_anchor=(0.84, 0.0))
    truth, mean, error = np.array(spread).T
    style: dict[str, Any] = {"fmt": "o", "ms": 6, "mfc": "white", "mec": INK, "ecolor": INK}
    right.errorbar(truth, mean, 2 * error, label="spread likelihood, flip 0.2: simulated", **style)
    right.plot(fine, flat_reconstruction(fine, 0.2), color=GREY, lw=1.4, ls=(0, (4, 3)), label="flat prior, flip 0.2")
    right.set(xlabel="true θ₀", ylabel="θ that is learned")
    right.set_title("(b) where it is largest", fontsize=11)
    right.legend(frameon=False, fontsize=8.5, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    for axis in (left, right):
        axis.grid(color=MIST, lw=0.8)
    return figure
