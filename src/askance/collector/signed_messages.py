"""Messages between a learner and a label holder: each side shows that it has the key, and nobody sends it."""

import hashlib
import hmac
import json
import re
import secrets
from dataclasses import dataclass

from askance.errors import InvalidInput

SCHEME = "Askance"
ANSWER = "askance-signature"  # the header of an answer
_NAME = re.compile(r"[0-9a-f]{16}")
_SECRET = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, repr=False)
class LearnerKey:
    """A learner's name and secret: what stands behind # in the link that the label holder gave out.

    Examples
    --------
    >>> key = LearnerKey("0" * 16, "1" * 64)
    >>> signature = key.of_request("a1", "/counts", b"{}")
    >>> key.is_of_request(signature, "a1", "/counts", b"{}"), key.is_of_request(signature, "a2", "/counts", b"{}")
    (True, False)
    """

    name: str
    secret: str

    @classmethod
    def new(cls, master: bytes) -> "LearnerKey":
        """Make a key whose secret follows from its name and from what only the label holder knows."""
        return cls.derived(secrets.token_hex(8), master)

    @classmethod
    def derived(cls, name: str, master: bytes) -> "LearnerKey":
        """Return the key of a name."""
        return cls(name, hmac.digest(master, f"learner {name}".encode(), "sha256").hex())

    @classmethod
    def parse(cls, text: str) -> "LearnerKey":
        """Read the end of a link."""
        name, _, secret = text.partition(".")
        if not _NAME.fullmatch(name) or not _SECRET.fullmatch(secret):
            raise InvalidInput("a link without a key", "the whole link, as the label holder gave it")
        return cls(name, secret)

    def __str__(self) -> str:
        return f"{self.name}.{self.secret}"

    def of_request(self, request: str, path: str, body: bytes) -> str:
        """Sign a request."""
        return self._signed("request", request, path, body)

    def is_of_request(self, given: str, request: str, path: str, body: bytes) -> bool:
        """Whether a request was signed with this key; takes as long for any wrong one."""
        return hmac.compare_digest(given.encode(), self.of_request(request, path, body).encode())

    def of_answer(self, request: str, status: int, body: bytes) -> str:
        """Sign an answer to a request."""
        return self._signed("answer", request, str(status), body)

    def is_of_answer(self, given: str, request: str, status: int, body: bytes) -> bool:
        """Whether an answer to this request was signed with this key."""
        return hmac.compare_digest(given.encode(), self.of_answer(request, status, body).encode())

    def _signed(self, *parts: str | bytes) -> str:
        *words, body = parts
        whole = json.dumps([*map(str, words), hashlib.sha256(bytes(body)).hexdigest()])  # type: ignore[arg-type]
        return hmac.new(bytes.fromhex(self.secret), whole.encode(), hashlib.sha256).hexdigest()


def authorization(name: str, request: str, signature: str) -> str:
    """Return the header of a signed request."""
    return f"{SCHEME} {name}.{request}.{signature}"


def read_authorization(header: str) -> tuple[str, str, str] | None:
    """Return who asks, the request and its signature; None if the header is none of these."""
    found = re.fullmatch(rf"{SCHEME} ([0-9a-f]{{16}})\.([0-9a-f]{{32}})\.([0-9a-f]{{64}})", header)
    return None if found is None else (found[1], found[2], found[3])
