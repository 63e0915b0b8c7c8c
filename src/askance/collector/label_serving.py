"""Running the service of a label holder: links for learners, and a server."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from askance.collector.keys import Keys
from askance.collector.label_requests import LabelRequests
from askance.collector.serving import run_server
from askance.collector.signed_messages import LearnerKey
from askance.collector.sqlite_file import file_beside


@dataclass(frozen=True)
class LabelService:
    """A task file of a label holder, the file of requests, and the keys.

    Parameters
    ----------
    path : Path
    place : Path
    keys : Keys
    keys_path : Path
    new_keys : bool
        Whether the keys were made just now.
    """

    path: Path
    place: Path
    keys: Keys
    keys_path: Path
    new_keys: bool

    @classmethod
    def of(cls, path: Path, store: str | None, keys: Path | None) -> "LabelService":
        """Find requests and keys beside the task file, unless said otherwise."""
        return cls(path, file_beside(path, store, "requests", "label holder"), *Keys.beside(path, keys))

    def invite(self, count: int) -> list[str]:
        """Add learners, and return the ends of their links: their secrets follow from our key."""
        made = [LearnerKey.new(self.keys.invitations) for _ in range(count)]
        requests = LabelRequests(self.place)
        try:
            requests.invite(key.name for key in made)
        finally:
            requests.close()
        return [str(key) for key in made]

    def serve(self, host: str, port: int, ready: Callable[[str], None], log: Callable[[str], None]) -> None:
        """Answer learners until told to stop; a request that was begun is finished first."""
        from askance.collector.label_app import LabelApp
        from askance.collector.label_holder import LabelHolder

        holder = LabelHolder.read(self.path, log)
        run_server(LabelApp(holder, LabelRequests(self.place), self.keys).app(), host, port, ready)
