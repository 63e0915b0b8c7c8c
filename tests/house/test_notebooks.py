"""What a notebook shows: channels, guarantees, plans and ledgers as HTML, with every stranger's text escaped."""

import pytest

import askance as ask
from channel_examples import ATTRIBUTES, DESIGNS, EXAMPLES, NUMBERS, RECORDS, SEQUENCES
from html_pages import ReadPage

EVIL = "<script>alert(1)</script>"


EVERY = EXAMPLES | {"designs": DESIGNS} | NUMBERS | ATTRIBUTES | RECORDS | SEQUENCES


@pytest.mark.parametrize("channel", EVERY.values(), ids=EVERY)
def test_every_channel_is_shown_with_its_promise(channel):
    page = ReadPage(channel._repr_html_())
    assert type(channel).__name__ in page.text
    page.check_needs_nothing_from_elsewhere()


def test_labels_and_names_are_escaped(tmp_path):
    channel = ask.RandomizedResponse(["no", EVIL], epsilon=1.0)
    assert "<script" not in channel._repr_html_()
    assert "0.7311" in channel._repr_html_()
    assert "at most 73.1% sure" in channel.guarantee._repr_html_()
    book = ask.Ledger.create(tmp_path / "book.db", 2, data_set=EVIL)
    book.spend(1, what=EVIL)
    assert "<script" not in book._repr_html_()
    assert ReadPage(book._repr_html_()).tags.count("tr") == 2


def test_a_plan_shows_its_designs():
    shown = ReadPage(ask.plan(prevalence=0.1, epsilon=1.0, n=1000)._repr_html_())
    assert "crosswise" in shown.text
    assert shown.tags.count("tr") > 3
