"""Sentences with tags for reproductions: a treebank from the data folder, or a made-up language in its place."""

from dataclasses import dataclass

from askance.papers.data.data_folder import Sourced, data_file
from askance.papers.data.made_up_corpus import synthetic_corpus
from askance.tables.sentences import TaggedSentences, read_conllu


@dataclass(frozen=True, eq=False)
class TaggedCorpus(Sourced):
    """Sentences to learn from and sentences to be tested on."""

    train: TaggedSentences
    test: TaggedSentences

    @property
    def tags(self) -> list[str]:
        """The tags of the training sentences."""
        return sorted({tag for its in self.train.tags for tag in its})


def web_treebank(most: int | None = None) -> TaggedCorpus:
    """The English Web Treebank with XPOS tags from the folder that ASKANCE_DATA names, or a stand-in.

    ``most`` sentences to learn from, and half as many for the test, if given.
    """
    train = data_file("ud-ewt/en_ewt-ud-train.conllu.gz")
    if train is None:
        size = most or 2000
        made = (synthetic_corpus(size), synthetic_corpus(size // 2, "test"))
        return TaggedCorpus("made-up language", "made up, in place of a treebank", *made, stand_in=True)
    test = data_file("ud-ewt/en_ewt-ud-test.conllu.gz")
    parts = [read_conllu(path) for path in (train, test) if path is not None]
    if most is not None:
        sizes = (most, most // 2)
        parts = [TaggedSentences(p.sentences[:n], p.tags[:n]) for p, n in zip(parts, sizes, strict=True)]
    return TaggedCorpus(
        "English Web Treebank",
        "Universal Dependencies English Web Treebank (Silveira et al. 2014), CC BY-SA 4.0",
        parts[0],
        parts[1],
    )
