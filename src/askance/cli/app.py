"""The command ``askance``. Commands import what they need when they run, so that help appears at once."""

import contextlib
import io
import json
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from askance import __version__
from askance.cli.audit import audit
from askance.cli.collect import export, invite, serve
from askance.cli.crosstab import crosstab
from askance.cli.demo import demo
from askance.cli.dossier import dossier
from askance.cli.fit import fit
from askance.cli.ledger import ledger
from askance.cli.new import new
from askance.cli.options import canonical_name
from askance.cli.plan import plan
from askance.cli.predict import predict
from askance.cli.privatize import privatize
from askance.cli.ratios import ratios
from askance.cli.release import release
from askance.cli.reproduce import reproduce
from askance.cli.request import request
from askance.cli.simulate import simulate
from askance.cli.standard_input import standard_input, without_places
from askance.cli.tag import tag
from askance.cli.verify import verify
from askance.errors import AskanceError, AskanceWarning
from askance.printing import as_options, one_line

# Exit codes. 1 is for an answer that is no: an audit that failed, a figure that disagrees.
BAD_INPUT = 2  # as usual where an option is unknown or a value is none of its choices
DEFECT = 70  # EX_SOFTWARE of sysexits.h: something that should never happen, and says nothing about the input
CLOSED = 141  # 128 + SIGPIPE, as shells say that a program ended because nobody read its output
TRACE = "ASKANCE_TRACE"
_TEMPORARY = re.compile(r"(?<![^/\\])\.(?P<name>[^/\\]+)\.[0-9a-f]{12}(\.old)?\.tmp\b")


def unwrapped(text: str) -> str:
    """Return paragraphs of one line each, so that they are broken where the terminal ends."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


app = typer.Typer(
    name="askance",
    help="Learn models from what people were willing to tell you.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": canonical_name},
)
for command in (
    demo,
    new,
    simulate,
    privatize,
    verify,
    fit,
    predict,
    ratios,
    crosstab,
    tag,
    audit,
    dossier,
    serve,
    invite,
    export,
    reproduce,
):
    app.command()(command)
for group in (plan, release, request, ledger):
    app.add_typer(group)
for registered in [
    *app.registered_commands,
    *(command for group in (plan, release, request, ledger) for command in group.registered_commands),
]:
    registered.help = unwrapped(registered.callback.__doc__ or "")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"askance {__version__}")
        raise typer.Exit


@app.callback()
def askance(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Learn models from what people were willing to tell you."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command; what the user can mend becomes a message and exit code 2, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a letter that the terminal's encoding lacks is written out
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _remark
        sys.exit(_exit_code(arguments))


def _exit_code(arguments: list[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    fail = _fail_as_json if any(word.split("=")[0] == "--json" for word in given) else _fail
    try:
        with standard_input(given) as with_paths:
            return _run(with_paths, fail)
    except AskanceError as error:  # - that cannot be read
        return fail(str(error))
    except OSError as error:
        return fail(_of_the_system(error))


def _run(arguments: list[str], fail: Callable[..., int]) -> int:
    try:
        # What shells complete is the command, also where it was asked for as python -m askance, and not python's words.
        called = "askance" if {"--install-completion", "--show-completion"} & {*arguments} else None
        code = app(arguments, standalone_mode=False, prog_name=called)
        sys.stdout.flush()
        return int(code or 0)
    except AskanceError as error:
        return fail(str(error))
    except BrokenPipeError:
        return _nobody_reads()
    except OSError as error:
        return fail(_of_the_system(error))
    except MemoryError:
        return fail("this takes more memory than there is")
    except SystemExit as ended:  # typer ends with 1 where standard output was closed, which means a failed audit here
        return 0 if not ended.code else _nobody_reads()  # and with 0 where a shell asked how a word goes on
    except Exception as error:
        if hasattr(error, "format_message"):  # typer's own errors, whichever copy of click it has
            said = _misuse(error, arguments)
            return fail(said) if said else BAD_INPUT
        if os.environ.get(TRACE):
            raise
        return fail(_defect(error), DEFECT)


def _of_the_system(error: OSError) -> str:
    """No such file, no permission, no space left: the system's words, and the path that was meant."""
    if not error.filename or not error.strerror:
        return error.strerror or str(error)
    temporary = _TEMPORARY.search(str(error.filename))  # nobody has asked for a file of that name
    if temporary is None:
        return f"{error.filename}: {error.strerror}"
    return f"cannot write {str(error.filename)[: temporary.start()]}{temporary['name']} ({error.strerror})"


def _fail(message: str, code: int = BAD_INPUT) -> int:
    sys.stderr.write(one_line(f"askance: {as_options(without_places(message))}") + "\n")
    return code


def _fail_as_json(message: str, code: int = BAD_INPUT) -> int:
    """For a program that asked for JSON: what went wrong goes where errors go, in a form that it can read."""
    said = {"error": one_line(as_options(without_places(message))), "exit_code": code}
    sys.stderr.write(json.dumps(said, ensure_ascii=False) + "\n")
    return code


def _misuse(error: Any, arguments: list[str]) -> str:
    """What typer says of a command that cannot be understood; nothing of a group whose help is printed already."""
    said = str(error.format_message()).rstrip(".")
    if not said:
        return ""
    words = [word for given in arguments for word in (given.split("=", 1) if given.startswith("--") else [given])]
    for option, value in pairwise(words):
        if words.count(option) == 1:  # of an option that stands there twice, nobody says which is meant
            said = said.replace(f"Invalid value for '{option}'", f"Invalid value for '{option} {value}'")
    command = error.ctx.command_path if getattr(error, "ctx", None) else "askance"
    end = "" if said.endswith(("?", ".", "!")) else "."
    return f"{said}{end} See {command} --help."


def _defect(error: Exception) -> str:
    """Say where a defect is, and nothing of what the error says: that may be private."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
    again = f"Set {TRACE}=1 to see the trace, look through it for private values, and report it"
    return f"this is a defect of askance, not an answer ({where}). {again}"


def _nobody_reads() -> int:
    """End quietly where standard output was closed, as by head."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to flush goes nowhere
    return CLOSED


def _remark(message: Warning | str, category: type[Warning], *place: Any, **where: Any) -> None:
    from askance.cli.output import say, warn

    if issubclass(category, AskanceWarning):
        warn(str(message))
    else:
        say(f"{category.__name__}: {message}")
