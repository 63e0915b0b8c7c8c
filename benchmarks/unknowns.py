"""Designs with something unknown: coverage of the unknown number and of slopes, and size and power of its test.

Two thousand people in two groups, two covariates, prevalence about .1 and .3; 95% intervals of the unknown number, of
the slope of a covariate that matters (.8) and of one that does not. Seeds 7000 and up; nothing was tried out on them.
A share of 300 sets has a standard error of .013 at .95, so that limits are .90 and .98.
"""

import warnings
from collections.abc import Iterator

import numpy as np

import askance as ask
from askance.errors import AskanceWarning
from benchmarks import Measurement

SETS, PEOPLE, FIRST_SEED = 300, 2000, 7000
SLOPE = 0.8
# Each design: its groups, the unknown number, its value, and its value where people do as they were asked.
DESIGNS = {
    "unrelated question": (
        {"a": ask.UnrelatedQuestion(0.7, ask.Unknown()), "b": ask.UnrelatedQuestion(0.3, ask.Unknown())},
        ("unrelated_prevalence", 0.3, None),
    ),
    "lie detector": (
        {"a": ask.StochasticLieDetector(0.8), "b": ask.StochasticLieDetector(0.4)},
        ("truthful", 0.8, 1.0),
    ),
    "cheaters": (
        {"a": ask.Cheaters(ask.ForcedResponse(0.0, 0.2)), "b": ask.Cheaters(ask.ForcedResponse(0.0, 0.6))},
        ("cheaters", 0.1, 0.0),
    ),
    "extended crosswise": (
        {"a": ask.Cheaters(ask.Crosswise(0.2), says="yes"), "b": ask.Cheaters(ask.Crosswise(0.8), says="yes")},
        ("cheaters", 0.05, 0.0),
    ),
    "anchor": (
        {"a": ask.RandomAnswers(ask.Crosswise(0.15)), "b": ask.Anchor(ask.RandomAnswers(ask.Crosswise(0.15)))},
        ("random_answers", 0.1, 0.0),
    ),
}


def main() -> Iterator[Measurement]:
    for design in DESIGNS:
        for prevalence in (0.1, 0.3):
            found = np.array([covered(design, prevalence, FIRST_SEED + i) for i in range(SETS)])
            what = f"{design}, prevalence {prevalence:g}"
            for name, share in zip(("unknown number", "slope", "null slope"), found[:, :3].mean(axis=0), strict=True):
                yield Measurement(f"{what}: coverage of the {name}", share, "", at_least=0.90, at_most=0.98)
            yield Measurement(f"{what}: true null slope rejected", float(found[:, 3].mean()), "", at_most=0.09)
        _, (_, value, obedient) = DESIGNS[design]
        if obedient is not None:
            p = np.array([test_of(design, obedient, FIRST_SEED + SETS + i) for i in range(SETS)])
            yield Measurement(f"{design}: size of the test", float((p < 0.05).mean()), "", at_most=0.08)
            p = np.array([test_of(design, value, FIRST_SEED + 2 * SETS + i) for i in range(SETS)])
            yield Measurement(f"{design}: power of the test at {value:g}", float((p < 0.05).mean()), "")


def survey(design: str, prevalence: float, value: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, reports and groups of one set."""
    groups, (name, _, _) = DESIGNS[design]
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=PEOPLE), rng.integers(0, 2, PEOPLE)])
    logit = np.log(prevalence / (1 - prevalence)) + SLOPE * X[:, 0]
    truth = np.where(rng.random(PEOPLE) < 1 / (1 + np.exp(-logit)), "yes", "no")
    group = rng.choice(list(groups), PEOPLE)
    return X, ask.DesignPerRow(groups).simulate(truth, rng, group, {name: value}), group


def covered(design: str, prevalence: float, seed: int) -> tuple[bool, bool, bool, bool]:
    """Whether the intervals cover the unknown number, the slope and the null slope; whether the null is rejected."""
    groups, (name, value, _) = DESIGNS[design]
    X, reports, group = survey(design, prevalence, value, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)
        table = ask.IndirectClassifier(groups).fit(X, reports, design=group).summary().to_frame()
    inside = [
        bool(table.loc[row, "lower"] <= truth <= table.loc[row, "upper"])
        for row, truth in ((name, value), ("x0", SLOPE), ("x1", 0.0))
    ]
    return inside[0], inside[1], inside[2], bool(table.loc["x1", "p_value"] < 0.05)


def test_of(design: str, value: float, seed: int) -> float:
    """The p-value of the test that people do as they were asked, without covariates."""
    groups, (name, _, _) = DESIGNS[design]
    _, reports, group = survey(design, 0.2, value, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)
        fitted = ask.Prevalence(groups).fit(reports, design=group)
    return float(fitted.summary().to_frame().loc[name, "p_value"])
