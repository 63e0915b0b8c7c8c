"""The log-F penalty: its derivatives, and what it is invariant to."""

import numpy as np
import pytest
from scipy import optimize

from askance.solvers import LogF


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_derivatives_are_those_of_the_value(classes):
    rng = np.random.default_rng(1)
    penalty = LogF(rng.normal(size=(classes - 1, 3)), np.array([0.5, 0.0, 2.0]), weight=1.7)
    theta = rng.normal(size=3 * (classes - 1)) * 3
    here = penalty(theta)
    np.testing.assert_allclose(here.gradient, optimize.approx_fprime(theta, lambda t: penalty(t).value), atol=1e-5)
    slope = np.array([optimize.approx_fprime(theta, lambda t, j=j: penalty(t).gradient[j]) for j in range(len(theta))])
    np.testing.assert_allclose(here.information, -slope, atol=1e-5)
    assert here.information[1, 1] == 0  # a column of scale zero is free


def test_two_classes_are_one_answer_half_yes_and_half_no():
    b = np.array([1.3])
    assert LogF.about(np.zeros(1))(b).value == pytest.approx(b[0] / 2 - np.log1p(np.exp(b[0])))


def test_no_class_is_special():
    theta = np.array([[1.0], [-2.0]])
    other_reference = np.array([[-1.0], [-3.0]])  # classes (1, 0, 2) instead of (0, 1, 2)
    penalty = LogF(np.zeros((2, 1)), np.ones(1))
    assert penalty(theta.ravel()).value == pytest.approx(penalty(other_reference.ravel()).value)


def test_far_parameters_do_not_overflow():
    here = LogF.about(np.zeros(2))(np.array([1e4, -1e4]))
    assert np.isfinite(here.value)
    np.testing.assert_allclose(here.gradient, [-0.5, 0.5])
