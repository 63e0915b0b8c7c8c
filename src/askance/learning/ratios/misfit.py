"""Is a distance between mean embeddings larger than chance makes it?"""

from typing import NamedTuple


class Misfit(NamedTuple):
    """A squared distance against its law under the model.

    ``ratio`` is the distance over its expectation, ``p`` the probability of one at least as large.
    """

    ratio: float
    p: float
