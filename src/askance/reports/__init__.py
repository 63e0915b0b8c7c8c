"""Finished values become text, HTML and plots; nothing here opens a data file or fits a model."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
