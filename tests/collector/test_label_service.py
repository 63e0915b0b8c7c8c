"""A label holder's service over HTTP: what is released is paid for first, and nothing else says anything of a label."""

import json
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from askance import BudgetSpent, Ledger, read_release
from askance.collector.keys import Keys
from askance.collector.label_app import LARGEST_REQUEST, LabelApp
from askance.collector.label_client import LabelProvider
from askance.collector.label_holder import LabelHolder
from askance.collector.label_requests import LabelRequests
from askance.collector.label_serving import LabelService
from askance.collector.signed_messages import ANSWER, LearnerKey, authorization
from askance.errors import InvalidInput, ReleaseError
from collector_study import ServerProcess
from waiting import wait_until

PEOPLE = 400
TASK = """
[labels]
file = "ill.csv"
id = "person"
label = "ill"
classes = ["no", "yes"]
ledger = "ill.ledger"
largest_epsilon = 2
"""
IDS = [f"P{number:03}" for number in range(PEOPLE)]


def labels(seed):
    """Labels that the ages tell well, with some noise."""
    return np.where(ages() + np.random.default_rng(seed).normal(size=PEOPLE) > 0, "yes", "no").tolist()


def ages():
    return np.random.default_rng(8).normal(size=PEOPLE).round(3)


def write(folder, values, epsilon=100, ids=IDS):
    rows = "".join(f"{person},{ill}\n" for person, ill in zip(ids, values, strict=True))
    (folder / "ill.csv").write_text(f"person,ill\n{rows}", encoding="utf-8")
    (folder / "study.toml").write_text(TASK, encoding="utf-8")
    if not (folder / "ill.ledger").exists():
        Ledger.create(folder / "ill.ledger", epsilon, "1e-4", data_set="diagnoses")
    return folder / "study.toml"


def request(**changes):
    asked = {
        "ids": IDS, "columns": ["age"], "features": [ages().tolist()], "epsilon": "1", "delta": "0",
        "mechanism": "auto", "intercept": True, "shape": "auto", "anyway": False,
    }  # fmt: skip
    return asked | changes


def counts_request(**changes):
    bags = [f"ward {number % 4}" for number in range(PEOPLE)]
    return {"ids": IDS, "bags": bags, "epsilon": "1", "delta": "0", "mechanism": "auto"} | changes


class Service:
    """The application in this process, and the key of a learner."""

    def __init__(self, task, client, key, log):
        self.task, self.client, self.key, self.log = task, client, key, log

    def ask(self, body, path="/mean-operator", number=None, key=None, **spoilt):
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        number, key = number or secrets.token_hex(16), key or self.key
        signature = spoilt.get("signature") or key.of_request(number, spoilt.get("signed", path), sent)
        headers = {"authorization": authorization(key.name, number, signature), "content-type": "application/json"}
        answer = self.client.post(path, content=spoilt.get("sent", sent), headers=headers)
        assert "Traceback" not in answer.text
        if answer.status_code != 401 and ANSWER in answer.headers:
            assert key.is_of_answer(answer.headers[ANSWER], number, answer.status_code, answer.content)
        return answer

    @property
    def spent(self):
        return len(Ledger(self.task.parent / "ill.ledger").entries)


def served(folder, values, epsilon=100):
    task = write(folder, values, epsilon)
    service, log = LabelService.of(task, None, None), []
    key = LearnerKey.parse(service.invite(1)[0])
    app = LabelApp(LabelHolder.read(task, log.append), LabelRequests(service.place), service.keys).app()
    return Service(task, TestClient(app, raise_server_exceptions=False), key, log)


@pytest.fixture
def service(tmp_path):
    found = served(tmp_path, labels(1))
    with found.client:
        yield found


# -- what is released ------------------------------------------------------------------------------------------------


def test_a_release_is_paid_for_and_says_what_the_command_line_s_would(service):
    answer = service.ask(request())
    assert answer.status_code == 201
    told = answer.json()
    assert (told["format"], told["rows"], told["columns"]) == ("askance-mean-operator", PEOPLE, ["age"])
    entries = Ledger(service.task.parent / "ill.ledger").entries
    assert [(entry.epsilon, entry.release, entry.people) for entry in entries] == [("1", told["digest"], PEOPLE)]
    counted = service.ask(counts_request(), "/counts")
    assert counted.status_code == 201
    assert counted.json()["totals"] == [100] * 4
    assert service.ask(counts_request(bags=None), "/counts").json()["totals"] == [PEOPLE]
    assert service.spent == 3


def test_the_same_request_is_the_same_release_and_is_paid_for_once(service):
    number = secrets.token_hex(16)
    first, again = service.ask(request(), number=number), service.ask(request(), number=number)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.content == again.content
    assert service.spent == 1
    other = service.ask(request(epsilon="0.5"), number=number)
    assert (other.status_code, "another content" in other.json()["error"]) == (409, True)
    assert service.spent == 1


def test_rows_may_come_in_any_order(service, tmp_path):
    order = np.random.default_rng(3).permutation(PEOPLE)
    body = request(ids=[IDS[place] for place in order], features=[ages()[order].tolist()], mechanism="gaussian")
    told = service.ask(body | {"delta": "1e-6", "epsilon": "2"}).json()
    (tmp_path / "mu.json").write_text(json.dumps(told), encoding="utf-8")
    release = read_release(tmp_path / "mu.json")
    release.check_features(IDS, ["age"], ages()[:, None])
    true = np.where(np.array(labels(1)) == "yes", 1, -1).mean()
    # The mean label, with normal noise of a standard deviation that the release says: six of them in 1e9 runs.
    assert abs(release.operator.values[0] - true) < 6 * release.operator.noise_variance[0] ** 0.5


# -- refusals --------------------------------------------------------------------------------------------------------

REFUSED = [
    (request(epsilon="0"), "positive"),
    (request(epsilon="3"), "at most epsilon 2"),
    (request(epsilon=1), "text"),
    (request(delta="1"), "delta"),
    (request(mechanism="none"), "one of"),
    (request(mechanism="gaussian"), "delta"),
    (request(columns=["ill"]), "'ill'"),
    (request(columns=["age", "age"], features=[ages().tolist()] * 2), "differ"),
    (request(features=[ages().tolist()[1:]]), "another size"),
    (request(features=[["1"] * PEOPLE]), "no number"),
    (request(features=[[True] * PEOPLE]), "no number"),
    (request(features=[[10**400] * PEOPLE]), "too large"),
    (request(features=[[0.0] * PEOPLE], intercept=False), "zero"),
    (request(ids=[*IDS[:-1], "P999"]), "not those of the labels"),
    (request(ids=IDS[:-1], features=[ages().tolist()[:-1]]), "not those of the labels"),
    (request(ids=[*IDS[:-1], "P000"]), "more than once"),
    (request(ids=[*IDS[:-1], ""]), "texts of 1"),
    (request(epsilon="0.0001"), "near guessing"),
    (request(anyway="yes"), "true or false"),
    (request(columns=["\ud800"]), "no texts"),
    (request(ids=[*IDS[:-1], "\ud800"]), "no texts"),
    (request(mechanism="\ud800"), "no text"),
    (request(columns=[f"x{j}" for j in range(1001)]), "1,001 columns"),
    ({}, "other entries"),
    ([], "other entries"),
]
REFUSED_COUNTS = [
    (counts_request(bags=["a"]), "1 bags for 400 people"),
    (counts_request(bags=[7] * PEOPLE), "texts"),
    (counts_request(mechanism="scaled-dirichlet-paper"), "one of"),
    (counts_request(epsilon="1e-9"), "epsilon"),
    (counts_request(ids=[*IDS[:-1], "P999"]), "not those of the labels"),
]


def test_what_is_refused_spends_nothing(service):
    for path, cases in (("/mean-operator", REFUSED), ("/counts", REFUSED_COUNTS)):
        for body, said in cases:
            answer = service.ask(body, path)
            assert answer.status_code == 422, answer.text
            assert said in answer.json()["error"], answer.json()
    assert service.spent == 0
    assert any("1 without a label, 1 left out" in line for line in service.log)  # the operator is told who differs


def test_no_refusal_depends_on_a_label(tmp_path):
    """Two services whose labels differ in every person give the same answers to all that they refuse.

    Among it features that are the labels of one of them: to say that they tell the labels would tell the labels.
    """
    answers = []
    telling = [float(value == "yes") for value in labels(1)]
    for name, values in (("one", labels(1)), ("other", ["yes" if value == "no" else "no" for value in labels(2)])):
        (tmp_path / name).mkdir()
        found = served(tmp_path / name, values, epsilon=2)
        with found.client:
            said = [found.ask(body).json()["error"] for body, _ in REFUSED]
            said += [found.ask(body, "/counts").json()["error"] for body, _ in REFUSED_COUNTS]
            told = found.ask(request(columns=["guess"], features=[telling], mechanism="laplace"))
            said += [told.status_code, sorted(told.json()), told.json()["predicted"], told.json()["norms"]]
            bags = ["a" if value else "b" for value in telling]
            told = found.ask(counts_request(bags=bags), "/counts")
            said += [told.status_code, told.json()["totals"], told.json()["predicted"]]
            over = found.ask(request(epsilon="0.5"))
            said += [over.status_code, over.json()["error"]]
        answers.append(said)
    assert answers[0] == answers[1]
    assert answers[0][-2] == 403
    assert "left" in answers[0][-1]


def test_identifiers_that_tell_labels_are_refused_to_the_operator(tmp_path):
    values = labels(1)
    task = write(tmp_path, values, ids=[f"{person}-{ill}" for person, ill in zip(IDS, values, strict=True)])
    with pytest.raises(InvalidInput, match="identifiers that tell"):
        LabelHolder.read(task, print)


def test_a_failure_with_labels_at_hand_is_told_to_the_operator_only(service, monkeypatch):
    def broken(*given, **options):
        raise InvalidInput("the label of P007 is yes")

    monkeypatch.setattr("askance.collector.label_holder.release_mean_operator", broken)
    answer = service.ask(request())
    assert answer.status_code == 500
    assert "P007" not in answer.text
    assert any("P007" in line for line in service.log)


# -- keys ------------------------------------------------------------------------------------------------------------


def test_only_who_has_the_key_is_answered(service):
    stranger = LearnerKey.new(Keys.new().invitations)
    assert service.ask(request(), key=stranger).status_code == 401
    assert service.ask(request(), key=LearnerKey(service.key.name, stranger.secret)).status_code == 401
    assert service.ask(request(), signature="0" * 64).status_code == 401
    assert service.ask(request(), signed="/counts").status_code == 401
    forged = json.dumps(request(epsilon="2")).encode()
    assert service.ask(request(), sent=forged).status_code == 401
    for header in ("", "Bearer x", f"Askance {service.key}", "Askance a.b.c"):
        answer = service.client.post("/mean-operator", json=request(), headers={"authorization": header})
        assert answer.status_code == 401
    assert service.spent == 0
    assert service.client.get("/health").status_code == 200
    kept = b"".join(path.read_bytes() for path in service.task.parent.glob("study.requests*"))
    assert service.key.secret.encode() not in kept


def test_bodies_that_are_none_are_refused(service):
    assert service.ask(b"{").status_code == 400
    assert service.ask(b"[" * 100_000).status_code == 400
    assert service.ask(b" " * (LARGEST_REQUEST + 1)).status_code == 413
    signature = service.key.of_request("0" * 32, "/counts", b"a=b")
    headers = {"authorization": authorization(service.key.name, "0" * 32, signature)}
    assert service.client.post("/counts", content=b"a=b", headers=headers).status_code == 415
    assert service.spent == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["/mean-operator", "/counts"]), st.data())
def test_no_signed_body_brings_the_service_down(service, path, data):
    good = request() if path == "/mean-operator" else counts_request()
    key = data.draw(st.sampled_from([*good, "all"]))
    value = data.draw(JSON)
    answer = service.ask(value if key == "all" else good | {key: value}, path)
    assert answer.status_code in (201, 400, 403, 422), answer.text


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])
def test_no_request_of_a_stranger_brings_the_service_down(service, method):
    for path in ("/", "/mean-operator", "/counts", "/counts/", "/health", "/static/../keys", "/%00", "//"):
        for header in ("", "Askance " + "0" * 16 + "." + "0" * 32 + "." + "0" * 64, "Askance \xff"):
            answer = service.client.request(
                method, path, content=b"\0{", headers={"authorization": header.encode("latin-1")}
            )
            assert answer.status_code in (200, 401, 404, 405), (path, answer.text)
    assert service.spent == 0


# -- over HTTP, in a process of its own --------------------------------------------------------------------------------


def link_of(task, server):
    return f"{server.address}#{LabelService.of(task, None, None).invite(1)[0]}"


def price(number):
    return f"0.{501 + 10 * number}"


def test_concurrent_requests_overspend_nothing_and_a_kill_never_undercharges(tmp_path):
    task = write(tmp_path, labels(1), epsilon=4)
    server = ServerProcess(tmp_path)
    links = []
    received, refused, begun, lock = {}, [], [], threading.Lock()

    def ask(number):
        """One learner's request; a server that is gone is asked again, with the same request."""
        provider = LabelProvider(links[number % 2])
        while True:
            try:
                told = provider.ask("mean-operator", request(epsilon=price(number)))
            except BudgetSpent as error:
                with lock:
                    refused.append(str(error))
                return
            except InvalidInput as error:  # it was begun when the server was killed, and has no release
                with lock:
                    begun.append(str(error))
                return
            except ReleaseError:
                continue
            with lock:
                received[number] = told
            return

    with server:
        links += [link_of(task, server) for _ in range(2)]
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(ask, number) for number in range(12)]
            wait_until(lambda: len(received) >= 2, "releases")
            server.kill()
            server.start()
            for one in asked:
                one.result()
        server.stop()
    assert "Traceback" not in server.said
    entries = {entry.release: entry for entry in Ledger(tmp_path / "ill.ledger").entries}
    spent = Ledger(tmp_path / "ill.ledger").spent.epsilon
    assert spent <= 4
    assert all("begun before" in said for said in begun)
    assert refused  # twelve of more than a half are more than four
    # Every release that anybody got was paid for, at its own price.
    for number, told in received.items():
        assert entries[told["digest"]].epsilon == price(number)
    assert len({told["digest"] for told in received.values()}) == len(received) >= 2


def test_a_learner_from_request_to_model_by_command_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = write(tmp_path, labels(1), epsilon=3)
    rows = "".join(
        f"{person},{age},ward {place % 4}\n" for place, (person, age) in enumerate(zip(IDS, ages(), strict=True))
    )
    (tmp_path / "people.csv").write_text(f"person,age,ward\n{rows}", encoding="utf-8")
    with ServerProcess(tmp_path) as server:
        code, link, _ = run("invite", "study.toml", "--count", 1, "--address", server.address)
        assert code == 0
        (tmp_path / "hospital.link").write_text(link, encoding="utf-8")
        asking = ["request", "mean-operator", "hospital.link", "--features", "people.csv", "--id", "person"]
        asking += ["--columns", "age", "--epsilon", "2"]
        code, out, err = run(*asking, "--out", "mu.json")
        assert (code, err) == (0, "")
        assert "mean operator of 400 labels" in out
        first = (tmp_path / "mu.json").read_bytes()
        assert run(*asking, "--out", "mu.json", "--overwrite")[0] == 0
        assert (tmp_path / "mu.json").read_bytes() == first
        code, _, err = run(*asking, "--out", "other.json", "--again")
        assert (code, "the ledger of 'diagnoses' has epsilon 1, delta 0.0001 left" in err) == (2, True), err
        code, out, _ = run(
            "request", "counts", "hospital.link", "--data", "people.csv", "--id", "person", "--bag", "ward",
            "--epsilon", 1, "--out", "counts.json",
        )  # fmt: skip
        assert (code, "counts of 400 labels" in out) == (0, True)
        (tmp_path / "wrong.link").write_text(link[:-2] + ("1" if link[-2] == "0" else "0"), encoding="utf-8")
        asking[2] = "wrong.link"
        assert "is not accepted" in run(*asking, "--out", "no.json")[2]
        (tmp_path / "wrong.link").write_text(server.address, encoding="utf-8")
        assert "the whole link" in run(*asking, "--out", "no.json")[2]
        server.stop()
    assert "Traceback" not in server.said
    code, out, err = run("fit", "mu.json", "--features", "people.csv", "--id", "person", "--json")
    assert code == 0
    assert run("verify", "mu.json")[0] == 0
    assert len(Ledger(task.parent / "ill.ledger").entries) == 2


def test_an_answer_that_is_not_signed_is_not_believed(tmp_path, serving):
    """Somebody between the two, who has no key, answers in place of the label holder."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def lie(request):
        return JSONResponse({"format": "askance-mean-operator"}, 201)

    address = serving(Starlette(routes=[Route("/mean-operator", lie, methods=["POST"])]))
    key = LearnerKey.new(b"0" * 32)
    with pytest.raises(ReleaseError, match="did not sign"):
        LabelProvider(f"{address}#{key}").ask("mean-operator", request())


def test_a_request_that_was_begun_and_never_finished_is_not_begun_again(tmp_path):
    task = write(tmp_path, labels(1))
    service = LabelService.of(task, None, None)
    requests = LabelRequests(service.place)

    def dies():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        requests.answered("a", "1", b"{}", dies)
    with pytest.raises(InvalidInput, match="may have been paid for"):
        requests.answered("a", "1", b"{}", dies)
    requests.close()
