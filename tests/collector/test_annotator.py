"""The annotators' page: windows are counted, answers are on disk when acknowledged, and a tagger learns from them."""

import http.client
import json
import re
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from axe_playwright_python.sync_playwright import Axe
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from askance import RegionCounts, RegionRelease
from askance.collector.annotation_app import AnnotationApp
from askance.collector.annotation_results import Agreement, collected_regions
from askance.collector.annotation_serving import Annotation
from askance.collector.annotation_store import AHEAD, AnnotationStore, ShownWindow
from askance.collector.annotation_task import AnnotationTask, Window
from askance.collector.keys import Keys, new_token
from askance.errors import InvalidInput
from collector_study import ServerProcess, links_of
from waiting import PATIENCE

TASK = """
[annotation]
title = "Counting <words>"
sentences = "text.txt"
tags = ["DT", "NN", "VB", "other"]
describe = { NN = "noun", VB = "verb" }
width = 4
shared = 0.25
"""
SENTENCE = "the dog barks at <b>the</b> cat and runs"
TAGS = dict(zip(SENTENCE.split(), ["DT", "NN", "VB", "other", "DT", "NN", "other", "VB"], strict=True))


@pytest.fixture
def task_file(tmp_path):
    (tmp_path / "study.toml").write_text(TASK, encoding="utf-8")
    (tmp_path / "text.txt").write_text(f"{SENTENCE}\n" * 12, encoding="utf-8")
    return tmp_path / "study.toml"


@pytest.fixture
def annotation(task_file):
    return Annotation.of(task_file, None, None)


def right(words):
    """What a careful annotator counts."""
    found = [TAGS[word] for word in words]
    return {tag: found.count(tag) for tag in dict.fromkeys(found)}


# -- the store -------------------------------------------------------------------------------------------------------


def test_windows_are_drawn_once_and_fit_their_sentences(annotation):
    first, second = annotation.open_store(), annotation.open_store()
    windows = [tuple(row) for row in first._sql.execute("SELECT * FROM windows")]
    assert windows == [tuple(row) for row in second._sql.execute("SELECT * FROM windows")]
    assert sorted(row[1] for row in windows) == list(range(12))
    assert all(0 <= row[2] <= 4 and row[3] == 4 for row in windows)
    assert sorted(row[5] for row in windows) == [1] * 9 + [2] * 3
    first.close(), second.close()


def count_everything(store, annotator, answers):
    while ahead := store.ahead(annotator):
        for shown in ahead:
            store.answer(annotator, shown.number, lambda window: answers(annotator, window))


def test_many_annotators_at_once_count_every_window_as_often_as_wanted(annotation):
    store = annotation.open_store()
    store.invite(b"%d" % number for number in range(6))
    at_once = threading.Barrier(6)

    def work(number):
        own = annotation.open_store()
        at_once.wait()
        count_everything(own, number, lambda who, window: {"NN": 4})
        own.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(1, 7)))
    progress = store.progress()
    assert (progress.counted, progress.wanted) == (15, 15)
    often = [
        count for (count,) in store._sql.execute("SELECT count(*) FROM shown WHERE counts NOT NULL GROUP BY window")
    ]
    assert len(often) == 12
    assert sum(often) >= 15  # the last ones are shown to more people, in case somebody has gone away
    store.close()


def test_what_somebody_left_open_or_skipped_is_shown_to_others(annotation):
    store = annotation.open_store()
    store.invite([b"1", b"2"])
    left = {shown.number for shown in store.ahead(1)}
    assert len(left) == AHEAD
    store.answer(1, min(left), lambda window: None)  # skipped
    count_everything(store, 2, lambda who, window: {"NN": 4})
    done = {shown.number for annotator, shown in store.answers() if annotator == 2}
    assert len(done) == 12
    assert store.ahead(2) == []
    for counts, agreed in (({"VB": 4}, (1, 0)), ({"NN": 4}, (1, 1))):
        store.answer(1, max(left), lambda window, counts=counts: counts)
        assert store.agreement(1) == store.agreement(2) == agreed
    with pytest.raises(InvalidInput, match="not shown to this annotator"):
        store.answer(2, 99, lambda window: {})
    store.close()


def shown(number, counts, width=4):
    return ShownWindow(number, Window(0, 0, width, None, 2), counts)


def test_agreement_is_what_can_be_counted_by_hand():
    answers = [
        (1, shown(1, {"NN": 4})), (2, shown(1, {"NN": 4})),
        (1, shown(2, {"NN": 2, "VB": 2})), (2, shown(2, {"NN": 1, "VB": 3})),
        (3, shown(3, {"DT": 4})),
    ]  # fmt: skip
    agreement = Agreement.of(answers)
    assert (agreement.windows, agreement.same) == (2, 1)
    assert agreement.words == pytest.approx((4 + 3) / 8)
    # Two annotators of window 1 against two of window 2: 2 + 1 + 2 + 1 of 16 words.
    assert agreement.by_chance == pytest.approx(6 / 16)
    low, high = agreement.interval()
    assert (round(low, 3), round(high, 3)) == (0.095, 0.905)  # Wilson, of 1 of 2
    assert "not known" in str(Agreement.of(answers[-1:]))


def test_of_disputed_windows_only_a_majority_is_believed():
    task = AnnotationTask((tuple(SENTENCE.split()),), RegionCounts(["DT", "NN", "VB", "other"], 4))
    ways = [{"NN": 4}, {"NN": 3, "VB": 1}, {"NN": 4}]
    three = [(number, shown(1, counts)) for number, counts in enumerate(ways)]
    assert collected_regions(task, three).release.regions[0].counts == {"NN": 4}
    assert len(collected_regions(task, three, everything=True).release.regions) == 3
    with pytest.raises(InvalidInput, match="disagree about every window"):
        collected_regions(task, three[:2])
    kept = collected_regions(task, [*three[:2], (1, shown(2, {"DT": 4}))])
    assert len(kept.release.regions) == 1
    assert kept.disputed == ("sentence 0, tokens 0 to 3: 4 NN or 3 NN, 1 VB",)


# -- the addresses ---------------------------------------------------------------------------------------------------


@pytest.fixture
def client(annotation):
    token = annotation.invite(1)[0]
    with TestClient(
        AnnotationApp(annotation.task, annotation.open_store(), annotation.keys).app(), raise_server_exceptions=False
    ) as started:
        started.headers["authorization"] = f"Bearer {token}"
        started.task = annotation.task
        yield started


def post(client, window, counts):
    return client.post("/counts", json={"task": client.task.digest, "window": window, "counts": counts})


def test_counts_are_taken_changed_and_refused(client, annotation):
    first = client.get("/windows").json()["ahead"][0]
    good = right(first["words"])
    assert post(client, first["number"], good).status_code == 201
    assert post(client, first["number"], good).status_code == 200
    assert post(client, first["number"], {"other": 4}).status_code == 200
    earlier = client.get("/windows").json()["earlier"]
    assert [(one["number"], one["counts"]) for one in earlier] == [(first["number"], {"other": 4})]
    for wrong in (
        {"NN": 5}, {"NN": 3}, {"NN": -1, "VB": 5}, {"NN": True, "VB": 3}, {"NN": "4"}, {"ADJ": 4}, [4], 4, {"NN": 4.0},
    ):  # fmt: skip
        assert post(client, first["number"], wrong).status_code == 422, wrong
    assert post(client, 10**30, good).status_code == 422
    assert post(client, 99, good).status_code == 422
    other = client.post("/counts", json={"task": "0" * 32, "window": first["number"], "counts": good})
    assert (other.status_code, other.json()["outcome"]) == (409, "other_task")
    for header in ("", "Bearer " + new_token(), "Basic eDp5", "Bearer ключключключключключ".encode()):
        assert client.get("/windows", headers={"authorization": header}).status_code == 401
    assert "<words>" not in client.get("/").text
    store = annotation.open_store()
    assert [shown.counts for _, shown in store.answers()] == [{"other": 4}]
    store.close()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["task", "window", "counts", "all"]), JSON, st.sampled_from(["GET", "POST", "PUT", "PATCH"]))
def test_no_body_brings_the_server_down(client, key, value, method):
    client.get("/windows")
    body = {"task": client.task.digest, "window": 1, "counts": {"NN": 4}}
    sent = json.dumps(value if key == "all" else body | {key: value}).encode()
    answer = client.request(method, "/counts", content=sent, headers={"content-type": "application/json"})
    assert answer.status_code in (200, 201, 400, 405, 409, 422)
    assert "Traceback" not in answer.text


def test_what_was_acknowledged_is_stored_when_the_server_is_killed(task_file, annotation):
    token = annotation.invite(1)[0]
    server = ServerProcess(task_file.parent)
    acknowledged = []

    def ask(method, path, body=None):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as connection:
            connection.request(method, path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    with server:
        ahead = ask("GET", "/windows")[1]["ahead"]
        while ahead:
            body = {"task": annotation.task.digest, "window": ahead[0]["number"], "counts": right(ahead[0]["words"])}
            status, told = ask("POST", "/counts", body)
            assert status == 201
            acknowledged.append(ahead[0]["number"])
            ahead = told["ahead"]
            if len(acknowledged) == 7:
                server.kill()
                break
    with closing(sqlite3.connect(annotation.place)) as database:
        stored = [number for (number,) in database.execute("SELECT window FROM shown WHERE counts NOT NULL")]
    assert sorted(stored) == sorted(acknowledged)
    assert len(stored) == 7


# -- the page --------------------------------------------------------------------------------------------------------


def violations(page):
    return [f"{v['id']}: {[n['html'] for n in v['nodes']]}" for v in Axe().run(page).response["violations"]]


def words_shown(page):
    return page.inner_text("#sentence mark").split()


def press_keys(page):
    """Count the window by keyboard, and go on."""
    for tag, count in right(words_shown(page)).items():
        for _ in range(count):
            page.keyboard.press(str(["DT", "NN", "VB", "other"].index(tag) + 1))
    page.keyboard.press("Enter")


def tap(page):
    """Count the window by touch, and go on."""
    for tag, count in right(words_shown(page)).items():
        for _ in range(count):
            page.tap(f"li[data-tag={tag}] .plus")
    page.tap("#next")


def settled(page, counted):
    page.wait_for_selector(f"#progress:has-text('You counted {counted}.')")


@pytest.mark.filterwarnings("default::askance.AskanceWarning")
@pytest.mark.xdist_group("browser")
def test_two_annotators_count_to_the_end_and_a_tagger_learns_from_it(run, task_file, browser, monkeypatch):
    monkeypatch.chdir(task_file.parent)
    with ServerProcess(task_file.parent) as server:
        code, out, _ = run("invite", "study.toml", "--count", 2, "--address", server.address)
        assert code == 0
        links = out.split()
        wide = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="dark")
        small = browser.new_context(viewport={"width": 320, "height": 640}, has_touch=True)
        requests, errors = [], []
        pages = []
        for context, link in zip((wide, small), links, strict=True):
            context.set_default_timeout(1000 * PATIENCE)
            page = context.new_page()
            page.on("request", lambda request: requests.append(request))
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(link)
            page.wait_for_selector("#work:not([hidden])")
            assert violations(page) == []
            pages.append(page)
        first, second = pages
        assert first.evaluate("document.activeElement.tagName") == "BODY"  # a page that loads takes no focus
        # Too few words, too many, and undo: the page says so, and keeps what can be.
        first.keyboard.press("Enter")
        assert "0 of 4 words are counted" in first.inner_text("#error")
        for _ in range(5):
            first.keyboard.press("2")
        assert "take one away" in first.inner_text("#error")
        assert violations(first) == []
        assert first.inner_text("#total") == "NN 4 – 4 of 4 words counted"
        first.keyboard.press("Shift+2")
        first.keyboard.press("u")
        assert first.inner_text("#total").startswith("NN 4")
        for _ in range(4):
            first.keyboard.press("u")
        assert first.inner_text("#total").startswith("NN 0")
        number = first.inner_text("#heading")
        press_keys(first)
        settled(first, 1)
        assert first.evaluate("document.activeElement.id") == "heading"
        first.keyboard.press("u")  # back to the window before
        assert first.inner_text("#heading") == number
        first.keyboard.press("Enter")
        settled(first, 1)
        # By touch, at 320 pixels, with a while without a connection; nothing is lost by loading the page again.
        assert second.evaluate("document.documentElement.scrollWidth") <= 320
        small.set_offline(True)
        tap(second)
        second.wait_for_selector("#retry:not([hidden])")
        assert "1 answers are kept on this device" in second.inner_text("#state")
        tap(second)
        assert violations(second) == []
        small.set_offline(False)
        settled(second, 2)
        second.reload()
        second.wait_for_selector("#work:not([hidden])")
        settled(second, 2)
        second.tap("#skip")
        for page, count in ((second, tap), (first, press_keys)):
            for _ in range(20):
                # Either the next window is there, or the end, once the last answer is on disk.
                page.wait_for_selector("#work:not([hidden]), #notice:not([hidden])")
                if page.is_visible("#notice"):
                    break
                count(page)
            assert page.inner_text("#notice-text") == "There is nothing left to count. Thank you."
        assert violations(second) == []
        assert errors == []
        assert all(request.url.startswith(server.address) for request in requests)
        assert not any(token in request.url for request in requests for token in links_of(out))
        sent = next(request for request in reversed(requests) if request.method == "POST").all_headers()
        assert {"cookie", "referer"} & {name.lower() for name in sent} == set()
        second.goto(f"{server.address}")
        assert "you need a link" in second.inner_text("#notice-text")
        wide.close(), small.close()
        server.stop()
    code, out, _ = run("export", "study.toml", "--out", "regions.jsonl")
    assert code == 0
    assert re.search(r"annotators agree in (\d+) of \1 windows that several counted \(100%", out)
    release = RegionRelease.read("regions.jsonl")
    assert len(release.regions) == 12
    assert all(
        region.counts == right(SENTENCE.split()[region.start : region.start + region.width])
        for region in release.regions
    )
    # Each four words of this sentence in a row have one determiner and one noun: which is which nobody can learn.
    code, fitted, remarks = run("fit", "regions.jsonl", "--seed", 0, "--json")
    assert code == 0
    assert json.loads(fitted)["regions"] == 12
    assert "No window tells 'DT', 'NN'" in remarks  # nor any other, if all twelve happen to have one of each


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("tags", "tag"), "Did you mean 'tags'"),
        (('"text.txt"', '"nowhere.txt"'), "there is no file"),
        (('sentences = "text.txt"', ""), "has no sentences"),
        (("width = 4", "width = 0"), "1 or more tokens"),
        (("shared = 0.25", "shared = 7"), "0 to 1"),
        (("shared = 0.25", "times = 0"), "1 to 9"),
        (('NN = "noun"', 'XX = "noun"'), "unknown key 'XX'"),
        (("width = 4", 'windows = "windows.jsonl"'), "cannot be read"),
        (("width = 4", 'language = "xx"'), "lacks the words"),
    ],
)
def test_mistakes_in_a_task_are_named(run, task_file, monkeypatch, changed, said):
    monkeypatch.chdir(task_file.parent)
    task_file.write_text(TASK.replace(*changed), encoding="utf-8")
    code, _, err = run("invite", "study.toml", "--count", 1)
    assert code == 2
    assert said in err


def test_windows_may_be_chosen(run, task_file, monkeypatch):
    monkeypatch.chdir(task_file.parent)
    task_file.write_text(TASK.replace("width = 4", 'windows = "windows.jsonl"\nask = 2'), encoding="utf-8")
    lines = ['{"sentence": 3, "start": 6, "width": 2, "tags": ["VB"]}', "", '{"sentence": 0, "start": 0, "width": 8}']
    (task_file.parent / "windows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    annotation = Annotation.of(task_file, None, None)
    drawn = sorted((one.sentence, one.start, one.width, len(one.tags)) for one in annotation.task.drawn())
    assert drawn == [(0, 0, 8, 2), (3, 6, 2, 1)]
    for line, said in [
        ('{"sentence": 0, "start": 7, "width": 2}', "tokens 0 to 7"),
        ('{"sentence": 12, "start": 0, "width": 2}', "sentences 0 to 11"),
        ('{"sentence": 0, "start": 0, "width": 2, "tags": ["XX"]}', "some of"),
        ('{"sentence": 0, "start": 0, "width": 2, "counts": {"NN": 2}}', "no window"),
        ("[", "line 1"),
    ]:
        (task_file.parent / "windows.jsonl").write_text(line, encoding="utf-8")
        code, _, err = run("invite", "study.toml", "--count", 1)
        assert (code, said in err) == (2, True), (line, err)


def test_a_task_that_was_changed_is_not_mixed_with_what_was_counted(task_file, annotation):
    annotation.open_store().close()
    task_file.write_text(TASK.replace('"DT", ', '"DT", "JJ", '), encoding="utf-8")
    with pytest.raises(InvalidInput, match="another task"):
        Annotation.of(task_file, None, None).open_store()
    assert Keys.at(annotation.keys_path)[1] is False
    assert AnnotationStore
