"""Program that turns a page into readable text, in its own process because pages are hostile.

Takes the page's address; reads HTML as UTF-8 and prints JSON with title and text, in the marks of
Markdown. What a reader of the page would not see is left out. Imports nothing of the agent.
"""

import json
import re
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from urllib.parse import urljoin

MAX_TEXT_CHARS = 600_000
MAX_TITLE_CHARS = 300
MAX_LINK_CHARS = 500
# Deeper than any page; what is opened beyond it is read as if it were not
_MAX_DEPTH = 500
_SILENT = frozenset(
    {
        *("script", "style", "template", "noscript", "svg", "math", "iframe", "object", "head"),
        *("select", "button", "dialog", "canvas", "audio", "video", "nav", "textarea"),
    }
)
_FOREIGN = frozenset({"svg", "math"})
_VOID = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
        *("source", "track", "wbr"),
    }
)
_HEAD_HOLDS = frozenset(
    {"head", "title", "meta", "link", "script", "style", "base", "noscript", "template"}
)
_BLOCKS = frozenset(
    {
        *("p", "div", "section", "article", "main", "header", "footer", "aside", "table", "ul"),
        *("ol", "dl", "blockquote", "figure", "address", "details", "body", "fieldset"),
    }
)
_LINES = frozenset({"tr", "dt", "dd", "figcaption", "summary", "caption", "legend"})
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_CELLS = frozenset({"p", "td", "th"})
_ROWS = _CELLS | {"tr"}
_GROUPS = _ROWS | {"tbody", "thead", "tfoot"}
# Elements whose end may be left out: which of them the beginning of another ends
_ENDED = {
    **dict.fromkeys((*_BLOCKS, *_HEADINGS, "pre", "hr"), frozenset({"p"})),
    "li": frozenset({"p", "li"}),
    **dict.fromkeys(("dt", "dd"), frozenset({"p", "dt", "dd"})),
    **dict.fromkeys(("td", "th"), _CELLS),
    "tr": _ROWS,
    **dict.fromkeys(("tbody", "thead", "tfoot"), _GROUPS),
}
# Nothing and 0.0 hide, 0.9 is small or pale
_UNSHOWN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden"
    r"|(?:font-size|opacity)\s*:\s*0(?:\.0*)?(?![.\d])"
)
_SPACES = re.compile(r"[ \t\r\n\f\xa0]+")

Attributes = list[tuple[str, str | None]]


class PageReader(HTMLParser):
    """Collects the visible text of a page."""

    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        # Where links begin: the first `base` of a page that says so changes it
        self._address = address
        self._has_base = False
        self._pieces: list[str] = []
        # Open elements, and how many of them hide what is in them
        self._open: list[tuple[str, bool]] = []
        self._hiding = 0
        self._links: list[tuple[int, str]] = []
        self._preformatted = 0

    @property
    def text(self) -> str:
        lines = [line.rstrip() for line in "".join(self._pieces).split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        if tag not in _HEAD_HOLDS:
            # A page need not say where its head ends
            self.handle_endtag("head")
        while self._open and self._open[-1][0] in _ENDED.get(tag, ()):
            self.handle_endtag(self._open[-1][0])
        if tag in _VOID:
            if tag in {"br", "hr"}:
                self._say("\n" if tag == "br" else "\n\n---\n\n")
            elif tag == "base":
                self._take_base(dict(attrs).get("href") or "")
            return
        if len(self._open) < _MAX_DEPTH:
            hides = tag in _SILENT or _is_unshown(attrs)
            self._open.append((tag, hides))
            self._hiding += hides
        self._begin(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        # Only what is void ends itself in HTML, whatever the slash says; drawings are no HTML
        if tag not in _FOREIGN:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not any(name == tag for name, _ in self._open):
            return
        self._end(tag)
        while self._open:
            name, hides = self._open.pop()
            self._hiding -= hides
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "title" and not self.title:
            self.title = _SPACES.sub(" ", data).strip()[:MAX_TITLE_CHARS]
        elif self._preformatted:
            self._say(data)
        else:
            plain = _SPACES.sub(" ", data)
            begins_line = not self._pieces or self._pieces[-1].endswith(("\n", " "))
            self._say(plain.lstrip() if begins_line else plain)

    def _begin(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag in _HEADINGS:
            self._say(f"\n\n{_HEADINGS[tag]}")
        elif tag in _BLOCKS:
            self._say("\n\n")
        elif tag == "li":
            self._say("\n- ")
        elif tag in _LINES:
            self._say("\n")
        elif tag in {"td", "th"}:
            self._say(" | ")
        elif tag == "pre":
            self._preformatted += 1
            self._say("\n\n```\n")
        elif tag == "a":
            self._links.append((len(self._pieces), attributes.get("href") or ""))

    def _end(self, tag: str) -> None:
        if tag in _HEADINGS or tag in _BLOCKS:
            self._say("\n\n")
        elif tag == "pre" and self._preformatted:
            self._preformatted -= 1
            self._say("\n```\n\n")
        elif tag == "a" and self._links:
            self._link(*self._links.pop())

    def _link(self, begin: int, href: str) -> None:
        words = "".join(self._pieces[begin:]).strip()
        target = self._target(href)
        is_short = len(target) <= MAX_LINK_CHARS and "\n" not in words
        if words and is_short and target:
            del self._pieces[begin:]
            self._say(f"[{words}]({target.replace(')', '%29').replace(' ', '%20')})")

    def _take_base(self, href: str) -> None:
        if href and not self._has_base:
            self._has_base = True
            self._address = self._target(href) or self._address

    def _target(self, href: str) -> str:
        """Return the address that a link leads to; "" if it is none of the web."""
        try:
            target = urljoin(self._address, href.strip())
        except ValueError:
            return ""
        is_web = bool(href.strip()) and target.startswith(("http://", "https://"))
        return target if is_web else ""

    def _say(self, text: str) -> None:
        if text and not self._hiding:
            self._pieces.append(text)


def _is_unshown(attributes: Attributes) -> bool:
    told = dict(attributes)
    return (
        "hidden" in told
        or told.get("aria-hidden") == "true"
        or _UNSHOWN.search((told.get("style") or "").lower()) is not None
    )


def read(page: str, address: str) -> tuple[str, str]:
    """Return title and text of a page."""
    reader = PageReader(address)
    reader.feed(page)
    reader.close()
    return reader.title, reader.text[:MAX_TEXT_CHARS]


def main(arguments: Sequence[str]) -> int:
    """Print title and text; return the exit status."""
    page = sys.stdin.buffer.read().decode(errors="replace")
    sys.stdout.write(json.dumps(read(page, arguments[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
