"""Styled text spelled out: quotes get their mark and links their address, in plain characters."""

from agent.channels.render.reading import read
from agent.channels.render.styled import Span, Style, Styled

_QUOTE_MARK = "> "


def to_plain(markdown: str) -> str:
    """For platforms that show nothing but text, and where a platform refuses the styles."""
    return spelled(read(markdown)).text


def spelled(styled: Styled) -> Styled:
    """The same with everything in its text; the spans that remain are those of letters."""
    added = _additions(styled)
    text, end = "", 0
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for place in sorted({0, len(styled.text), *added, *_borders(styled)}):
        text += styled.text[end:place]
        ends[place] = len(text)
        text += added.get(place, "")
        starts[place] = len(text)
        end = place
    spans = (
        Span(starts[span.start], ends[span.end], span.style, span.value)
        for span in styled.spans
        if span.style not in {Style.QUOTE, Style.LINK}
    )
    return Styled(text, tuple(span for span in spans if span.start < span.end))


def _borders(styled: Styled) -> set[int]:
    return {place for span in styled.spans for place in (span.start, span.end)}


def _additions(styled: Styled) -> dict[int, str]:
    """Return the insertions by place; an address comes before a mark."""
    added: dict[int, str] = {}
    for span in styled.spans:
        if span.style is Style.LINK and not _shows_itself(styled, span):
            added[span.end] = added.get(span.end, "") + address_of(span)
    for span in styled.spans:
        if span.style is Style.QUOTE:
            for place in _line_starts(styled.text, span):
                added[place] = added.get(place, "") + _QUOTE_MARK
    return added


def address_of(span: Span) -> str:
    """Return a link's address as it stands behind the link."""
    return f" ({span.value})"


def _shows_itself(styled: Styled, span: Span) -> bool:
    text = styled.text[span.start : span.end]
    return not span.value or text in {span.value, span.value.removeprefix("mailto:")}


def _line_starts(text: str, span: Span) -> list[int]:
    inner = range(span.start, span.end - 1)
    return [span.start, *(place + 1 for place in inner if text[place] == "\n")]
