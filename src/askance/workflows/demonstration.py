"""A whole private study on bundled data, step by step, from the plan to the report.

The respondents are simulated: each is drawn from the 569 real patients of scikit-learn's breast-cancer data, with
measurements moved a little, so that nobody is there twice. Their true answers are known, and every estimate can be held
against the truth.
Their answers are hidden with the operating system's entropy, as real ones would be: no two runs are alike.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from pyarrow import csv

from askance.channels.labels.finite import Identity
from askance.channels.labels.randomized_response import RandomizedResponse
from askance.errors import InvalidInput
from askance.files.kinds import FileKind
from askance.files.targets import check_target, write_text, written_whole
from askance.learning.answers.indirect_classifier import IndirectClassifier
from askance.planning.auditing.audit_report import AuditReport
from askance.planning.auditing.channel_audit import audit
from askance.planning.study_plan import plan
from askance.printing import one_line, shell_command
from askance.releases.declarations import Covariate, Question
from askance.releases.privatizing import privatize_file
from askance.releases.release import Release
from askance.releases.study import Study
from askance.reports.number_format import number
from askance.reports.report import Report
from askance.reports.text_table import aligned
from askance.workflows.analysis import analyse

METHODS = ("marginal", "moments")
# Features of the cells in a picture of the tumour; their logarithms follow a logistic model well.
_COVARIATES = {"texture": "mean texture", "smoothness": "mean smoothness"}
_MOVED = 0.1  # standard deviations: the same patient again would be noticed, as somebody who answered twice
_FARTHEST = 6.0  # standard errors: far beyond chance, so that only a defect can fail the demonstration
# Enough draws to find a probability that is off by a hundredth; the audit of an honest channel never fails by chance.
_DRAWS, _AUDIT_ERROR_RATE = 400_000, 1e-6
_TITLE = "Tumours: a private study"
# By what an earlier demonstration is known: nobody else's study and answers are written over.
_STUDY = FileKind("the study of a demonstration", rb'(?s).*?\ntitle = "' + _TITLE.encode() + b'"')
_ANSWERS = FileKind("the answers of a demonstration", rb'"malignant","texture","smoothness"\r?\n')


@dataclass(frozen=True)
class DemoStudy:
    """The files of the study, and what is done with them. Steps must be taken in the order of the methods.

    Parameters
    ----------
    folder : Path
        Where the study, the answers, the release and the report are written, over earlier ones.
    respondents : int
        How many people to simulate.
    """

    EPSILON: ClassVar[float] = 1.5  # an even guess gets at most 82% sure, and 5000 respondents still tell something
    FORMULA: ClassVar[str] = "malignant ~ texture + smoothness"

    folder: Path
    respondents: int

    @property
    def study_file(self) -> Path:
        """The study."""
        return self.folder / "study.toml"

    @property
    def answers(self) -> Path:
        """True answers, on disk only because this is a demonstration; a real study never has them in one place."""
        return self.folder / "answers.csv"

    @property
    def release_file(self) -> Path:
        """The hidden answers."""
        return self.folder / "release.parquet"

    @property
    def report_file(self) -> Path:
        """The page about the results."""
        return self.folder / "report.html"

    def make_folder(self) -> None:
        """Make the folder; refuse a file in its place, and a folder with files of these names from elsewhere."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InvalidInput(f"{self.folder} is a file", "a folder to write the demonstration into")
        self.folder.mkdir(parents=True, exist_ok=True)
        check_target(self.study_file, _STUDY, overwrite=True)
        if not self.study_file.exists():
            for other in (self.answers, self.release_file, self.report_file):
                if os.path.lexists(other):
                    raise InvalidInput(
                        f"{other} is there, and no study of a demonstration beside it",
                        "a folder of its own for the demonstration",
                        "Name another one: --out FOLDER.",
                    )

    def plan(self) -> str:
        """Say how precise the study will be, and at which price in privacy."""
        classes = ("no", "yes")
        designs: dict[str, Any] = {
            f"randomised response, epsilon {epsilon:g}": RandomizedResponse(classes, epsilon=epsilon)
            for epsilon in (self.EPSILON / 2, self.EPSILON, 2 * self.EPSILON)
        }
        designs["asked directly"] = Identity(classes)
        return str(plan(designs, prevalence=0.4, n=self.respondents, epsilon=self.EPSILON))

    def write_study(self) -> str:
        """Write the study and the true answers; return the study's text."""
        asked = Question(
            "malignant", RandomizedResponse(("no", "yes"), epsilon=self.EPSILON), "Was your tumour malignant?"
        )
        covariates = tuple(Covariate(name, "number") for name in _COVARIATES)
        text = Study((asked,), covariates, "tumours", _TITLE).to_toml()
        write_text(self.study_file, text, _STUDY)
        with written_whole(self.answers, _ANSWERS) as part:
            csv.write_csv(self.truth, part)
        return text

    def privatize(self) -> str:
        """Hide the answers, write the release, and say how private it is."""
        study = Study.read(self.study_file)
        done = privatize_file(study, self.answers, self.release_file, overwrite=True)
        rows = one_line(f"{done.release.num_rows:,} rows in {self.release_file}")
        return f"{rows}\n{study.guarantee}\n{study.guarantee.in_words()}"

    def audit(self) -> AuditReport:
        """Check that the promised privacy is the privacy that is given."""
        return audit(Study.read(self.study_file).questions[0].channel, draws=_DRAWS, error_rate=_AUDIT_ERROR_RATE)

    def fit(self) -> "DemoResult":
        """Fit by every method, write the page about the first, and hold the estimates against the truth."""
        release = Release.read(self.release_file)
        words = (self.release_file, "--formula", self.FORMULA, "--report", self.report_file)
        command = shell_command("askance", "fit", *words)
        done = {method: analyse(release, formula=self.FORMULA, method=method, command=command) for method in METHODS}
        done[METHODS[0]].write(report=self.report_file)
        return DemoResult(
            true_values(self.truth), {method: cast(Report, fitted.report) for method, fitted in done.items()}
        )

    @cached_property
    def truth(self) -> pa.Table:
        """The respondents, truth included."""
        return simulated_respondents(self.respondents)


@dataclass(frozen=True, eq=False)
class DemoResult:
    """Estimates of the demonstration, and the truth that they are held against.

    Parameters
    ----------
    truth : mapping from names to numbers
        What asking everybody directly would have found.
    reports : mapping from methods to Report
    """

    truth: Mapping[str, float]
    reports: Mapping[str, Report]

    def problems(self, audit_passed: bool) -> list[str]:
        """Say what did not work; nothing, in an honest run."""
        problems = [] if audit_passed else ["the audit did not pass"]
        for method, report in self.reports.items():
            if not report.diagnostics.converged:
                problems.append(f"the {method} fit did not converge")
            found = estimates(report)
            for name, truth in self.truth.items():
                distance = abs(found[name][0] - truth) / found[name][1]
                if not (math.isfinite(distance) and distance < _FARTHEST):
                    problems.append(f"{name} by {method} is {distance:.1f} standard errors from the truth")
        return problems

    def account(self) -> dict[str, Any]:
        """Return truth and estimates for programs."""
        naive = estimates(self.reports[METHODS[0]], naive=True)
        return {
            name: {"truth": truth, "naive": naive[name][0]}
            | {method: estimates(report)[name][0] for method, report in self.reports.items()}
            for name, truth in self.truth.items()
        }

    def __str__(self) -> str:
        marginal, moments = (self.reports[method] for method in METHODS)
        likely, unbiased, naive = estimates(marginal), estimates(moments), estimates(marginal, naive=True)
        rows, inside = [], 0
        for name, truth in self.truth.items():
            estimate, _, _, _, low, high = likely[name]
            holds = low <= truth <= high
            inside += holds
            interval = f"[{number(low, 3)}, {number(high, 3)}]"
            values = (truth, naive[name][0], estimate)
            covers = "yes" if holds else "no"
            rows.append([name, *(number(v, 3) for v in values), interval, covers, number(unbiased[name][0], 3)])
        heads = ["", "truth", "naive (wrong)", "askance", "95% interval", "holds the truth", "moments"]
        off = {name: abs(naive[name][0] - truth) / naive[name][1] for name, truth in self.truth.items()}
        worst = max(off, key=lambda name: off[name])
        return "\n".join(
            [
                *aligned(heads, rows),
                "truth: everybody asked directly. naive: the reports taken as the truth. askance: maximum likelihood.",
                f"{inside} of {len(rows)} intervals hold the truth (each misses about once in twenty studies). "
                f"The naive analysis is off by up to {off[worst]:.0f} of its own standard errors ({worst}).",
            ]
        )


def simulated_respondents(number: int) -> pa.Table:
    """Draw respondents, truth included, from about real rows: a yes/no answer and standardised covariates."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = list(data.feature_names)
    logs = np.log(data.data[:, [names.index(feature) for feature in _COVARIATES.values()]])
    standard = (logs - logs.mean(axis=0)) / logs.std(axis=0)
    rng = np.random.default_rng()
    rows = rng.integers(0, len(standard), number)
    moved = (standard[rows] + _MOVED * rng.normal(size=(number, standard.shape[1]))) / math.hypot(1, _MOVED)
    answers = np.where(data.target[rows] == 0, "yes", "no")  # the data set calls malignant 0
    columns = {name: moved[:, i].round(4) for i, name in enumerate(_COVARIATES)}
    return pa.table({"malignant": answers} | columns)


def true_values(truth: pa.Table) -> dict[str, float]:
    """What asking everybody directly would have found: the share of "yes", and ordinary logistic regression."""
    answers = np.array(truth["malignant"].to_pylist())
    features = np.column_stack([truth[name].to_numpy() for name in _COVARIATES])
    direct = IndirectClassifier().fit(features, answers)
    slopes = dict(zip(_COVARIATES, direct.coef_[0].tolist(), strict=True))
    return {"share of yes": float((answers == "yes").mean()), "Intercept": float(direct.intercept_[0])} | slopes


def estimates(report: Report, *, naive: bool = False) -> dict[str, Sequence[float]]:
    """Return estimate, standard error, z, p and limits of the share of "yes" and of every coefficient."""
    found: dict[str, Sequence[float]] = {}
    for comparison in (report.prevalence, report.regression):
        table = None if comparison is None else comparison.naive if naive else comparison.askance
        if table is not None:
            found |= dict(zip(table.names, table.values.tolist(), strict=True))
    found["share of yes"] = found.pop("yes")
    found.pop("no")
    return found
