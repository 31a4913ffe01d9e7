import dataclasses
import sys

import pytest

from agent.health.base import Finding, Level, Patient
from agent.health.checks import mcp
from agent.tools.mcp import server as server_module
from agent.tools.mcp.offer import ToolOffer
from agent.tools.mcp.servers import pins_in
from agent.tools.mcp.settings import McpSettings

WATER = ToolOffer("garden", "water", "mcp_garden_water", "Water it.", {"properties": {}}, "a" * 64)


@pytest.fixture
def gardener(patient: Patient) -> Patient:
    return dataclasses.replace(patient, mcp={"garden": McpSettings(command=(sys.executable,))})


async def test_it_says_what_the_owner_has_not_agreed_to(
    patient: Patient, gardener: Patient
) -> None:
    assert await mcp.check_mcp(patient) == Finding.ok("no MCP servers configured")
    finding = await mcp.check_mcp(gardener)
    assert finding.level is Level.WARNING
    assert "no approved tools of garden" in finding.sentence
    assert "`barnacle mcp approve garden`" in finding.sentence
    pins = pins_in(patient.state_dir / "mcp")
    pins.approve([WATER])
    assert await mcp.check_mcp(gardener) == Finding.ok("1 servers, 1 approved tools")
    pins.hold(pins.every())
    finding = await mcp.check_mcp(gardener)
    assert finding.level is Level.WARNING
    assert "garden changed water, so they are not used" in finding.sentence


async def test_it_says_what_is_missing(gardener: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = dataclasses.replace(gardener, mcp={"shed": McpSettings(command=("nosuch",))})
    finding = await mcp.check_mcp(absent)
    assert finding.level is Level.FAILED
    assert "shed: nosuch is not in" in finding.sentence
    monkeypatch.setattr(server_module.importlib.util, "find_spec", lambda _name: None)
    finding = await mcp.check_mcp(gardener)
    assert finding.level is Level.FAILED
    assert "`.venv/bin/pip install '.[mcp]'`" in finding.sentence
