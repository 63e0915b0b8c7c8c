"""The choices that a softmax regression is made with."""

from typing import Any

import numpy as np

from askance.errors import InvalidInput
from askance.learning.face.requested_ridge import checked_ridge


def check_choices(model: Any) -> None:
    """Refuse choices that make no sense, alone or together."""
    if model.method not in ("marginal", "moments"):
        raise InvalidInput(f"method={model.method!r}", "'marginal' or 'moments'")
    if model.covariance not in ("auto", "information", "sandwich"):
        raise InvalidInput(f"covariance={model.covariance!r}", "'auto', 'information' or 'sandwich'")
    if model.covariance == "information" and model.method == "moments":
        raise InvalidInput("covariance='information' with method='moments'", "'sandwich'")
    ridge = checked_ridge(model.ridge)
    if model.penalty not in ("auto", "log-f"):
        remedy = "ridge=0 is maximum likelihood without a penalty, any other number a ridge."
        raise InvalidInput(f"penalty={model.penalty!r}", "'auto' or 'log-f'", remedy)
    if model.penalty == "log-f" and ridge is not None:
        raise InvalidInput(f"penalty='log-f' and ridge={model.ridge!r}", "one of them: leave ridge='auto'")
    if model.penalty == "log-f" and model.method == "moments":
        raise InvalidInput("penalty='log-f' with method='moments'", "method='marginal', which has a likelihood")
    if model.intervals not in ("auto", "profile", "wald"):
        raise InvalidInput(f"intervals={model.intervals!r}", "'auto', 'profile' or 'wald'")
    if not isinstance(model.max_iter, int | np.integer) or model.max_iter < 1:
        raise InvalidInput(f"max_iter={model.max_iter!r}", "at least 1")
