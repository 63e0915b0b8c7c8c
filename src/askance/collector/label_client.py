"""The learner's side: asks a label holder for a release, and believes only an answer that is signed."""

import hashlib
import http.client
import json
import secrets
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from askance.collector.signed_messages import ANSWER, LearnerKey, authorization
from askance.errors import AskanceError, BudgetSpent, InvalidInput, ReleaseError

_SECONDS = 600.0  # until an answer is given up: shaping a million rows takes a minute
_TRIES = 4  # the same request is paid for once, however often it is sent
_LARGEST_ANSWER = 1 << 27  # bytes
_LINK = "the link that the label holder gave out: http://HOST/#KEY"


class LabelProvider:
    """Where releases about somebody else's labels can be asked for.

    Parameters
    ----------
    link : str
        ``http://HOST/#KEY``, as ``askance invite`` printed it.
    """

    def __init__(self, link: str) -> None:
        parts = urlsplit(link.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise InvalidInput("a link that is none", _LINK)
        self.place: SplitResult = parts
        self.key = LearnerKey.parse(parts.fragment)

    @classmethod
    def read(cls, path: Path) -> "LabelProvider":
        """Read the link in a file: on a command line, everybody on the machine could see it."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{path} cannot be read ({type(error).__name__})", f"a file with {_LINK}") from None
        return cls(text)

    def ask(self, what: str, body: Mapping[str, Any], *, again: bool = False) -> dict[str, Any]:
        """Send a request until it is answered, and return the release.

        Parameters
        ----------
        what : {"mean-operator", "counts"}
        body : mapping
        again : bool
            Whether to draw anew what was asked for before, and to pay for it. Otherwise the same request is the same
            release, and costs nothing more.
        """
        path = f"{self.place.path.rstrip('/')}/{what}"
        sent = json.dumps(body, allow_nan=False, ensure_ascii=False, sort_keys=True).encode()
        salt = secrets.token_bytes(16) if again else b""
        request = hashlib.sha256(what.encode() + sent + salt).hexdigest()[:32]
        headers = {
            "Content-Type": "application/json",
            # A proxy may put the service below another path, which the service does not know.
            "Authorization": authorization(self.key.name, request, self.key.of_request(request, f"/{what}", sent)),
        }
        for number in range(_TRIES):
            try:
                status, signature, answer = self._post(path, sent, headers)
            except (OSError, http.client.HTTPException) as error:
                failure = f"{self.place.scheme}://{self.place.netloc} does not answer ({type(error).__name__})"
            else:
                if status != 503:
                    return self._read(request, status, signature, answer)
                failure = f"{self.place.scheme}://{self.place.netloc} cannot answer now"
            if number + 1 < _TRIES:
                time.sleep(0.5 * 2**number)
        raise ReleaseError(failure, remedy="Ask again: the same request is paid for once.")

    def _post(self, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        host, port = self.place.hostname or "", self.place.port
        connection: http.client.HTTPConnection
        if self.place.scheme == "https":
            secure = ssl.create_default_context()
            connection = http.client.HTTPSConnection(host, port, timeout=_SECONDS, context=secure)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)
        try:
            connection.request("POST", path, body, dict(headers))
            answer = connection.getresponse()
            content = answer.read(_LARGEST_ANSWER + 1)
            return answer.status, answer.headers.get(ANSWER, ""), content
        finally:
            connection.close()

    def _read(self, request: str, status: int, signature: str, answer: bytes) -> dict[str, Any]:
        if status == 401:
            raise InvalidInput(f"the key of {self.place.netloc} is not accepted", "the link as it was given out")
        if not self.key.is_of_answer(signature, request, status, answer):
            # A proxy that refuses a large body, or somebody in between.
            raise ReleaseError(f"an answer ({status}) that the label holder did not sign", "a signed one")
        try:
            said = json.loads(answer)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise ReleaseError("an answer that is no JSON object", "a release")
        if status in (200, 201):
            return said
        kinds: dict[int, type[AskanceError]] = {403: BudgetSpent, 422: InvalidInput, 409: InvalidInput}
        raise kinds.get(status, ReleaseError)(f"the label holder says: {said.get('error', status)}")
