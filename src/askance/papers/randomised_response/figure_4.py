"""[RR] figure 4: what a digit looks like with normal noise on each pixel."""

import math
from pathlib import Path

import numpy as np

from askance.channels.attributes.additive_noise import GaussianNoise
from askance.papers.artefacts import save_figure, save_table
from askance.papers.data.digits import handwritten_digits
from askance.papers.findings import Finding, Outcome
from askance.papers.randomised_response.digit_pictures import Row, draw_rows, typical
from askance.papers.registry import reproduces

VARIANCES = (0.1, 0.5)
PRIOR_VARIANCE = 10.0  # of the paper's prior, with mean zero


@reproduces(
    "randomised-response/figure-4",
    title="A seven and a nine, with normal noise of variance 0.1 and 0.5 on each pixel",
    claim="The image that is sent is significantly blurred.",
    reference="[RR] section 6.1, figure 4, equations (66)-(69)",
)
def figure_4(output_dir: Path, rng: np.random.Generator, quick: bool) -> Outcome:
    from askance.learning.records.posterior_draws import NormalDraw
    from askance.papers.randomised_response.baselines import reconstruct

    digits = handwritten_digits()
    each, _ = digits.most_each(500, 0)
    others = digits.split(min(each, 100) if quick else each, 0, rng)
    shown = [typical(digits, digit) for digit in digits.classes]
    pictures = digits.scaled(np.vstack([digits.pictures[shown], others.X]))
    sent, guessed = [[picture] for picture in pictures[:2]], [[picture] for picture in pictures[:2]]
    findings: list[Finding] = []
    columns: dict[str, list[float | str]] = {"variance": [], "picture": [], "squared error": []}
    for variance in VARIANCES:
        channel = GaussianNoise(math.sqrt(variance), dim=pictures.shape[1])
        reports = channel.simulate(pictures, rng)
        noise = reports - pictures
        wide = NormalDraw.under_prior(
            reports, np.full(reports.shape[1], variance), np.zeros(reports.shape[1]), np.full(reports.shape[1], 10.0)
        ).mean
        learned = reconstruct(channel, reports)
        for k in range(2):
            sent[k].append(reports[k])
            guessed[k].append(learned[k])
        errors = [float(np.mean((x - pictures) ** 2)) for x in (reports, wide, learned)]
        kept = PRIOR_VARIANCE / (PRIOR_VARIANCE + variance)
        findings += [
            Finding.simulated(
                f"variance of the noise, {variance:g}",
                variance,
                float(noise.var()),
                variance * math.sqrt(2 / noise.size),
                f"{variance:g}",
            ),
            Finding.confirmed(
                f"{variance:g}: (68), share of the report kept", kept, float((wide / reports).mean()), 1e-9
            ),
            Finding.claimed(
                f"{variance:g}: squared error, paper's prior to sent",
                "quite uninformative",
                errors[1] / errors[0],
                at_least=0.9,
            ),
            Finding.claimed(
                f"{variance:g}: squared error, learned prior to sent", "", errors[2] / errors[0], at_most=0.7
            ),
        ]
        columns["variance"] += [variance] * 3
        columns["picture"] += ["as sent", "paper's prior", "learned prior"]
        columns["squared error"] += errors
    rows: list[Row] = []
    for digit, lines in zip(digits.classes, zip(sent, guessed, strict=True), strict=True):
        rows += [(f"“{digit}”, as sent", lines[0]), ("reconstructed", lines[1])]
    titles = ["clean", *(f"σ² = {variance:g}" for variance in VARIANCES)]
    bounded = GaussianNoise(math.sqrt(0.1), dim=pictures.shape[1], bounds=(0.0, 1.0)).guarantee
    return Outcome(
        tuple(findings),
        plots=(save_figure(draw_rows(digits, titles, rows), output_dir / "figure-4.png"),),
        data=(save_table(columns, output_dir / "figure-4.csv"),),
        note=f"{digits.source}, brightness from 0 to 1. The paper's figure is a picture only. We add the mean of each "
        "pixel given its report under a normal prior that is learned from the reports. The paper's own prior, of "
        f"mean 0 and variance 10, leaves reports as they are. Noise of variance 0.1 on pixels in [0, 1]: {bounded}.",
    )
