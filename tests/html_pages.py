"""Pages as tests read them."""

import re
from html.parser import HTMLParser


class ReadPage(HTMLParser):
    """Reads a page: which tags, which addresses, whether everything is closed, and the visible text."""

    VOID = {"meta", "br", "link", "img", "hr", "input"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.open, self.tags, self.addresses, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [v for k, v in attributes if k in ("src", "href", "xlink:href", "action") and v]
        assert not [k for k, _ in attributes if k.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [v for k, v in attributes if k in ("src", "href", "xlink:href", "action") and v]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts))

    def check_needs_nothing_from_elsewhere(self) -> None:
        assert not {"script", "link", "img", "iframe", "object"} & set(self.tags)
        assert all(address.startswith("#") for address in self.addresses)
        assert "@import" not in self.source
        assert not re.search(r"url\((?!#)", self.source)

    def check_ids_are_unique_and_found(self) -> None:
        ids = re.findall(r'\bid="([^"]+)"', self.source)
        assert len(ids) == len(set(ids))
        assert {a or b for a, b in re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', self.source)} <= set(ids)
