"""Text format of Slack: its marks, and three escaped characters.

Nothing in it calls anybody: what looks like a call of a person or of everybody is escaped. Slack
knows no way to show a mark that stands by itself, so a `*` around words is bold whoever wrote it.
"""

from itertools import pairwise

from agent.channels.render.styled import Style, Styled, StyledSpan

# What Slack advises for one message, and takes of one that is changed
MAX_CHARS = 4000
# Of the words alone, so that there is room for marks; where it is too little they are left out
MAX_PLAIN_CHARS = 3600
# No names are looked for in it, and no picture of a page that a link leads to is fetched
QUIET: dict[str, object] = {"parse": "none", "unfurl_links": False, "unfurl_media": False}
_MARKS = {Style.BOLD: "*", Style.ITALIC: "_", Style.STRIKE: "~", Style.CODE: "`"}
_ORDER = {style: place for place, style in enumerate(Style)}
_FENCE = "```"


def escaped(text: str) -> str:
    """Escape the text, so that Slack finds no mentions or links in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def parts(markdown: str) -> tuple[str, ...]:
    """Split the text into messages."""
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs it

    return split(markdown, MAX_PLAIN_CHARS, _size)


def first_part(markdown: str) -> str:
    """Return as much of a draft as one message shows."""
    return parts(markdown[: 2 * MAX_CHARS])[0]


def shown(markdown: str) -> str:
    """Return the text of a message."""
    from agent.channels.render.parser import read  # noqa: PLC0415 - as above
    from agent.channels.render.plain import to_plain  # noqa: PLC0415 - no start needs it

    styled = read(markdown)
    plain = escaped(to_plain(markdown))
    for text in (_marked(styled), plain):
        if _units(text) <= MAX_CHARS:
            return text
    return plain


def _size(plain: str) -> int:
    return _units(escaped(plain))


def _units(text: str) -> int:
    """Return the length by the strictest count, since Slack's is not documented."""
    return len(text) + sum(char > "\uffff" for char in text)


def _marked(styled: Styled) -> str:
    borders = {place for span in styled.spans for place in (span.start, span.end)}
    written, opened, is_quoted = "", list[StyledSpan](), False
    for start, end in pairwise(sorted({0, len(styled.text), *borders})):
        wanted = _styles_at(styled, start)
        kept = _common(opened, wanted)
        written += "".join(_closing(span) for span in reversed(opened[kept:]))
        quotes = any(span.style is Style.QUOTE for span in wanted)
        text = "".join(_opening(span) for span in wanted[kept:]) + escaped(styled.text[start:end])
        written += _quoted(text, begins=not is_quoted) if quotes else text
        opened, is_quoted = wanted, quotes
    return written + "".join(_closing(span) for span in reversed(opened))


def _styles_at(styled: Styled, place: int) -> list[StyledSpan]:
    """Return the spans around a character, outermost first, each style once."""
    found: dict[Style, StyledSpan] = {}
    for span in styled.spans:
        if span.start <= place < span.end and _can_be_shown(styled, span):
            found.setdefault(span.style, span)
    for alone in (Style.BLOCK, Style.CODE):
        if alone in found:
            # Slack takes marks inside for characters
            return [found[alone]]
    return sorted(found.values(), key=lambda span: _ORDER[span.style])


def _can_be_shown(styled: Styled, span: StyledSpan) -> bool:
    text = styled.text[span.start : span.end]
    if span.style is Style.CODE:
        return "`" not in text
    if span.style is Style.LINK:
        return not any(char in span.value for char in "<>| \n")
    return span.style is not Style.BLOCK or _FENCE not in text


def _common(opened: list[StyledSpan], wanted: list[StyledSpan]) -> int:
    for place, (before, after) in enumerate(zip(opened, wanted, strict=False)):
        if before != after:
            return place
    return min(len(opened), len(wanted))


def _quoted(text: str, *, begins: bool) -> str:
    return ("> " if begins else "") + text.replace("\n", "\n> ")


def _opening(span: StyledSpan) -> str:
    if span.style is Style.BLOCK:
        return f"{_FENCE}\n"
    if span.style is Style.LINK:
        return f"<{escaped(span.value)}|"
    return _MARKS.get(span.style, "")


def _closing(span: StyledSpan) -> str:
    if span.style is Style.BLOCK:
        return f"\n{_FENCE}"
    return ">" if span.style is Style.LINK else _MARKS.get(span.style, "")
