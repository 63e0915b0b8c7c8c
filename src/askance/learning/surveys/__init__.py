"""Surveys with more than one hidden thing: lists of items, several hidden answers, hidden predictors, groups."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
