"""From tags that were hidden token by token to a tagger."""

from typing import Any

from askance.engines.base import Engine
from askance.learning.models.families import Chain
from askance.learning.models.indirect_model import IndirectModel
from askance.workflows.fit_result import FitResult, model_result
from askance.workflows.remarks import collected_remarks
from askance.workflows.report_files import OpenReports


def analyse_sequences(opened: OpenReports, engine: str | Engine = "local", command: str = "") -> FitResult:
    """Learn a chain of the true labels from words and hidden ones.

    Parameters
    ----------
    opened : OpenReports
        About a question that hides sequences. A formula such as ``"tags ~ words"`` names the column of words, if there
        are several.
    engine : "local" or an engine
    command : str
        What makes the report again.
    """
    request, asked = opened.request, opened.asked
    channel: Any = asked.channel
    family = Chain(channel.classes, "words")
    with collected_remarks() as remarks:
        model = IndirectModel(family, None, request.method, request.ridge)
        model.fit_release(opened.release, engine, question=asked.name, formula=request.formula)
    account = {
        "estimator": "IndirectModel",
        "method": model.method,
        "sentences": model.n_reports_,
        "tokens": model.n_tokens_,
        "features": model.n_features_in_,
        "tags": model.classes_.tolist(),
        "ridge": float(model.ridge_),
        "converged": bool(model.converged_),
        "guarantee_of_a_token": channel.guarantee.to_dict(),
        "guarantee": channel.guarantee_of(model.longest_).to_dict(),
        "remarks": remarks,
    }
    about: dict[str, Any] = {"whole_person": opened.whole_person, "unprotected": opened.unprotected}
    return model_result(model, model.summary(request.level), account, remarks=remarks, command=command, **about)
