"""Every mechanism of the package has a loss, and its loss keeps the level that the mechanism was calibrated for."""

from fractions import Fraction

import numpy as np
import pytest

from askance.errors import InvalidInput
from askance.mechanisms import Budget, Sensitivity, TotalGaussian, TotalLaplace, TotalRadial
from askance.mechanisms.accounting import WorstLoss, count_loss, counts_loss, total_loss
from askance.mechanisms.counts import PaperDirichlet, calibrated
from askance.mechanisms.counts.count_mechanisms import SOUND

LEVELS = [Budget.of("0.1", "1e-6"), Budget.of(1, "1e-8"), Budget.of(3, "0.01")]


def keeps(loss, budget):
    delta = loss.delta(np.array([float(budget.epsilon)]))[0]
    return delta <= float(budget.delta) * (1 + 1e-4) + 1e-12


@pytest.mark.parametrize("budget", LEVELS, ids=str)
@pytest.mark.parametrize("law", [TotalLaplace, TotalRadial, TotalGaussian])
@pytest.mark.parametrize("moved", [Sensitivity(1, 1, 1), Sensitivity(12_345, 7_654_321, 20)])
def test_noise_on_totals_keeps_its_level(law, budget, moved):
    cost = budget if law is TotalGaussian else Budget(budget.epsilon)
    loss = total_loss(law.calibrated(moved, cost), moved)
    assert keeps(loss, cost)
    if law is TotalGaussian:
        assert not keeps(loss, Budget(cost.epsilon * Fraction(98, 100), cost.delta))
    else:
        assert loss.epsilon == pytest.approx(float(cost.epsilon), rel=1e-15)


@pytest.mark.parametrize("budget", LEVELS, ids=str)
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("name", SOUND)
def test_noise_on_counts_keeps_its_level(name, classes, budget):
    loss = count_loss(calibrated(name, 300, classes, budget))
    spends = name in ("truncated-laplace", "discrete-gaussian", "gaussian", "dirichlet")
    assert keeps(loss, budget if spends else Budget(budget.epsilon))


def test_bags_of_one_mechanism_cost_what_one_costs():
    laws = [calibrated("discrete-gaussian", total, 3, Budget.of(1, "1e-6")) for total in (10, 20, 30)]
    assert counts_loss(laws) == count_loss(laws[0])
    urns = [calibrated("dirichlet", total, 2, Budget.of(1, "1e-4")) for total in (10, 40)]
    both = counts_loss(urns)
    assert isinstance(both, WorstLoss)
    assert keeps(both, Budget.of(1, "1e-4"))


def test_what_has_no_guarantee_has_no_loss():
    with pytest.raises(InvalidInput, match="no guarantee"):
        count_loss(PaperDirichlet(Fraction(1), 10, 2))
