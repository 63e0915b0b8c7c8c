"""A guard against what takes reports for the truth in scikit-learn.

``cross_val_score(model, X, reports, scoring="roc_auc")`` compares predictions of the truth with randomised reports, and
shows a number that is about the noise; ``CalibratedClassifierCV`` makes probabilities of the truth into probabilities
of reports. Neither tells an estimator what it is asked for, so the guard looks at who asks for predictions.
"""

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from askance.errors import AskanceWarning

_FAR = 30  # calls between who compares and a model inside of a Pipeline inside of an ensemble
_OURS = "askance.metrics.scorers"

_SCORED = (
    "A scorer of scikit-learn compares predictions of the truth with the labels it was given. If these are reports, "
    "the score is about noise: use scoring=askance.scorer('roc_auc'), which undoes it. If they are the truth, say so: "
    "scoring=askance.scorer('roc_auc', of='truth')."
)
_DRAWN = (
    "A figure of scikit-learn compares predictions of the truth with the labels it was given. If these are reports, it "
    "shows the noise: draw askance.metrics.roc_curve, calibration or confusion_matrix, each with plot(), which undo it."
)
_ENSEMBLE = (
    "An ensemble of scikit-learn is scored by the labels it was given. If these are reports, the score is about noise: "
    "use askance.scorer('accuracy', channel), which undoes it."
)
_LEARNED = (
    "A calibration or a stack of scikit-learn learns from predictions of the truth and the labels it was given. If "
    "these are reports, its probabilities will be those of reports. predict_proba is about the truth already; "
    "askance.metrics.calibration shows how near it comes."
)
# Whose calls of which functions compare: modules by their beginnings.
_WHO_ASKS = (
    ("sklearn.metrics._scorer", {"_score"}, _SCORED),
    ("sklearn.metrics._plot", {"from_estimator", "from_cv_results"}, _DRAWN),
    ("sklearn.calibration", {"from_estimator"}, _DRAWN),
    ("sklearn.calibration", {"fit", "_fit_classifier_calibrator_pair"}, _LEARNED),
    ("sklearn.ensemble._stacking", {"fit"}, _LEARNED),
    ("sklearn.base", {"score"}, _ENSEMBLE),
)


def notice_ordinary_scorer(model: Any) -> None:
    """Warn if scikit-learn asks a model of hidden labels for predictions to compare them with labels."""
    if not hasattr(type(model), "label_channel_"):  # a model that learns from something other than labels
        return
    said = _what_for()
    # Where every report can come from one truth only, nothing is hidden.
    if said and np.count_nonzero(model.label_channel_.matrix, axis=1).max() > 1:
        warnings.warn(said, AskanceWarning, stacklevel=3)


def is_drawn_again() -> bool:
    """Whether an ensemble of scikit-learn fits to rows that it drew with replacement, some of them several times."""
    return any(module.startswith("sklearn.ensemble._bagging") for module, _ in _callers())


def _what_for() -> str:
    """Say what predictions are compared with, if those who ask for them are known to compare."""
    for module, function in _callers():
        if module == _OURS:
            return ""
        for beginning, functions, said in _WHO_ASKS:
            if module.startswith(beginning) and function in functions:
                return said
    return ""


def _callers() -> Iterator[tuple[str, str]]:
    """Module and function of who called, who called that one, and so on."""
    frame = inspect.currentframe()
    for _ in range(_FAR):
        frame = None if frame is None else frame.f_back
        if frame is None:
            return
        yield frame.f_globals.get("__name__", ""), frame.f_code.co_name
