"""[RR] figure 4: what a digit looks like with normal noise on each pixel."""

import math

import numpy as np

from askance.channels.attributes.additive_noise import GaussianNoise
from askance.papers.data.digits import handwritten_digits
from askance.papers.findings import Finding, Result, as_columns
from askance.papers.randomised_response.digit_pictures import Gallery, pictures_to_hide
from askance.papers.registry import reproduces

VARIANCES = (0.1, 0.5)  # of the noise, as in the paper
PRIOR_VARIANCE = 10.0  # of the paper's prior, with mean zero


@reproduces(
    "randomised-response/figure-4",
    title="A seven and a nine, with normal noise of variance 0.1 and 0.5 on each pixel",
    claim="The image that is sent is significantly blurred.",
    reference="[RR] section 6.1, figure 4, equations (66)-(69)",
)
def figure_4(rng: np.random.Generator, quick: bool) -> Result:
    from askance.learning.records.posterior_draws import NormalDraw
    from askance.papers.randomised_response.baselines import reconstruct

    digits = handwritten_digits()
    pictures = digits.scaled(pictures_to_hide(digits, 500, rng, quick).states)
    gallery = Gallery(digits, pictures)
    findings: list[Finding] = []
    rows: list[tuple[float, str, float]] = []
    for variance in VARIANCES:
        channel = GaussianNoise(math.sqrt(variance), dim=pictures.shape[1])
        reports = channel.simulate(pictures, rng)
        noise = reports - pictures
        wide = NormalDraw.under_prior(
            reports,
            np.full(reports.shape[1], variance),
            np.zeros(reports.shape[1]),
            np.full(reports.shape[1], PRIOR_VARIANCE),
        ).mean
        learned = reconstruct(channel, reports)
        gallery.add(reports, learned)
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
        names = ("as sent", "paper's prior", "learned prior")
        rows += [(variance, name, error) for name, error in zip(names, errors, strict=True)]
    bounded = GaussianNoise(math.sqrt(0.1), dim=pictures.shape[1], bounds=(0.0, 1.0)).guarantee
    return Result(
        findings,
        as_columns(("variance", "picture", "squared error"), rows),
        gallery.draw([f"σ² = {variance:g}" for variance in VARIANCES]),
        note=f"{digits.source}, brightness from 0 to 1. The paper's figure is a picture only. We add the mean of each "
        "pixel given its report under a normal prior that is learned from the reports. The paper's own prior, of "
        f"mean 0 and variance 10, leaves reports as they are. Noise of variance 0.1 on pixels in [0, 1]: {bounded}.",
    )
