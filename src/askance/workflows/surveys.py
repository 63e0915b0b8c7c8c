"""From a release or a table to a survey model: lists of items, joint tables, hidden predictors, links and groups."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.learning.surveys.answer_regression import AnswerRegression
from askance.learning.surveys.hidden_predictor import HiddenPredictor
from askance.learning.surveys.joint_table import JointTable
from askance.learning.surveys.list_experiment import ListExperiment
from askance.releases.declarations import Sample
from askance.releases.header import Header
from askance.releases.study import Study
from askance.workflows.fit_result import FitResult, model_result
from askance.workflows.remarks import collected_remarks
from askance.workflows.report_files import MADE_UP, open_columns


@dataclass(frozen=True)
class SurveyRequest:
    """What is to be learned from several columns of a survey; which model, is seen by what is given.

    Parameters
    ----------
    formula : str, optional
        With ``hidden(question)`` in it, a regression on hidden predictors.
    family : str
        Of the outcome of such a regression: linear, logistic, poisson or ordered.
    joint : sequence of str
        Questions of a joint table.
    treatment, direct : str, optional
        Of a list experiment: whose list had the sensitive item; answers to the direct question.
    question : str, optional
        The counts of a list experiment, or the answer to explain.
    link, groups : str, optional
        Of a regression of hidden answers: another link, and a column of groups with random intercepts.
    weight, strata, cluster : str, optional
    missing : "refuse" or "drop", optional
        All as the study declares them, if not given; an empty name says that there is no such column.
    level : float
    """

    formula: str | None = None
    family: str = "linear"
    joint: tuple[str, ...] = ()
    treatment: str | None = None
    direct: str | None = None
    question: str | None = None
    link: str | None = None
    groups: str | None = None
    weight: str | None = None
    strata: str | None = None
    cluster: str | None = None
    missing: str | None = None
    level: float = 0.95

    def of_sample(self, sample: Sample) -> "SurveyRequest":
        """Return the request with the sample, and the way with missing values, that a study declares."""
        named = ("weight", "strata", "cluster")
        said: dict[str, Any] = {name: getattr(self, name) for name in named}
        said = {name: (getattr(sample, name) if value is None else value) or None for name, value in said.items()}
        return replace(self, **said, missing=self.missing or sample.missing)

    @property
    def _sampled(self) -> dict[str, Any]:
        return {"weight": self.weight, "strata": self.strata, "cluster": self.cluster}

    def columns(self, header: Header) -> tuple[str, ...]:
        """The columns of a study that the fit reads, those of designs among them."""
        named = {self.treatment, self.direct, self.question, self.groups, *self._sampled.values(), *self.joint}
        if self.formula is not None:
            words = re.findall(r"`([^`]+)`|([\w.]+)", self.formula)
            named |= {quoted or plain for quoted, plain in words}
        elif not self.joint and self.question is None:
            named |= {question.name for question in header.questions}
        questions = [one for one in header.questions if one.name in named] or list(header.questions)
        named |= {name for one in questions for name in (one.name, one.design_column)}
        return tuple(name for name in header.schema.names if name in named)

    def fit(self, release: Any) -> Any:
        """Return the fitted model."""
        if self.treatment is not None:
            return ListExperiment().fit_release(
                release,
                question=self.question,
                treatment=self.treatment,
                direct=self.direct,
                formula=self.formula,
                **self._sampled,
            )
        if self.joint:
            return JointTable().fit_release(release, questions=self.joint, **self._sampled)
        if self.link is not None or self.groups is not None:
            return AnswerRegression(link=self.link or "logit").fit_release(
                release, question=self.question, formula=self.formula, groups=self.groups, **self._sampled
            )
        if self.formula is None:
            raise InvalidInput("no formula", 'such as "grade ~ age + hidden(cheated)"')
        return HiddenPredictor(family=self.family).fit_release(release, formula=self.formula, **self._sampled)


def _passed_over(sample: Sample, cluster: str | None) -> list[str]:
    """What the study says about the sample and these models do not use."""
    said = []
    if sample.fpc:
        said.append(
            f"The study's fpc ({sample.fpc}) is not used by this model: its errors are those of a large population, "
            "and if anything too large."
        )
    if sample.replicate_weights and not cluster:
        said.append(
            f"The study's {len(sample.replicate_weights)} replicate weights are not used by this model: its errors are "
            "those of people drawn one by one, and too small where people of one cluster are alike. A single question "
            "with --formula uses them; --cluster names the clusters, if they are published."
        )
    return said


def analyse_survey(data: StrPath, study: Path | None, request: SurveyRequest, command: str = "") -> FitResult:
    """Fit a survey model to a release, or to a table of reports that a study describes.

    Parameters
    ----------
    data : path or address
    study : path, optional
        The study file, if the data are no release.
    request : SurveyRequest
    command : str
        What makes the report again.
    """
    headers: list[Header] = []

    def wanted(header: Header) -> tuple[tuple[str, ...], bool]:
        headers.append(header)
        asked = request.of_sample(header.sample)
        return asked.columns(header), asked.missing == "drop"

    release, missing = open_columns(data, None if study is None else Study.read(study), wanted)
    sample = headers[0].sample
    with collected_remarks() as remarks:
        model = request.of_sample(sample).fit(release)
    lacking = missing.sentence() if missing is not None else ""
    made_up = [MADE_UP] if release.header.made_up else []
    remarks[:0] = [
        *made_up,
        *([lacking] if lacking else []),
        *_passed_over(sample, request.cluster),
    ]
    summary = model.summary(request.level)
    account = {
        "model": type(model).__name__,
        "summary": summary.to_dict(),
        "parameters": {
            "names": list(model.parameter_names_),
            "estimates": model.parameters_.tolist(),
            "covariance": model.covariance_.tolist(),
        },
        "guarantee": model.guarantee_.to_dict(),
        "remarks": remarks,
    }
    (header,) = headers  # of the whole study, although a table may have been read in part
    about: dict[str, Any] = {"whole_person": header.guarantee_of(release.longest), "unprotected": header.unprotected}
    return model_result(model, summary, account, remarks=remarks, command=command, **about)
