"""Class ratios of new groups, learned from bags."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
