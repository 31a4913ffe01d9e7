import sys
from pathlib import Path

import pytest

from agent.errors import DocumentUnreadable
from agent.memory import pdf, pdf_program
from agent.memory.pdf import pages_of
from tests.fakes.pdfs import bomb
from tests.fakes.pdfs import pdf as written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sheet.pdf"


async def read(path: Path, content: bytes) -> list[str]:
    path.write_bytes(content)  # noqa: ASYNC240 - a test
    return await pages_of(path)


async def test_each_page_is_read(path: Path) -> None:
    assert await read(path, written(["Supply 3.3 V", "", "Pin PB0"])) == [
        "Supply 3.3 V",
        "",
        "Pin PB0",
    ]


@pytest.mark.parametrize(
    "content",
    [b"", b"not a PDF", b"%PDF-1.4\n" + b"\xff" * 5000, written(["text"])[:300]],
    ids=["empty", "text", "noise", "cut"],
)
async def test_what_is_no_pdf_is_said(path: Path, content: bytes) -> None:
    with pytest.raises(DocumentUnreadable, match="damaged or locked"):
        await read(path, content)


async def test_a_page_that_unfolds_to_any_size_ends_its_own_process_only(path: Path) -> None:
    content = bomb(120_000_000)
    assert len(content) < 2_000_000
    with pytest.raises(DocumentUnreadable):
        await read(path, content)


async def test_a_scanned_document_is_said_to_have_no_text(path: Path) -> None:
    """Whoever is given empty pages makes something up."""
    with pytest.raises(DocumentUnreadable, match="no text: its pages are pictures"):
        await read(path, written(["", " "]))


async def test_too_much_text_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_TEXT_BYTES", 50)
    with pytest.raises(DocumentUnreadable, match="limits of memory, time or text"):
        await read(path, written(["a" * 40, "b" * 40]))


async def test_pages_beyond_the_limit_are_left_out_and_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "MAX_PAGES", 2)
    said = "[Only the first 2 of its 3 pages are read: divide the file.]"
    assert await read(path, written(["one", "two", "three"])) == ["one", "two", said]
    with pytest.raises(DocumentUnreadable, match="pictures"):
        await read(path, written(["", "", ""]))


async def test_who_takes_too_long_is_stopped(path: Path) -> None:
    path.write_bytes(written(["one"]))  # noqa: ASYNC240 - a test
    with pytest.raises(DocumentUnreadable, match="took longer"):
        await pages_of(path, timeout_s=0.0)


async def test_without_the_reader_it_says_what_to_install(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare.py"
    bare.write_text(
        "import runpy, sys\nsys.modules['pypdf'] = None\n"
        f"sys.argv[0] = {pdf_program.__file__!r}\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    monkeypatch.setattr(pdf_program, "__file__", str(bare))
    with pytest.raises(DocumentUnreadable, match="--extra documents"):
        await read(path, written(["one"]))


def test_reading_a_pdf_loads_nothing_into_the_agent() -> None:
    assert "pypdf" not in sys.modules
