"""Open, fit, report: what the command line and other programs share."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
