"""Fitted linear classifiers as plain scikit-learn ones, for deployment without this library."""

from typing import Any

import numpy as np


def plain_classifier(fitted: Any, kind: Any = None) -> Any:
    """Return a scikit-learn classifier with the classes and coefficients of a fitted one of ours.

    Parameters
    ----------
    fitted : estimator with classes_, coef_, intercept_ and n_iter_
    kind : class, optional
        Of linear classifier; LogisticRegression if not given.
    """
    from sklearn.linear_model import LogisticRegression

    logistic = kind is None or kind is LogisticRegression
    plain = (LogisticRegression if kind is None else kind)(fit_intercept=fitted.fit_intercept)
    plain.classes_ = fitted.classes_.copy()
    plain.coef_ = fitted.coef_.copy()
    plain.intercept_ = fitted.intercept_.copy()
    # scikit-learn's LogisticRegression counts iterations by class, its other linear models do not.
    plain.n_iter_ = np.array([fitted.n_iter_], dtype=np.int32) if logistic else fitted.n_iter_
    plain.n_features_in_ = fitted.coef_.shape[1]
    if hasattr(fitted, "feature_names_in_"):
        plain.feature_names_in_ = fitted.feature_names_in_.copy()
    return plain
