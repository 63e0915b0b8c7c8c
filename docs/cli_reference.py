"""Write ``cli.md`` from the command line itself: ``python docs/cli_reference.py``.

The page is kept in the repository, so that it can be read without a build; a test compares it with what this
script would write.
"""

import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from askance.cli.app import app

PAGE = Path(__file__).with_name("cli.md")

_INTRODUCTION = """\
# Command line

<!-- Written by docs/cli_reference.py: edit the help texts in src/askance/cli, then run it again. -->

`askance COMMAND --help` (or `-h`) prints the same. Results go to standard output; progress, remarks and errors go to
standard error.

`-` in the place of one table is what comes on standard input, as CSV or as a whole Parquet file:
`cat answers.csv | askance privatize study.toml -`. With `--json` errors are JSON too, on standard error:
`{"error": "...", "exit_code": 2}`.

| exit code | meaning |
|---|---|
| 0 | it worked |
| 1 | it ran, and found something wrong: a channel that fails its audit, a figure that does not agree |
| 2 | the input cannot be used: one paragraph says what arrived, what was expected, what to do; nothing is written |
| 70 | a defect of askance, which says nothing about the input: `ASKANCE_TRACE=1` shows where |
| 141 | nobody reads the output, as after `head` |

Texts of strangers (names of columns, files, classes, data sets) are printed as visible letters only: control
characters, terminal escapes and controls of the writing direction are written out (`\\x1b`), and commands to copy are
quoted for the shell. A table for other programs (`predict`, `tag`) goes into a pipe or a file byte by byte.
"""
_KINDS = {Path: "path", str: "text", int: "whole number", float: "number", bool: ""}


def reference() -> str:
    """Return the page."""
    group = typer.main.get_command(app)
    commands = dict(all_commands(group))
    top = _table("option", [_row(parameter, {}) for parameter in group.params])
    sections = [_command(name, command) for name, command in commands.items()]
    return "\n\n".join([_INTRODUCTION.rstrip(), f"## askance\n\n{group.help}\n\n{top}", *sections]) + "\n"


def all_commands(group: Any) -> Iterator[tuple[str, Any]]:
    """Yield commands by name; those within a group as "group command"."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from ((f"{name} {inner}", each) for inner, each in all_commands(command))
        else:
            yield name, command


def _command(name: str, command: Any) -> str:
    hints = get_type_hints(inspect.unwrap(command.callback))
    arguments = [parameter for parameter in command.params if not _is_option(parameter)]
    options = [parameter for parameter in command.params if _is_option(parameter)]
    needed = [f"{option.opts[0]} {_value(option, hints).upper()}" for option in options if option.required]
    usage = " ".join(["askance", name, *map(_usage, arguments), *needed, "[OPTIONS]"])
    paragraphs = [textwrap.fill(text, 120) for text in inspect.cleandoc(command.help).split("\n\n")]
    parts = [f"## askance {name}", *paragraphs, f"```text\n{usage}\n```"]
    if arguments:
        parts.append(_table("argument", [_row(argument, hints) for argument in arguments]))
    panels = dict.fromkeys(_panel(option) for option in options)
    for panel in sorted(panels, key=bool):  # as in the help: those without a heading first
        parts.append(_table(panel or "option", [_row(option, hints) for option in options if _panel(option) == panel]))
    return "\n\n".join(parts)


def _panel(option: Any) -> str:
    """The heading that the help has for an option; empty if it has none."""
    return (getattr(option, "rich_help_panel", None) or "").lower()


def _is_option(parameter: Any) -> bool:
    return bool(parameter.opts[0].startswith("-"))


def _usage(argument: Any) -> str:
    name = argument.name.upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _row(parameter: Any, hints: dict[str, Any]) -> list[str]:
    shown = ", ".join(parameter.opts) if _is_option(parameter) else parameter.name.upper()
    value = _value(parameter, hints)
    if parameter.required:
        default = "required"
    else:
        default = "" if parameter.default is None or parameter.default is False else f"`{parameter.default}`"
    return [f"`{shown}`", value, default, parameter.help or ""]


def _value(parameter: Any, hints: dict[str, Any]) -> str:
    """What is written after an option, in words."""
    if parameter.metavar:
        return str(parameter.metavar).lower()
    return _kind(hints.get(parameter.name, bool))


def _kind(hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(hint))
    if get_origin(hint) is list:
        return f"{_kind(get_args(hint)[0])}, several"
    return _KINDS[hint]


def _table(head: str, rows: list[list[str]]) -> str:
    lines = [[head, "value", "default", "meaning"], ["---"] * 4, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
