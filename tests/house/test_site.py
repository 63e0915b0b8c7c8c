"""The site: it builds without a warning, loads nothing from elsewhere, and fits on a telephone.

All pages are read and their links resolved, as `make docs` does; a few of every kind are written and looked at.
Notebooks are not executed here: ``test_docs`` runs their cells.
"""

import json
import re
import runpy
import shutil
import subprocess
import sys

import pytest
from test_docs import DOCS

from askance.papers.registry import entries
from browsing import browser  # noqa: F401  (a fixture)
from estimator_examples import EXAMPLES

CLASS = "reference/generated/askance.IndirectClassifier"
WRITTEN = ["index", "which-estimator", "models", "gallery", "notebooks/survey", "beyond-the-papers", "api", CLASS]
# A process of its own, as in `make docs`: Sphinx itself does not live with warnings as errors.
BUILD = """
import io, json, sys
from sphinx.application import Sphinx

source, target, written = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
said = io.StringIO()
app = Sphinx(
    source, source, target, target + "/doctrees", "html", {"nb_execution_mode": "off"}, status=None, warning=said
)
app.builder.search = False  # an index of eight pages would be incomplete, and a warning says so
app.build(filenames=[f"{source}/{name}" for name in written])
for name in sorted(app.env.found_docs):
    app.env.get_and_resolve_doctree(name, app.builder, tags=app.tags)
print(said.getvalue())
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The documentation, copied, since pages of the reference are written beside the others; and what was built."""
    source = tmp_path_factory.mktemp("source") / "docs"
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns("_build", "generated"))
    target = tmp_path_factory.mktemp("site")
    files = [name + (".rst" if name == CLASS else ".md") for name in WRITTEN]
    options = [str(source), str(target), json.dumps(files)]
    built = subprocess.run([sys.executable, "-c", BUILD, *options], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return target, built.stdout.strip()


def page(site, name):
    return (site[0] / f"{name}.html").read_text(encoding="utf-8")


def test_the_site_builds_without_a_warning(site):
    assert site[1] == ""


@pytest.mark.parametrize("name", WRITTEN)
def test_a_page_loads_nothing_from_elsewhere(site, name):
    check = runpy.run_path(str(DOCS / "site_parts" / "nothing_from_elsewhere.py"))["loaded_from_elsewhere"]
    assert check(page(site, name)) == []
    assert check('<script async src="https://a.b/c.js">') == ["https://a.b/c.js"]
    assert check('<link rel="x" href="//a.b/c.css"> <a href="https://a.b">') == ["//a.b/c.css"]
    assert check("body { background: url(https://a.b/c.png) }") == ["https://a.b/c.png"]


def test_names_lead_to_pages_of_their_own(site):
    table = page(site, "which-estimator")
    for name in EXAMPLES:
        assert f'href="reference/generated/askance.{name}.html' in table, f"which-estimator.md does not lead to {name}"
    assert 'href="askance.DesignPerRow.html' in page(site, CLASS)
    assert 'href="askance.reports.Summary.html' in page(site, CLASS)  # a type in a signature
    assert "decisions/0001" not in page(site, "api")  # not in the sidebar


def test_what_was_learned_keeps_its_underscore(site):
    text = page(site, CLASS)
    assert "<strong>coef_, intercept_</strong> (<em>arrays</em>)" in text
    assert "<strong>covariance_</strong> (<em>array</em>)" in text


def test_formulas_are_drawn_by_the_browser_itself(site):
    text = page(site, "models")
    assert text.count("<math ") > 10
    assert "\\frac" not in text
    assert "$$" not in text


def test_what_scrolls_is_reached_with_the_keyboard_and_contents_are_read_out(site):
    shown = page(site, "models")
    assert "<pre>" not in shown
    assert 'class="formula" tabindex="0"' in shown
    assert not re.search('role="heading"(?! aria-level)', shown)


def test_what_was_printed_has_no_button_to_copy_it(site):
    script = (site[0] / "_static" / "copybutton.js").read_text(encoding="utf-8")
    assert "COPYBUTTON_SELECTOR = 'div:not(.highlight-output) > div.highlight pre'" in script


def test_the_gallery_shows_every_estimator_and_every_reproduction_that_draws(site):
    source = (DOCS / "gallery.md").read_text(encoding="utf-8")
    headings = set(re.findall(r"^### (\S+)$", source, re.MULTILINE))
    assert set(EXAMPLES) <= headings
    kept = {path.name for path in (DOCS / "images" / "reproductions").iterdir()}
    assert kept == set(re.findall(r"\(images/reproductions/([^)]+)\)", source))
    without = {"mean-operator/table-1", "mean-operator/theorem-6"}  # numbers only
    assert set(entries()) - without <= headings
    assert sum(path.stat().st_size for path in (DOCS / "images").rglob("*.png")) < 3e6


def test_pages_fit_on_a_telephone_and_the_first_screen_says_what_it_is_for(site, browser):  # noqa: F811
    view = browser.new_page(viewport={"width": 400, "height": 800})
    asked = []
    view.on("request", lambda request: asked.append(request.url))
    for name in WRITTEN:
        view.goto((site[0] / f"{name}.html").as_uri())
        assert view.evaluate("document.documentElement.scrollWidth") <= 400, f"{name} scrolls sideways"
    view.set_viewport_size({"width": 1280, "height": 800})
    view.goto((site[0] / "index.html").as_uri())
    for what in (".ways", ".beside img", ".beside .highlight-python"):
        box = view.locator(what).first.bounding_box()
        assert box["y"] + box["height"] <= 800, f"{what} is below the first screen"
    assert all(address.startswith("file:") for address in asked)
    view.context.close()
