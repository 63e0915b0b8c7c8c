"""The level of normal noise against eighty digits: never below the truth, and hardly above it."""

from decimal import Decimal, localcontext

import pytest

from askance.channels.attributes.gaussian_level import gaussian_delta, gaussian_epsilon
from askance.mechanisms.total_noise import gaussian_deviation

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


def normal(x: Decimal) -> Decimal:
    """Phi, by its series near 0 and by its continued fraction in the tail."""
    density = (-(x * x) / 2).exp() / (2 * PI).sqrt()
    if x > 6:
        return 1 - normal(-x)
    if x < -6:
        fraction = -x
        for k in range(1500, 0, -1):
            fraction = -x + k / fraction
        return density / fraction
    term = total = x
    k = 1
    while abs(term) > Decimal("1e-90"):
        term *= x * x / (2 * k + 1)
        total += term
        k += 1
    return Decimal("0.5") + density * total


def exact_delta(deviation: float, epsilon: float) -> Decimal:
    s, e = Decimal(deviation), Decimal(epsilon)
    return normal(1 / (2 * s) - e * s) - e.exp() * normal(-1 / (2 * s) - e * s)


@pytest.mark.parametrize(
    ("deviation", "epsilon"),
    [
        (1.0, 1.0),
        (400000000000.0, 1e-12),
        (0.5, 10.0),
        (100.0, 0.001),
        (1000000.0, 1e-08),
        (30.0, 1.0),
        (0.05, 3.0),
        (0.01, 4500.0),
        (2.0, 1e-15),
        (100000000.0, 1e-20),
        (0.001, 400000.0),
    ],
)
def test_delta_is_rounded_up_and_by_a_hair(deviation, epsilon):
    with localcontext(prec=80):
        truth = exact_delta(deviation, epsilon)
        above = Decimal(gaussian_delta(deviation, epsilon)) / truth - 1
        # 1 is the largest delta, and so the nearest double below it will do.
        assert above >= 0 or truth > 1 - Decimal("1e-15")
        assert above < Decimal("1e-10")


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-250, 1e-12, 1e-6, 0.3])
def test_noise_for_a_level_keeps_it(epsilon, delta):
    with localcontext(prec=80):
        spent = exact_delta(gaussian_deviation(epsilon, delta), epsilon)
        assert Decimal(delta) * (1 - Decimal("2e-3")) < spent <= Decimal(delta)


def test_a_level_of_noise_is_found_back_from_above():
    for deviation in (0.3, 1.0, 50.0):
        epsilon = gaussian_epsilon(deviation, 1e-9)
        with localcontext(prec=80):
            assert exact_delta(deviation, epsilon) <= Decimal("1e-9")
