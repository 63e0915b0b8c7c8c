"""``askance fit`` on annotated regions, and ``askance tag``: a tagger from counts, and its use."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from askance.learning.counting.count_tagger import CountTagger


def fit_tagger(
    data: str,
    *,
    sentences: Path | None,
    method: str,
    structure: str,
    passes: int | None,
    seed: int | None,
    as_json: bool,
    save: Path | None,
    quiet: bool,
) -> None:
    """Learn a tagger from a release of regions, and print how it fits."""
    from askance.cli.output import print_json, say
    from askance.errors import InvalidInput
    from askance.files.targets import write_text
    from askance.learning.counting.count_tagger import CountTagger
    from askance.releases.region_release import RegionRelease
    from askance.tables.sentences import read_sentences

    release = RegionRelease.read(data)
    if sentences is not None:
        if release.sentences is not None:
            raise InvalidInput(f"--sentences {sentences}, where {data} has its sentences", "one of them")
        release = RegionRelease.of(release, read_sentences(sentences))
    elif release.sentences is None:
        raise InvalidInput(f"{data} has regions only", "the sentences too", "Say --sentences FILE.")
    model = CountTagger(method, structure, passes=passes, random_state=seed).fit(release)
    if save is not None:
        write_text(save, model.to_json())
    if as_json:
        print_json(_account(model) | {"written": [] if save is None else [str(save)]})
    else:
        typer.echo(model.summary())
    if not quiet and save is not None:
        say(f"wrote {save}. Tag text with: askance tag {save} TEXT")


def tag(
    model: Annotated[Path, typer.Argument(help="A tagger that askance fit --save wrote.")],
    text: Annotated[
        Path, typer.Argument(help="Sentences: .conllu, .jsonl, or text, a sentence a line, with spaces between words.")
    ],
    out: Annotated[Path | None, typer.Option(help="Write to this file in place of standard output.")] = None,
    form: Annotated[
        Literal["conllu", "jsonl"], typer.Option("--format", help="CoNLL-U, or an object with words and tags a line.")
    ] = "conllu",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier file.")] = False,
) -> None:
    """Tag sentences with a tagger that was learned from counts."""
    from askance.cli.output import say
    from askance.files.targets import check_target, write_text
    from askance.learning.counting.count_tagger import CountTagger
    from askance.tables.sentences import read_sentences

    if out is not None:
        check_target(out, overwrite=overwrite, inputs=(model, text))
    tagger = CountTagger.load(model)
    sentences = read_sentences(text)
    written = _tagged(sentences, tagger.predict(sentences), form)
    if out is None:
        typer.echo(written, nl=False)
    else:
        write_text(out, written)
        say(f"wrote {out}")


def _tagged(sentences: Any, tags: list[list[str]], form: str) -> str:
    import json

    from askance.tables.sentences import conllu_text

    if form == "conllu":
        return conllu_text(sentences, tags)
    return "".join(
        json.dumps({"words": list(words), "tags": its}, ensure_ascii=False) + "\n"
        for words, its in zip(sentences, tags, strict=True)
    )


def _account(model: "CountTagger") -> dict[str, Any]:
    return {
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
