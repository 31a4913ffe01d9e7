"""Text with Signal's styles, which are counted in UTF-16 units."""

from agent.channels.render.parser import read
from agent.channels.render.styled import Style, Styled, StyledSpan, utf16_units

_QUOTE_MARK = "> "


def to_plain(markdown: str) -> str:
    """Return plain text, for platforms without styles."""
    return spelled(read(markdown)).text


def spelled(styled: Styled) -> Styled:
    """Return the text with marks spelled out; only character styles remain."""
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
        StyledSpan(starts[span.start], ends[span.end], span.style, span.value)
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


def address_of(span: StyledSpan) -> str:
    """Return the address to show behind a link."""
    return f" ({span.value})"


def _shows_itself(styled: Styled, span: StyledSpan) -> bool:
    text = styled.text[span.start : span.end]
    return not span.value or text in {span.value, span.value.removeprefix("mailto:")}


def _line_starts(text: str, span: StyledSpan) -> list[int]:
    inner = range(span.start, span.end - 1)
    return [span.start, *(place + 1 for place in inner if text[place] == "\n")]


# Start, length, and Signal's name of the style
StyleRange = tuple[int, int, str]

_NAMES = {
    Style.BOLD: "BOLD",
    Style.ITALIC: "ITALIC",
    Style.STRIKE: "STRIKETHROUGH",
    Style.CODE: "MONOSPACE",
    Style.BLOCK: "MONOSPACE",
}


def to_styles(markdown: str) -> tuple[str, tuple[StyleRange, ...]]:
    """Return the text, and its styles in the order they begin."""
    styled = spelled(read(markdown))
    ranges = []
    for span in sorted(styled.spans, key=lambda span: (span.start, -span.end)):
        start = utf16_units(styled.text[: span.start])
        length = utf16_units(styled.text[span.start : span.end])
        ranges.append((start, length, _NAMES[span.style]))
    return styled.text, tuple(ranges)
