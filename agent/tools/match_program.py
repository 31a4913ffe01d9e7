"""Program that searches texts for a pattern, in its own process because patterns can explode.

Takes the pattern, whether case counts, and the most lines; reads files as lines of JSON with a
path, followed by the text's bytes. Imports nothing of the agent: it is started by its path.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

# Of a line that fits: enough to know it by
SHOWN_CHARS = 300
# Of them so many before what was found: it is shown with the words around it
_SHOWN_BEFORE = 100
# A longer line is no text that a person wrote: of it a pattern is tried on the beginning alone
LOOKED_AT_CHARS = 10_000
# Where a line goes on that is shown in part
_MORE = "…"
OBJECTION = 3


def main(arguments: Sequence[str]) -> int:
    """Print hits as JSON lines; return the exit status."""
    pattern, ignores_case, most = arguments[0], arguments[1] == "yes", int(arguments[2])
    try:
        found = re.compile(pattern, re.IGNORECASE if ignores_case else 0).search
    except (re.error, RecursionError, OverflowError) as err:
        sys.stdout.write(f"the pattern is not a regular expression: {err}")
        return OBJECTION

    def place(line: str) -> int:
        hit = found(line[:LOOKED_AT_CHARS])
        return -1 if hit is None else hit.start()

    for path, text in _texts(sys.stdin.buffer):
        for number, line in matching(text, place):
            sys.stdout.write(json.dumps([path, number, line]) + "\n")
            most -= 1
            if not most:
                return 0
    return 0


def matching(text: str, place: Callable[[str], int]) -> Iterator[tuple[int, str]]:
    """Yield matching lines with their numbers from 1, cut to the shown length.

    Args:
        place: returns where a line fits, below 0 if it does not.
    """
    for number, line in enumerate(_lines(text), start=1):
        if (at := place(line)) >= 0:
            yield number, _shown(line, at)


def is_looked_at_whole(text: str) -> bool:
    """Return true if no line is longer than a pattern is tried on."""
    return all(len(line) <= LOOKED_AT_CHARS for line in _lines(text))


def framed(path: str, content: bytes) -> bytes:
    """Return a file in the input format of this program."""
    return json.dumps([path, len(content)]).encode() + b"\n" + content


def _lines(text: str) -> Iterator[str]:
    # Windows writes a mark before the first line and one at the end of each
    return (line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n"))


def _shown(line: str, at: int) -> str:
    """Return a line, or of a long one the part around a place, with marks where it goes on."""
    begin = max(0, min(at - _SHOWN_BEFORE, len(line) - SHOWN_CHARS))
    shown, is_end = line[begin : begin + SHOWN_CHARS], begin + SHOWN_CHARS >= len(line)
    if begin:
        shown = _MORE + shown[1:]
    return shown if is_end else shown[:-1] + _MORE


def _texts(source: BinaryIO) -> Iterator[tuple[str, str]]:
    while head := source.readline():
        path, size = json.loads(head)
        yield path, source.read(size).decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
