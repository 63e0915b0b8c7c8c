"""The command ``askance``. Commands import what they need when they run, so that help appears at once."""

import sys
from typing import Annotated

import typer

from askance import __version__
from askance.cli.audit import audit
from askance.cli.demo import demo
from askance.cli.fit import fit
from askance.cli.ledger import ledger
from askance.cli.options import canonical_name
from askance.cli.predict import predict
from askance.cli.privatize import privatize
from askance.cli.ratios import ratios
from askance.cli.release import release
from askance.cli.reproduce import reproduce
from askance.cli.tag import tag
from askance.errors import AskanceError

BAD_INPUT = 2  # as typer ends where an option is unknown or a value is none of its choices


def unwrapped(text: str) -> str:
    """Return paragraphs of one line each, so that they are broken where the terminal ends."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


app = typer.Typer(
    name="askance",
    help="Learn models from what people were willing to tell you.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": canonical_name},
)
for command in (demo, privatize, fit, predict, ratios, tag, audit, reproduce):
    app.command()(command)
for group in (release, ledger):
    app.add_typer(group)
for registered in [*app.registered_commands, *release.registered_commands, *ledger.registered_commands]:
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
    try:
        app(arguments)
    except AskanceError as error:
        _fail(str(error))
    except OSError as error:
        # No such file, no permission, no space left: the system's words, and the path.
        _fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))


def _fail(message: str) -> None:
    typer.echo(f"askance: {message}", err=True)
    sys.exit(BAD_INPUT)
