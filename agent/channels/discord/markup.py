"""Text format of Discord: its Markdown, with accidental marks escaped.

Nothing in it calls anybody, and no address in it is looked at by the platform: a link that is
shown with a picture of the page would tell whose page it is what the agent was made to write.
"""

import re
from itertools import pairwise

from agent.channels.render.styled import Style, Styled, StyledSpan

# What Discord takes in one message, in characters; units of UTF-16 are never fewer
MAX_UNITS = 2000
# Of the words alone, so that there is room for marks; where it is too little they are left out
MAX_PLAIN_UNITS = 1900
# A message without pictures of what its links lead to
NO_PREVIEWS = 1 << 2
_QUIET: dict[str, object] = {"allowed_mentions": {"parse": []}, "flags": NO_PREVIEWS}
_MARKS = {Style.BOLD: "**", Style.ITALIC: "*", Style.STRIKE: "~~"}
_ORDER = {style: place for place, style in enumerate(Style)}
_MARK = re.compile(r"[\\`*_~|<\[\]]")
_SPECIAL = re.compile(r"(https?://[^\s<]+)|([\\`*_~|<\[\]])")
# At the beginning of a line: a quote, a heading, a list, small print
_BEGINNING = re.compile(r"^(\s*)(>|#{1,3}(?=\s)|-#|[-+](?=\s))", re.MULTILINE)
_FENCE = "```"


def parts(markdown: str) -> tuple[str, ...]:
    """Split the text into messages."""
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs it
    from agent.channels.render.styled import utf16_units  # noqa: PLC0415 - as above

    return split(markdown, MAX_PLAIN_UNITS, utf16_units)


def first_part(markdown: str) -> str:
    """Return as much of a draft as one message shows."""
    return parts(markdown[: 2 * MAX_UNITS])[0]


def mention_of(channel_id: str) -> str:
    """Return the raw text that shows as a link to a channel or thread."""
    return f"<#{channel_id}> "


def shown(markdown: str, ahead: str = "") -> dict[str, object]:
    """Return the fields of a new or edited message.

    Args:
        ahead: raw text before it, short enough for the room that is left for marks.
    """
    from agent.channels.render.parser import read  # noqa: PLC0415 - as above
    from agent.channels.render.plain import to_plain  # noqa: PLC0415 - no start needs it
    from agent.channels.render.styled import utf16_units  # noqa: PLC0415 - as above

    styled = read(markdown)
    for content in (ahead + _marked(styled), ahead + to_plain(markdown)):
        if utf16_units(content) <= MAX_UNITS:
            return {"content": content, **_QUIET}
    return {"content": ahead + to_plain(markdown)[: MAX_UNITS // 2], **_QUIET}


def literal(text: str) -> dict[str, object]:
    """Return the fields of a message that shows the text character by character."""
    if _FENCE in text or not text.strip():
        return {"content": escaped(text), **_QUIET}
    return {"content": f"{_FENCE}\n{text}\n{_FENCE}", **_QUIET}


def escaped(text: str, *, keeps_addresses: bool = False) -> str:
    """Escape the text's Markdown marks, except in addresses."""

    def spelled(found: re.Match[str]) -> str:
        if found[1] is not None and not keeps_addresses:
            return _MARK.sub(r"\\\g<0>", found[0])
        return found[1] or f"\\{found[2]}"

    return _BEGINNING.sub(r"\1\\\2", _SPECIAL.sub(spelled, text))


def _marked(styled: Styled) -> str:
    borders = {place for span in styled.spans for place in (span.start, span.end)}
    written, opened, is_quoted = "", list[StyledSpan](), False
    for start, end in pairwise(sorted({0, len(styled.text), *borders})):
        wanted = _styles_at(styled, start)
        kept = _common(opened, wanted)
        written += "".join(_closing(styled, span) for span in reversed(opened[kept:]))
        quotes = any(span.style is Style.QUOTE for span in wanted)
        text = "".join(_opening(styled, span) for span in wanted[kept:])
        text += _content(styled.text[start:end], wanted)
        begins = quotes and not is_quoted
        written += _quoted(text, begins=begins) if quotes else text
        opened, is_quoted = wanted, quotes
    return written + "".join(_closing(styled, span) for span in reversed(opened))


def _styles_at(styled: Styled, place: int) -> list[StyledSpan]:
    """Return the spans around a character that can be shown, outermost first."""
    found: dict[Style, StyledSpan] = {}
    for span in styled.spans:
        if span.start <= place < span.end and _can_be_shown(styled, span):
            found.setdefault(span.style, span)
    if Style.BLOCK in found:
        # Discord takes marks inside for characters
        return [found[Style.BLOCK]]
    return sorted(found.values(), key=lambda span: _ORDER[span.style])


def _can_be_shown(styled: Styled, span: StyledSpan) -> bool:
    # Two backticks would end a code that is marked by two
    return span.style is not Style.CODE or "``" not in _text_of(styled, span)


def _text_of(styled: Styled, span: StyledSpan) -> str:
    return styled.text[span.start : span.end]


def _common(opened: list[StyledSpan], wanted: list[StyledSpan]) -> int:
    for place, (before, after) in enumerate(zip(opened, wanted, strict=False)):
        if before != after:
            return place
    return min(len(opened), len(wanted))


def _content(text: str, inside: list[StyledSpan]) -> str:
    styles = {span.style for span in inside}
    if Style.BLOCK in styles:
        # A fence inside would end the block
        return text.replace(_FENCE, "`\u200b``")
    return text if Style.CODE in styles else escaped(text, keeps_addresses=True)


def _quoted(text: str, *, begins: bool) -> str:
    return ("> " if begins else "") + text.replace("\n", "\n> ")


def _opening(styled: Styled, span: StyledSpan) -> str:
    if span.style is Style.BLOCK:
        # No dot: what is left of an address would be one
        language = "".join(char for char in span.value if char.isalnum() or char in "+-#_")
        return f"{_FENCE}{language}\n"
    if span.style is Style.CODE:
        return "`` " if "`" in _text_of(styled, span) else "`"
    if span.style is Style.LINK:
        return "[" if _is_masked(styled, span) else ""
    return _MARKS.get(span.style, "")


def _closing(styled: Styled, span: StyledSpan) -> str:
    if span.style is Style.BLOCK:
        return f"\n{_FENCE}"
    if span.style is Style.CODE:
        return " ``" if "`" in _text_of(styled, span) else "`"
    if span.style is Style.LINK:
        if _is_masked(styled, span):
            return f"](<{span.value}>)"
        is_itself = _text_of(styled, span) in {span.value, span.value.removeprefix("mailto:")}
        return "" if is_itself else escaped(f" ({span.value})")
    return _MARKS.get(span.style, "")


def _is_masked(styled: Styled, span: StyledSpan) -> bool:
    """Return true for a link with a text; Discord accepts pages only."""
    is_plain = not any(char in span.value for char in "<>() \n")
    return (
        span.value.startswith(("http://", "https://"))
        and is_plain
        and ("://" not in _text_of(styled, span))
    )
