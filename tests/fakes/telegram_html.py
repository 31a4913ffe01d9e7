"""Telegram's reading of HTML, strict as its server: what it refuses raises."""

from html.parser import HTMLParser

# https://core.telegram.org/bots/api#html-style
_ALLOWED = {
    "a": {"href"},
    "b": set[str](),
    "blockquote": set[str](),
    "code": {"class"},
    "i": set[str](),
    "pre": set[str](),
    "s": set[str](),
}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.opened: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _ALLOWED, f"Unsupported start tag {tag}"
        assert {name for name, _ in attrs} <= _ALLOWED[tag], attrs
        assert tag not in self.opened, f"{tag} in {tag}"
        inside_code = {"code", "pre"} & set(self.opened)
        assert not inside_code or (tag == "code" and self.opened[-1] == "pre"), tag
        self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened, f"Unexpected end tag {tag}"
        assert self.opened.pop() == tag, f"Unmatched end tag {tag}"

    def handle_data(self, data: str) -> None:
        self.text += data


def text_of(html: str) -> str:
    """The text that is left when the entities are parsed."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not reader.opened, f"Can't find end tag {reader.opened}"
    return reader.text
