"""Tools that read, write and list files of the workspace, and nothing outside it.

What a file or a folder holds may have been written by anybody: its trust is that of a tool.
"""

import asyncio
import codecs
import contextlib
import io
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Annotated, BinaryIO

from msgspec import Meta, Struct, structs

from agent.errors import BarnacleError, PathRefused
from agent.messages import Effect, ToolResult
from agent.passage import Passage, Provenance, echo, fields, own, read
from agent.security.act import Dependence
from agent.security.paths import HERE, list_beneath, open_beneath, write_beneath
from agent.security.received import is_received
from agent.security.shares import NOTHING_PRIVATE, PASSED_ON, Disclosure
from agent.tools import own_files
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.file_pages import (
    FilePage,
    Transcribe,
    media_type_of,
    page_of_text,
    picture_of,
    refuse_beyond,
    words_of,
)

# A model reads more in several steps
MAX_TEXT_BYTES = 64 * 1024
# To reach a late line everything before it is read: a few seconds of a slow card
MAX_SCANNED_BYTES = 64 * 1024 * 1024
MAX_CONTENT_BYTES = 1024 * 1024
MAX_ENTRIES = 1000
# Where long results are kept for a while; what stands there is not for writing
RESULTS_FOLDER = ".results"
# Settings and hooks in it name programs, for the owner's own git as well
_REPOSITORY = ".git"
# A card that has not answered by then is failing
DISK_TIMEOUT_S = 15.0
# Text has no zero byte near its beginning, pictures and programs do
_PROBE_BYTES = 8192
# A datasheet of some hundred pages, on a Pi; longer ones are for the folder of documents
PDF_TIMEOUT_S = 30.0
_PDF = b"%PDF-"
_RECORDING = "audio/"
_DECODER = codecs.getincrementaldecoder("utf-8")

RelativePath = Annotated[
    str, Meta(max_length=1024, description="relative to the workspace, such as notes/today.md")
]
# What arguments of this kind are called
_PATHS = ("path", "folder", "repository")


# The text of each page of an open PDF, within so many seconds; raises DocumentUnreadable
ReadPages = Callable[[BinaryIO, float], Awaitable[list[str]]]


class PathArguments(Arguments, frozen=True):
    """Arguments with a path; the owner's rules see it as paths are written here."""

    def by_name(self) -> dict[str, object]:
        told = super().by_name()
        paths = {name: plain(str(told[name])) or HERE for name in _PATHS if name in told}
        return told | paths


class ReadArguments(PathArguments, frozen=True):
    """Lines to read from a file."""

    path: RelativePath
    first_line: Annotated[int, Meta(ge=1)] = 1
    lines: Annotated[int, Meta(ge=1, le=10_000)] = 500
    page: Annotated[int, Meta(ge=1, le=100_000, description="instead of lines")] | None = None


class WriteArguments(PathArguments, frozen=True):
    """Path and whole new content of a file."""

    path: RelativePath
    content: str


class FileListArguments(PathArguments, frozen=True):
    """Folder to list; "" is the workspace."""

    path: RelativePath = HERE


class Excerpt(Struct, frozen=True):
    """Lines of a file; `more` is true if text follows them.

    Args:
        next_line: where reading goes on; 0 if nothing follows.
        is_cut: the only line is longer than the limit, and the rest of it is passed over.
    """

    text: str
    more: bool
    next_line: int = 0
    is_cut: bool = False


class FileReadTool(Tool[ReadArguments]):
    """Reads lines or a page of a text, table or PDF, and what a picture or recording tells."""

    reads = Provenance.TOOL
    name = "file_read"
    description = own("Read a text file, PDF, picture or recording in the workspace.")
    effect = Effect.READ
    arguments_type = ReadArguments
    reads_on = True

    def __init__(
        self,
        workspace: Path,
        pages: ReadPages | None = None,
        transcribe: Transcribe | None = None,
    ) -> None:
        self._workspace = workspace
        self._pages = pages
        self._transcribe = transcribe

    def shows(self, arguments: ReadArguments) -> Disclosure:
        path = plain(arguments.path)
        return PASSED_ON if own_files.is_own(path) else of_file(path)

    async def execute(self, arguments: ReadArguments, context: ToolContext) -> ToolResult:
        path = plain(arguments.path)
        # Read by programs and services, outside the thread
        others: list[tuple[BinaryIO, ReadArguments]] = []

        def look() -> Passage:
            place = own_files.found(self._workspace, path, context.audience)
            meant = structs.replace(arguments, path=place)
            with contextlib.ExitStack() as opened:
                file = opened.enter_context(open_beneath(self._workspace, place))
                if self._is_for_another(file, place):
                    opened.pop_all()
                    others.append((file, meant))
                    return own("")
                return _read_here(file, meant)

        result = await in_thread(look, self.reads, f"file:{path}")
        for file, meant in others:
            with file:
                result = await self._read_elsewhere(file, meant)
        return result

    def _is_for_another(self, file: BinaryIO, path: str) -> bool:
        """Return true for a PDF or a recording; the file stands at its beginning afterwards."""
        beginning = file.read(len(_PDF))
        file.seek(0)
        is_document = self._pages is not None and beginning == _PDF
        return is_document or media_type_of(path).startswith(_RECORDING)

    async def _read_elsewhere(self, file: BinaryIO, arguments: ReadArguments) -> ToolResult:
        path = plain(arguments.path)
        try:
            if self._pages is None or media_type_of(path).startswith(_RECORDING):
                words = await words_of(file, path, self._transcribe)
                return ToolResult.done(_told_page(path, words))
            pages = await self._pages(file, PDF_TIMEOUT_S)
            if arguments.page is not None:
                refuse_beyond(arguments.page, len(pages), path)
                text = pages[arguments.page - 1].replace("\0", "").rstrip()
                page = FilePage(text, arguments.page, len(pages))
                return ToolResult.done(_told_page(path, page))
        except PathRefused as err:
            return ToolResult.failed(err.words(_trust_of(path), _source(path)))
        except BarnacleError as err:
            why = err.words(_trust_of(path), _source(path))
            return ToolResult.failed(own("this PDF cannot be read: {}", why))
        text = "".join(
            f"[page {number}]\n{page.rstrip()}\n" for number, page in enumerate(pages, start=1)
        )
        # A zero byte in a document's text says nothing
        whole = io.BytesIO(text.replace("\0", "").encode(errors="replace"))
        excerpt = excerpt_of(whole, arguments.first_line, arguments.lines)
        return ToolResult.done(_told(arguments.path, excerpt))


def _read_here(file: BinaryIO, arguments: ReadArguments) -> Passage:
    path = plain(arguments.path)
    if (picture := picture_of(file)) is not None:
        return _told_page(path, picture)
    file.seek(0)
    if arguments.page is not None:
        return _told_page(path, page_of_text(file, path, arguments.page))
    return _told(arguments.path, excerpt_of(file, arguments.first_line, arguments.lines))


def _told_page(path: str, page: FilePage) -> Passage:
    return read({"path": path, **page.as_fields}, _trust_of(path), _source(path))


class FileWriteTool(Tool[WriteArguments]):
    """Makes or replaces a text file."""

    reads = Provenance.TOOL
    name = "file_write"
    description = own("Write a whole text file in the workspace; an older one is replaced.")
    effect = Effect.WRITE
    shown = NOTHING_PRIVATE
    arguments_type = WriteArguments

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def binds_to(self, arguments: WriteArguments) -> Dependence:
        """Bind the approval to the current content, which the owner agreed to replace."""
        return Dependence(self._workspace, (plain(arguments.path),))

    async def execute(self, arguments: WriteArguments, context: ToolContext) -> ToolResult:
        def write() -> Passage:
            content = arguments.content.encode(errors="replace")
            if len(content) > MAX_CONTENT_BYTES:
                raise PathRefused(f"the content is longer than {MAX_CONTENT_BYTES} bytes")
            refuse_others(plain(arguments.path))
            write_beneath(self._workspace, plain(arguments.path), content)
            return fields({"path": echo(arguments.path), "bytes": len(content)})

        return await in_thread(write, self.reads, _source(arguments.path))


class FileListTool(Tool[FileListArguments]):
    """Lists a folder."""

    reads = Provenance.TOOL
    name = "file_list"
    description = own("List a folder of the workspace; received/mine is what this person sent.")
    effect = Effect.READ
    arguments_type = FileListArguments

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def shows(self, arguments: FileListArguments) -> Disclosure:
        path = plain(arguments.path) or HERE
        return PASSED_ON if own_files.is_own(path) else Disclosure(trees=(path,))

    async def execute(self, arguments: FileListArguments, context: ToolContext) -> ToolResult:
        path = own_files.resolved(plain(arguments.path) or HERE, context.audience)

        def looked() -> Passage:
            has_sent = (
                path != own_files.own_folder(context.audience) or (self._workspace / path).is_dir()
            )
            entries = list_beneath(self._workspace, path, MAX_ENTRIES + 1) if has_sent else []
            told = [
                {
                    "name": entry.name,
                    "kind": "folder" if entry.is_folder else "file",
                    "size_bytes": entry.size_bytes,
                }
                for entry in entries[:MAX_ENTRIES]
            ]
            listed: dict[str, object] = {"path": path, "entries": told}
            if len(entries) > MAX_ENTRIES:
                listed["more"] = f"this folder has more than {MAX_ENTRIES}: these are some of them"
            return read(listed, trust_of_paths([path]))

        return await in_thread(looked, self.reads)


def excerpt_of(file: BinaryIO, first_line: int, lines: int) -> Excerpt:
    """Return some whole lines of a text within a model's limit; replace bytes that are not UTF-8.

    Of a line that is longer than the limit alone the beginning is returned.

    Raises:
        PathRefused: it is not text, or the line is too far into the file.
    """
    if b"\0" in file.read(_PROBE_BYTES):
        raise PathRefused("this file is not text: it cannot be read here")
    file.seek(0)
    _skip_lines(file, first_line - 1)
    kept: list[bytes] = []
    room = MAX_TEXT_BYTES
    while lines and room and (piece := file.readline(room)):
        kept.append(piece)
        room -= len(piece)
        lines -= piece.endswith(b"\n")
    if any(b"\0" in piece for piece in kept):
        raise PathRefused("this file is not text from there on: it cannot be read here")
    more = bool(file.read(1))
    is_cut = more and bool(kept) and not kept[-1].endswith(b"\n")
    if is_cut and len(kept) > 1:
        # Whoever goes on with the line after it would never see the rest
        kept.pop()
        is_cut = False
    # A character that the limit cut in two is left out, every other fault is replaced
    text = _DECODER("replace").decode(b"".join(kept), final=room > 0)
    if not more:
        return Excerpt(text, more)
    return Excerpt(text, more, first_line + len(kept), is_cut)


def _told(path: str, excerpt: Excerpt) -> Passage:
    told: dict[str, object] = {"path": path, "text": excerpt.text, "more": excerpt.more}
    if excerpt.more:
        told["next_line"] = excerpt.next_line
    if excerpt.is_cut:
        told["cut"] = "this line goes on: only reading by page shows the rest of it"
    return read(told, _trust_of(plain(path)), _source(path))


def _source(path: str) -> str:
    return f"file:{plain(path)}"


def _skip_lines(file: BinaryIO, count: int) -> None:
    left_bytes = MAX_SCANNED_BYTES
    while count and left_bytes > 0 and (piece := file.readline(MAX_TEXT_BYTES)):
        left_bytes -= len(piece)
        count -= piece.endswith(b"\n")
    if left_bytes <= 0:
        raise PathRefused("this line is too far into the file to be read")


def of_file(path: str) -> Disclosure:
    """Return the data that reading a file shows; a kept result was already shown to its reader."""
    return PASSED_ON if is_result(path) else Disclosure(files=(path,))


def is_result(path: str) -> bool:
    return path.partition("/")[0] == RESULTS_FOLDER


def refuse_others(path: str) -> None:
    """Raise PathRefused for folders that others write: git obeys the files of a repository."""
    if is_result(path):
        raise PathRefused(f"{RESULTS_FOLDER} is only for results of tools")
    if any(part.lower() == _REPOSITORY for part in path.split("/")):
        raise PathRefused(f"{_REPOSITORY} is only for git itself")


def _trust_of(path: str) -> Provenance:
    """Return the trust of a file: that of a tool, of a stranger, or of the result it keeps."""
    if not is_result(path):
        return trust_of_paths([path])
    from agent.tools.result_names import trust_of  # noqa: PLC0415 - few read such a file

    return trust_of(path.rpartition("/")[2])


def trust_of_paths(paths: Iterable[str]) -> Provenance:
    """Return the trust of what stands in these files, and of their names."""
    # What people send is nobody's order, as where it is shown with its message
    return Provenance.WEB if any(map(is_received, paths)) else Provenance.TOOL


def plain(path: str) -> str:
    """Return the path without `./` and a final slash, as paths are written here."""
    path = path.removeprefix("./")
    return path.removesuffix("/") if len(path) > 1 else path


async def in_thread(job: Callable[[], Passage], reads: Provenance, source: str = "") -> ToolResult:
    """Run the job in a thread; a failure has the lowest trust of what it may have read."""
    try:
        async with asyncio.timeout(DISK_TIMEOUT_S):
            return ToolResult.done(await asyncio.to_thread(job))
    except TimeoutError:
        return ToolResult.failed(own("the storage did not answer within {} s", DISK_TIMEOUT_S))
    except BarnacleError as err:
        return ToolResult.failed(err.words(reads, source))
