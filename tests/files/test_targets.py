"""Nothing but a file of the same kind is ever overwritten, by any writer, in Python and at the command line."""

import os
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance.errors import ReleaseError
from askance.files.kinds import MODEL, REPORTS, described
from askance.files.targets import check_target, write_figure, written_whole
from askance.learning.ratios.ratio_report import ratio_plot
from askance.workflows.tagging import TaggedSentences

WARNER = ask.Warner(0.8)
STUDY = """# ours
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }
"""
COUNTS = ask.RegionCounts(["N", "V"], 2)
TAGGED = TaggedSentences([["dogs", "bark"]], [["N", "V"]])


def regions():
    return ask.RegionRelease.of(COUNTS.simulate(TAGGED.tags, np.random.default_rng(0)), TAGGED.sentences, ["N", "V"])


def model():
    return ask.Prevalence(WARNER).fit(["yes", "no", "no", "no"])


def figure(path):
    from matplotlib.figure import Figure

    write_figure(path, Figure(figsize=(1, 1)))


def reports(path, overwrite):
    study = ask.Study.read(Path("study.toml"))
    ask.Release.from_table(pd_reports(), study.header()).write(path, overwrite=overwrite)


def pd_reports():
    import pyarrow as pa

    return pa.table({"cheated": ["yes", "no", "no"]})


# Everything that writes a file, by the kind that it writes.
WRITERS = {
    "a saved model": lambda path: model().save(path),
    "a report of askance": lambda path: model().report(path, overwrite=True),
    "a release of counts": lambda path: ask.release_counts([3, 7], 1).write(path, overwrite=True),
    "a release of a mean operator": lambda path: ask.release_mean_operator(
        np.eye(2), [1, -1], 1, classes=(-1, 1)
    ).write(path, overwrite=True),
    "a release of counted regions": lambda path: regions().write(path, overwrite=True),
    "a release of reports": lambda path: reports(path, True),
    "tagged sentences (CoNLL-U)": lambda path: TAGGED.write(path, "conllu"),
    "tagged sentences (JSON lines)": lambda path: TAGGED.write(path, "jsonl"),
}
# Things that no writer may replace.
OTHERS = {
    "a ledger: a budget of privacy, which nothing replaces": lambda path: ask.Ledger.create(path, "1", data_set="d"),
    "an SQLite database": lambda path: sqlite3.connect(path).executescript("CREATE TABLE t (x)").close(),
    "a study file": lambda path: path.write_text(STUDY),
    "something that askance did not write": lambda path: path.write_text("cheated\nyes\n"),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    return tmp_path


@pytest.mark.parametrize("kind", WRITERS)
def test_every_writer_replaces_its_own_kind_and_nothing_else(place, kind):
    for other, write in (WRITERS | OTHERS).items():
        path = place / "target"
        write(path)
        before = path.read_bytes()
        if other == kind:
            WRITERS[kind](path)
            assert described(path) == kind
        else:
            with pytest.raises(ReleaseError, match="Nothing was written") as refused:
                WRITERS[kind](path)
            assert other in str(refused.value)
            assert path.read_bytes() == before
        assert not [name for name in os.listdir(place) if name.endswith(".tmp")]
        path.unlink()
    (place / "target").touch()
    WRITERS[kind](place / "target")  # an empty file holds nothing that could be lost


@pytest.mark.parametrize("name", ["p.png", "p.svg", "p.pdf"])
def test_figures_replace_figures_only(place, name):
    figure(place / name)
    figure(place / name)
    ask.Ledger.create(place / f"ledger{name[1:]}", "1", data_set="d")
    with pytest.raises(ReleaseError, match="a budget of privacy"):
        figure(place / f"ledger{name[1:]}")
    figure(place / "q.png")
    os.replace(place / "q.png", place / "q.svg")
    with pytest.raises(ReleaseError, match="a picture"):
        figure(place / "q.svg")


def commands(target):
    """Every option of the command line that names a file to write."""
    paid = ["--epsilon", "1", "--ledger", "other.ledger", "--out"]
    return [
        ["fit", "release.parquet", "--save", target],
        ["fit", "release.parquet", "--report", target],
        ["predict", "model.json", "rows.csv", "--out", target],
        ["ratios", "rows.csv", "--model", "model.json", "--out", target],
        ["ratios", "rows.csv", "--model", "model.json", "--save", target],
        ["tag", "model.json", "text.txt", "--out", target],
        ["tag", "model.json", "text.txt", "--format", "jsonl", "--out", target],
        ["ledger", "receipt", "other.ledger", "--out", target],
        ["release", "counts", "rows.csv", "--label", "y", "--classes", "a,b", *paid, target],
        ["release", "mean-operator", "rows.csv", "--features", "x.csv", "--id", "id", "--label", "y", *paid, target],
        ["privatize", "study.toml", "rows.csv", "--out", target],
    ]


@pytest.fixture
def full(place):
    reports("release.parquet", False)
    model().save("model.json")
    pd.DataFrame({"id": [1, 2], "y": ["a", "b"], "cheated": ["no", "yes"]}).to_csv("rows.csv", index=False)
    pd.DataFrame({"id": [1, 2], "x": [0.5, 1.5]}).to_csv("x.csv", index=False)
    Path("text.txt").write_text("dogs bark\n")
    ask.Ledger.create("other.ledger", "1", data_set="d")
    ask.Ledger.create("Z.ledger", "1", data_set="d")
    os.symlink("Z.ledger", "link")
    Path("answers.csv").write_text("cheated\nyes\n")
    return place


@pytest.mark.parametrize("number", range(len(commands(""))))
@pytest.mark.parametrize("target", ["Z.ledger", "link", "answers.csv"])
def test_no_command_writes_over_a_ledger_or_over_data(full, run, number, target):
    before = {name: Path(name).read_bytes() for name in ("Z.ledger", "answers.csv", "other.ledger")}
    code, out, err = run(*commands(target)[number], "--overwrite")
    assert (code, out) == (2, "")
    assert f"{target} holds" in err
    assert before == {name: Path(name).read_bytes() for name in before}
    assert Path("link").is_symlink()


def test_a_ledger_that_appears_meanwhile_is_safe(place):
    def write_meanwhile():
        with written_whole(place / "m.json", MODEL) as part:
            part.write_text('{"format": "askance-model"}')
            ask.Ledger.create(place / "m.json", "1", data_set="d")

    with pytest.raises(ReleaseError, match="a budget of privacy"):
        write_meanwhile()
    assert str(ask.Ledger(place / "m.json").remaining) == "epsilon 1"


def test_a_folder_with_anything_beside_a_release_is_kept(place):
    study = ask.Study.read(Path("study.toml"))
    release = ask.Release.from_table(pd_reports(), study.header())
    release.write("folder", rows_per_part=2)
    release.write("folder", rows_per_part=2, overwrite=True)
    for name in (".hidden", "_ledger", "left.tmp"):  # which readers pass over
        ask.Ledger.create(f"folder/{name}", "1", data_set="d")
        with pytest.raises(ReleaseError, match="a budget of privacy"):
            release.write("folder", overwrite=True)
        Path("folder", name).unlink()
    Path("folder/_more").mkdir()
    with pytest.raises(ReleaseError, match="holds a folder"):
        release.write("folder", overwrite=True)
    shutil.rmtree("folder/_more")
    release.write("folder", overwrite=True)
    assert REPORTS.holds(Path("folder"))


def test_links_are_followed_and_folders_pipes_and_loops_are_refused(place):
    model().save("m.json")
    os.symlink("m.json", "link")
    model().save("link")
    assert Path("link").is_symlink()
    os.symlink("loop", "loop")
    os.symlink("nowhere/m.json", "broken")
    os.mkfifo("pipe")
    Path("folder").mkdir()
    for name in ("loop", "broken", "pipe", "folder"):
        with pytest.raises(ReleaseError):
            check_target(Path(name), MODEL, overwrite=True)
        with pytest.raises(ReleaseError):
            model().save(name)
        with pytest.raises(ReleaseError):
            model().report(name, overwrite=True)
    with pytest.raises(ReleaseError, match="pipe holds something"):
        reports("pipe", True)


def test_the_demonstration_keeps_what_is_not_its_own(place, run):
    code, _, err = run("demo", "--respondents", 2000, "--out", ".")
    assert code == 2
    assert "study.toml holds a study file" in err
    Path("demo").mkdir()
    Path("demo/answers.csv").write_text("cheated\nyes\n")
    code, _, err = run("demo", "--respondents", 2000, "--out", "demo")
    assert code == 2
    assert "a folder of its own" in err
    assert Path("demo/answers.csv").read_text() == "cheated\nyes\n"


def test_ratio_figures_and_tables_are_known_by_their_content(place):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 0, 1], [160, 40, 40, 160])
    X = pd.DataFrame({"x": rng.normal(2 * labels)})
    bags = np.repeat(["a", "b"], 200)
    fitted = ask.RatioEstimator(method="mmd").fit(X, bags, {"a": [0.8, 0.2], "b": [0.2, 0.8]})
    from askance.learning.ratios.ratio_report import RatioTable

    table = RatioTable.of(fitted, X, bags, 0.95)
    write_figure(place / "p.png", ratio_plot(table))
    (place / "t.csv").write_text(table.to_csv())
    assert described(place / "p.png") == "a picture (PNG)"
    assert described(place / "t.csv") == "class ratios of askance"


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
def test_what_a_ledger_keeps_beside_itself_is_no_place_for_results(tmp_path, ending):
    ledger = ask.Ledger.create(tmp_path / "b.ledger", epsilon=1, data_set="d")
    model = ask.Prevalence(ask.Warner(0.8)).fit(["yes"] * 40 + ["no"] * 60)
    with pytest.raises(ask.ReleaseError, match="keeps what is unfinished"):
        model.save(tmp_path / f"b.ledger{ending}")  # the next spend would have deleted it
    ledger.spend(1, what="all")
    model.save(tmp_path / f"other{ending}")
    assert (tmp_path / f"other{ending}").exists()
