"""A server that is killed again and again while many people answer: what it acknowledged must be stored."""

import http.client
import json
import random
import threading
import time

from askance.collector import Collection
from collector_study import PLAIN, ServerProcess, questionnaire, response
from waiting import PATIENCE, wait_until


class People:
    """Threads that send a response for each token until it is acknowledged."""

    def __init__(self, asked, tokens, server, threads=8):
        self.asked = asked
        self.server = server
        self.left = list(tokens)
        self.acknowledged = set()
        self.attempts = 0
        self.lock = threading.Lock()
        self.end = False
        self.threads = [threading.Thread(target=self._answer, daemon=True) for _ in range(threads)]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def join(self):
        for thread in self.threads:
            thread.join()

    def _answer(self):
        while not self.end:
            with self.lock:
                if not self.left:
                    return
                token = self.left.pop()
            status = send(self.server.port, response(self.asked, token, cheated=random.randrange(2)))
            with self.lock:
                self.attempts += 1
                if status in (200, 201):
                    self.acknowledged.add(token)
                else:
                    self.left.insert(0, token)
            if status == 0:
                time.sleep(0.02)


def send(port, body):
    """The status of the answer; 0 where there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("POST", "/reports", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def survives_killing(folder, place, times, *, program=None, before_each=lambda: None, tokens=4000, seed=7):
    """Kill the server so often; return what was acknowledged and is not stored, and the standing at each time."""
    folder.joinpath("study.toml").write_text(PLAIN, encoding="utf-8")
    collection = Collection.of(folder / "study.toml", place, None)
    given = collection.invite(tokens, None)
    asked = questionnaire(PLAIN)
    rng = random.Random(seed)
    server = ServerProcess(folder, "--store", place, program=program)
    people = People(asked, given, server)
    lost, standings = set(), []
    try:
        for number in range(times):
            server.start()
            if number == 0:
                people.start()
            began = len(people.acknowledged)
            # Somewhere in the middle: some have been acknowledged, many are on their way.
            deadline = time.monotonic() + PATIENCE
            while len(people.acknowledged) < began + 20 and people.left and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(rng.random() * 0.1)
            server.kill()
            # What was said before is still on its way: everybody has heard it when all have tried again, in vain.
            heard = people.attempts + 2 * len(people.threads)
            wait_until(lambda heard=heard: people.attempts >= heard or not people.left, "people who try again")
            acknowledged = set(people.acknowledged)
            before_each()
            lost |= not_stored(collection, acknowledged)
            standings.append(standing(collection))
    finally:
        people.end = True
        if server.process.poll() is None:
            server.kill()
        people.join()
    return lost, standings, len(people.acknowledged)


def not_stored(collection, tokens):
    """Tokens whose invitations are not spent."""
    store = collection.open_store()
    try:
        digests = {collection.keys.digest(token): token for token in tokens}
        store.begin()
        spent = store.unspendable(list(digests), 0) if digests else {}
        store.rollback()
        return {token for digest, token in digests.items() if digest not in spent or spent[digest].value != "spent"}
    finally:
        store.disconnect()


def standing(collection):
    store = collection.open_store()
    try:
        return store.standing()
    finally:
        store.disconnect()
