"""What the documentation cites exists: names as packages list them, and files where it says they are."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import askance

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("decisions/*.md")),
]
PACKAGES = {"askance"} | {found.name for found in pkgutil.walk_packages(askance.__path__, "askance.") if found.ispkg}
ADDRESS = re.compile(r"(?<![\w.-])askance(?:\.[A-Za-z_]\w*)+")
IMPORT = re.compile(r"^from (?P<package>askance[\w.]*) import (?P<names>\([^)]*\)|[^\n(]*)$", re.MULTILINE)
CONTRIBUTING = ROOT / "CONTRIBUTING.md"


def name_of(page):
    return str(page.relative_to(ROOT))


def cited(text):
    """Every address in a text: written out, or taken apart by ``from ... import``."""
    yield from (match[0] for match in ADDRESS.finditer(text))
    for match in IMPORT.finditer(text):
        names = re.sub(r"\bas \w+", "", match["names"].strip("()"))
        yield from (f"{match['package']}.{name}" for name in re.findall(r"\w+", names))


def resolve(address):
    """The object at an address, which must begin with a package and a name on that package's list."""
    parts = address.split(".")
    depth = max(i for i in range(1, len(parts) + 1) if ".".join(parts[:i]) in PACKAGES)
    value = importlib.import_module(".".join(parts[:depth]))
    for i, part in enumerate(parts[depth:]):
        if i == 0 and part not in getattr(value, "__all__", ()):
            raise LookupError(f"{'.'.join(parts[:depth])} does not list {part}")
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_pages_cite_only_names_that_a_package_lists(page):
    for address in cited(page.read_text(encoding="utf-8")):
        try:
            resolve(address)
        except (LookupError, AttributeError) as error:
            pytest.fail(f"{name_of(page)} cites {address}: {error}. Cite the package's own name, or list it there.")


def test_a_name_inside_a_module_is_not_cited():
    assert list(cited("from askance.releases.header import (\n    Header,\n    Question as Q,\n)\n")) == [
        "askance.releases.header",
        "askance.releases.header.Header",
        "askance.releases.header.Question",
    ]
    assert resolve("askance.releases.Header.to_dict")
    for deep in ("askance.releases.header", "askance.releases.header.Header", "askance.Nonsense"):
        with pytest.raises(LookupError):
            resolve(deep)


def test_every_entry_of_the_reference_is_documented_where_it_says():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    entries = re.findall(r"^\.\. auto(\w+):: (\S+)$", text, re.MULTILINE)
    assert len(entries) > 100
    assert len(entries) == len({address for _, address in entries})
    for kind, address in entries:
        value = resolve(address)
        assert isinstance(value, type) == (kind in ("class", "exception")), f"{address} is no {kind}"
        assert value.__doc__


def files_named_in(text):
    """Files and folders of the project that a text names; a reading order names files by their place in src/askance."""
    return re.findall(r"`([\w/.-]+(?:/|\.(?:pyi?|md|toml|txt|json)))`", text)


def exists(name):
    return any((place / name).exists() for place in (ROOT, ROOT / "src" / "askance"))


@pytest.mark.parametrize("name", files_named_in(CONTRIBUTING.read_text(encoding="utf-8")))
def test_every_file_that_contributing_names_exists(name):
    assert exists(name), f"CONTRIBUTING.md names {name}, which is neither in the project nor in src/askance"


def test_a_file_that_is_gone_is_noticed():
    assert files_named_in("Read `entropy/bits.py` and `planning/`, then run `make test`.") == [
        "entropy/bits.py",
        "planning/",
    ]
    assert not exists("estimators/softmax_fit.py")


def test_the_reading_order_fits_on_one_screen():
    section = re.search(
        r"^## Reading order$.*?(?=^## )", CONTRIBUTING.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert len(section[0].splitlines()) <= 40  # lines of a terminal of usual height
