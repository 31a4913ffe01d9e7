"""Tool that exports a person's memories to a workspace file, in the format of snapshots.

Each memory with its source and how far it is trusted. Anybody may have changed the file by the
time that `barnacle memory import` reads it back: it is then trusted as far as the person says who
brings it in.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from agent.errors import MemoryUnavailable
from agent.memory.base import Memory, MemoryEntry, Scope
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, echo, fields, own
from agent.security.act import Dependence
from agent.security.paths import write_beneath
from agent.security.shares import NOTHING_PRIVATE
from agent.tools.base import Tool, ToolContext
from agent.tools.files import DISK_TIMEOUT_S, PathArguments, RelativePath, plain, refuse_others

USUAL_PATH = "memories.md"
# Tens of thousands of memories; whoever has more takes a snapshot instead
MAX_EXPORT_BYTES = 8 * 1024 * 1024
_TOO_MUCH = "the memories do not fit into one file: `barnacle memory snapshot` writes them all"


class ExportArguments(PathArguments, frozen=True):
    """Path of the export."""

    path: RelativePath = USUAL_PATH


class MemoryExportTool(Tool[ExportArguments]):
    """Writes the memories of the turn's person, and everybody's, to a file.

    Args:
        render: makes a file of memories that reads back as it was.
    """

    reads = Provenance.TOOL
    name = "memory_export"
    description = own("Write all that is remembered of this person into a Markdown file.")
    effect = Effect.WRITE
    shown = NOTHING_PRIVATE
    arguments_type = ExportArguments

    def __init__(
        self, memory: Memory, workspace: Path, render: Callable[[Sequence[MemoryEntry]], bytes]
    ) -> None:
        self._memory = memory
        self._workspace = workspace
        self._render = render

    def binds_to(self, arguments: ExportArguments) -> Dependence:
        """Bind the approval to the current content, which the owner agreed to replace."""
        return Dependence(self._workspace, (plain(arguments.path),))

    async def execute(self, arguments: ExportArguments, context: ToolContext) -> ToolResult:
        path = plain(arguments.path)
        refuse_others(path)
        try:
            known = await self._known(Scope(context.person))
            async with asyncio.timeout(DISK_TIMEOUT_S):
                size_bytes = await asyncio.to_thread(self._write, path, known)
        except MemoryUnavailable as err:
            return ToolResult.failed(err.words(self.reads))
        except TimeoutError:
            return ToolResult.failed(own("the storage did not answer in time"))
        path_told = echo(arguments.path)
        return ToolResult.done(
            fields({"path": path_told, "memories": len(known), "bytes": size_bytes}), (path,)
        )

    def _write(self, path: str, known: Sequence[MemoryEntry]) -> int:
        content = self._render(known)
        write_beneath(self._workspace, path, content)
        return len(content)

    async def _known(self, scope: Scope) -> list[MemoryEntry]:
        """Return all memories that are visible here, up to the size limit."""
        known, size_bytes = list[MemoryEntry](), 0
        async for entry in self._memory.entries():
            if scope.sees(entry.scope):
                known.append(entry)
                size_bytes += len(entry.content.encode(errors="replace"))
                if size_bytes > MAX_EXPORT_BYTES:
                    raise MemoryUnavailable(_TOO_MUCH)
        return known
