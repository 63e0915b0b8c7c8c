"""Mergeable sums over records: the one place where a model and a channel meet."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
