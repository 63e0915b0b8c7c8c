"""Cross-tables of units: what the model expects, given the columns of the unit, with both margins right."""

import numpy as np

from askance.arrays import Floats

_NOT_ZERO = 1e-9  # of a row: where a column has people, no cell of it is at zero from the start, so that it can grow
_RIGHT = 1e-10  # of all people of a unit, by which a margin may be off
# 60 times 50 made-up units, whose cells and margins were drawn independently: margins are off by 2e-5 at most after 50
# rounds where cells are spread evenly. Where rows are nearly of one column each it is .06 after 50 rounds, .005 after
# 500 and 3e-6 after 5,000, in ten times the time.
_MOST_ROUNDS = 500


def conditioned(
    expected: Floats, beta: Floats, a: Floats, precision: Floats, x: Floats, c: Floats, noise: Floats | None = None
) -> Floats:
    """Return the cells of units as shares of their people, given the columns; not negative.

    The cells of row r are x_ur beta_ur with covariance a_ur (diag beta_ur - beta_ur beta_ur'): what the columns are
    off is divided among the rows by it. Leading axes beyond units x R x K are draws.

    Parameters
    ----------
    expected : array, ... x units x R x K
        The cells before the columns are looked at.
    beta, a, precision
        Of the model, see ``table_likelihood``.
    x, c : arrays, units x R and units x K
    noise : array, ... x units x K, optional
        What the columns are taken to be off, of released counts.
    """
    off = c - expected.sum(axis=-2) if noise is None else c - noise - expected.sum(axis=-2)
    pull = (precision @ off[..., None])[..., 0]
    weighted = a[:, :, None] * beta
    moved = weighted * (pull[..., None, :] - (beta @ pull[..., :, None]))
    # A column of a release may have people although its noisy count says none.
    least = _NOT_ZERO * x[:, :, None] * ((c > 0) | (noise is not None))[:, None, :]
    return np.asarray(np.maximum(expected + moved, least))


def raked(cells: Floats, x: Floats, c: Floats | None, rounds: int = _MOST_ROUNDS) -> Floats:
    """Return cells with both margins, by iterative proportional fitting; leading axes are draws.

    Columns that are not known exactly are None: the cells have the rows alone.

    Examples
    --------
    >>> raked(np.ones((1, 2, 2)), np.array([[0.5, 0.5]]), np.array([[0.2, 0.8]]))
    array([[[0.1, 0.4],
            [0.1, 0.4]]])
    """
    for _ in range(rounds):
        if c is not None:
            cells = cells * _ratio(np.broadcast_to(c, cells.sum(axis=-2).shape), cells.sum(axis=-2))[..., None, :]
        sums = cells.sum(axis=-1)
        cells = cells * _ratio(np.broadcast_to(x, sums.shape), sums)[..., None]
        if c is None or np.abs(sums - x).max() < _RIGHT:
            break
    return cells


def _ratio(wanted: Floats, have: Floats) -> Floats:
    return np.divide(wanted, have, out=np.zeros_like(have), where=have > 0)


def choice_noise(rng: np.random.Generator, draws: int, a: Floats, beta: Floats) -> Floats:
    """Draw by how much the cells of units are off their expectation: normal, a_ur (diag beta_ur - beta_ur beta_ur').

    Returns
    -------
    array, draws x units x R x K
    """
    each = np.sqrt(beta) * rng.standard_normal((draws, *beta.shape))
    return np.asarray(np.sqrt(a)[:, :, None] * (each - beta * each.sum(axis=-1, keepdims=True)))
