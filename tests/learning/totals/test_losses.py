"""Linear-odd losses: identities, derivatives, closed forms, and what is refused."""

import sys
import types
from fractions import Fraction

import numpy as np
import pytest

from askance.errors import InvalidInput, NotAvailable
from askance.learning.totals.loss_plot import plot_factorisation
from askance.learning.totals.losses import NAMED, Logistic, Matsushita, Rho, SmoothedRho, Square, Unhinged, factorise
from askance.learning.totals.user_losses import as_loss, from_generator, linear_odd_defect


def hinge(z):
    return np.maximum(0, 1 - z)


def quartic(z):
    return z**4 - 3 * z


LOSSES = [
    *NAMED.values(),
    Rho(0.3),
    SmoothedRho(0.5, 0.2),
    as_loss(quartic),
    as_loss(quartic, slope=lambda z: 4 * z**3 - 3, curvature=lambda z: 12 * z**2),
    as_loss(lambda z: np.cos(z) - z),
    from_generator(lambda u: u * np.log(u) + (1 - u) * np.log1p(-u)),
    from_generator(lambda u: -((u * (1 - u)) ** 0.7), scale=0.4, shift=0.2),
]
EXACT = {
    "logistic": lambda z: np.log1p(np.exp(-z)),
    "square": lambda z: (1 - z) ** 2,
    "matsushita": lambda z: np.sqrt(1 + z**2) - z,
    "unhinged": lambda z: -z,
    "rho": lambda z: np.abs(z) - z + 1,
}
Z = np.linspace(-5, 5, 58)  # does not meet the kink


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_every_loss_is_linear_odd_and_its_even_part_is_even(loss):
    np.testing.assert_allclose(loss(Z) - loss(-Z), -loss.odd * Z, atol=1e-12)
    np.testing.assert_allclose(loss.even(Z), loss.even(-Z), rtol=1e-12)
    np.testing.assert_allclose(loss.even(Z), 0.5 * (loss(Z) + loss(-Z)), atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_derivatives_are_those_of_finite_differences(loss):
    step = 1e-5
    slope = (loss.even(Z + step) - loss.even(Z - step)) / (2 * step)
    np.testing.assert_allclose(loss.even_slope(Z), slope, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(loss.slope(Z), slope - loss.odd / 2, rtol=1e-6, atol=1e-8)
    wide = 1e-3
    curvature = (loss.even_slope(Z + wide) - loss.even_slope(Z - wide)) / (2 * wide)
    np.testing.assert_allclose(loss.even_curvature(Z), curvature, rtol=1e-3, atol=3e-5)
    for together, alone in zip(loss.derivatives(Z), (loss.even, loss.even_slope, loss.even_curvature), strict=True):
        np.testing.assert_allclose(together, alone(Z), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", EXACT)
def test_named_losses_are_what_they_are_called(name):
    np.testing.assert_allclose(NAMED[name](Z), EXACT[name](Z), rtol=1e-13, atol=1e-13)
    again = as_loss(EXACT[name])
    assert again.odd == NAMED[name].odd
    assert (again.convex, again.smooth) == (NAMED[name].convex, NAMED[name].smooth)
    assert again.proper == NAMED[name].proper


def test_logistic_is_stable_far_out():
    far = np.array([-1e4, -800.0, 0.0, 800.0, 1e4])
    for values in (Logistic()(far), *Logistic().derivatives(far)):
        assert np.isfinite(values).all()
    np.testing.assert_allclose(Logistic()(far), [1e4, 800.0, np.log(2), 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("loss", [Logistic(), Square(), Matsushita()], ids=lambda loss: loss.name)
def test_the_link_of_a_proper_loss_finds_the_best_score(loss):
    for truth in (0.1, 0.5, 0.8):
        scores = np.linspace(-4, 4, 80_001)
        best = scores[(truth * loss(scores) + (1 - truth) * loss(-scores)).argmin()]
        assert loss.probability(np.array([best]))[0] == pytest.approx(truth, abs=1e-4)


def test_losses_without_a_link_say_so():
    for loss in (Unhinged(), Rho()):
        with pytest.raises(NotAvailable, match="proper loss"):
            loss.probability(np.zeros(1))


def test_generators_give_the_closed_forms_back():
    z = np.linspace(-6, 6, 101)
    made = {
        "logistic": from_generator(lambda u: u * np.log(u) + (1 - u) * np.log(1 - u)),
        "matsushita": from_generator(
            lambda u: -np.sqrt(u * (1 - u)), lambda u: (2 * u - 1) / (2 * np.sqrt(u * (1 - u))), scale=0.5
        ),
        "square": from_generator(lambda u: u * u - u, scale=0.25, domain=(-9, 10)),
    }
    for name, loss in made.items():
        assert loss.odd == NAMED[name].odd
        np.testing.assert_allclose(loss(z), NAMED[name](z), atol=1e-11)
        np.testing.assert_allclose(loss.even_slope(z), NAMED[name].even_slope(z), atol=1e-9)
        np.testing.assert_allclose(loss.even_curvature(z), NAMED[name].even_curvature(z), atol=1e-6)


@pytest.mark.parametrize(
    ("generator", "options", "match"),
    [
        (lambda u: u**2, {}, "differs by"),
        (lambda u: u * (1 - u), {}, "not strictly convex"),
        (lambda u: np.where(u > 0.5, np.nan, u), {}, "not finite"),
        (lambda u: -u * (1 - u), {"domain": (0.2, 0.8)}, "domain"),
        (lambda u: -u * (1 - u), {"scale": 0}, "scale"),
    ],
)
def test_generators_that_are_not_permissible_are_refused(generator, options, match):
    with pytest.raises(InvalidInput, match=match):
        from_generator(generator, **options)


def test_the_hinge_is_refused_and_its_defect_shown():
    with pytest.raises(InvalidInput, match=r"not linear-odd: at z = 8, .* is -9 and not -a z = -16, off by 7"):
        as_loss(hinge)
    a, defect = linear_odd_defect(hinge, np.array([0.5, 1.0, 2.0, 3.0]))
    assert a == 2
    np.testing.assert_allclose(defect, [0, 0, 1, 2])


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda z: np.exp(-z), "not linear-odd"),
        (lambda z: z**2, "does not depend on the label"),
        (lambda z: z, "rewards errors"),
        (lambda z: z[:3], "values of shape"),
        (lambda z: np.where(z > 3, np.inf, -z), "not finite"),
        (lambda z: 1 / 0, "fails on an array"),
        ("hinge", "one of logistic"),
        (3, "one of logistic"),
    ],
)
def test_other_functions_are_refused(function, match):
    with pytest.raises(InvalidInput, match=match):
        as_loss(function)


def test_a_condition_is_checked_as_well_as_the_function_allows(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)  # as if it were not installed
    assert as_loss(lambda z: (1 - z) ** 2).checked == "exactly at rational points"
    assert as_loss(EXACT["logistic"]).checked == "on a grid"

    # A stand-in for sympy with one symbol, in which polynomials are lists of coefficients: enough to be asked.
    class Polynomial(list):
        def __sub__(self, other):
            return Polynomial(a - b for a, b in zip(self, other, strict=True))

        def __add__(self, other):
            return Polynomial(a + b for a, b in zip(self, other, strict=True))

        def __rmul__(self, number):
            return Polynomial(number * a for a in self)

        def __neg__(self):
            return Polynomial((-1) ** power * a for power, a in enumerate(self))

    symbols = types.SimpleNamespace(
        Symbol=lambda name, real: Polynomial([0, 1]),
        nsimplify=Fraction,
        simplify=lambda polynomial: 0 if not any(polynomial) else polynomial,
    )
    monkeypatch.setitem(sys.modules, "sympy", symbols)
    assert as_loss(lambda z: -2 * z).checked == "symbolically"


def test_kinks_and_concavity_are_noticed():
    kinked = as_loss(lambda z: np.abs(z - 1) + np.abs(z + 1) - z)
    assert not kinked.smooth
    assert kinked.convex
    assert not as_loss(lambda z: np.cos(z) - z).convex
    assert not as_loss(lambda z: -2 * z).proper


def test_factorise_and_its_plot():
    parts = factorise(Matsushita(), Z)
    np.testing.assert_allclose(parts.even + parts.odd, Matsushita()(Z))
    np.testing.assert_allclose(factorise(EXACT["matsushita"], Z).odd, parts.odd, atol=1e-13)
    axes = plot_factorisation(hinge)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["loss", "even part", "odd part"]
    lines = {line.get_label(): line for line in axes.get_lines()}
    z, total = lines["loss"].get_data()
    np.testing.assert_allclose(total, hinge(z), atol=1e-12)
    np.testing.assert_allclose(lines["even part"].get_ydata() + lines["odd part"].get_ydata(), total, atol=1e-12)


def test_rho_must_be_positive():
    with pytest.raises(InvalidInput, match="positive"):
        Rho(0.0)
    assert Rho(0.5).odd == 1.0
    assert Rho(0.5) == Rho(0.5)
