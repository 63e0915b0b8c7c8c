"""The glossary has a word for everything public: a new name without one fails here."""

import re

import pytest
from test_addresses import DOCS

import askance

TEXT = (DOCS / "glossary.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^- \*\*.*?(?=^- \*\*|^#|\Z)", TEXT, re.MULTILINE | re.DOTALL)
WORDS = [word for entry in ENTRIES for word in re.findall(r"\*\*([^*]+)\*\*", entry)]
# Public are the names of `askance` itself and every class of the reference.
REFERENCE = re.findall(r"^\.\. autoclass:: \S+\.(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
PUBLIC = sorted({*askance.__all__, *REFERENCE} - {"__version__"})


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_stands_behind_a_word(name):
    assert any(re.search(rf"`{name}`", entry) for entry in ENTRIES), (
        f"docs/glossary.md does not name `{name}`: add it to the word that it belongs to, or explain a new word"
    )


def test_every_word_is_explained_once_in_one_or_two_sentences():
    assert len(ENTRIES) > 60
    assert len(WORDS) == len(set(WORDS)) + WORDS.count("report") - 1  # a report, and a report as a page
    for entry in ENTRIES:
        assert re.match(r"- \*\*[^*]+\*\*(?: \([\w ]+\)|, \*\*[^*]+\*\*)*: \S", entry), entry
        assert len(entry.split()) < 80, entry
