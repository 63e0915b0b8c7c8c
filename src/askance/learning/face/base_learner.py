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
    last = base[-1] if isinstance(base, Pipeline) else base
    if not hasattr(last, "predict_proba") or not has_fit_parameter(last, "sample_weight"):
        raise InvalidInput(
            f"base_estimator={base!r}", "a classifier with predict_proba whose fit takes sample_weight", why
        )
