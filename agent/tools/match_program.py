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
# A longer line is no text that a person wrote: only its beginning is looked at
LOOKED_AT_CHARS = 10_000
OBJECTION = 3


def main(arguments: Sequence[str]) -> int:
    """Print hits as JSON lines; return the exit status."""
    pattern, ignores_case, most = arguments[0], arguments[1] == "yes", int(arguments[2])
    try:
        found = re.compile(pattern, re.IGNORECASE if ignores_case else 0).search
    except (re.error, RecursionError, OverflowError) as err:
        sys.stdout.write(f"the pattern is not a regular expression: {err}")
        return OBJECTION
    for path, text in _texts(sys.stdin.buffer):
        for number, line in matching(text, lambda line: found(line) is not None):
            sys.stdout.write(json.dumps([path, number, line]) + "\n")
            most -= 1
            if not most:
                return 0
    return 0


def matching(text: str, fits: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
    """Yield matching lines with their numbers from 1, cut to the shown length."""
    # Windows writes a mark before the first line and one at the end of each
    for number, ended in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        line = ended.removesuffix("\r")
        if fits(line[:LOOKED_AT_CHARS]):
            yield number, line[:SHOWN_CHARS]


def framed(path: str, content: bytes) -> bytes:
    """Return a file in the input format of this program."""
    return json.dumps([path, len(content)]).encode() + b"\n" + content


def _texts(source: BinaryIO) -> Iterator[tuple[str, str]]:
    while head := source.readline():
        path, size = json.loads(head)
        yield path, source.read(size).decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
