"""Every figure and table of the papers, with the published values beside ours."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
