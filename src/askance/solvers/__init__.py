"""Mathematics that several capabilities share: no data, no channel, no file."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
