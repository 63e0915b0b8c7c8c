"""The collector: a web application whose page hides an answer on the respondent's own device, and keeps the report."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
