"""The command ``askance``."""
