"""Learners of somebody else's that stand in for a linear model."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from askance.errors import InvalidInput


def check_base_learner(base: Any, why: str) -> None:
    """Refuse a ``base_estimator`` that does not give probabilities or cannot weight its rows; pipelines will do.

    Parameters
    ----------
    base : scikit-learn classifier, or a Pipeline that ends with one
    why : str
        What the weights are for.
    """
    last = _last_step(base)
    if not hasattr(last, "predict_proba") or not has_fit_parameter(last, "sample_weight"):
        raise InvalidInput(
            f"base_estimator={base!r}", "a classifier with predict_proba whose fit takes sample_weight", why
        )


def learner_name(learner: Any) -> str:
    """Return what a learner is called in a title: the last step of a pipeline.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> learner_name(make_pipeline(StandardScaler(), DecisionTreeClassifier()))
    'DecisionTreeClassifier'
    """
    return type(_last_step(learner)).__name__


def _last_step(learner: Any) -> Any:
    return learner[-1] if isinstance(learner, Pipeline) else learner
