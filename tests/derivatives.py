"""Gradients and information against finite differences."""

import numpy as np

STEP = 1e-5  # the error of central differences is least near the cube root of rounding


def assert_exact_derivatives(objective, theta, tolerance=1e-6):
    """Check gradient and information (minus the Hessian) of an objective at a point."""
    here = objective(theta)
    ways = STEP * np.eye(len(theta))
    there = [(objective(theta + way), objective(theta - way)) for way in ways]
    gradient = [(up.value - down.value) / (2 * STEP) for up, down in there]
    information = [(down.gradient - up.gradient) / (2 * STEP) for up, down in there]
    scale = 1 + np.abs(here.information).max()
    np.testing.assert_allclose(here.gradient, gradient, atol=tolerance * scale)
    np.testing.assert_allclose(here.information, information, atol=tolerance * scale)
