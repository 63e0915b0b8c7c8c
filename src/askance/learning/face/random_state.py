"""A scikit-learn ``random_state`` as the numbers that a fit draws from."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

_SEEDS = 2**31 - 1  # scikit-learn's own models take seeds below this


def random_seed(random_state: Any) -> int:
    """Return a seed for somebody else's model.

    Examples
    --------
    >>> random_seed(0) == random_seed(0)
    True
    """
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_SEEDS))
    return int(check_random_state(random_state).randint(_SEEDS))


def random_generator(random_state: Any) -> np.random.Generator:
    """Return a Generator: the given one, or one that a number, a RandomState or nothing seeds.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> random_generator(generator) is generator
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(random_seed(random_state))
