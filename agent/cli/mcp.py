"""`barnacle mcp list | approve | revoke`: which tools of MCP servers the agent may have."""

import asyncio
import hashlib
import json
import sys
from argparse import Namespace
from collections.abc import Sequence

from agent.app.mcp import hidden_from_servers
from agent.cli import configuration, exits
from agent.cli.memory_text import say_rows
from agent.cli.output import ask, say, say_json
from agent.errors import BadArguments, McpAway
from agent.health.daemon_thread import in_daemon_thread
from agent.passage import Provenance
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock
from agent.text.printable import spelled_out
from agent.tools.inquiry import InquiryAnswer
from agent.tools.mcp.approvals import ApprovedTools
from agent.tools.mcp.bridge_process import BridgeProcess
from agent.tools.mcp.confinement import Confinement
from agent.tools.mcp.offer import ToolOffer
from agent.tools.mcp.questions import OwnerQuestions
from agent.tools.mcp.server import McpServer, PutQuestion, decline
from agent.tools.mcp.servers import BRIDGE_FOLDER, pins_in

# Enough of a hash that no other listing of anybody has it too
_DIGITS = 24

_REPEATS = (
    '(its server says that the same call is the same act each time: you may answer "always" to one)'
)
_ASKS_EACH_TIME = "(the same call may be another act next time: it asks each time)"


def run(arguments: Namespace) -> int:
    if arguments.action == "serve":
        from agent.cli import mcp_serve  # noqa: PLC0415 - it needs nothing of the rest

        return mcp_serve.run(arguments)
    settings, paths = configuration.load(arguments)
    pins = pins_in(paths.mcp)
    if arguments.action == "list":
        return _list(settings, paths, pins, as_json=arguments.json)
    if arguments.action == "revoke":
        return _revoke(pins, arguments.server, arguments.tool or "")
    if arguments.server not in settings.mcp:
        known = ", ".join(settings.mcp) or "none"
        raise BadArguments(f"no [mcp.{arguments.server}] in the configuration: {known}")
    process, put = BridgeProcess(paths.mcp / BRIDGE_FOLDER), _asking(arguments.server)
    offers = asyncio.run(_asked(arguments.server, settings, paths, process, put))
    return _approve(pins, arguments, offers)


def _list(settings: Settings, paths: Paths, pins: ApprovedTools, *, as_json: bool) -> int:
    told = asyncio.run(_everything(settings, paths))
    rows = [row for name, offers in told.items() for row in _rows(pins, name, offers)]
    if as_json:
        names = ("server", "tool", "name", "state", "description")
        say_json([dict(zip(names, row, strict=True)) for row in rows])
    elif rows:
        say_rows([(row[2] or row[0], *row[3:]) for row in rows])
    else:
        say("no MCP servers configured: add a table [mcp.<name>]")
    return exits.FAILED if any(isinstance(one, McpAway) for one in told.values()) else exits.OK


def _rows(
    pins: ApprovedTools, server: str, offers: list[ToolOffer] | McpAway
) -> list[tuple[str, str, str, str, str]]:
    if isinstance(offers, McpAway):
        return [(server, "", "", "away", str(offers))]
    known = pins.of(server)
    rows = [(server, one.tool, one.name, _state(pins, one), one.description) for one in offers]
    offered = {one.tool for one in offers}
    gone = [pin.offer for tool, pin in known.items() if tool not in offered]
    rows += [(server, one.tool, one.name, "gone", one.description) for one in gone]
    return rows or [(server, "", "", "offers no tools", "")]


def _state(pins: ApprovedTools, offer: ToolOffer) -> str:
    if offer.trouble:
        return f"refused: {offer.trouble}"
    pin = pins.of(offer.server).get(offer.tool)
    if pin is None:
        return "not approved"
    return "changed" if pin.is_held or pin.offer.digest != offer.digest else "approved"


def _approve(pins: ApprovedTools, arguments: Namespace, offers: Sequence[ToolOffer]) -> int:
    """Without a hash, everything is shown; with it, exactly what was shown is approved."""
    server, tools = arguments.server, arguments.tool
    chosen = [one for one in offers if not one.trouble and (not tools or one.tool in tools)]
    if missing := [tool for tool in tools if tool not in {one.tool for one in chosen}]:
        raise BadArguments(
            f"{server} has no tool {missing[0]}: `barnacle mcp list` shows its tools"
        )
    if not chosen:
        raise BadArguments(f"{server} has no tool to approve: see `barnacle mcp list`")
    if not arguments.hash:
        _show(pins, server, chosen, tools)
        return exits.OK
    if len(arguments.hash) < _DIGITS or not _digest(chosen).startswith(arguments.hash):
        raise BadArguments(
            f"this hash does not match what {server} offers now: run `barnacle mcp "
            f"approve {server}` for its tools and their hash"
        )
    pins.approve(chosen)
    say(f"approved {len(chosen)} tools of {server} in their present form")
    return exits.OK


def _show(
    pins: ApprovedTools, server: str, chosen: Sequence[ToolOffer], tools: Sequence[str]
) -> None:
    """All that a model is going to see of them, and if "always" may be said to them."""
    for one in chosen:
        say(f"== {one.name} ({_state(pins, one)})")
        say(spelled_out(one.description))
        say(spelled_out(json.dumps(one.schema, ensure_ascii=False)))
        say(_REPEATS if one.repeats else _ASKS_EACH_TIME)
    words = " ".join(f"--tool {tool}" for tool in tools)
    command = f"barnacle mcp approve {server} {_digest(chosen)[:_DIGITS]} {words}".rstrip()
    say(f"== to approve exactly this: {command}")


def _revoke(pins: ApprovedTools, server: str, tool: str) -> int:
    count = pins.revoke(server, tool)
    said = (
        f"approval removed from {count} tools of {server}"
        if count
        else "no tool of it was approved"
    )
    say(said)
    return exits.OK


async def _everything(settings: Settings, paths: Paths) -> dict[str, list[ToolOffer] | McpAway]:
    names = list(settings.mcp)
    process = BridgeProcess(paths.mcp / BRIDGE_FOLDER)
    told = await asyncio.gather(*(_heard(name, settings, paths, process) for name in names))
    return dict(zip(names, told, strict=True))


async def _heard(
    name: str, settings: Settings, paths: Paths, process: BridgeProcess
) -> list[ToolOffer] | McpAway:
    try:
        return await _asked(name, settings, paths, process)
    except McpAway as err:
        return err


async def _asked(
    name: str, settings: Settings, paths: Paths, process: BridgeProcess, put: PutQuestion = decline
) -> list[ToolOffer]:
    server = McpServer(name, settings.mcp[name], paths.mcp / name, SystemClock())
    server.confine(Confinement(hidden_from_servers(paths)))
    server.share(process)
    try:
        return await server.offers(put)
    finally:
        await server.aclose()


def _asking(name: str) -> PutQuestion:
    """Return the way to whoever sits at this terminal; nobody is asked without one."""
    if not sys.stdin.isatty():
        return decline

    async def inquire(question: str, trust: Provenance = Provenance.MODEL) -> InquiryAnswer:
        del trust
        say(question)
        # Ctrl-C leaves it behind, because it waits for a line
        return InquiryAnswer(await in_daemon_thread(lambda: ask("> ")), Provenance.OWNER)

    return OwnerQuestions(name, inquire, lambda _: False)


def _digest(offers: Sequence[ToolOffer]) -> str:
    return hashlib.sha256("\0".join(sorted(one.digest for one in offers)).encode()).hexdigest()
