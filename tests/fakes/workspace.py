"""A workspace with a few files, and what must never be reached beside it."""

import json
from pathlib import Path

from agent.messages import Provenance, ToolResult
from agent.tools.base import AnyTool, ToolContext

CONTEXT = ToolContext("terminal", "owner", Provenance.OWNER)
OUTSIDE = "outside: the host's private key"


def workspace_in(folder: Path) -> Path:
    workspace = folder / "workspace"
    (workspace / "notes" / "old").mkdir(parents=True)
    (workspace / "notes" / "today.md").write_text("water the basil\nbuy soil\nwater the mint\n")
    (workspace / "notes" / "old" / "may.md").write_text("Water everything\n")
    (workspace / "plan.txt").write_text("pump 5 s\nlamp 30 min\n")
    (workspace / "picture.png").write_bytes(b"\x89PNG\0water")
    (folder / "secret.txt").write_text(OUTSIDE)
    return workspace


async def used(tool: AnyTool, **arguments: object) -> ToolResult:
    return await tool.execute(tool.parse(json.dumps(arguments)), CONTEXT)


async def told(tool: AnyTool, **arguments: object) -> dict[str, object]:
    """The fields of a result that has to succeed."""
    result = await used(tool, **arguments)
    assert result.success, result.text
    fields = json.loads(result.text)
    assert isinstance(fields, dict)
    return fields


async def refused(tool: AnyTool, **arguments: object) -> str:
    """The sentence of a result that has to fail."""
    result = await used(tool, **arguments)
    assert not result.success, result.text
    assert result.text.isprintable()
    return result.text
