"""From a release or a table to a survey model: lists of items, joint tables, hidden predictors, links and groups."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.learning.surveys.answer_regression import AnswerRegression
from askance.learning.surveys.hidden_predictor import HiddenPredictor
from askance.learning.surveys.joint_table import JointTable
from askance.learning.surveys.list_experiment import ListExperiment
from askance.releases.study import Study
from askance.workflows.fit_result import FitResult, model_result
from askance.workflows.remarks import collected_remarks
from askance.workflows.report_files import open_everything


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
    weight : str, optional
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
    level: float = 0.95

    def fit(self, release: Any) -> Any:
        """Return the fitted model."""
        if self.treatment is not None:
            return ListExperiment().fit_release(
                release,
                question=self.question,
                treatment=self.treatment,
                direct=self.direct,
                formula=self.formula,
                weight=self.weight,
            )
        if self.joint:
            return JointTable().fit_release(release, questions=self.joint, weight=self.weight)
        if self.link is not None or self.groups is not None:
            return AnswerRegression(link=self.link or "logit").fit_release(
                release, question=self.question, formula=self.formula, groups=self.groups, weight=self.weight
            )
        if self.formula is None:
            raise InvalidInput("no formula", 'such as "grade ~ age + hidden(cheated)"')
        return HiddenPredictor(family=self.family).fit_release(release, formula=self.formula, weight=self.weight)


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
    release = open_everything(data, None if study is None else Study.read(study))
    with collected_remarks() as remarks:
        model = request.fit(release)
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
    return model_result(model, summary, account, remarks=remarks, command=command)
