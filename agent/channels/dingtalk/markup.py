"""Text format of DingTalk: Markdown where its few marks suffice, else plain text.

It documents bold, italics, quotes, lists and links, and no way to show a sign that looks like a
mark. So what holds one, or code, goes as text, of which every sign is shown.
"""

import json
import re
from itertools import pairwise

from msgspec import Struct

from agent.channels.render.styled import Style, Styled, StyledSpan

# Of the words alone; signs that JSON escapes, and marks, need more
MAX_PART_BYTES = 6000
# What the platform takes: 15000 of one kind of message, 20000 of the other
MAX_BYTES = 14_500
# What a list of chats shows of a message
MAX_TITLE_CHARS = 60
_MARKS = {Style.BOLD: "**", Style.ITALIC: "*"}
_SHOWN = (Style.QUOTE, Style.LINK, Style.BOLD, Style.ITALIC)
# What might be read as a mark, and spaces that would be left out
_MISREAD = re.compile(r"[\\`*_~<|\[\]]|&#?\w+;|^[#>+-]|^[^\S\n]|[^\S\n]{2}", re.MULTILINE)
_ADDRESS = re.compile(r"https?://[^\s()<>\[\]]+")


class DingTalkText(Struct, frozen=True):
    """Text of a message; with a title it is Markdown."""

    text: str
    title: str = ""

    @property
    def hooked(self) -> dict[str, object]:
        """Return the body for a session webhook."""
        if self.title:
            return {"msgtype": "markdown", "markdown": {"title": self.title, "text": self.text}}
        return {"msgtype": "text", "text": {"content": self.text}}

    @property
    def by_robot(self) -> tuple[str, dict[str, str]]:
        """Return the name and fields of the template for a robot's message."""
        if self.title:
            return "sampleMarkdown", {"title": self.title, "text": self.text}
        return "sampleText", {"content": self.text}

    @property
    def is_short_enough(self) -> bool:
        told = json.dumps(self.by_robot[1], ensure_ascii=False)
        return len(told.encode("utf-8", "replace")) <= MAX_BYTES


def parts(markdown: str) -> tuple[str, ...]:
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs them
    from agent.channels.render.styled import utf8_bytes  # noqa: PLC0415 - as above

    return split(markdown, MAX_PART_BYTES, utf8_bytes)


def shown(markdown: str) -> DingTalkText:
    from agent.channels.render.parser import read  # noqa: PLC0415 - as above
    from agent.channels.render.plain import to_plain  # noqa: PLC0415 - an answer needs it, no start

    plain = to_plain(markdown)
    styled = read(markdown)
    marked = _marked(styled)
    if marked and to_plain(marked) == plain:
        title = plain.strip().partition("\n")[0][:MAX_TITLE_CHARS]
        if (words := DingTalkText(marked, title)).is_short_enough:
            return words
    return DingTalkText(plain)


def _marked(styled: Styled) -> str:
    """Return the text as Markdown; empty if marks cannot show it or are not needed."""
    styles = {span.style for span in styled.spans}
    if not styles & {*_SHOWN} or Style.BLOCK in styles or _MISREAD.search(styled.text):
        return ""
    if not all(map(_can_lead, styled.spans)):
        return ""
    spans = [span for span in styled.spans if span.style in _SHOWN]
    borders = {place for span in spans for place in (span.start, span.end)}
    written, opened, is_quoted = "", list[StyledSpan](), False
    for start, end in pairwise(sorted({0, len(styled.text), *borders})):
        text = styled.text[start:end]
        wanted = [span for span in spans if span.start <= start < span.end]
        quotes = any(span.style is Style.QUOTE for span in wanted)
        wanted = sorted(
            (span for span in wanted if span.style is not Style.QUOTE),
            key=lambda span: _SHOWN.index(span.style),
        )
        kept = _common(opened, wanted)
        written += "".join(_closing(span) for span in reversed(opened[kept:]))
        written += "> " if quotes and not is_quoted else ""
        written += "".join(_opening(span) for span in wanted[kept:]) + _lines(text, quotes=quotes)
        opened, is_quoted = wanted, quotes
    return written + "".join(_closing(span) for span in reversed(opened))


def _can_lead(span: StyledSpan) -> bool:
    return span.style is not Style.LINK or _ADDRESS.fullmatch(span.value) is not None


def _common(opened: list[StyledSpan], wanted: list[StyledSpan]) -> int:
    for place, (before, after) in enumerate(zip(opened, wanted, strict=False)):
        if before != after:
            return place
    return min(len(opened), len(wanted))


def _lines(text: str, *, quotes: bool) -> str:
    """Mark line ends by two spaces, as the platform wants it."""
    begins = "> " if quotes else ""
    paragraphs = text.split("\n\n")
    between = f"\n{begins.rstrip()}\n{begins}" if quotes else "\n\n"
    return between.join(one.replace("\n", f"  \n{begins}") for one in paragraphs)


def _opening(span: StyledSpan) -> str:
    return "[" if span.style is Style.LINK else _MARKS[span.style]


def _closing(span: StyledSpan) -> str:
    return f"]({span.value})" if span.style is Style.LINK else _MARKS[span.style]
