"""Tables for papers and notes: Markdown and LaTeX."""

from collections.abc import Sequence

from askance.printing import one_line

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "−": "$-$",
    "–": "--", "∞": r"$\infty$", "|": r"\textbar{}",
}  # fmt: skip
_MARKDOWN = ("\\", "|", "*", "_", "`", "<", "[", "]", "~", "#")


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, words: bool = False) -> str:
    """Return a table as Markdown: names to the left, and so are ``words``; numbers to the right.

    Examples
    --------
    >>> print(markdown_table(["", "n"], [["a|b", "12"]]))
    |  | n |
    |:---|---:|
    | a\\|b | 12 |
    """
    rule = "|".join([":---", *[":---" if words else "---:"] * (len(heads) - 1)])
    lines = [" | ".join(map(markdown_text, row)) for row in (heads, *rows)]
    return "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])


def latex_table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    r"""Return a table as LaTeX, with the rules of the package booktabs.

    Examples
    --------
    >>> print(latex_table(["", "n"], [["a & b", "12"]]))
    \begin{tabular}{lr}
    \toprule
     & n \\
    \midrule
    a \& b & 12 \\
    \bottomrule
    \end{tabular}
    """
    head, *body = [" & ".join(map(_latex, row)) + r" \\" for row in (heads, *rows)]
    table = [rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    table.append(r"\end{tabular}")
    if not caption:
        return "\n".join(table)
    return "\n".join([r"\begin{table}", r"\centering", rf"\caption{{{_latex(caption)}}}", *table, r"\end{table}"])


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in one_line(text))


def markdown_text(text: str) -> str:
    """Return a text in one line in which nothing is Markdown.

    Examples
    --------
    >>> print(markdown_text("a_b*"))
    a\\_b\\*
    """
    return "".join(f"\\{letter}" if letter in _MARKDOWN else letter for letter in one_line(text))
