"""Who vouches for a release: an Ed25519 signature of its digest, in a file beside it.

Keys are PEM files, as OpenSSL makes them:

    openssl genpkey -algorithm ed25519 -out key.pem
    openssl pkey -in key.pem -pubout -out public.pem
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from askance.errors import InvalidInput, ReleaseError
from askance.files.kinds import FileKind
from askance.files.location import Location, StrPath
from askance.files.targets import refuse_another_kind, write_text
from askance.releases.json_release import read_json_object

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

FORMAT = "askance-signature"
VERSION = 1  # of the format of signatures
IN_FOLDER = "_signature.json"
_KIND = FileKind.of_format(FORMAT)
_RECIPE = "Make one: openssl genpkey -algorithm ed25519 -out key.pem; openssl pkey -in key.pem -pubout -out public.pem"


@dataclass(frozen=True)
class Signature:
    """What a file of a signature says.

    Parameters
    ----------
    digest : str
        Of the release that was signed.
    public_key : bytes
        Of the key that signed it.
    signature : bytes
    """

    digest: str
    public_key: bytes
    signature: bytes

    @property
    def fingerprint(self) -> str:
        """The first digits of the SHA-256 of the public key, by which people compare keys."""
        return hashlib.sha256(self.public_key).hexdigest()[:16]

    def holds(self, digest: str) -> bool:
        """Whether the key that it names has signed this digest."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(self.signature, _message(digest))
        except (InvalidSignature, ValueError):
            return False
        return True


def signature_place(path: StrPath) -> Path:
    """Return where the signature of a release is: in its folder, or beside its file.

    Examples
    --------
    >>> signature_place("counts.json").name
    'counts.json.sig'
    """
    place = Path(path)
    return place / IN_FOLDER if place.is_dir() else place.with_name(f"{place.name}.sig")


def read_private_key(path: StrPath) -> "Ed25519PrivateKey":
    """Read the key that signs."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(_pem(path), password=None)
    except (ValueError, TypeError) as error:  # no PEM, or behind a password
        said = f"{path} is no private key without a password ({type(error).__name__})"
        raise InvalidInput(said, "Ed25519 as PEM", _RECIPE) from None
    except Exception as error:  # kinds of keys that the library knows and does not support
        raise InvalidInput(f"{path} is a key that cannot be used ({error})", "Ed25519 as PEM", _RECIPE) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInput(f"{path} is a key of another kind", "Ed25519 as PEM", _RECIPE)
    return key


def signing_key(path: StrPath, release: StrPath) -> "Ed25519PrivateKey":
    """Read the key that will sign a release, and check that its signature can be written: before anything is spent."""
    refuse_another_kind(signature_place(release), _KIND)
    return read_private_key(path)


def read_public_key(path: StrPath) -> bytes:
    """Read the key that signatures are checked with."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    content = _pem(path)
    if b"PRIVATE KEY" in content:
        raise InvalidInput(f"{path} is a private key", "the public one", "Keep it where it is: it signs in your name.")
    try:
        key = load_pem_public_key(content)
    except Exception as error:  # no PEM, or a kind of key that is not supported
        raise InvalidInput(f"{path} is no public key ({type(error).__name__})", "Ed25519 as PEM", _RECIPE) from None
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidInput(f"{path} is a key of another kind", "Ed25519 as PEM", _RECIPE)
    return _raw(key)


def sign_release(path: StrPath, key: "Ed25519PrivateKey", digest: str | None) -> Path:
    """Sign the digest of a release, and write the signature beside it; return where."""
    if digest is None:
        raise InvalidInput(f"{path} has no digest", "a release that this version wrote", "Write it again first.")
    said = {
        "format": FORMAT,
        "version": VERSION,
        "algorithm": "ed25519",
        "digest": digest,
        "public_key": base64.b64encode(_raw(key.public_key())).decode(),
        "signature": base64.b64encode(key.sign(_message(digest))).decode(),
    }
    place = signature_place(path)
    write_text(place, json.dumps(said, indent=1) + "\n", _KIND)
    return place


def read_signature(path: StrPath) -> Signature | None:
    """Read the signature of a release; None if there is none."""
    place = signature_place(path)
    if not place.is_file():
        return None
    said = read_json_object(Location.of(place), "a signature")
    try:
        if (said["format"], said["version"], said["algorithm"]) != (FORMAT, VERSION, "ed25519"):
            raise ReleaseError(f"{place} is not an Ed25519 signature of version {VERSION}", remedy="Upgrade askance.")
        parts = [base64.b64decode(said[name], validate=True) for name in ("public_key", "signature")]
        if [len(part) for part in parts] == [32, 64] and isinstance(said["digest"], str):
            return Signature(said["digest"], *parts)
    except (LookupError, TypeError, ValueError):
        pass
    raise ReleaseError(f"{place} is damaged", remedy="Ask for it again.")


def _message(digest: str) -> bytes:
    """What is signed: never anything that another program would sign."""
    return f"askance release signature, version {VERSION}: {digest}".encode("utf-8", "backslashreplace")


def _raw(key: "Ed25519PublicKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _pem(path: StrPath) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ReleaseError(f"cannot read the key {path} ({error.strerror or error})", remedy=_RECIPE) from None
