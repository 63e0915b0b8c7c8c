"""[RR] figure 2: what a digit looks like when each pixel is kept or becomes any other shade."""

import math

import numpy as np

from askance.channels.attributes.row_channel import RowChannel
from askance.channels.attributes.state_flip import StateFlip
from askance.channels.labels.surveys import Warner
from askance.papers.data.digits import handwritten_digits
from askance.papers.findings import Finding, Result, as_columns
from askance.papers.randomised_response.digit_pictures import Gallery, pictures_to_hide
from askance.papers.registry import reproduces

FLIPS = (0.1, 0.2, 0.3, 0.4)  # of the paper's figures 2 and 3
# What a reconstruction may err, to what was sent. The prior of 256 shades is learned from the pictures, and few
# pictures teach it little: at p_f = .1 it leaves .88 of the error with 200 of them, and less than .8 with 500.
_GAIN, _GAIN_OF_FEW = 0.8, 0.95


@reproduces(
    "randomised-response/figure-2",
    title="A seven and a nine, with each pixel flipped to any other shade with probability p_f",
    claim="Each pixel remains in its state with probability 1 - p_f and is otherwise sampled uniformly from the other "
    "states.",
    reference="[RR] section 6, figure 2",
)
def figure_2(rng: np.random.Generator, quick: bool) -> Result:
    from askance.papers.randomised_response.baselines import reconstruct

    digits = handwritten_digits()
    pictures, labels = pictures_to_hide(digits, 250, rng, quick)
    gallery = Gallery(digits, digits.scaled(pictures))
    findings: list[Finding] = []
    rows: list[tuple[float, ...]] = []
    for flip in FLIPS:
        channel = RowChannel(
            StateFlip(digits.states, flip, dim=pictures.shape[1]), label=Warner(1 - flip, classes=digits.classes)
        )
        reports, _ = channel.simulate((pictures, labels), rng)
        means = reconstruct(channel, reports)
        gallery.add(digits.scaled(reports), digits.scaled(means))
        findings += _law(digits.states, flip, pictures, reports.astype(np.int64))
        noisy, better = (float(np.mean(digits.scaled(x - pictures) ** 2)) for x in (reports.astype(float), means))
        name, least = f"p_f={flip:g}: squared error, reconstructed to sent", _GAIN_OF_FEW if quick else _GAIN
        findings.append(Finding.claimed(name, "", better / noisy, at_most=least))
        epsilon = channel.guarantee.epsilon
        exact = pictures.shape[1] * math.log((1 - flip) * (digits.states - 1) / flip) + math.log((1 - flip) / flip)
        findings.append(Finding.confirmed(f"p_f={flip:g}: exact epsilon", exact, epsilon, 1e-6 * exact))
        rows.append((flip, float(np.mean(reports == pictures)), noisy, better, epsilon))
    per_pixel = math.log(0.9 * (digits.states - 1) / 0.1)
    return Result(
        findings,
        as_columns(("flip", "kept", "error, as sent", "error, reconstructed", "epsilon"), rows),
        gallery.draw([f"p_f = {flip:g}" for flip in FLIPS]),
        note=f"{digits.source}. The paper's figure is a picture only. We add what a reader of the reports can make of "
        "each: the mean of every pixel given its report, under a prior learned from the reports of all pictures. "
        f"At p_f = 0.1 the level is {per_pixel:.3g} for each pixel and {rows[0][-1]:.0f} for picture "
        "and label together: next to no protection of the picture, whatever it looks like.",
    )


def _law(states: int, flip: float, pictures: np.ndarray, reports: np.ndarray) -> list[Finding]:
    """A pixel is kept with probability 1 - p_f, and otherwise any other shade comes equally often."""
    kept = reports == pictures
    share, size = float(kept.mean()), kept.size
    # The distance to the next shade up, around the circle of shades, is uniform on 1 ... K - 1.
    steps = ((reports - pictures) % states)[~kept]
    spread = math.sqrt((states * (states - 2)) / 12 / len(steps))
    return [
        Finding.simulated(
            f"p_f={flip:g}: share of pixels kept", 1 - flip, share, math.sqrt(flip * (1 - flip) / size), f"{1 - flip:g}"
        ),
        Finding.simulated(
            f"p_f={flip:g}: mean shift of the others", states / 2, float(steps.mean()), spread, "uniform"
        ),
    ]
