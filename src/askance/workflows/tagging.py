"""Sentences of a file, tagged with a tagger that was saved."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askance.errors import InvalidInput
from askance.files.kinds import TAGGED
from askance.files.location import StrPath
from askance.files.targets import write_text
from askance.learning.counting.count_tagger import CountTagger
from askance.learning.face.saving import load_model, used_model
from askance.learning.models.families import Chain
from askance.learning.models.indirect_model import IndirectModel
from askance.tables.sentences import conllu_text, read_sentences


@dataclass(frozen=True)
class TaggedSentences:
    """Sentences, and a tag for every word of them."""

    sentences: Sequence[Sequence[str]]
    tags: Sequence[Sequence[str]]

    def records(self) -> list[dict[str, Any]]:
        """Return a mapping with words and tags for each sentence."""
        pairs = zip(self.sentences, self.tags, strict=True)
        return [{"words": list(words), "tags": list(tags)} for words, tags in pairs]

    def text(self, form: str) -> str:
        """Return them as CoNLL-U ("conllu") or JSON lines ("jsonl")."""
        if form == "conllu":
            return conllu_text(self.sentences, self.tags)
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in self.records())

    def write(self, path: Path, form: str) -> None:
        """Write them, whole or not at all, over earlier ones of the same form."""
        write_text(path, self.text(form), TAGGED[form])


def tag_sentences(model: StrPath, text: StrPath) -> TaggedSentences:
    """Tag the sentences of a file (.conllu, .jsonl, or a sentence a line) with a saved tagger."""
    tagger = load_model(model)
    chain = isinstance(tagger, IndirectModel) and isinstance(tagger.family, Chain) and tagger.family.features == "words"
    if not chain and not isinstance(tagger, CountTagger):
        raise InvalidInput(
            f"{model} holds a {type(tagger).__name__}",
            "a tagger: from counts (CountTagger), or from hidden tags (IndirectModel with a Chain of words)",
        )
    sentences = read_sentences(text)
    with used_model(model):
        return TaggedSentences(sentences, tagger.predict(sentences))
