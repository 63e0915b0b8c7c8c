"""Three published surveys: what they found, from their own answers."""

from typing import Any

import numpy as np

from askance.papers.artefacts import panels
from askance.papers.data.survey_sets import BIRTHDAY, DIE, LIES, Answers, minarets, nigeria, plagiarism
from askance.papers.findings import Finding, Result, as_columns
from askance.papers.registry import reproduces
from askance.reports.colours import BLUE

_TABLE = ("model", "parameter", "estimate", "std. error", "p", "from", "to")


@reproduces(
    "surveys/nigeria",
    title="Contact with armed groups in the Niger Delta, by forced response",
    claim="About 26% of the respondents have contact with members of armed groups.",
    reference="[surveys] Blair, Imai & Zhou (2015)",
)
def contact_with_armed_groups(rng: np.random.Generator, quick: bool) -> Result:
    from askance.learning.answers.indirect_classifier import IndirectClassifier
    from askance.learning.answers.prevalence import Prevalence
    from askance.learning.surveys.hidden_predictor import HiddenPredictor

    answers = nigeria()
    share = Prevalence(DIE).fit(answers.reports)
    age = answers.covariates["age"] / 10
    known = {**answers.covariates, "age": age, "age squared": age**2}
    civic = known.pop("civic")
    X = np.column_stack(list(known.values()))
    regression = IndirectClassifier(DIE).fit(X, answers.reports)
    predictor = HiddenPredictor({"contact": DIE}, "logistic").fit(X, civic.astype(int), {"contact": answers.reports})
    rows = [
        *_rows("prevalence", share),
        *_rows("who has contact", regression, dict(zip([f"x{i}" for i in range(len(known))], known, strict=True))),
        *_rows("who is active", predictor, dict(zip([f"x{i}" for i in range(len(known))], known, strict=True))),
    ]
    findings = [_stated("prevalence", 0.26, float(share.proportions_[1]), 0.005, answers)]
    return Result(findings, as_columns(_TABLE, rows), _drawn(rows), note=_note(answers))


@reproduces(
    "surveys/minarets",
    title="Approval of a ban on minarets, by a stochastic lie detector",
    claim="Two groups tell the share who approve together with the share of these who say so (no printed number).",
    reference="[surveys] Radukic & Musch (2014); Heck & Moshagen (2018)",
)
def ban_on_minarets(rng: np.random.Generator, quick: bool) -> Result:
    from askance.learning.answers.indirect_classifier import IndirectClassifier
    from askance.learning.answers.prevalence import Prevalence

    answers = minarets()
    asked = answers.where(answers.design != "direct")
    share = Prevalence(LIES).fit(asked.reports, design=asked.design)
    regression = IndirectClassifier(LIES).fit(
        np.column_stack(list(asked.covariates.values())), asked.reports, design=asked.design
    )
    yes = {name: float((asked.reports[asked.design == name] == "yes").mean()) for name in LIES}
    # Two groups, two unknowns: yes = share t + (1 - share)(1 - p) has one solution.
    carriers = 1 - (yes["2/12"] - yes["10/12"]) / (8 / 12)
    truthful = (yes["2/12"] - (1 - carriers) * 10 / 12) / carriers
    names = dict(zip(("x0", "x1"), asked.covariates, strict=True))
    rows = [*_rows("prevalence", share), *_rows("who approves", regression, names)]
    found = {row[1]: float(row[2]) for row in rows[: 1 + len(share.classes_)]}
    findings = [
        Finding.confirmed("share who approve, by hand and fitted", carriers, found["yes"], 1e-3),
        Finding.confirmed("carriers who tell the truth, by hand and fitted", truthful, found["truthful"], 1e-3),
    ]
    return Result(findings, as_columns(_TABLE, rows), _drawn(rows), note=_note(answers))


@reproduces(
    "surveys/plagiarism",
    title="Plagiarism by students, by the crosswise design and directly",
    claim="Partial plagiarism: 22.3% by the crosswise design, 7.3% directly. Severe plagiarism: 1.6% and 1.0%.",
    reference="[surveys] Jann, Jerke & Krumpal (2012)",
)
def plagiarism_by_students(rng: np.random.Generator, quick: bool) -> Result:
    from askance.learning.answers.indirect_classifier import IndirectClassifier
    from askance.learning.answers.prevalence import Prevalence

    answers = plagiarism()
    published = {("crosswise", 1): 0.223, ("direct", 1): 0.073, ("crosswise", 0): 0.016, ("direct", 0): 0.010}
    rows, findings = [], []
    for (design, kind), value in published.items():
        chosen = answers.where((answers.design == design) & (answers.covariates["partial"] == kind))
        fitted = Prevalence(BIRTHDAY[design]).fit(chosen.reports)
        word = f"{'partial' if kind else 'severe'}, {design}"
        rows += [row for row in _rows(word, fitted) if row[1] == "yes"]
        findings.append(_stated(word, value, float(fitted.unbiased_[1]), 0.0005, answers))
    both = answers.where(answers.covariates["partial"] == 1)
    asked = (both.design == "crosswise").astype(float)[:, None]
    effect = IndirectClassifier(BIRTHDAY).fit(asked, both.reports, design=both.design)
    rows += [row for row in _rows("partial", effect, {"x0": "crosswise against direct"}) if row[1] != "Intercept"]
    return Result(findings, as_columns(_TABLE, rows), _drawn(rows), note=_note(answers))


def _stated(what: str, published: float, ours: float, tolerance: float, answers: Answers) -> Finding:
    """A published number, if these are the published data; otherwise what made-up answers must come near."""
    if answers.stand_in:
        return Finding.measured(what, "(of other data)", ours, at_least=-0.15, at_most=0.6)
    return Finding.computed(what, published, ours, tolerance)


def _rows(model: str, fitted: Any, names: dict[str, str] | None = None) -> list[tuple[Any, ...]]:
    """The summary of a fit, with the names of covariates."""
    summary = fitted.summary()
    wanted = [0, 1, 3, 4, 5]
    return [
        (model, (names or {}).get(name, name), *(float(value) for value in line[wanted]))
        for name, line in zip(summary.names, summary.values, strict=True)
    ]


def _drawn(rows: list[tuple[Any, ...]]) -> Any:
    """Estimates with their intervals, from the first at the top."""
    figure, (axis,) = panels(1, 7, 0.6 + 0.28 * len(rows))
    values = np.array([row[2:] for row in rows], dtype=float)
    at = -np.arange(len(rows))
    ends = np.where(np.isfinite(values[:, 3:5]), values[:, 3:5], values[:, :1])  # an open end is drawn as none
    axis.hlines(at, ends[:, 0], ends[:, 1], color=BLUE)
    axis.plot(values[:, 0], at, "o", color=BLUE)
    axis.axvline(0, color="0.7", lw=0.8)
    axis.set_yticks(at, [f"{row[0]}: {row[1]}" for row in rows])
    axis.set_xlabel("estimate and 95% interval")
    return figure


def _note(answers: Answers) -> str:
    if answers.stand_in:
        return (
            "Made-up answers of the same design: set ASKANCE_DATA to a folder with the surveys to make the published "
            "numbers again."
        )
    return f"Data: {answers.source}."
