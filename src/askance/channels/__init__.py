"""One person's truth becomes a report: one mechanism per module, its guarantee derived beside it."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
