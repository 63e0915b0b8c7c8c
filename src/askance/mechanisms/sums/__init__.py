"""Noise for sums of public features by private label."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
