"""Probabilities as people understand them best: so many times out of ten."""

_EXACT = 1e-9  # a probability that is so near a fraction is said without "about"
_DENOMINATORS = (10, 100, 1000, 10_000)  # what is rarer than 1 in 20,000 is about 0 of 10,000


def odds(probability: float) -> tuple[str, str, bool]:
    """Return "so many", "of so many", and whether that is exact.

    Examples
    --------
    >>> odds(0.8), odds(0.25), odds(0.576)
    (('8', '10', True), ('25', '100', True), ('576', '1000', True))
    >>> odds(1 / 3), odds(0.000123)
    (('33', '100', False), ('1', '10,000', False))
    """
    for whole in _DENOMINATORS[:3]:
        if abs(probability * whole - round(probability * whole)) < _EXACT * whole:
            return str(round(probability * whole)), str(whole), True
    # Two figures are enough where neither of the two outcomes is rare.
    rare = min(probability, 1 - probability)
    whole = next((each for each in _DENOMINATORS[1:] if rare * each >= 1), _DENOMINATORS[-1])
    return f"{round(probability * whole):,}", f"{whole:,}" if whole > 1000 else str(whole), False
