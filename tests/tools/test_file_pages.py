import asyncio
import io
import json
import struct
from pathlib import Path

import pytest

from agent.errors import PathRefused
from agent.messages import Attachment, Provenance, ToolResult
from agent.tools.base import ToolContext
from agent.tools.content_search import ContentSearchTool
from agent.tools.file_pages import PAGE_BYTES, PAGE_LINES, page_of_text
from agent.tools.files import FileListTool, FileReadTool
from agent.tools.glob_search import GlobSearchTool

CONTEXT = ToolContext("terminal", "owner", Provenance.OWNER)


async def used(tool: object, **arguments: object) -> ToolResult:
    return await tool.execute(tool.parse(json.dumps(arguments)), CONTEXT)  # type: ignore[attr-defined]  # of any tool


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "received" / "owner").mkdir(parents=True)
    return tmp_path


def test_every_line_is_on_one_page() -> None:
    lines = [f"{number} " + "x" * (number % 300) + "\n" for number in range(500)]
    content = "".join(lines).encode()
    pages = page_of_text(io.BytesIO(content), "a.txt", 1).pages
    read = [
        page_of_text(io.BytesIO(content), "a.txt", number).text for number in range(1, pages + 1)
    ]
    assert "".join(read) == "".join(lines)
    assert all(len(page) <= PAGE_BYTES and page.count("\n") <= PAGE_LINES for page in read)


@pytest.mark.parametrize("letters", ["温度", "ä", "a\U0001f331", "x"])
def test_no_character_of_a_long_line_is_cut_in_two(letters: str) -> None:
    for shift in range(4):
        text = "." * shift + letters * 3 * PAGE_BYTES + "\n"
        file = io.BytesIO(text.encode())
        pages = page_of_text(file, "a.txt", 1).pages
        read = [page_of_text(file, "a.txt", number).text for number in range(1, pages + 1)]
        assert "".join(read) == text
        assert all(len(page.encode()) <= PAGE_BYTES for page in read)


def test_bytes_that_are_no_text_are_all_read() -> None:
    content = b"\xe6" * 2 * PAGE_BYTES
    pages = page_of_text(io.BytesIO(content), "a.txt", 1).pages
    read = [
        page_of_text(io.BytesIO(content), "a.txt", number).text for number in range(1, pages + 1)
    ]
    assert "".join(read) == "\ufffd" * 2 * PAGE_BYTES


def test_each_page_of_a_table_begins_with_its_heading() -> None:
    content = b"day,rain\n" + b"".join(b"%d,1\n" % number for number in range(200))
    page = page_of_text(io.BytesIO(content), "a.CSV", 2)
    assert page.text.startswith("day,rain\n59,1\n")
    assert page.pages == 4


def test_a_page_that_is_not_there_and_a_program_are_refused() -> None:
    with pytest.raises(PathRefused, match="one page: there is no page 2"):
        page_of_text(io.BytesIO(b"a\n"), "a.txt", 2)
    with pytest.raises(PathRefused, match="cannot be read here"):
        page_of_text(io.BytesIO(b"\x7fELF\0"), "a", 1)


async def test_a_page_of_a_pdf(workspace: Path) -> None:
    (workspace / "received" / "owner" / "a.pdf").write_bytes(b"%PDF-")

    async def pages(_file: object, _timeout_s: float) -> list[str]:
        return ["first", "second"]

    tool = FileReadTool(workspace, pages)
    result = await used(tool, path="received/owner/a.pdf", page=2)
    assert json.loads(result.text) == {
        "path": "received/owner/a.pdf", "text": "second", "page": 2, "pages": 2, "more": False,
    }  # fmt: skip
    assert result.provenance is Provenance.WEB
    missing = await used(tool, path="received/owner/a.pdf", page=3)
    assert "there is no page 3" in missing.text


async def test_a_picture_is_told_by_its_format_and_size(workspace: Path) -> None:
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", 640, 480)
    (workspace / "received" / "owner" / "a.png").write_bytes(png + bytes(60))
    result = await used(FileReadTool(workspace), path="received/owner/a.png")
    assert "a PNG picture, 640 x 480 pixels, 1 kB" in result.text


async def test_a_recording_is_written_down(workspace: Path) -> None:
    (workspace / "received" / "owner" / "a.ogg").write_bytes(b"OggS\0")
    heard: list[bytes] = []

    async def transcribe(speech: Attachment) -> tuple[str, str]:
        heard.append(await asyncio.to_thread(Path(speech.path).read_bytes))
        return "turn the led on", ""

    async def fail(_speech: Attachment) -> tuple[str, str]:
        return "", "the speech service answered 500"

    path = "received/owner/a.ogg"
    result = await used(FileReadTool(workspace, transcribe=transcribe), path=path)
    assert json.loads(result.text)["text"] == "turn the led on"
    assert result.provenance is Provenance.WEB
    assert heard == [b"OggS\0"]
    assert "answered 500" in (await used(FileReadTool(workspace, transcribe=fail), path=path)).text
    assert "no speech service" in (await used(FileReadTool(workspace), path=path)).text


async def test_what_was_sent_is_trusted_like_a_page_whatever_finds_it(workspace: Path) -> None:
    (workspace / "received" / "owner" / "obey.txt").write_text("rain\n")
    (workspace / "own.txt").write_text("sun\n")
    search = ContentSearchTool(workspace)
    assert (await used(search, query="rain")).provenance is Provenance.WEB
    assert (await used(search, query="sun")).provenance is Provenance.TOOL
    assert (await used(GlobSearchTool(workspace), pattern="**/*.txt")).provenance is Provenance.WEB
    listed = FileListTool(workspace)
    assert (await used(listed, path="received/owner")).provenance is Provenance.WEB
    assert (await used(listed)).provenance is Provenance.TOOL
