"""What a formula may say: columns, numbers, operators and the transformations below, and nothing else.

formulaic evaluates pieces of a formula as Python. A formula may come from a study file or a web form, so its text is
checked before any of it is evaluated: it is cut into tokens, and the syntax tree of what is left is walked. Nothing is
allowed that is not named here.

======================================  ================================================================================
columns                                 ``age``; ``cov.age`` as R exports it; `` `median income` `` for any other name
terms                                   ``+ - * / : ** ^ %in% ( )``, ``0`` and ``1``
arithmetic, inside ``I()`` and others   ``+ - * / ** %``, comparisons, numbers
transformations                         those of ``TRANSFORMATIONS``; ``np.log`` and its kin mean the same as ``log``
coding of categories                    ``C(x)``, ``C(x, Treatment("a"))``, ``C(x, contr.sum)`` and the like
======================================  ================================================================================
"""

import ast
import math
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from askance.errors import InvalidInput, did_you_mean

# Of numpy: what a row's value becomes without looking at other rows.
ELEMENTWISE = ("abs", "exp", "expm1", "log", "log10", "log1p", "log2", "sqrt")
TRANSFORMATIONS = (
    *ELEMENTWISE,
    *("C", "I", "bs", "cc", "center", "cr", "cs", "exp10", "exp2", "poly", "scale", "standardize"),
)
CODINGS = ("Diff", "Helmert", "Poly", "Sum", "Treatment")
_CONTRASTS = ("SAS", "diff", "helmert", "poly", "sum", "treatment")

# What formulaic does not know by itself.
CONTEXT = {name: getattr(np, name) for name in ELEMENTWISE}

_LONGEST = 10_000  # characters: some hundreds of columns by name
_DEEPEST = 60  # brackets within brackets; Python's own parser gives up at 200
_HIGHEST_POWER = 20  # a polynomial of a higher degree has no digits left in doubles
_MOST_SPLINES = 100  # functions that one column becomes: a curve of so many pieces needs more data than surveys have
_MOST_TERMS = 5_000  # after brackets are opened: a * b * ... of k columns are 2^k terms
_HIGHEST_INTERACTION = 4  # (a + b + ...) ** k makes as many terms as there are subsets of up to k columns

_TOKEN = re.compile(
    r"""
    (?P<quoted>`[^`\n]+`)
  | (?P<text>"[^"\\\n]*"|'[^'\\\n]*')
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<name>[^\W\d]\w*(?:\.\w+)*)
  | (?P<within>%in%)
  | (?P<sign>\*\*|<=|>=|==|!=|[-+*/:^%()<>=,~\[\]])
  | (?P<space>\s+)
    """,
    re.VERBOSE,
)
# Arguments that say how many columns there will be: their place, and the largest.
_SIZES = {
    "poly": {"degree": (1, _HIGHEST_POWER)},
    "bs": {"df": (1, _MOST_SPLINES), "degree": (3, _HIGHEST_POWER)},
    **{cubic: {"df": (1, _MOST_SPLINES)} for cubic in ("cc", "cr", "cs")},
}
_TERM_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.BitXor, ast.MatMult, ast.Mod)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod)
_HELP = f"column names, numbers, + - * / : ** and {', '.join(sorted(TRANSFORMATIONS))}"


class CheckedFormula(NamedTuple):
    """A formula that is safe to evaluate, dotted names in backticks, and the columns right of ~ in their order."""

    text: str
    columns: tuple[str, ...]


def checked_formula(text: str) -> CheckedFormula:
    """Check what a formula says, and find its columns; refuse what is not allowed.

    Examples
    --------
    >>> checked_formula("cheated ~ log(cov.age) + C(school)")
    CheckedFormula(text='cheated ~ log(`cov.age`) + C(school)', columns=('cov.age', 'school'))
    """
    if len(text) > _LONGEST:
        raise InvalidInput(f"a formula of {len(text):,} characters", f"at most {_LONGEST:,}")
    plain, python, columns = [], [], dict[str, str]()
    for kind, token in _tokens(text):
        # Python would read letters of full width and the like as others: as names of functions, or of another column.
        other = unicodedata.normalize("NFKC", token) != token
        if kind == "name" and (other or ("." in token and not _is_function(token))):
            kind, token = "quoted", f"`{token}`"
        plain.append(token)
        python.append(_as_python(kind, token, columns))
    sides = "".join(python).split("~")
    if len(sides) != 2:
        raise InvalidInput(f"the formula {text!r}", 'a question, ~ and covariates: "cheated ~ age"')
    if not sides[0].strip():
        raise InvalidInput(f"the formula {text!r}", "one question left of ~")
    left, right = (_parsed(side, text) for side in sides)
    for side in (left, right):
        _check_terms(side, text, columns)
        if (terms := _terms(side)) > _MOST_TERMS:
            raise InvalidInput(
                f"the formula {text[:60]!r}... is a sum of {terms:,.0f} terms", f"at most {_MOST_TERMS:,}"
            )
    names = [columns.get(node.id, node.id).strip("`") for node in ast.walk(right) if isinstance(node, ast.Name)]
    functions = {*TRANSFORMATIONS, *CODINGS, "np", "contr"}
    return CheckedFormula("".join(plain), tuple(dict.fromkeys(name for name in names if name not in functions)))


def factor_parts(factor: str) -> tuple[tuple[str, ...], int]:
    """Return the columns of a factor of a term, and how many columns it makes of a number, at most.

    Examples
    --------
    >>> factor_parts("bs(`cov.age`, df=7)")
    (('cov.age',), 11)
    """
    tokens = list(_tokens(factor))
    names = [token.strip("`") for kind, token in tokens if kind in ("name", "quoted")]
    numbers = [float(token) for kind, token in tokens if kind == "number"]
    if not set(names) & set(_SIZES):
        return tuple(names), 1
    # Sizes or knots, and as many more as a cubic spline has.
    sizes = [int(number) for number in numbers if number <= _MOST_SPLINES]
    return tuple(name for name in names if name not in (*_SIZES, "df", "degree")), max([len(numbers), *sizes]) + 4


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place, depth = 0, 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None or found.lastgroup is None:
            raise _refusal(text, text[place], "one sum of terms, without |" if text[place] == "|" else _HELP)
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth > _DEEPEST:
            raise InvalidInput(f"the formula {text[:60]!r}... nests brackets {depth} deep", f"at most {_DEEPEST}")
        yield found.lastgroup, found[0]
        place = found.end()


def _is_function(token: str) -> bool:
    package, _, name = token.partition(".")
    return (package == "np" and name in ELEMENTWISE) or (package == "contr" and name in _CONTRASTS)


def _as_python(kind: str, token: str, columns: dict[str, str]) -> str:
    """A token as Python's parser takes it; columns with odd names stand behind made-up ones."""
    if kind == "quoted":
        stand_in = f"column_{len(columns)}_"
        columns[stand_in] = token
        return stand_in
    return {":": "@", "%in%": "%"}.get(token, token)


def _parsed(side: str, text: str) -> ast.expr:
    try:
        return ast.parse(side.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidInput(f"the formula {text!r} cannot be read", _HELP) from None


def _check_terms(node: ast.expr, text: str, columns: dict[str, str]) -> None:
    """What stands outside of brackets of functions: terms and how they are joined."""
    match node:
        case ast.BinOp(left, ast.Pow() | ast.BitXor(), right):
            power = right.value if isinstance(right, ast.Constant) and isinstance(right.value, int) else 0
            if power not in range(1, _HIGHEST_INTERACTION + 1):
                raise _refusal(
                    text, _shown(node, columns), f"a power from 1 to {_HIGHEST_INTERACTION}; I(a**2) squares"
                )
            _check_terms(left, text, columns)
            if power > 1 and _terms(left) == 1:  # who writes age**2 means the square, and would get age
                raise _refusal(
                    text,
                    _shown(node, columns),
                    f"I({_shown(left, columns)}**{power}): outside of I() a power of one term is that term alone",
                )
        case ast.BinOp(left, operator, right) if isinstance(operator, _TERM_OPERATORS):
            _check_terms(left, text, columns)
            _check_terms(right, text, columns)
        case ast.UnaryOp(ast.USub() | ast.UAdd(), operand):
            _check_terms(operand, text, columns)
        case ast.Constant(0 | 1) | ast.Name():
            pass
        case ast.Call():
            _check_value(node, text, columns)
        case _:
            raise _refusal(text, _shown(node, columns))


def _terms(node: ast.expr) -> float:
    """Of how many terms it is the sum, at most, when its brackets are opened."""
    if not isinstance(node, ast.BinOp):
        return _terms(node.operand) if isinstance(node, ast.UnaryOp) else 1.0
    left, right = _terms(node.left), _terms(node.right)
    match node:
        case ast.BinOp(op=ast.Pow() | ast.BitXor(), right=ast.Constant(int(power))):
            return float(sum(math.comb(int(min(left, _LONGEST)), size) for size in range(1, power + 1)))
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return left + right
        case _:
            return left * right + left + right


def _check_value(node: ast.expr, text: str, columns: dict[str, str]) -> None:
    """What stands inside the brackets of a function: arithmetic of columns and numbers."""
    match node:
        case ast.Call(function, arguments, keywords):
            if ast.unparse(function) not in (*TRANSFORMATIONS, *CODINGS) and not _is_function(ast.unparse(function)):
                name = _shown(function, columns)
                raise _refusal(text, f"{name}(...)", meant=did_you_mean(name, TRANSFORMATIONS))
            for argument in [*arguments, *(keyword.value for keyword in keywords)]:
                _check_value(argument, text, columns)
            if any(keyword.arg is None for keyword in keywords):
                raise _refusal(text, _shown(node, columns))
            _check_sizes(node, text, columns)
        case ast.BinOp(left, ast.Pow(), right):
            power = right.operand if isinstance(right, ast.UnaryOp) else right
            known = power.value if isinstance(power, ast.Constant) and isinstance(power.value, int | float) else None
            if known is None or known > _HIGHEST_POWER or not _has_a_column(left):
                raise _refusal(text, _shown(node, columns), f"a column to a power of at most {_HIGHEST_POWER}")
            _check_value(left, text, columns)
        case ast.BinOp(left, operator, right) if isinstance(operator, _ARITHMETIC):
            if _repeats(left) or _repeats(right):
                raise _refusal(text, _shown(node, columns))
            _check_value(left, text, columns)
            _check_value(right, text, columns)
        case ast.UnaryOp(ast.USub() | ast.UAdd(), operand):
            _check_value(operand, text, columns)
        case ast.Compare(left, _, others):
            for part in [left, *others]:
                _check_value(part, text, columns)
        case ast.List(parts):
            for part in parts:
                _check_value(part, text, columns)
        case ast.Attribute() if _is_function(ast.unparse(node)):  # C(x, contr.sum)
            pass
        case ast.Constant(str() | int() | float()) | ast.Name():
            pass
        case _:
            raise _refusal(text, _shown(node, columns))


def _check_sizes(call: ast.Call, text: str, columns: dict[str, str]) -> None:
    """How many columns a function makes is a plain number, and not a large one: memory is taken for all of them."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    for name, (place, most) in _SIZES.get(ast.unparse(call.func), {}).items():
        size = call.args[place] if len(call.args) > place else named.get(name)
        if size is not None and not (isinstance(size, ast.Constant) and size.value in range(most + 1)):
            raise _refusal(text, _shown(call, columns), f"{name} as a whole number of at most {most}")


def _has_a_column(node: ast.expr) -> bool:
    """Whether a value depends on a column: powers of plain numbers can be larger than memory."""
    return any(isinstance(part, ast.Name) and part.id not in TRANSFORMATIONS for part in ast.walk(node))


def _repeats(node: ast.AST) -> bool:
    """Whether arithmetic with it may repeat a text or a list, as ``"a" * 10**9`` does; comparisons are numbers."""
    if isinstance(node, ast.Compare):
        return False
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return text or isinstance(node, ast.List) or any(map(_repeats, ast.iter_child_nodes(node)))


def _shown(node: ast.AST, columns: dict[str, str]) -> str:
    said = ast.unparse(node)
    for stand_in, name in columns.items():
        said = said.replace(stand_in, name)
    return said


def _refusal(text: str, piece: str, expected: str = _HELP, meant: str = "") -> InvalidInput:
    return InvalidInput(
        f"{piece!r} in the formula {text!r}",
        expected,
        f"{meant} Write other transformations into the data as columns of their own.".lstrip(),
    )
