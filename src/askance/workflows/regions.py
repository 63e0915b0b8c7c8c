"""From counted regions of sentences to a tagger."""

from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.learning.counting.count_tagger import CountTagger
from askance.releases.reading import open_release
from askance.releases.region_release import RegionRelease
from askance.tables.sentences import read_sentences
from askance.workflows.fit_result import FitResult, model_result


def fit_regions(
    data: StrPath,
    sentences: StrPath | None = None,
    *,
    method: str = "hybrid",
    structure: str = "node",
    passes: int | None = None,
    command: str = "",
    seed: int | None = None,
) -> FitResult:
    """Learn a tagger from a release of regions.

    Parameters
    ----------
    data : path
        The release (JSON lines or Parquet).
    sentences : path, optional
        The sentences, if the release has none.
    method, structure, passes
        As for :class:`~askance.CountTagger`.
    seed : int, optional
        The same seed gives the same tagger.
    command : str
        What makes the report again.
    """
    release = open_release(data, RegionRelease)
    if sentences is not None:
        if release.sentences is not None:
            raise InvalidInput(f"--sentences {sentences}, where {data} has its sentences", "one of them")
        release = RegionRelease.of(release, read_sentences(sentences))
    elif release.sentences is None:
        raise InvalidInput(f"{data} has regions only", "the sentences too", "Say --sentences FILE.")
    model = CountTagger(method, structure, passes=passes, random_state=seed).fit_release(release)
    account = {
        "estimator": "CountTagger",
        "method": model.method,
        "structure": model.structure,
        "sentences": model.n_sentences_,
        "regions": model.n_regions_,
        "counted_tokens": model.n_counted_,
        "tags": model.classes_.tolist(),
        "counts_explained": model.counts_explained_,
        "features": len(model.feature_names_),
        "history": model.history_,
    }
    return model_result(model, model.summary(), account, command=command)
