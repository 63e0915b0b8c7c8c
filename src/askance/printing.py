r"""Texts of strangers on their way to a terminal or into a shell: names of columns, files, classes, data sets.

A name may hold what a terminal obeys (escape sequences that colour, delete or retype lines), what turns the order of
letters (bidirectional controls), a line break that starts a line of its own, or what a shell would run. Everything
that is printed goes through :func:`one_line` or :func:`safe_lines`, every command that is printed to be copied
through :func:`shell_command`.
"""

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from html import escape

# Control characters, invisible format characters (among them the bidirectional controls), halves of surrogate pairs,
# and separators of lines. Joiners (U+200C, U+200D) stay: Persian words and many emoji are spelled with them.
_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0001-\U000e007f"
)
_IN_A_LINE = re.compile(f"[{_UNSEEN}]")
_BETWEEN_LINES = re.compile(f"(?![\n\t])[{_UNSEEN}]")

# Parameters that are options of a command under the same name, where a message gives them a value.
_PARAMETER = re.compile(
    r"\b(classes|covariance|intervals|link|loss|method|missing|penalty|ridge|structure|unmatched)=(?:'([\w,-]+)'|([0-9]+(?:\.[0-9]+)?))"
)


def one_line(text: str) -> str:
    r"""Return a text with everything that is no visible letter written out, line breaks too.

    Examples
    --------
    >>> one_line("age\x1b[2J\nall is well")
    'age\\x1b[2J\\nall is well'
    """
    return _IN_A_LINE.sub(_written_out, text)


def safe_lines(text: str) -> str:
    r"""Return a text of several lines, with everything else but tabs that is no visible letter written out.

    Examples
    --------
    >>> safe_lines("no\x07\nyes")
    'no\\x07\nyes'
    """
    return _BETWEEN_LINES.sub(_written_out, text)


def safe_json(text: str) -> str:
    r"""Return JSON with everything that is no visible letter as \u and four digits, which means the same.

    Examples
    --------
    >>> safe_json('"age\x9b2J"')
    '"age\\u009b2J"'
    """
    return _BETWEEN_LINES.sub(lambda found: json.dumps(found[0]).strip('"').replace("\x7f", r"\u007f"), text)


def as_options(text: str) -> str:
    """Return what is said of parameters as options of a command, for who types commands and knows no Python.

    Examples
    --------
    >>> as_options("No interval: ask for intervals='profile', or ridge=0.5.")
    'No interval: ask for --intervals profile, or --ridge 0.5.'
    """
    return _PARAMETER.sub(lambda found: f"--{found[1]} {found[2] or found[3]}", text)


def html_notes(
    title: str, lines: Sequence[str], heads: Sequence[str] = (), rows: Iterable[Sequence[object]] = ()
) -> str:
    """Return a title, paragraphs and a table as HTML for a notebook, with everything escaped.

    Examples
    --------
    >>> html_notes("<Warner>", ["p & q"])
    '<p><b>&lt;Warner&gt;</b></p><p>p &amp; q</p>'
    """
    said = "".join(f"<p>{escape(one_line(line))}</p>" for line in lines)
    body = "".join(f"<tr>{''.join(f'<td>{escape(one_line(str(cell)))}</td>' for cell in row)}</tr>" for row in rows)
    head = "".join(f'<th scope="col">{escape(one_line(name))}</th>' for name in heads)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""
    return f"<p><b>{escape(one_line(title))}</b></p>{said}{table}"


def shell_command(*words: object) -> str:
    """Return a command that can be copied into a shell, whatever its words are.

    Examples
    --------
    >>> print(shell_command("askance", "audit", "my study.toml"))
    askance audit 'my study.toml'
    >>> print(shell_command("--formula", "y ~ `touch x`"))
    --formula 'y ~ `touch x`'
    """
    return shlex.join(one_line(str(word)) for word in words)


def _written_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
