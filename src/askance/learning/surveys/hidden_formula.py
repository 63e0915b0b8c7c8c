"""Formulas that name hidden predictors: ``grade ~ age + hidden(cheated)``."""

import re
from typing import NamedTuple

from askance.errors import InvalidInput
from askance.learning.face.formula import Formula

_HIDDEN = re.compile(r"\s*hidden\(\s*(?:`([^`]+)`|([^\W\d][\w.]*))\s*\)\s*")
_CALL = re.compile(r"\bhidden\s*\(")


class HiddenFormula(NamedTuple):
    """The outcome, the hidden questions, and the formula of what is left."""

    outcome: str
    hidden: tuple[str, ...]
    formula: Formula


def names_hidden(text: str) -> bool:
    """Whether a formula names a hidden predictor."""
    return _CALL.search(text) is not None


def split_formula(text: str) -> HiddenFormula:
    """Take the hidden predictors out of a formula.

    Examples
    --------
    >>> split = split_formula("grade ~ age + hidden(cheated) + C(school)")
    >>> split.outcome, split.hidden, split.formula.text
    ('grade', ('cheated',), 'grade ~ age + C(school)')
    """
    left, _, right = text.partition("~")
    terms = _terms(right)
    found = [_HIDDEN.fullmatch(term) for term in terms]
    hidden = tuple(dict.fromkeys(match[1] or match[2] for match in found if match))
    others = [term.strip() for term, match in zip(terms, found, strict=True) if not match]
    if not hidden or names_hidden(left) or any(names_hidden(term) for term in others):
        raise InvalidInput(
            f"the formula {text!r}",
            "hidden(...) around a question, as a term of its own right of ~, joined by +",
            "Interactions with a hidden answer are not fitted.",
        )
    formula = Formula.of(f"{left.strip()} ~ {' + '.join(others) or '1'}")
    return HiddenFormula(formula.left.strip("`"), hidden, formula)


def _terms(side: str) -> list[str]:
    """What stands between the plus signs that are in no brackets."""
    terms, depth = [""], 0
    for sign in side:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "+" and depth == 0:
            terms.append("")
        else:
            terms[-1] += sign
    return terms
