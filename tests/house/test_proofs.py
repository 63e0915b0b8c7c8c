"""Every guarantee names the page that proves it: a new mechanism without a page fails here.

That the code of these pages runs, and that the numbers they show are those that it prints, is tested in ``test_docs``.
"""

import re
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from test_docs import DOCS, ROOT, name_of

import askance as ask
from askance.channels.guarantee import proof_page
from askance.channels.specs import EVERY_CHANNEL
from askance.releases import counts_release, mean_operator_release
from askance.releases.header import whole_person
from channel_examples import EVERY_EXAMPLE

PROOFS = DOCS / "mechanisms"
PAGES = sorted(page for page in PROOFS.glob("*.md") if page.name != "README.md")
SECTIONS = ["What is drawn", "Claim", "Proof", "What it does not protect", "How it is audited", "References"]
OF_COUNTS = [name for name in get_args(counts_release.Mechanism) if name != "auto"]
OF_SUMS = [name for name in get_args(mean_operator_release.Mechanism) if name != "auto"]
MECHANISMS = [
    *(channel.kind for channel in EVERY_CHANNEL),
    *(f"counts-{name}" for name in OF_COUNTS),
    *(f"mean-operator-{name}" for name in OF_SUMS),
]
LAWS = ["composition", "counts-within", "exact-draws", "filters", "shuffling"]  # what holds for all of them
X, Y = np.random.default_rng(0).normal(size=(30, 2)), np.tile([-1, 1], 15)


def test_every_mechanism_has_a_page_and_every_page_a_mechanism():
    assert {page.stem for page in PAGES} == {*MECHANISMS, *LAWS}


def test_the_index_leads_to_every_page():
    index = (PROOFS / "README.md").read_text(encoding="utf-8")
    assert all(f"[{page.stem}]({page.name})" in index for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_says_what_there_is_to_say(page):
    text = page.read_text(encoding="utf-8")
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    assert parts[1::2] == SECTIONS
    assert all(part.strip() for part in parts)
    assert "```python" in dict(zip(parts[1::2], parts[2::2], strict=True))["Proof"]
    assert page.stem in LAWS or page.stem.removeprefix("counts-").removeprefix("mean-operator-") in text.split("\n")[0]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_tests_that_a_page_names_are_there(page):
    for named in re.findall(r"`(tests/[^`]+)`", page.read_text(encoding="utf-8")):
        assert (ROOT / named).exists(), f"{name_of(page)} names {named}"


# -- guarantees ------------------------------------------------------------------------------------------------------


def proved(guarantee):
    return guarantee.proof is not None and (ROOT / guarantee.proof).is_file()


@pytest.mark.parametrize("channel", EVERY_EXAMPLE.values(), ids=EVERY_EXAMPLE.keys())
def test_the_guarantee_of_a_channel_is_proved_on_its_page(channel):
    guarantee = channel.guarantee_of(3) if getattr(channel, "dim", 3) is None else channel.guarantee
    assert guarantee.proof == proof_page(channel.kind) == channel.proof
    assert proved(guarantee)


def test_several_reports_are_proved_where_they_are_put_together():
    channel = ask.Warner(0.8)
    panel = ask.Memoised(channel, 1.0)
    assert channel.guarantee.repeated(2).proof == proof_page("composition")
    assert whole_person([channel.guarantee] * 2).proof == proof_page("composition")
    assert ask.shuffled(channel, 100, 1e-3).proof == proof_page("shuffling")
    assert panel.guarantee_of_waves(3).proof == panel.lasting_guarantee.proof == proof_page("memoised")


@pytest.mark.parametrize("mechanism", OF_SUMS)
def test_the_guarantee_of_a_mean_operator_is_proved(mechanism, tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l.ledger", 1, "0.01", data_set="test")
    delta = "0.01" if mechanism == "gaussian" else 0
    release = ask.release_mean_operator(X, Y, 1, delta, mechanism=mechanism, ledger=ledger)
    release.write(tmp_path / "release.json")
    assert release.guarantee.proof == proof_page(f"mean-operator-{mechanism}")
    assert ask.read_release(tmp_path / "release.json").guarantee.proof == release.guarantee.proof


@pytest.mark.parametrize("mechanism", OF_COUNTS)
def test_the_guarantee_of_counts_is_proved(mechanism, tmp_path):
    paper = mechanism.endswith("paper")
    ledger = None if paper else ask.Ledger.create(tmp_path / "l.ledger", 1, "0.1", data_set="test")
    delta = "0.1" if mechanism in ("truncated-laplace", "discrete-gaussian", "gaussian", "dirichlet") or paper else 0
    release = ask.release_counts([[60, 50, 40]], 1, delta, mechanism=mechanism, ledger=ledger)
    release.write(tmp_path / "release.json")
    assert release.guarantee.proof == proof_page(f"counts-{mechanism}")
    assert ask.read_release(tmp_path / "release.json").guarantee.proof == release.guarantee.proof


def test_what_claims_nothing_has_no_proof():
    assert ask.Guarantee.none("one person's label").proof is None


def test_a_model_keeps_the_proof_and_an_older_one_is_read_without(tmp_path):
    model = ask.Prevalence(ask.Warner(0.8)).fit(["yes", "no", "no"])
    model.save(tmp_path / "model.json")
    assert ask.load_model(tmp_path / "model.json").guarantee_.proof == proof_page("warner")
    before = model.guarantee_.to_dict()
    del before["proof"]
    assert ask.Guarantee.from_dict(before) == model.guarantee_
    assert ask.Guarantee.from_dict(before).proof is None


@pytest.mark.parametrize("address", ["https://example.org/x.md", "docs/mechanisms/../../x.md", "<b>", "", 3, None])
def test_a_file_cannot_send_readers_elsewhere(address):
    fields = ask.Warner(0.8).guarantee.to_dict() | {"proof": address}
    assert ask.Guarantee.from_dict(fields).proof is None


def test_statements_that_say_the_same_are_equal_wherever_they_are_proved():
    assert ask.Crosswise(0.8).guarantee == ask.Warner(0.8).guarantee
    assert replace(ask.Warner(0.8).guarantee, proof=None) == ask.Warner(0.8).guarantee
