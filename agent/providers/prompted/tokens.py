"""Text in the pieces that decide if it is quoted.

What a piece is depends only on the text up to a bounded number of characters after it: so it is
the same however the text arrives.
"""

import enum
import re
from collections.abc import Collection

from msgspec import Struct

from agent.providers.answer import MODULES, bare
from agent.providers.prompted import marks
from agent.providers.prompted.calls import NAMED_AT_ONCE
from agent.providers.prompted.quotation import Quotation, fence_of

# Longer runs of backticks are taken for several
_MAX_RUN = 64
_PLAIN = re.compile(r"[^\n`~<\[\]◁]+")
_BACKTICKS = re.compile(rf"`{{1,{_MAX_RUN}}}")
_FENCE_LINE = re.compile(
    rf"(?:`{{3,{_MAX_RUN}}}|~{{3,{_MAX_RUN}}})[^\n]{{0,{marks.MAX_INFO_CHARS}}}"
)
_FENCE_BEGINS = re.compile(r"`{1,2}\Z|~{1,2}\Z|`{3}|~{3}")
_TOOL_NAME = re.compile(r"[\w.-]{1,65}")
# What some models begin with that think aloud
_THOUGHTS = ("Thought:", "analysis")
_THOUGHT = re.compile(r"Thought:|analysis(?=[A-Z])")
# An object whose first key is not one of a call
_OTHER_KEY = re.compile(
    r"[\[{\s]{1,20}\"(?!(?:type|name|function|tool|tool_name|tool_calls)\")[^\"]*\""
)
# Up to the name of a tool: marks, a type, and the longest name
_MOST_HEAD_CHARS = 160
_BLANK = re.compile(r"[^\S\n]+|\n")


class TokenType(enum.Enum):
    """Kind of a piece of text."""

    # Within a line, and of no meaning here
    PLAIN = "plain"
    # The end of a line
    LINE_END = "line end"
    # The beginning or end of a span of code
    BACKTICKS = "backticks"
    # A line at one end of a block of code, without its end
    FENCE = "fence"
    # Around a call or a thought
    MARK = "mark"


class Beginning(enum.Enum):
    """Kind of an answer's beginning."""

    # The whole answer may be a call without marks
    CALL = "call"
    # It is text, or begins with a mark
    TEXT = "text"
    # The next characters will tell
    UNKNOWN = "unknown"


class Token(Struct, frozen=True):
    """Piece of text."""

    kind: TokenType
    end: int
    text: str
    mark: re.Match[str] | None = None


def next_token(text: str, place: int, quoting: Quotation, *, is_whole: bool) -> Token | None:
    """Return the piece that begins at `place`; None until more text has come.

    Args:
        is_whole: nothing follows the text.
    """
    char = text[place]
    if char == "\n":
        return Token(TokenType.LINE_END, place + 1, char)
    if char == "<":
        return _mark(text, place, is_whole=is_whole)
    if char in "`~":
        return _fence(text, place, quoting, is_whole=is_whole)
    plain = _PLAIN.match(text, place)
    end = plain.end() if plain else place + 1
    return Token(TokenType.PLAIN, end, text[place:end])


def blank(text: str, place: int) -> Token | None:
    """Return the spaces, or the end of a line, that begin at `place`."""
    found = _BLANK.match(text, place)
    if found is None:
        return None
    kind = TokenType.LINE_END if found[0] == "\n" else TokenType.PLAIN
    return Token(kind, found.end(), found[0])


def follow(quoting: Quotation, token: Token) -> None:
    """Tell `quoting` of a piece that stays in the text."""
    fence = fence_of(token.text) if token.kind is TokenType.FENCE else None
    if fence is not None:
        quoting.fence(fence)
    elif token.kind is TokenType.LINE_END:
        quoting.new_line()
    elif token.kind is TokenType.BACKTICKS:
        quoting.backticks(len(token.text))
    else:
        quoting.plain(token.text)


def beginning(
    text: str, start: int, offered: Collection[str], *, names_tool: bool = False
) -> Beginning:
    """Return the kind of an answer's first characters, spaces left out.

    Args:
        names_tool: objects count only where the first thing in them is the name of a tool.
    """
    found = _any_beginning(text, start, offered)
    if names_tool and found is Beginning.CALL and text[start] in "{[`":
        return _object_beginning(text, start, offered)
    return found


def _any_beginning(text: str, start: int, offered: Collection[str]) -> Beginning:
    if text[start] == "{":
        return Beginning.CALL
    if text[start] == "[":
        return _list_beginning(text, start, offered)
    if text[start] == "`":
        return _block_beginning(text, start)
    if _THOUGHT.match(text, start):
        return Beginning.CALL
    if any(one.startswith(text[start:]) for one in _THOUGHTS):
        return Beginning.UNKNOWN
    return _name_beginning(text, start, offered)


def _mark(text: str, place: int, *, is_whole: bool) -> Token | None:
    mark = marks.MARK.match(text, place)
    if mark is not None:
        return Token(TokenType.MARK, mark.end(), mark[0], mark)
    ahead = text[place : place + marks.MAX_MARK_CHARS + 1]
    if not is_whole and marks.may_become_mark(ahead):
        return None
    return Token(TokenType.PLAIN, place + 1, "<")


def _fence(text: str, place: int, quoting: Quotation, *, is_whole: bool) -> Token | None:
    ahead = text[place : place + _MAX_RUN + marks.MAX_INFO_CHARS + 1]
    may_be_cut = not is_whole and "\n" not in ahead
    if quoting.may_be_fence and _FENCE_BEGINS.match(ahead):
        if may_be_cut and len(ahead) <= _MAX_RUN + marks.MAX_INFO_CHARS:
            return None
        line = _FENCE_LINE.match(text, place)
        if line is not None and fence_of(line[0]) is not None:
            return Token(TokenType.FENCE, line.end(), line[0])
    if text[place] == "~":
        return Token(TokenType.PLAIN, place + 1, "~")
    run = _BACKTICKS.match(text, place)
    end = run.end() if run else place + 1
    if end == len(text) and end - place < _MAX_RUN and not is_whole:
        return None
    return Token(TokenType.BACKTICKS, end, text[place:end])


def _object_beginning(text: str, start: int, offered: Collection[str]) -> Beginning:
    """Tell if objects begin with the name of a tool."""
    head = text[start : start + _MOST_HEAD_CHARS]
    if head[0] == "`":
        head = head.partition("\n")[2].lstrip()
    if head and head[0] not in "{[":
        return Beginning.TEXT
    named = NAMED_AT_ONCE.match(head)
    if named is not None:
        return Beginning.CALL if bare(named[1]) in offered else Beginning.TEXT
    may_name = len(text) - start < _MOST_HEAD_CHARS and not _OTHER_KEY.match(head)
    return Beginning.UNKNOWN if may_name else Beginning.TEXT


def _block_beginning(text: str, start: int) -> Beginning:
    """Tell if a block of code begins that may hold a call."""
    first_line, line_end, _ = text[start : start + marks.MAX_INFO_CHARS].partition("\n")
    if not line_end and len(first_line) < marks.MAX_INFO_CHARS:
        return Beginning.UNKNOWN if "```".startswith(first_line[:3]) else Beginning.TEXT
    fence = fence_of(first_line)
    is_call = fence is not None and fence.info in marks.PLAIN_BLOCKS
    return Beginning.CALL if is_call else Beginning.TEXT


def _name_beginning(text: str, start: int, offered: Collection[str]) -> Beginning:
    """Tell if a tool's name begins, with its arguments after it."""
    name = _TOOL_NAME.match(text, start)
    if name is None:
        return Beginning.TEXT
    if name.end() == len(text):
        is_begun = any(tool.startswith(bare(name[0])) for tool in offered) or any(
            module.startswith(name[0]) for module in MODULES
        )
        return Beginning.UNKNOWN if is_begun else Beginning.TEXT
    if bare(name[0]) not in offered:
        return Beginning.TEXT
    return Beginning.CALL if text[name.end()] in "{(\r\n" else Beginning.TEXT


def _list_beginning(text: str, start: int, offered: Collection[str]) -> Beginning:
    """Tell if a list of calls begins: of objects, or in Python's form."""
    if start + 1 == len(text):
        return Beginning.UNKNOWN
    if text[start + 1] in "{ \r\n":
        return Beginning.CALL
    return _name_beginning(text, start + 1, offered)
