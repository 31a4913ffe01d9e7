"""The text of a PDF, page by page, read in another process under limits.

A hostile file can end that process, not this one; what it had read until then is not used.
"""

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import BinaryIO

import msgspec

from agent.errors import DocumentUnreadable
from agent.memory import pdf_program
from agent.printable import printable_line

MAX_PAGES = 2000
# Of all pages as JSON: five times the text of the longest datasheets
MAX_TEXT_BYTES = 8 * 1024 * 1024
# The processor limit of the program and as much again of waiting for others
READ_TIMEOUT_S = 2.0 * pdf_program.CPU_S
_MAX_DETAIL_CHARS = 200
# Opens what the program was given, whatever its name is by now
_STDIN = Path("/dev/stdin")
_NEEDS = "pypdf is not installed: install barnacle with its extra 'documents'"


async def pages_of(source: Path | BinaryIO, timeout_s: float = READ_TIMEOUT_S) -> list[str]:
    """The text of each page; a page without text is empty.

    Args:
        source: a path, or a file that is open already where a path could lead elsewhere by now.

    Raises:
        DocumentUnreadable: it is damaged, too large, or nothing is there to read it with.
    """
    path = source if isinstance(source, Path) else _STDIN
    given = asyncio.subprocess.DEVNULL if isinstance(source, Path) else source
    program = await asyncio.create_subprocess_exec(
        # Isolated: nothing beside the program or in the environment is imported
        *(sys.executable, "-I", pdf_program.__file__),
        *(str(path), str(MAX_PAGES), str(MAX_TEXT_BYTES)),
        stdin=given,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={},
    )
    try:
        async with asyncio.timeout(timeout_s):
            told, trouble = await program.communicate()
    except TimeoutError as err:
        raise DocumentUnreadable(f"reading it took longer than {timeout_s:.0f} s") from err
    finally:
        if program.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                program.kill()
            await program.wait()
    if program.returncode:
        raise DocumentUnreadable(_reason(program.returncode, trouble))
    return [msgspec.json.decode(line, type=str) for line in told.splitlines()]


def _reason(status: int, trouble: bytes) -> str:
    if status == pdf_program.NOT_INSTALLED:
        return _NEEDS
    if status == pdf_program.UNREADABLE:
        said = printable_line(trouble.decode(errors="replace"), _MAX_DETAIL_CHARS)
        return f"it is damaged or locked ({said})"
    return "it needs more memory, time or text than a document may"
