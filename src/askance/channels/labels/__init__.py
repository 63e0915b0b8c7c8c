"""Finite truths: randomised response, survey designs, any matrix, a design for each row."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
