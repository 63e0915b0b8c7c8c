"""The addresses of the server: what is taken, what is refused, and that nothing about anybody is said or kept."""

import json
import random
import sqlite3
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from askance.collector.app import Collector
from askance.collector.keys import Keys, new_token
from askance.collector.questionnaire import Questionnaire
from askance.collector.store import Outcome, Submission
from askance.collector.stores import store_at
from askance.collector.web import LARGEST_BODY
from collector_study import PLAIN, questionnaire, response


@pytest.fixture
def keys():
    return Keys.new()


@pytest.fixture
def tokens(keys):
    return [new_token() for _ in range(3)]


@pytest.fixture
def client(tmp_path, keys, tokens, request):
    text = getattr(request, "param", None)
    asked = questionnaire() if text is None else questionnaire(text)
    open_store = lambda: store_at(str(tmp_path / "r.sqlite")).open_for(asked.digest)  # noqa: E731
    if asked.settings.access == "invited":
        store = open_store()
        store.invite(map(keys.digest, tokens), None)
        store.disconnect()
    collector = Collector(asked, open_store, keys, a_minute=5)
    with TestClient(collector.app(), raise_server_exceptions=False) as started:
        started.asked = asked
        started.path = tmp_path / "r.sqlite"
        yield started


def post(client, body):
    return client.post("/reports", json=body)


def test_a_response_is_stored_once(client, tokens):
    body = response(client.asked, tokens[0], cheated=1)
    assert (post(client, body).status_code, post(client, body).status_code) == (201, 200)
    other = post(client, response(client.asked, tokens[0], cheated=0))
    assert (other.status_code, other.json()) == (200, {"outcome": "spent"})
    forged = post(client, response(client.asked, new_token()))
    assert (forged.status_code, forged.json()["outcome"]) == (409, "unknown")
    with sqlite3.connect(client.path) as database:
        assert database.execute("SELECT cell FROM reports").fetchall() == [("[1,0,30.0,null]",)]


def test_every_answer_has_the_strict_headers(client):
    for path in ("/", "/static/respondent.mjs", "/health", "/dashboard", "/nowhere", "/reports"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert headers["referrer-policy"] == "no-referrer"
        assert "set-cookie" not in headers
        assert "server" not in headers


def test_the_page_has_no_script_or_style_inside(client):
    html = client.get("/").text
    assert "<style" not in html
    assert " style=" not in html
    assert " onclick" not in html
    assert html.count("<script") == html.count('type="application/json"') + html.count('type="module"') == 3


@pytest.mark.parametrize(
    ("asked_for", "language"), [("de-AT,de;q=0.9", "de"), ("fr, en;q=0.5", "en"), ("", "en"), (";;,=;q=x", "en")]
)
def test_the_language_is_the_one_that_the_browser_likes(client, asked_for, language):
    assert f'<html lang="{language}"' in client.get("/", headers={"accept-language": asked_for}).text
    assert '<html lang="de"' in client.get("/?lang=de", headers={"accept-language": asked_for}).text


def changed(body, **entries):
    return body | entries


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        (lambda body: changed(body, reports={"cheated": 2, "drugs": 0}), 422),
        (lambda body: changed(body, reports={"cheated": True, "drugs": 0}), 422),
        (lambda body: changed(body, reports={"cheated": "1", "drugs": 0}), 422),
        (lambda body: changed(body, reports={"cheated": 1}), 422),
        (lambda body: changed(body, reports={"cheated": 1, "drugs": 0, "more": 1}), 422),
        (lambda body: changed(body, covariates={"age": None, "school": None}), 422),
        (lambda body: changed(body, covariates={"age": "31", "school": None}), 422),
        (lambda body: changed(body, covariates={"age": 10**400, "school": None}), 422),
        (lambda body: changed(body, covariates={"age": 31, "school": 2}), 422),
        (lambda body: changed(body, designs={"group": 0}), 422),
        (lambda body: changed(body, study="0" * 32), 422),
        (lambda body: changed(body, truth="yes"), 422),
        (lambda body: {k: v for k, v in body.items() if k != "token"}, 422),
        (lambda body: changed(body, token=7), 409),
        (lambda body: changed(body, token="x" * 10_000), 409),
        (lambda body: changed(body, token="ключ" * 6), 409),
        (lambda body: [body], 422),
    ],
)
def test_what_the_page_cannot_have_sent_is_refused_without_repeating_it(client, tokens, spoil, status):
    answer = post(client, spoil(response(client.asked, tokens[0])))
    assert answer.status_code == status
    assert tokens[0] not in answer.text
    assert set(answer.json()) <= {"error", "outcome"}
    assert sqlite3.connect(client.path).execute("SELECT count(*) FROM reports").fetchone() == (0,)


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"[" * 20_000, "application/json", 400),
        (b"1" * 20_000, "application/json", 400),
        (b" " * (LARGEST_BODY + 1), "application/json", 413),
        (b"{}", "text/plain", 415),
        (b"a=b", "application/x-www-form-urlencoded", 415),
    ],
)
def test_bodies_that_are_none_are_refused(client, content, kind, status):
    answer = client.post("/reports", content=content, headers={"content-type": kind})
    assert answer.status_code == status
    assert answer.json()["error"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_body_brings_the_server_down(client, tokens, data):
    body = response(client.asked, tokens[0])
    key = data.draw(st.sampled_from([*body, "all"]))
    sent = data.draw(JSON) if key == "all" else body | {key: data.draw(JSON)}
    answer = client.post(
        "/reports", content=json.dumps(sent).encode("utf-8"), headers={"content-type": "application/json"}
    )
    assert answer.status_code in (200, 201, 400, 409, 422)
    assert "Traceback" not in answer.text


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]),
    st.sampled_from(["/", "/static/", "/static/../keys", "/reports", "/health", "/dashboard", "/dashboard/figures"]),
    st.text(string.printable, max_size=12),
    st.binary(max_size=60),
)
def test_no_request_brings_the_server_down(client, method, path, tail, body):
    from urllib.parse import quote

    answer = client.request(method, path + quote(tail, safe=""), content=body)
    assert answer.status_code < 500
    assert answer.status_code in (200, 307, 401, 404, 405, 409, 415)


@pytest.mark.parametrize(
    "client", [PLAIN.replace("[questions", '[page]\naccess = "open"\n[questions', 1)], indirect=True
)
def test_an_open_study_takes_strangers_up_to_a_rate(client):
    codes = [post(client, response(client.asked, new_token())).status_code for _ in range(7)]
    assert codes == [201] * 5 + [429] * 2


def test_a_defect_says_nothing_of_what_was_sent(client, tokens, monkeypatch, capsys):
    def broken(self, body):
        raise ValueError(f"a defect with {body}")

    monkeypatch.setattr(Questionnaire, "cell", broken)
    answer = post(client, response(client.asked, tokens[0]))
    assert answer.status_code == 500
    said = answer.text + "".join(capsys.readouterr())
    assert tokens[0] not in said
    assert "ValueError at test_server.py" in said


def test_nothing_about_the_respondent_is_in_the_database(client, tokens, tmp_path):
    headers = {"user-agent": "TellTale/1.0", "x-forwarded-for": "203.0.113.77", "cookie": "me=1"}
    client.post("/reports", json=response(client.asked, tokens[0]), headers=headers)
    everything = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(trace in everything for trace in (b"TellTale", b"203.0.113", tokens[0].encode(), b"testclient"))


# -- the dashboard ---------------------------------------------------------------------------------------------------


def bearer(keys):
    return {"authorization": f"Bearer {keys.dashboard}"}


@pytest.mark.parametrize("path", ["figures", "release", "close", "delete"])
@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Basic eDp5"}])
def test_the_dashboard_opens_with_its_key_only(client, path, headers):
    method = "GET" if path in ("figures", "release") else "POST"
    assert client.request(method, f"/dashboard/{path}", headers=headers).status_code == 401


def test_few_responses_are_not_estimated(client, keys, tokens):
    post(client, response(client.asked, tokens[0]))
    figures = client.get("/dashboard/figures", headers=bearer(keys)).json()
    assert figures["suppressed"]
    assert figures["responses"] == "fewer than 20"
    assert figures["questions"] == figures["regressions"] == figures["days"] == []


def fill(client, keys, count, seed=1):
    """Responses of people whose age tells something about them."""
    rng = random.Random(seed)
    tokens = [new_token() for _ in range(count)]
    store = store_at(str(client.path)).open_for(client.asked.digest)
    store.invite(map(keys.digest, tokens), None)
    batch = []
    for token in tokens:
        age = rng.choice([20, 30, 40, 50])
        body = response(client.asked, token, cheated=int(rng.random() < age / 70), drugs=rng.randrange(3))
        body["covariates"] = {"age": age, "school": rng.choice([0, 1, None])}
        batch.append(Submission(keys.digest(token), client.asked.cell(body)))
    assert store.take(batch) == [Outcome.STORED] * count
    store.disconnect()


def test_the_dashboard_s_estimates_are_those_of_the_release(client, keys, tmp_path):
    from askance import IndirectClassifier, Prevalence, read_release

    fill(client, keys, 400)
    figures = client.get("/dashboard/figures", headers=bearer(keys)).json()
    assert figures["responses"] == 400
    assert figures["whole"]
    assert "more responses are needed" in figures["questions"][0]["plan"]
    refused = client.get("/dashboard/release", headers=bearer(keys))
    assert (refused.status_code, "still takes responses" in refused.json()["error"]) == (409, True)
    assert client.post("/dashboard/close", headers=bearer(keys), json={"confirm": "no"}).status_code == 400
    assert client.post("/dashboard/close", headers=bearer(keys), json={"confirm": "close"}).status_code == 200
    assert client.get("/dashboard/figures", headers=bearer(keys)).json()["closed"]
    path = tmp_path / "downloaded.parquet"
    path.write_bytes(client.get("/dashboard/release", headers=bearer(keys)).content)
    release = read_release(path)
    assert release.num_rows == 400
    shares = Prevalence().fit_release(release, question="cheated").summary().to_dict()["estimates"]
    line = IndirectClassifier().fit_release(release, question="cheated", formula="cheated ~ age").summary().to_dict()
    for mine, theirs in (
        (figures["questions"][0]["estimates"], shares),
        (figures["regressions"][0]["estimates"], line["estimates"]),
    ):
        assert list(mine) == list(theirs)
        for name, row in theirs.items():
            for number, value in row.items():
                if value is not None:  # from 60 cells or from 400 rows: sums in another order
                    assert mine[name][number] == pytest.approx(value, rel=1e-13), (name, number)
    assert client.post("/dashboard/delete", headers=bearer(keys), json={"confirm": "delete"}).status_code == 200
    assert sqlite3.connect(client.path).execute("SELECT count(*) FROM tallies").fetchone() == (0,)
