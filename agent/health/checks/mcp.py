"""Can the configured MCP servers be used, and has the owner approved what they offer?"""

import asyncio

from agent.health.base import Finding, Patient
from agent.tools.mcp.server import trouble_with
from agent.tools.mcp.servers import pins_in


async def check(patient: Patient) -> Finding:
    """No server is started for this: `barnacle mcp list` asks them."""
    if not patient.mcp:
        return Finding.ok("no MCP servers")
    return await asyncio.to_thread(_examined, patient)


def _examined(patient: Patient) -> Finding:
    troubles = {name: trouble_with(settings) for name, settings in patient.mcp.items()}
    if told := [f"{name}: {trouble}" for name, trouble in troubles.items() if trouble]:
        return Finding.failed("; ".join(told))
    pins = pins_in(patient.state_dir / "mcp")
    for name in patient.mcp:
        if held := [pin.offer.tool for pin in pins.of(name).values() if pin.is_held]:
            said = f"{name} changed {', '.join(held)}, so it is not used"
            return Finding.warning(f"{said}: `barnacle mcp approve {name}` shows what it is now")
    if new := [name for name in patient.mcp if not pins.of(name)]:
        said = f"nothing of {', '.join(new)} is approved, so nothing of it is used"
        return Finding.warning(f"{said}: `barnacle mcp approve {new[0]}` shows what there is")
    return Finding.ok(f"{len(patient.mcp)} with {_count(patient)} approved tools")


def _count(patient: Patient) -> int:
    pins = pins_in(patient.state_dir / "mcp")
    return sum(len(pins.of(name)) for name in patient.mcp)
