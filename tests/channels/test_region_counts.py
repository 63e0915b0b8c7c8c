"""The channel of counts: every window is as likely as every other, and counts are what is there."""

import math

import numpy as np
import pytest
from scipy import stats

import askance as ask

TAGS = ("A", "B", "C")


def drawn(channel, sentence, times, seed=0):
    return channel.simulate([sentence] * times, np.random.default_rng(seed))


def test_starts_are_even_and_reach_the_last_token():
    # L=7, w=3: five places, the last of which the paper's law never draws. Error rate 1e-4.
    regions = drawn(ask.RegionCounts(TAGS, 3), list("ABCABCA"), 5000)
    starts = np.bincount([region["start"] for region in regions])
    assert len(starts) == 5
    assert stats.chisquare(starts).pvalue > 1e-4


def test_the_test_of_starts_would_notice_the_paper_s_law():
    starts = np.bincount(np.random.default_rng(0).integers(4, size=5000), minlength=5)
    assert stats.chisquare(starts).pvalue < 1e-4


@pytest.mark.parametrize("width", [1, 2, 5, 7])
def test_counts_are_those_of_the_window(width):
    sentence = list("AABCABA")
    for region in drawn(ask.RegionCounts(TAGS, width), sentence, 50):
        window = sentence[region["start"] : region["start"] + region["width"]]
        assert region["width"] == width
        assert region["counts"] == {tag: window.count(tag) for tag in TAGS if tag in window}
        assert "tags" not in region


def test_a_sentence_shorter_than_the_window_is_counted_whole():
    assert drawn(ask.RegionCounts(TAGS, 9), ["A", "B"], 1) == [
        {"sentence": 0, "start": 0, "width": 2, "counts": {"A": 1, "B": 1}}
    ]
    assert drawn(ask.RegionCounts(TAGS, None), ["A", "B"], 1)[0]["width"] == 2


def test_pairs_of_word_and_tag_are_read_by_their_tag():
    plain = drawn(ask.RegionCounts(TAGS, 2), ["A", "B", "C"], 1)
    assert drawn(ask.RegionCounts(TAGS, 2), [("x", "A"), ("y", "B"), ("z", "C")], 1) == plain


def test_a_fixed_subset_is_counted_alone():
    region = drawn(ask.RegionCounts(TAGS, None, ask=["C", "A"]), list("AAB"), 1)[0]
    assert region["counts"] == {"A": 2}
    assert region["tags"] == ["C", "A"]


def test_a_drawn_subset_has_every_tag_as_often():
    # Each pair of three tags has probability 1/3. Error rate 1e-4.
    regions = drawn(ask.RegionCounts(TAGS, 1, ask=2), ["A"], 3000)
    pairs = [tuple(region["tags"]) for region in regions]
    often = [pairs.count(pair) for pair in (("A", "B"), ("A", "C"), ("B", "C"))]
    assert sum(often) == 3000
    assert stats.chisquare(often).pvalue > 1e-4


def test_it_claims_no_privacy():
    channel = ask.RegionCounts(TAGS, 4)
    assert math.isinf(channel.guarantee.epsilon)
    assert "no formal privacy guarantee" in channel.guarantee.in_words()
    assert "protects nobody" in channel.describe()
    assert not hasattr(channel, "privatize")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "width=0"),
        ({"width": 2.5}, "width=2.5"),
        ({"width": True}, "width=True"),
        ({"tags": ["A"]}, "1 tags"),
        ({"tags": [1, 2]}, "text"),
        ({"ask": 0}, "ask=0"),
        ({"ask": 4}, "1 to 3"),
        ({"ask": []}, r"ask=\[\]"),
        ({"ask": ["Z"]}, "'Z'"),
        ({"ask": ["A", "A"]}, "different"),
        ({"ask": [["A"]]}, "different"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ask.InvalidInput, match=message):
        ask.RegionCounts(**({"width": 2, "tags": TAGS} | arguments))


def test_bad_sentences_are_named():
    channel = ask.RegionCounts(TAGS, 2)
    rng = np.random.default_rng(0)
    with pytest.raises(ask.InvalidInput, match="sentence 1 is empty"):
        channel.simulate([["A"], []], rng)
    with pytest.raises(ask.InvalidInput, match="sentence 1 has the tag 'Z'"):
        channel.simulate([["A"], ["Z"]], rng)
    for sentence in (None, "AB", [1], [None], [()], [{"A": 1}], [("a", ["A"])]):
        with pytest.raises(ask.InvalidInput, match="sentence 1: "):
            channel.simulate([["A"], sentence], rng)
    for sentences in (None, "AB", 3):
        with pytest.raises(ask.InvalidInput, match="tagged_sentences="):
            channel.simulate(sentences, rng)
    with pytest.raises(ask.InvalidInput, match="Generator"):
        channel.simulate([["A"]], 0)
