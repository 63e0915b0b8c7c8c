"""What commands print: results on standard output, everything else on standard error."""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from askance.cli.standard_input import without_places
from askance.printing import one_line, safe_json, safe_lines

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from askance.files.kinds import FileKind

Answer = TypeVar("Answer")


def console(*, stderr: bool = False) -> "Console":
    """Return a rich console; plain text when the output is not a terminal.

    Whatever it prints, in tables too, is text and nothing else: no mark-up, no emoji by name, no escape sequences.
    """
    from rich.console import Console
    from rich.text import Text

    class PlainConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(safe_lines(text), **options | {"markup": False, "emoji": False})

    stream = sys.stderr if stderr else sys.stdout
    # In a pipe or a file no line should be broken where some imagined terminal ends; the widest table, of an audit, has
    # about 150 characters.
    width = None if stream.isatty() else 200
    return PlainConsole(file=stream, highlight=False, soft_wrap=not stream.isatty(), width=width)


def print_json(value: Any) -> None:
    """Print strict JSON: no NaN (null) and no infinity (the word "infinite")."""
    text = json.dumps(strict(value), indent=2, allow_nan=False, ensure_ascii=False)
    sys.stdout.write(safe_json(text) + "\n")
    sys.stdout.flush()  # whoever waits for it has it now, even if the command goes on


def show(text: str = "", style: str = "") -> None:
    """Print a line of the result; what would break it is written out."""
    console().print(one_line(text), style=style or None)


def show_lines(text: str, style: str = "") -> None:
    """Print lines that were put together with care: names in them have been through :func:`one_line`."""
    if style:
        console().print(text, style=style)
    else:  # as it is: no table is broken where the terminal ends
        sys.stdout.write(safe_lines(text) + "\n")


def write_data(text: str) -> None:
    """Print a table for other programs: byte by byte into a pipe or a file, and made safe for a terminal."""
    sys.stdout.write(safe_lines(text) if sys.stdout.isatty() else text)


def strict(value: Any) -> Any:
    """Turn nested values into what strict JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [strict(item) for item in value]
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return strict(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "infinite" if value > 0 else "-infinite"
    return value


def say(text: str) -> None:
    """Print a remark on standard error."""
    console(stderr=True).print(one_line(without_places(text)))


def warn(text: str) -> None:
    """Print something that must not be overlooked."""
    console(stderr=True).print(one_line(f"WARNING: {without_places(text)}"), style="bold red")


def write_csv(path: "Path", text: str, kind: "FileKind") -> None:
    """Write a table; names in it that a spreadsheet would run as formulas are told, and left as they are."""
    from askance.channels.alphabet import listed
    from askance.files.targets import write_text
    from askance.tables.csv_writing import formulas_in

    write_text(path, text, kind)
    if cells := formulas_in(text):
        warn(
            f"{path} has cells that a spreadsheet takes for formulas: {listed(cells[:3])}. They are names in the data; "
            "open it in a spreadsheet with its columns as text, or not at all if you do not know who wrote them."
        )


def ask_for(words: str, proposed: str, otherwise: str, read: Callable[[str], Answer]) -> Answer:
    """Ask for a line on standard input; what is proposed stands for an empty one.

    A line that ``read`` refuses is asked for again where somebody types: nothing said before is lost. ``otherwise``
    says what to do where nobody answers.
    """
    from askance.errors import AskanceError, InvalidInput

    shown = f"{words} [{proposed}]: " if proposed else f"{words}: "
    while True:
        console(stderr=True).print(one_line(shown), end="" if sys.stdin.isatty() else "\n")
        said = sys.stdin.readline()
        if not said:
            raise InvalidInput(f"no answer to {words!r}", "a line on standard input", otherwise)
        try:
            return read(said.strip() or proposed)
        except AskanceError as error:
            if not sys.stdin.isatty():
                raise
            say(str(error))


def tell_end(remarks: Iterable[str], written: Iterable[str], *, quiet: bool) -> None:
    """Say what must not be overlooked, and which files there are now."""
    if quiet:
        return
    for remark in remarks:
        warn(remark)
    for path in written:
        say(f"wrote {path}")


@contextmanager
def progress_bar(description: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error if that is a terminal; yields ``update(done, total)``."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def show_release(done: Any, out: "Path", as_json: bool) -> None:
    """Print a release of totals that was written: whole as JSON, or its title and what it holds."""
    if as_json:
        print_json(done.to_dict() | {"written": str(out)})
        return
    first, *more = str(done).split("\n")
    show(f"{out}: {first}")
    for line in more:
        show(line)
