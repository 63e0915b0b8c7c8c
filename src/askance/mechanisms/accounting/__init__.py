"""What releases cost together: laws of privacy losses, their composition, filters for adaptive spending, shuffling."""

from askance.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
