"""Picture from a local program, limited in time and bytes, and kept in the workspace.

The program writes to its standard output, so that no path of ours is in its hands. It gets a fixed
environment, no input, and is ended with everything that it has started.
"""

import asyncio
import contextlib
import io
import os
import secrets
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from agent.errors import BarnacleError, PathRefused
from agent.messages import ToolResult
from agent.passage import Passage, Provenance, outside, own, read
from agent.security.environment import child_environment
from agent.security.paths import list_beneath, remove_beneath, write_beneath
from agent.system.clock import Clock
from agent.text.printable import printable_line
from agent.tools.files import in_thread
from agent.tools.picture_header import header_of

# A camera that wakes up takes some seconds; a person waits for it
PICTURE_TIMEOUT_S = 30.0
# An attachment may be as large
MAX_PICTURE_BYTES = 20 * 1024 * 1024
# Pictures of both kinds that are kept, the newest of them
MAX_KEPT = 50
FOLDER = "pictures"
_SUFFIXES = {"jpeg": "jpg", "png": "png"}
_PIECE_BYTES = 64 * 1024
# Of what a program complains: its last words are the reason
_COMPLAINT_BYTES = 4096
_COMPLAINT_CHARS = 200


class NotTaken(BarnacleError):
    """The program took no picture."""


class Album(Struct, frozen=True):
    """Folder where pictures are kept."""

    workspace: Path
    clock: Clock


async def taken(
    album: Album, subject: str, argv: Sequence[str], passed: Mapping[str, str] | None = None
) -> ToolResult:
    """Run the program and keep its picture; a failure becomes a result.

    What a picture shows may be words that anybody holds before a lens or puts on a page: its trust
    is that of a page, so that nothing it says is ever an order.

    Args:
        passed: variables of the environment that this program cannot do without.
    """
    environment = {**child_environment(album.workspace), **(passed or {})}
    try:
        content = await _output_of(argv, environment)
    except (NotTaken, OSError) as err:
        # The program's last words may be anybody's, just as what the picture shows
        return ToolResult.failed(_complaint_of(err, subject))
    return await in_thread(lambda: keep(album, subject, content), Provenance.WEB, subject)


def keep(album: Album, subject: str, content: bytes) -> Passage:
    """Write a picture into the album, in place of the oldest; return what it is called."""
    header = header_of(io.BytesIO(content))
    suffix = _SUFFIXES.get(header.kind, header.kind)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(album.clock.wall_s()))
    name = f"{subject}-{stamp}-{secrets.token_hex(2)}.{suffix}"
    path = f"{FOLDER}/{name}"
    _make_room(album.workspace, subject)
    write_beneath(album.workspace, path, content)
    told = {
        "path": path,
        "format": header.kind,
        "width": header.width,
        "height": header.height,
        "size_bytes": len(content),
        "shown_by": f"[IMAGE:{path}]",
    }
    return read(told, Provenance.WEB, subject)


def _complaint_of(err: Exception, subject: str) -> Passage:
    return own("no picture was taken: {}", outside(str(err), Provenance.WEB, subject))


def _make_room(workspace: Path, subject: str) -> None:
    """Remove the oldest pictures; their names sort by time."""
    try:
        entries = list_beneath(workspace, FOLDER, 10 * MAX_KEPT)
    except PathRefused:
        # There is no such folder yet; whatever else it is, writing says it
        return
    ours = [entry.name for entry in entries if entry.name.startswith(f"{subject}-")]
    for name in ours[: max(0, len(ours) - MAX_KEPT + 1)]:
        remove_beneath(workspace, f"{FOLDER}/{name}")


async def _output_of(argv: Sequence[str], environment: Mapping[str, str]) -> bytes:
    child = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(environment),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(PICTURE_TIMEOUT_S):
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(_first_of(child.stdout, MAX_PICTURE_BYTES + 1))
                complaining = tasks.create_task(_last_of(child.stderr))
            status = await child.wait()
    except TimeoutError as err:
        raise NotTaken(f"no picture within {PICTURE_TIMEOUT_S:.0f} s") from err
    finally:
        await _end(child)
    content, complaint = writing.result(), complaining.result()
    if len(content) > MAX_PICTURE_BYTES:
        raise NotTaken(f"it is larger than {MAX_PICTURE_BYTES // 1024 // 1024} MB")
    if status or not content:
        raise NotTaken(complaint or f"{Path(argv[0]).name} ended with status {status}")
    return content


async def _first_of(stream: asyncio.StreamReader | None, limit: int) -> bytes:
    """Return the first bytes; read and drop the rest so that the program never blocks."""
    found = bytearray()
    while stream is not None and (piece := await stream.read(_PIECE_BYTES)):
        found += piece[: limit - len(found)]
    return bytes(found)


async def _last_of(stream: asyncio.StreamReader | None) -> str:
    """Return the last line with text."""
    found = b""
    while stream is not None and (piece := await stream.read(_PIECE_BYTES)):
        found = (found + piece)[-_COMPLAINT_BYTES:]
    lines = [line for line in found.decode(errors="replace").splitlines() if line.strip()]
    return printable_line(lines[-1], _COMPLAINT_CHARS) if lines else ""


async def _end(child: asyncio.subprocess.Process) -> None:
    """End the whole process group, so that nothing outlives the program."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    await child.wait()
