"""What scrolls sideways is reached with the keyboard, and headings of the contents are read out with a level."""

from typing import Any

from sphinx.application import Sphinx

_AFTER_THE_THEME = 900  # which draws the contents for the same event


def _mend(app: Sphinx, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    if "body" in context:
        context["body"] = context["body"].replace("<pre>", '<pre tabindex="0">')
    contents = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = contents.replace('role="heading"', 'role="heading" aria-level="2"')


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", _mend, priority=_AFTER_THE_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
