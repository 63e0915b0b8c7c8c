"""Variances and bounds of the papers, as functions."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
