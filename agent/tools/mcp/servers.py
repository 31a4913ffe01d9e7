"""All configured MCP servers, and the tools of theirs that the owner approved.

At each start of a server, and before each call, what it offers is compared with what was approved:
what has changed is held back until the owner agrees, and the owner is told, once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from agent.system.clock import Clock
from agent.tools.mcp.approvals import ApprovedTool, ApprovedTools
from agent.tools.mcp.bridge_process import BridgeProcess
from agent.tools.mcp.confinement import Confinement
from agent.tools.mcp.lines import MAX_TOOLS
from agent.tools.mcp.offer import ToolOffer
from agent.tools.mcp.server import McpServer, ServerTimeouts
from agent.tools.mcp.settings import McpSettings
from agent.tools.mcp.tool import McpTool

_log = logging.getLogger(__name__)

# Home of the bridge, beside those of the servers; no server has a name with a dot
BRIDGE_FOLDER = ".bridge"
# Of tools in a message to the owner
_MAX_NAMED = 10


def pins_in(folder: Path) -> ApprovedTools:
    """Return the store of approvals in this folder."""
    return ApprovedTools(folder / "approved.json")


class McpServers:
    """Servers of one agent; each starts when it is first needed."""

    def __init__(
        self,
        settings: Mapping[str, McpSettings],
        folder: Path,
        clock: Clock,
        patience: ServerTimeouts | None = None,
        is_secret: Callable[[str], bool] = lambda _: False,
        hidden: Sequence[Path] = (),
    ) -> None:
        self._settings = settings
        self._is_secret = is_secret
        self._pins = pins_in(folder)
        self._servers = {
            name: McpServer(
                name, wanted, folder / name, clock, partial(self._compare, name), patience
            )
            for name, wanted in settings.items()
        }
        process = BridgeProcess(folder / BRIDGE_FOLDER)
        for server in self._servers.values():
            server.confine(Confinement(hidden))
            server.share(process)
        self._made: tuple[tuple[ApprovedTool, ...], tuple[McpTool, ...]] = ((), ())
        self._told: dict[str, set[str]] = {}
        self._tell: Callable[[str], Awaitable[None]] | None = None

    def begin(self, tell: Callable[[str], Awaitable[None]]) -> None:
        """Set the callback that tells the owner."""
        self._tell = tell

    def tools(self) -> tuple[McpTool, ...]:
        """Return the usable tools; the same objects until an approval changes."""
        pins = self._pins.every()
        if pins is not self._made[0]:
            self._made = (pins, tuple(self._tool(pin.offer) for pin in pins if self._counts(pin)))
        return self._made[1]

    def find(self, name: str) -> McpServer:
        return self._servers[name]

    async def aclose(self) -> None:
        await asyncio.gather(*(server.aclose() for server in self._servers.values()))

    def _counts(self, pin: ApprovedTool) -> bool:
        return not pin.is_held and pin.offer.server in self._servers

    def _tool(self, offer: ToolOffer) -> McpTool:
        reads = offer.tool in self._settings[offer.server].read
        server = self._servers[offer.server]
        return McpTool(offer, server, reads=reads, is_secret=self._is_secret)

    async def _compare(self, name: str, offers: Sequence[ToolOffer]) -> None:
        pins = self._pins.of(name)
        offered = {offer.tool: offer for offer in offers}
        changed = [
            pin
            for tool, pin in pins.items()
            if not pin.is_held and tool in offered and offered[tool].digest != pin.offer.digest
        ]
        await asyncio.to_thread(self._pins.hold, changed)
        if changed:
            named = _named([pin.offer for pin in changed])
            said = f"changed tools, off until you approve them ({named})"
            await self._say(name, said)
        told = self._told.setdefault(name, set())
        unapproved = [one for one in offers if one.tool not in pins and not one.trouble]
        new = [one for one in unapproved if one.tool not in told]
        if new and len(told) < MAX_TOOLS:
            told |= {one.tool for one in new}
            await self._say(name, f"new tools, off until you approve them ({_named(new)})")

    async def _say(self, name: str, what: str) -> None:
        sentence = f"the MCP server {name} has {what}: review with `barnacle mcp approve {name}`"
        if self._tell is None:
            _log.warning("mcp: %s", sentence)
        else:
            await self._tell(sentence)


def _named(offers: Sequence[ToolOffer]) -> str:
    more = f" and {len(offers) - _MAX_NAMED} more" if len(offers) > _MAX_NAMED else ""
    return ", ".join(offer.tool for offer in offers[:_MAX_NAMED]) + more
