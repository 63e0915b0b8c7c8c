"""From a released mean operator and the features that belong to it to a linear classifier: the learner's side."""

from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.learning.totals.mean_operator_classifier import MeanOperatorClassifier
from askance.releases.mean_operator_release import MeanOperatorRelease
from askance.releases.reading import open_release
from askance.tables.people import PeopleFeatures
from askance.workflows.fit_result import FitResult, model_result
from askance.workflows.remarks import collected_remarks


def fit_mean_operator(
    data: StrPath,
    features: StrPath | None,
    id_column: str | None,
    *,
    loss: str = "logistic",
    ridge: str | float = "auto",
    level: float = 0.95,
    command: str = "",
) -> FitResult:
    """Fit a classifier to a released mean operator, once the features are known to be those it was made with.

    Parameters
    ----------
    data : path
        The release (JSON).
    features : path
        A CSV or Parquet file of features.
    id_column : str
        Its column of identifiers.
    loss, ridge
        As for :class:`~askance.MeanOperatorClassifier`.
    level : float
        Confidence level.
    command : str
        What makes the report again.
    """
    import pandas as pd

    release = open_release(data, MeanOperatorRelease)
    if features is None or id_column is None:
        raise InvalidInput(
            f"{data} is a total of labels",
            "the features that belong to it",
            "Say --features FILE and --id COLUMN.",
        )
    public = PeopleFeatures.read(features, id_column, release.columns)
    release.check_features(public.ids, public.columns, public.values)
    named = pd.DataFrame(public.values, columns=list(public.columns))
    with collected_remarks() as remarks:
        model = MeanOperatorClassifier(loss, ridge, fit_intercept=release.intercept).fit(named, release)
    summary, covariance = model.summary(level), model.covariance_
    account = {
        "summary": summary.to_dict(),
        "classes": list(release.classes),
        "parameters": {
            "names": list(model.parameter_names_),
            "estimates": model.parameters_.tolist(),
            "covariance": None if covariance is None else covariance.tolist(),
        },
        "mechanism": release.mechanism,
        "guarantee": release.guarantee.to_dict(),
        "remarks": remarks,
    }
    return model_result(model, summary, account, remarks=remarks, command=command)
