"""Check of the MCP servers and of the approvals of their tools."""

import asyncio

from agent.health.base import Finding, Patient
from agent.tools.mcp.server import trouble_with
from agent.tools.mcp.servers import pins_in


async def check_mcp(patient: Patient) -> Finding:
    """No server is started for this: `barnacle mcp list` asks them."""
    if not patient.mcp:
        return Finding.ok("no MCP servers configured")
    return await asyncio.to_thread(_examined, patient)


def _examined(patient: Patient) -> Finding:
    troubles = {name: trouble_with(settings) for name, settings in patient.mcp.items()}
    if told := [f"{name}: {trouble}" for name, trouble in troubles.items() if trouble]:
        return Finding.failed("; ".join(told))
    pins = pins_in(patient.state_dir / "mcp")
    for name in patient.mcp:
        if held := [pin.offer.tool for pin in pins.of(name).values() if pin.is_held]:
            said = f"{name} changed {', '.join(held)}, so they are not used"
            return Finding.warning(f"{said}: review them with `barnacle mcp approve {name}`")
    if new := [name for name in patient.mcp if not pins.of(name)]:
        said = f"no approved tools of {', '.join(new)}, so they are not used"
        return Finding.warning(f"{said}: review them with `barnacle mcp approve {new[0]}`")
    return Finding.ok(f"{len(patient.mcp)} servers, {_count(patient)} approved tools")


def _count(patient: Patient) -> int:
    pins = pins_in(patient.state_dir / "mcp")
    return sum(len(pins.of(name)) for name in patient.mcp)
