"""Attributes of a record, each hidden by itself: pixels, answers of one form, measurements."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
