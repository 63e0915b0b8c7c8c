"""Texts of strangers at a terminal: nothing that it obeys is printed raw, nothing printed can be run by mistake."""

import ast
import io
import json
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance import cli
from askance.cli.output import console
from askance.printing import one_line, safe_json, shell_command

# What a terminal obeys, what turns letters around, a line of its own, rich's mark-up and emoji, and commands.
NASTY = "n\x1b[31m\x1b]0;t\x07\x9b2J\u202e\u2066[red]:smile:\r\nFORGED `touch pwned` $(touch pwned)\"';touch pwned\x7f"
PLAIN = "m [bold red]x :tada:"  # nothing to be written out, and nothing to be obeyed
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
WARNER = {"design": "warner", "p": 0.8}
RNG = np.random.default_rng(2)
ROWS = 300


def check(out, err, *, seen=True):
    """Nothing raw, no forged line; and where the name is printed, it is printed whole."""
    said = out + err
    assert not RAW.search(said), ascii(RAW.search(said))
    assert not [line for line in said.splitlines() if line.strip().startswith("FORGED")]
    assert "\N{SMILING FACE WITH OPEN MOUTH AND SMILING EYES}" not in said
    if seen:
        assert "[red]" in said or "[bold red]" in said, said
    assert not list(Path.cwd().glob("pwned"))


def toml(value):
    return json.dumps(value) if isinstance(value, str) else "{ " + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + " }" if isinstance(value, dict) else json.dumps(value)  # fmt: skip  # noqa: E501


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files full of such names."""
    folder = tmp_path_factory.mktemp("nasty")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        text = (
            f"[study]\nname = {toml(NASTY)}\ntitle = {toml(NASTY)}\n"
            f"[questions.{toml(NASTY)}]\ntext = {toml(NASTY)}\nchoices = [{toml(NASTY)}, {toml(PLAIN)}]\n"
            f"channel = {toml(WARNER)}\n"
            f"[questions.{toml(PLAIN)}]\nchoices = [{toml(NASTY)}, {toml(PLAIN)}]\nchannel = {toml(WARNER)}\n"
            f'[covariates.{toml("c" + NASTY)}]\ntype = "number"\n'
            f'[covariates.{toml("c" + PLAIN)}]\ntype = "category"\n'
        )
        Path("study.toml").write_text(text.replace("\x7f", "\\u007f"), encoding="utf-8")
        labels = RNG.choice([NASTY, PLAIN], ROWS)
        people = pd.DataFrame(
            {
                NASTY: labels,
                PLAIN: labels,
                "c" + NASTY: RNG.normal(size=ROWS),
                "c" + PLAIN: labels,
                "left" + NASTY: "x",
                "id": [f"{NASTY}{n}" for n in range(ROWS)],
                "bag": np.where(np.arange(ROWS) % 2, NASTY, PLAIN),
            }
        )
        people.to_parquet("people.parquet", index=False)
        people[["id", "c" + NASTY]].to_parquet("features.parquet", index=False)
        people[["bag", "c" + NASTY]].to_parquet("rows.parquet", index=False)
        pd.DataFrame({"bag": [NASTY, PLAIN], NASTY: [0.3, 0.6], PLAIN: [0.7, 0.4]}).to_parquet(
            "shares.parquet", index=False
        )
        channel = ask.Warner(0.8, classes=(NASTY, PLAIN))
        X = people[["c" + NASTY]]
        ask.IndirectClassifier(channel).fit(X, channel.simulate(labels, RNG)).save("model.json")
        tagger = ask.RegionRelease.of(
            ask.RegionCounts([NASTY, PLAIN], 2).simulate([[NASTY, PLAIN]] * 20, RNG), [[NASTY, "b"]] * 20
        )
        tagger.write("regions.jsonl")
        Path("words.jsonl").write_text(json.dumps([NASTY, "b"]) + "\n")
    return folder


@pytest.fixture
def place(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


RELEASE = ("release", "counts", "people.parquet", "--label", NASTY, "--bag", "bag", "--classes", f"{NASTY},{PLAIN}")


def test_a_whole_study(place, run):
    code, out, err = run("privatize", "study.toml", "people.parquet", "--out", f"{NASTY}.parquet")
    assert code == 0, err
    check(out, err)
    code, out, err = run("privatize", "study.toml", "people.parquet", "--out", f"{NASTY}.parquet")
    assert code == 2
    check(out, err)
    for words in (("--question", NASTY), ("--question", PLAIN), ("--question", PLAIN, "--save", f"{PLAIN}.json")):
        code, out, err = run("fit", f"{NASTY}.parquet", *words)
        assert code == 0, err
        check(out, err)
    code, out, err = run("audit", "study.toml", "--draws", 2000, "--error-rate", 1e-9, "--quiet")
    assert code == 0, err
    check(out, err)


def test_json_says_the_same_in_plain_letters(place, run):
    code, out, err = run("privatize", "study.toml", "people.parquet", "--out", "j.parquet", "--json")
    assert code == 0, err
    check(out, err)
    assert NASTY in json.loads(out)["header"]["questions"] or NASTY in out.encode().decode("unicode_escape")
    code, out, err = run("fit", "j.parquet", "--question", NASTY, "--json")
    check(out, err)
    assert json.loads(out)["question"] == NASTY


def test_budgets_and_totals(place, run):
    code, out, err = run("ledger", "create", f"{NASTY}.ledger", "--epsilon", 3, "--data-set", NASTY)
    assert code == 0, err
    check(out, err)
    code, out, err = run(*RELEASE, "--epsilon", 1, "--ledger", f"{NASTY}.ledger", "--out", f"{NASTY}.json")
    assert code == 0, err
    check(out, err)
    words = ("--features", "features.parquet", "--id", "id", "--label", NASTY, "--classes", f"{NASTY},{PLAIN}")
    paid = ("--epsilon", 1, "--ledger", f"{NASTY}.ledger", "--out", "mu.json")
    code, out, err = run("release", "mean-operator", "people.parquet", *words, *paid)
    check(out, err)
    code, out, err = run("ledger", "show", f"{NASTY}.ledger")
    assert code == 0, err
    check(out, err)
    code, out, err = run("ledger", "receipt", f"{NASTY}.ledger", "--out", f"{PLAIN}.receipt")
    assert code == 0, err
    check(out, err)


@pytest.mark.xdist_group("tagger")  # loops that take long to compile
@pytest.mark.filterwarnings("ignore")
def test_bags_rows_and_words(place, run):
    for words in (
        ("fit", "rows.parquet", "--proportions", "shares.parquet", "--method", "mean-map"),
        ("ratios", "rows.parquet", "--bags", "rows.parquet", "--proportions", "shares.parquet", "--group", "bag"),
        ("fit", "regions.jsonl", "--seed", 1, "--save", "tagger.json"),
    ):
        code, out, err = run(*words)
        assert code == 0, err
        check(out, err, seen=words[1] == "rows.parquet")
    code, out, err = run("tag", "tagger.json", "words.jsonl", "--format", "jsonl", "--json")
    assert code == 0, err
    check(out, err)
    code, out, err = run("predict", "model.json", "people.parquet", "--id", "id", "--json")
    assert code == 0, err
    check(out, err)


@pytest.mark.parametrize(
    "words",
    [
        (NASTY,),
        ("fit", NASTY),
        ("fit", f"--{NASTY}"),
        ("fit", "people.parquet", "--loss", NASTY),
        ("fit", "people.parquet", "--ridge", NASTY),
        ("fit", "people.parquet", "--study", NASTY),
        ("fit", "people.parquet", "--study", "study.toml", "--question", "n" + NASTY),
        ("fit", "people.parquet", "--study", "study.toml", "--formula", f"`{PLAIN}` ~ {NASTY}"),
        ("fit", "rows.parquet", "--proportions", "shares.parquet", "--bag", NASTY),
        ("privatize", "study.toml", "rows.parquet", "--out", "x"),
        ("privatize", "study.toml", NASTY, "--out", "x"),
        ("privatize", "study.toml", "people.parquet", "--out", f"{NASTY}/x"),
        ("ledger", "show", NASTY),
        ("ledger", "create", "x.ledger", "--epsilon", NASTY, "--data-set", "d"),
        ("predict", "model.json", "shares.parquet"),
        ("predict", "model.json", "people.parquet", "--id", NASTY + "!"),
        ("tag", "model.json", NASTY),
        ("audit", NASTY),
        ("reproduce", NASTY),
        ("ratios", "rows.parquet", "--model", "model.json", "--group", NASTY),
    ],
    ids=lambda words: one_line(" ".join(words))[:40],
)
def test_messages(place, run, words):
    code, out, err = run(*words)
    assert code == 2
    check(out, err, seen=False)


def test_hints_are_quoted_for_the_shell(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    name = "a $(touch pwned) b\" && touch pwned | '"
    study = f'[questions.q]\nchoices = ["n", "y"]\nchannel = {toml(WARNER)}\n[covariates.{toml(name)}]\n'
    Path("study.toml").write_text(study + 'type = "number"\n')
    pd.DataFrame({"q": RNG.choice(["n", "y"], 50), name: RNG.normal(size=50)}).to_csv("data.csv", index=False)
    assert run("privatize", "study.toml", "data.csv", "--out", "r.parquet")[0] == 0
    code, _, err = run("fit", "r.parquet")
    assert code == 0
    words = shlex.split(err[err.index("--formula") :])
    assert words == ["--formula", f"q ~ `{name}`"]
    done = subprocess.run(
        ["sh", "-c", f"printf %s {shell_command(*words)}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "".join(words)
    assert not Path("pwned").exists()


def test_data_for_other_programs_are_not_changed(place, run):
    code, out, err = run("predict", "model.json", "people.parquet", "--id", "id")
    assert code == 0, err
    read = pd.read_csv(io.StringIO(out), dtype=str)
    assert set(read["predicted"]) <= {NASTY, PLAIN}


def test_one_line_keeps_letters_of_all_people_and_writes_out_the_rest():
    kept = "Zoë naïve Ω 日本語 مرحبا می\u200cخواهم 👩\u200d🔬 a\u00a0b"
    assert one_line(kept) == kept
    assert one_line("a\nb\tc\udc80") == r"a\nb\tc\udc80"
    assert json.loads(safe_json(json.dumps(NASTY, ensure_ascii=False))) == NASTY
    assert str(ask.InvalidInput(NASTY)) == one_line(NASTY)


def test_what_a_console_prints_is_text_and_nothing_else(capsys):
    from rich.table import Table

    table = Table("[red]head")
    table.add_row(NASTY)
    console().print(table)
    console().print(f"{NASTY} [bold]b[/bold]")
    check(capsys.readouterr().out.replace("FORGED", ""), "[bold]")


def test_there_is_one_door_to_the_terminal():
    for path in Path(cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and path.name not in ("output.py", "app.py"):
                called = ast.unparse(node.func)
                assert called not in ("print", "typer.echo", "typer.secho"), (
                    f"{path.name}:{node.lineno} prints by itself"
                )
                assert not called.startswith(("sys.stdout.", "sys.stderr.")), f"{path.name}:{node.lineno}"
