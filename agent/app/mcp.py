"""Composition of the MCP servers and their approved tools.

Without any in the configuration nothing of it is loaded.
"""

import asyncio
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agent.access.owner import Tell
from agent.settings import Paths, Settings
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.tools.mcp.servers import McpServers
    from agent.tools.mcp.tool import McpTool


class McpSupport:
    """The servers of one agent; the first call of a tool starts its own.

    Args:
        is_secret: whether something in a text may not be sent to any.
    """

    def __init__(
        self, settings: Settings, paths: Paths, clock: Clock, is_secret: Callable[[str], bool]
    ) -> None:
        self._settings = settings.mcp
        self._folder = paths.mcp
        self._clock = clock
        self._is_secret = is_secret
        # Whatever its server is, it sees nothing of these
        self._hidden = hidden_from_servers(paths)

    def tools(self) -> "tuple[McpTool, ...]":
        """Those that the owner has approved; none is started for this."""
        return self._servers.tools() if self._settings else ()

    def give_up(self) -> None:
        """Have none from now on, whatever is configured; before any was started."""
        self._settings = {}

    async def run(self, tell: Tell) -> None:
        """Tell the owner what has changed; when this is cancelled, every server is ended."""
        if not self._settings:
            return
        self._servers.begin(tell)
        try:
            await asyncio.Event().wait()
        finally:
            await self._servers.aclose()

    @cached_property
    def _servers(self) -> "McpServers":
        from agent.tools.mcp.servers import McpServers  # noqa: PLC0415 - most agents have none

        return McpServers(
            self._settings, self._folder, self._clock, None, self._is_secret, self._hidden
        )


def hidden_from_servers(paths: Paths) -> tuple[Path, ...]:
    """Return the folders of the agent that no program of an MCP server may see."""
    config = (paths.config.parent,) if paths.config is not None else ()
    # The folder of a configuration may be a home, which the program may need
    own = tuple(folder for folder in config if folder != Path.home())
    return (paths.state_dir, paths.workspace, *own)
