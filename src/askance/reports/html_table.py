"""Tables as HTML: the first column names the row, and everything is escaped."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, wrong: bool = False, caption: str = "") -> str:
    """Return a table; with ``wrong`` its last column is the naive analysis.

    Examples
    --------
    >>> html_table(["", "n"], [["<yes>", "12"]]).count("&lt;yes&gt;")
    1
    """

    def cell(place: int, text: str, *, heads_column: bool = False) -> str:
        named = text if heads_column else not place  # a corner without a name heads nothing
        tag = "th" if named else "td"
        scope = f' scope="{"col" if heads_column else "row"}"' if named else ""
        marked = ' class="wrong"' if wrong and place == len(heads) - 1 else ""
        return f"<{tag}{scope}{marked}>{escape(text)}</{tag}>"

    head = "".join(cell(place, text, heads_column=True) for place, text in enumerate(heads))
    body = "".join(f"<tr>{''.join(cell(place, text) for place, text in enumerate(row))}</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
