"""``askance demo``: a whole private study on bundled data, from the plan to the report.

The respondents are simulated: each is a row drawn with replacement from scikit-learn's breast-cancer data (569 real
patients), so their true answers and covariates are real and known, and every estimate can be held against the truth.
Their answers are hidden with the operating system's entropy, as real ones would be: no two runs are alike.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    import pyarrow as pa

    from askance.reports.report import Report

EPSILON = 1.5
FORMULA = "malignant ~ texture + smoothness"
# Features of the cells in a picture of the tumour; their logarithms follow a logistic model well.
_COVARIATES = {"texture": "mean texture", "smoothness": "mean smoothness"}
_FARTHEST = 6.0  # standard errors: far beyond chance, so that only a defect can fail the demonstration


def demo(
    output: Annotated[Path, typer.Option(help="Folder for the study, the release and the report.")] = Path(
        "askance-demo"
    ),
    respondents: Annotated[int, typer.Option(min=2000, help="How many people to simulate.")] = 5000,
) -> None:
    """Run a whole private study on bundled data: plan, privatise, release, audit, fit, report.

    Ends with 0 only if it worked: the audit passed, the fits converged, and every estimate is within six standard
    errors of the truth, which is known here.
    """
    from askance.cli.output import console

    show = console().print

    def step(number: int, title: str) -> None:
        show(f"\n{number}. {title}", style="bold")

    _make_folder(output)
    show("A private study, from the plan to the report", style="bold")
    show(
        f"{respondents:,} simulated respondents, each a row drawn with replacement from scikit-learn's breast-cancer "
        "data\n(569 real patients). Was the tumour malignant? Everybody answers through randomised response.",
        markup=False,
    )
    truth = simulated_respondents(respondents)
    step(1, "Plan: how precise will it be, and at which price in privacy?")
    show(_plan(respondents), markup=False)
    step(2, "Study: what is asked, and how the answers are hidden")
    study_file, answers = _write_study(output, truth)
    show(study_file.read_text(encoding="utf-8").strip(), markup=False)
    step(3, "Privatise: every answer is randomised with the operating system's entropy")
    release_file, said = _privatize(study_file, answers, output / "release.parquet")
    show(said, markup=False)
    step(4, "Audit: is the promised privacy the privacy that is given?")
    audited, passed = _audit(study_file)
    show(audited, markup=False)
    step(5, "Fit: what the reports say about the truth")
    marginal, moments = (_fit(release_file, method, output) for method in ("marginal", "moments"))
    known = true_values(truth)
    show("\n".join(_side_by_side(known, marginal, moments)), markup=False)
    problems = _problems(known, {"marginal": marginal, "moments": moments}, passed)
    for problem in problems:
        show(f"FAILED: {problem}", style="bold red", markup=False)
    step(6, "Look at it, and go on")
    show(_next_steps(output, study_file, answers, release_file), markup=False)
    raise typer.Exit(1 if problems else 0)


def simulated_respondents(number: int) -> "pa.Table":
    """Draw respondents, truth included, from real rows: a yes/no answer and standardised covariates."""
    import numpy as np
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = list(data.feature_names)
    logs = np.log(data.data[:, [names.index(feature) for feature in _COVARIATES.values()]])
    standard = (logs - logs.mean(axis=0)) / logs.std(axis=0)
    rows = np.random.default_rng().integers(0, len(standard), number)
    answers = np.where(data.target[rows] == 0, "yes", "no")  # the data set calls malignant 0
    columns = {name: standard[rows, i].round(4) for i, name in enumerate(_COVARIATES)}
    return pa.table({"malignant": answers} | columns)


def true_values(truth: "pa.Table") -> dict[str, float]:
    """What asking everybody directly would have found: the share of "yes", and ordinary logistic regression."""
    import numpy as np

    from askance.learning.answers.indirect_classifier import IndirectClassifier

    answers = np.array(truth["malignant"].to_pylist())
    features = np.column_stack([truth[name].to_numpy() for name in _COVARIATES])
    direct = IndirectClassifier().fit(features, answers)
    slopes = dict(zip(_COVARIATES, direct.coef_[0].tolist(), strict=True))
    return {"share of yes": float((answers == "yes").mean()), "Intercept": float(direct.intercept_[0])} | slopes


def _make_folder(output: Path) -> None:
    from askance.errors import InvalidInput

    if output.exists() and not output.is_dir():
        raise InvalidInput(f"{output} is a file", "a folder to write the demonstration into")
    output.mkdir(parents=True, exist_ok=True)


def _plan(respondents: int) -> str:
    from askance.channels.labels.finite import Identity
    from askance.channels.labels.randomized_response import RandomizedResponse
    from askance.planning.study_plan import plan

    classes = ("no", "yes")
    designs: dict[str, Any] = {
        f"randomised response, epsilon {epsilon:g}": RandomizedResponse(classes, epsilon=epsilon)
        for epsilon in (EPSILON / 2, EPSILON, 2 * EPSILON)
    }
    designs["asked directly"] = Identity(classes)
    return str(plan(designs, prevalence=0.4, n=respondents, epsilon=EPSILON))


def _write_study(output: Path, truth: "pa.Table") -> tuple[Path, Path]:
    from pyarrow import csv

    from askance.channels.labels.randomized_response import RandomizedResponse
    from askance.files.targets import write_text
    from askance.releases.declarations import Covariate, Question
    from askance.releases.study import Study

    asked = Question("malignant", RandomizedResponse(("no", "yes"), epsilon=EPSILON), "Was your tumour malignant?")
    covariates = tuple(Covariate(name, "number") for name in _COVARIATES)
    study = Study((asked,), covariates, "tumours", "Tumours: a private study")
    write_text(output / "study.toml", study.to_toml())
    # The truth is on disk only because this is a demonstration; a real study never has it in one place.
    csv.write_csv(truth, output / "answers.csv")
    return output / "study.toml", output / "answers.csv"


def _privatize(study_file: Path, answers: Path, release_file: Path) -> tuple[Path, str]:
    from askance.releases.privatizing import privatize_file
    from askance.releases.study import Study

    study = Study.read(study_file)
    done = privatize_file(study, answers, release_file, overwrite=True)
    return release_file, (
        f"{done.release.num_rows:,} rows in {release_file}\n{study.guarantee}\n{study.guarantee.in_words()}"
    )


def _audit(study_file: Path) -> tuple[str, bool]:
    from askance.planning.auditing.channel_audit import audit
    from askance.releases.study import Study

    audited = audit(Study.read(study_file).questions[0].channel, draws=400_000, error_rate=1e-6)
    return str(audited), audited.passed


def _fit(release_file: Path, method: str, output: Path) -> "Report":
    from askance.releases.release import Release
    from askance.workflows.analysis import analyse

    target = output / "report.html"
    command = f'askance fit {release_file} --formula "{FORMULA}" --report {target}'
    done = analyse(Release.read(release_file), formula=FORMULA, method=method, command=command)
    if method == "marginal":
        done.write(report=target)
    return cast("Report", done.report)


def estimates(report: "Report", *, naive: bool = False) -> dict[str, Sequence[float]]:
    """Return estimate, standard error, z, p and limits of the share of "yes" and of every coefficient."""
    found: dict[str, Sequence[float]] = {}
    for comparison in (report.prevalence, report.regression):
        table = None if comparison is None else comparison.naive if naive else comparison.askance
        if table is not None:
            found |= dict(zip(table.names, table.values.tolist(), strict=True))
    found["share of yes"] = found.pop("yes")
    found.pop("no")
    return found


def _side_by_side(known: Mapping[str, float], marginal: "Report", moments: "Report") -> list[str]:
    from askance.reports.number_format import number
    from askance.reports.text_table import aligned

    likely, unbiased, naive = estimates(marginal), estimates(moments), estimates(marginal, naive=True)
    rows, inside = [], 0
    for name, truth in known.items():
        estimate, _, _, _, low, high = likely[name]
        holds = low <= truth <= high
        inside += holds
        interval = f"[{number(low, 3)}, {number(high, 3)}]"
        values = (truth, naive[name][0], estimate)
        covers = "yes" if holds else "no"
        rows.append([name, *(number(v, 3) for v in values), interval, covers, number(unbiased[name][0], 3)])
    heads = ["", "truth", "naive (wrong)", "askance", "95% interval", "holds the truth", "moments"]
    off = {name: abs(naive[name][0] - truth) / naive[name][1] for name, truth in known.items()}
    worst = max(off, key=lambda name: off[name])
    return [
        *aligned(heads, rows),
        "truth: everybody asked directly. naive: the reports taken as the truth. askance: maximum likelihood.",
        f"{inside} of {len(known)} intervals hold the truth (each misses about once in twenty studies). "
        f"The naive analysis is off by up to {off[worst]:.0f} of its own standard errors ({worst}).",
    ]


def _problems(known: Mapping[str, float], reports: "Mapping[str, Report]", audit_passed: bool) -> list[str]:
    """Say what did not work; nothing, in an honest run."""
    problems = [] if audit_passed else ["the audit did not pass"]
    for method, report in reports.items():
        if not report.diagnostics.converged:
            problems.append(f"the {method} fit did not converge")
        found = estimates(report)
        for name, truth in known.items():
            distance = abs(found[name][0] - truth) / found[name][1]
            if not (math.isfinite(distance) and distance < _FARTHEST):
                problems.append(f"{name} by {method} is {distance:.1f} standard errors from the truth")
    return problems


def _next_steps(output: Path, study_file: Path, answers: Path, release_file: Path) -> str:
    return "\n".join(
        [
            f"Open      {output / 'report.html'}",
            f'Fit       askance fit {release_file} --formula "{FORMULA}"',
            f"Audit     askance audit {study_file}",
            f"Hide more: lower epsilon in {study_file}, then",
            f"          askance privatize {study_file} {answers} --out {release_file} --overwrite",
            "Your own  write a study.toml like this one; askance fit also takes a CSV of collected reports (--study)",
        ]
    )
