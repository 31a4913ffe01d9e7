from pathlib import Path

import pytest

from agent.memory.pdf import pages_of
from agent.messages import Provenance
from agent.tools.files import FileReadTool
from tests.fakes.pdfs import pdf
from tests.fakes.workspace import OUTSIDE, refused, told, used, workspace_in


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = workspace_in(tmp_path)
    (folder / "sheet.pdf").write_bytes(pdf(["3.6 V at most", "100 mA at most"]))
    return folder


async def test_a_pdf_is_read_as_lines_with_its_pages_marked(workspace: Path) -> None:
    tool = FileReadTool(workspace, pages_of)
    text = "[page 1]\n3.6 V at most\n[page 2]\n100 mA at most\n"
    assert await told(tool, path="sheet.pdf") == {"path": "sheet.pdf", "text": text, "more": False}
    part = await told(tool, path="./sheet.pdf", first_line=2, lines=1)
    assert (part["text"], part["more"]) == ("3.6 V at most\n", True)


async def test_a_pdf_is_trusted_as_any_file_is(workspace: Path) -> None:
    result = await used(FileReadTool(workspace, pages_of), path="sheet.pdf")
    assert (result.provenance, result.source) == (Provenance.TOOL, "file:sheet.pdf")


async def test_what_only_begins_like_a_pdf_is_refused_with_a_sentence(workspace: Path) -> None:
    (workspace / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of it is true")
    text = await refused(FileReadTool(workspace, pages_of), path="broken.pdf")
    assert text.startswith("this PDF cannot be read: it is damaged or locked")


async def test_a_link_to_a_pdf_outside_is_not_followed(workspace: Path) -> None:
    (workspace.parent / "outside.pdf").write_bytes(pdf([OUTSIDE]))
    (workspace / "link.pdf").symlink_to(workspace.parent / "outside.pdf")
    assert "link" in await refused(FileReadTool(workspace, pages_of), path="link.pdf")


async def test_the_file_that_was_opened_is_read_whatever_its_name_means_by_then(
    workspace: Path,
) -> None:
    (workspace.parent / "outside.pdf").write_bytes(pdf([OUTSIDE]))
    with (workspace / "sheet.pdf").open("rb") as file:
        (workspace / "sheet.pdf").unlink()
        (workspace / "sheet.pdf").symlink_to(workspace.parent / "outside.pdf")
        assert await pages_of(file) == ["3.6 V at most", "100 mA at most"]


async def test_without_a_reader_a_pdf_is_a_file_like_any_other(workspace: Path) -> None:
    (workspace / "picture.pdf").write_bytes(b"%PDF-1.4\n\0")
    assert "not text" in await refused(FileReadTool(workspace), path="picture.pdf")
