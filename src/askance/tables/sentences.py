"""Sentences from files: CoNLL-U, JSON lines, or plain text with words between spaces."""

import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from askance.errors import AskanceError, InvalidInput, ReleaseError
from askance.tables.counted_region import Sentences, checked_sentences

StrPath = str | os.PathLike[str]

COLUMNS = {"upos": 3, "xpos": 4}  # of CoNLL-U
_BREAKS = re.compile(r"[\t\n\r]")  # what ends a cell or a line


class TaggedSentences(NamedTuple):
    """Words of sentences, and their tags."""

    sentences: list[list[str]]
    tags: list[list[str]]


def read_sentences(path: StrPath) -> Sentences:
    """Read the words of sentences.

    ``.conllu`` (or ``.conllu.gz``): column FORM. ``.jsonl``: a list of words a line, or an object with ``words``. Any
    other file is text, a sentence a line, with spaces between its words.
    """
    kind = _kind(path)
    try:
        if kind == ".conllu":
            return checked_sentences(read_conllu(path).sentences)
        read = _from_json if kind in (".jsonl", ".ndjson") else str.split
        return checked_sentences([read(line) for line in _lines(path) if line.strip()])
    except ReleaseError:
        raise
    except AskanceError as error:
        raise ReleaseError(f"{path}: {error}") from error


def read_conllu(path: StrPath, column: str = "xpos") -> TaggedSentences:
    """Read words and tags of a CoNLL-U file, gzipped if its name ends with .gz.

    Ranges of several tokens (1-2) and empty nodes (8.1) are passed over.
    """
    if column not in COLUMNS:
        raise InvalidInput(f"column={column!r}", f"one of {', '.join(COLUMNS)}")
    place = COLUMNS[column]
    found = TaggedSentences([], [])
    words, tags = list[str](), list[str]()
    for number, line in enumerate((*_lines(path), ""), 1):
        if not line.strip():
            if words:
                found.sentences.append(words)
                found.tags.append(tags)
            words, tags = [], []
        elif not line.startswith("#"):
            cells = line.rstrip("\n").split("\t")
            if len(cells) != 10:
                raise ReleaseError(f"line {number} of {path} has {len(cells)} columns", "10, as CoNLL-U has them")
            if cells[0].isdigit():
                words.append(cells[1])
                tags.append(cells[place])
    return found


def conllu_text(sentences: Any, tags: Any) -> str:
    """Write words and tags as CoNLL-U, tags as XPOS, all other columns left open.

    Examples
    --------
    >>> print(conllu_text([["dogs", "bark"]], [["NNS", "VBP"]]).replace("\\t", " "))
    1 dogs _ _ NNS _ _ _ _ _
    2 bark _ _ VBP _ _ _ _ _
    <BLANKLINE>
    <BLANKLINE>
    """
    lines = []
    for place, (words, its) in enumerate(zip(sentences, tags, strict=True)):
        for number, (word, tag) in enumerate(zip(words, its, strict=True), 1):
            if _BREAKS.search(word + tag):
                raise InvalidInput(
                    f"sentence {place}: {word!r} with the tag {tag!r}", "no tabs and line breaks in CoNLL-U",
                    "Write JSON lines instead: --format jsonl.",
                )  # fmt: skip
            lines.append("\t".join([str(number), word, "_", "_", tag, *"_" * 5]))
        lines.append("")
    return "\n".join(lines) + "\n"


def _kind(path: StrPath) -> str:
    name = Path(path)
    return Path(name.stem).suffix.lower() if name.suffix.lower() == ".gz" else name.suffix.lower()


def _lines(path: StrPath) -> Iterator[str]:
    try:
        if Path(path).suffix.lower() == ".gz":
            with gzip.open(path, "rt", encoding="utf-8-sig") as packed:
                yield from packed
        else:
            with Path(path).open(encoding="utf-8-sig") as plain:
                yield from plain
    except (OSError, EOFError) as error:
        why = "there is no file" if isinstance(error, FileNotFoundError) else f"cannot read ({error})"
        raise ReleaseError(f"{why} {path}", "sentences as .conllu, .jsonl or .txt") from None
    except UnicodeDecodeError:
        raise ReleaseError(f"{path} is not text in UTF-8", "sentences as .conllu, .jsonl or .txt") from None


def _from_json(line: str) -> Any:
    try:
        read = json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"a line that is not JSON ({error.msg})", 'a list of words, or {"words": [...]}') from None
    return read.get("words") if isinstance(read, dict) else read
