"""A class of channels is no channel: whoever takes one says so."""

import numpy as np
import pytest

import askance as ask
from askance.errors import InvalidInput

X = np.array([[0.0], [1.0], [2.0], [3.0]])
REPORTS = ["no", "yes", "no", "yes"]


@pytest.mark.parametrize(
    "use",
    [
        lambda: ask.Prevalence(ask.Warner).fit(REPORTS),
        lambda: ask.IndirectClassifier(ask.Warner).fit(X, REPORTS),
        lambda: ask.IndirectModel(ask.States(), ask.Warner).fit(X, REPORTS),
        lambda: ask.SpreadClassifier(ask.RowChannel).fit(X, REPORTS),
        lambda: ask.fit_spread(lambda theta: np.log([0.5, 0.5]), ask.Warner, REPORTS, [0.0]),
        lambda: ask.metrics.accuracy(REPORTS, REPORTS, ask.Warner),
        lambda: ask.metrics.roc_auc(REPORTS, X, ask.Warner),
        lambda: ask.metrics.brier(REPORTS, X, ask.Warner),
    ],
)
def test_a_class_in_the_place_of_a_channel_is_refused(use):
    with pytest.raises(InvalidInput, match=r"the class \w+ as channel; expected .*\w+\(\.\.\.\)"):
        use()
