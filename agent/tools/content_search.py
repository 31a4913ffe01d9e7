"""Tool that finds lines in workspace files, by words or by a regular expression.

Words are looked for here; an expression may be made to explode, so another process tries it.
What is no text is passed over.
"""

import asyncio
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from agent.errors import BarnacleError, PathRefused
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, own, read
from agent.security.paths import HERE, WalkEntry, open_beneath, open_found, walk_beneath
from agent.security.sandbox.base import Sandbox
from agent.security.shares import Disclosure
from agent.tools import match_program
from agent.tools.base import Tool, ToolContext
from agent.tools.files import (
    DISK_TIMEOUT_S,
    RESULTS_FOLDER,
    PathArguments,
    RelativePath,
    is_result,
    plain,
    trust_of_paths,
)
from agent.tools.glob_search import MAX_LOOKED_AT, beneath, fits, parts_of_pattern
from agent.tools.helper_program import InputRejected, LimitsExceeded, output_of

# A longer file is a recording, not something that is read
MAX_FILE_BYTES = 4 * 1024 * 1024
# Of all files together: what is held at once where another process is given them
MAX_READ_BYTES = 16 * 1024 * 1024
# No file is begun after it: a slow card, and less than what a card is given to answer
READ_TIMEOUT_S = 10.0
# Python's own start on the smallest Pi, and the search many times over
PATTERN_TIMEOUT_S = 20.0
MAX_FOUND = 200
_PROBE_BYTES = 8192

Line = tuple[str, int, str]


class ContentArguments(PathArguments, frozen=True):
    """Text to search for, and the files to search."""

    query: Annotated[str, Meta(min_length=1, max_length=256)]
    path: RelativePath = HERE
    files: Annotated[str, Meta(min_length=1, max_length=256, description="such as **/*.md")] = "**"
    regex: Annotated[bool, Meta(description="query is a regular expression")] = False
    ignore_case: bool = False
    limit: Annotated[int, Meta(ge=1, le=MAX_FOUND)] = 50


class _Texts(Struct):
    """Files to search, and a note of those that were skipped."""

    workspace: Path
    arguments: ContentArguments
    left_bytes: int = MAX_READ_BYTES
    is_whole: bool = True
    until_s: float = field(default_factory=lambda: time.monotonic() + READ_TIMEOUT_S)

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        """Yield the path and content of each text that fits."""
        folder = plain(self.arguments.path) or HERE
        if (content := self._single(folder)) is not None:
            yield folder, content
            return
        pattern = parts_of_pattern(self.arguments.files)
        every = enumerate(walk_beneath(self.workspace, folder, MAX_LOOKED_AT), start=1)
        for count, found in every:
            self.is_whole &= count < MAX_LOOKED_AT
            is_wanted = not found.entry.is_folder and not is_result(found.relative)
            if is_wanted and fits(pattern, beneath(found.relative, folder)):
                content = self._content(found)
                if content and b"\0" not in content[:_PROBE_BYTES]:
                    yield found.relative, content
            if time.monotonic() > self.until_s:
                self.is_whole = False
                return

    def _content(self, found: WalkEntry) -> bytes:
        """Return the content; b"" if it is too large or the file has changed its kind."""
        if found.entry.size_bytes > min(MAX_FILE_BYTES, self.left_bytes):
            self.is_whole = False
            return b""
        try:
            with open_found(found) as file:
                content = file.read(MAX_FILE_BYTES)
        except PathRefused:
            return b""
        self.left_bytes -= len(content)
        return content

    def _single(self, path: str) -> bytes | None:
        """Return the content if the path names a file instead of a folder."""
        if path == HERE:
            return None
        # Their trust differs from file to file: file_read knows it
        if is_result(path):
            raise PathRefused(f"only file_read reads {RESULTS_FOLDER}")
        try:
            with open_beneath(self.workspace, path) as file:
                content = file.read(MAX_FILE_BYTES)
                self.is_whole = not file.read(1)
        except PathRefused:
            return None
        if b"\0" in content[:_PROBE_BYTES]:
            raise PathRefused("this file is not text: it cannot be searched")
        return content


class ContentSearchTool(Tool[ContentArguments]):
    """Finds lines in files."""

    reads = Provenance.TOOL
    name = "content_search"
    description = own("Find lines in the workspace's text files that hold a text or fit a pattern.")
    effect = Effect.READ
    arguments_type = ContentArguments

    def __init__(self, workspace: Path, sandbox: Sandbox | None = None) -> None:
        self._workspace = workspace
        self._sandbox = sandbox

    def opens(self, arguments: ContentArguments) -> tuple[str, ...]:
        return (plain(arguments.path) or HERE,)

    def shows(self, arguments: ContentArguments) -> Disclosure:
        return Disclosure(trees=(plain(arguments.path) or HERE,))

    async def execute(self, arguments: ContentArguments, context: ToolContext) -> ToolResult:
        texts = _Texts(self._workspace, arguments)
        try:
            if arguments.regex:
                found = await _by_pattern(texts, arguments, self._sandbox)
            else:
                found = await _by_words(texts, arguments)
        except TimeoutError:
            return ToolResult.failed(own("the storage is too slow to search all files"))
        except LimitsExceeded as err:
            why = own("{}: use a simpler pattern, or fewer files", err.words(self.reads))
            return ToolResult.failed(why)
        except (BarnacleError, InputRejected) as err:
            return ToolResult.failed(err.words(self.reads))
        lines = [{"path": path, "line": line, "text": text} for path, line, text in found]
        more = len(lines) > arguments.limit or not texts.is_whole
        trust = trust_of_paths(path for path, _, _ in found)
        return ToolResult.done(read({"found": lines[: arguments.limit], "more": more}, trust))


async def _by_words(texts: _Texts, arguments: ContentArguments) -> list[Line]:
    def find() -> list[Line]:
        ignores_case = arguments.ignore_case
        wanted = arguments.query.casefold() if ignores_case else arguments.query

        def place(line: str) -> int:
            return (line.casefold() if ignores_case else line).find(wanted)

        lines = (
            (path, number, line)
            for path, content in texts
            for number, line in match_program.matching(content.decode(errors="replace"), place)
        )
        return list(itertools.islice(lines, arguments.limit + 1))

    async with asyncio.timeout(DISK_TIMEOUT_S):
        return await asyncio.to_thread(find)


async def _by_pattern(
    texts: _Texts, arguments: ContentArguments, sandbox: Sandbox | None
) -> list[Line]:
    def gather() -> bytes:
        given = list[bytes]()
        for path, content in texts:
            given.append(match_program.framed(path, content))
            texts.is_whole &= match_program.is_looked_at_whole(content.decode(errors="replace"))
        return b"".join(given)

    options = (arguments.query, "yes" if arguments.ignore_case else "no", str(arguments.limit + 1))
    async with asyncio.timeout(DISK_TIMEOUT_S):
        given = await asyncio.to_thread(gather)
    told = await output_of(match_program.__file__, options, given, PATTERN_TIMEOUT_S, sandbox)
    return [msgspec.json.decode(line, type=Line) for line in told.splitlines()]
