"""Quotations in a text, in which calls do not count: code, and other people's words.

Quoted is what stands in a block or a span of code, in a line that begins with `>`, in a line that
is indented as code, or right after a quotation mark. A span of code ends with its line at the
latest.
"""

import re

from msgspec import Struct

# From so many spaces on Markdown shows a line as code
_CODE_INDENT = 4
_QUOTATION_MARKS = frozenset("\"'`“”„‘’‚«‹「『")
_FENCE = re.compile(r"(`{3,64}|~{3,64})([^\n]*)")


class Fence(Struct, frozen=True):
    """Line at one end of a block of code."""

    char: str
    length: int
    info: str


def fence_of(line: str) -> Fence | None:
    """Return the fence that a line begins or ends; None if it is no fence."""
    found = _FENCE.match(line)
    if found is None or (found[1][0] == "`" and "`" in found[2]):
        return None
    return Fence(found[1][0], len(found[1]), found[2].strip().lower())


class Quotation:
    """Follows a text from its beginning, in pieces of any size."""

    def __init__(self) -> None:
        self._fence: Fence | None = None
        # Length of the backticks that began a span of code; 0 outside of one
        self._span = 0
        self._is_cited = False
        self._indent = 0
        self._last = ""
        # Nothing but spaces so far
        self.is_line_start = True

    @property
    def is_quoted(self) -> bool:
        """Return true if a mark here would be a quotation."""
        is_code = self._fence is not None or self._span > 0 or self._indent >= _CODE_INDENT
        return is_code or self._is_cited or self._last in _QUOTATION_MARKS

    @property
    def is_in_block(self) -> bool:
        return self._fence is not None

    @property
    def may_be_fence(self) -> bool:
        """Return true if backticks here would begin or end a block of code."""
        return self.is_line_start and self._indent < _CODE_INDENT and not self._is_cited

    def plain(self, text: str) -> None:
        """Take text within a line, without backticks."""
        if self.is_line_start:
            rest = text.lstrip(" \t")
            blank = text[: len(text) - len(rest)]
            self._indent += len(blank) + (_CODE_INDENT - 1) * blank.count("\t")
            if rest:
                self.is_line_start = False
                self._is_cited = rest[0] == ">" and self._fence is None
        self._last = text[-1:] or self._last

    def new_line(self) -> None:
        self._span = 0
        self._is_cited = False
        self._indent = 0
        self.is_line_start = True
        self._last = "\n"

    def backticks(self, count: int) -> None:
        """Take backticks within a line; those of a block of code are a `fence`."""
        self.is_line_start = False
        self._last = "`"
        if self._fence is None:
            if self._span == 0:
                self._span = count
            elif self._span == count:
                self._span = 0

    def fence(self, fence: Fence) -> None:
        """Take the beginning of a block of code, or its end if it fits the beginning."""
        began = self._fence
        if began is None:
            self._fence = fence
        elif fence.char == began.char and fence.length >= began.length and not fence.info:
            self._fence = None
        self.is_line_start = False

    def mark(self) -> None:
        """Take a mark out: the line continues as if it had begun here."""
        self._last = ">"
        self._indent = 0
