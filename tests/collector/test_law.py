"""One law, two samplers: the page's and ours give the same report for the same bytes, and both follow the channel."""

import json
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest

import askance as ask
from askance.collector import device_law, draw_report
from askance.entropy.thresholds import RESOLUTION
from askance.errors import InvalidInput
from askance.releases.declarations import Question
from collector_study import questionnaire

DESIGNS = [
    ask.Warner(0.8),
    ask.Crosswise(0.25),
    ask.ForcedResponse(p_no=0.1, p_yes=0.2),
    ask.UnrelatedQuestion(0.7, 0.3),
    ask.Mangat(0.6),
    ask.Triangular(0.4),
    ask.Kuk(0.8, 0.3),
    ask.RandomizedResponse(["a", "b", "c", "d", "e"], epsilon=1.0),
    ask.FiniteChannel([[0.8, 0.3], [0.2 - 1e-16, 0.7], [1e-16, 0.0]], ["x", "y"], ["r", "s", "t"]),
    ask.Identity(["no", "yes"]),
    ask.Cheaters(ask.Warner(0.7)),
    ask.Anchor(ask.RandomAnswers(ask.Crosswise(0.25))),
]
DRAWS = 20_000
GOLDEN = Path(__file__).parents[1] / "golden" / "page-law.json"


def law_of(design):
    return device_law(Question("q", design), design)


def columns():
    return [column for design in DESIGNS for column in law_of(design)]


def vectors():
    """Columns with bytes: 20,000 random draws among them, and every border with its neighbours."""
    rng = np.random.default_rng(20)
    laws = columns()
    cases = [(int(rng.integers(len(laws))), rng.bytes(8)) for _ in range(DRAWS)]
    for number, column in enumerate(laws):
        for border in {0, RESOLUTION, *accumulate(column)}:
            for u in (border - 1, border, border + 1):
                if 0 <= u < RESOLUTION:
                    # The two lowest bits of the eight bytes must not matter.
                    cases += [(number, ((u << 2) | spare).to_bytes(8, "little")) for spare in (0, 3)]
    return laws, cases


def test_the_first_report_whose_sum_exceeds_the_random_number_is_drawn():
    laws, cases = vectors()
    for number, random in cases:
        sums = np.array(list(accumulate(laws[number])), dtype=object)
        u = int.from_bytes(random, "little") >> 2
        assert draw_report(laws[number], random) == int(np.argmax(sums > u))


def test_vectors_that_were_written_down_still_hold():
    for case in json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]:
        counts = [int(count) for count in case["counts"]]
        assert draw_report(counts, bytes.fromhex(case["bytes"])) == case["report"]


@pytest.mark.xdist_group("browser")
def test_the_page_draws_the_same_reports(browser, serving):
    from askance.collector.app import Collector
    from askance.collector.keys import Keys
    from askance.collector.sqlite_store import SqliteStore

    asked = questionnaire()
    address = serving(Collector(asked, lambda: SqliteStore(Path("/nowhere")), Keys.new()).app())
    laws, cases = vectors()
    said = json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]
    page = browser.new_page()
    page.goto(f"{address}health")
    drawn, golden, wrong = page.evaluate(
        """async ([laws, cases, said]) => {
            const { drawReport, isLaw } = await import("/static/law.mjs");
            const bytes = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
            const few = laws[0].slice(1);
            return [
                cases.map(([number, hex]) => drawReport(laws[number], bytes(hex))),
                said.map((one) => drawReport(one.counts, bytes(one.bytes))),
                [isLaw(few), isLaw(["-1", String((1n << 62n) + 1n)]), isLaw([2 ** 62]), isLaw([String(1n << 62n)])],
            ];
        }""",
        [[[str(count) for count in law] for law in laws], [[n, random.hex()] for n, random in cases], said],
    )
    page.close()
    assert len(drawn) == len(cases) > DRAWS
    assert drawn == [draw_report(laws[number], random) for number, random in cases]
    assert golden == [one["report"] for one in said]
    assert wrong == [False, False, False, True]


@pytest.mark.xdist_group("browser")
def test_real_draws_of_a_browser_pass_the_audit(browser, serving):
    """With 20,000 draws of each truth; an honest browser fails once in 1e6 runs or more."""
    from scipy.stats import chisquare

    from askance.collector.app import Collector
    from askance.collector.keys import Keys
    from askance.collector.sqlite_store import SqliteStore

    address = serving(Collector(questionnaire(), lambda: SqliteStore(Path("/nowhere")), Keys.new()).app())
    page = browser.new_page()
    page.goto(f"{address}health")
    channel = ask.RandomizedResponse(["a", "b", "c"], epsilon=1.0)
    law = [[str(count) for count in column] for column in law_of(channel)]
    counts = page.evaluate(
        """async ([law, draws]) => {
            const { draw } = await import("/static/law.mjs");
            return law.map((column) => {
                const seen = column.map(() => 0);
                for (let i = 0; i < draws; i += 1) seen[draw(column)] += 1;
                return seen;
            });
        }""",
        [law, DRAWS],
    )
    page.close()
    for truth, seen in enumerate(counts):
        assert chisquare(seen, channel.matrix[:, truth] * DRAWS).pvalue > 1e-6 / 3


def test_an_anchor_is_drawn_from_what_people_say():
    anchor = ask.Anchor(ask.RandomAnswers(ask.Crosswise(0.25)))
    assert law_of(anchor) == law_of(ask.Crosswise(0.25))


@pytest.mark.parametrize("counts", [[1, 2], [RESOLUTION + 1, -1], [RESOLUTION - 1]])
def test_counts_that_are_no_law_draw_nothing(counts):
    with pytest.raises(InvalidInput, match="add up"):
        draw_report(counts, bytes(8))


def test_numbers_are_refused_with_a_sentence():
    text = '[questions.income]\ntext = "?"\nbounds = [0, 10]\nchannel = { design = "private-number", epsilon = 1.0 }\n'
    with pytest.raises(InvalidInput, match="A page draws from a table of integers"):
        questionnaire(text)


@pytest.mark.parametrize(
    "channel",
    [
        ask.Coarsening({"plant": ["oak", "fern"], "animal": ["fox"]}),
        ask.CandidateSets(["a", "b", "c"], inclusion=0.3),
        ask.Repeated(ask.Warner(0.8), 2),
        ask.FiniteChannel([[0.9, 0.2], [0.1, 0.8]], [False, True], ["negative", "positive"]),
        ask.RandomizedResponse([1, 2, 3], epsilon=1.0),
    ],
)
def test_every_finite_channel_makes_the_round_trip(channel):
    from askance import Release, Study
    from askance.collector import Questionnaire

    asked = Questionnaire(Study((Question("q", channel, "What?"),)))
    body = {"study": asked.digest, "token": "t" * 22, "designs": {}, "covariates": {}}
    cells = [asked.cell(body | {"reports": {"q": code}}) for code in range(len(channel.report_labels))]
    release = Release.from_table(asked.columns(cells), asked.study.header())
    codes = channel.encode_reports(release.to_table()["q"])
    assert codes.ravel().tolist() == list(range(len(cells)))
    law = asked.definition["questions"][0]["designs"][""]["law"]
    assert np.array([[int(count) for count in column] for column in law]).T.tolist() == channel.counts.tolist()
