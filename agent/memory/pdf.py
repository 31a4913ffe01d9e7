"""Text of a PDF by pages, read by an isolated program within limits.

A hostile file can end that program, not this one; what it had read until then is not used.
"""

import asyncio
import os
from pathlib import Path
from typing import BinaryIO

import msgspec

from agent.errors import DocumentUnreadable, SandboxBroken
from agent.memory import pdf_program
from agent.security.reader import ReaderRun, read_apart
from agent.security.sandbox.base import Sandbox
from agent.text.config_hints import install_hint
from agent.text.printable import printable_line

MAX_PAGES = 2000
# Of all pages as JSON: five times the text of the longest datasheets
MAX_TEXT_BYTES = 8 * 1024 * 1024
# A thousand pages take a Pi some two minutes; nobody waits for what is read into the memory
READ_TIMEOUT_S = 600.0
_MAX_DETAIL_CHARS = 200
_COUNT_CHARS = 20
_NEEDS = f"pypdf is not installed: {install_hint('documents')}"


async def pages_of(
    source: Path | BinaryIO, timeout_s: float = READ_TIMEOUT_S, sandbox: Sandbox | None = None
) -> list[str]:
    """Return the text of each page; "" where it has none. A last one says if some are left out.

    Args:
        source: a path, or a file that is open already where a path could lead elsewhere by now.

    Raises:
        DocumentUnreadable: it is damaged, too large, without any text, or nothing is there to read
            it with.
    """
    if not isinstance(source, Path):
        return await _pages(source, timeout_s, sandbox)
    try:
        with await asyncio.to_thread(_opened, source) as file:
            return await _pages(file, timeout_s, sandbox)
    except OSError as err:
        raise DocumentUnreadable(f"it cannot be opened: {err.strerror}") from err


def _opened(path: Path) -> BinaryIO:
    # A pipe in the place of a file would hold the reader for ever
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


async def _pages(file: BinaryIO, timeout_s: float, sandbox: Sandbox | None) -> list[str]:
    reading = ReaderRun(
        pdf_program.__file__,
        (str(MAX_PAGES), str(MAX_TEXT_BYTES)),
        file,
        timeout_s,
        timeout_s,
        with_packages=True,
        # As much as the program prints: the number of pages, and line ends
        stream_bytes=MAX_TEXT_BYTES + MAX_PAGES + _COUNT_CHARS,
    )
    try:
        done = await read_apart(reading, sandbox)
    except SandboxBroken as err:
        raise DocumentUnreadable(str(err)) from err
    if done.exit is None:
        raise DocumentUnreadable(done.ended)
    if done.exit:
        raise DocumentUnreadable(_reason(done.exit, done.stderr))
    count, *lines = done.stdout.splitlines() or [b"0"]
    pages = [msgspec.json.decode(line, type=str) for line in lines]
    if not any(map(str.strip, pages)):
        raise DocumentUnreadable("it has no text: its pages are pictures, such as a scanner makes")
    if int(count) > len(pages):
        told = f"Only the first {len(pages)} of its {int(count)} pages are read: divide the file."
        pages.append(f"[{told}]")
    return pages


def _reason(status: int, trouble: bytes) -> str:
    if status == pdf_program.NOT_INSTALLED:
        return _NEEDS
    if status == pdf_program.UNREADABLE:
        said = printable_line(trouble.decode(errors="replace"), _MAX_DETAIL_CHARS)
        return f"it is damaged or locked ({said})"
    return "it exceeds the limits of memory, time or text"
