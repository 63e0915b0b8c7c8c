"""A tagger from counts: it learns from every mixture of annotations, is saved whole, and refuses what cannot be.

Saved taggers are read for ever. Run this module to write the newest golden files anew.
"""

import copy
import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import askance as ask
from askance.errors import AskanceWarning
from askance.learning.counting.tagger_history import PassLog
from askance.learning.counting.tagger_plots import confusion_table, plot_accuracy, plot_confusion
from askance.papers.data.made_up_corpus import synthetic_corpus

pytestmark = pytest.mark.xdist_group("tagger")  # loops that take long to compile

GOLDEN = Path(__file__).parents[2] / "golden"
TRAIN, TEST = synthetic_corpus(400), synthetic_corpus(100, "test")
TAGS = sorted({tag for sentence in TRAIN.tags for tag in sentence})


@cache
def regions(width=6, seed=0):
    return tuple(ask.RegionCounts(TAGS, width).simulate(TRAIN.tags, np.random.default_rng(seed)))


@cache
def fitted(method="hybrid", structure="node", **options):  # the structure that most tests ask for is the fast one
    return ask.CountTagger(method, structure, random_state=0, **options).fit(TRAIN.sentences, regions())


@cache
def supervised():
    labels = [{"sentence": number, "labels": tags} for number, tags in enumerate(TRAIN.tags)]
    tagger = ask.CountTagger("marginal", "node", random_state=0).fit(TRAIN.sentences, labels)
    return tagger.score(*TEST, of="truth")


def test_labels_alone_teach_it():
    # Words with two tags, and words never seen, keep a node model from more. Seen: .938.
    assert 0.9 < supervised() < 0.97


@pytest.mark.parametrize("method", ["hybrid", "moments", "marginal"])
def test_counts_come_near_to_labels(method):
    # Seen over four draws of regions: .897 to .924. Always NOUN: .22.
    assert fitted(method).score(*TEST, of="truth") > supervised() - 0.06


def test_a_chain_uses_the_order_of_tags():
    # Grammar decides between the two tags of a word. Seen over four draws: +.047 to +.066.
    assert fitted(structure="chain").score(*TEST, of="truth") > fitted().score(*TEST, of="truth") + 0.02


def test_the_paper_s_table_is_kept():
    table = ask.CountTagger("moments", "node", solver="table", random_state=0).fit(TRAIN.sentences, regions())
    assert (
        0.7 < table.score(*TEST, of="truth") < fitted("moments").score(*TEST, of="truth") - 0.02
    )  # seen: .84 to .85 against .90 to .91


def test_predictions_fit_together():
    for tagger in (fitted(), fitted(structure="chain")):
        chances = tagger.predict_proba(TEST.sentences)
        tags = tagger.predict(TEST.sentences)
        assert tagger.classes_.tolist() == TAGS
        for sentence, table, its in zip(TEST.sentences, chances, tags, strict=True):
            assert table.shape == (len(sentence), len(TAGS))
            np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-6)
            assert tagger.classes_[table.argmax(axis=1)].tolist() == its
        right = sum(a == b for x, y in zip(tags, TEST.tags, strict=True) for a, b in zip(x, y, strict=True))
        assert tagger.score(*TEST, of="truth") == pytest.approx(right / sum(map(len, tags)))


def test_the_same_seed_gives_the_same_tagger():
    again = ask.CountTagger(structure="chain", random_state=0).fit(TRAIN.sentences, regions())
    np.testing.assert_array_equal(again.weights_, fitted(structure="chain").weights_)


def test_counts_explained_is_what_predicted_tags_have():
    tagger = fitted()
    predicted = tagger.predict(TRAIN.sentences)
    same = total = 0
    for region in regions():
        window = predicted[region["sentence"]][region["start"] : region["start"] + region["width"]]
        same += sum(min(count, window.count(tag)) for tag, count in region["counts"].items())
        total += region["width"]
    assert tagger.counts_explained_ == pytest.approx(same / total)
    with pytest.raises(NotFittedError):
        ask.CountTagger(random_state=0).summary()


def test_a_release_is_learned_from_once_checked(tmp_path, monkeypatch):
    release = ask.RegionRelease.of(regions(), TRAIN.sentences, TAGS, ask.RegionCounts(TAGS, 6))
    release.write(tmp_path / "regions.parquet")
    for given in (release, tmp_path / "regions.parquet", str(tmp_path / "regions.parquet")):
        tagger = ask.CountTagger("moments", "node", random_state=0).fit_release(given)
        np.testing.assert_array_equal(tagger.weights_, fitted("moments").weights_)
        assert tagger.guarantee_ == ask.RegionCounts(TAGS).guarantee
    bare = ask.RegionRelease.of(regions(), tags=TAGS)
    tagger = ask.CountTagger("moments", "node", random_state=0).fit_release(bare, sentences=TRAIN.sentences)
    np.testing.assert_array_equal(tagger.weights_, fitted("moments").weights_)
    with pytest.raises(ask.InvalidInput, match="words of every sentence"):
        ask.CountTagger("moments").fit_release(bare)
    with pytest.raises(ask.InvalidInput, match=r"engine='dask'.*fit of a tagger"):
        ask.CountTagger().fit_release(release, engine="dask")
    monkeypatch.setattr("askance.tables.counted_region.CountedRegion.check", None)
    monkeypatch.setattr("askance.tables.counted_region.CountedRegion.parse", None)
    ask.CountTagger("moments", "node", tags=TAGS).fit_release(release)


def test_counted_and_predicted_tags_are_shown(tmp_path):
    tagger = fitted()
    assert tagger.tag_counts_.sum(axis=1).tolist() == [sum(region["width"] for region in regions())] * 2
    axes = tagger.plot()
    assert len(axes.patches) == len(TAGS)
    old = ask.load_model(GOLDEN / "model-v1-tagger-node.json")
    assert "no privacy guarantee" in str(old.summary())
    assert old.figures() == ()
    watched = ask.CountTagger("moments", "node", random_state=0).fit(TRAIN.sentences, regions(), validation=TEST)
    assert len(watched.figures()) == 2
    watched.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("<svg") == 2


# -- any mixture -----------------------------------------------------------------------------------------------------


def test_any_mixture_of_annotations_is_learned_from():
    rng = np.random.default_rng(1)
    wide, narrow = (ask.RegionCounts(TAGS, width).simulate(TRAIN.tags, rng) for width in (9, 2))
    some = ask.RegionCounts(TAGS, 5, ask=["NOUN", "VERB", "DET"]).simulate(TRAIN.tags, rng)
    drawn = ask.RegionCounts(TAGS, None, ask=4).simulate(TRAIN.tags, rng)
    labels = [{"sentence": number, "labels": TRAIN.tags[number]} for number in range(0, 400, 8)]
    everything = [*wide[:250], *narrow, *some[:200], *drawn[200:], *labels]
    for structure in ("node", "chain"):
        tagger = ask.CountTagger(structure=structure, tags=TAGS, random_state=0).fit(TRAIN.sentences, everything)
        assert tagger.n_regions_ == len(everything)
        assert (
            tagger.score(*TEST, of="truth") > supervised() - 0.04
        )  # seen over four draws: .920 to .926, chain .978 to .981


def test_more_annotation_is_better():
    few = ask.CountTagger(structure="node", random_state=0).fit(TRAIN.sentences, regions()[:60])
    assert (
        few.score(*TEST, of="truth") < fitted().score(*TEST, of="truth") - 0.03
    )  # seen over four draws: .07 to .14 less


def test_only_some_tags_asked_for():
    asked = ask.RegionCounts(TAGS, 4, ask=["NOUN", "VERB"]).simulate(TRAIN.tags, np.random.default_rng(0))
    tagger = ask.CountTagger(structure="node", tags=["NOUN", "VERB", "other"], random_state=0).fit(
        TRAIN.sentences, asked
    )
    told = [[tag if tag in ("NOUN", "VERB") else "other" for tag in tags] for tags in TEST.tags]
    assert tagger.score(TEST.sentences, told, of="truth") > 0.87  # seen over four draws: .913 to .923
    with pytest.raises(ask.InvalidInput, match="name every tag"):
        ask.CountTagger().fit(TRAIN.sentences, asked)


def test_a_release_carries_its_sentences_and_tags(tmp_path):
    release = ask.RegionRelease.of(regions(), TRAIN.sentences, TAGS)
    release.write(tmp_path / "regions.parquet")
    again = ask.CountTagger(structure="node", random_state=0).fit(ask.RegionRelease.read(tmp_path / "regions.parquet"))
    np.testing.assert_array_equal(again.weights_, fitted().weights_)
    bare = ask.RegionRelease.of(regions(), tags=TAGS)
    both = ask.CountTagger(structure="node", random_state=0).fit(TRAIN.sentences, bare)
    np.testing.assert_array_equal(both.weights_, fitted().weights_)
    with pytest.raises(ask.InvalidInput, match="without their sentences"):
        ask.CountTagger().fit(bare)


# -- history, saving -------------------------------------------------------------------------------------------------


def test_history_has_every_pass_with_its_cost_and_what_it_reached():
    tagger = ask.CountTagger("hybrid", "node", passes=3, random_state=0).fit(
        TRAIN.sentences, regions(), validation=TEST
    )
    assert list(dict.fromkeys(record["stage"] for record in tagger.history_)) == ["moments", "marginal"]
    marginal = [record for record in tagger.history_ if record["stage"] == "marginal"]
    assert [record["pass"] for record in marginal] == [1, 2, 3]
    seconds = [record["cpu_seconds"] for record in tagger.history_]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0
    assert tagger.history_[-1]["accuracy"] == pytest.approx(
        tagger.score(*TEST, of="truth"), abs=0.01
    )  # weights were rounded since
    likelihoods = [record["log_likelihood"] for record in marginal]
    assert likelihoods == sorted(likelihoods)
    assert all(value < 0 for value in likelihoods)
    chain = ask.CountTagger(structure="chain", passes=2, random_state=0)
    history = chain.fit(TRAIN.sentences, regions(), validation=TEST).history_
    assert [(record["stage"], record["pass"]) for record in history] == [("chain", 1), ("chain", 2)]


def test_a_chain_learns_from_labels():
    labels = [{"sentence": number, "labels": tags} for number, tags in enumerate(TRAIN.tags)]
    tagger = ask.CountTagger(structure="chain", random_state=0).fit(TRAIN.sentences, labels)
    assert tagger.score(*TEST, of="truth") > 0.97
    # Labels leave nothing open: what is held out is tagged right as often as it says.
    assert tagger.held_out_["accuracy"] == pytest.approx(tagger.held_out_["counts"], abs=1e-5)
    assert tagger.held_out_["accuracy"] > 0.95


def test_a_chain_learns_from_one_annotated_sentence():
    tagger = ask.CountTagger(structure="chain", random_state=0).fit(
        TRAIN.sentences, [{"sentence": 3, "labels": TRAIN.tags[3]}]
    )
    assert tagger.score([TRAIN.sentences[3]], [TRAIN.tags[3]], of="truth") > 0.9


def test_the_time_that_measuring_accuracy_takes_is_not_counted(monkeypatch):
    clock = [0.0]

    def passing(seconds):
        clock[0] += seconds
        return 0.9

    monkeypatch.setattr("askance.learning.counting.tagger_history.process_time", lambda: clock[0])
    log = PassLog(lambda model: passing(50.0))
    for seconds in (2.0, 3.0):
        passing(seconds)
        log.note("a", None)
    assert [(record["pass"], record["cpu_seconds"]) for record in log.records] == [(1, 2.0), (2, 5.0)]


@pytest.mark.parametrize("structure", ["node", "chain"])
def test_saved_and_loaded_it_predicts_the_same(tmp_path, structure):
    tagger = fitted(structure=structure)
    tagger.save(tmp_path / "tagger.json")
    again = ask.load_model(tmp_path / "tagger.json")
    assert again.get_params() == tagger.get_params()
    assert again.predict(TEST.sentences) == tagger.predict(TEST.sentences)
    np.testing.assert_array_equal(again.predict_proba(TEST.sentences)[3], tagger.predict_proba(TEST.sentences)[3])
    assert str(again.summary()) == str(tagger.summary())
    assert again.history_ == tagger.history_
    text = (tmp_path / "tagger.json").read_text()
    assert " ".join(TRAIN.sentences[0]) not in text


# What these files said of "a cat" when they were written: an old model is read as it was, however new ones are fitted.
GOLDEN_CHANCES = {
    "node": [[0.86523, 0.07443, 0.06034], [0.02287, 0.95637, 0.02076]],
    "chain": [[0.97146, 0.01776, 0.01078], [0.01481, 0.96009, 0.0251]],
}


@pytest.mark.parametrize("structure", ["node", "chain"])
def test_golden_taggers_are_read(structure):
    tagger = ask.load_model(GOLDEN / f"model-v1-tagger-{structure}.json")
    assert tagger.structure == structure
    assert tagger.predict([["a", "cat", "barks"]]) == [["DT", "NN", "VB"]]
    np.testing.assert_allclose(tagger.predict_proba([["a", "cat"]])[0], GOLDEN_CHANCES[structure], atol=1e-4)


def test_copies_and_clones():
    tagger = fitted()
    tagger.predict(TEST.sentences[:1])
    for other in (copy.deepcopy(tagger), pickle.loads(pickle.dumps(tagger))):
        assert other.predict(TEST.sentences[:5]) == tagger.predict(TEST.sentences[:5])
    assert clone(tagger).get_params() == tagger.get_params()


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "em"}, "method='em'"),
        ({"structure": "tree"}, "structure='tree'"),
        ({"solver": "svd"}, "solver='svd'"),
        ({"passes": 0}, "passes=0"),
        ({"passes": 2.5}, "passes=2.5"),
        ({"tolerance": "some"}, "tolerance='some'"),
        ({"invalid": "ignore"}, "invalid='ignore'"),
        ({"features": "suffix"}, "features='suffix'"),
        ({"random_state": "now"}, "random_state='now'"),
        ({"random_state": -1}, "random_state=-1"),
        ({"tags": [*TAGS, ""]}, "the tag ''"),
        ({"tags": ["NOUN"]}, "1 tags"),
        ({"tags": ["NOUN", "VERB"]}, "sentence 0: the tag"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ask.InvalidInput, match=message):
        ask.CountTagger(**options).fit(TRAIN.sentences, regions())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": {"NOUN": 7}}, "sentence 5: 7 tags were counted in a window of 6"),
        ({"counts": {"NOUN": 7, "VERB": -1}}, "sentence 5: -1"),
        ({"counts": {"NOUN": 5}}, "sentence 5: all 10 tags were asked for"),
        ({"counts": {"NIL": 6}}, "sentence 5: the tag 'NIL'"),
        ({"start": 1000}, "sentence 5: a window of the tokens 1000"),
        ({"sentence": 400}, "sentence 400"),
    ],
)
def test_impossible_annotations_are_refused_and_never_dropped(change, message):
    broken = {"sentence": 5, "start": 0, "width": 6, "counts": {"NOUN": 6}} | change
    with pytest.raises(ask.InvalidInput, match=message):
        ask.CountTagger(tags=TAGS).fit(TRAIN.sentences, [*regions(), broken])


def test_bad_sentences_are_refused_by_number():
    tagger = fitted()
    with pytest.raises(ask.InvalidInput, match="sentence 1: words="):
        tagger.predict([["a"], "b"])
    with pytest.raises(ask.InvalidInput, match="sentence 0: 2 tags for 1 words"):
        tagger.score([["a"]], [["NOUN", "VERB"]], of="truth")
    with pytest.raises(ask.InvalidInput, match="tags of 2 sentences for 1"):
        tagger.score([["a"]], [["NOUN"], ["VERB"]], of="truth")
    for tags in (None, "NOUN", 3):
        with pytest.raises(ask.InvalidInput, match="tags="):
            tagger.score([["a"]], tags, of="truth")
    for validation in (3, ([["a"]],), ([["a"]], None)):
        with pytest.raises(ask.InvalidInput, match=r"validation=|tags=None"):
            ask.CountTagger().fit(TRAIN.sentences, regions(), validation=validation)
    with pytest.raises(NotFittedError):
        ask.CountTagger().predict([["a"]])
    assert tagger.score([["a"]], [["unheard-of"]], of="truth") == 0


# -- plots -----------------------------------------------------------------------------------------------------------


def test_the_confusion_table_counts_tokens_and_the_plot_keeps_the_worst():
    tagger = fitted()
    predicted = tagger.predict(TEST.sentences)
    table = confusion_table(TEST.tags, predicted, TAGS)
    assert table.sum() == sum(map(len, TEST.tags))
    assert np.trace(table) / table.sum() == pytest.approx(tagger.score(*TEST, of="truth"))
    axes = plot_confusion(tagger, *TEST, most=4)
    shown = [label.get_text() for label in axes.get_xticklabels()]
    mistakes = table.sum(axis=0) + table.sum(axis=1) - 2 * np.diag(table)
    assert len(shown) == 5
    assert shown[-1] == "(rest)"
    assert TAGS[int(mistakes.argmax())] in shown
    with pytest.raises(ask.InvalidInput, match="'Z'"):
        confusion_table([["Z"]], [["NOUN"]], TAGS)


def test_accuracy_is_drawn_by_pass_and_by_second():
    watched = ask.CountTagger("marginal", "node", passes=2, random_state=0).fit(
        TRAIN.sentences, regions(), validation=TEST
    )
    for by, across in (("passes", [1, 2]), ("seconds", [record["cpu_seconds"] for record in watched.history_])):
        (line,) = plot_accuracy({"marginal": watched}, by=by).get_lines()
        np.testing.assert_allclose(line.get_xdata(), across)
        np.testing.assert_allclose(line.get_ydata(), [record["accuracy"] for record in watched.history_])
    with pytest.raises(ask.InvalidInput, match="without accuracies"):
        plot_accuracy({"hybrid": fitted()})
    with pytest.raises(ask.InvalidInput, match="by='hours'"):
        plot_accuracy({"marginal": watched}, by="hours")


def test_tags_that_no_window_tells_apart_are_named():
    """Which of them is which is left to chance, and was said with probability .97 all the same."""
    sentences = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]] * 10
    whole = [{"sentence": i, "start": 0, "width": 3, "counts": {"D": 1, "N": 1, "V": 1}} for i in range(30)]
    verbs = [{"sentence": i, "start": 2, "width": 1, "counts": {"V": 1}} for i in range(30)]
    with pytest.warns(AskanceWarning, match=r"No window tells 'D', 'N', 'V' apart.*left to chance"):
        ask.CountTagger(random_state=0).fit(sentences, whole)
    with pytest.warns(AskanceWarning, match="No window tells 'D', 'N' apart"):
        tagger = ask.CountTagger(random_state=0).fit(sentences, whole + verbs)
    assert "which is which" in str(tagger.summary())
    first = [{"sentence": i, "start": 0, "width": 1, "counts": {"D": 1}} for i in range(30)]
    assert ask.CountTagger(random_state=0).fit(sentences, whole + verbs + first).notes_ == ()
