"""What all estimators share: saving, formulas, records of a release."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
