"""``askance tag``: sentences, tagged with a tagger that was learned from counts or from hidden tags."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from askance.cli.options import Json, Overwrite, Quiet, check_targets, out_option


def tag(
    model: Annotated[Path, typer.Argument(help="A tagger that askance fit --save wrote.")],
    text: Annotated[
        Path, typer.Argument(help="Sentences: .conllu, .jsonl, or text, a sentence a line, with spaces between words.")
    ],
    form: Annotated[
        Literal["conllu", "jsonl"], typer.Option("--format", help="CoNLL-U, or an object with words and tags a line.")
    ] = "conllu",
    out: Annotated[Path | None, out_option("Write to this file in place of standard output.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Tag sentences with a tagger that was learned from counts, or from tags that were hidden one by one."""
    from askance.cli.output import print_json, say, write_data
    from askance.files.kinds import TAGGED
    from askance.workflows.tagging import tag_sentences

    check_targets([(out, TAGGED[form])], overwrite=overwrite, inputs=[model, text])
    tagged = tag_sentences(model, text)
    if out is not None:
        tagged.write(out, form)
    if as_json:
        print_json({"sentences": tagged.records(), "written": [] if out is None else [str(out)]})
    elif out is None:
        write_data(tagged.text(form))
    if out is not None and not quiet:
        say(f"wrote {out}")
