"""How fast one address may answer an open study. Addresses are kept in memory only, unreadable, and for a minute."""

import hashlib
import hmac
import ipaddress
import secrets
import time

_WINDOW = 60.0  # seconds: the limit is so many a minute
_MOST_ADDRESSES = 50_000  # some 10 MB; beyond it the oldest are forgotten first


class RateLimit:
    """Counts responses of an address within the last minute.

    Parameters
    ----------
    a_minute : int
        How many are let through; 0 lets all through.

    Examples
    --------
    >>> limit = RateLimit(2)
    >>> [limit.lets_through("192.0.2.1") for _ in range(3)], limit.lets_through("192.0.2.2")
    ([True, True, False], True)
    """

    def __init__(self, a_minute: int) -> None:
        self.a_minute = a_minute
        self._key = secrets.token_bytes(32)
        self._seen: dict[bytes, tuple[float, int]] = {}

    def lets_through(self, address: str) -> bool:
        """Count one more; say whether it is within the limit."""
        if not self.a_minute:
            return True
        now = time.monotonic()
        name = hmac.new(self._key, _network(address), hashlib.sha256).digest()
        began, count = self._seen.pop(name, (now, 0))
        if now - began >= _WINDOW:
            began, count = now, 0
        self._seen[name] = began, count + 1  # at the end: the first ones are the oldest
        while len(self._seen) > _MOST_ADDRESSES:
            del self._seen[next(iter(self._seen))]
        return count < self.a_minute


def _network(address: str) -> bytes:
    """The address, or of a version 6 one the half that a household shares."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address.encode()
    return parsed.packed if parsed.version == 4 else parsed.packed[:8]
