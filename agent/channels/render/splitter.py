"""Splitter of long answers into parts that a platform accepts.

Cut between blocks where that is possible, then between lines, sentences and words; never inside
a sign that a person sees. Code blocks are closed and opened again, links stay whole.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from agent.channels.render.parser import MarkdownBlock, blocks, read
from agent.channels.render.plain import address_of, spelled
from agent.channels.render.styled import Style, Styled, StyledSpan, joined
from agent.channels.render.writer import written

_JOINER = "\u200d"
_NON_JOINER = "\u200c"
_REGIONAL = range(0x1F1E6, 0x1F200)
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)
_LEADING, _VOWEL, _TRAILING = range(0x1100, 0x1160), range(0x1160, 0x11A8), range(0x11A8, 0x1200)
_SYLLABLES = range(0xAC00, 0xD7A4)
# Of each leading consonant and vowel the first syllable has no trailing consonant
_TRAILINGS = 28
# Halfwidth marks of voiced kana, which attach though they count as letters
_VOICED = "\uff9e\uff9f"


def may_cut(text: str, place: int) -> bool:
    """Return true if a character ends before `place`."""
    if place <= 0 or place >= len(text):
        return True
    before, after = text[place - 1], text[place]
    if before in "\r\n" or after in "\r\n":
        return before + after != "\r\n"
    # After a joiner is looked at more strictly than Unicode does: no pair of any kind is parted
    if _attaches(after) or before == _JOINER or _joins_syllable(before, after):
        return False
    if ord(before) in _REGIONAL and ord(after) in _REGIONAL:
        return _flags_before(text, place) % 2 == 0
    return True


def last_cut(text: str, place: int) -> int:
    """Return the last place to cut up to `place`; `place` itself if a character is too long."""
    for earlier in range(place, 0, -1):
        if may_cut(text, earlier):
            return earlier
    return place


def _attaches(char: str) -> bool:
    code = ord(char)
    return (
        char in (_JOINER, _NON_JOINER)
        or unicodedata.category(char) in {"Mn", "Me", "Mc"}
        or code in _SKIN_TONES
        or code in _TAGS
        or char in _VOICED
    )


def _joins_syllable(before: str, after: str) -> bool:
    first, second = ord(before), ord(after)
    is_open = first in _SYLLABLES and (first - _SYLLABLES.start) % _TRAILINGS == 0
    if first in _LEADING:
        return second in _LEADING or second in _VOWEL or second in _SYLLABLES
    if first in _VOWEL or is_open:
        return second in _VOWEL or second in _TRAILING
    return (first in _TRAILING or first in _SYLLABLES) and second in _TRAILING


def _flags_before(text: str, place: int) -> int:
    """Return the number of regional indicators right before `place`."""
    count = 0
    while count < place and ord(text[place - count - 1]) in _REGIONAL:
        count += 1
    return count


# Size of a text as a platform counts; that of two texts together is the sum of theirs
Measure = Callable[[str], int]

# No platform has less room; with less, a mark and its word would not fit
MIN_LIMIT = 16
# A part that is cut at a better place is at least this full
_FULL_ENOUGH = 0.5
_BETWEEN = "\n\n"
# What is better not cut; a cut inside is made only where nothing else fits
_WHOLE = frozenset({Style.LINK, Style.CODE})


def split(markdown: str, limit: int, measure: Measure) -> tuple[str, ...]:
    """Return the Markdown of each part; as plain text none exceeds `limit`."""
    found = blocks(markdown)
    whole = joined((block.shown for block in found), _BETWEEN)
    if measure(spelled(whole).text) <= limit:
        return (markdown,)
    fit = _Fit(max(limit, MIN_LIMIT), measure)
    parts: list[str] = []
    waiting: list[MarkdownBlock] = []
    for block in found:
        if waiting and not fit.fits(_shown([*waiting, block])):
            parts.append(_markdown(waiting))
            waiting = []
        if fit.fits(block.shown):
            waiting.append(block)
            continue
        *full, rest = [MarkdownBlock(written(piece), piece) for piece in fit.cut(block.shown)]
        parts += [piece.source for piece in full]
        waiting = [rest]
    return (*parts, *([_markdown(waiting)] if waiting else []))


def _shown(found: Sequence[MarkdownBlock]) -> Styled:
    return joined((block.shown for block in found), _BETWEEN)


def _markdown(found: Sequence[MarkdownBlock]) -> str:
    """Return the original Markdown, unless it means something else by itself."""
    source = _BETWEEN.join(block.source for block in found)
    shown = _shown(found)
    return source if spelled(read(source)).text == spelled(shown).text else written(shown)


class _Fit(Struct, frozen=True):
    """Limit of one part."""

    limit: int
    measure: Measure

    def fits(self, styled: Styled) -> bool:
        return self.measure(spelled(styled).text) <= self.limit

    def cut(self, styled: Styled) -> Iterator[Styled]:
        """Yield pieces that fit, of one that does not."""
        if any(self._is_long(styled, span) for span in styled.spans):
            # An address that leaves no room for its words becomes words itself
            styled = spelled(styled)
        rest = styled
        while not self.fits(rest):
            place = self._place(rest)
            piece, rest = _parted(rest, place)
            if piece.text.strip():
                yield piece
        if rest.text.strip():
            yield rest

    def _is_long(self, styled: Styled, span: StyledSpan) -> bool:
        text = styled.text[span.start : span.end] + address_of(span)
        return span.style is Style.LINK and 2 * self.measure(text) > self.limit

    def _place(self, styled: Styled) -> int:
        """Return the end of the next piece."""
        # Every character counts at least one: what is behind this is not looked at
        head = styled.cut(0, self.limit + 1)
        place = _best_place(head, self._most(head))
        # Half an address that is shown as itself is longer than the whole
        while place > 1 and not self.fits(head.cut(0, place)):
            place = last_cut(head.text, place - 1)
        return place

    def _most(self, styled: Styled) -> int:
        """Return the longest beginning that fits."""
        low, high = 1, min(self.limit, len(styled.text) - 1)
        while low < high:
            middle = (low + high + 1) // 2
            if self.fits(styled.cut(0, middle)):
                low = middle
            else:
                high = middle - 1
        return low


def _best_place(styled: Styled, most: int) -> int:
    text = styled.text
    whole = [span for span in styled.spans if span.style in _WHOLE]
    inside = {place for span in whole for place in range(span.start + 1, span.end)}
    possible = range(most, int(most * _FULL_ENOUGH), -1)
    places = [place for place in possible if place not in inside and may_cut(text, place)]
    for is_good in (_ends_paragraph, _ends_line, _ends_sentence, _ends_word):
        for place in places:
            if is_good(text, place):
                return place
    return places[0] if places else last_cut(text, most)


def _ends_paragraph(text: str, place: int) -> bool:
    return text.endswith("\n\n", 0, place)


def _ends_line(text: str, place: int) -> bool:
    return text[place - 1] == "\n"


def _ends_sentence(text: str, place: int) -> bool:
    before = text[place - 1]
    return before in "。！？" or (before.isspace() and text[place - 2 : place - 1] in {*".!?…"})


def _ends_word(text: str, place: int) -> bool:
    return text[place - 1].isspace() or text[place].isspace()


def _parted(styled: Styled, place: int) -> tuple[Styled, Styled]:
    """Return both sides of a cut, without the space between."""
    text, start, end = styled.text, place, place
    if any(span.style is Style.BLOCK and span.start < place < span.end for span in styled.spans):
        # The spaces that a line of code begins with mean something
        end -= text[place - 1] == "\n"
    else:
        while end and text[end - 1].isspace():
            end -= 1
        while start < len(text) and text[start].isspace() and may_cut(text, start + 1):
            start += 1
    return styled.cut(0, end), styled.cut(start, len(text))
