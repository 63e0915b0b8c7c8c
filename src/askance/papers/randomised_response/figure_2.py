"""[RR] figure 2: what a digit looks like when each pixel is kept or becomes any other shade."""

import math
from pathlib import Path

import numpy as np

from askance.channels.attributes.row_channel import RowChannel
from askance.channels.attributes.state_flip import StateFlip
from askance.channels.labels.surveys import Warner
from askance.papers.artefacts import save_figure, save_table
from askance.papers.data.digits import handwritten_digits
from askance.papers.findings import Finding, Outcome
from askance.papers.randomised_response.digit_pictures import Row, draw_rows, typical
from askance.papers.registry import reproduces

FLIPS = (0.1, 0.2, 0.3, 0.4)


@reproduces(
    "randomised-response/figure-2",
    title="A seven and a nine, with each pixel flipped to any other shade with probability p_f",
    claim="Each pixel remains in its state with probability 1 - p_f and is otherwise sampled uniformly from the other "
    "states.",
    reference="[RR] section 6, figure 2",
)
def figure_2(output_dir: Path, rng: np.random.Generator, quick: bool) -> Outcome:
    from askance.papers.randomised_response.baselines import reconstruct

    digits = handwritten_digits()
    each, _ = digits.most_each(250, 0)
    others = digits.split(min(each, 100) if quick else each, 0, rng)
    shown = [typical(digits, digit) for digit in digits.classes]
    pictures = np.vstack([digits.pictures[shown], others.X])
    labels = np.concatenate([digits.labels[shown], others.y])
    rows: list[Row] = []
    sent, guessed = [[digits.scaled(picture)] for picture in pictures[:2]], [[digits.scaled(p)] for p in pictures[:2]]
    findings: list[Finding] = []
    heads = ("flip", "kept", "error, as sent", "error, reconstructed", "epsilon")
    columns: dict[str, list[float]] = {head: [] for head in heads}
    for flip in FLIPS:
        channel = RowChannel(
            StateFlip(digits.states, flip, dim=pictures.shape[1]), label=Warner(1 - flip, classes=digits.classes)
        )
        reports, _ = channel.simulate((pictures, labels), rng)
        means = reconstruct(channel, reports)
        for k in range(2):
            sent[k].append(digits.scaled(reports[k]))
            guessed[k].append(digits.scaled(means[k]))
        findings += _law(digits.states, flip, pictures, reports.astype(np.int64))
        noisy, better = (float(np.mean(digits.scaled(x - pictures) ** 2)) for x in (reports.astype(float), means))
        findings.append(
            Finding.claimed(f"p_f={flip:g}: squared error, reconstructed to sent", "", better / noisy, at_most=0.8)
        )
        epsilon = channel.guarantee.epsilon
        exact = pictures.shape[1] * math.log((1 - flip) * (digits.states - 1) / flip) + math.log((1 - flip) / flip)
        findings.append(Finding.confirmed(f"p_f={flip:g}: exact epsilon", exact, epsilon, 1e-6 * exact))
        for name, value in zip(
            columns, (flip, float(np.mean(reports == pictures)), noisy, better, epsilon), strict=True
        ):
            columns[name].append(value)
    for digit, lines in zip(digits.classes, zip(sent, guessed, strict=True), strict=True):
        rows += [(f"“{digit}”, as sent", lines[0]), ("reconstructed", lines[1])]
    titles = ["clean", *(f"p_f = {flip:g}" for flip in FLIPS)]
    per_pixel = math.log(0.9 * (digits.states - 1) / 0.1)
    return Outcome(
        tuple(findings),
        plots=(save_figure(draw_rows(digits, titles, rows), output_dir / "figure-2.png"),),
        data=(save_table(columns, output_dir / "figure-2.csv"),),
        note=f"{digits.source}. The paper's figure is a picture only. We add what a reader of the reports can make of "
        "each: the mean of every pixel given its report, under a prior learned from the reports of all pictures. "
        f"At p_f = 0.1 the level is {per_pixel:.3g} for each pixel and {columns['epsilon'][0]:.0f} for picture "
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
