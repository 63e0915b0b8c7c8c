"""The documentation is true: its code runs, its commands work, its outputs are what is printed, nothing is left out.

A page is a little session in an empty folder, from top to bottom:

- a ``python`` block is executed, in one namespace for the whole page, warnings as errors; so is the cell of a notebook;
- a line ``$ askance ...`` (or ``askance ...``) of a ``console`` block is run and must end with 0;
- a block after a paragraph that ends with "`name.ext`:" becomes that file;
- an ``output`` block is compared with what the block before it printed ("..." stands for anything).

``python tests/house/test_docs.py`` writes anew the outputs that changed, except those with "..."; read the difference.
"""

import contextlib
import doctest
import io
import re
import runpy
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import typer
from pyarrow import csv

import askance
from askance.channels.attributes.row_channel import RowChannel
from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.rows.private_row import PrivateRow
from askance.channels.specs import FEATURE_CHANNELS, FINITE_CHANNELS, VECTOR_CHANNELS
from askance.cli.app import app, main
from askance.errors import InvalidInput
from askance.papers.registry import entries

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SESSIONS = [
    ROOT / "README.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("notebooks/*.md")),
    *sorted(DOCS.glob("mechanisms/*.md")),
]
TAGGERS = {"counting.md", "gallery.md"}  # their loops take half a minute to compile: once is enough
PAGES = [*SESSIONS, *sorted(DOCS.glob("decisions/*.md")), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
FENCE = re.compile(r"^```(?P<language>[\w{}-]*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED_AS = re.compile(r"`(?P<name>[\w-]+\.\w+)`:\s*\Z")
COMMANDS = dict(runpy.run_path(str(DOCS / "cli_reference.py"))["all_commands"](typer.main.get_command(app)))


def name_of(page):
    return str(page.relative_to(ROOT))


# -- pages as sessions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    file: str | None

    @property
    def commands(self):
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line.removeprefix("$ ") for line in lines if line.removeprefix("$ ").startswith("askance ")]


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        saved = SAVED_AS.search(text[: match.start()].rstrip())
        line = text[: match.start()].count("\n") + 2
        code = match["text"]
        if match["language"] == "{code-cell}":  # its first lines may be options, which are not code
            code = re.sub(r"^:\w+:.*$", "", code, flags=re.MULTILINE)
        yield Block(match["language"], code, line, saved["name"] if saved else None)


def run_page(page, check=None):
    """Run all blocks of a page in the current folder, and check its outputs."""
    check = check or check_output
    namespace, printed = {"__name__": "__main__"}, ""
    for block in blocks_of(page):
        where = f"{name_of(page)}, line {block.line}"
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language in ("python", "{code-cell}"):
            # The line number makes a traceback point into the page.
            code = compile("\n" * (block.line - 1) + block.text, name_of(page), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(code, namespace)
            printed = said.getvalue()
            if block.language == "{code-cell}" and "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")  # as a notebook does after every cell
        elif block.language in ("console", ""):
            printed = "".join(run_command(command, where) for command in block.commands)
        elif block.language == "output":
            check(block.text, printed, where)


def run_command(command, where):
    """Run ``askance ...`` as a shell would, with comments and ``> file`` as the only pieces of shell there are."""
    words = shlex.split(command, comments=True)
    target = words[-1] if words[-2:-1] == [">"] else None
    words = words[1:-2] if target else words[1:]
    if words[0] == "audit" and "--error-rate" not in words:
        words += ["--error-rate", "1e-9"]  # by default an honest channel fails once in a thousand runs
    assert not {"|", "&&", ";", "<", ">"} & set(words), f"{where}: one command a line, please: {command}"
    with (
        contextlib.redirect_stdout(io.StringIO()) as said,
        contextlib.redirect_stderr(io.StringIO()) as remarks,
        pytest.raises(SystemExit) as ended,
    ):
        main(words)
    assert not ended.value.code, f"{where}: {command} ended with {ended.value.code}: {remarks.getvalue()}"
    if target:
        Path(target).write_text(said.getvalue(), encoding="utf-8")
    return "" if target else said.getvalue()


def agree(expected, printed):
    return doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


def check_output(expected, printed, where):
    assert agree(expected, printed), f"{where} shows\n{expected}\nbut this was printed:\n{printed}"


def refresh_outputs(page):
    """Write the outputs of a page anew, in the current folder."""
    text = page.read_text(encoding="utf-8")

    def renew(expected, printed, where):
        nonlocal text
        if not agree(expected, printed) and "..." not in expected:
            lines = "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())
            text = text.replace(f"```output\n{expected}```", f"```output\n{lines}```", 1)

    run_page(page, renew)
    page.write_text(text, encoding="utf-8")


def bring_field_data():
    """The README begins where the forms have come back: give it what its study asks for."""
    rng = np.random.default_rng(1)
    people = {"age": rng.integers(18, 30, 2000), "school": rng.choice(["north", "south"], 2000)}
    truth = np.where(rng.random(2000) < 0.3, "yes", "no")
    csv.write_csv(pa.table({"cheated": truth, **people}), "truth.csv")
    csv.write_csv(pa.table({"cheated": askance.Crosswise(0.25).simulate(truth, rng), **people}), "answers.csv")


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.xdist_group("tagger") if page.name in TAGGERS else ()) for page in SESSIONS],
    ids=name_of,
)
def test_code_and_commands_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page.name == "README.md":
        bring_field_data()
    run_page(page)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_of_a_known_kind(page):
    # A misspelt language would quietly take a block out of the tests.
    known = {"python", "console", "output", "toml", "text", "r", "{toctree}", "{eval-rst}"}
    if "\nfile_format: mystnb\n" in page.read_text(encoding="utf-8"):
        known |= {"{code-cell}"}
    plain = {""} if page.parent == ROOT else set()
    assert {block.language for block in blocks_of(page)} <= known | plain
    assert page.read_text(encoding="utf-8").count("\n```") % 2 == 0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```python\nprint(1 + 1)\n```\n\n```output\n3\n```\n", AssertionError),
        ("```python\nimport warnings\nwarnings.warn('old')\n```\n", UserWarning),
        ("```console\n$ askance fit nothing.parquet\n```\n", AssertionError),
        (
            "Save this as `study.toml`:\n\n```toml\n[questions]\n```\n\n```console\n$ askance audit study.toml\n```\n",
            AssertionError,
        ),
    ],
)
def test_a_page_that_is_not_true_is_noticed(text, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("test_docs.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(error):
        run_page(page)


# -- nothing is left out ---------------------------------------------------------------------------------------------


def mentioned(word):
    """Whether a word stands by itself in code or text of the documentation."""
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    return any(pattern.search(page.read_text(encoding="utf-8")) for page in DOCS.glob("*.md"))


def test_the_search_for_words_can_fail():
    assert mentioned("Warner")
    assert not mentioned("Warn")


@pytest.mark.parametrize("name", askance.__all__)
def test_every_public_name_is_in_the_reference(name):
    reference = (DOCS / "api.md").read_text(encoding="utf-8")
    assert re.search(rf"^\.\. (auto\w+|py:data):: askance\.{name}$", reference, re.MULTILINE)
    assert mentioned(name)


def test_the_command_line_reference_is_up_to_date():
    script = runpy.run_path(str(DOCS / "cli_reference.py"))
    written = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert written == script["reference"](), "run: python docs/cli_reference.py"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_shown_at_work_and_every_option_explained(name):
    shown = [command for page in SESSIONS for block in blocks_of(page) for command in block.commands]
    assert any(shlex.split(command)[1 : 1 + len(name.split())] == name.split() for command in shown)
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    section = re.search(rf"^## askance {name}$.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    for parameter in COMMANDS[name].params:
        spelling = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.name.upper()
        assert re.search(rf"`{spelling}[`,]", section[0])  # a comma: it has a short form, too
        assert parameter.help


@pytest.mark.parametrize(
    "channel",
    [*FINITE_CHANNELS, *VECTOR_CHANNELS, *FEATURE_CHANNELS, PrivateRow, RowChannel, DesignPerRow],
    ids=lambda channel: channel.kind,
)
def test_every_kind_of_channel_is_explained(channel):
    page = (DOCS / "channels.md").read_text(encoding="utf-8")
    assert f"`{channel.kind}`" in page
    assert f"`{channel.__name__}" in page


@pytest.mark.parametrize("entry", entries().values(), ids=lambda entry: entry.name)
def test_every_reproduction_is_listed_with_its_claim(entry):
    page = " ".join((DOCS / "reproduce.md").read_text(encoding="utf-8").split())
    assert f"### {entry.name} " in page
    assert entry.claim in page
    assert entry.reference in page


def test_the_page_of_results_is_what_was_found_last():
    script = runpy.run_path(str(DOCS / "reproduced_results.py"))
    rows = script["kept"]()
    for page, write in ((script["PAGE"], script["page_of"]), (script["BEYOND"], script["beyond_of"])):
        assert write(rows) == page.read_text(encoding="utf-8"), "run: python docs/reproduced_results.py"
    assert {row["entry"] for row in rows} == set(entries()), (
        "run: askance reproduce all, then docs/reproduced_results.py"
    )
    assert all(row["passes"] == "True" for row in rows)


# -- the study file --------------------------------------------------------------------------------------------------

QUESTION = '[questions.q]\nchoices = ["no", "yes"]\n'
CHANNEL = 'channel = { design = "warner", p = 0.8 }\n'
PLACES = {
    "The file": QUESTION + CHANNEL + "[{stranger}]\n",
    "`[study]`": QUESTION + CHANNEL + "[study]\n{stranger} = 1\n",
    "`[questions.NAME]`": QUESTION + CHANNEL + "{stranger} = 1\n",
    "`[privacy]`": QUESTION + CHANNEL + "[privacy]\n{stranger} = 1\n",
    "`[covariates.NAME]`": QUESTION + CHANNEL + '[covariates.c]\ntype = "number"\n{stranger} = 1\n',
} | {
    f"`{channel.kind}`": QUESTION + f'[questions.q.channel]\ndesign = "{channel.kind}"\n{{stranger}} = 1\n'
    for channel in FINITE_CHANNELS
}
NUMBERS = {"private-number": "bounds = [0, 1]\n", "private-row": "columns = { a = [0, 1], b = [0, 1] }\n"}
NUMBERS |= dict.fromkeys(("state-flip", "gaussian-noise", "laplace-noise"), "width = 2\n")
PLACES |= {
    f"`{kind}`": f'[questions.q]\n{keys}[questions.q.channel]\ndesign = "{kind}"\n{{stranger}} = 1\n'
    for kind, keys in NUMBERS.items()
}


def known_keys(text):
    """Ask the parser itself which keys it knows at some place, by giving it one that it does not."""
    with pytest.raises(InvalidInput, match="unknown key 'stranger'") as refused:
        askance.Study.parse(text.replace("{stranger}", "stranger"))
    return re.search(r"expected some of ([\w, ]+)", str(refused.value))[1].split(", ")


@pytest.mark.parametrize("place", PLACES)
def test_every_key_of_the_study_file_is_documented(place):
    page = (DOCS / "study-file.md").read_text(encoding="utf-8")
    keys = known_keys(PLACES[place])
    assert keys
    if place.startswith(("The", "`[")):
        documented = re.search(rf"^### {re.escape(place)}$.*?(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)[0]
    else:  # a design: its row of the table
        documented = re.search(rf"^\| {re.escape(place)} .*$", page, re.MULTILINE)[0] + "`design`"
    for key in keys:
        assert f"`{key}`" in documented, f"{place} knows the key {key}, and docs/study-file.md does not"


def test_every_study_of_the_documentation_reads():
    written = [block for page in SESSIONS for block in blocks_of(page) if block.language == "toml"]
    tasks = [block for block in written if block.text.startswith(("[annotation]", "[labels]"))]
    assert len(tasks) == 2  # tests/collector/test_tasks_of_the_documentation.py reads them
    studies = [block for block in written if block not in tasks]
    assert len(studies) > 3
    for block in studies:
        askance.Study.parse(block.text)
    assert askance.Study.template() in {block.text for block in studies}


# -- links and the build ---------------------------------------------------------------------------------------------


def anchors(page):
    """The anchors of a page's headings, as GitHub and MyST make them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        yield re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_inside_the_project_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), f"{name_of(page)} links to {target}"
        if anchor:
            assert anchor in set(anchors(place)), f"{name_of(page)} links to {target}"


def test_every_page_is_in_the_table_of_contents():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = {line.split("<")[-1].rstrip(">") for block in FENCE.finditer(index) for line in block["text"].split("\n")}
    for page in DOCS.glob("*.md"):
        assert page.name == "index.md" or page.stem in listed


if __name__ == "__main__":
    for session in SESSIONS[1:]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            refresh_outputs(session.resolve())
