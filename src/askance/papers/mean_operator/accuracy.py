"""[MO] algorithms 1 to 3: how well the learner does with the noisy mean operator that the label provider sends."""

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from askance.errors import AskanceWarning
from askance.papers.artefacts import Point, draw_means, panels
from askance.papers.data.labelled_sets import LabelledSet, adult, breast_cancer
from askance.papers.findings import Finding, Result, as_columns
from askance.papers.mean_operator.objective_perturbation import minimiser, perturbed, with_constant
from askance.papers.registry import reproduces
from askance.releases.label_task import Mechanism
from askance.releases.mean_operator_release import (
    MeanOperatorRelease,
    simulate_mean_operator_release,
)
from askance.reports.colours import BLUE, GREEN, GREY, INK, MIST, ORANGE, PURPLE, VERMILION
from askance.solvers.progress import steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # from a level where all is noise to one where nearly nothing is lost
QUICK_ALPHAS = (0.01, 0.1, 1.0)  # some of them, for a quick run
DELTA = 1e-6  # well below one over the number of people, as is usual
CENTRAL: tuple[Mechanism, ...] = ("laplace", "knorm", "gaussian")
MECHANISMS: tuple[Mechanism, ...] = (*CENTRAL, "response")
STYLES = {
    "laplace": ("Laplace, by the 1-norm", BLUE, "o"),
    "knorm": ("K-norm, by the 2-norm", GREEN, "s"),
    "gaussian": ("Gaussian, δ = 10⁻⁶", ORANGE, "^"),
    "response": ("local response", VERMILION, "D"),
    "objective": ("objective perturbation, whole records", PURPLE, "v"),
}
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)  # of objective perturbation, of which the best in hindsight is shown


class Accuracy(NamedTuple):
    """Of one mechanism at one level on one data set, on rows that were left out."""

    data: str
    mechanism: str
    alpha: float
    mean: float
    standard_error: float
    squared_error: float  # of the mean operator, predicted


def protocol(
    data: LabelledSet,
    alphas: tuple[float, ...],
    splits: int,
    rng: np.random.Generator,
    penalties: tuple[float, ...] = PENALTIES,
) -> tuple[float, list[Accuracy]]:
    """Return the accuracy of clean labels, and that of the two-agent protocol by mechanism and level."""
    from sklearn.linear_model import LogisticRegression

    from askance.learning.totals.mean_operator_classifier import MeanOperatorClassifier

    clean: list[float] = []
    hits: dict[tuple[Mechanism, float], list[float]] = {}
    errors: dict[tuple[Mechanism, float], list[float]] = {}
    objective: dict[float, list[list[float]]] = {alpha: [] for alpha in alphas}
    for _ in steps(range(splits)):
        X, y, X_test, y_test = data.split(rng)
        clean.append(float(LogisticRegression(max_iter=2000).fit(X, y).score(X_test, y_test)))
        for mechanism in MECHANISMS:
            for alpha in alphas:
                release = _release(X, y, alpha, mechanism, rng)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", AskanceWarning)  # how little a strong level leaves is what is drawn
                    fitted = MeanOperatorClassifier(ridge="auto").fit(X, release)
                hits.setdefault((mechanism, alpha), []).append(float(fitted.score(X_test, y_test, of="truth")))
                errors.setdefault((mechanism, alpha), []).append(release.predicted[mechanism])
        for alpha in alphas:
            thetas = [perturbed(with_constant(X), y, alpha, penalty, rng) for penalty in penalties]
            scores = [float(np.mean(np.sign(with_constant(X_test) @ theta) == y_test)) for theta in thetas]
            objective[alpha].append(scores)
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
    for alpha, tried in objective.items():
        best = np.array(tried)[:, int(np.mean(tried, axis=0).argmax())]
        error = float(np.std(best, ddof=1) / math.sqrt(splits))
        found.append(Accuracy(data.name, "objective", alpha, float(best.mean()), error, math.nan))
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
    penalties = PENALTIES[1:3] if quick else PENALTIES
    sets = ((many, 3 if quick else 10), (few, 5 if quick else 30))
    (clean_many, of_many), (clean_few, of_few) = [
        protocol(data, alphas, splits, rng, penalties) for data, splits in steps(sets)
    ]
    figure, axes = panels(2, 10.0, 4.4)
    for axis, data, clean, found in zip(axes, (many, few), (clean_many, clean_few), (of_many, of_few), strict=True):
        _draw(axis, data, clean, found)
    axes[0].legend(frameon=False, fontsize=9, loc="lower right")
    return Result(
        (
            *_of_many(many, clean_many, of_many),
            *_of_few(few, of_few),
            *_noise(few, 100 if quick else 1000, rng),
            _same_algorithm(few, rng),
        ),
        as_columns(Accuracy._fields, [*of_many, *of_few]),
        figure,
        note=f"{many.source}, {_size(many)}; {few.source}, {_size(few)}. Two thirds of the rows at random are learned "
        "from. Every mechanism is calibrated to the exact level alpha. The ridge follows from the noise and the "
        "features alone, so that choosing it costs no privacy; the paper leaves that aside. It prints no "
        "accuracies. Objective perturbation hides features as well as labels, and shares theta alone; its penalty "
        f"is the best of {len(penalties)} in hindsight.",
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
        Finding.claimed(
            f"{data.name}: accuracy, Laplace on labels less objective perturbation of records, alpha=.1",
            "",
            at["laplace", 0.1] - at["objective", 0.1],
            at_least=-0.01,
        ),
    ]


def _of_few(data: LabelledSet, found: list[Accuracy]) -> list[Finding]:
    """Few rows and many features: response moves the mean operator less than Laplace noise of the same level."""
    of = {row.mechanism: row.squared_error for row in found if row.alpha == 1.0}
    name = f"{data.name}: squared error of the mean operator, local response to Laplace, alpha=1"
    return [Finding.claimed(name, "", of["response"] / of["laplace"], at_most=1.0)]


def _same_algorithm(data: LabelledSet, rng: np.random.Generator) -> Finding:
    """Noise b.theta / n in the objective is noise -2 b / n in the mean operator (a = 1), whatever its law."""
    X, y, _, _ = data.split(rng)
    noise = rng.standard_normal(X.shape[1])
    penalty = 0.01
    by_objective = minimiser(X, y, penalty, noise)
    # All labels 1 and all -1 have the even part in common; what is left is linear in the mean operator.
    operator = (y @ X - 2 * noise) / len(X)
    ones = np.ones(len(X))
    by_operator = minimiser(X, ones, penalty, len(X) / 2 * (ones @ X / len(X) - operator))
    return Finding.computed(
        "theta by objective perturbation less theta by the mean operator, largest", 0.0,
        float(np.abs(by_objective - by_operator).max()), 1e-5,
    )  # fmt: skip


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
    for mechanism, (name, colour, marker) in STYLES.items():
        mine = [row for row in found if row.mechanism == mechanism]
        points = [Point(row.alpha, row.mean, row.standard_error) for row in mine]
        draw_means(axis, points, name, colour, marker)
    axis.set(xscale="log", xlabel="level of privacy α", ylabel="accuracy on rows left out")
    axis.set_title(f"{data.name}: {_size(data)}", fontsize=10)
    axis.grid(color=MIST, lw=0.8)
