"""[MO] algorithms 1 to 3: how well the learner does with the noisy mean operator that the label provider sends."""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from askance.papers.artefacts import Point, draw_means, panels
from askance.papers.data.labelled_sets import LabelledSet, adult, breast_cancer
from askance.papers.findings import Finding, Result, as_columns
from askance.papers.registry import reproduces
from askance.releases.label_task import Mechanism
from askance.releases.mean_operator_release import (
    MeanOperatorRelease,
    simulate_mean_operator_release,
)
from askance.reports.colours import BLUE, GREEN, GREY, INK, MIST, ORANGE, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # from a level where all is noise to one where nearly nothing is lost
QUICK_ALPHAS = (0.01, 0.1, 1.0)
DELTA = 1e-6  # well below one over the number of people, as is usual
CENTRAL: tuple[Mechanism, ...] = ("laplace", "knorm", "gaussian")
MECHANISMS: tuple[Mechanism, ...] = (*CENTRAL, "response")
STYLES = {
    "laplace": ("Laplace, by the 1-norm", BLUE, "o"),
    "knorm": ("K-norm, by the 2-norm", GREEN, "s"),
    "gaussian": ("Gaussian, δ = 10⁻⁶", ORANGE, "^"),
    "response": ("local response", VERMILION, "D"),
}


class Accuracy(NamedTuple):
    """Of one mechanism at one level on one data set, on rows that were left out."""

    data: str
    mechanism: str
    alpha: float
    mean: float
    standard_error: float
    squared_error: float  # of the mean operator, predicted


def protocol(
    data: LabelledSet, alphas: tuple[float, ...], splits: int, rng: np.random.Generator
) -> tuple[float, list[Accuracy]]:
    """Return the accuracy of clean labels, and that of the two-agent protocol by mechanism and level."""
    from sklearn.linear_model import LogisticRegression

    from askance.learning.totals.mean_operator_classifier import MeanOperatorClassifier

    clean: list[float] = []
    hits: dict[tuple[Mechanism, float], list[float]] = {}
    errors: dict[tuple[Mechanism, float], list[float]] = {}
    for _ in range(splits):
        X, y, X_test, y_test = data.split(rng)
        clean.append(float(LogisticRegression(max_iter=2000).fit(X, y).score(X_test, y_test)))
        for mechanism in MECHANISMS:
            for alpha in alphas:
                release = _release(X, y, alpha, mechanism, rng)
                fitted = MeanOperatorClassifier(ridge="auto").fit(X, release)
                hits.setdefault((mechanism, alpha), []).append(float(fitted.score(X_test, y_test, of="truth")))
                errors.setdefault((mechanism, alpha), []).append(release.predicted[mechanism])
    found = [
        Accuracy(
            data.name,
            mechanism,
            alpha,
            float(np.mean(scores)),
            float(np.std(scores, ddof=1) / math.sqrt(splits)),
            float(np.mean(errors[mechanism, alpha])),
        )
        for (mechanism, alpha), scores in hits.items()
    ]
    return float(np.mean(clean)), found


def _release(X: object, y: object, alpha: float, mechanism: Mechanism, rng: np.random.Generator) -> MeanOperatorRelease:
    delta = DELTA if mechanism == "gaussian" else 0
    return simulate_mean_operator_release(X, y, alpha, delta, mechanism, rng=rng, shape="none")


@reproduces(
    "mean-operator/accuracy",
    title="Accuracy of a model that was trained on a noisy mean operator, by level of privacy",
    claim="The level alpha trades the privacy that the label provider requires off against the utility that the "
    "learner desires; the learner needs nothing but the noisy mean operator and the features.",
    reference="[MO] section 4.2, algorithms 1, 2 and 3",
)
def accuracy(rng: np.random.Generator, quick: bool) -> Result:
    alphas = QUICK_ALPHAS if quick else ALPHAS
    many, few = adult(), breast_cancer()
    clean_many, of_many = protocol(many, alphas, 3 if quick else 10, rng)
    clean_few, of_few = protocol(few, alphas, 5 if quick else 30, rng)
    figure, axes = panels(2, 10.0, 4.4)
    for axis, data, clean, found in zip(axes, (many, few), (clean_many, clean_few), (of_many, of_few), strict=True):
        _draw(axis, data, clean, found)
    axes[0].legend(frameon=False, fontsize=9, loc="lower right")
    return Result(
        (*_of_many(many, clean_many, of_many), *_of_few(few, of_few), *_noise(few, 100 if quick else 1000, rng)),
        as_columns(Accuracy._fields, [*of_many, *of_few]),
        figure,
        note=f"{many.source}, {_size(many)}; {few.source}, {_size(few)}. Two thirds of the rows at random are learned "
        "from. Every mechanism is calibrated to the exact level alpha. The ridge follows from the noise and the "
        "features alone, so that choosing it costs no privacy; the paper leaves that aside. It prints no accuracies.",
    )


# -- checks ----------------------------------------------------------------------------------------------


def _of_many(data: LabelledSet, clean: float, found: list[Accuracy]) -> list[Finding]:
    """Many rows and few features: a total hides one label at little cost."""
    at = {(row.mechanism, row.alpha): row.mean for row in found}
    lost = {alpha: clean - at["laplace", alpha] for alpha in (0.01, 1.0)}
    said = "alpha trades utility for privacy"
    return [
        Finding.claimed(f"{data.name}: accuracy lost, Laplace, alpha=1", said, lost[1.0], at_most=0.01),
        Finding.claimed(f"{data.name}: accuracy lost, Laplace, alpha=.01", said, lost[0.01], at_least=0.02),
        *(
            Finding.claimed(
                f"{data.name}: accuracy, Laplace less local response, alpha={alpha:g}",
                "",
                at["laplace", alpha] - at["response", alpha],
                at_least=0.01,
            )
            for alpha in (0.01, 0.1)
        ),
    ]


def _of_few(data: LabelledSet, found: list[Accuracy]) -> list[Finding]:
    """Few rows and many features: response moves the mean operator less than Laplace noise of the same level."""
    of = {row.mechanism: row.squared_error for row in found if row.alpha == 1.0}
    name = f"{data.name}: squared error of the mean operator, local response to Laplace, alpha=1"
    return [Finding.claimed(name, "", of["response"] / of["laplace"], at_most=1.0)]


def _noise(data: LabelledSet, draws: int, rng: np.random.Generator) -> list[Finding]:
    """The squared error by which mechanisms are chosen is that of their releases."""
    X, y, _, _ = data.split(rng)
    truth = np.concatenate([[y.mean()], y @ X / len(y)])
    findings = []
    for mechanism in MECHANISMS:
        releases = [_release(X, y, 1.0, mechanism, rng) for _ in range(draws)]
        squares = np.array([np.sum((release.operator.values - truth) ** 2) for release in releases])
        findings.append(
            Finding.simulated(
                f"squared error of the mean operator, {mechanism}, alpha=1",
                releases[0].predicted[mechanism],
                float(squares.mean()),
                float(squares.std(ddof=1) / math.sqrt(draws)),
            )
        )
    return findings


# -- figure ----------------------------------------------------------------------------------------------


def _size(data: LabelledSet) -> str:
    rows, width = data.features.shape
    return f"m = {2 * rows // 3:,}, d = {width}"


def _draw(axis: "Axes", data: LabelledSet, clean: float, found: list[Accuracy]) -> None:
    axis.axhline(clean, color=INK, lw=1.2, ls=(0, (4, 2)), label="clean labels")
    majority = max(np.mean(data.labels == 1), np.mean(data.labels == -1))
    axis.axhline(float(majority), color=GREY, lw=1, ls=(0, (1, 2)), label="the more frequent class")
    for mechanism in MECHANISMS:
        mine = [row for row in found if row.mechanism == mechanism]
        name, colour, marker = STYLES[mechanism]
        points = [Point(row.alpha, row.mean, row.standard_error) for row in mine]
        draw_means(axis, points, name, colour, marker)
    axis.set(xscale="log", xlabel="level of privacy α", ylabel="accuracy on rows left out")
    axis.set_title(f"{data.name}: {_size(data)}", fontsize=10)
    axis.grid(color=MIST, lw=0.8)
