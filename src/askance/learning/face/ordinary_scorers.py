"""A guard against scikit-learn's own scorers, which take reports for the truth.

``cross_val_score(model, X, reports, scoring="roc_auc")`` compares predictions of the truth with randomised reports, and
shows a number that is about the noise. A scorer never tells an estimator what it compares with, so the guard looks at
who asks for predictions.
"""

import inspect
import warnings
from typing import Any

import numpy as np

from askance.errors import AskanceWarning

_FAR = 12  # calls between a scorer and a model inside of a Pipeline inside of a search
_SCORERS = "sklearn.metrics._scorer"
_OURS = "askance.metrics.scorers"


def notice_ordinary_scorer(model: Any) -> None:
    """Warn if a scorer of scikit-learn's asks a model of hidden labels for predictions."""
    if not hasattr(type(model), "label_channel_"):  # a model that learns from something other than labels
        return
    frame = inspect.currentframe()
    for _ in range(_FAR):
        frame = None if frame is None else frame.f_back
        if frame is None or frame.f_globals.get("__name__") == _OURS:
            return
        if frame.f_globals.get("__name__") == _SCORERS and frame.f_code.co_name == "_score":
            break
    else:
        return
    # Where every report can come from one truth only, nothing is hidden.
    if np.count_nonzero(model.label_channel_.matrix, axis=1).max() > 1:
        warnings.warn(
            "A scorer of scikit-learn compares predictions of the truth with the labels it was given. If these are "
            "reports, the score is about noise: use scoring=askance.scorer('roc_auc'), which undoes it. If they are "
            "the truth, say so: scoring=askance.scorer('roc_auc', of='truth').",
            AskanceWarning,
            stacklevel=2,
        )
