"""``askance demo``: the whole study really runs, and its verdict can fail."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import askance as ask
from askance.cli.app import main
from askance.workflows import demonstration as demo


def _run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["demo", *arguments])
    return ended.value.code, *capsys.readouterr()


def test_the_demonstration_works(tmp_path, monkeypatch, capsys):
    """Privatisation has no seed, so only what holds in every run is asked (six standard errors: never by chance)."""
    monkeypatch.chdir(tmp_path)
    code, out, _ = _run(capsys)
    assert code == 0, out
    made = {path.name for path in Path("askance-demo").iterdir()}
    assert made == {"study.toml", "answers.csv", "release.parquet", "report.html"}
    for needed in ("truth", "naive (wrong)", "askance", "moments", "audit passed", "epsilon 1.5", "breast-cancer"):
        assert needed in out
    rows = {match[1]: [float(cell.replace("−", "-")) for cell in match[2].split()] for match in
            re.finditer(r"^(share of yes|Intercept|texture|smoothness) +(\S+ +\S+ +\S+) ", out, re.M)}  # fmt: skip
    assert len(rows) == 4
    for name in ("texture", "smoothness"):
        truth, naive, askance = rows[name]
        assert abs(naive - truth) > 0.3
        assert abs(askance - truth) < abs(naive - truth)
    again = ask.IndirectClassifier().fit_release("askance-demo/release.parquet", formula=demo.DemoStudy.FORMULA)
    assert again.coef_[0].round(3).tolist() == [rows["texture"][2], rows["smoothness"][2]]


def test_it_can_be_run_twice_in_one_folder(tmp_path, capsys):
    target = tmp_path / "deep" / "folder"
    for _ in range(2):
        code, out, _ = _run(capsys, "--output", str(target), "--respondents", "2000")
        assert code == 0, out


def test_for_programs(tmp_path, capsys):
    code, out, err = _run(capsys, "--out", str(tmp_path / "demo"), "--respondents", "2000", "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    assert said["audit_passed"]
    assert said["problems"] == []
    assert set(said["estimates"]["texture"]) == {"truth", "naive", "marginal", "moments"}
    assert all(Path(path).exists() for path in said["written"])


def test_a_file_in_the_way_is_refused(tmp_path, capsys):
    (tmp_path / "taken").write_text("mine")
    code, _, err = _run(capsys, "--output", str(tmp_path / "taken"))
    assert code == 2
    assert "is a file" in err
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_wrong_channel_fails_the_demonstration(tmp_path, monkeypatch, capsys):
    """If answers are hidden more strongly than the release says, estimates are far off, and the exit code tells."""
    monkeypatch.setattr(ask.RandomizedResponse, "sampler", ask.RandomizedResponse(("no", "yes"), epsilon=0.5).sampler)
    code, out, _ = _run(capsys, "--output", str(tmp_path / "demo"))
    assert code == 1
    assert "FAILED: the audit did not pass" in out
    assert "standard errors from the truth" in out


def test_respondents_are_like_real_rows_and_nobody_is_there_twice():
    """Shares and moments of 20000 draws: six standard errors."""
    from sklearn.datasets import load_breast_cancer

    table = demo.simulated_respondents(20_000)
    share = np.mean([answer == "yes" for answer in table["malignant"].to_pylist()])
    real = (load_breast_cancer().target == 0).mean()
    assert abs(share - real) < 6 * np.sqrt(real * (1 - real) / 20_000)
    for name in ("texture", "smoothness"):
        values = table[name].to_numpy()
        assert abs(values.mean()) < 6 / np.sqrt(20_000)
        assert abs(values.std() - 1) < 6 / np.sqrt(20_000)
    assert len({*zip(table["texture"].to_pylist(), table["smoothness"].to_pylist(), strict=True)}) > 19_990
