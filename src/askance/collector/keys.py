"""Secrets of a collection: the key that turns invitations into digests, and the one that opens the dashboard."""

import hashlib
import hmac
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from askance.errors import InvalidInput

FORMAT = "askance-collector-keys"
_TOKEN_BYTES = 16  # 128 random bits: nobody guesses one


def new_token() -> str:
    """Return a random invitation, of 22 letters that a link may hold."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


@dataclass(frozen=True, repr=False)
class Keys:
    """What only the people who run a study know."""

    invitations: bytes
    dashboard: str

    def digest(self, token: str) -> bytes:
        """Return what is kept of an invitation."""
        return hmac.new(self.invitations, token.encode(), hashlib.sha256).digest()

    def opens_dashboard(self, given: str) -> bool:
        """Whether this is the dashboard's key; takes as long for any wrong one."""
        return hmac.compare_digest(given.encode(), self.dashboard.encode())

    @classmethod
    def new(cls) -> "Keys":
        """Return keys that nobody has had before."""
        return cls(secrets.token_bytes(32), secrets.token_urlsafe(24))

    @classmethod
    def beside(cls, file: Path, given: Path | None) -> "tuple[Keys, Path, bool]":
        """Return the keys of a study or task file, where they are, and whether they were made just now."""
        path = given or file.with_name(f"{file.stem}.keys.json")
        keys, new = cls.at(path)
        return keys, path, new

    @classmethod
    def at(cls, path: Path) -> "tuple[Keys, bool]":
        """Read the keys in a file, or make them and say so. Only its owner can read the file."""
        keys = cls.new()
        text = json.dumps({"format": FORMAT, "invitations": keys.invitations.hex(), "dashboard": keys.dashboard})
        # Written under another name first: whoever finds the file finds it whole.
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.link(temporary, path)
        except FileExistsError:
            return cls._read(path), False
        except FileNotFoundError:
            raise InvalidInput(f"keys in {path}", "a folder that is there") from None
        finally:
            temporary.unlink(missing_ok=True)
        return keys, True

    @classmethod
    def _read(cls, path: Path) -> "Keys":
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            keys = cls(bytes.fromhex(said["invitations"]), str(said["dashboard"]))
            whole = said["format"] == FORMAT and len(keys.invitations) == 32 and len(keys.dashboard) >= 16
        except (ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            raise InvalidInput(f"{path} does not hold the keys of a collection", f"a file that begins {FORMAT}")
        return keys
