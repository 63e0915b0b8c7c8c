"""From counted regions of sentences to a tagger."""

from collections.abc import Callable

from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.learning.counting.count_tagger import CountTagger
from askance.learning.counting.tagger_reading import opened
from askance.releases.region_release import RegionRelease
from askance.tables.sentences import read_sentences
from askance.workflows.fit_result import FitResult, model_result


def fit_regions(
    data: StrPath,
    sentences: StrPath | None = None,
    *,
    method: str = "hybrid",
    structure: str = "auto",
    passes: int | None = None,
    tolerance: str | None = None,
    invalid: str = "refuse",
    command: str = "",
    seed: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> FitResult:
    """Learn a tagger from a release of regions.

    Parameters
    ----------
    data : path
        The release (JSON lines or Parquet).
    sentences : path, optional
        The sentences, if the release has none.
    method, structure, passes, tolerance, invalid
        As for :class:`~askance.CountTagger`.
    seed : int, optional
        The same seed gives the same tagger.
    command : str
        What makes the report again.
    progress : callable, optional
        Called after each pass with the windows gone over so far, and how many it will be.
    """
    release = opened(data, invalid)
    if sentences is not None:
        if release.sentences is not None:
            raise InvalidInput(f"--sentences {sentences}, where {data} has its sentences", "one of them")
        release = RegionRelease.of(release, read_sentences(sentences), invalid=invalid)
    elif release.sentences is None:
        raise InvalidInput(f"{data} has regions only", "the sentences too", "Say --sentences FILE.")
    model = CountTagger(
        method, structure, passes=passes, tolerance=tolerance, invalid=invalid, random_state=seed
    ).fit_release(release, progress=progress)
    account = {
        "estimator": "CountTagger",
        "method": model.method,
        "structure": model.structure_,
        "sentences": model.n_sentences_,
        "regions": model.n_regions_,
        "counted_tokens": model.n_counted_,
        "tags": model.classes_.tolist(),
        "held_out": model.held_out_,
        "miscounted_share": model.miscount_share_,
        "suspicious": None if tolerance is None else model.suspicious(),
        "dropped": list(model.dropped_),
        "features": len(model.feature_names_),
        "history": model.history_,
    }
    return model_result(model, model.summary(), account, command=command)
