"""What crosses the trust boundary: formats, headers and the study file."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
