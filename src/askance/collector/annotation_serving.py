"""Running a task for annotators: links for them, a server, and a release of what they counted."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from askance.collector.annotation_results import CountedTask, collected_regions
from askance.collector.annotation_store import AnnotationStore
from askance.collector.annotation_task import AnnotationTask
from askance.collector.keys import Keys, new_token
from askance.collector.serving import run_server
from askance.collector.sqlite_file import file_beside


@dataclass(frozen=True)
class Annotation:
    """A task with the file in which counts are kept, and its keys.

    Parameters
    ----------
    task : AnnotationTask
    place : Path
    keys : Keys
    keys_path : Path
    new_keys : bool
        Whether the keys were made just now.
    """

    task: AnnotationTask
    place: Path
    keys: Keys
    keys_path: Path
    new_keys: bool

    @classmethod
    def of(cls, path: Path, store: str | None, keys: Path | None) -> "Annotation":
        """Open a task file; counts and keys are beside it, unless said otherwise."""
        place = file_beside(path, store, "counts", "task for annotators")
        return cls(AnnotationTask.read(path), place, *Keys.beside(path, keys))

    def open_store(self) -> AnnotationStore:
        """Open the file of counts; a new one draws its windows."""
        return AnnotationStore(self.place, self.task)

    def invite(self, count: int) -> list[str]:
        """Add annotators, and return their links' ends: they exist nowhere else."""
        tokens = [new_token() for _ in range(count)]
        store = self.open_store()
        try:
            store.invite(self.keys.digest(token) for token in tokens)
        finally:
            store.close()
        return tokens

    def serve(self, host: str, port: int, ready: Callable[[str], None]) -> None:
        """Show windows until told to stop."""
        from askance.collector.annotation_app import AnnotationApp

        run_server(AnnotationApp(self.task, self.open_store(), self.keys).app(), host, port, ready)

    def export(self, out: Path, *, overwrite: bool, everything: bool) -> CountedTask:
        """Write what was counted so far as a release of regions."""
        store = self.open_store()
        try:
            counted = collected_regions(self.task, store.answers(), everything=everything)
        finally:
            store.close()
        counted.release.write(out, overwrite=overwrite)
        return counted
