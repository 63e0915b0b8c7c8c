"""Counted regions at the command line: fit, save, tag; and what is refused."""

import json

import numpy as np
import pytest

import askance as ask
from askance.cli.app import main
from askance.papers.data.made_up_corpus import synthetic_corpus
from askance.tables.sentences import conllu_text, read_conllu, read_sentences

pytestmark = pytest.mark.xdist_group("tagger")  # its loops take half a minute to compile: once is enough
TRAIN = synthetic_corpus(150)
TAGS = sorted({tag for sentence in TRAIN.tags for tag in sentence})


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return ended.value.code or 0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    regions = ask.RegionCounts(TAGS, 5).simulate(TRAIN.tags, np.random.default_rng(0))
    ask.RegionRelease.of(regions, TRAIN.sentences, TAGS).write("regions.jsonl")
    ask.RegionRelease.of(regions, tags=TAGS).write("bare.parquet")
    (tmp_path / "text.txt").write_text("\n".join(" ".join(sentence) for sentence in TRAIN.sentences) + "\n")
    return tmp_path


def test_fit_save_and_tag(folder, capsys):
    assert run("fit", "regions.jsonl", "--save", "model.json", "--seed", 1) == 0
    said = capsys.readouterr()
    assert "sentences: 150" in said.out
    assert "chain model by hybrid" in said.out
    assert "windows not learned from" in said.out
    assert "askance tag model.json" in said.err
    assert run("tag", "model.json", "text.txt", "--out", "tags.conllu") == 0
    tagged = read_conllu("tags.conllu")
    model = ask.load_model("model.json")
    assert tagged.tags == model.predict(TRAIN.sentences)
    assert tagged.sentences == TRAIN.sentences
    assert model.score(*TRAIN, of="truth") > 0.8
    capsys.readouterr()
    assert run("tag", "model.json", "tags.conllu", "--format", "jsonl") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["tags"] for line in lines] == tagged.tags


def test_json_and_sentences_from_another_file(folder, capsys):
    words = ["fit", "bare.parquet", "--sentences", "text.txt", "--structure", "chain", "--method", "moments"]
    assert run(*words, "--passes", 2, "--seed", 1, "--json", "--quiet") == 0
    account = json.loads(capsys.readouterr().out)
    assert (account["structure"], account["method"], account["sentences"]) == ("chain", "moments", 150)
    assert account["tags"] == TAGS
    assert 0.5 < account["held_out"]["accuracy"] <= account["held_out"]["counts"] + 0.01
    assert [record["pass"] for record in account["history"] if record["stage"] == "chain"] == [1, 2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "bare.parquet"], "--sentences FILE"),
        (["fit", "regions.jsonl", "--sentences", "text.txt"], "has its sentences"),
        (["fit", "bare.parquet", "--sentences", "absent.txt"], "there is no file"),
        (["fit", "absent.jsonl"], "there is nothing at absent.jsonl"),
        (["fit", "broken.jsonl"], "sentence 3: 4 tags were counted in a window of 2 tokens"),
        (["fit", "regions.jsonl", "--formula", "a ~ b"], "--formula for counted regions"),
        (["fit", "regions.jsonl", "--level", "0.9"], "--level for counted regions"),
        (["fit", "wrong.jsonl", "--invalid", "list"], "sentence 3: 4 tags were counted in a window of 2 tokens"),
        (["fit", "regions.jsonl", "--save", "text.txt"], "exists already"),
        (["fit", "table.csv", "--structure", "chain"], "--structure for reports"),
        (["fit", "table.csv", "--method", "hybrid"], "hybrid is for counted regions"),
        (["tag", "absent.json", "text.txt"], "there is no file"),
        (["tag", "prevalence.json", "text.txt"], "holds a Prevalence"),
        (["tag", "prevalence.json", "text.txt", "--out", "text.txt"], "would be written over"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_written(folder, capsys, words, message):
    (folder / "broken.jsonl").write_text('{"sentence": 3, "start": 0, "width": 2, "counts": {"A": 4}}\n')
    lines = [{"sentence": 0, "start": 0, "width": 2, "counts": {"A": n, "B": 2 - n}} for n in (1, 2)]
    lines += [{"sentence": 3, "start": 0, "width": 2, "counts": {"A": 4}}, {"sentence": 0, "words": ["x", "y", "z"]}]
    (folder / "wrong.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (folder / "table.csv").write_text("a\n1\n")
    ask.Prevalence(ask.Warner(0.8)).fit(["yes", "no"]).save("prevalence.json")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert run(*words) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.filterwarnings("default::askance.AskanceWarning")
def test_what_cannot_be_is_left_out_on_demand(folder, capsys):
    lines = (folder / "regions.jsonl").read_text().splitlines()[1:]
    wrong = {"sentence": 3, "start": 0, "width": 2, "counts": {"NOUN": 4}}
    (folder / "wrong.jsonl").write_text("\n".join([*lines, json.dumps(wrong)]))
    assert run("fit", "wrong.jsonl", "--invalid", "drop", "--structure", "node", "--json", "--quiet") == 0
    said = capsys.readouterr()
    assert "1 of 151 regions cannot be" in said.err
    assert "sentence 3: 4 tags" in said.err
    account = json.loads(said.out)
    assert account["regions"] == 150
    assert len(account["dropped"]) == 1


def test_words_that_conllu_cannot_hold_are_written_as_json_lines_only(folder, capsys):
    assert run("fit", "regions.jsonl", "--save", "model.json", "--seed", 1) == 0
    (folder / "odd.jsonl").write_text('["a\\tb", "c\\nd", "e f"]\n')
    assert run("tag", "model.json", "odd.jsonl", "--out", "tags.conllu") == 2
    assert "--format jsonl" in capsys.readouterr().err
    assert not (folder / "tags.conllu").exists()
    assert run("tag", "model.json", "odd.jsonl", "--format", "jsonl") == 0
    assert json.loads(capsys.readouterr().out)["words"] == ["a\tb", "c\nd", "e f"]


# -- sentences from files --------------------------------------------------------------------------------------------


def test_sentences_of_every_format_are_the_same(tmp_path):
    import gzip

    sentences, tags = [["Don't", "stop"], ["naïve"]], [["VB", "VB"], ["JJ"]]
    text = "# a comment\n1-2\tDon't stop" + "\t_" * 8 + "\n" + conllu_text(sentences, tags).removesuffix("\n\n")
    (tmp_path / "a.conllu").write_text(text)  # no empty line at its end
    with gzip.open(tmp_path / "a.conllu.gz", "wt", encoding="utf-8") as packed:
        packed.write(text)
    (tmp_path / "a.jsonl").write_text('["Don\'t", "stop"]\n{"words": ["naïve"]}\n')
    (tmp_path / "a.txt").write_text("Don't stop\n\nnaïve\n")
    for name in ("a.conllu", "a.jsonl", "a.txt"):
        (tmp_path / f"marked-{name}").write_text((tmp_path / name).read_text(), encoding="utf-8-sig")
    expected = (("Don't", "stop"), ("naïve",))
    for name in ("a.conllu", "a.conllu.gz", "a.jsonl", "a.txt", "marked-a.conllu", "marked-a.jsonl", "marked-a.txt"):
        assert read_sentences(tmp_path / name) == expected
    assert read_conllu(tmp_path / "a.conllu").tags == tags
    assert read_conllu(tmp_path / "a.conllu", "upos").tags == [["_", "_"], ["_"]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.conllu", b"1\tword\n", "line 1 of .* has 2 columns"),
        ("a.jsonl", b"{\n", "not JSON"),
        ("a.jsonl", b"3\n", "sentence 0: words=3"),
        ("a.jsonl", b'["\\ud800"]\n', "sentence 0: .* among the words"),
        ("a.txt", b"\n", "no sentences"),
        ("a.txt", b"\xe4\n", "not text in UTF-8"),
        ("a.conllu.gz", b"plain", "cannot read"),
    ],
)
def test_damaged_sentences_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ask.ReleaseError, match=message):
        read_sentences(tmp_path / name)
