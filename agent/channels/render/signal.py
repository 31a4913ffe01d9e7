"""Text with Signal's styles, which are counted in UTF-16 units."""

from agent.channels.render.reading import read
from agent.channels.render.spelling import spelled
from agent.channels.render.styled import Style, utf16_units

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
    """The text, and its styles in the order they begin."""
    styled = spelled(read(markdown))
    ranges = []
    for span in sorted(styled.spans, key=lambda span: (span.start, -span.end)):
        start = utf16_units(styled.text[: span.start])
        length = utf16_units(styled.text[span.start : span.end])
        ranges.append((start, length, _NAMES[span.style]))
    return styled.text, tuple(ranges)
