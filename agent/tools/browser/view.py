"""View of a page: its text, what can be used on it, and what happened on the way.

All of it is the page's words, or as little trusted.
"""

from collections.abc import Sequence

import msgspec

from agent.errors import BrowserFailed
from agent.tools.browser.page_script import MAX_ELEMENTS

# Some three thousand tokens of text at a time, and as many of elements
PART_CHARS = 8_000
MAX_SHOWN_ELEMENTS = 80


class PageElement(msgspec.Struct, frozen=True, omit_defaults=True):
    """A link, a button or a field; its number is used once and for ever.

    Args:
        sends: method and URL of the form that it belongs to.
    """

    number: int
    kind: str
    name: str = ""
    leads_to: str = ""
    sends: str = ""
    value: str = ""
    checked: bool | None = None
    options: Sequence[str] = ()


class PageReading(msgspec.Struct, frozen=True):
    """The page as its script reads it; `next` is the first number that is free."""

    title: str
    text: str
    elements: list[PageElement]
    left: int
    next: int


def reading_of(told: str, first: int) -> PageReading:
    """Return what the script told of a page; its new elements have numbers from `first` on.

    Raises:
        BrowserFailed: no script of ours would say that.
    """
    try:
        reading = msgspec.json.decode(told, type=PageReading)
    except (msgspec.DecodeError, UnicodeError) as err:
        raise BrowserFailed("the page cannot be read: it breaks what reads it") from err
    # A browser that was broken into may say anything
    if not first <= reading.next <= first + MAX_ELEMENTS:
        raise BrowserFailed("the page cannot be read: its elements have wrong numbers")
    return reading


class PageView(msgspec.Struct, frozen=True):
    """The page as it is, and what happened since the call began.

    Args:
        happened: pop-ups closed, downloads and requests refused, in our words with page's names.
        leads_to: another page where this one wanted to go; it was not followed.
        sent: what went out that was not plain reading.
        trouble: why the page is not the one that was asked for.
    """

    url: str
    reading: PageReading
    happened: Sequence[str] = ()
    leads_to: str = ""
    sent: Sequence[str] = ()
    trouble: str = ""

    def told(self, part: int = 1) -> dict[str, object]:
        """Return the fields for a model."""
        begin = (part - 1) * PART_CHARS
        text, elements = self.reading.text, self.reading.elements[:MAX_SHOWN_ELEMENTS]
        told: dict[str, object] = {
            "url": self.url,
            "title": self.reading.title,
            "text": text[begin : begin + PART_CHARS],
            "more": len(text) > begin + PART_CHARS,
        }
        if part == 1:
            told["elements"] = [_shown(one) for one in elements]
            left_out = len(self.reading.elements) - len(elements) + self.reading.left
            told |= {"elements_left_out": left_out} if left_out else {}
        further = {
            "trouble": self.trouble,
            "happened": list(self.happened),
            "leads_to": self.leads_to,
            "sent": list(self.sent),
        }
        return told | {name: one for name, one in further.items() if one}


def _shown(element: PageElement) -> object:
    return msgspec.to_builtins(element)
