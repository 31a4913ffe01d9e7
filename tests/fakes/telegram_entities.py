"""Telegram's reading of HTML as its documentation has it: tags, escapes, and what is refused.

https://core.telegram.org/bots/api#html-style
"""

import re

_NAMES = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("i", "em"), "italic"),
    **dict.fromkeys(("u", "ins"), "underline"),
    **dict.fromkeys(("s", "strike", "del"), "strikethrough"),
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
    "tg-spoiler": "spoiler",
    "tg-emoji": "custom_emoji",
    "span": "spoiler",
}
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)((?:\s+[a-z-]+(?:=(?:\"[^\"]*\"|'[^']*'))?)*)\s*>")
_ESCAPES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
_ESCAPE = re.compile(r"&(?:(lt|gt|amp|quot)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")


class NotParsed(Exception):
    """The sentence that follows `can't parse entities: `."""


def units(text: str) -> int:
    """What Telegram counts in."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def parse(html: str) -> tuple[str, list[dict[str, object]]]:
    """The text without its tags, and its entities in UTF-16 units."""
    reader = _Reader(html)
    while reader.step():
        pass
    return reader.text, sorted(reader.entities, key=str)


class _Reader:
    def __init__(self, html: str) -> None:
        self.html = html
        self.text = ""
        self.entities: list[dict[str, object]] = []
        self._place = 0
        # Tags that are open, and where they began
        self._opened: list[tuple[str, int]] = []

    def step(self) -> bool:
        """Read a tag, an escape or a character; False at the end."""
        if self._place == len(self.html):
            if self._opened:
                name = self._opened[-1][0]
                raise NotParsed(f'Can\'t find end tag corresponding to start tag "{name}"')
            return False
        char = self.html[self._place]
        if char == "<":
            self._read_tag()
        elif char == "&" and (escape := _ESCAPE.match(self.html, self._place)):
            self.text += _unescaped(escape)
            self._place = escape.end()
        else:
            self.text += char
            self._place += 1
        return True

    def _read_tag(self) -> None:
        found = _TAG.match(self.html, self._place)
        offset = len(self.html[: self._place].encode())
        if found is None or found[2].lower() not in _NAMES:
            name = found[2] if found else ""
            raise NotParsed(f'Unsupported start tag "{name}" at byte offset {offset}')
        self._place = found.end()
        name = found[2].lower()
        if not found[1]:
            self._opened.append((name, units(self.text)))
        elif not self._opened:
            raise NotParsed(f"Unexpected end tag at byte offset {offset}")
        elif self._opened[-1][0] != name:
            wanted = f'expected "</{self._opened[-1][0]}>", found "</{name}>"'
            raise NotParsed(f"Unmatched end tag at byte offset {offset}, {wanted}")
        else:
            self._close(name)

    def _close(self, name: str) -> None:
        _, begun = self._opened.pop()
        if length := units(self.text) - begun:
            self.entities.append({"offset": begun, "length": length, "type": _NAMES[name]})


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return _ESCAPES[escape[1]]
    return chr(int(escape[2]) if escape[2] else int(escape[3], 16))
