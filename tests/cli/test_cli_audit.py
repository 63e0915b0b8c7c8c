"""``askance audit``: a channel, a release of totals with its data, and everything."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import askance as ask
from askance.channels.specs import EVERY_CHANNEL
from askance.cli.app import app
from askance.planning.auditing import every_mechanism
from askance.planning.auditing.every_mechanism import mechanism_names
from askance.releases import privatize_table

MANY = json.dumps({"channel": "randomized-response", "epsilon": 1, "classes": list(range(3000))})


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.choice([-1, 1], 60)
    features = rng.normal(size=(60, 2)).round(4)
    rows = zip(range(60), features, labels, strict=True)
    lines = [(f"{i},{x[0]},{x[1]}", f"{i},{y}") for i, x, y in rows]
    (tmp_path / "x.csv").write_text("\n".join(["id,a,b", *(line[0] for line in lines)]) + "\n")
    (tmp_path / "y.csv").write_text("\n".join(["id,y", *(line[1] for line in lines)]) + "\n")
    (tmp_path / "counts.csv").write_text("district,ill,well\nnorth,30,70\nsouth,10,55\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)  # releases without a ledger
        ask.release_mean_operator(features, labels, 1.0, columns=["a", "b"]).write(tmp_path / "mu.json")
        ask.release_counts([[30, 70], [10, 55]], 1.0, classes=["ill", "well"], bags=["north", "south"]).write(
            tmp_path / "counts.json"
        )
    return tmp_path


def test_a_channel_is_audited_as_text_or_file(tmp_path):
    spec = json.dumps(ask.Warner(0.8).to_spec())
    (tmp_path / "warner.json").write_text(spec)
    for what in (spec, tmp_path / "warner.json"):
        result = run("audit", what, "--draws", 2000, "--error-rate", 1e-9, "--json")
        assert result.exit_code == 0, result.output
        said = json.loads(result.stdout)
        asked = {question["name"]: question["share"] for question in said["questions"]["the channel"]["questions"]}
        assert asked == {"repeated calls": 0.15, "neighbouring rows": 0.15, "leaks": 0.05}


def test_the_tables_say_what_was_asked_and_at_which_share():
    result = run("audit", '{"channel": "warner", "p": 0.8}', "--draws", 2000, "--error-rate", 1e-9)
    assert result.exit_code == 0, result.output
    for words in ("neighbouring rows", "15%", "share of the error rate", "would have been noticed"):
        assert words in result.stdout


def test_a_mean_operator_is_audited_with_its_data(people):
    words = ["--data", people / "y.csv", "--features", people / "x.csv", "--id", "id", "--label", "y"]
    rate = ["--draws", 80, "--error-rate", 1e-9]
    result = run("audit", people / "mu.json", *words, *rate)
    assert result.exit_code == 0, result.output
    assert "this release" in result.stdout
    # A release that tells the truth: no noise at all.
    y = np.loadtxt(people / "y.csv", delimiter=",", skiprows=1)[:, 1]
    x = np.loadtxt(people / "x.csv", delimiter=",", skiprows=1)[:, 1:]
    made = ask.read_release(people / "mu.json")
    steps = np.column_stack([np.full(60, 1 / made.step), np.rint(x / made.step)])
    truth = np.array([int(total) / 60 * made.step for total in (steps * y[:, None]).sum(axis=0)])
    replace(made, operator=replace(made.operator, values=truth)).write(people / "told.json")
    result = run("audit", people / "told.json", *words, *rate)
    assert result.exit_code == 1, result.output
    assert "hardly any noise" in result.stdout


def test_counts_are_audited_with_their_data(people):
    result = run(
        "audit", people / "counts.json", "--data", people / "counts.csv", "--bag", "district", "--draws", 80,
        "--error-rate", 1e-9, "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["questions"]["counts.json"]["promised_epsilon"] == 1.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to audit"),
        (["--all", "study.toml"], "both --all and something"),
        (["mu.json"], "without its data"),
        (["mu.json", "--data", "y.csv"], "--features, --id, --label"),
        (['{"p": 0.8}'], "without its kind"),
        (["{"], "not JSON"),
        (["nowhere.toml"], "there is nothing at"),
        ([MANY], "at most 4,194,304"),
    ],
)
def test_what_cannot_be_audited_is_refused(people, monkeypatch, words, message):
    monkeypatch.chdir(people)
    result = run("audit", *words)
    assert isinstance(result.exception, ask.InvalidInput)  # which the command line prints, and ends with 2
    assert message in str(result.exception)


def test_everything_means_every_registered_mechanism():
    names = mechanism_names()
    for channel in EVERY_CHANNEL:
        assert any(name.split()[0] == channel.kind for name in names), channel.kind
    assert {"mean operator: laplace", "mean operator: response", "counts: dirichlet"} <= set(names)
    assert {f"mean operator, shaped: {name}" for name in ("laplace", "knorm", "gaussian", "response")} <= set(names)
    assert {type(example) for example in every_mechanism._EXAMPLES} == set(EVERY_CHANNEL)
    assert not any("auto" in name for name in names)


@pytest.mark.parametrize(
    "channel",
    [
        ask.RandomizedResponse(tuple(range(200_000)), epsilon=1.0),
        ask.StateFlip(4, 0.3, dim=200_000),
        ask.TripleRelease(4096, 4.0),
    ],
    ids=["choices", "attributes", "products"],
)
def test_what_would_not_fit_into_memory_is_refused_at_once(channel):
    with pytest.raises(ask.InvalidInput, match="an audit of"):
        ask.audit(channel)


@pytest.fixture
def asked(tmp_path):
    study = ask.Study.parse("""
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.75 }
""")
    truth = np.random.default_rng(0).choice(["no", "yes"], 2_000)
    (tmp_path / "truth.csv").write_text("cheated\n" + "\n".join(truth) + "\n")
    (tmp_path / "less.csv").write_text("cheated\n" + "\n".join(truth[1:]) + "\n")
    release = privatize_table(study, {"cheated": truth})
    release.write(tmp_path / "release.parquet")
    told = ask.Warner(0.85, classes=("no", "yes")).simulate(truth, np.random.default_rng(1))
    ask.Release.from_table(pa.table({"cheated": told}), study.header()).write(tmp_path / "other.parquet")
    return tmp_path


def test_a_release_of_rows_is_audited_with_its_truth(asked):
    result = run("audit", asked / "release.parquet", "--data", asked / "truth.csv", "--error-rate", 1e-9, "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)["questions"]["release.parquet"]
    assert said["rows"] == 2_000
    assert said["rows_are_matched"]
    assert "cannot see" in said["cannot_see"]
    assert [question["share"] for question in said["questions"]] == [0.4, 0.25, 0.2]
    result = run("audit", asked / "other.parquet", "--data", asked / "truth.csv")
    assert result.exit_code == 1, result.output
    plain = " ".join(result.stdout.split())
    for words in ("matched by their order", "tell the truth, where", "Some channel FAILED", "cannot see how"):
        assert words in plain


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "less.csv"], "2,000 rows in the release, and 1,999"),
        (["--data", "nothing.csv"], "nothing.csv"),
        (["--data", "release.parquet"], "which is a release"),
        (["--data", "truth.csv", "--id", "who"], "the release does not hold"),
        (["--data", "truth.csv", "--label", "cheated"], "--label with a release of privatised rows"),
        (["--data", "truth.csv", "--draws", 100], "--draws with a release of privatised rows"),
    ],
)
def test_a_truth_that_cannot_be_used_is_refused(asked, words, message, monkeypatch):
    monkeypatch.chdir(asked)
    result = run("audit", "release.parquet", *words)
    assert isinstance(result.exception, ask.AskanceError)  # which the command line prints, and ends with 2
    assert message in str(result.exception)
