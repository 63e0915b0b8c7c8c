"""askance (ask + chance): learn models from what people were willing to tell you."""

from askance.lazy import public_names

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = public_names(__name__)
__all__ += ["__version__"]
