"""What a CountTagger can be asked for."""

from typing import Any

import numpy as np

from askance.errors import InvalidInput
from askance.releases.region_checks import INVALID

_CHOICES: dict[str, tuple[str | None, ...]] = {
    "method": ("hybrid", "moments", "marginal"),
    "structure": ("auto", "node", "chain"),
    "solver": ("features", "table"),
    "tolerance": (None, "model"),
    "invalid": INVALID,
}


def check_options(tagger: Any) -> None:
    """Refuse parameters that mean nothing."""
    for name, known in _CHOICES.items():
        if getattr(tagger, name) not in known:
            raise InvalidInput(f"{name}={getattr(tagger, name)!r}", f"one of {', '.join(map(str, known))}")
    passes = tagger.passes
    if passes is not None and (isinstance(passes, bool) or not isinstance(passes, int | np.integer) or passes < 1):
        raise InvalidInput(f"passes={passes!r}", "1 or more")
    if tagger.features is not None and not callable(tagger.features):
        raise InvalidInput(
            f"features={tagger.features!r}", "a function of a word that returns a list of texts, or None"
        )


def generator_of(random_state: Any) -> np.random.Generator:
    """A generator from a seed, a generator or nothing."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidInput(f"random_state={random_state!r}", "a whole number from 0, a Generator or None") from None
