"""Any exponential family under any channel: finite truths, sequences, and families of one's own."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
