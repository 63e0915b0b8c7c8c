"""What sequences cost: every token its level, in the header, the ledger, its check and the level of a whole person."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import askance as ask
from askance.errors import BudgetSpent, InvalidInput
from askance.mechanisms.accounting.response_loss import channel_loss
from askance.releases import privatize_file, verify_release
from askance.releases.paid_privatizing import pay_for_answers

STUDY = ask.Study.parse("""
[questions.tags]
choices = ["D", "N", "V"]
sequence = true
channel = { design = "randomized-response", epsilon = 1.0 }
[questions.native]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }
""")
ONE, LONGEST = 1 + 1.3862943611, 4 + 1.3862943611


@pytest.fixture
def truth(tmp_path):
    rows = {"id": ["a", "b", "c"], "tags": [["D"], ["D", "N", "V", "N"], []], "native": ["no", "yes", "no"]}
    pq.write_table(pa.table(rows | {"tags": pa.array(rows["tags"], pa.list_(pa.string()))}), tmp_path / "truth.parquet")
    return tmp_path / "truth.parquet"


def test_a_header_counts_one_token_of_a_sequence_and_says_so():
    """It said that all answers together were protected by what one token and the other answer cost."""
    promised = STUDY.guarantee
    assert promised.epsilon == pytest.approx(ONE)
    assert "of a sequence one token" in promised.protects
    assert "differ in one token" in promised.neighbours
    assert "every further token adds its level" in promised.in_words()
    assert STUDY.header().guarantee_of({"tags": 4}).epsilon == pytest.approx(LONGEST)
    assert "token" not in str(STUDY.header().guarantee_of({"tags": 4}))


def test_a_release_has_the_level_of_its_longest_sequence(truth):
    release = privatize_file(STUDY, truth, truth.parent / "release.parquet").release
    assert release.longest == {"tags": 4}
    assert release.whole_person.epsilon == pytest.approx(LONGEST)
    assert "per person and token" in repr(release)


def test_a_ledger_is_charged_for_the_longest_sequence(truth):
    """It was charged for one token: a budget of 3 paid for sentences of any length."""
    small, large = (ask.Ledger.create(truth.parent / f"{size}.ledger", size, data_set="tags") for size in (3, 6))
    out = truth.parent / "release.parquet"
    with pytest.raises(BudgetSpent):
        pay_for_answers(STUDY, truth, small, "id", out)
    assert small.entries == ()
    entry = pay_for_answers(STUDY, truth, large, "id", out)
    assert float(large.entries[0].level.epsilon) == pytest.approx(LONGEST, rel=1e-8)
    large.record(entry, privatize_file(STUDY, truth, out).release.digest)
    checks = {check.name: check for check in verify_release(out, ledger=large.path).checks}
    assert checks["ledger"].verdict == "good"
    assert "5.386" in checks["guarantee"].words


def test_sequences_that_are_texts_with_blanks_are_counted_by_words(truth):
    """A CSV has no lists: paying for one ended in an error of Arrow."""
    table = truth.parent / "truth.csv"
    table.write_text("id,tags,native\na,D,no\nb,D N V  N,yes\nc,,no\n")
    ledger = ask.Ledger.create(truth.parent / "tags.ledger", 6, data_set="tags")
    pay_for_answers(STUDY, table, ledger, "id", truth.parent / "release.parquet")
    assert float(ledger.entries[0].level.epsilon) == pytest.approx(LONGEST, rel=1e-8)


def test_a_channel_of_sequences_has_no_cost_of_its_own():
    with pytest.raises(InvalidInput, match="guarantee_of"):
        channel_loss(ask.PerToken(ask.Warner(0.8)))


def test_a_dossier_tells_the_level_of_the_longest_answer(truth, tmp_path):
    privatize_file(STUDY, truth, truth.parent / "release.parquet")
    without, told = ask.make_dossier(STUDY), ask.make_dossier(STUDY, truth.parent / "release.parquet")
    assert without.guarantee.epsilon == pytest.approx(ONE)
    assert "every further token adds its level" in str(without)
    assert told.guarantee.epsilon == pytest.approx(LONGEST)
    for said in ("epsilon 4 (the longest answer, of 4 tokens)", "epsilon 1 (each token of an answer)", "5.38629"):
        assert said in str(told)
