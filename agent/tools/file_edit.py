"""Tool that replaces one exact piece of text in a file."""

from pathlib import Path
from typing import Annotated, BinaryIO

from msgspec import Meta

from agent.errors import PathRefused
from agent.messages import Effect, ToolResult
from agent.passage import Passage, Provenance, echo, fields, own
from agent.security.act import Dependence
from agent.security.paths import change_beneath
from agent.security.shares import NOTHING_PRIVATE
from agent.tools.base import Tool, ToolContext
from agent.tools.files import (
    MAX_CONTENT_BYTES,
    PathArguments,
    RelativePath,
    in_thread,
    plain,
    refuse_others,
)

# Enough to see that it is a common piece
MAX_LINES_NAMED = 10


class EditArguments(PathArguments, frozen=True):
    """Text to replace, its replacement and the file."""

    path: RelativePath
    old: Annotated[str, Meta(min_length=1, description="exactly as it stands, once in the file")]
    new: str


class FileEditTool(Tool[EditArguments]):
    """Replaces one piece of a text file."""

    reads = Provenance.TOOL
    name = "file_edit"
    description = own(
        "Replace a piece of text that occurs exactly once in a file of the workspace."
    )
    effect = Effect.WRITE
    shown = NOTHING_PRIVATE
    arguments_type = EditArguments

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def binds_to(self, arguments: EditArguments) -> Dependence:
        """Bind the approval to the current content, which the owner agreed to replace."""
        return Dependence(self._workspace, (plain(arguments.path),))

    async def execute(self, arguments: EditArguments, context: ToolContext) -> ToolResult:
        def edit() -> Passage:
            refuse_others(plain(arguments.path))
            old, new = (text.encode(errors="replace") for text in (arguments.old, arguments.new))
            line = size = 0

            def change(file: BinaryIO) -> bytes:
                nonlocal line, size
                content = file.read(MAX_CONTENT_BYTES + 1)
                ends = line_end_of(content)
                line, changed = replaced(content, _ended(old, ends), _ended(new, ends))
                size = len(changed)
                return changed

            change_beneath(self._workspace, plain(arguments.path), change)
            return fields({"path": echo(arguments.path), "line": line, "bytes": size})

        return await in_thread(edit, self.reads)


def line_end_of(content: bytes) -> bytes:
    """Return what ends the lines of a text of Windows; b"" for any other, and for a mixed one."""
    ends = content.count(b"\n")
    return b"\r\n" if ends and content.count(b"\r\n") == ends else b""


def _ended(text: bytes, line_end: bytes) -> bytes:
    """Return the text with the file's own line ends: a model writes lines as others end them."""
    return text.replace(b"\r\n", b"\n").replace(b"\n", line_end) if line_end else text


def replaced(content: bytes, old: bytes, new: bytes) -> tuple[int, bytes]:
    """Return the line where `old` was found, and the content with `new` in its place.

    Raises:
        PathRefused: it does not stand there, or at several places, or the file is no such text.
    """
    if old == new:
        raise PathRefused("the old and the new text are the same: nothing was changed")
    if b"\0" in content:
        raise PathRefused("this file is not text: it cannot be edited here")
    lines = _lines_with(content, old)
    if not lines:
        raise PathRefused("the old text is not in the file: read the file first; spaces count")
    if len(lines) > 1:
        named = ", ".join(map(str, lines[:MAX_LINES_NAMED]))
        more = " and more" if len(lines) > MAX_LINES_NAMED else ""
        raise PathRefused(
            f"the old text occurs several times, in lines {named}{more}: include the text around it"
        )
    changed = content.replace(old, new)
    if max(len(content), len(changed)) > MAX_CONTENT_BYTES:
        raise PathRefused(f"the file is longer than {MAX_CONTENT_BYTES} bytes")
    return lines[0], changed


def _lines_with(content: bytes, piece: bytes) -> list[int]:
    """Return the line of each match, overlaps included; stop one beyond the limit."""
    lines: list[int] = []
    at, line, counted = content.find(piece), 1, 0
    while at >= 0 and len(lines) <= MAX_LINES_NAMED:
        line += content.count(b"\n", counted, at)
        counted = at
        lines.append(line)
        at = content.find(piece, at + 1)
    return lines
