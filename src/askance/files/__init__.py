"""Where files are, and how they are written whole or not at all."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
