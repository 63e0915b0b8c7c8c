"""How the documentation is built: `make docs`."""

from askance import __version__

project = "askance"
author = "the askance authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
smartquotes = False  # an option is written with two hyphens, also outside of code
html_theme = "furo"
html_title = f"askance {version}"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["page.css"]

# Links to headings work as they do where Markdown is shown without a build.
myst_heading_anchors = 4

# Docstrings are in NumPy style and name types in words; signatures stay short enough to read.
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
add_module_names = False
