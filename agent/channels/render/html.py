"""HTML of Telegram: few tags, closed in order, everything else escaped."""

import html
from collections.abc import Sequence
from itertools import pairwise

from agent.channels.render.parser import read
from agent.channels.render.styled import Style, Styled, StyledSpan

_ORDER = {style: place for place, style in enumerate(Style)}
_TAGS = {
    Style.QUOTE: "blockquote",
    Style.LINK: "a",
    Style.BOLD: "b",
    Style.ITALIC: "i",
    Style.STRIKE: "s",
    Style.CODE: "code",
    Style.BLOCK: "pre",
}
_FIXED_WIDTH = frozenset({Style.CODE, Style.BLOCK})


def to_html_telegram(markdown: str) -> str:
    """Return the text for `parse_mode` HTML; never longer than `split` has measured."""
    return _html(read(markdown))


def _html(styled: Styled) -> str:
    written: list[str] = []
    opened: list[StyledSpan] = []
    borders = {place for span in styled.spans for place in (span.start, span.end)}
    places = sorted({0, len(styled.text), *borders})
    for start, end in pairwise(places):
        wanted = _styles_at(styled, start)
        kept = _common(opened, wanted)
        written += [f"</{_closing(span)}>" for span in reversed(opened[kept:])]
        written += [_opening(span) for span in wanted[kept:]]
        opened = wanted
        written.append(html.escape(styled.text[start:end], quote=False))
    written += [f"</{_closing(span)}>" for span in reversed(opened)]
    return "".join(written)


def _styles_at(styled: Styled, place: int) -> list[StyledSpan]:
    """Return the spans around a character, outermost first, each style once."""
    found: dict[Style, StyledSpan] = {}
    for span in styled.spans:
        if span.start <= place < span.end:
            found.setdefault(span.style, span)
    if _FIXED_WIDTH & found.keys():
        # Telegram lets nothing else be inside
        found = {style: s for style, s in found.items() if style in {Style.QUOTE, *_FIXED_WIDTH}}
    return sorted(found.values(), key=lambda span: _ORDER[span.style])


def _common(opened: Sequence[StyledSpan], wanted: Sequence[StyledSpan]) -> int:
    """Return the number of outer tags that stay open."""
    for place, (before, after) in enumerate(zip(opened, wanted, strict=False)):
        if before != after:
            return place
    return min(len(opened), len(wanted))


def _opening(span: StyledSpan) -> str:
    if span.style is Style.LINK:
        return f'<a href="{html.escape(span.value)}">'
    if span.style is Style.BLOCK and span.value:
        return f'<pre><code class="language-{html.escape(span.value)}">'
    return f"<{_TAGS[span.style]}>"


def _closing(span: StyledSpan) -> str:
    if span.style is Style.BLOCK and span.value:
        return "code></pre"
    return _TAGS[span.style]
