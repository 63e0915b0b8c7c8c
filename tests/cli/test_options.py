"""Options that commands share: the same words everywhere, old spellings understood, and a table that is whole."""

import inspect
from pathlib import Path

import pytest
import typer

from askance.cli.app import app
from askance.cli.fit_kinds import FOR_ALL, KINDS
from askance.cli.options import listed_numbers
from askance.errors import InvalidInput

GROUP = typer.main.get_command(app)
COMMANDS = {
    f"{name} {inner}".strip(): command
    for name, outer in GROUP.commands.items()
    for inner, command in getattr(outer, "commands", {"": outer}).items()
}
SHARED = (
    "--json",
    "--overwrite",
    "--quiet",
    "--engine",
    "--seed",
    "--level",
    "--save",
    "--report",
    "--proportions",
    "--columns",
)


def options(command):
    return {parameter.opts[0]: parameter for parameter in command.params if parameter.opts[0].startswith("-")}


@pytest.mark.parametrize("spelling", SHARED)
def test_a_shared_option_says_the_same_in_every_command(spelling):
    found = [options(command)[spelling] for command in COMMANDS.values() if spelling in options(command)]
    assert len({option.help for option in found}) == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_json_and_writes_with_out(name):
    has = options(COMMANDS[name])
    assert "--json" in has
    assert "--output" not in has
    if "--overwrite" in has:
        assert {"--out", "--report", "--save", "--plot"} & has.keys()


def test_every_option_of_fit_is_for_some_kind_of_input_or_for_all():
    taken = {option for kind in KINDS for option in kind.options} | set(FOR_ALL)
    assert {parameter.name for parameter in COMMANDS["fit"].params} - {"data", "help"} == taken
    assert all(("method" in kind.options) == bool(kind.methods) for kind in KINDS)


def test_the_methods_of_fit_are_all_in_its_help():
    shown = options(COMMANDS["fit"])["--method"].help
    for kind in KINDS:
        for method in kind.methods:
            assert method in shown


def test_what_a_kind_cannot_take_is_refused_with_what_it_can(run, tmp_path):
    Path(tmp_path / "mu.json").write_text("{}")
    code, out, err = run("fit", str(tmp_path / "mu.json"), "--formula", "a ~ b", "--weight", "w", "--ridge", "1")
    assert (code, out) == (2, "")
    assert "--formula, --weight for a mean operator" in err
    assert "expected --formula with a question with choices, a question that hides numbers" in err
    assert "Here may stand --features, --id, --loss, --ridge or --level." in err


@pytest.mark.parametrize("spelled", [["--output", "{}"], ["--output={}"], ["--out", "{}"], ["--out={}"]])
def test_the_early_spelling_of_out_is_understood(run, tmp_path, spelled):
    folder = tmp_path / "is a file"
    folder.write_text("")
    code, _, err = run("demo", *(word.format(folder) for word in spelled))
    assert code == 2
    assert "is a file" in err


def test_paragraphs_of_the_help_are_broken_by_the_terminal_only():
    for name, command in COMMANDS.items():
        paragraphs = command.help.split("\n\n")
        assert not any("\n" in paragraph for paragraph in paragraphs), name
        assert len(paragraphs) == len(inspect.cleandoc(command.callback.__doc__).split("\n\n"))


def test_numbers_between_commas_are_read_alike_by_every_command():
    assert listed_numbers("0.1, 1/6,2e-3", "--rscales") == (0.1, 1 / 6, 0.002)
    assert listed_numbers(None, "--rscales") is None
    for text in ("", "0.1,,0.2", "1/0", "nan", "many"):
        with pytest.raises(InvalidInput, match=r"--rscales .*expected numbers between commas, such as 0.1 or 1/6"):
            listed_numbers(text, "--rscales")
