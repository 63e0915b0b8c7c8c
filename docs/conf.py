"""How the documentation is built: `make docs`."""

import gc
import sys
from pathlib import Path

from askance import __version__

sys.path.insert(0, str(Path(__file__).parent))
gc.freeze()
gc.set_threshold(200_000, 50, 50)  # pages are millions of small objects that live until the end

project = "askance"
author = "the askance authors"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "site_parts.reference_pages",
    "site_parts.linked_names",
    "site_parts.native_mathematics",
    "site_parts.reached_by_keyboard",
    "site_parts.nothing_from_elsewhere",
]
exclude_patterns = ["_build", "site_parts"]
suppress_warnings = ["toc.not_included"]  # decisions are read by link; a test sees that every guide is in the contents
smartquotes = False  # an option is written with two hyphens, also outside of code
html_theme = "furo"
html_title = f"askance {version}"
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_math_renderer = "mathml"

# Links to headings work as they do where Markdown is shown without a build.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "dollarmath"]

# Notebooks run from top to bottom; a cell that fails fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"

# What is copied from a session is what was typed.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"
copybutton_selector = "div:not(.highlight-output) > div.highlight pre"  # nobody types what was printed

# Docstrings are in NumPy style; types in signatures are short names that lead to their pages.
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # field names would lose the last letter of coef_
autosummary_generate = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
add_module_names = False
