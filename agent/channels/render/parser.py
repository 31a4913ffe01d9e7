"""Markdown parser: makes styled blocks of paragraphs, lists, tables and code.

What cannot be shown at all is shown as the text it is; nothing that a model wrote disappears.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.channels.render.styled import Style, Styled, StyledSpan, joined

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Longer texts are shown as they are: reading them would hold up everybody
MAX_READ_CHARS = 256 * 1024
# Lists in lists in quotes: what is deeper is no writing but an attack
MAX_DEPTH = 40
# A telephone shows about this many characters of fixed width in a line
MAX_TABLE_CHARS = 48
RULE = "———"
# What a platform lets a person open; other addresses are words
SCHEMES = ("http://", "https://", "tg://", "mailto:")
_INDENT = "  "
_STYLES = {"strong": Style.BOLD, "em": Style.ITALIC, "s": Style.STRIKE}


class MarkdownBlock(Struct, frozen=True):
    """Outermost block, as written and as shown."""

    source: str
    shown: Styled


def read(markdown: str) -> Styled:
    """Return the whole text with its styles."""
    return joined((block.shown for block in blocks(markdown)), "\n\n")


# An answer is parsed to be split and again to be sent; some people are answered at once
@lru_cache(maxsize=8)
def blocks(markdown: str) -> tuple[MarkdownBlock, ...]:
    """Return the visible blocks in order."""
    as_is = (MarkdownBlock("", Styled(cleaned(markdown).strip())),)
    if len(markdown) > MAX_READ_CHARS:
        return as_is
    tokens = _parser().parse(markdown)
    # Beyond the parser's depth it leaves text out
    if any(token.level >= MAX_DEPTH - 1 for token in tokens):
        return as_is
    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = []
    for group in _groups(tokens):
        first, last = group[0].map or (0, 0)
        shown = _block(group)
        if shown.text.strip():
            found.append(MarkdownBlock("\n".join(lines[first:last]).strip("\n"), shown))
    return tuple(found) or as_is


def cleaned(text: str) -> str:
    """Remove characters that no platform shows and some refuse."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        char for char in text if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cs"}
    )


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - the first answer needs it, no start

    options = {"html": False, "maxNesting": MAX_DEPTH}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"])


def _groups(tokens: Sequence["Token"]) -> list[list["Token"]]:
    """Group tokens: each group is one element with its content."""
    groups: list[list[Token]] = []
    depth = 0
    for token in tokens:
        if depth == 0:
            groups.append([])
        groups[-1].append(token)
        depth += token.nesting
    return groups


def _block(group: Sequence["Token"]) -> Styled:
    first, inside = group[0], group[1:-1]
    shown = _LEAVES.get(first.type)
    if shown is not None:
        return shown(first)
    match first.type:
        case "heading_open":
            return _all_in(_inline(inside[0]), Style.BOLD)
        case "blockquote_open":
            # Platforms know one level of quotes
            return _all_in(_stacked(inside).without(Style.QUOTE), Style.QUOTE)
        case "bullet_list_open" | "ordered_list_open":
            return _list(first, inside)
        case "table_open":
            return _table(inside)
        case _:
            return _stacked(inside)


def _stacked(tokens: Sequence["Token"], between: str = "\n\n") -> Styled:
    shown = [_block(group) for group in _groups(tokens)]
    return joined((one for one in shown if one.text.strip()), between)


def _all_in(inner: Styled, style: Style, value: str = "") -> Styled:
    if not inner.text:
        return inner
    return Styled(inner.text, (StyledSpan(0, len(inner.text), style, value), *inner.spans))


def _code(token: "Token") -> Styled:
    language = cleaned(token.info).strip().split()[:1]
    text = cleaned(token.content).removesuffix("\n")
    return _all_in(Styled(text), Style.BLOCK, "".join(language))


def _list(opening: "Token", inside: Sequence["Token"]) -> Styled:
    number = int(opening.attrGet("start") or 1) if opening.type.startswith("ordered") else None
    items = []
    for group in _groups(inside):
        mark = "• " if number is None else f"{number}. "
        items.append(_marked(mark, _item(group[1:-1])))
        number = None if number is None else number + 1
    return _closely(items)


def _marked(mark: str, item: Styled) -> Styled:
    if _is_block(item, 0):
        return joined((Styled(mark.rstrip()), item), "\n\n")
    return joined((Styled(mark), item), "")


def _closely(pieces: Iterable[Styled]) -> Styled:
    """Join lines; a code block gets empty lines around it."""
    whole: Styled | None = None
    for piece in pieces:
        if whole is None:
            whole = piece
            continue
        is_apart = _is_block(whole, len(whole.text) - 1) or _is_block(piece, 0)
        whole = joined((whole, piece), "\n\n" if is_apart else "\n")
    return whole or Styled("")


def _is_block(piece: Styled, place: int) -> bool:
    return any(s.style is Style.BLOCK and s.start <= place < s.end for s in piece.spans)


def _item(tokens: Sequence["Token"]) -> Styled:
    """Return a list item, with its later blocks indented."""
    shown = [_block(group) for group in _groups(tokens)]
    return _closely(
        _set_in(one) if place else one for place, one in enumerate(shown) if one.text.strip()
    )


def _set_in(block: Styled) -> Styled:
    """Indent each line, except in code blocks that bring their own indent."""
    text, spans, start = "", list[StyledSpan](), 0
    if any(span.style is Style.BLOCK for span in block.spans):
        return block
    for line in block.text.split("\n"):
        spans += [
            span.moved(len(text) + len(_INDENT))
            for span in block.cut(start, start + len(line)).spans
        ]
        text += f"{_INDENT}{line}\n"
        start += len(line) + 1
    return Styled(text[:-1], tuple(spans))


def _table(inside: Sequence["Token"]) -> Styled:
    rows = [
        [_inline(token).text.replace("\n", " ") for token in row if token.type == "inline"]
        for part in _groups(inside)
        for row in _groups(part[1:-1])
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=False)]
    if sum(widths) + 3 * len(widths) > MAX_TABLE_CHARS:
        return Styled("\n".join(" | ".join(row) for row in rows))
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return _all_in(Styled("\n".join(lines)), Style.BLOCK)


def _inline(token: "Token") -> Styled:
    return _Inline().read(token.children or [])


class _Inline:
    """Collector of a line's text and styles."""

    def __init__(self) -> None:
        self._text = ""
        self._spans: list[StyledSpan] = []
        self._open: list[tuple[int, str]] = []

    def read(self, tokens: Sequence["Token"]) -> Styled:
        for token in tokens:
            self._take(token)
        # A line of characters that nobody shows is no line
        lead = len(self._text) - len(self._text.lstrip("\n"))
        end = max(lead, len(self._text.rstrip("\n")))
        return Styled(self._text, tuple(self._spans)).cut(lead, end)

    def _take(self, token: "Token") -> None:
        name, _, end = token.type.rpartition("_")
        if token.type in {"softbreak", "hardbreak"}:
            self._text += "\n"
        elif token.type == "code_inline":
            self._add(token.content, Style.CODE)
        elif token.type == "image":
            self._add(_inline(token).text or "image", Style.LINK, str(token.attrGet("src") or ""))
        elif end == "open":
            self._open.append((len(self._text), str(token.attrGet("href") or "")))
        elif end == "close":
            start, href = self._open.pop()
            self._mark(start, _STYLES.get(name, Style.LINK), href)
        else:
            self._text += _in_line(token.content)

    def _add(self, content: str, style: Style, value: str = "") -> None:
        start = len(self._text)
        self._text += _in_line(content)
        self._mark(start, style, value)

    def _mark(self, start: int, style: Style, value: str) -> None:
        if style is Style.LINK and not value.lower().startswith(SCHEMES):
            self._text += f" ({value})"
            return
        if start == len(self._text) and value:
            self._text += value
        if start < len(self._text):
            # The outer one comes first, though it ends last
            self._spans.append(StyledSpan(start, len(self._text), style, value))


def _in_line(text: str) -> str:
    # A line break that was written as an entity
    return cleaned(text.replace("\n", " "))


# Blocks of one token
_LEAVES: dict[str, Callable[["Token"], Styled]] = {
    "fence": _code,
    "code_block": _code,
    "hr": lambda _: Styled(RULE),
    "inline": _inline,
}
