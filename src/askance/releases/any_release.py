"""What all kinds of releases have in common, whatever crosses the trust boundary in them."""

from typing import Any, ClassVar, Protocol, Self

from askance.channels.guarantee import Guarantee
from askance.files.location import StrPath


class AnyRelease(Protocol):
    """A release of any kind. Its class says what it is called, and who learns from it.

    Examples
    --------
    >>> import askance as ask
    >>> release = ask.release_counts([30, 70], epsilon=1.0)
    >>> print(release.guarantee)  # doctest: +ELLIPSIS
    epsilon 1, protects one person's label (...)
    >>> release.to_dict()["format"]
    'askance-counts'
    """

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int]
    WHAT: ClassVar[str]
    FOR: ClassVar[str]

    @property
    def guarantee(self) -> Guarantee:
        """The privacy of a person in it."""

    def to_dict(self) -> dict[str, Any]:
        """Return what it says about itself, JSON-able; ``format``, ``version`` and ``askance`` are always among it."""

    def write(self, path: StrPath, *, overwrite: bool = False) -> Any:
        """Write it whole or not at all; :func:`askance.read_release` reads it."""

    @classmethod
    def read(cls, path: StrPath) -> Self:
        """Read a release of this kind."""
