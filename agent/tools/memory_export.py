"""What is remembered of a person as a file of the workspace, in the format of the snapshots.

Each memory with its source and how far it is trusted: read back by `barnacle memory import`, it is
worth as much as before, and as any other file read here it is no word of the owner's.
"""

import asyncio
import hashlib
from pathlib import Path

import msgspec

from agent.errors import MemoryUnavailable, PathRefused
from agent.memory import snapshot
from agent.memory.base import Memory, Scope
from agent.messages import Effect, ToolResult
from agent.security.binding import Dependence
from agent.security.paths import write_beneath
from agent.tools.base import Arguments, Tool, ToolContext
from agent.tools.files import DISK_TIMEOUT_S, RESULTS_FOLDER, RelativePath, is_result, plain

USUAL_PATH = "memories.md"
# Tens of thousands of memories; whoever has more takes a snapshot instead
MAX_EXPORT_BYTES = 8 * 1024 * 1024
_TOO_MUCH = "there is more than fits into one file: `barnacle memory snapshot` writes all of it"


class ExportArguments(Arguments, frozen=True):
    """Where to."""

    path: RelativePath = USUAL_PATH


class MemoryExportTool(Tool[ExportArguments]):
    """Writes what is known of the person the turn is for, and of everybody, into a file."""

    name = "memory_export"
    description = "Write all that is remembered of this person into a Markdown file."
    effect = Effect.WRITE
    arguments_type = ExportArguments

    def __init__(self, memory: Memory, workspace: Path) -> None:
        self._memory = memory
        self._workspace = workspace

    def binds_to(self, arguments: ExportArguments) -> Dependence:
        """What stands there now is what the owner agreed to have replaced."""
        return Dependence(self._workspace, (plain(arguments.path),))

    async def execute(self, arguments: ExportArguments, context: ToolContext) -> ToolResult:
        path = plain(arguments.path)
        if is_result(path):
            raise PathRefused(f"{RESULTS_FOLDER} is only for results of tools")
        try:
            content, count = await self._written(Scope(context.person))
        except MemoryUnavailable as err:
            return ToolResult(success=False, text=str(err))
        if not content:
            return ToolResult(success=False, text=_TOO_MUCH)
        try:
            async with asyncio.timeout(DISK_TIMEOUT_S):
                await asyncio.to_thread(write_beneath, self._workspace, path, content)
        except TimeoutError:
            return ToolResult(success=False, text="the storage did not answer in time")
        told = {"path": arguments.path, "memories": count, "bytes": len(content)}
        return ToolResult(success=True, text=msgspec.json.encode(told).decode())

    async def _written(self, scope: Scope) -> tuple[bytes, int]:
        """The file, and how many memories are in it; empty where they are too many."""
        body, count = bytearray(snapshot.HEADER.encode()), 0
        async for entry in self._memory.entries():
            if not scope.sees(entry.scope):
                continue
            body += snapshot.rendered(entry).encode(errors="replace")
            count += 1
            if len(body) > MAX_EXPORT_BYTES:
                return b"", 0
        digest = hashlib.sha256(body).hexdigest()
        return bytes(body) + snapshot.ending(count, digest), count
