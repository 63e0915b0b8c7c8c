import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import askance as ask
from askance.reports import new_axes

CHANNEL = ask.RandomizedResponse([0, 1], epsilon=3.0)
RNG = np.random.default_rng(0)
X, REPORTS = RNG.normal(size=(200, 2)), RNG.integers(0, 2, 200)
DRAWN = {
    "estimator": lambda: ask.IndirectClassifier(CHANNEL).fit(X, REPORTS),
    "plan": lambda: ask.plan(None, 0.2, epsilon=1.0, n=1000),
    "metric": lambda: ask.metrics.roc_curve(REPORTS, 1 / (1 + np.exp(-X[:, 0])), CHANNEL),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_plot_without_axes_is_one_that_notebooks_show(name):
    axes = DRAWN[name]().plot()
    assert plt.get_fignums() == [axes.figure.number]


def test_axes_that_are_given_are_drawn_on_and_pyplot_hears_nothing():
    mine = Figure().subplots()
    assert new_axes((3, 2), mine) is mine
    assert plt.get_fignums() == []
