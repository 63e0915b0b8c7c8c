"""Small corruptions for tests of the spread likelihood, written without the library."""

import numpy as np


def flip(states, chance):
    """The matrix that keeps a state with probability 1 - chance, and else gives any of the others."""
    other = chance / (states - 1)
    return (1 - chance - other) * np.eye(states) + other


def draw_reports(matrix, truth, rng):
    """Draw a report for every true state."""
    return (rng.random((len(truth), 1)) > np.cumsum(matrix, axis=0).T[truth]).sum(axis=1)
