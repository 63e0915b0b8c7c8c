"""A tagger chooses its structure, says how good it is on windows not seen, and tolerates annotators who err."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import GridSearchCV

import askance as ask
from askance.learning.counting.miscounts import miscount_odds
from askance.papers.data.made_up_corpus import synthetic_corpus

pytestmark = pytest.mark.xdist_group("tagger")  # loops that take long to compile

TRAIN, TEST = synthetic_corpus(400), synthetic_corpus(100, "test")
TAGS = sorted({tag for sentence in TRAIN.tags for tag in sentence})


def counted(width=6, seed=0):
    return ask.RegionCounts(TAGS, width).simulate(TRAIN.tags, np.random.default_rng(seed))


def miscounted(share, seed):
    """Windows of which a share has one token counted as another tag, and which those are."""
    rng, regions = np.random.default_rng(seed), counted(seed=seed)
    off = rng.random(len(regions)) < share
    for number in np.flatnonzero(off):
        counts = regions[number]["counts"]
        lost = rng.choice(sorted(counts))
        counts[lost] -= 1
        found = rng.choice([tag for tag in TAGS if tag != lost])
        counts[found] = counts.get(found, 0) + 1
    return regions, off


@pytest.fixture(scope="module")
def chosen():
    return ask.CountTagger(random_state=0).fit(TRAIN.sentences, counted())


def test_the_structure_that_foresees_counts_is_chosen(chosen):
    # Grammar decides between the tags of many words: a chain knows it.
    assert chosen.structure_ == "chain"
    found = chosen.held_out_
    assert found["chain_log_likelihood"] > found["node_log_likelihood"]
    assert found["log_likelihood"] == found["chain_log_likelihood"]
    assert "chain model" in str(chosen.summary())
    # Without any order of tags, what stands around a word is noise.
    rng = np.random.default_rng(1)
    words = [f"w{number}" for number in range(40)]
    sentences = [[words[place] for place in rng.integers(40, size=8)] for _ in range(150)]
    tags = [[("A", "B", "C")[int(word[1:]) % 3] for word in sentence] for sentence in sentences]
    regions = ask.RegionCounts(["A", "B", "C"], 4).simulate(tags, rng)
    plain = ask.CountTagger(random_state=0).fit(sentences, regions)
    assert plain.structure_ == max(("node", "chain"), key=lambda name: plain.held_out_[f"{name}_log_likelihood"])
    assert plain.score(sentences, tags, of="truth") > 0.97


def test_the_accuracy_on_what_was_held_out_is_near_the_truth(chosen):
    # Seen: within .01 of the accuracy on other sentences; 40 sentences have 240 tokens, a standard error of .01.
    assert chosen.held_out_["accuracy"] == pytest.approx(chosen.score(*TEST, of="truth"), abs=0.04)
    assert chosen.held_out_["windows"] == 40
    assert chosen.held_out_["accuracy"] <= chosen.held_out_["counts"] + 0.01
    assert "windows not learned from" in str(chosen.summary())


def test_few_sentences_are_all_learned_from():
    tagger = ask.CountTagger(random_state=0).fit(TRAIN.sentences, counted()[:8])
    assert tagger.held_out_ is None
    assert tagger.structure_ == "node"
    assert "too few" in str(tagger.summary())


@pytest.mark.parametrize("structure", ["node", "chain"])
def test_miscounted_windows_are_found(structure):
    regions, off = miscounted(0.1, seed=3)
    tagger = ask.CountTagger(structure=structure, tags=TAGS, tolerance="model", random_state=0)
    tagger.fit(TRAIN.sentences, regions)
    odds = tagger.miscount_odds_
    order = np.argsort(np.argsort(odds))
    area = (order[off].mean() - (off.sum() - 1) / 2) / (~off).sum()
    assert area > 0.9
    suspects = tagger.suspicious()
    assert [each["odds"] for each in suspects] == sorted((each["odds"] for each in suspects), reverse=True)
    assert np.mean([off[each["region"]] for each in suspects]) > 0.6
    assert len(suspects) == (odds > 2).sum()
    first = suspects[0]
    told = regions[first["region"]]
    assert (first["sentence"], first["start"], first["width"]) == (told["sentence"], told["start"], told["width"])
    assert 0.02 < tagger.miscount_share_ < 0.25
    assert "left out" in str(tagger.summary())
    assert len(tagger.suspicious(odds=0)) == len(regions) - (odds == 0).sum()


def test_believing_every_count_lists_no_suspects(chosen):
    with pytest.raises(ask.AskanceError, match='tolerance="model"'):
        chosen.suspicious()
    with pytest.raises(ask.InvalidInput, match="odds=-1"):
        ask.CountTagger(tolerance="model", structure="node", random_state=0).fit(
            TRAIN.sentences[:40], counted()[:40]
        ).suspicious(-1)


@pytest.mark.parametrize("structure", ["node", "chain"])
def test_where_every_count_is_doubted_there_still_is_a_tagger(structure):
    # Six windows whose counts have nothing to do with their words.
    rng = np.random.default_rng(0)
    regions = [
        {"sentence": number, "start": 0, "width": 2, "counts": dict.fromkeys(rng.permutation(TAGS)[:2].tolist(), 1)}
        for number in range(6)
    ]
    for seed in range(5):
        tagger = ask.CountTagger("marginal", structure, tags=TAGS, tolerance="model", random_state=seed)
        assert len(tagger.fit(TRAIN.sentences, regions).predict([["a", "b"]])[0]) == 2


def test_a_single_sentence_has_no_others_that_judge_it():
    with pytest.raises(ask.InvalidInput, match="regions of one sentence; expected two sentences or more"):
        ask.CountTagger(tags=TAGS, tolerance="model").fit(TRAIN.sentences, counted()[:1])


def test_the_share_of_miscounts_is_that_of_a_mixture():
    rng = np.random.default_rng(0)
    off = rng.random(5000) < 0.2
    x = rng.normal(np.where(off, 4.0, 0.0))
    share, odds = miscount_odds(np.exp(4 * x - 8))  # the ratio of the two normal densities
    assert share == pytest.approx(off.mean(), abs=0.01)
    assert ((odds > 1) == off).mean() > 0.97


# -- what cannot be ----------------------------------------------------------------------------------------------------

WRONG = [
    {"sentence": 0, "start": 0, "width": 2, "counts": {"NOUN": 3}},
    {"sentence": 1, "start": 0, "width": 2, "counts": {"NOUN": 1}},
    {"sentence": 2, "start": 900, "width": 2, "counts": {"NOUN": 2}},
]


def test_impossible_windows_are_refused_all_at_once():
    with pytest.raises(ask.InvalidInput, match=r"3 tags were counted.*'list' names all"):
        ask.CountTagger(tags=TAGS).fit(TRAIN.sentences, [*counted(), *WRONG[:1] * 7])
    with pytest.raises(ask.InvalidInput, match=r"sentence 1: all 10 tags.*sentence 2: a window of the tokens 900"):
        ask.CountTagger(tags=TAGS, invalid="list").fit(TRAIN.sentences, [*counted(), *WRONG[1:]])
    many = [{"sentence": number, "start": 0, "width": 1, "counts": {"NOUN": 2}} for number in range(30)]
    with pytest.raises(ask.InvalidInput, match="and 25 more"):
        ask.CountTagger(tags=TAGS).fit(TRAIN.sentences, [*counted(), *many])
    with pytest.raises(ask.InvalidInput) as all_named:
        ask.CountTagger(tags=TAGS, invalid="list").fit(TRAIN.sentences, [*counted(), *many])
    assert all(f"sentence {number}:" in str(all_named.value) for number in range(30))


def test_impossible_windows_can_be_left_out():
    with pytest.warns(ask.AskanceWarning, match="left out"):
        tagger = ask.CountTagger("moments", "node", tags=TAGS, invalid="drop", random_state=0).fit(
            TRAIN.sentences, [*counted(), *WRONG]
        )
    assert tagger.n_regions_ == 400
    assert len(tagger.dropped_) == 3
    clean = ask.CountTagger("moments", "node", tags=TAGS, random_state=0).fit(TRAIN.sentences, counted())
    np.testing.assert_array_equal(tagger.weights_, clean.weights_)
    with pytest.raises(ask.InvalidInput, match="3 of 3"):
        ask.CountTagger(tags=TAGS, invalid="drop").fit(TRAIN.sentences, WRONG[:1] * 3)


def window(start, width, tags=None, sentence=0, **counts):
    region = {"sentence": sentence, "start": start, "width": width, "counts": counts}
    return region if tags is None else region | {"tags": tags}


@pytest.mark.parametrize(
    ("pair", "wrong"),
    [
        ([window(0, 3, A=1, B=2), window(0, 3, A=2, B=1)], True),  # one window, two counts
        ([window(0, 3, A=3), window(1, 2, A=1, B=1)], True),  # a part of all A has a B
        ([window(0, 3, A=1, B=2), window(0, 2, A=2)], True),  # more in the part than in the whole
        ([window(0, 3, A=3), window(1, 3, B=3)], True),  # two tokens in both
        ([{"sentence": 0, "labels": list("AABB")}, window(1, 2, A=2)], True),
        ([{"sentence": 0, "labels": list("AABB")}, {"sentence": 0, "labels": list("AABA")}], True),
        ([window(0, 3, A=1, B=2), window(0, 3, A=1, B=2)], False),
        ([window(0, 3, A=1, B=2), window(1, 3, A=2, B=1)], False),
        ([window(0, 3, ["A"], A=1), window(0, 3, ["B"], B=3)], False),  # other tags, told apart
        ([window(0, 2, A=2), window(2, 2, B=2)], False),
        ([{"sentence": 0, "labels": list("AABB")}, window(1, 2, A=1, B=1)], False),
    ],
)
def test_contradictory_windows_are_named(pair, wrong):
    sentences = [list("wxyz"), list("wxyz")]
    rest = [window(0, 4, sentence=1, A=2, B=2)]
    release = ask.RegionRelease.of([*pair, *rest], sentences, ["A", "B", "C"])
    if not wrong:
        assert release.consistent() is release
        return
    with pytest.raises(ask.InvalidInput, match=r"regions 0 and 1, .* of sentence 0"):
        release.consistent()
    with pytest.warns(ask.AskanceWarning, match="regions 0 and 1"):
        assert len(release.consistent("drop").regions) == 1
    with pytest.raises(ask.InvalidInput, match="regions 0 and 1"):
        ask.CountTagger("moments", "node", tags=["A", "B", "C"]).fit(sentences, [*pair, *rest])


# -- what people bring -------------------------------------------------------------------------------------------------


def test_frames_of_regions_are_read():
    regions = [
        *counted(3)[:20],
        *ask.RegionCounts(TAGS, 4, ask=["NOUN"]).simulate(TRAIN.tags[:5], np.random.default_rng(0)),
    ]
    expected = ask.RegionRelease.of(regions, TRAIN.sentences, TAGS).regions
    rows = [{**region, "tags": region.get("tags")} for region in regions]
    wide = pd.DataFrame(
        [
            {"sentence": region["sentence"], "start": region["start"], "width": region["width"]}
            | {tag: region["counts"].get(tag, 0) for tag in region.get("tags", TAGS)}
            for region in regions
        ]
    )
    frames = [pd.DataFrame(rows), pa.Table.from_pylist(rows), wide, pa.Table.from_pandas(wide)]
    frames += [pl.DataFrame(wide.to_dict("list"), strict=False)]
    for frame in frames:
        found = ask.RegionRelease.of(frame, TRAIN.sentences, TAGS).regions
        assert [(each.sentence, each.start, each.width, dict(each.counts)) for each in found] == [
            (each.sentence, each.start, each.width, dict(each.counts)) for each in expected
        ]
        assert [each.tags for each in found] == [each.tags for each in expected]
    with pytest.raises(ask.InvalidInput, match="'a'"):
        ask.RegionRelease.of(pd.DataFrame({"a": [1]}), TRAIN.sentences, TAGS)
    words = pa.array(TRAIN.sentences[:3])
    assert ask.RegionRelease.of(regions[:2], words, TAGS).sentences[1] == tuple(TRAIN.sentences[1])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series,
        lambda lists: pd.DataFrame({"its": lists}),
        lambda lists: pd.Series(lists, index=[f"text {place}" for place in range(len(lists))]),
        pa.array,
        lambda lists: pa.table({"its": lists}),
        lambda lists: pl.Series("its", lists),
        lambda lists: pl.DataFrame({"its": lists}),
    ],
)
def test_columns_of_lists_are_read_as_lists(column):
    fit = ask.CountTagger("moments", "node", tags=TAGS, random_state=0).fit
    sentences, tags, by_sentence = TRAIN.sentences[:40], TRAIN.tags[:40], [[region] for region in counted()[:40]]
    plain, framed = fit(sentences, by_sentence), column(sentences)
    np.testing.assert_array_equal(fit(framed, by_sentence).weights_, plain.weights_)
    if isinstance(framed, pd.Series | pa.Array):  # a table has regions as rows; polars keeps the first region's tags
        np.testing.assert_array_equal(fit(framed, column(by_sentence)).weights_, plain.weights_)
    assert plain.predict(framed) == plain.predict(sentences)
    assert plain.score(framed, counted()[:40]) == plain.score(sentences, counted()[:40])
    assert plain.score(framed, column(tags), of="truth") == plain.score(sentences, tags, of="truth") > 0.5
    drawn = [ask.RegionCounts(TAGS, 3).simulate(each, np.random.default_rng(0)) for each in (column(tags), tags)]
    assert drawn[0] == drawn[1]


def test_an_index_that_says_otherwise_is_refused():
    fit = ask.CountTagger("moments", "node", tags=TAGS, random_state=0).fit
    turned = pd.Series(TRAIN.sentences[:40], index=range(39, -1, -1))
    with pytest.raises(ask.InvalidInput, match=r"index of sentences has other numbers than 0 to 39 \(row 0 is 39\)"):
        fit(turned, counted()[:40])
    by_sentence = [[region] for region in counted()[:40]]
    fit(turned, by_sentence)  # lists that go with the sentences one by one
    with pytest.raises(ask.InvalidInput, match="sentences and regions have the same entries in another order"):
        fit(turned, pd.Series(by_sentence))
    with pytest.raises(ask.InvalidInput, match="sentences and tags have the same entries in another order"):
        fit(turned, by_sentence).score(turned, pd.Series(TRAIN.tags[:40]), of="truth")
    with pytest.raises(ask.InvalidInput, match="a table with the columns 'a', 'b'; expected one column"):
        fit(pa.table({"a": TRAIN.sentences[:40], "b": TRAIN.tags[:40]}), counted()[:40])


def test_structures_can_be_searched_by_held_out_counts():
    release = ask.RegionRelease.of(counted(), TRAIN.sentences, TAGS)
    search = GridSearchCV(ask.CountTagger("moments", tags=TAGS, random_state=0), {"structure": ["node", "chain"]}, cv=2)
    search.fit(TRAIN.sentences, release.by_sentence())
    assert search.best_params_ == {"structure": "chain"}
    assert 0.9 < search.best_score_ < 1  # an accuracy
    scored = search.best_estimator_.log_likelihood(TRAIN.sentences, release.by_sentence())
    assert scored == pytest.approx(search.best_estimator_.log_likelihood(TRAIN.sentences, counted()))
    assert scored < 0
    with pytest.raises(ask.InvalidInput, match="regions of 400 sentences for 3"):
        ask.RegionRelease.of(release.by_sentence(), TRAIN.sentences[:3], TAGS)


@pytest.mark.parametrize("structure", ["node", "chain"])
def test_own_features_are_learned_and_asked_for_after_loading(structure, tmp_path):
    # Words that look alike, told apart by what only the user knows about them.
    rng = np.random.default_rng(0)
    secret = {f"w{number:03d}": "AB"[rng.integers(2)] for number in rng.permutation(600).tolist()}
    words = list(secret)
    sentences = [[words[place] for place in rng.integers(300, size=4)] for _ in range(120)]
    tags = [[secret[word] for word in sentence] for sentence in sentences]
    regions = ask.RegionCounts(["A", "B"], 4).simulate(tags, rng)

    def lexicon(word):
        return [f"lexicon {secret.get(word, '?')}"]

    unseen, truth = [words[300:]], [[secret[word] for word in words[300:]]]
    options = {"structure": structure, "tags": ["A", "B"], "random_state": 0}
    blind = ask.CountTagger(**options).fit(sentences, regions)
    told = ask.CountTagger(features=lexicon, **options).fit(sentences, regions)
    assert told.score(unseen, truth, of="truth") > 0.8  # seen: .89; blind, chance is .5
    assert blind.score(unseen, truth, of="truth") < 0.65
    assert copy.deepcopy(told).predict(unseen) == told.predict(unseen)
    told.save(tmp_path / "tagger.json")
    again = ask.load_model(tmp_path / "tagger.json")
    with pytest.raises(ask.AskanceError, match=r"lexicon.*set_params"):
        again.predict(unseen)
    assert again.set_params(features=lexicon).predict(unseen) == told.predict(unseen)
    with pytest.raises(ask.InvalidInput, match="list of texts"):
        ask.CountTagger(features=lambda word: word, **options).fit(sentences, regions)


@pytest.mark.parametrize("tolerance", [None, "model"])
@pytest.mark.parametrize(("structure", "method"), [("node", "hybrid"), ("chain", "moments"), ("auto", "marginal")])
@pytest.mark.parametrize("sentences", [6, 60])  # of 6, none are held out
def test_progress_is_told_pass_by_pass_and_goes_as_planned(structure, method, tolerance, sentences):
    told = []
    tagger = ask.CountTagger(method, structure, tags=TAGS, tolerance=tolerance, passes=3, random_state=0)
    tagger.fit(TRAIN.sentences, counted()[:sentences], progress=lambda *done: told.append(done))
    done, total = np.array(told).T
    assert (np.diff(done) >= 0).all()
    assert len(set(total)) == 1
    assert done[-1] == total[-1]
    if sentences > 6:  # which make no five equal folds
        assert done[0] < total[0] / 3
        assert 0.85 * total[0] < done[-2] <= total[0]  # what was planned was done


def test_blank_lines_predict_nothing(chosen):
    node = ask.load_model(
        __file__.replace("learning/counting/test_tolerant_tagger.py", "golden/model-v1-tagger-node.json")
    )
    for tagger in (chosen, node):
        assert tagger.predict([[]]) == [[]]
        assert tagger.predict([["a"], [], ["a"]])[1] == []
        assert [table.shape[0] for table in tagger.predict_proba([[], ["a", "a"], []])] == [0, 2, 0]
    assert chosen.score([[], ["a"]], [[], ["unheard-of"]], of="truth") == 0


def test_a_sentence_of_two_thousand_tokens_is_counted_whole():
    words, tags = ([each for its in column[:250] for each in its] for column in (TRAIN.sentences, TRAIN.tags))
    sentences, labels = [words[:2000], *TRAIN.sentences[200:260]], [tags[:2000], *TRAIN.tags[200:260]]
    regions = ask.RegionCounts(TAGS).simulate(labels, np.random.default_rng(0))
    tagger = ask.CountTagger(structure="chain", tags=TAGS, passes=2, random_state=0).fit(sentences, regions)
    assert np.isfinite(tagger.score(sentences, regions))
    assert len(tagger.predict([words])[0]) == len(words)
