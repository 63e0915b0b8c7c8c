"""Formulas are data, not programs: what is not on the list is refused before anything is evaluated."""

import pytest

import askance as ask
from askance.learning.face import checked_formula

HARMLESS = [
    "y ~ 1",
    "y ~ a + b",
    "y ~ a*b + a:b - 1",
    "y ~ (a + b)**2 + c",
    "y ~ a %in% b + a/b",
    "y ~ 0 + C(school)",
    "y ~ C(school, Treatment('north')) + C(grade, contr.sum)",
    "y ~ C(school, Treatment(reference='north'))",
    "y ~ poly(age, 3) + bs(income, df=4) + center(a) + scale(b)",
    "y ~ I(a**2) + I(a > 30) + I((a - 1) / b) + log(a + 1) + sqrt(b) + np.log(a) + log1p(abs(c))",
    "y ~ `median income` + log(`a b`)",
    "`my question` ~ ålder + возраст + 年齢",
    "y ~ I(-a) + bs(a, knots=[1, 2.5, 3e1])",
    "y ~ bs(a, 5, degree=2, upper_bound=1000000) + cr(b, df=12) + I(b * (school == 'north'))",
]


@pytest.mark.parametrize("formula", HARMLESS)
def test_what_is_documented_passes_unchanged(formula):
    assert checked_formula(formula).text == formula


@pytest.mark.parametrize(
    ("given", "quoted"),
    [
        ("y ~ cov.age", "y ~ `cov.age`"),
        ("q.1 ~ log(cov.age) + C(x.y.z)", "`q.1` ~ log(`cov.age`) + C(`x.y.z`)"),
        ("y ~ C(a, contr.sum) + np.exp(b)", "y ~ C(a, contr.sum) + np.exp(b)"),
        ("y ~ C(a, contr.__class__)", "y ~ C(a, `contr.__class__`)"),
        ("y ~ \uff41ge + \ufb01n", "y ~ `\uff41ge` + `\ufb01n`"),
        ("y ~ C(a, Treatment('a.b'))", "y ~ C(a, Treatment('a.b'))"),
    ],
)
def test_dotted_names_are_columns(given, quoted):
    assert checked_formula(given).text == quoted


ATTACKS = [
    "y ~ I(age + __import__('os').popen('id').read())",
    "y ~ I(open('x').read())",
    "y ~ exec('1')",
    "y ~ {__import__('os')}",
    "y ~ I([c for c in ().__class__.__bases__[0].__subclasses__()])",
    "y ~ I((lambda: 1)())",
    "y ~ np.load('x.npy', allow_pickle=True)",
    "y ~ np.fromfile('x')",
    "y ~ I(a.__class__)()",
    "y ~ log(a)(b)",
    "y ~ I(f'{a}')",
    "y ~ I(a if b else c)",
    "y ~ I(a := 1)",
    "y ~ I(a[0])",
    "y ~ I(*a)",
    "y ~ poly(a, **{'degree': 2})",
    "y ~ I(9**9**9**9)",
    "y ~ I(a**9**9)",
    "y ~ I(2**1000000000)",
    "y ~ (a + b)**50",
    "y ~ a; import os",
    "y ~ a\n__import__('os')",
    "y ~ `a` + getattr(a, 'b')",
    "y ~ 'a'",
    "y ~ a | b",
    "y ~ a ~ b",
    "y ~ contr.custom(a)",
    "y ~ " + "(" * 100 + "a" + ")" * 100,
    "y ~ " + "+".join(["a"] * 10_000),
    "y ~ hashed(a, levels=10**9)",
    "y ~ bs(a, df=100000000)",
    "y ~ bs(a, 4, [1, 2], 100000000)",
    "y ~ cr(a, 10 * 10000000)",
    "y ~ poly(a, degree=1000000000)",
    "y ~ poly(a, b)",
    "y ~ I('a' * 1000000000)",
    "y ~ " + " * ".join(f"a{i}" for i in range(20)),
    "y ~ (" + " + ".join(f"a{i}" for i in range(60)) + ")**4",
    "y ~ (((a + b + c + d + e + f + g)**4)**4)**4",
    "y ~ log(I('a') * 1000000000)",
    "y ~ C(a, Treatment('%9999999999d' % 1))",
    "y ~ bs(a, knots=[1] * 1000000000)",
    "y ~ \uff4cog(a)",
    "y ~ \U0001d408(a)",
    "__import__('os') ~ a",
    "y ~ \x1b[31ma",
    "",
    "~",
]


@pytest.mark.parametrize("formula", ATTACKS)
def test_anything_else_is_refused_before_it_is_evaluated(formula):
    with pytest.raises(ask.InvalidInput):
        checked_formula(formula)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("y ~ a + age**2", "I(age**2): outside of I() a power of one term is that term alone"),
        ("y ~ age^3", "I(age**3)"),
        ("y ~ `my age`**2", "I(`my age`**2)"),
        ("y ~ log(age)**2", "I(log(age)**2)"),
    ],
)
def test_a_square_that_would_be_none_is_answered_with_how_to_write_it(formula, said):
    # Interactions of one term with itself: y ~ age was fitted, without a word.
    with pytest.raises(ask.InvalidInput) as refused:
        checked_formula(formula)
    assert said in str(refused.value)


def test_the_refusal_names_the_piece():
    with pytest.raises(ask.InvalidInput, match=r"'getattr\(\.\.\.\)' in the formula"):
        checked_formula("y ~ a + getattr(b, 'c')")


def test_columns_are_those_right_of_the_tilde():
    found = checked_formula("y ~ log(cov.age) + C(s, Treatment('a')) + `b c` * age + I(age**2) + np.exp(z) + 1").columns
    assert sorted(found) == ["age", "b c", "cov.age", "s", "z"]
