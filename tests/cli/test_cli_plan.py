"""``askance plan``: every quantity by command, and what bad wishes get."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import askance as ask
from askance.cli.app import app, main
from askance.planning import GroupedDesign

WISHES = {
    "prevalence": ["--prevalence", "0.1", "--epsilon", "1", "--margin", "0.03"],
    "difference": [
        "--between",
        "0.1,0.2",
        "--design",
        "warner p=0.25",
        "--design",
        "list items=.5,.4",
        "--power",
        "0.8",
    ],
    "regression": [
        "--effect",
        "age=0.03",
        "--effect",
        "f=0.5",
        "--prevalence",
        "0.2",
        "--epsilon",
        "1.5",
        "-n",
        "2000",
    ],
    "predictor": ["--effect", "0.5", "--prevalence", "0.2", "--outcome", "logistic", "--epsilon", "2", "-n", "2000"],
    "mean": ["--mean", "40", "--deviation", "12", "--bounds", "0,100", "--epsilon", "1", "--margin", "2"],
    "ratios": ["--bag", ".8,.2", "--bag", ".3,.7", "--epsilon", "1", "--margin", "0.05"],
}


def run(*arguments):
    return CliRunner().invoke(app, ["plan", *arguments])


@pytest.mark.parametrize("quantity", WISHES)
def test_every_quantity(quantity):
    shown = run(quantity, *WISHES[quantity], "--text")
    assert shown.exit_code == 0, shown.output
    assert ("The bags will have" if quantity == "ratios" else "The study will ask") in shown.stdout
    fields = json.loads(run(quantity, *WISHES[quantity], "--json").stdout)
    assert fields["recommended"] in [design["name"] for design in fields["designs"]]


def test_rows_of_a_pilot(tmp_path):
    age = np.linspace(20, 70, 60)
    lines = ["age,income", *(f"{a:.2f},{2 + a / 10 + (i % 3 - 1):.2f}" for i, a in enumerate(age))]
    (tmp_path / "pilot.csv").write_text("\n".join(lines))
    columns = ["--column", "age=0,100", "--column", "income=0,15", "--outcome", "income"]
    shown = run("rows", "--pilot", str(tmp_path / "pilot.csv"), *columns, "--epsilon", "4", "-n", "20000")
    assert shown.exit_code == 0, shown.output
    assert "window" in shown.stdout


def test_covariates_of_a_pilot_and_a_plot(tmp_path, capsys):
    (tmp_path / "pilot.csv").write_text("age,other\n" + "\n".join(f"{20 + i},{i % 2}" for i in range(40)))
    options = ["--effect", "age=0.05", "--prevalence", "0.3", "--design", "warner p=0.2", "-n", "1000"]
    plot = tmp_path / "plan.png"
    shown = run("regression", *options, "--pilot", str(tmp_path / "pilot.csv"), "--plot", str(plot))
    assert shown.exit_code == 0, shown.output
    assert plot.stat().st_size > 10_000
    again = ["regression", *options, "--pilot", str(tmp_path / "pilot.csv"), "--plot", str(plot)]
    assert run(*again, "--overwrite").exit_code == 0
    for path, said in (("plan.png", "--overwrite"), ("notes.png", "Nothing was written"), ("no/p.png", "no folder")):
        (tmp_path / "notes.png").write_text("not a picture")
        with pytest.raises(SystemExit) as ended:
            main([*["plan", *again[:-1]], str(tmp_path / path), *(["--overwrite"] if path == "notes.png" else [])])
        assert ended.value.code == 2
        assert said in capsys.readouterr().err
        assert (tmp_path / "notes.png").read_text() == "not a picture"


def test_designs_of_a_study(tmp_path):
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "s"\n[questions.cheated]\ntext = "?"\nchoices = ["never", "ever"]\n'
        'channel = { design = "warner", p = 0.2 }\n'
    )
    study = ["--study", str(tmp_path / "study.toml")]
    shown = run("prevalence", "--prevalence", "0.1", *study, "-n", "1000", "--json")
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["recommended"] == "cheated"
    planned = ask.plan(ask.Warner(0.2, ("never", "ever")), 0.1, n=1000).recommended
    assert json.loads(shown.stdout)["designs"][0]["margins"]["ever"] == pytest.approx(planned.margin)


def test_designs_with_something_unknown(tmp_path, capsys):
    device = 'device = { design = "forced-response", p_no = 0.1, p_yes ='
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "s"\n[questions.cheated]\nchoices = ["no", "yes"]\ndesign_column = "group"\n'
        f'designs.few = {{ design = "cheaters", {device} 0.2 }} }}\n'
        f'designs.many = {{ design = "cheaters", {device} 0.6 }} }}\n'
    )
    wish = ["prevalence", "--prevalence", "0.2", "--study", str(tmp_path / "study.toml"), "-n", "2000"]
    shown = run(*wish, "--unknown", "cheaters=0.1", "--asked", "few=1", "--asked", "many=3", "--json")
    assert shown.exit_code == 0, shown.output
    designs = {name: ask.Cheaters(ask.ForcedResponse(0.1, p)) for name, p in (("few", 0.2), ("many", 0.6))}
    grouped = GroupedDesign(designs, {"cheaters": 0.1}, {"few": 0.25, "many": 0.75})
    planned = ask.plan(grouped, 0.2, n=2000).recommended
    assert json.loads(shown.stdout)["designs"][0]["margins"]["yes"] == pytest.approx(planned.margin)
    for more, message in (
        ([], "leaves cheaters unknown"),
        (["--unknown", "cheaters=0.1", "--unknown", "liars=0.1"], "liars, which no question"),
        (["--unknown", "cheaters=2"], "a probability"),
        (["--unknown", "cheaters=0.1", "--asked", "few=1"], "one for each of few, many"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["plan", *wish, *more])
        assert ended.value.code == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prevalence", "--prevalence", "12", "--epsilon", "1", "-n", "100"], "12 per cent are 0.12"),
        (["prevalence", "--prevalence", "many", "--epsilon", "1", "-n", "100"], "numbers between commas"),
        (["prevalence", "--prevalence", "0.1", "-n", "100"], "expected --epsilon, such as 1"),
        (
            ["mean", "--mean", "4", "--deviation", "1", "--bounds", "0,9", "--power", ".8"],
            "expected --epsilon, such as 1",
        ),
        (["prevalence", "--prevalence", "0.1", "--epsilon", "1"], "expected --margin, such as 0.03"),
        (["prevalence", "--prevalence", "0,1", "--epsilon", "1", "-n", "100"], "a decimal point, as in 0.1"),
        (["prevalence", "--prevalence", "0.1", "--design", "warner", "-n", "9"], "as in: warner p=0.2"),
        (["prevalence", "--prevalence", "0.1", "--design", "kuk p_carrier=.8", "-n", "9"], "without p_noncarrier"),
        (["prevalence", "--prevalence", "0.1", "--design", "cheaters", "-n", "9"], "a study file"),
        (["prevalence", "--prevalence", "0.1", "--design", "dice", "-n", "9"], "one of list"),
        (["prevalence", "--prevalence", "0.1", "--epsilon", "1", "-n", "9", "--check", "-1"], "--check -1"),
        (["prevalence", "--prevalence", "0.1", "--epsilon", "1", "-n", "9", "--unknown", "a=1"], "without a study"),
        (["ratios", "--bag", ".8,.2", "--bag", ".3,.7", "--epsilon", "1", "--power", ".8"], "has no test"),
        (["difference", "--between", "0.1", "--epsilon", "1", "-n", "100"], "two shares"),
        (["regression", "--effect", "age", "--prevalence", "0.1", "--epsilon", "1", "-n", "9"], "a name and a value"),
        (["mean", "--mean", "4", "--deviation", "1", "--bounds", "9", "--epsilon", "1", "-n", "9"], "an upper bound"),
        (["prevalence", "--prevalence", "0.1", "--study", "nowhere.toml", "-n", "9"], "nowhere.toml"),
    ],
)
def test_bad_wishes(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["plan", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
