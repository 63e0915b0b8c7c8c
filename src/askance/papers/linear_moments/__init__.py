"""Raghunathan, Frostig, Duchi and Liang: estimation from indirect supervision with linear moments."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
